//! Every page: its outline, its labels, what the Content-Security-Policy forbids, and hostile text.
#![cfg(feature = "ssr")]
#![allow(clippy::unwrap_used)]

mod fixtures;

use std::collections::BTreeSet;

use fixtures::HOSTILE;
use oleada_app::pages::{self, *};
use oleada_app::view::{AssetPaths, Chrome, Flash, FlashKind, RunState, Viewer};
use scraper::{Html, Selector};

fn select<'a>(page: &'a Html, css: &str) -> Vec<scraper::ElementRef<'a>> {
    page.select(&Selector::parse(css).unwrap()).collect()
}

/// All text of the elements, as it stands, white space folded.
fn text(page: &Html, css: &str) -> String {
    let all: Vec<String> = select(page, css).iter().map(|e| e.text().collect()).collect();
    all.join(" | ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn outlines_labels_and_ids_are_sound() {
    for (name, html) in fixtures::all() {
        let page = Html::parse_document(&html);
        assert_eq!(select(&page, "h1").len(), 1, "{name}: one h1");
        let mut level = 1;
        for heading in select(&page, "main h1, main h2, main h3, main h4") {
            let this = heading.value().name()[1..].parse::<u32>().unwrap();
            // An error summary stands before the page's own heading.
            let in_summary = heading.value().attr("id") == Some("error-summary-title");
            assert!(
                in_summary || this <= level + 1,
                "{name}: h{level} is followed by h{this} {:?}",
                heading.text().collect::<String>()
            );
            level = if in_summary { level } else { this };
        }
        let ids: Vec<&str> = select(&page, "[id]").iter().filter_map(|e| e.value().attr("id")).collect();
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "{name}: ids repeat: {ids:?}");
        for input in select(&page, "input:not([type=hidden]), select, textarea") {
            let labelled = input.value().attr("aria-label").is_some()
                || input.value().attr("id").is_some_and(|id| !select(&page, &format!("label[for='{id}']")).is_empty());
            assert!(labelled, "{name}: {} has no label", input.html());
        }
        for described in select(&page, "[aria-describedby], [aria-labelledby]") {
            for attribute in ["aria-describedby", "aria-labelledby"] {
                for id in described.value().attr(attribute).unwrap_or_default().split_whitespace() {
                    assert!(unique.contains(&id), "{name}: {attribute} names {id}, which is not there");
                }
            }
        }
        for link in select(&page, ".error-summary a") {
            let id = link.value().attr("href").unwrap().trim_start_matches('#');
            assert!(unique.contains(&id), "{name}: the error list leads to {id}, which is not there");
        }
    }
}

#[test]
fn nothing_the_policy_forbids_is_written() {
    for (name, html) in fixtures::all() {
        let page = Html::parse_document(&html);
        let main = select(&page, "main")[0].html();
        assert!(select(&page, "[style], style").is_empty(), "{name}: inline style");
        for script in select(&page, "script") {
            assert_eq!(script.value().attr("nonce"), Some("n0nce"), "{name}: a script without the nonce");
        }
        for element in select(&page, "*") {
            assert!(
                element.value().attrs().all(|(a, _)| !a.starts_with("on")),
                "{name}: inline handler in {}",
                element.html()
            );
        }
        assert!(
            !main.contains("NaN") && !main.contains(">inf") && !main.contains("None"),
            "{name}: a value without words"
        );
        assert!(!html.contains("s3cret-pass"), "{name}: a stored password");
    }
}

#[test]
fn scripts_come_only_with_islands_and_only_with_a_bundle() {
    for (name, html) in fixtures::all() {
        assert_eq!(html.contains("id=\"islands\""), html.contains("<leptos-island"), "{name}");
    }
    let bare = Chrome { assets: AssetPaths::default(), ..fixtures::chrome(true, "/runs/run-2") };
    let html = pages::run::render(&bare, &fixtures::run_page(RunState::Running, 0.0));
    assert!(!html.contains("<script"));
    assert!(html.contains("http-equiv=\"refresh\""), "without scripts a live page fetches itself again");
}

#[test]
fn hostile_text_stays_text_everywhere() {
    let chrome = Chrome {
        viewer: Some(Viewer { email: HOSTILE.into(), is_operator: false }),
        flash: Some(Flash { kind: FlashKind::Failure, text: HOSTILE.into() }),
        mode_note: Some(HOSTILE.into()),
        path: HOSTILE.into(),
        ..fixtures::chrome(true, "/")
    };
    let hosts: Vec<_> =
        fixtures::hosts().into_iter().map(|h| oleada_app::view::HostRow { address: HOSTILE.into(), ..h }).collect();
    let runs: Vec<_> =
        fixtures::runs().into_iter().map(|r| oleada_app::view::RunRow { test_name: HOSTILE.into(), ..r }).collect();
    let mut run = fixtures::shared_run();
    run.test_name = HOSTILE.into();
    run.state_detail = Some(HOSTILE.into());
    run.notes = Some(HOSTILE.into());
    run.plan.requests[0].url = HOSTILE.into();
    run.siblings = runs.clone();
    if let Some(result) = &mut run.result {
        result.errors[0].detail = HOSTILE.into();
        result.requests[0].url = HOSTILE.into();
        result.verdict.reasons.push(HOSTILE.into());
        result.statuses.insert(HOSTILE.into(), 1);
    }
    let mut host = fixtures::host_page(2);
    host.host.address = HOSTILE.into();
    host.proof.file_name = HOSTILE.into();
    if let Some(check) = &mut host.last_check {
        check.seen = Some(HOSTILE.into());
        check.message = HOSTILE.into();
    }
    let mut test = fixtures::test_page();
    test.name = HOSTILE.into();
    test.notes = HOSTILE.into();
    let mut compare = fixtures::compare_page();
    compare.runs[1].test_name = HOSTILE.into();
    compare.runs[1].plan.requests[0].url = HOSTILE.into();
    let live = RunPage { state: RunState::Running, ..run.clone() };
    let rendered = [
        (
            "dashboard",
            pages::dashboard::render(
                &chrome,
                &DashboardPage { hosts: hosts.clone(), tests: 1, active: runs.clone(), latest: runs },
            ),
        ),
        (
            "hosts",
            pages::hosts::render_list(&chrome, &HostsPage { hosts, address: HOSTILE.into(), ..HostsPage::default() }),
        ),
        ("host", pages::hosts::render_one(&chrome, &host)),
        ("test", pages::plans::render_one(&chrome, &test)),
        ("form", pages::plan_form::render(&chrome, &fixtures::bad_test())),
        ("run", pages::run::render(&chrome, &run)),
        ("live", pages::run::render(&chrome, &live)),
        ("public", pages::run::render(&chrome, &RunPage { access: fixtures::public_run().access, ..run.clone() })),
        ("embed", pages::embed::render(&chrome, &run, "http://127.0.0.1/r/x")),
        ("compare", pages::compare::render(&chrome, &compare)),
        (
            "error",
            pages::error::render(
                &chrome,
                &ErrorPage { status: 500, detail: Some(HOSTILE.into()), request_id: Some(HOSTILE.into()) },
            ),
        ),
    ];
    for (name, html) in rendered {
        let page = Html::parse_document(&html);
        assert!(select(&page, "img").is_empty(), "{name}: hostile text became an element");
        assert!(
            select(&page, "script").iter().all(|s| s.value().attr("nonce") == Some("n0nce")),
            "{name}: hostile text became a script"
        );
        assert!(page.root_element().text().any(|t| t.contains("alert(1)")), "{name}: shows the text");
    }
}

#[test]
fn the_form_comes_back_as_it_was_typed() {
    let page = Html::parse_document(&pages::plan_form::render(
        &fixtures::chrome(true, "/tests/test-1/edit"),
        &fixtures::bad_test(),
    ));
    let value = |id: &str| select(&page, &format!("#{id}"))[0].value().attr("value").unwrap_or_default().to_owned();
    assert_eq!(
        (value("f-name"), value("f-rate"), value("f-requests-0-url"), value("f-timeout-ms")),
        (HOSTILE.into(), "lots".into(), HOSTILE.into(), HOSTILE.into())
    );
    assert_eq!(select(&page, "#f-requests-1-body")[0].text().collect::<String>().trim_start_matches('\n'), HOSTILE);
    assert_eq!(value("f-requests-1-auth-password"), "");
    assert_eq!(select(&page, ".field-error").len(), 5, "one message a field");
    assert_eq!(select(&page, ".error-summary li").len(), 5);
    assert_eq!(select(&page, "details.advanced[open]").len(), 1, "an error in the folded part opens it");
    assert_eq!(text(&page, "#f-requests-1-auth-password-hint"), "Kept unless you type a new one.");
}

#[test]
fn the_form_says_what_will_be_sent_before_any_script_runs() {
    let page =
        Html::parse_document(&pages::plan_form::render(&fixtures::chrome(true, "/tests/new"), &fixtures::new_test()));
    assert_eq!(text(&page, ".preview-headline"), "This sends about 250 requests");
    assert_eq!(select(&page, "input[name=load][checked]").len(), 1);
    assert_eq!(
        select(&page, "form.test-form button")[0].value().attr("value"),
        Some("save"),
        "return saves, it does not add a request"
    );
}

#[test]
fn a_rich_form_unfolds_what_is_used_and_holds_no_secret() {
    let html = pages::plan_form::render(&fixtures::chrome(true, "/tests/test-1/edit"), &fixtures::rich_test());
    assert!(!html.contains("s3cret-pass"));
    let page = Html::parse_document(&html);
    let open = |id: &str| select(&page, &format!("#{id}[open]")).len();
    for id in
        ["f-requests-0-headers-group", "f-requests-0-extract-group", "f-stages-group", "f-data-group", "f-limits-group"]
    {
        assert_eq!(open(id), 1, "{id}");
    }
    for id in ["f-requests-0-cookies-group", "f-requests-1-headers-group", "f-advanced-group"] {
        assert_eq!((open(id), select(&page, &format!("#{id}")).len()), (0, 1), "{id}");
    }
    assert_eq!(text(&page, "#f-requests-0-headers-group summary"), "Headers (2)");
    assert_eq!(text(&page, "#f-stages-group > summary"), "Stages (4)");
    assert_eq!(select(&page, "#f-requests-1-bearer")[0].value().attr("value"), Some("{{token}}"));
    assert_eq!(select(&page, "#f-requests-2-bearer")[0].value().attr("value"), Some(""));
    assert_eq!(text(&page, ".preview-headline"), "Up to 40 clients at once for 6 min");
    // Every button that changes rows leads the focus to something that is there, or will be.
    for button in select(&page, "button[data-edit]") {
        assert!(button.value().attr("formaction").unwrap().contains("#"), "{:?}", button.value());
        let name = button.value().attr("aria-label").map_or_else(|| button.text().collect(), str::to_owned);
        assert!(name.chars().any(char::is_alphabetic), "a button without a name");
    }
    assert!(
        select(&page, "[tabindex]").iter().all(|e| e.value().attr("tabindex").unwrap().parse::<i32>().unwrap() <= 0)
    );
}

#[test]
fn a_rich_plan_is_told_in_words_without_secrets() {
    let mut test = fixtures::test_page();
    let mut spec = fixtures::rich_spec();
    spec.order = oleada_engine::plan::scenario::Order::Weighted;
    test.plan = oleada_engine::result::PlanDoc::of(&oleada_engine::plan::Plan::try_from(spec).unwrap());
    let html = pages::plans::render_one(&fixtures::chrome(true, "/tests/test-1"), &test);
    let page = Html::parse_document(&html);
    let facts = text(&page, ".facts");
    for words in [
        "from 0 clients at once in 4 stages over 6 min",
        "to 40 in 1 min, to 40 in 4 min, at once to 10, to 0 in 1 min",
        "500 ms to 3,000 ms after each reply",
        "2 rows of user, pin; each client has one of its own",
        "makes the request an error",
        "errors>1%, which ends it at once; p99>2s for Look at a product",
        "Log in POST http://shop.example/api/login with body of 38 B",
        "basic authentication, 2 conditions, the variables token, csrf from its reply and weight 1",
        "a bearer token",
    ] {
        assert!(facts.contains(words), "{words}: {facts}");
    }
    for secret in ["s3cret-pass", "1111", "theme=dark", "$.token"] {
        assert!(!html.contains(secret), "{secret}");
    }
}

#[test]
fn limits_stand_on_top_of_the_report() {
    let limit = |text: &str, held| oleada_engine::limit::LimitDoc {
        text: text.into(),
        request: None,
        value: Some(if held { 120.0 } else { 340.5 }),
        unit: "ms".into(),
        held,
    };
    let verdict = |limits: Vec<oleada_engine::limit::LimitDoc>| {
        let mut run = fixtures::run_page(RunState::Finished, 0.0);
        run.result.as_mut().unwrap().limits = limits;
        let page = Html::parse_document(&pages::run::render(&fixtures::chrome(true, "/runs/run-2"), &run));
        (text(&page, ".verdict-line strong"), text(&page, ".limits li"), select(&page, ".verdict.bad").len())
    };
    let (word, rows, bad) = verdict(vec![limit("p95>300ms", true), limit("p99>300ms", false)]);
    assert_eq!((word.as_str(), bad), ("Failed.", 1));
    assert!(rows.contains("✓ Kept: fails when p95>300ms – 120 ms measured | ✗ Broken: fails when p99>300ms"), "{rows}");
    assert_eq!(
        (verdict(vec![limit("p95>300ms", true)]).0.as_str(), verdict(Vec::new()).0.as_str()),
        ("Passed.", "Passed as planned.")
    );
}

#[test]
fn a_report_answers_in_its_first_lines() {
    let page = Html::parse_document(&pages::run::render(
        &fixtures::chrome(true, "/runs/run-2"),
        &fixtures::run_page(RunState::Finished, 0.0),
    ));
    assert_eq!(
        text(&page, ".verdict-line"),
        "Passed as planned. All 4,740 requests were answered ok. Nothing limited the run: the plan was carried out as written."
    );
    let labels: Vec<String> = select(&page, ".figures dt").iter().map(|e| e.text().collect()).collect();
    assert_eq!(labels, ["Requests/s", "p50", "p95", "p99", "Errors", "Peak clients"]);
    assert_eq!(text(&page, ".flow-node strong"), "4,740 | 4,740 | 0");
    assert_eq!(select(&page, ".outcomes tbody tr").len(), 9);
    assert_eq!(select(&page, ".chart-data tbody tr").len(), 60);
    assert_eq!(select(&page, ".facts time[datetime='2026-12-01T10:00:00Z']").len(), 1);
    assert!(
        text(&page, ".facts").contains("198.51.100.1:80 (60 connections), 198.51.100.2:80 (60 connections)"),
        "{}",
        text(&page, ".facts")
    );
}

#[test]
fn b51_a_report_says_what_was_spoken() {
    let facts = |change: &dyn Fn(&mut RunPage)| {
        let mut run = fixtures::run_page(RunState::Finished, 0.0);
        change(&mut run);
        text(&Html::parse_document(&pages::run::render(&fixtures::chrome(true, "/runs/run-2"), &run)), ".facts dd")
    };
    assert!(facts(&|_| {}).contains("| ran over HTTP/1.1 |"));
    let old = facts(&|run| run.result.as_mut().unwrap().protocols.clear());
    assert!(!old.contains("ran over"), "results from before this was counted say nothing");
    let tls = facts(&|run| {
        let result = run.result.as_mut().unwrap();
        result.plan.requests.iter_mut().for_each(|r| r.url = "https://shop.example/".into());
        (result.plan.insecure, run.plan.insecure) = (true, true);
        result.tls_versions = [("TLS 1.2".to_owned(), 1), ("TLS 1.3".to_owned(), 1200)].into();
    });
    assert!(tls.contains("| ran over HTTP/1.1: the target does not offer HTTP/2 |"), "{tls}");
    assert!(
        tls.contains("| 1 connection with TLS 1.2, 1,200 connections with TLS 1.3; certificates were not checked |"),
        "{tls}"
    );
    assert!(tls.ends_with("| version 1.2 or 1.3 | not checked"), "{tls}");
    let both = facts(&|run| {
        run.result.as_mut().unwrap().protocols.insert("http/2".into(), 1);
        run.plan.min_tls = oleada_engine::plan::TlsVersion::Tls13;
    });
    assert!(
        both.contains("4,740 answers over HTTP/1.1, 1 answer over HTTP/2") && both.contains("| version 1.3 only |"),
        "{both}"
    );
}

#[test]
fn an_odd_host_name_has_both_forms_and_a_warning() {
    let page = |host| Html::parse_document(&pages::hosts::render_one(&fixtures::chrome(true, "/hosts/host-3"), &host));
    let odd = HostPage { unicode: Some(HOSTILE.into()), warning: Some(HOSTILE.into()), ..fixtures::host_page(2) };
    let odd = page(odd);
    assert_eq!((text(&odd, "bdi"), text(&odd, ".note-box.warn")), (HOSTILE.to_owned(), HOSTILE.to_owned()));
    let plain = page(fixtures::host_page(2));
    assert_eq!((text(&plain, "bdi"), text(&plain, ".note-box.warn")), (String::new(), String::new()));
}

#[test]
fn a_run_that_was_never_answered_does_not_look_clean() {
    let page = Html::parse_document(&pages::run::render(&fixtures::chrome(true, "/runs/run-2"), &fixtures::dead_run()));
    assert!(text(&page, ".verdict.bad .verdict-line").contains("Nothing was answered: all 100 requests failed."));
    let figures = text(&page, ".figure dd:not(.note)");
    assert_eq!(figures, "0 | – | – | – | 100 % | 0");
    assert!(text(&page, ".facts").contains("memory unknown"), "what the system does not say");
}

#[test]
fn a_public_report_has_no_private_controls() {
    let html = pages::run::render(&fixtures::chrome(false, "/r/tok3n"), &fixtures::public_run());
    let page = Html::parse_document(&html);
    assert!(select(&page, "main form").is_empty());
    assert!(!html.contains("run-2") && !html.contains("test-1"), "ids of private pages are not shown");
    assert!(html.contains("noindex"));
    let live = RunPage { state: RunState::Running, ..fixtures::public_run() };
    assert!(pages::run::render(&fixtures::chrome(false, "/r/tok3n"), &live).contains("/r/tok3n/events"));
}

#[test]
fn compared_runs_stand_side_by_side() {
    let page =
        Html::parse_document(&pages::compare::render(&fixtures::chrome(true, "/compare"), &fixtures::compare_page()));
    let errors: Vec<String> = select(&page, ".compare tbody tr")
        .iter()
        .map(|r| r.text().collect::<Vec<_>>().join(" "))
        .filter(|r| r.starts_with("Error share"))
        .collect();
    assert!(errors[0].contains("(new)") && errors[0].contains("points"), "{errors:?}");
    assert_eq!(select(&page, "leptos-island").len(), 4);
    assert!(text(&page, ".compare-plans").contains("1 min 10 s"));
}

#[test]
fn only_the_form_file_writes_a_textarea() {
    fn visit(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, found);
            } else if std::fs::read_to_string(&path).unwrap().contains("<textarea") {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    visit(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert_eq!(found, ["form.rs"]);
}

//! The report: any part of a run, its charts, what ab would print, notes, and hostile or odd texts.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use harness::stored::{Stored, result, sum};
use harness::tools::Target;
use harness::user::{Anonymous, Reply, SignedIn};
use harness::{Server, form_of};
use oleada_engine::outcome::{ErrorKind, Outcome};
use oleada_engine::window::Window;
use serde_json::Value;

/// Runs a test of one request to its end.
async fn measured(user: &SignedIn, target: &Target, load: &[(&str, &str)], path: &str) -> String {
    user.post("/hosts", &[("address", target.address())]).await;
    let mut form = form_of(load);
    form.extend(form_of(&[
        ("name", "Measured"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &target.url(path)),
        ("error_threshold", "100"),
        ("action", "run"),
    ]));
    let run = user.post_pairs("/tests", &form).await.location();
    user.wait_for_run(&run).await;
    run
}

/// Seconds of made-up latencies, and the latencies in µs: all of them, and by second.
fn seconds(n: u32) -> (Vec<Window>, Vec<Vec<u64>>) {
    let mut state = 11u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut windows = Vec::new();
    let mut samples = Vec::new();
    for t in 0..n {
        let (mut window, mut of_second) = (Window::new(t, 1), Vec::new());
        // One second is silent.
        for _ in 0..if t == 30 { 0 } else { 20 + random() % 60 } {
            let us = 500 + random() % 20_000 * (1 + u64::from(t / 20) * 3);
            window.ledger.planned += 1;
            window.ledger.sent += 1;
            let status = if random() % 10 == 0 { 500 } else { 200 };
            window.ledger.finish(Outcome::Answered(status));
            *window.statuses.entry(status).or_default() += 1;
            window.record_latency(us, status == 200);
            window.service.record(us / 2);
            of_second.push(us);
        }
        window.ledger.planned += 1;
        window.ledger.sent += 1;
        window.ledger.finish(Outcome::Failed(ErrorKind::Timeout));
        window.failed.record(1_000_000);
        window.counters.bytes_received = 1000 + u64::from(t);
        window.counters.bytes_sent = 10 + u64::from(t);
        window.peak_clients = u64::from(t);
        windows.push(window);
        samples.push(of_second);
    }
    (windows, samples)
}

/// Nearest rank, in ms.
fn rank(sorted: &[u64], q: f64) -> f64 {
    sorted[((sorted.len() as f64 * q).ceil() as usize).max(1) - 1] as f64 / 1000.0
}

/// A figure of a table of the page.
fn figure(page: &Reply, table: &str, row: &str, column: usize) -> f64 {
    let heads = page.select(&format!("{table} tbody th"));
    let cells = page.select(&format!("{table} tbody td:nth-child({column})"));
    let at = heads.iter().position(|head| head == row).unwrap_or_else(|| panic!("{row} in {heads:?}"));
    cells[at].replace(',', "").parse().unwrap_or_else(|_| panic!("{row}: {}", cells[at]))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.006 * b.abs().max(0.001)
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_any_part_equal_those_of_all_its_samples() {
    let stored = Stored::new().await;
    let (windows, samples) = seconds(61);
    stored.replace(&windows, &result(&sum(&windows), 60.4)).await;
    let link = stored.share().await;
    let visitor = Anonymous::new(&stored.server);
    for (from, to) in [(0u32, 61u32), (12, 40), (30, 31), (59, 61), (0, 1), (29, 32)] {
        let query = format!("from={from}&to={to}");
        let json = stored.user.json(&format!("{}/window.json?{query}", stored.run)).await;
        assert_eq!(json, visitor.json(&format!("{link}/window.json?{query}")).await);
        let mut all: Vec<u64> = samples[from as usize..to as usize].concat();
        all.sort_unstable();
        let part = &windows[from as usize..to as usize];
        let count = |pick: fn(&Window) -> u64| part.iter().map(pick).sum::<u64>();
        assert_eq!(json["ledger"]["ok"], count(|w| w.ledger.ok));
        assert_eq!(json["ledger"]["status_5xx"], count(|w| w.ledger.status_5xx));
        assert_eq!(json["ledger"]["timeout"], u64::from(to - from));
        assert_eq!(json["bytes"]["received"], count(|w| w.counters.bytes_received));
        assert_eq!(json["bytes"]["sent"], count(|w| w.counters.bytes_sent));
        assert_eq!(json["latency_ms"]["count"], all.len());
        assert_eq!((&json["peak_clients"], &json["seconds_recorded"]), (&(to - 1).into(), &(to - from).into()));
        let length = f64::from(to).min(60.4) - f64::from(from);
        assert!(close(json["requests_per_second"].as_f64().unwrap(), all.len() as f64 / length), "{json}");
        let ended = all.len() as u64 + u64::from(to - from);
        let errors = ended - count(|w| w.ledger.ok);
        assert!(close(json["error_rate"].as_f64().unwrap(), errors as f64 / ended as f64), "{json}");

        let page = visitor.get(&format!("{link}?{query}")).await;
        assert_eq!(page.status, 200);
        assert_eq!(page.select("#part-title"), [format!("Seconds {from} to {to}")]);
        assert!(page.body.contains("up to, but not including,"), "the page says which seconds these are");
        assert_eq!((page.value_of("from"), page.value_of("to")), (Some(from.to_string()), Some(to.to_string())));
        assert_eq!(figure(&page, ".part-figures", "Timed out", 2), f64::from(to - from));
        for (name, field, q) in [
            ("p50", "p50", 0.5),
            ("p75", "p75", 0.75),
            ("p95", "p95", 0.95),
            ("p99", "p99", 0.99),
            ("p99.9", "p99_9", 0.999),
            ("Largest", "max", 1.0),
        ] {
            let value = &json["latency_ms"][field];
            if all.is_empty() {
                assert!(value.is_null(), "{json}");
                continue;
            }
            let value = value.as_f64().unwrap();
            assert!((value / rank(&all, q) - 1.0).abs() < 0.001, "{query} {name}: {value} against {}", rank(&all, q));
            assert!(close(figure(&page, ".part-times", name, 2), value), "{query} {name}");
            let service = json["service_ms"][field].as_f64().unwrap();
            assert!(close(figure(&page, ".part-times", name, 4), service), "{query} {name}");
        }
    }
    // The whole as a part is the whole.
    let whole = stored.user.json(&format!("{}/window.json", stored.run)).await;
    let document = stored.user.json(&format!("{}/result.json", stored.run)).await;
    for field in [
        "latency_ms",
        "ok_ms",
        "service_ms",
        "failed_ms",
        "ledger",
        "bytes",
        "statuses",
        "errors",
        "peak_clients",
        "requests_per_second",
        "error_rate",
        "duration_s",
    ] {
        assert_eq!(whole[field], document[field], "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_makes_no_sense_is_told_and_the_page_is_shown() {
    let stored = Stored::new().await;
    let (windows, _) = seconds(20);
    stored.replace(&windows, &result(&sum(&windows), 20.0)).await;
    for (query, sentence) in [
        ("from=20", "From second must be at most 19: the run has no second after that"),
        ("from=12&to=4", "To second must be greater than the first second"),
        ("from=5&to=5", "To second must be greater than the first second"),
        ("from=99999999999999999999&to=4", "From second must be at most 19"),
        ("from=-1", "From second must be a whole number of seconds"),
        ("from=<b>1</b>", "From second must be a whole number of seconds"),
        ("to=1e3", "To second must be a whole number of seconds"),
    ] {
        let page = stored.user.get(&format!("{}?{query}", stored.run)).await;
        assert_eq!(page.status, 200, "{query}");
        assert!(
            page.select(".part .field-error").join(" ").starts_with(sentence),
            "{query}: {:?}",
            page.select(".part")
        );
        assert!(page.select("#percentiles-title").len() == 1 && page.select(".part-figures").is_empty());
        let json = stored.user.get(&format!("{}/window.json?{query}", stored.run)).await;
        assert_eq!(json.status, 400, "{query}");
        assert!(serde_json::from_str::<Value>(&json.body).unwrap()["error"].is_string());
    }
    // Beyond the end there is nothing to add.
    let json = stored.user.json(&format!("{}/window.json?from=15&to=99999999999999999999", stored.run)).await;
    assert_eq!((&json["from"], &json["to"]), (&15.into(), &20.into()));
    // Without a part the form is there, too; it works without a script.
    let page = stored.user.get(&stored.run).await;
    assert_eq!(page.select_attribute("form.part-form", &["action"]), std::slice::from_ref(&stored.run));
    assert!(page.select("#part-title").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn seconds_tell_outcomes_apart_live_and_stored() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let load = [("load", "per_second"), ("rate", "20"), ("duration_s", "1")];
    let run = measured(&user, &target, &load, "/status/503").await;
    let doc = user.json(&format!("{run}/result.json?seconds=1")).await;
    let sum = |name: &str| doc["seconds"].as_array().unwrap().iter().map(|s| s[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("status_5xx"), sum("errors"), sum("timeout")), (20, 20, 0));
    assert_eq!(
        (sum("bytes_sent"), sum("bytes_received")),
        (doc["bytes"]["sent"].as_u64().unwrap(), doc["bytes"]["received"].as_u64().unwrap())
    );
    let told: Vec<Value> = user
        .events(&run, None)
        .await
        .iter()
        .filter(|(name, ..)| name == "second")
        .map(|(.., data)| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(Value::from(told), doc["seconds"]);
    let page = user.get(&run).await;
    let legends = page.select(".chart .legend .name");
    assert!(
        legends.contains(&"Server errors (5xx)".to_owned()) && !legends.contains(&"Timed out".to_owned()),
        "{legends:?}"
    );
    assert!(!page.select(".example summary").is_empty(), "the first failed exchanges are shown");
    assert!(page.select(".example summary strong")[0].starts_with("Status 503"));
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_the_shortest_runs_show_all_numbers_and_a_point_in_every_chart() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    for (load, requests) in [
        (&[("load", "fixed_count"), ("requests", "1"), ("clients", "1")][..], 1u64),
        (&[("load", "per_second"), ("rate", "5"), ("duration_s", "1")], 5),
    ] {
        let run = measured(&user, &target, load, "/").await;
        let doc = user.json(&format!("{run}/result.json")).await;
        assert_eq!(doc["ledger"]["ok"], requests);
        let rate = doc["requests_per_second"].as_f64().unwrap();
        // The length is written in whole milliseconds, of which the shortest run has one.
        let length = doc["duration_s"].as_f64().unwrap();
        let within = requests as f64 / (length + 0.0006)..=requests as f64 / (length - 0.0006).max(1e-6);
        assert!(within.contains(&rate), "{rate} {within:?} {doc}");
        let page = user.get(&run).await;
        let drawings = page.select_attribute(".chart .drawing.wide > svg", &["class"]);
        assert_eq!(drawings.len(), 5, "times, outcomes, bandwidth, distribution, percentiles");
        for chart in 1..=5 {
            let marks = ["circle.dot", "path.line", "rect.bar"]
                .map(|mark| page.select_attribute(&format!(".chart .drawing.wide > svg {mark}"), &["class"]).len());
            assert!(marks.iter().sum::<usize>() >= chart, "{marks:?}");
        }
        assert!(!page.main().contains("NaN") && !page.main().contains(">inf"));
        // The same after a reload.
        assert_eq!(user.get(&run).await.select(".chart-data tbody tr"), page.select(".chart-data tbody tr"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b07_a_mean_above_p95_is_explained() {
    let stored = Stored::new().await;
    let mut window = Window::new(0, 1);
    for n in 0..1000 {
        window.ledger.planned += 1;
        window.ledger.sent += 1;
        window.ledger.finish(Outcome::Answered(200));
        window.record_latency(if n % 500 == 0 { 3_000_000 } else { 900 }, true);
        window.service.record(900);
    }
    stored.replace(std::slice::from_ref(&window), &result(&window, 1.0)).await;
    let page = stored.user.get(&stored.run).await;
    let explained = page.select(".explain strong").join(" ");
    assert!(
        explained.contains("is above the 95th percentile") && explained.contains("that is no error"),
        "{explained}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_of_apachebench_follow_its_formulas() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let load = [("load", "fixed_count"), ("requests", "60"), ("clients", "6")];
    let run = measured(&user, &target, &load, "/bytes/1000").await;
    let doc = user.json(&format!("{run}/result.json")).await;
    let page = user.get(&run).await;
    let (names, values) = (page.select(".apache dt"), page.select(".apache dd"));
    let of = |wanted: &str, n: usize| -> f64 {
        let mut found = names.iter().zip(&values).filter(|(name, _)| *name == wanted);
        let (_, text) = found.nth(n).unwrap_or_else(|| panic!("{wanted} in {names:?}"));
        text.split(' ').next().unwrap().replace(',', "").parse().unwrap()
    };
    let (t, done) = (doc["duration_s"].as_f64().unwrap(), 60.0);
    assert_eq!((of("Concurrency level", 0), of("Complete requests", 0), of("Failed requests", 0)), (6.0, done, 0.0));
    assert!(close(of("Time per request", 0), 6.0 * t * 1000.0 / done));
    assert!(close(of("Time per request", 1), t * 1000.0 / done));
    assert!(close(of("Transfer rate", 0), doc["bytes"]["received"].as_f64().unwrap() / 1024.0 / t));
    assert_eq!(of("Document length", 0), 1000.0);
    let served = page.select(".apache tbody td.num");
    assert_eq!(page.select(".apache tbody th"), ["50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "100%"]);
    let longest: f64 = served.last().unwrap().replace(',', "").parse().unwrap();
    assert!(close(longest, doc["total_ms"]["max"].as_f64().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_kept_shown_and_bounded() {
    let stored = Stored::new().await;
    let (user, run) = (&stored.user, &stored.run);
    let link = stored.share().await;
    let notes = "New cache in front.\r\n<script>alert(1)</script> & more";
    assert_eq!(user.post(&format!("{run}/notes"), &[("notes", notes)]).await.location(), *run);
    let expected = "New cache in front. <script>alert(1)</script> & more";
    let page = user.get(run).await;
    assert_eq!(page.select(".run-notes .written"), [expected]);
    assert_eq!(page.value_of("notes").unwrap().trim_start_matches('\n'), notes.replace("\r\n", "\n"));
    let shared = Anonymous::new(&stored.server).get(&link).await;
    assert_eq!(shared.select(".run-notes .written"), [expected]);
    assert!(shared.select("form[action$='/notes']").is_empty());
    let long = "ü".repeat(10_001);
    let refused = user.post(&format!("{run}/notes"), &[("notes", &long)]).await;
    assert_eq!(refused.status, 422);
    assert!(refused.select(".error-summary").join(" ").contains("The notes may hold at most 10,000 characters"));
    assert_eq!(refused.value_of("notes").unwrap().trim(), long, "nothing typed is lost");
    assert_eq!(user.get(run).await.select(".run-notes .written"), [expected]);
    user.post(&format!("{run}/notes"), &[("notes", " \n ")]).await.location();
    assert!(user.get(run).await.select(".run-notes").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn b68_a_text_is_escaped_once_on_the_page_and_exact_in_json() {
    const TEXT: &str = "a&b<c \"d\" &nbsp; é";
    let stored = Stored::new().await;
    let mut window = Window::new(0, 1);
    for _ in 0..5 {
        window.ledger.planned += 1;
        window.ledger.sent += 1;
        window.ledger.finish(Outcome::Failed(ErrorKind::InvalidReply));
        window.errors.record(ErrorKind::InvalidReply, TEXT, 1);
    }
    let mut document = result(&window, 1.0);
    document.failed_examples.push(oleada_engine::example::FailedExample {
        kind: "invalid_reply".into(),
        detail: Some(TEXT.into()),
        response_head: Some(TEXT.into()),
        body_start: Some(TEXT.into()),
        url: TEXT.into(),
        ..Default::default()
    });
    stored.replace(std::slice::from_ref(&window), &document).await;
    let json = stored.user.json(&format!("{}/result.json", stored.run)).await;
    assert_eq!((&json["errors"][0]["detail"], &json["failed_examples"][0]["detail"]), (&TEXT.into(), &TEXT.into()));
    let page = stored.user.get(&stored.run).await;
    // As a browser shows it: entities resolved once.
    assert_eq!(page.select("section[aria-labelledby=errors-title] .sub"), [TEXT]);
    assert_eq!(page.select(".example pre code"), [TEXT, TEXT]);
    assert!(!page.body.contains("&amp;amp;") && !page.body.contains("&amp;lt;"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_from_before_anything_was_kept_is_shown_from_its_seconds() {
    let stored = Stored::new().await;
    let (windows, _) = seconds(20);
    stored.replace(&windows, &result(&sum(&windows), 20.0)).await;
    let now = stored.user.get(&stored.run).await;
    stored.db.keep_for_report(stored.id, &Default::default()).await.unwrap();
    let before = stored.user.get(&stored.run).await;
    for css in [".chart-says", ".chart-data tbody td", ".figures dd"] {
        assert_eq!(before.select(css), now.select(css), "{css}");
    }
    assert!(now.select("figcaption").contains(&"Distribution of response times".to_owned()));
}

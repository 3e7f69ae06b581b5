//! The first failed exchanges of a run, as the result shows them. No secret ever stands in them.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::time::Duration;

use common::target::{After, Target};
use common::{Done, document, fixed, get, run, run_with, spec, threads};
use oleada_engine::example::FailedExample;
use oleada_engine::plan::scenario::{
    Assertion, AssertionFailure, DataSpec, Extract, Relation, RowOrder, RowsOut, Source, Subject,
};
use oleada_engine::plan::{Credentials, HttpVersion, Load, Method, PlanSpec, RequestSpec, limits};
use oleada_engine::window::Window;

/// The examples of a run, as they stand in the document; also checks that stored seconds keep them.
fn examples(plan: &PlanSpec, done: &Done) -> (Vec<FailedExample>, String) {
    for second in &done.seconds {
        assert_eq!(&Window::decode(&second.encode()).unwrap(), second);
    }
    let json = serde_json::to_string(&document(plan.clone(), done)).unwrap();
    (document(plan.clone(), done).failed_examples, json)
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn statuses_timeouts_and_cuts_are_shown_with_head_and_times() {
    let target = Target::new(|call| match call.path() {
        "/missing" => call.reply("404 Not Here", "Server: scripted\r\nX-Secret: s3cret-1\r\n", "no such page"),
        "/broken" => call.reply("503 Busy", "Retry-After: 7\r\nSet-Cookie: sid=s3cret-2\r\n", "x".repeat(5000)),
        "/slow" => {
            call.wait(Duration::from_millis(800));
            After::Close
        }
        "/cut" => {
            call.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            After::Close
        }
        _ => call.ok(),
    });
    let paths = ["/", "/missing", "/broken", "/slow", "/cut"];
    let urls: Vec<String> = paths.iter().map(|path| target.url(path)).collect();
    let plan = PlanSpec {
        timeout_ms: 300.0,
        error_threshold: 100.0,
        ..spec(Load::FixedCount { requests: 10, clients: 1 }, None, &urls)
    };
    let done = run(plan.clone());
    let (shown, json) = examples(&plan, &done);
    let found: Vec<_> = shown.iter().map(|e| (e.request, &*e.kind, e.status)).collect();
    let round = [
        (1, "status_4xx", Some(404)),
        (2, "status_5xx", Some(503)),
        (3, "timeout", None),
        (4, "closed_early", Some(200)),
    ];
    assert_eq!(found, [round, round].concat());
    assert!(shown.is_sorted_by(|a, b| a.at_s <= b.at_s) && shown.iter().all(|e| e.method == "GET"));
    assert_eq!(shown[0].url, target.url("/missing"));
    assert!(shown[0].request_headers.contains(&pair("Host", &target.address.to_string())));
    assert_eq!(
        shown[0].response_head.as_deref(),
        Some("HTTP/1.1 404 Not Here\nServer: scripted\nX-Secret: …\nContent-Length: 12")
    );
    assert_eq!(shown[0].body_start.as_deref(), Some("no such page"));
    let busy = shown[1].response_head.as_deref().unwrap();
    assert!(busy.contains("Retry-After: 7\nSet-Cookie: …\n"), "{busy}");
    assert_eq!(shown[1].body_start.as_ref().unwrap().len(), limits::EXAMPLE_BODY_BYTES);
    let slow = &shown[2];
    assert!(slow.latency_ms.unwrap() >= 300.0 && slow.response_head.is_none() && slow.phases_ms.wait.is_none());
    assert_eq!(shown[3].detail.as_deref(), Some("in the middle of the reply"));
    // The first connection was opened for the first request of all, which is no example; the timeout cost the second one.
    assert!(shown[0].phases_ms.connect.is_none() && shown[0].phases_ms.wait.is_some());
    assert!(shown[0].phases_ms.receive.is_some() && shown[0].latency_ms.is_some() && shown[0].detail.is_none());
    assert!(shown[3].phases_ms.connect.is_some());
    assert!(!json.contains("s3cret"), "{json}");
}

#[test]
fn one_kind_does_not_push_out_the_others_and_nothing_grows() {
    let target = Target::new(|call| match call.path() {
        "/late" if call.n > 150 => call.reply("500 Oops", "", "late"),
        "/late" => call.ok(),
        _ => call.reply("404 Not Found", "", "gone"),
    });
    let urls = [target.url("/gone"), target.url("/late")];
    let plan = PlanSpec { error_threshold: 100.0, ..spec(Load::FixedCount { requests: 400, clients: 4 }, None, &urls) };
    let done = run_with(plan.clone(), threads(2));
    let (shown, _) = examples(&plan, &done);
    let of = |kind: &str| shown.iter().filter(|e| e.kind == kind).count();
    assert_eq!((of("status_4xx"), of("status_5xx"), shown.len()), (3, 3, 6));
    let clean = run(fixed(100, 2, Target::normal().url("/")));
    assert!(clean.totals.examples.is_empty());
}

#[test]
fn what_cannot_be_reached_says_why() {
    // Bound and gone: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plan = fixed(5, 1, format!("http://{free}/x"));
    let (shown, _) = examples(&plan, &run(plan.clone()));
    assert_eq!((shown.len(), &*shown[0].kind, shown[0].status), (3, "connect_refused", None));
    assert!(shown[0].detail.as_ref().unwrap().contains(&free.to_string()));
    assert!(shown[0].response_head.is_none() && shown[0].latency_ms.is_some());
}

#[test]
fn no_secret_value_is_ever_in_an_example() {
    let target = Target::new(|call| match call.path().split('?').next().unwrap() {
        "/login" => call.reply("200 OK", "Set-Cookie: sid=s3cret-jar\r\n", r#"{"session":"s3cret-taken/1"}"#),
        "/away" => call.reply("302 Found", "Location: /denied?token=s3cret-away&page=2\r\n", ""),
        _ => {
            // A target that repeats all it was told.
            let (head, body) = (call.head.to_owned(), call.body.to_vec());
            let headers = "WWW-Authenticate: s3cret-asked\r\nSet-Cookie: csrf=s3cret-set; Path=/\r\n";
            call.reply("403 Forbidden", headers, [head.as_bytes(), &body, b" s3cret-set"].concat())
        }
    });
    let login = RequestSpec {
        extract: vec![Extract {
            name: "session".into(),
            from: Source::Json,
            what: "$.session".into(),
            attribute: None,
        }],
        ..get(target.url("/login"))
    };
    let denied = RequestSpec {
        method: Method::Post,
        url: target
            .url("/denied/{{session}}?token=s3cret-query&user={{user}}&again={{session}}")
            .replace("//127", "//ann:s3cret-pass@127"),
        headers: vec![
            pair("Authorization", "Bearer s3cret-bearer"),
            pair("token", "s3cret-token"),
            pair("Accept", "text/html"),
        ],
        cookies: vec![pair("plan", "s3cret-cookie")],
        form: vec![pair("password", "s3cret-form"), pair("pin", "{{api_key}}")],
        ..RequestSpec::default()
    };
    let basic = RequestSpec {
        basic_auth: Some(Credentials { user: "ann".into(), password: "s3cret-basic".into() }),
        ..get(target.url("/denied/basic?access_token=s3cret-param"))
    };
    let away = get(target.url("/away"));
    let data = DataSpec {
        columns: vec!["user".into(), "api_key".into()],
        rows: vec![vec!["bob".into(), "s3cret-row".into()]],
        order: RowOrder::default(),
        at_end: RowsOut::default(),
    };
    for http in [HttpVersion::Auto, HttpVersion::Http1] {
        let plan = PlanSpec {
            requests: vec![login.clone(), denied.clone(), basic.clone(), away.clone()],
            data: Some(data.clone()),
            error_threshold: 100.0,
            http,
            ..spec(Load::FixedCount { requests: 4, clients: 1 }, None, &[])
        };
        let (shown, json) = examples(&plan, &run(plan.clone()));
        let kinds: Vec<_> = shown.iter().map(|e| (e.request, &*e.kind)).collect();
        assert_eq!(kinds, [(1, "status_4xx"), (2, "status_4xx"), (3, "status_4xx")]);
        assert!(!json.contains("s3cret"), "{json}");
        let base64 = Credentials { user: "ann".into(), password: "s3cret-basic".into() }.authorization();
        assert!(!json.contains(base64.split_once(' ').unwrap().1), "{json}");
        // What is no secret is there.
        assert!(shown[0].url.contains("&user=bob&"), "{}", shown[0].url);
        assert!(shown[0].request_headers.contains(&pair("token", "(hidden)")));
        assert!(shown[0].request_headers.contains(&pair("Accept", "text/html")));
        assert!(shown[0].request_headers.contains(&pair("Cookie", "(hidden)")), "also those that the target set");
        assert_eq!(shown[2].url, target.url("/denied?token=(hidden)&page=2"), "where the redirect led");
        assert!(shown[2].response_head.as_ref().unwrap().contains("WWW-Authenticate: …"));
    }
}

#[test]
fn conditions_that_do_not_hold_are_examples_where_they_are_errors() {
    let target = Target::new(|call| call.reply("200 OK", "Server: scripted\r\n", "not what was wanted"));
    let wanted = |on, what: &str, value: &str| RequestSpec {
        assert: vec![Assertion { on, what: what.into(), is: Relation::Contains, value: value.into() }],
        ..get(target.url("/"))
    };
    let plan = |assertion_failure| PlanSpec {
        requests: vec![wanted(Subject::Body, "", "welcome"), wanted(Subject::Status, "", "9")],
        assertion_failure,
        error_threshold: 100.0,
        ..spec(Load::FixedCount { requests: 2, clients: 1 }, None, &[])
    };
    let strict = plan(AssertionFailure::Error);
    let (shown, _) = examples(&strict, &run(strict.clone()));
    assert_eq!(shown.iter().map(|e| (&*e.kind, e.status)).collect::<Vec<_>>(), [("assertion", Some(200)); 2]);
    assert_eq!(shown[0].body_start.as_deref(), Some("not what was wanted"));
    assert!(shown[0].response_head.as_ref().unwrap().starts_with("HTTP/1.1 200 OK\nServer: scripted"));
    assert!(shown[0].detail.as_ref().unwrap().contains("welcome"), "{:?}", shown[0].detail);
    assert_eq!(shown[1].body_start, None, "it was not read, and is not read for this");
    let lenient = plan(AssertionFailure::Note);
    assert!(run(lenient).totals.examples.is_empty());
}

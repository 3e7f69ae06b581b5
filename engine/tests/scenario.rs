//! Scenarios: values taken from replies and filled into requests, conditions, data, pauses, weights. What is sent is read from
//! the target's own log; every run also passes the invariants in `common::finish`.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::target::{After, Target, header};
use common::{Done, MS, begin, finish, fixed, get, maintain, per_second, run, run_with, spec, threads};
use oleada_engine::net::{Options, StartError, check, trace};
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::scenario::{
    Assertion, AssertionFailure, DataSpec, Extract, Order, Pause, Relation, RowOrder, RowsOut, Source, Subject,
};
use oleada_engine::plan::{HttpVersion, Load, Method, Plan, PlanSpec, RequestSpec};
use oleada_engine::result::{EndReason, Record, ResultDoc};

fn extract(name: &str, from: Source, what: &str) -> Extract {
    Extract { name: name.into(), from, what: what.into(), attribute: None }
}

fn assertion(on: Subject, what: &str, is: Relation, value: &str) -> Assertion {
    Assertion { on, what: what.into(), is, value: value.into() }
}

fn post(url: String, form: &[(&str, &str)]) -> RequestSpec {
    let form = form.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    RequestSpec { method: Method::Post, form, ..get(url) }
}

fn data(columns: &[&str], rows: usize, order: RowOrder, at_end: RowsOut) -> Option<DataSpec> {
    let row = |n: usize| columns.iter().map(|column| format!("{column}{n}")).collect();
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    Some(DataSpec { columns, rows: (0..rows).map(row).collect(), order, at_end })
}

fn same(ms: f64) -> Option<Pause> {
    Some(Pause { least_ms: ms, most_ms: ms })
}

fn errors(done: &Done) -> Vec<(ErrorKind, String, u64)> {
    done.totals.errors.rows().into_iter().map(|r| (r.kind, r.detail, r.count)).collect()
}

fn document(plan: &PlanSpec, done: &Done) -> ResultDoc {
    let plan = Plan::try_from(plan.clone()).unwrap();
    let record = Record {
        plan: &plan,
        started_at: String::new(),
        duration: done.end.duration,
        end: Some(done.end.end_reason),
        totals: &done.totals,
        in_flight_at_end_us: &[],
        clients_capped: 0,
        threads: 1,
        max_rss_mb: None,
    };
    record.document(None)
}

/// A shop: a form with a token, a sign-in that wants it, a list in JSON, its items. Everything is 403 unless it fits together.
fn shop() -> Target {
    let tokens: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let signed_in: Mutex<BTreeMap<String, String>> = Mutex::default();
    Target::new(move |call| {
        let cookies = header(call.head, "cookie").unwrap_or_default();
        let cookie = |name: &str| {
            cookies.split("; ").find_map(|c| c.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default().to_owned()
        };
        let n = call.n;
        let path = call.path().to_owned();
        match &*path {
            "/login" if call.head.starts_with("GET") => {
                let token = format!("t+{n}/&=\u{fc}");
                tokens.lock().unwrap().insert(token.clone(), n);
                let shown = token.replace('&', "&amp;");
                call.reply(
                    "200 OK",
                    &format!("Set-Cookie: visit={n}; Path=/\r\n"),
                    format!("<html><form><input type=hidden name=csrf value=\"{shown}\"></form></html>"),
                )
            }
            "/login" => {
                let fields: BTreeMap<String, String> = url::form_urlencoded::parse(call.body).into_owned().collect();
                let given = tokens.lock().unwrap().remove(&fields["csrf"]);
                if given.map(|n| n.to_string()) != Some(cookie("visit")) {
                    return call.reply("403 Forbidden", "", "token");
                }
                signed_in.lock().unwrap().insert(format!("s{n}"), fields["user"].clone());
                call.reply("302 Found", &format!("Set-Cookie: sid=s{n}; Path=/\r\nLocation: /home\r\n"), "")
            }
            "/home" => match signed_in.lock().unwrap().get(&cookie("sid")) {
                Some(user) => call.reply("200 OK", "", format!(r#"{{"items":[{{"id":"{user}-item"}}]}}"#)),
                None => call.reply("403 Forbidden", "", "home"),
            },
            item => {
                let user = signed_in.lock().unwrap().get(&cookie("sid")).cloned().unwrap_or_default();
                let status = if item == format!("/item/{user}-item?of={user}") { "200 OK" } else { "403 Forbidden" };
                call.reply(status, "", item)
            }
        }
    })
}

fn shopping(target: &Target) -> Vec<RequestSpec> {
    let mut token = extract("csrf", Source::Css, "form input[name=csrf]");
    token.attribute = Some("value".into());
    let form = RequestSpec { extract: vec![token], ..get(target.url("/login")) };
    let mut sign_in = post(target.url("/login"), &[("user", "{{user}}"), ("csrf", "{{csrf}}")]);
    sign_in.extract = vec![extract("id", Source::Json, "$.items[0].id"), extract("sid", Source::Cookie, "sid")];
    let mut item = get(target.url("/item/{{id}}?of={{user}}"));
    item.headers = vec![("X-Client".into(), "{{$client}}".into()), ("X-Sid".into(), "{{sid}}".into())];
    vec![form, sign_in, item]
}

#[test]
fn fifty_users_sign_in_each_as_itself() {
    let target = shop();
    let mut plan = maintain(50, 50, 1.0, target.url("/"));
    plan.requests = shopping(&target);
    plan.data = data(&["user"], 50, RowOrder::Unique, RowsOut::Stop);
    plan.think = same(20.0);
    let done = run_with(plan, threads(2));
    let ledger = done.ledger();
    assert_eq!((ledger.ok, ledger.dropped), (ledger.sent, 0), "{:?}", done.totals.statuses);
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for seen in target.seen().iter().filter(|s| s.path().starts_with("/item/")) {
        let sid = header(&seen.head, "x-sid").unwrap();
        assert!(header(&seen.head, "cookie").unwrap().contains(&format!("sid={sid}")));
        let user = seen.path().split_once("of=").unwrap().1.to_owned();
        users.entry(user).or_default().insert(header(&seen.head, "x-client").unwrap());
    }
    assert_eq!(users.len(), 50);
    let clients: BTreeSet<&String> = users.values().flatten().collect();
    assert!(clients.len() == 50 && users.values().all(|clients| clients.len() == 1), "{users:?}");
    assert!(clients.iter().all(|n| n.parse::<u64>().unwrap() < 50));
}

#[test]
fn what_needs_a_value_that_is_missing_is_not_sent() {
    let target = Target::normal();
    let mut from = get(target.url("/from"));
    from.extract = vec![extract("id", Source::Regex, "id=([0-9]+)")];
    let requests = vec![from, get(target.url("/to/{{id}}")), get(target.url("/on"))];
    let plan = PlanSpec { requests, ..fixed(9, 1, String::new()) };
    let done = run(plan.clone());
    let ledger = done.ledger();
    assert_eq!((ledger.planned, ledger.sent, ledger.dropped, target.requests()), (9, 6, 3, 6));
    assert_eq!(done.totals.requests[1].ledger.dropped, 3);
    let detail = "id (regex id=([0-9]+) of request 1): no such thing in the reply".to_owned();
    assert_eq!(errors(&done), [(ErrorKind::MissingVariable, detail, 3)]);
    let doc = document(&plan, &done);
    assert_eq!(doc.not_sent, BTreeMap::from([("missing_variable".to_owned(), 3)]));
    let verdict = doc.verdict.reasons.join(" ");
    assert!(verdict.contains("not sent because a value") && !verdict.contains("took too long"), "{verdict}");

    let open = run(PlanSpec { load: Load::PerSecond { rate: 20.0 }, duration_s: Some(0.5), ..plan });
    let ledger = open.ledger();
    assert_eq!((ledger.planned, ledger.sent, ledger.dropped), (30, 20, 10));
    assert_eq!(open.totals.not_sent[&ErrorKind::MissingVariable], 10);
}

#[test]
fn a_list_of_which_nothing_can_be_sent_is_not_tried_all_the_time() {
    let target = Target::normal();
    let mut plan = maintain(2, 2, 0.4, target.url("/{{nothing}}"));
    plan.requests.push(get(target.url("/{{nothing}}/2")));
    let done = run(plan);
    let ledger = done.ledger();
    // At most two requests each 20 ms by each of two clients.
    assert!(ledger.dropped >= 4 && ledger.dropped <= 2 * 2 * 21, "{ledger:?}");
    assert_eq!((ledger.sent, target.requests()), (0, 0));
    assert!(errors(&done)[0].1.contains("no request takes it"), "{:?}", errors(&done));
}

#[test]
fn an_older_value_does_not_outlive_a_reply_without_it() {
    let target = Target::new(|call| match (call.path(), call.n) {
        ("/from", 1) => call.reply("200 OK", "X-Id: 7\r\n", ""),
        ("/from", _) => call.reply("200 OK", "", ""),
        _ => call.ok(),
    });
    let mut from = get(target.url("/from"));
    from.extract = vec![extract("id", Source::Header, "X-Id")];
    let done = run(PlanSpec { requests: vec![from, get(target.url("/to/{{id}}"))], ..fixed(4, 1, String::new()) });
    assert_eq!((done.ledger().sent, done.ledger().dropped), (3, 1));
    let paths: Vec<String> = target.seen().iter().map(|s| s.path().to_owned()).collect();
    assert_eq!(paths, ["/from", "/to/7", "/from"]);
}

fn gzip(plain: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(plain.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn packed_chunked_and_endless_bodies_are_read() {
    let target = Target::new(|call| match call.path() {
        "/gzip" => call.reply("200 OK", "Content-Encoding: gzip\r\n", gzip(r#"{"id":"zipped"}"#)),
        "/br" => call.reply("200 OK", "Content-Encoding: br\r\n", "xxxx"),
        "/chunked" => {
            call.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"id\r\n");
            call.wait(5 * MS);
            call.write("9\r\n\":\"chunke");
            call.wait(5 * MS);
            call.write("\r\n2\r\nd\"\r\n1\r\n}\r\n0\r\n\r\n");
            After::Keep
        }
        "/close" => {
            call.write("HTTP/1.1 200 OK\r\n\r\n{\"id\":");
            call.wait(5 * MS);
            call.write("\"closed\"}");
            After::Close
        }
        "/large" => call.reply("200 OK", "", "x".repeat(3_000_000)),
        _ => call.ok(),
    });
    let mut requests = Vec::new();
    for path in ["/gzip", "/chunked", "/close", "/br", "/large"] {
        let mut from = get(target.url(path));
        from.extract = vec![extract("id", Source::Json, "$.id")];
        requests.extend([from, get(target.url("/to/{{id}}"))]);
    }
    requests[2].headers = vec![("accept-encoding".into(), "gzip".into())];
    let done = run(PlanSpec { requests, ..fixed(10, 1, String::new()) });
    let seen = target.seen();
    let paths: Vec<&str> = seen.iter().map(|s| s.path()).collect();
    assert_eq!(paths, ["/gzip", "/to/zipped", "/chunked", "/to/chunked", "/close", "/to/closed", "/br", "/large"]);
    let asked: Vec<Option<String>> = seen.iter().map(|s| header(&s.head, "accept-encoding")).collect();
    assert_eq!(asked[..3], [Some("identity".to_owned()), None, Some("gzip".to_owned())]);
    let details: BTreeSet<String> = errors(&done).into_iter().map(|(_, detail, _)| detail).collect();
    assert_eq!(details.len(), 2);
    assert!(details.iter().any(|d| d.ends_with("cannot be undone (Content-Encoding)")), "{details:?}");
    assert!(details.iter().any(|d| d.ends_with("the body is larger than 1 MB")), "{details:?}");
    // Bytes are those on the wire.
    assert_eq!(done.totals.counters.bytes_body, gzip(r#"{"id":"zipped"}"#).len() as u64 + 16 + 15 + 4 + 3_000_000 + 6);
}

/// Answers each stream with a header and a body in two pieces, and notes the paths.
fn http2_server() -> (String, std::sync::Arc<Mutex<Vec<String>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let log = std::sync::Arc::new(Mutex::new(Vec::new()));
    let seen = log.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((tcp, _)) = listener.accept().await {
                let seen = seen.clone();
                tokio::spawn(async move {
                    let Ok(mut connection) = h2::server::handshake(tcp).await else { return };
                    while let Some(Ok((request, mut respond))) = connection.accept().await {
                        let path = request.uri().path_and_query().unwrap().to_string();
                        let n = {
                            let mut seen = seen.lock().unwrap();
                            seen.push(path);
                            seen.len()
                        };
                        let reply = http::Response::builder().header("x-n", n).body(()).unwrap();
                        let mut body = respond.send_response(reply, false).unwrap();
                        body.send_data(bytes::Bytes::from_static(b"{\"id\":"), false).unwrap();
                        body.send_data(bytes::Bytes::from(format!("{n}}}")), true).unwrap();
                    }
                });
            }
        });
    });
    (url, log)
}

#[test]
fn replies_over_http2_are_read_too() {
    let (url, log) = http2_server();
    let mut from = get(format!("{url}/from"));
    from.extract = vec![extract("id", Source::Json, "$.id"), extract("n", Source::Header, "X-N")];
    from.assert = vec![assertion(Subject::Body, "", Relation::Matches, r"^\{.id.:\d+\}$")];
    let requests = vec![from, get(format!("{url}/to/{{{{id}}}}?n={{{{n}}}}"))];
    let done = run(PlanSpec { http: HttpVersion::Http2, requests, ..fixed(4, 1, String::new()) });
    assert_eq!(done.ledger().ok, 4);
    assert_eq!((done.totals.assertions[0].passed, done.totals.assertions[0].failed), (2, 0));
    assert_eq!(*log.lock().unwrap(), ["/from", "/to/1?n=1", "/from", "/to/3?n=3"]);
}

#[test]
fn rows_that_are_used_up_come_again_end_the_run_or_are_missing() {
    let rows = |target: &Target| -> BTreeMap<String, u32> {
        let mut rows = BTreeMap::new();
        for seen in target.seen() {
            *rows.entry(seen.path().to_owned()).or_default() += 1;
        }
        rows
    };
    let with = |target: &Target, order, at_end| {
        let plan = fixed(12, 4, target.url("/{{row}}"));
        run_with(PlanSpec { data: data(&["row"], 3, order, at_end), ..plan }, threads(2))
    };
    let all = |n: u32| BTreeMap::from([0, 1, 2].map(|row| (format!("/row{row}"), n)));

    let target = Target::normal();
    let again = with(&target, RowOrder::InOrder, RowsOut::Again);
    assert_eq!((again.ledger().ok, rows(&target).len(), rows(&target).values().sum::<u32>()), (12, 3, 12));

    let target = Target::normal();
    let stop = with(&target, RowOrder::InOrder, RowsOut::Stop);
    assert_eq!((stop.ledger().planned, stop.ledger().ok, rows(&target)), (3, 3, all(1)));
    assert_eq!(stop.end.end_reason, EndReason::Completed);

    let target = Target::normal();
    let missing = with(&target, RowOrder::InOrder, RowsOut::Missing);
    assert_eq!((missing.ledger().ok, missing.ledger().dropped, rows(&target)), (3, 9, all(1)));
    assert_eq!(
        errors(&missing),
        [(ErrorKind::MissingVariable, "row (a column of the data): no row is left".into(), 9)]
    );

    // Three of four clients have a row of their own.
    let target = Target::normal();
    let unique = with(&target, RowOrder::Unique, RowsOut::Missing);
    assert_eq!(unique.ledger().ok + unique.ledger().dropped, 12);
    assert!(rows(&target).len() <= 3, "{:?}", rows(&target));

    let target = Target::normal();
    let random = with(&target, RowOrder::Random, RowsOut::Stop);
    assert_eq!(random.ledger().ok, 12);

    // One thread without turns shares nothing and goes round exactly.
    let target = Target::normal();
    let mut plan = fixed(12, 4, target.url("/{{row}}"));
    plan.data = data(&["row"], 3, RowOrder::InOrder, RowsOut::Again);
    run_with(plan, threads(1));
    assert_eq!(rows(&target), all(4));
}

#[test]
fn an_open_run_ends_with_its_last_row() {
    let target = Target::normal();
    let mut plan = per_second(50.0, 20.0, target.url("/{{row}}"));
    plan.data = data(&["row"], 5, RowOrder::InOrder, RowsOut::Stop);
    let begun = Instant::now();
    let done = run_with(plan, threads(2));
    let ledger = done.ledger();
    assert_eq!((ledger.sent, target.requests(), done.end.end_reason), (5, 5, EndReason::Completed));
    assert!(ledger.planned >= 5 && ledger.planned < 200 && begun.elapsed() < Duration::from_secs(10), "{ledger:?}");

    // A client without a row was not planned, so that nothing is said to have been dropped.
    let mut plan = per_second(50.0, 20.0, target.url("/{{row}}"));
    plan.data = data(&["row"], 5, RowOrder::Unique, RowsOut::Stop);
    let slow = Target::new(|call| {
        call.wait(1000 * MS);
        call.ok()
    });
    plan.requests = vec![get(slow.url("/{{row}}"))];
    let ledger = run_with(plan, threads(1)).ledger();
    assert_eq!((ledger.planned, ledger.ok, ledger.dropped), (5, 5, 0));
}

#[test]
fn who_has_a_row_finishes_the_list() {
    // The second client finds no row while the first is in the middle of its list.
    let target = Target::new(|call| {
        call.wait(30 * MS);
        call.ok()
    });
    for load in [Load::Maintain { from: 2, to: 2 }, Load::FixedCount { requests: 100, clients: 2 }] {
        let before = target.requests();
        let urls = ["/1/{{row}}", "/2/{{row}}", "/3/{{row}}"].map(|path| target.url(path));
        let mut plan = spec(load, 60.0, &urls);
        plan.data = data(&["row"], 1, RowOrder::Unique, RowsOut::Stop);
        let begun = Instant::now();
        let done = run_with(plan, threads(1));
        assert_eq!((done.ledger().ok, target.requests() - before, done.ledger().dropped), (3, 3, 0), "{load:?}");
        assert_eq!(done.end.end_reason, EndReason::Completed);
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

#[test]
fn numbers_are_used_once_over_all_clients() {
    let target = Target::normal();
    let done = run_with(fixed(300, 8, target.url("/%{1:100000}?%{1:9:4}")), threads(2));
    let seen: BTreeSet<String> = target.seen().iter().map(|s| s.path().split('?').next().unwrap().to_owned()).collect();
    assert_eq!((done.ledger().ok, seen.len()), (300, 300));
    assert!(seen.contains("/1") && seen.contains("/2"));
    assert!(target.seen().iter().all(|s| ["1", "5", "9"].contains(&s.path().split_once('?').unwrap().1)));
}

#[test]
fn weights_decide_and_nothing_is_lost() {
    let target = Target::normal();
    let mut plan = fixed(1000, 4, target.url("/a"));
    plan.order = Order::Weighted;
    plan.requests.push(RequestSpec { weight: 9, ..get(target.url("/b")) });
    let done = run_with(plan.clone(), threads(2));
    let sent = |done: &Done, n: usize| done.totals.requests[n].ledger.sent;
    assert_eq!((done.ledger().ok, sent(&done, 0) + sent(&done, 1), target.requests()), (1000, 1000, 1000));
    assert!((40..=180).contains(&sent(&done, 0)), "{}", sent(&done, 0));
    let a = target.seen().iter().filter(|s| s.path() == "/a").count() as u64;
    assert_eq!(a, sent(&done, 0));

    // One request for each client that arrives; planned by request before it is sent.
    let open = PlanSpec { load: Load::PerSecond { rate: 400.0 }, duration_s: Some(0.5), ..plan.clone() };
    let done = run_with(open, threads(2));
    let planned: Vec<u64> = done.totals.requests.iter().map(|r| r.ledger.planned).collect();
    assert_eq!(planned.iter().sum::<u64>(), 200);
    assert!((5..=45).contains(&planned[0]), "{planned:?}");

    // Also of those who are never let in: the ledger of each request is closed (in `finish`).
    let slow = Target::new(|call| {
        call.wait(100 * MS);
        call.ok()
    });
    let mut capped = PlanSpec { load: Load::PerSecond { rate: 200.0 }, duration_s: Some(1.0), ..plan };
    capped.max_clients = Some(1);
    capped.timeout_ms = 150.0;
    capped.requests = vec![get(slow.url("/a")), get(slow.url("/b"))];
    let done = run_with(capped, threads(1));
    assert_eq!((done.ledger().planned, done.ledger().sent), (200, slow.requests()));
    assert!(done.totals.requests.iter().all(|r| r.ledger.dropped > 30), "{:?}", done.totals.requests);
}

#[test]
fn pauses_are_kept_and_belong_to_the_client() {
    let target = Target::normal();
    let mut plan = maintain(2, 2, 1.0, target.url("/"));
    plan.think = same(100.0);
    let done = run(plan);
    assert!((2..=20).contains(&done.ledger().ok), "{:?}", done.ledger());
    assert!(done.totals.counters.client_us >= 1_800_000, "{:?}", done.totals.counters);
    assert_eq!(done.totals.peak_clients, 2);

    // A thinking client of an open model is due when it has thought: the pause is in no response time.
    let urls = ["/1", "/2"].map(|path| target.url(path));
    let open = PlanSpec { think: same(300.0), ..spec(Load::PerSecond { rate: 10.0 }, 1.0, &urls) };
    let done = run(open);
    assert!(done.totals.requests[1].ledger.sent >= 1 && done.totals.requests[1].ledger.dropped >= 2);
    assert!(done.totals.latency.percentile_us(50_000).unwrap() < 250_000);

    // Who came with the warm-up pauses no longer than the run.
    let begun = Instant::now();
    let warm = PlanSpec { think: same(60_000.0), warm_up_s: 0.2, ..spec(Load::PerSecond { rate: 20.0 }, 0.3, &urls) };
    let done = run(warm);
    assert_eq!((done.totals.requests[0].ledger.sent, done.totals.requests[1].ledger.sent), (6, 0));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());

    // A fixed count does not end with a pause, and a stop ends those under way.
    let begun = Instant::now();
    let done = run(PlanSpec { think: same(30_000.0), ..fixed(2, 2, target.url("/")) });
    assert_eq!((done.ledger().ok, begun.elapsed() < Duration::from_secs(10)), (2, true));
    let before = target.requests();
    let running = begin(PlanSpec { think: same(60_000.0), ..maintain(2, 2, 120.0, target.url("/")) }, threads(2));
    assert!(target.eventually(|t| t.requests() >= before + 2));
    running.stopper().stop();
    let done = finish(running);
    assert_eq!((done.ledger().ok, done.end.end_reason, done.ledger().aborted), (2, EndReason::Stopped, 0));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_pace_is_the_least_time_between_two_beginnings() {
    let target = Target::normal();
    let mut plan = maintain(1, 1, 1.0, target.url("/1"));
    plan.requests.push(get(target.url("/2")));
    plan.pacing = same(150.0);
    let done = run(plan);
    assert_eq!(done.ledger().ok, target.requests());
    let begins: Vec<Instant> = target.seen().iter().filter(|s| s.path() == "/1").map(|s| s.at).collect();
    assert!((2..=7).contains(&begins.len()), "{}", begins.len());
    // The target may see the first one late and the next one in time.
    let (first, last) = (begins[0], begins[begins.len() - 1]);
    assert!(last - first >= 150 * MS * (begins.len() as u32 - 1) - 100 * MS, "{:?}", last - first);
}

#[test]
fn conditions_are_counted_and_may_count_as_errors() {
    let target = Target::new(|call| match call.n % 4 {
        0 => call.reply("500 Oops", "", r#"{"state":"broken"}"#),
        _ => call.reply("200 OK", "Content-Type: text/json\r\n", r#"{"state":"fine","n":3}"#),
    });
    let mut plan = fixed(8, 1, target.url("/"));
    plan.requests[0].assert = vec![
        assertion(Subject::Status, "", Relation::Equals, "200"),
        assertion(Subject::Json, "$.state", Relation::Equals, "fine"),
        assertion(Subject::Header, "content-type", Relation::Contains, "json"),
        assertion(Subject::Time, "", Relation::Below, "60000"),
    ];
    let done = run(plan.clone());
    assert_eq!((done.ledger().ok, done.ledger().status_5xx, errors(&done).len()), (6, 2, 0));
    let doc = document(&plan, &done);
    let counts: Vec<(usize, &str, u64, u64)> =
        doc.assertions.iter().map(|a| (a.request, &*a.text, a.passed, a.failed)).collect();
    assert_eq!(
        counts,
        [
            (0, "status equals 200", 6, 2),
            (0, "json $.state equals fine", 6, 2),
            (0, "header content-type contains json", 6, 2),
            (0, "time below 60000 ms", 8, 0)
        ]
    );
    assert_eq!(doc.assertions_total.map(|t| (t.passed, t.failed)), Some((26, 6)));
    let examples: BTreeSet<&str> = doc.assertion_failures.iter().map(|row| &*row.detail).collect();
    assert!(examples.contains("status equals 200: found “500”"), "{examples:?}");
    assert!(examples.contains("json $.state equals fine: found “broken”"), "{examples:?}");
    assert!(examples.contains("header content-type contains json: there is none"), "{examples:?}");

    plan.assertion_failure = AssertionFailure::Error;
    let done = run(plan.clone());
    assert_eq!((done.ledger().ok, done.ledger().invalid, done.totals.latency.count()), (6, 2, 6));
    assert_eq!(errors(&done), [(ErrorKind::Assertion, "status equals 200: found “500”".into(), 2)]);
    assert_eq!(document(&plan, &done).assertions_total.map(|t| (t.passed, t.failed)), Some((26, 6)));
    // Without conditions the document does not speak of them.
    let plain = fixed(1, 1, target.url("/"));
    let json = serde_json::to_string(&document(&plain, &run(plain.clone()))).unwrap();
    assert!(!json.contains("assertions") && !json.contains("not_sent"), "{json}");
}

#[test]
fn a_value_from_a_reply_cannot_break_out_of_its_place() {
    let target = Target::new(|call| match call.path() {
        "/evil" => call.reply("200 OK", "", r#"{"v":"a\r\nX-Evil: 1\r\n\r\nGET /evil2 HTTP/1.1"}"#),
        _ => call.ok(),
    });
    let mut evil = get(target.url("/evil"));
    evil.extract = vec![extract("v", Source::Json, "$.v")];
    let mut in_header = get(target.url("/header"));
    in_header.headers = vec![("X-V".into(), "{{v}}".into())];
    let mut in_cookie = get(target.url("/cookie"));
    in_cookie.cookies = vec![("v".into(), "{{v}}".into())];
    let mut bearer = get(target.url("/bearer"));
    bearer.bearer = Some("{{v}}".into());
    let in_url = get(target.url("/url/{{v}}?q={{v}}"));
    let form = post(target.url("/form"), &[("v", "{{v}}")]);
    let requests = vec![evil, in_header, in_cookie, bearer, in_url, form];
    let done = run(PlanSpec { requests, ..fixed(6, 1, String::new()) });
    assert_eq!((done.ledger().ok, done.ledger().dropped), (3, 3));
    assert_eq!(done.totals.not_sent[&ErrorKind::UnusableValue], 3);
    let seen = target.seen();
    let escaped = "a%0D%0AX-Evil%3A%201%0D%0A%0D%0AGET%20%2Fevil2%20HTTP%2F1.1";
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[1].path(), format!("/url/a%0D%0AX-Evil:%201%0D%0A%0D%0AGET%20/evil2%20HTTP/1.1?q={escaped}"));
    assert_eq!(String::from_utf8_lossy(&seen[2].body), format!("v={escaped}"));
    assert!(seen.iter().all(|s| header(&s.head, "x-evil").is_none()));
}

#[test]
fn cookies_of_the_plan_and_of_the_client_go_in_one_line() {
    let other = Target::normal();
    let away = other.url("/away");
    let target = Target::new(move |call| match call.path() {
        "/set" => call.reply("302 Found", "Set-Cookie: b=held; Path=/\r\nLocation: /there\r\n", ""),
        "/leave" => call.reply("302 Found", &format!("Location: {away}\r\n"), ""),
        _ => call.ok(),
    });
    let cookies = |request: RequestSpec, b: &str| RequestSpec {
        cookies: vec![("a".into(), "1".into()), ("b".into(), b.into())],
        ..request
    };
    let requests = vec![
        cookies(get(target.url("/first")), "plan"),
        cookies(get(target.url("/set")), "n{{$iteration}}"),
        cookies(get(target.url("/last")), "plan"),
        cookies(get(target.url("/leave")), "plan"),
    ];
    let options = Options {
        redirect_hosts: vec![Plan::try_from(fixed(1, 1, other.url("/"))).unwrap().hosts()[0].clone()],
        ..threads(1)
    };
    let done = run_with(PlanSpec { requests, ..fixed(4, 1, String::new()) }, options);
    assert_eq!((done.ledger().ok, done.totals.counters.redirects_followed), (4, 2));
    let lines = |target: &Target| -> Vec<Option<String>> {
        assert!(target.seen().iter().all(|s| s.head.matches("Cookie:").count() <= 1));
        target.seen().iter().map(|s| header(&s.head, "cookie")).collect()
    };
    let line = |text: &str| Some(text.to_owned());
    assert_eq!(
        lines(&target),
        [line("a=1; b=plan"), line("a=1; b=n0"), line("b=held; a=1"), line("b=held; a=1"), line("b=held; a=1")]
    );
    // Cookies do not know of ports; the plan's own stay with its host and port.
    assert_eq!(lines(&other), [line("b=held")]);
}

#[test]
fn faults_in_expressions_are_found_before_a_run() {
    let mut plan = fixed(1, 1, "http://127.0.0.1:9/".into());
    plan.requests[0].extract = vec![extract("a", Source::Css, "p[")];
    plan.requests[0].assert = vec![assertion(Subject::Body, "", Relation::Matches, "(")];
    let plan = Plan::try_from(plan).unwrap();
    let errors = check(&plan).unwrap_err();
    let fields: Vec<&str> = errors.0.iter().map(|e| &*e.field).collect();
    assert_eq!(fields, ["requests[0].extract", "requests[0].assert"]);
    let error = oleada_engine::net::start(plan, Options::default()).unwrap_err();
    assert!(matches!(&error, StartError::Plan(same) if *same == errors));
    assert!(error.to_string().contains("has a CSS selector that cannot be read: “p[”"), "{error}");
}

fn traced(plan: PlanSpec) -> oleada_engine::trace::Trace {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(trace(Plan::try_from(plan).unwrap(), Options::default())).unwrap()
}

#[test]
fn a_trial_shows_everything_that_passed() {
    let target = shop();
    let mut requests = shopping(&target);
    requests[2].assert = vec![
        assertion(Subject::Status, "", Relation::Equals, "200"),
        assertion(Subject::Body, "", Relation::Contains, "nothing"),
    ];
    requests.push(get(target.url("/{{unknown}}")));
    let plan = PlanSpec {
        requests,
        data: data(&["user"], 3, RowOrder::InOrder, RowsOut::Stop),
        think: same(60_000.0),
        ..maintain(50, 50, 3600.0, String::new())
    };
    let trace = traced(plan);
    assert_eq!((trace.steps.len(), target.requests()), (4, 4));
    let step = &trace.steps[0];
    assert_eq!(step.extracted[0].value.as_deref(), Some("t+1/&=\u{fc}"));
    let first = &step.exchanges[0];
    assert_eq!((first.url.clone(), first.status, first.reused), (target.url("/login"), Some(200), false));
    assert_eq!(first.address, Some(target.address.to_string()));
    assert!(
        first.request_head.text.starts_with("GET /login HTTP/1.1\r\n") && first.request_head.text.ends_with("\r\n\r\n")
    );
    assert!(first.response_head.text.contains("Set-Cookie: visit=1"));
    assert!(first.response_body.text.starts_with("<html>"));
    assert_eq!(first.response_body.bytes, first.response_body.text.len() as u64);
    let phases = first.phases_ms;
    assert!(phases.connect.is_some() && phases.tls.is_none() && phases.wait.is_some() && phases.receive.is_some());

    let step = &trace.steps[1];
    let urls: Vec<(String, Option<u16>)> = step.exchanges.iter().map(|e| (e.url.clone(), e.status)).collect();
    assert_eq!(urls, [(target.url("/login"), Some(302)), (target.url("/home"), Some(200))]);
    assert_eq!(step.exchanges[0].request_body.text, "user=user0&csrf=t%2B1%2F%26%3D%C3%BC");
    assert!(step.exchanges[1].reused && step.exchanges[1].phases_ms.connect.is_none());
    let values: Vec<(&str, Option<&str>)> = step.extracted.iter().map(|e| (&*e.name, e.value.as_deref())).collect();
    assert_eq!(values, [("id", Some("user0-item")), ("sid", Some("s2"))]);

    let judged: Vec<(bool, Option<&str>)> =
        trace.steps[2].assertions.iter().map(|a| (a.passed, a.found.as_deref())).collect();
    assert_eq!(judged, [(true, None), (false, Some("found “/item/user0-item?of=user0”"))]);
    let unsent = &trace.steps[3];
    assert_eq!((unsent.exchanges.len(), unsent.error.as_ref().map(|e| &*e.kind)), (0, Some("missing_variable")));
    let json = serde_json::to_string(&trace).unwrap();
    assert_eq!(serde_json::from_str::<oleada_engine::trace::Trace>(&json).unwrap(), trace);
}

#[test]
fn a_trial_shows_what_went_wrong_and_ends_in_time() {
    let target = Target::new(|call| match call.path() {
        "/slow" => {
            call.wait(2000 * MS);
            After::Close
        }
        "/large" => call.reply("200 OK", "", "y".repeat(200_000)),
        _ => call.ok(),
    });
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let plan = PlanSpec {
        timeout_ms: 200.0,
        order: Order::Weighted,
        requests: vec![get(target.url("/slow")), get(format!("http://127.0.0.1:{port}/")), get(target.url("/large"))],
        ..per_second(1.0, 1.0, String::new())
    };
    let begun = Instant::now();
    let trace = traced(plan);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let kinds: Vec<Option<&str>> = trace.steps.iter().map(|s| s.error.as_ref().map(|e| &*e.kind)).collect();
    assert_eq!(kinds, [Some("timeout"), Some("connect_refused"), None]);
    assert_eq!(trace.steps[1].exchanges[0].error.as_ref().map(|e| &*e.kind), Some("connect_refused"));
    assert_eq!(trace.steps[1].exchanges[0].status, None);
    let body = &trace.steps[2].exchanges[0].response_body;
    assert_eq!((body.text.len(), body.bytes), (64 * 1024, 200_000));
}

//! What the engine reports is what a scripted target saw. Every run here also passes the invariants in `common::finish`.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::target::{After, Target, header};
use common::{MS, begin, finish, fixed, get, maintain, per_second, run, run_with, spec, threads};
use oleada_engine::limit::LimitSpec;
use oleada_engine::net::{AddressPolicy, Event, Options, StartError, preflight};
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::{AtEnd, Load, Method, Plan, PlanSpec, Redirects, RequestSpec, Reuse};
use oleada_engine::result::EndReason;

fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// The kinds of failure with their counts.
fn kinds(done: &common::Done) -> Vec<(ErrorKind, u64)> {
    done.totals.errors.rows().iter().map(|r| (r.kind, r.count)).collect()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn bytes_and_connections_are_what_the_target_saw() {
    let target = Target::new(|call| {
        let echoed = call.body.to_vec();
        call.reply("200 OK", "", echoed)
    });
    let mut plan = fixed(50, 4, target.url("/"));
    plan.requests[0] = RequestSpec { method: Method::Post, body: Some("b".repeat(300_000)), ..get(target.url("/")) };
    let done = run(plan);
    let counters = done.totals.counters;
    assert_eq!((done.ledger().ok, counters.bytes_body), (50, 50 * 300_000));
    let head: u64 = target.seen().iter().map(|s| s.head.len() as u64 + 2).sum();
    assert_eq!(counters.bytes_sent, head + 50 * 300_000);
    assert_eq!(
        counters.bytes_received,
        counters.bytes_body + 50 * "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n".len() as u64
    );
    assert_eq!((counters.opened, counters.reused), (target.connections(), 50 - target.connections()));
}

#[test]
fn without_reuse_every_request_has_its_connection() {
    let target = Target::normal();
    let done = run(PlanSpec { reuse: Reuse::Off, ..fixed(40, 4, target.url("/")) });
    assert_eq!(
        (done.ledger().ok, target.connections(), done.totals.counters.opened, done.totals.counters.reused),
        (40, 40, 40, 0)
    );
    assert!(target.seen().iter().all(|s| header(&s.head, "connection").as_deref() == Some("close")));
    assert_eq!(done.totals.connect.count(), 40);
}

#[test]
fn a_walk_cut_by_the_end_drops_its_rest() {
    let target = Target::new(|call| {
        pause(400 * MS);
        call.ok()
    });
    let urls = ["/1", "/2", "/3"].map(|p| target.url(p));
    let done = run(spec(Load::PerSecond { rate: 10.0 }, 0.5, &urls));
    let ledger = done.ledger();
    assert_eq!((ledger.planned, ledger.ok, ledger.sent), (15, target.requests(), target.requests()));
    assert_eq!(done.totals.requests[0].ledger.sent, 5);
    assert!(done.totals.requests[2].ledger.dropped == 5 && ledger.dropped >= 5, "{ledger:?}");
    assert_eq!(done.seconds[0].ledger.planned, 15);
    // Each client keeps its connection for the walk.
    assert_eq!(target.connections(), 5);
    assert_eq!(done.totals.lateness.count(), 5);
}

#[test]
fn latency_runs_from_the_planned_instant_when_clients_are_capped() {
    let target = Target::new(|call| {
        pause(200 * MS);
        call.ok()
    });
    let plan = PlanSpec { max_clients: Some(2), timeout_ms: 700.0, ..per_second(20.0, 1.5, target.url("/")) };
    let done = run_with(plan, threads(1));
    let ledger = done.ledger();
    assert_eq!((ledger.planned, ledger.ok), (30, target.requests()));
    assert!(done.end.clients_capped > 5 && ledger.dropped > 5 && done.totals.peak_clients == 2, "{ledger:?}");
    // Those who waited in line have waited in their latency too, not in the service time.
    assert!(
        done.totals.latency.max_us().unwrap() > 400_000 && done.totals.service.percentile_us(50_000).unwrap() < 400_000
    );
    assert!(done.totals.lateness.max_us().unwrap() > 200_000);
}

#[test]
fn redirects_are_followed_to_allowed_hosts_only() {
    let other = Target::normal();
    let elsewhere = other.url("/");
    let target = Target::new(move |call| match call.path() {
        "/a" => call.reply("302 Found", "Location: /b\r\n", "x"),
        "/b" => call.reply("307 Temporary Redirect", "Location: c?d=1\r\n", ""),
        "/loop" => call.reply("301 Moved", "Location: /loop\r\n", ""),
        "/away" => call.reply("302 Found", &format!("Location: {elsewhere}\r\n"), ""),
        _ => call.ok(),
    });
    let mut post = fixed(3, 1, target.url("/a"));
    post.requests[0].method = Method::Post;
    post.requests[0].body = Some("data".into());
    let done = run(post);
    assert_eq!((done.ledger().ok, done.totals.statuses[&200], done.totals.counters.redirects_followed), (3, 3, 6));
    assert_eq!((target.requests(), target.connections(), done.totals.counters.reused), (9, 1, 8));
    let lines: Vec<String> = target.seen().iter().take(3).map(|s| s.head.lines().next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["POST /a HTTP/1.1", "GET /b HTTP/1.1", "GET /c?d=1 HTTP/1.1"]);
    assert_eq!(done.totals.counters.bytes_body, 3 * 3);

    let done = run(fixed(2, 1, target.url("/loop")));
    assert_eq!((done.ledger().invalid, kinds(&done)), (2, vec![(ErrorKind::RedirectLoop, 2)]));
    let done = run(fixed(2, 1, target.url("/away")));
    assert_eq!(
        (done.ledger().ok, done.totals.statuses[&302], done.totals.counters.redirects_refused, other.requests()),
        (2, 2, 2, 0)
    );
    let done = run(PlanSpec { redirects: Redirects::Off, ..fixed(2, 1, target.url("/a")) });
    assert_eq!((done.totals.statuses[&302], done.totals.counters.redirects_followed), (2, 0));
}

#[test]
fn cookies_belong_to_one_client() {
    let target = Target::new(|call| {
        if call.path() == "/in" {
            let set = format!("Set-Cookie: id={}; Path=/\r\n", call.n);
            return call.reply("200 OK", &set, "");
        }
        call.ok()
    });
    let done = run(spec(Load::PerTest { clients: 4 }, 0.4, &[target.url("/in"), target.url("/page")]));
    assert_eq!(done.ledger().ok, 8);
    let seen = target.seen();
    let cookies: Vec<Option<String>> =
        seen.iter().filter(|s| s.head.contains("/page")).map(|s| header(&s.head, "cookie")).collect();
    let distinct: std::collections::BTreeSet<_> = cookies.iter().flatten().collect();
    assert_eq!((cookies.len(), distinct.len()), (4, 4), "{cookies:?}");
    assert!(seen.iter().filter(|s| s.head.contains("/in")).all(|s| header(&s.head, "cookie").is_none()));
}

#[test]
fn what_a_target_does_wrong_is_an_outcome() {
    let target = Target::new(|call| match call.path() {
        "/nothing" => After::Close,
        "/half" => {
            call.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
            After::Close
        }
        "/garbage" => {
            call.write([0u8, 159, 146, 150, 13, 10].repeat(10));
            After::Close
        }
        "/endless" => {
            call.write("HTTP/1.1 200 OK\r\n");
            (0..30_000).for_each(|i| call.write(format!("X-{i}: y\r\n")));
            After::Close
        }
        _ => {
            call.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n");
            After::Close
        }
    });
    for (path, kind) in [
        ("/nothing", ErrorKind::ClosedEarly),
        ("/half", ErrorKind::ClosedEarly),
        ("/garbage", ErrorKind::InvalidReply),
        ("/endless", ErrorKind::HeadTooLarge),
        ("/chunks", ErrorKind::InvalidReply),
    ] {
        let done = run(fixed(6, 2, target.url(path)));
        assert_eq!(kinds(&done), [(kind, 6)], "{path}");
        assert_eq!(done.totals.latency.percentile_us(50_000), None);
    }
    let done = run(fixed(6, 2, format!("http://127.0.0.1:{}/", free_port())));
    assert_eq!((kinds(&done), done.totals.counters.opened), (vec![(ErrorKind::ConnectRefused, 6)], 0));
}

#[test]
fn a_lost_connection_is_tried_again_only_when_that_is_safe() {
    let target = Target::new(|call| if call.nth == 2 { After::Close } else { call.ok() });
    let done = run(fixed(20, 1, target.url("/")));
    // On each connection the second request is lost after it was written and is sent again.
    assert_eq!((done.ledger().ok, done.totals.counters.reconnects), (20, 19));
    let mut post = fixed(20, 1, target.url("/"));
    post.requests[0].method = Method::Post;
    let done = run(post);
    assert_eq!((done.ledger().ok, done.ledger().network, done.totals.counters.reconnects), (10, 10, 0));
}

#[test]
fn the_two_timeouts_mean_different_things() {
    let target = Target::new(|call| {
        call.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
        for _ in 0..10 {
            pause(60 * MS);
            call.write("x");
        }
        After::Keep
    });
    let dripping = run(PlanSpec { idle_timeout_ms: Some(400.0), ..fixed(2, 2, target.url("/")) });
    assert_eq!((dripping.ledger().ok, dripping.totals.counters.bytes_body), (2, 20));
    assert!(dripping.totals.receive.min_us().unwrap() > 500_000);
    let whole = run(PlanSpec { timeout_ms: 250.0, idle_timeout_ms: Some(200.0), ..fixed(2, 2, target.url("/")) });
    assert_eq!(kinds(&whole), [(ErrorKind::Timeout, 2)]);
    let idle = run(PlanSpec { idle_timeout_ms: Some(20.0), ..fixed(2, 2, target.url("/")) });
    assert_eq!(kinds(&idle), [(ErrorKind::IdleTimeout, 2)]);
    assert!(idle.end.duration < Duration::from_millis(500));
}

#[test]
fn too_many_errors_end_the_run() {
    let target = Target::new(|call| call.reply("503 No", "", ""));
    let plan = PlanSpec { error_threshold: 50.0, ..per_second(50.0, 60.0, target.url("/")) };
    let done = run(plan);
    assert_eq!(done.end.end_reason, EndReason::ErrorThreshold);
    assert!(done.end.duration < Duration::from_secs(4) && done.ledger().status_5xx == target.requests());
    let never = run(PlanSpec { error_threshold: 100.0, ..per_second(50.0, 1.5, target.url("/")) });
    assert_eq!((never.end.end_reason, never.ledger().status_5xx), (EndReason::Completed, 75));
}

#[test]
fn a_broken_limit_ends_the_run_if_it_may() {
    let target = Target::new(|call| {
        if call.path() == "/slow" {
            pause(20 * MS);
        }
        call.ok()
    });
    let limit = |text: &str, request, stop| LimitSpec { condition: text.parse().unwrap(), request, stop };
    let plan = |limits, seconds| {
        let requests = vec![get(target.url("/fast")), get(target.url("/slow"))];
        PlanSpec { requests, limits, ..per_second(50.0, seconds, target.url("/")) }
    };
    let stopped = run(plan(vec![limit("errors>1%", None, true), limit("p50>15ms", Some(1), true)], 60.0));
    assert_eq!(stopped.end.end_reason, EndReason::Limit);
    assert!(stopped.end.duration < Duration::from_secs(10), "{:?}", stopped.end.duration);
    let noted = run(plan(vec![limit("p50>15ms", Some(1), false), limit("errors>1%", None, true)], 1.5));
    assert_eq!((noted.end.end_reason, noted.ledger().ok), (EndReason::Completed, 150));
}

#[test]
fn a_missed_rate_ends_the_run() {
    let target = Target::new(|call| {
        pause(500 * MS);
        call.ok()
    });
    let plan =
        PlanSpec { max_clients: Some(1), max_rate_missed: Some(20.0), ..per_second(50.0, 60.0, target.url("/")) };
    let done = run_with(plan, threads(1));
    assert_eq!(done.end.end_reason, EndReason::RateMissed);
    assert!(done.end.duration < Duration::from_secs(5) && done.ledger().dropped > 20);
}

#[test]
fn warm_up_is_not_in_the_result() {
    let target = Target::new(|call| {
        pause(10 * MS);
        call.ok()
    });
    for plan in
        [fixed(50, 5, target.url("/")), per_second(50.0, 1.0, target.url("/")), maintain(5, 5, 0.5, target.url("/"))]
    {
        let before = target.requests();
        let begun = Instant::now();
        let done = run_with(PlanSpec { warm_up_s: 0.5, ..plan.clone() }, threads(2));
        let saw = target.requests() - before;
        assert!(saw > done.ledger().sent, "the target saw {saw}, the result has {}", done.ledger().sent);
        assert!(begun.elapsed() >= done.end.duration + Duration::from_millis(500));
        match plan.load {
            Load::Maintain { .. } => assert_eq!((done.totals.peak_clients, done.totals.counters.opened), (5, 0)),
            _ => assert_eq!(done.ledger().ok, 50),
        }
        assert_eq!(done.totals.counters.bytes_body, 2 * done.ledger().ok);
    }
}

#[test]
fn an_interruption_cuts_at_once() {
    let target = Target::new(|call| {
        pause(5000 * MS);
        call.ok()
    });
    let mut running = begin(maintain(10, 10, 60.0, target.url("/")), threads(2));
    assert!(matches!(running.next_blocking(), Some(Event::Second(_))));
    let at = Instant::now();
    running.stopper().interrupt();
    let mut end = None;
    while let Some(event) = running.next_blocking() {
        if let Event::Finished(finished) = event {
            end = Some(finished);
        }
    }
    let end = end.unwrap();
    assert!(at.elapsed() < Duration::from_millis(900));
    assert_eq!((end.end_reason, end.in_flight_at_end_us.len()), (EndReason::Interrupted, 10));
    assert!(end.in_flight_at_end_us.iter().all(|us| *us > 900_000));
}

#[test]
fn maintained_clients_are_cut_or_drained_at_the_end() {
    let target = Target::new(|call| {
        pause(300 * MS);
        call.ok()
    });
    let drained = run(maintain(4, 4, 1.0, target.url("/")));
    assert_eq!((drained.ledger().aborted, drained.ledger().ok), (0, target.requests()));
    let cut = run(PlanSpec { end: AtEnd::Abort, ..maintain(4, 4, 1.0, target.url("/")) });
    assert_eq!((cut.ledger().aborted, kinds(&cut)), (4, vec![(ErrorKind::Aborted, 4)]));
    let limited = run(PlanSpec { duration_s: Some(0.5), ..fixed(1000, 2, target.url("/")) });
    assert_eq!((limited.end.end_reason, limited.ledger().ok), (EndReason::Completed, 4));
}

#[test]
fn a_huge_plan_starts_at_once_and_stops_at_once() {
    let target = Target::normal();
    let mut plan = per_second(50_000.0, 86_400.0, target.url("/"));
    plan.max_clients = Some(50);
    let before = Instant::now();
    let running = begin(plan, threads(2));
    assert!(before.elapsed() < Duration::from_secs(1));
    running.stopper().stop();
    let done = finish(running);
    assert!(before.elapsed() < Duration::from_secs(3));
    assert_eq!((done.end.end_reason, done.ledger().ok), (EndReason::Stopped, target.requests()));
}

#[test]
fn dropping_a_run_ends_it() {
    let target = Target::normal();
    let running = begin(maintain(2, 2, 60.0, target.url("/")), threads(1));
    assert!(target.eventually(|t| t.requests() > 0));
    drop(running);
    assert!(target.eventually(|t| {
        let before = t.requests();
        pause(50 * MS);
        t.requests() == before
    }));
}

fn certificate(change: impl FnOnce(&mut rcgen::CertificateParams)) -> Arc<rustls::ServerConfig> {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key.into()).unwrap())
}

#[test]
fn tls_works_and_its_errors_are_named() {
    let target =
        Target::on("127.0.0.1:0", Some(certificate(|_| {})), |call| call.reply("200 OK", "", vec![b'x'; 100_000]));
    let url = format!("https://{}/", target.address);
    let strict = run(fixed(5, 1, url.clone()));
    assert_eq!(kinds(&strict), [(ErrorKind::TlsUnknownIssuer, 5)]);
    let lenient = run(PlanSpec { insecure: true, ..fixed(20, 2, url.clone()) });
    assert_eq!(
        (lenient.ledger().ok, lenient.totals.counters.bytes_body, lenient.totals.tls.count()),
        (20, 2_000_000, 2)
    );
    let off = run(PlanSpec { insecure: true, reuse: Reuse::Off, ..fixed(5, 1, url) });
    assert_eq!((off.ledger().ok, off.totals.tls.count()), (5, 5));
    let expired = certificate(|p| p.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let expired = Target::on("127.0.0.1:0", Some(expired), |call| call.ok());
    let done = run(PlanSpec { insecure: true, ..fixed(2, 1, format!("https://{}/", expired.address)) });
    assert_eq!(done.ledger().ok, 2);
    // A port that answers a handshake with a sentence.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            use std::io::{Read, Write};
            let mut stream = stream;
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let done = run(fixed(2, 1, format!("https://{address}/")));
    assert_eq!(kinds(&done), [(ErrorKind::NotTls, 2)]);
}

#[test]
fn an_early_reply_to_an_upload_is_the_reply() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            use std::io::{Read, Write};
            let mut stream = stream;
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
            let _ = stream.read(&mut [0; 1000]);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let mut plan = fixed(3, 1, format!("http://{address}/"));
    plan.requests[0] =
        RequestSpec { method: Method::Post, body: Some("b".repeat(1 << 20)), ..plan.requests[0].clone() };
    let done = run(plan);
    assert_eq!((done.ledger().status_4xx, done.totals.statuses[&413]), (3, 3));
}

#[test]
fn addresses_are_checked_where_they_are_dialled() {
    let target = Target::normal();
    let public = Options { policy: AddressPolicy::public(), ..Options::default() };
    let done = run_with(fixed(3, 1, target.url("/")), public.clone());
    assert_eq!((done.ledger().local, kinds(&done), target.connections()), (3, vec![(ErrorKind::AddressRefused, 3)], 0));
    let allowed =
        Options { policy: AddressPolicy::public().allow("127.0.0.1/32".parse().unwrap()), ..Options::default() };
    assert_eq!(run_with(fixed(3, 1, target.url("/")), allowed).ledger().ok, 3);
    let runtime = tokio_runtime();
    let plan = Plan::try_from(fixed(1, 1, target.url("/"))).unwrap();
    assert!(matches!(runtime.block_on(preflight(&plan, &public)), Err(StartError::Address { .. })));
    assert!(runtime.block_on(preflight(&plan, &Options::default())).is_ok());
}

fn tokio_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn names_are_resolved_by_override_and_hosts_file() {
    let target = Target::normal();
    let port = target.address.port();
    let options =
        Options { resolve: vec![format!("shop.test:{port}:127.0.0.1").parse().unwrap()], ..Options::default() };
    let done = run_with(fixed(3, 1, format!("http://shop.test:{port}/")), options);
    assert_eq!(done.ledger().ok, 3);
    assert!(target.seen().iter().all(|s| header(&s.head, "host") == Some(format!("shop.test:{port}"))));
    // `localhost` may have two addresses of which only one listens: the other one is no error.
    let done = run(PlanSpec { reuse: Reuse::Off, ..fixed(6, 2, format!("http://localhost:{port}/")) });
    assert_eq!(done.ledger().ok, 6);
    assert!(done.totals.dns.count() >= 1);
}

#[test]
fn head_requests_and_own_headers() {
    let target = Target::new(|call| {
        call.write("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
        After::Keep
    });
    let mut plan = fixed(5, 1, target.url("/"));
    plan.requests[0].method = Method::Head;
    plan.requests[0].headers =
        vec![("X-B".into(), "1".into()), ("X-A".into(), "2".into()), ("User-Agent".into(), "mine".into())];
    let done = run(plan);
    assert_eq!((done.ledger().ok, done.totals.counters.bytes_body, target.connections()), (5, 0, 1));
    let head = &target.seen()[0].head;
    assert!(head.find("X-B") < head.find("X-A") && header(head, "user-agent").as_deref() == Some("mine"), "{head}");
    assert_eq!(header(head, "accept").as_deref(), Some("*/*"));
}

#[test]
fn events_can_be_awaited() {
    let target = Target::normal();
    let mut running = begin(fixed(10, 2, target.url("/")), Options::default());
    tokio_runtime().block_on(async {
        let mut ok = 0;
        let mut finished = false;
        while let Some(event) = running.next().await {
            match event {
                Event::Second(window) => ok += window.ledger.ok,
                Event::Finished(end) => finished = end.end_reason == EndReason::Completed,
            }
        }
        assert_eq!((ok, finished), (10, true));
    });
}

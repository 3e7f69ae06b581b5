//! Names under load, against a name server that keeps a log.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::net::Ipv4Addr;
use std::time::Duration;

use common::dns::{DnsServer, Says};
use common::target::Target;
use common::{Done, MS, document, per_second, run_with};
use oleada_engine::net::{Options, StartError, preflight};
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::{Plan, PlanSpec};
use oleada_engine::result::AddressDoc;

const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const SECOND: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn ask(server: &DnsServer) -> Options {
    Options { threads: Some(1), dns_server: Some(server.address), ..Options::default() }
}

fn kinds(done: &Done) -> Vec<(ErrorKind, u64)> {
    done.totals.errors.rows().iter().map(|r| (r.kind, r.count)).collect()
}

/// Two targets that differ in the address only.
fn two_targets() -> (Target, Target) {
    for _ in 0..50 {
        let first = Target::on("127.0.0.1:0", None, |call| call.ok());
        let at = format!("{SECOND}:{}", first.address.port());
        if std::net::TcpListener::bind(&at).is_ok() {
            return (first, Target::on(&at, None, |call| call.ok()));
        }
    }
    panic!("no port is free on two addresses");
}

#[test]
fn b52_a_name_that_does_not_exist_is_asked_for_once_a_second() {
    let server = DnsServer::new(|_, _| Says { no_such_name: true, after: 50 * MS, ..Says::default() });
    let done = run_with(per_second(5.0, 3.0, "http://nope.test/".into()), ask(&server));
    assert_eq!((done.ledger().network, done.ledger().sent, kinds(&done)), (15, 15, vec![(ErrorKind::Dns, 15)]));
    assert!(done.totals.errors.rows()[0].detail.contains("nope.test: no such name"), "{:?}", done.totals.errors);
    let asked = server.asked();
    assert!(asked.iter().all(|q| q.name == "nope.test"), "{asked:?}");
    assert!((2..=6).contains(&asked.len()) && server.most_in_a_second() <= 2, "{asked:?}");
    // Who asked has waited for the answer, who was told what is known has not.
    let failed = &done.totals.failed;
    assert_eq!((failed.count(), done.totals.latency.count()), (15, 0));
    let waited: u64 = failed.buckets().iter().filter(|(us, _)| *us >= 49_900).map(|(_, n)| n).sum();
    assert!(waited as usize >= asked.len() / 2 && failed.min_us().unwrap() < 50_000, "{waited} of {asked:?}");
    assert!(done.totals.addresses.rows().is_empty());
}

#[test]
fn b52_a_slow_name_server_is_not_the_targets_fault() {
    let server = DnsServer::new(|_, _| Says { addresses: vec![FIRST], ttl_s: 60, after: 1000 * MS, ..Says::default() });
    let target = Target::normal();
    let url = format!("http://slow.test:{}/", target.address.port());
    let done = run_with(per_second(5.0, 3.0, url), ask(&server));
    assert_eq!((done.ledger().ok, target.requests()), (15, 15));
    let (dns, totals) = (done.totals.dns.max_us().unwrap(), &done.totals);
    assert!(dns >= 1_000_000, "{dns} µs");
    // The answer was waited for by everybody who was due before it came, and by nobody later.
    assert!((1..=7).contains(&totals.dns.count()), "{}", totals.dns.count());
    assert!(totals.latency.max_us().unwrap() >= dns, "the wait is in the response time");
    for apart in [&totals.connect, &totals.service, &totals.wait] {
        assert!(apart.max_us().unwrap() < dns / 2, "and in no other: {} µs", apart.max_us().unwrap());
    }
    let mut questions: Vec<_> = server.asked().iter().map(|q| (q.name.clone(), q.kind)).collect();
    questions.sort();
    questions.dedup();
    assert_eq!(questions.len(), 2, "A and AAAA: {questions:?}");
}

#[test]
fn b52_all_addresses_of_a_name_are_used_and_counted() {
    let server = DnsServer::new(|_, _| Says { addresses: vec![FIRST, SECOND], ttl_s: 60, ..Says::default() });
    let (first, second) = two_targets();
    let port = first.address.port();
    let plan = per_second(5.0, 3.0, format!("http://two.test:{port}/"));
    let done = run_with(plan.clone(), ask(&server));
    assert_eq!((done.ledger().ok, first.connections() + second.connections()), (15, 15));
    assert!(first.connections().abs_diff(second.connections()) == 1, "each in turn");
    let mut expected: Vec<AddressDoc> =
        [&first, &second].map(|t| AddressDoc { address: t.address.to_string(), connections: t.connections() }).into();
    expected.sort_by_key(|a| std::cmp::Reverse(a.connections));
    assert_eq!(document(plan, &done).addresses, expected);
    assert_eq!(server.asked().len(), 2, "one question for each family: {:?}", server.asked());
}

#[test]
fn b52_an_answer_is_kept_for_its_time_to_live_and_no_longer() {
    let server = DnsServer::new(|_, before| Says {
        addresses: vec![if before == 0 { FIRST } else { SECOND }],
        ttl_s: 1,
        ..Says::default()
    });
    let (first, second) = two_targets();
    let url = format!("http://moved.test:{}/", first.address.port());
    let done = run_with(per_second(10.0, 2.5, url), ask(&server));
    assert_eq!((done.ledger().ok, first.requests() + second.requests()), (25, 25));
    assert!(first.requests() >= 5 && second.requests() >= 5, "{} and {}", first.requests(), second.requests());
    assert!((4..=6).contains(&server.asked().len()) && server.most_in_a_second() <= 2, "{:?}", server.asked());
}

#[test]
fn b52_a_lookup_without_an_answer_ends_with_the_timeout() {
    let server = DnsServer::new(|_, _| Says { silent: true, ..Says::default() });
    let plan = PlanSpec { timeout_ms: 400.0, ..per_second(5.0, 1.0, "http://silent.test/".into()) };
    let done = run_with(plan, ask(&server));
    assert_eq!((done.ledger().timeout, done.ledger().sent), (5, 5));
    assert_eq!(kinds(&done), [(ErrorKind::DnsTimeout, 5)]);
    let failed = &done.totals.failed;
    assert!(failed.min_us().unwrap() >= 400_000 && failed.max_us().unwrap() < 1_200_000, "{:?}", failed.max_us());
    assert!(done.end.duration < Duration::from_secs(3), "{:?}", done.end.duration);
    // All of them waited for the same lookup.
    assert!(server.asked().len() <= 8, "{:?}", server.asked());
}

#[test]
fn b52_a_name_is_checked_before_the_run_with_the_same_server() {
    let server =
        DnsServer::new(|name, _| Says { no_such_name: name == "nope.test", addresses: vec![FIRST], ..Says::default() });
    let check = |url: &str| {
        let plan = Plan::try_from(per_second(5.0, 3.0, url.into())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(preflight(&plan, &ask(&server)))
    };
    let refused = check("http://nope.test/").unwrap_err();
    assert!(matches!(&refused, StartError::Name { .. }), "{refused}");
    assert!(refused.to_string().contains("nope.test:80 could not be resolved: no such name"), "{refused}");
    check("http://shop.test/").unwrap();
}

//! What has gone wrong in other load testers, with the right answer. Times are scaled down where the case allows.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::target::{After, Target, header};
use common::{MS, begin, document, finish, fixed, get, maintain, per_second, run, run_with, spec, threads};
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::{AtEnd, Load, Method, PlanSpec, RequestSpec, Reuse};
use oleada_engine::result::EndReason;
use oleada_engine::result::Percentiles;

fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn count(done: &common::Done, kind: ErrorKind) -> u64 {
    done.totals.errors.rows().iter().filter(|r| r.kind == kind).map(|r| r.count).sum()
}

#[test]
fn b02_no_invented_samples() {
    let target = Target::new(|call| {
        if call.n % 10 == 0 {
            pause(300 * MS);
        }
        call.ok()
    });
    let done = run(fixed(300, 10, target.url("/")));
    assert_eq!((done.ledger().ok, done.totals.latency.count(), target.requests()), (300, 300, 300));
    let slow: u64 = done.totals.latency.buckets().iter().filter(|(us, _)| *us >= 299_000).map(|(_, n)| n).sum();
    assert_eq!(slow, 30);
    assert!(done.p(50.0) < 50.0 && done.p(89.0) < 150.0, "p50 {} p89 {}", done.p(50.0), done.p(89.0));
    assert!(done.p(91.0) >= 299.0 && done.p(99.0) < 600.0, "p91 {} p99 {}", done.p(91.0), done.p(99.0));
    assert!((29.0..90.0).contains(&done.mean_ms()), "{}", done.mean_ms());
}

#[test]
fn b04_unanswered_requests_are_not_in_the_percentiles() {
    let target = Target::new(|call| {
        if call.n % 2 == 0 {
            return After::Close;
        }
        pause(50 * MS);
        call.ok()
    });
    let done = run(PlanSpec { reuse: Reuse::Off, ..fixed(40, 1, target.url("/")) });
    assert_eq!((done.ledger().ok, done.ledger().network), (20, 20));
    assert_eq!(count(&done, ErrorKind::ClosedEarly), 20);
    assert!(done.p(1.0) >= 49.9 && done.p(99.0) < 200.0);
    // As a visitor sees it: half of them never get an answer.
    let adjusted = Percentiles::adjusted(done.totals.ok_latency(), done.ledger().failures());
    assert_eq!((adjusted.count, adjusted.p66, adjusted.p99, adjusted.max), (40, None, None, None));
    assert!(adjusted.p50.is_some_and(|ms| (49.9..200.0).contains(&ms)), "{:?}", adjusted.p50);
}

#[test]
fn b05_merged_percentiles() {
    let target = Target::new(|call| {
        pause(if call.path() == "/a" { 10 * MS } else { 500 * MS });
        call.ok()
    });
    let load = Load::PerSecond { rate: 10.0 };
    let done = run(spec(load, 1.0, &[target.url("/a"), target.url("/b")]));
    assert_eq!((done.ledger().ok, done.totals.latency.count(), target.requests()), (20, 20, 20));
    assert!((10.0..100.0).contains(&done.p(50.0)) && (500.0..800.0).contains(&done.p(95.0)));
    assert!((255.0..400.0).contains(&done.mean_ms()));
    assert_eq!(done.totals.requests.iter().map(|r| r.latency.count()).collect::<Vec<_>>(), [10, 10]);
}

#[test]
fn b06_one_rule_for_the_median() {
    let target = Target::new(|call| {
        pause(if call.n == 1 { 10 * MS } else { 300 * MS });
        call.ok()
    });
    let two = run(fixed(2, 1, target.url("/")));
    assert!((10.0..100.0).contains(&two.p(50.0)) && two.p(50.001) >= 300.0);
    let one = run(fixed(1, 1, target.url("/")));
    let all =
        [one.p(1.0), one.p(50.0), one.p(99.9), one.mean_ms(), one.totals.latency.max_us().unwrap() as f64 / 1000.0];
    assert!(all.iter().all(|ms| *ms == all[0]) && all[0] >= 300.0, "{all:?}");
}

#[test]
fn b07_a_percentile_may_lie_below_the_mean() {
    let target = Target::new(|call| {
        if call.n == 400 || call.n == 800 {
            pause(500 * MS);
        }
        call.ok()
    });
    let done = run(fixed(1000, 1, target.url("/")));
    assert_eq!(done.ledger().ok, 1000);
    assert!(done.p(99.9) >= 499.0 && done.p(95.0) < 100.0);
    assert!(done.mean_ms() >= 1.0);
}

#[test]
fn b11_timeouts_have_their_real_duration() {
    let target = Target::new(|call| {
        call.wait(3000 * MS);
        After::Close
    });
    let done = run(PlanSpec { timeout_ms: 400.0, ..per_second(10.0, 1.0, target.url("/")) });
    assert_eq!((done.ledger().timeout, done.ledger().ok, done.totals.latency.percentile_us(50_000)), (10, 0, None));
    assert!(done.totals.failed.min_us().unwrap() >= 400_000 && done.totals.failed.max_us().unwrap() < 900_000);
    assert!(done.end.duration < Duration::from_millis(2200), "{:?}", done.end.duration);
}

#[test]
fn b12_timed_out_requests_are_counted_once() {
    let target = Target::new(|call| {
        call.wait(600 * MS);
        call.ok()
    });
    let done = run(PlanSpec { timeout_ms: 300.0, ..fixed(20, 5, target.url("/")) });
    assert_eq!((done.ledger().timeout, done.ledger().ok, target.requests()), (20, 0, 20));
    assert!(target.eventually(|t| t.gone() == 20), "{}", target.gone());
    assert!((1200..2500).contains(&done.end.duration.as_millis()), "{:?}", done.end.duration);
}

#[test]
fn b16_fixed_count_is_exact() {
    for (requests, clients) in [(100_003, 100), (103, 10), (3, 10)] {
        let target = Target::normal();
        let done = run(fixed(requests, clients, target.url("/")));
        assert_eq!((done.ledger().ok, target.requests()), (requests, requests));
        assert!(target.connections() <= requests.min(u64::from(clients)));
        assert_eq!(
            (done.totals.counters.opened, done.totals.counters.reused),
            (target.connections(), requests - target.connections())
        );
        assert_eq!(done.totals.counters.bytes_body, 2 * requests);
    }
}

#[test]
fn b17_the_last_instants_are_counted() {
    let target = Target::new(|call| {
        pause(950 * MS);
        call.ok()
    });
    // Every time, so that it is no accident.
    let repeats: Vec<_> = std::thread::scope(|scope| {
        let plan = || per_second(10.0, 1.0, target.url("/"));
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(move || run(plan()))).collect();
        runs.into_iter().map(|r| r.join().unwrap()).collect()
    });
    for drained in repeats {
        assert_eq!((drained.ledger().ok, drained.totals.latency.count()), (10, 10));
        assert!((1850..3000).contains(&drained.end.duration.as_millis()), "{:?}", drained.end.duration);
    }
    let cut = run(PlanSpec { end: AtEnd::Abort, ..per_second(10.0, 1.0, target.url("/")) });
    assert_eq!(cut.ledger().ok + cut.ledger().aborted, 10);
    assert!(cut.ledger().aborted >= 8 && cut.end.duration < Duration::from_millis(1500), "{:?}", cut.ledger());
    assert!(cut.end.in_flight_at_end_us.is_sorted_by(|a, b| a >= b));
}

#[test]
fn b18_fast_errors_do_not_hide_slow_successes() {
    let target = Target::new(|call| {
        if (call.n - 1) % 100 >= 73 {
            pause(200 * MS);
            return call.ok();
        }
        call.reply("429 Too Many Requests", "", "no")
    });
    let done = run(fixed(100, 10, target.url("/")));
    assert_eq!((done.ledger().ok, done.ledger().status_4xx, done.totals.statuses[&429]), (27, 73, 73));
    // Success is what the target counts as such, and its errors cannot make it look better.
    assert!((done.ledger().error_rate() - 0.73).abs() < 1e-9);
    assert!(done.p(50.0) < 150.0);
    let ok = done.totals.ok_latency();
    assert!(ok.count() == 27 && ok.min_us() >= Some(199_900));
}

#[test]
fn b20_short_runs_have_all_numbers() {
    let target = Target::normal();
    let done = run(per_second(5.0, 1.0, target.url("/")));
    assert_eq!((done.ledger().ok, done.seconds[0].ledger.planned), (5, 5));
    let one = run(fixed(1, 1, target.url("/")));
    assert_eq!((one.ledger().ok, one.seconds.len()), (1, 1));
    assert!(one.end.duration > Duration::ZERO && one.totals.latency.percentile_us(99_900).is_some());
}

#[test]
fn b21_the_last_part_of_a_second() {
    let target = Target::normal();
    let done = run(per_second(100.0, 2.5, target.url("/")));
    assert_eq!(done.seconds.iter().map(|w| w.ledger.planned).collect::<Vec<_>>(), [100, 100, 50]);
    assert_eq!(done.ledger().planned, 250);
}

#[test]
fn b22_the_rate_is_over_the_whole_run() {
    let start = Instant::now();
    let target = Target::new(move |call| {
        pause(5 * MS);
        if start.elapsed() > Duration::from_millis(1500) {
            pause(2700 * MS);
        }
        call.ok()
    });
    let plan = maintain(20, 20, 3.0, target.url("/"));
    let done = run_with(plan.clone(), threads(2));
    assert_eq!((done.ledger().ok, target.requests()), (target.requests(), done.ledger().sent));
    assert!(done.end.duration >= Duration::from_secs(3), "{:?}", done.end.duration);
    assert_eq!((done.seconds[2].ledger.ok, done.seconds[3].ledger.ok), (0, 0));
    // The rate is what was answered over the whole length, the seconds without a reply included.
    let rate = document(plan, &done).requests_per_second.unwrap();
    let by_target = target.requests() as f64 / done.end.duration.as_secs_f64();
    assert!((rate - by_target).abs() <= by_target * 0.02 && rate < done.seconds[0].ledger.ok as f64, "{rate}");
    let average = done.seconds[2].counters.client_us as f64 / 1e6;
    assert!((19.5..=20.001).contains(&average), "{average}");
}

#[test]
fn b23_no_hidden_ramp() {
    for (what, reply) in [("ramp", 5), ("rate", 0)] {
        let target = Target::new(move |call| {
            pause(reply * MS);
            call.ok()
        });
        let plan =
            if what == "ramp" { maintain(0, 50, 2.0, target.url("/")) } else { per_second(10.0, 2.0, target.url("/")) };
        let before = Instant::now();
        let done = run(plan);
        let seen = target.seen();
        assert!(seen[0].at - before < 500 * MS);
        let last = seen[seen.len() - 1].at - before;
        assert!(last > Duration::from_millis(1800) && last < Duration::from_millis(2500), "{what}: {last:?}");
        assert!(before.elapsed() < Duration::from_millis(3000) && done.end.duration >= Duration::from_secs(2));
    }
}

#[test]
fn b24_the_rate_does_not_depend_on_threads() {
    std::thread::scope(|scope| {
        for n in [1, 2, 8] {
            scope.spawn(move || {
                let target = Target::normal();
                let done = run_with(per_second(10.0, 2.0, target.url("/")), threads(n));
                assert_eq!((done.ledger().ok, target.requests(), done.end.threads as usize), (20, 20, n));
                assert!(done.seconds[..2].iter().all(|w| w.ledger.planned == 10));
            });
        }
    });
}

#[test]
fn b25_clients_per_test_are_exact() {
    for (clients, seconds) in [(340, 1.0), (1, 0.5), (7, 1.0)] {
        let target = Target::normal();
        let before = Instant::now();
        let done = run(spec(Load::PerTest { clients }, seconds, &[target.url("/")]));
        assert_eq!((done.ledger().ok, target.requests()), (clients, clients));
        let seen = target.seen();
        assert!(seen[seen.len() - 1].at - before < Duration::from_secs_f64(seconds + 0.5));
        if clients == 7 {
            let from_first: Vec<u128> = seen.iter().map(|s| (s.at - seen[0].at).as_millis()).collect();
            let late = from_first.iter().enumerate().all(|(i, ms)| ms.abs_diff(i as u128 * 1000 / 7) < 100);
            assert!(late, "{from_first:?}");
        }
    }
}

#[test]
fn b27_high_rates_are_kept_and_end_on_time() {
    let target = Target::normal();
    let done = run(per_second(1500.0, 2.0, target.url("/")));
    assert_eq!(done.ledger().planned, 3000);
    assert!(done.seconds[..2].iter().all(|w| w.ledger.planned == 1500));
    assert_eq!(done.ledger().sent, target.requests());
    // Nothing catches up after the end; what was due just before it may leave up to 10 ms later.
    let after: u64 = done.seconds.iter().skip(2).map(|w| w.ledger.sent).sum();
    assert!(after < 150 && done.seconds.iter().skip(3).all(|w| w.ledger.sent == 0), "{after}");
    let odd = run(per_second(333.0, 1.0, target.url("/")));
    assert_eq!((odd.ledger().planned, odd.seconds[0].ledger.planned), (333, 333));
    assert_eq!(odd.ledger().sent, target.requests() - done.ledger().sent);
}

#[test]
fn b28_never_early() {
    let target = Target::normal();
    let running = begin(per_second(20.0, 2.0, target.url("/")), threads(2));
    let start = std::time::UNIX_EPOCH + Duration::from_millis(running.started_at_unix_ms() as u64);
    // Two clocks and a millisecond's rounding: the first arrival fixes the time line.
    assert!(start.elapsed().unwrap_or_default() < Duration::from_secs(1));
    let done = finish(running);
    let seen = target.seen();
    assert_eq!((done.ledger().ok, seen.len()), (40, 40));
    let lag = Duration::from_micros(done.totals.lateness.max_us().unwrap());
    for pair in seen.windows(2) {
        // What the target sees is later than the send by the connect, which the first of the two may have had longer.
        assert!(pair[1].at - pair[0].at + lag + 30 * MS >= 50 * MS);
    }
    assert_eq!(done.totals.lateness.count(), 40);
    let first_to_last = seen[39].at - seen[0].at;
    assert!(first_to_last + lag + 30 * MS >= 50 * 39 * MS, "{first_to_last:?}");
}

#[test]
fn b30_the_first_arrival_is_at_zero() {
    let target = Target::normal();
    let before = Instant::now();
    let done = run(per_second(2.0, 1.5, target.url("/")));
    let at: Vec<u128> = target.seen().iter().map(|s| (s.at - before).as_millis()).collect();
    assert_eq!((done.ledger().ok, at.len()), (3, 3));
    for (i, ms) in at.iter().enumerate() {
        assert!((i as u128 * 500..i as u128 * 500 + 200).contains(ms), "{at:?}");
    }
}

#[test]
fn b32_a_stall_does_not_move_the_load() {
    let start = Instant::now();
    let target = Target::new(move |call| {
        let now = start.elapsed();
        if now > 500 * MS && now < 900 * MS {
            pause(900 * MS - now);
        }
        call.ok()
    });
    let done = run_with(per_second(400.0, 3.0, target.url("/")), threads(4));
    assert_eq!((done.ledger().ok, done.ledger().planned), (1200, 1200));
    assert_eq!(done.seconds[..3].iter().map(|w| w.ledger.planned).collect::<Vec<_>>(), [400, 400, 400]);
    // What was due during the stall was sent then, and waited: the latency says so.
    let held = target.seen().iter().filter(|s| (500..900).contains(&(s.at - start).as_millis())).count();
    assert!(held > 100, "{held}");
    assert!(done.totals.latency.max_us().unwrap() > 300_000);
    // No thread got more than its share: not over the run, and not in the second after the stall.
    for by_thread in [&done.totals.sent_by_thread, &done.seconds[1].sent_by_thread] {
        let (least, most) = (by_thread.iter().min().unwrap(), by_thread.iter().max().unwrap());
        assert!(by_thread.len() == 4 && (most - least) * 5 < *most, "{by_thread:?}");
    }
    assert_eq!(done.totals.sent_by_thread, [300; 4]);
}

#[test]
fn b34_clients_leave_one_by_one() {
    let target = Target::new(|call| {
        pause(20 * MS);
        call.ok()
    });
    let done = run(maintain(20, 0, 2.0, target.url("/")));
    assert_eq!((done.ledger().aborted, done.ledger().ok), (0, target.requests()));
    let clients: Vec<f64> = done.seconds.iter().map(|w| w.counters.client_us as f64 / 1e6).collect();
    assert!((clients[0] - 15.0).abs() < 1.5 && (clients[1] - 5.0).abs() < 1.5, "{clients:?}");
    assert!(done.seconds[0].ledger.ok > done.seconds[1].ledger.ok);
    // A client gets at most 50 replies a second, and on a busy machine still half of them.
    for (second, clients) in done.seconds.iter().zip(&clients).take(2) {
        let most = clients * 50.0;
        assert!((most * 0.5..=most + 20.0).contains(&(second.ledger.ok as f64)), "{} of {most}", second.ledger.ok);
    }
    assert!(done.seconds.get(2).is_none_or(|w| w.ledger.sent == 0));
    assert_eq!(done.totals.peak_clients, 20);
}

#[test]
fn b36_closing_is_no_error() {
    let silent = Target::new(|call| {
        call.ok();
        After::Close
    });
    let done = run(fixed(100, 1, silent.url("/")));
    assert_eq!((done.ledger().ok, done.totals.counters.reconnects), (100, 99));
    assert_eq!((done.totals.counters.opened, silent.connections()), (100, 100));
    let announced = Target::new(|call| {
        call.reply("200 OK", "Connection: close\r\n", "ok");
        pause(200 * MS);
        After::Close
    });
    let done = run(fixed(100, 1, announced.url("/")));
    assert_eq!((done.ledger().ok, announced.requests(), announced.connections()), (100, 100, 100));
    assert_eq!((done.totals.counters.reconnects, done.totals.counters.reused), (0, 0));
    assert!(done.end.duration < Duration::from_secs(2));
}

#[test]
fn b38_bodies_may_end_with_the_connection() {
    for head in ["HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"] {
        let target = Target::new(move |call| {
            call.write(head);
            call.write(vec![b'x'; 5000]);
            After::Close
        });
        let done = run(fixed(10, 2, target.url("/")));
        assert_eq!((done.ledger().ok, done.totals.counters.bytes_body, target.connections()), (10, 50_000, 10));
        assert!(done.totals.errors.is_empty());
    }
}

#[test]
fn b40_bodies_are_counted_as_they_come() {
    let target = Target::new(|call| {
        let body = if call.path() == "/gzip" { vec![0x1f; 200] } else { b"plain text".to_vec() };
        call.reply("200 OK", "Content-Encoding: gzip\r\n", body)
    });
    let ask = |path: &str| {
        let mut plan = fixed(10, 1, target.url(path));
        plan.requests[0].headers = vec![("Accept-Encoding".into(), "gzip".into())];
        plan
    };
    let packed = run(ask("/gzip"));
    assert_eq!((packed.ledger().ok, packed.totals.counters.bytes_body), (10, 2000));
    let lying = run(ask("/plain"));
    assert_eq!((lying.ledger().ok, lying.totals.counters.bytes_body), (10, 100));
    assert!(target.seen().iter().all(|s| header(&s.head, "accept-encoding").as_deref() == Some("gzip")));
}

#[test]
fn b41_interim_replies_are_not_the_reply() {
    let target = Target::new(|call| {
        if call.n % 2 == 0 {
            call.write("HTTP/1.1 100 Continue\r\n\r\n");
        }
        call.write("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
        pause(50 * MS);
        call.reply("200 OK", "", "12345")
    });
    let done = run(fixed(10, 1, target.url("/")));
    assert_eq!((done.ledger().ok, done.totals.counters.bytes_body, target.connections()), (10, 50, 1));
    assert_eq!(done.totals.statuses.iter().map(|(s, n)| (*s, *n)).collect::<Vec<_>>(), [(200, 10)]);
    assert!(done.p(1.0) >= 49.9);
    let mut post = fixed(1, 1, target.url("/"));
    post.requests[0] = RequestSpec {
        method: Method::Post,
        headers: vec![("Expect".into(), "100-continue".into())],
        body: Some("body".into()),
        ..get(target.url("/"))
    };
    assert_eq!(run(post).ledger().ok, 1);
}

#[test]
fn b45_ipv6_literals() {
    let target = Target::on("[::1]:0", None, |call| call.ok());
    let done = run(fixed(5, 1, target.url("/")));
    assert_eq!(done.ledger().ok, 5);
    let host = format!("[::1]:{}", target.address.port());
    assert!(target.seen().iter().all(|s| header(&s.head, "host").as_deref() == Some(host.as_str())));
}

#[test]
fn b47_credentials_are_sent_and_stay_with_their_host() {
    let other = Target::normal();
    let elsewhere = other.url("/");
    let target = Target::new(move |call| {
        if call.path() == "/away" {
            return call.reply("302 Found", &format!("Location: {elsewhere}\r\n"), "");
        }
        let known = header(call.head, "authorization").as_deref() == Some("Basic dTpwQA==");
        if known { call.ok() } else { call.reply("401 No", "", "") }
    });
    let at = target.address;
    let done = run(fixed(5, 1, format!("http://u:p%40@{at}/")));
    assert_eq!((done.ledger().ok, done.totals.statuses[&200]), (5, 5));
    assert!(target.seen().iter().all(|s| header(&s.head, "host") == Some(at.to_string())));
    let allowed = oleada_engine::plan::Target::parse(&other.url("/")).unwrap().at;
    let options = oleada_engine::net::Options { redirect_hosts: vec![allowed], ..Default::default() };
    let done = run_with(fixed(1, 1, format!("http://u:p%40@{at}/away")), options);
    assert_eq!((done.ledger().ok, done.totals.counters.redirects_followed, other.requests()), (1, 1, 1));
    assert_eq!(header(&other.seen()[0].head, "authorization"), None);
}

#[test]
fn b48_addresses_go_out_as_browsers_send_them() {
    let target = Target::normal();
    run(fixed(1, 1, target.url("/a b/%2F/ü?q=a b&r=%20+#frag")));
    run(fixed(1, 1, format!("http://{}?x=1", target.address)));
    let lines: Vec<String> = target.seen().iter().map(|s| s.head.lines().next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["GET /a%20b/%2F/%C3%BC?q=a%20b&r=%20+ HTTP/1.1", "GET /?x=1 HTTP/1.1"]);
}

#[test]
fn b57_many_error_texts_stay_few_rows() {
    let target = Target::new(|call| {
        if call.n % 2 == 0 {
            call.write(format!("garbage {} {}\r\n", call.n, "é".repeat(300)));
            return After::Close;
        }
        let reason = format!("200 reason {}", call.n);
        call.reply(&reason, "", "ok")
    });
    let done = run(fixed(4000, 20, target.url("/")));
    assert_eq!((done.ledger().ok, done.ledger().invalid), (2000, 2000));
    let rows = done.totals.errors.rows();
    assert!(rows.len() <= 51 && rows.iter().all(|r| r.detail.chars().count() <= 200));
    assert!(done.totals.encode().len() < 200_000);
}

#[test]
fn b58_big_replies() {
    let target = Target::new(|call| match call.path() {
        "/body" => call.reply("200 OK", "", vec![b'x'; 200_000]),
        "/long" => call.reply("200 OK", &format!("X: {}\r\n", "x".repeat(80_000)), ""),
        _ => call.reply("200 OK", &(0..300).map(|i| format!("X-{i}: y\r\n")).collect::<String>(), ""),
    });
    let body = run(fixed(10, 1, target.url("/body")));
    assert_eq!((body.ledger().ok, body.totals.counters.bytes_body), (10, 2_000_000));
    for path in ["/long", "/many"] {
        let done = run(fixed(10, 1, target.url(path)));
        assert_eq!((done.ledger().invalid, count(&done, ErrorKind::HeadTooLarge)), (10, 10));
    }
}

#[test]
fn b71_odd_statuses() {
    for (line, other, invalid, ok) in [
        ("HTTP/1.1 099 x", 0, 10, 0),
        ("HTTP/1.1 600 x", 10, 0, 0),
        ("HTTP/1.1 999 x", 10, 0, 0),
        ("HTTP/1.1 20x OK", 0, 10, 0),
        ("HTTP/1.1 200", 0, 0, 10),
        ("http/1.1 200", 0, 0, 10),
    ] {
        let target = Target::new(move |call| {
            call.write(format!("{line}\r\nContent-Length: 2\r\n\r\nok"));
            After::Keep
        });
        let done = run(fixed(10, 2, target.url("/")));
        let ledger = done.ledger();
        assert_eq!((ledger.status_other, ledger.invalid, ledger.ok), (other, invalid, ok), "{line}");
    }
}

#[test]
fn b72_stop_means_stop() {
    for hangs in [false, true] {
        let target = Target::new(move |call| {
            if hangs {
                pause(3000 * MS);
            }
            call.ok()
        });
        let mut running = begin(per_second(100.0, 60.0, target.url("/")), threads(2));
        let stopper = running.stopper();
        running.next_blocking();
        let stopped = Instant::now();
        stopper.stop();
        stopper.stop();
        let first_second = AtomicU64::new(1);
        let mut end = None;
        let mut ledger = oleada_engine::window::Ledger::default();
        while let Some(event) = running.next_blocking() {
            match event {
                oleada_engine::net::Event::Second(window) => {
                    first_second.fetch_add(1, Ordering::Relaxed);
                    ledger.add(&window.ledger);
                }
                oleada_engine::net::Event::Finished(e) => end = Some(e),
            }
        }
        assert!(stopped.elapsed() < Duration::from_secs(2), "{:?}", stopped.elapsed());
        let end = end.unwrap();
        assert_eq!(end.end_reason, EndReason::Stopped);
        assert!(target.seen().iter().all(|s| s.at < stopped + 500 * MS));
        assert_eq!(ledger.aborted > 50, hangs, "{ledger:?}");
        assert!(end.duration < Duration::from_millis(3500));
    }
}

/// A target that reads a head, says `first`, and then answers when a body of `body` bytes has come; whether any of the
/// body came with the head.
fn asks_first(first: &'static str, body: usize) -> (std::net::SocketAddr, std::sync::Arc<AtomicU64>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, early) = (listener.local_addr().unwrap(), std::sync::Arc::new(AtomicU64::new(0)));
    let seen = early.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = [0; 4000];
            let mut head = Vec::new();
            while !head.windows(4).any(|w| w == b"\r\n\r\n") {
                let n = stream.read(&mut buffer).unwrap_or(0);
                head.extend_from_slice(&buffer[..n.max(1)]);
            }
            seen.fetch_add(u64::from(!head.ends_with(b"\r\n\r\n")), Ordering::SeqCst);
            let _ = stream.write_all(first.as_bytes());
            let _ = stream.read_exact(&mut buffer[..body]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    (address, early)
}

#[test]
fn b41_a_body_waits_to_be_asked_for() {
    let plan = |at: std::net::SocketAddr, requests| {
        let mut plan = fixed(requests, 1, format!("http://{at}/"));
        plan.requests[0].method = Method::Post;
        plan.requests[0].headers = vec![("Expect".into(), "100-continue".into())];
        plan.requests[0].body = Some("body".into());
        plan
    };
    let (at, early) = asks_first("HTTP/1.1 100 Continue\r\n\r\n", 4);
    let done = run(plan(at, 5));
    assert_eq!((done.ledger().ok, early.load(Ordering::SeqCst)), (5, 0));
    assert!(done.p(50.0) < 900.0, "{}", done.p(50.0));
    let with_body = done.totals.counters.bytes_sent / 5;
    // Nobody asks: it goes all the same, after a second.
    let (at, early) = asks_first("", 4);
    let done = run(plan(at, 1));
    assert_eq!((done.ledger().ok, early.load(Ordering::SeqCst)), (1, 0));
    assert!((990.0..3000.0).contains(&done.p(50.0)), "{}", done.p(50.0));
    // The target has decided without it: it is not sent.
    let (at, _) = asks_first("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n", 4);
    let done = run(plan(at, 2));
    assert_eq!((done.ledger().status_4xx, done.totals.counters.opened), (2, 2));
    assert_eq!(done.totals.counters.bytes_sent / 2, with_body - 4);
}

//! What holds for the figures of every run, who is blamed for what, and names as they go over the wire.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::target::{Target, header};
use common::{Done, MS, document, fixed, maintain, per_second, run, run_with};
use oleada_engine::net::Options;
use oleada_engine::plan::PlanSpec;
use oleada_engine::verdict::{LimitedBy, Verdict};

#[test]
fn b09_figures_are_in_order_on_a_busy_machine() {
    static OVER: AtomicBool = AtomicBool::new(false);
    let target = Target::normal();
    let busy = std::thread::spawn(|| {
        while !OVER.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    for _ in 0..5 {
        let done = run(maintain(50, 50, 0.5, target.url("/")));
        let totals = &done.totals;
        let quantiles = [1_000, 10_000, 50_000, 75_000, 90_000, 95_000, 99_000, 99_900, 100_000];
        for histogram in [&totals.latency, &totals.service, &totals.wait, &totals.receive, &totals.connect] {
            let mut line = vec![histogram.min_us().unwrap()];
            line.extend(quantiles.iter().map(|q| histogram.percentile_us(*q).unwrap()));
            line.push(histogram.max_us().unwrap());
            assert!(line.is_sorted() && line[0] > 0, "{line:?}");
            assert!(Duration::from_micros(line[line.len() - 1]) <= done.end.duration + MS, "{line:?}");
        }
        // Nothing crosses even a loopback and back in less.
        assert!(totals.service.min_us().unwrap() >= 5);
        // Each phase is rounded up to a whole microsecond, and the buckets are 0.1 % wide.
        let phases = totals.wait.mean_us().unwrap() + totals.receive.mean_us().unwrap();
        let whole = totals.service.mean_us().unwrap();
        assert!(phases <= whole * 1.01 + 2.0, "{phases} µs of {whole} µs");
    }
    OVER.store(true, Ordering::Relaxed);
    busy.join().unwrap();
}

fn verdict(plan: PlanSpec, done: &Done) -> Verdict {
    document(plan, done).verdict
}

#[test]
fn b86_an_idle_generator_is_not_accused() {
    let target = Target::new(|call| {
        std::thread::sleep(500 * MS);
        call.ok()
    });
    let plan = per_second(5.0, 3.0, target.url("/"));
    // Other work on the machine may really make requests late; then the accusation must say so, and we look again.
    for attempt in 1.. {
        let done = run(plan.clone());
        assert_eq!(done.ledger().ok, 15);
        let judged = verdict(plan.clone(), &done);
        if judged.limited_by == LimitedBy::None {
            assert!(judged.reasons.is_empty(), "{judged:?}");
            break;
        }
        let late = done.totals.lateness.percentile_us(99_000).unwrap();
        let stalled = done.totals.counters.stalled_us;
        assert!((late >= 2_000 || stalled > 0) && judged.limited_by == LimitedBy::Generator, "{judged:?}");
        assert!(attempt < 6, "{judged:?}, {late} µs late");
    }
    // Replies that do not come in time are the target's doing.
    let plan = PlanSpec { timeout_ms: 200.0, ..per_second(20.0, 1.0, target.url("/")) };
    for attempt in 1.. {
        let judged = verdict(plan.clone(), &run(plan.clone()));
        if judged.limited_by == LimitedBy::Target {
            break;
        }
        assert!(attempt < 6 && judged.limited_by == LimitedBy::Generator, "{judged:?}");
    }
}

#[test]
fn b46_international_names_go_out_in_ascii() {
    let target = Target::normal();
    let port = target.address.port();
    for said in ["bücher.test", "BÜCHER.test", "xn--bcher-kva.test"] {
        for asked in ["bücher.test", "xn--bcher-kva.test"] {
            let before = target.requests();
            let resolve = vec![format!("{asked}:{port}:127.0.0.1").parse().unwrap()];
            let done =
                run_with(fixed(2, 1, format!("http://{said}:{port}/")), Options { resolve, ..Options::default() });
            assert_eq!((done.ledger().ok, target.requests() - before), (2, 2), "{said} {asked}");
        }
    }
    let host = format!("xn--bcher-kva.test:{port}");
    assert!(target.seen().iter().all(|s| header(&s.head, "host").as_deref() == Some(host.as_str())));
}

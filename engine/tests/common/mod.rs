//! What the engine's tests share: runs a plan and checks what must hold for every run.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod certs;
pub mod dns;
pub mod target;

use std::time::Duration;

use oleada_engine::net::{Event, Options, RunEnd, Running, start};
use oleada_engine::plan::{Load, Plan, PlanSpec, RequestSpec};
use oleada_engine::result::{Record, ResultDoc};
use oleada_engine::window::{Ledger, Merge, Window};

pub const MS: Duration = Duration::from_millis(1);

/// A finished run.
pub struct Done {
    pub seconds: Vec<Window>,
    pub totals: Window,
    pub end: RunEnd,
}

impl Done {
    pub fn ledger(&self) -> Ledger {
        self.totals.ledger
    }

    /// Latency percentile in ms.
    pub fn p(&self, q: f64) -> f64 {
        self.totals.latency.percentile_us((q * 1000.0) as u32).unwrap() as f64 / 1000.0
    }

    pub fn mean_ms(&self) -> f64 {
        self.totals.latency.mean_us().unwrap() / 1000.0
    }
}

pub fn get(url: impl Into<String>) -> RequestSpec {
    RequestSpec { url: url.into(), ..RequestSpec::default() }
}

pub fn spec(load: Load, seconds: impl Into<Option<f64>>, urls: &[String]) -> PlanSpec {
    PlanSpec {
        load,
        duration_s: seconds.into(),
        requests: urls.iter().map(get).collect(),
        error_threshold: 100.0,
        ..PlanSpec::default()
    }
}

pub fn fixed(requests: u64, clients: u32, url: String) -> PlanSpec {
    spec(Load::FixedCount { requests, clients }, None, &[url])
}

pub fn per_second(rate: f64, seconds: f64, url: String) -> PlanSpec {
    spec(Load::PerSecond { rate }, seconds, &[url])
}

pub fn maintain(from: u32, to: u32, seconds: f64, url: String) -> PlanSpec {
    spec(Load::Maintain { from, to }, seconds, &[url])
}

pub fn begin(spec: PlanSpec, options: Options) -> Running {
    start(Plan::try_from(spec).unwrap(), options).unwrap()
}

pub fn threads(threads: usize) -> Options {
    Options { threads: Some(threads), ..Options::default() }
}

pub fn run(spec: PlanSpec) -> Done {
    run_with(spec, Options::default())
}

pub fn run_with(spec: PlanSpec, options: Options) -> Done {
    finish(begin(spec, options))
}

/// The result document of a run.
pub fn document(plan: PlanSpec, done: &Done) -> ResultDoc {
    let record = Record {
        plan: &Plan::try_from(plan).unwrap(),
        started_at: String::new(),
        duration: done.end.duration,
        end: Some(done.end.end_reason),
        totals: &done.totals,
        in_flight_at_end_us: &done.end.in_flight_at_end_us,
        clients_capped: done.end.clients_capped,
        threads: done.end.threads,
        max_rss_mb: done.end.max_rss_mb,
    };
    record.document(None)
}

/// Waits for the end and checks the invariants of every run.
pub fn finish(mut running: Running) -> Done {
    let mut seconds = Vec::new();
    let mut end = None;
    while let Some(event) = running.next_blocking() {
        assert!(end.is_none(), "nothing comes after the end");
        match event {
            Event::Second(window) => seconds.push(*window),
            Event::Finished(finished) => end = Some(*finished),
        }
    }
    let end = end.expect("every run says that it has ended");
    let mut totals = Window::default();
    for (t, window) in seconds.iter().enumerate() {
        assert_eq!(window.t as usize, t, "seconds come in order, none is missing");
        totals.merge(window, Merge::OtherSecond);
    }
    let ledger = totals.ledger;
    assert!(ledger.is_closed(), "{ledger:?}");
    let answered = ledger.answered();
    for histogram in [&totals.latency, &totals.service, &totals.wait, &totals.receive] {
        assert_eq!(histogram.count(), answered);
    }
    let c = totals.counters;
    assert_eq!(c.http10 + c.http11 + c.http2, answered, "every reply has its version");
    assert_eq!(c.tls12 + c.tls13, totals.tls.count(), "every handshake has its version");
    assert_eq!(totals.failed.count(), ledger.finished() - answered);
    assert_eq!(totals.statuses.values().sum::<u64>(), answered);
    let not_sent = totals.not_sent.values().sum::<u64>();
    assert!(not_sent <= ledger.dropped);
    assert_eq!(totals.errors.rows().iter().map(|r| r.count).sum::<u64>(), ledger.finished() - answered + not_sent);
    let failed = totals.assertions.iter().map(|a| a.failed).sum::<u64>();
    assert_eq!(totals.assertion_failures.rows().iter().map(|r| r.count).sum::<u64>(), failed);
    assert_eq!(totals.sent_by_thread.iter().sum::<u64>(), ledger.sent);
    let by_address: u64 = totals.addresses.rows().iter().map(|(_, n)| n).sum();
    assert_eq!(by_address + totals.addresses.other(), totals.counters.opened);
    if !totals.requests.is_empty() {
        let mut sum = Ledger::default();
        for request in &totals.requests {
            assert!(request.ledger.is_closed(), "{:?}", request.ledger);
            assert_eq!(request.latency.count(), request.ledger.answered());
            sum.add(&request.ledger);
        }
        assert_eq!(sum, ledger);
    }
    if let (Some(least), Some(most)) = (totals.latency.min_us(), totals.latency.max_us()) {
        assert!(
            least >= 1 && Duration::from_micros(most) <= end.duration + Duration::from_millis(1),
            "{most} µs in {:?}",
            end.duration
        );
        assert!(totals.service.max_us() <= Some(most));
    }
    let aborted = usize::try_from(ledger.aborted).unwrap().min(oleada_engine::plan::limits::IN_FLIGHT_AGES);
    assert_eq!(end.in_flight_at_end_us.len(), aborted);
    Done { seconds, totals, end }
}

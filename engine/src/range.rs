//! Figures of some seconds of a run, as exact as those of the whole: merged from the windows of these seconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::result::{Bytes, ErrorDoc, Percentiles, error_docs, round3};
use crate::window::{Ledger, Window};

/// The seconds from `from` up to, but not including, `to`.
///
/// `planned` counts by the second of the plan, `sent` by the second of the first byte, all else by the second in which a
/// request ended: so the ledger of a part of a run need not close.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangeDoc {
    /// The first second.
    pub from: u32,
    /// The second before which it ends.
    pub to: u32,
    /// Its length in seconds; shorter than `to − from` where the run ended within its last second.
    pub duration_s: f64,
    /// Seconds that were recorded within it.
    pub seconds_recorded: u32,
    /// What became of the requests.
    pub ledger: Ledger,
    /// Answered requests per second of its length.
    pub requests_per_second: Option<f64>,
    /// Everything that ended in it and is not ok, over all that ended in it, 0–1.
    pub error_rate: f64,
    /// Answered requests, any status.
    pub latency_ms: Percentiles,
    /// The part of them with a status below 400.
    pub ok_ms: Percentiles,
    /// Answered requests: first byte written to last byte read.
    pub service_ms: Percentiles,
    /// Requests without a complete reply: time to failure.
    pub failed_ms: Percentiles,
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// Replies by status.
    pub statuses: BTreeMap<String, u64>,
    /// Failures.
    pub errors: Vec<ErrorDoc>,
    /// Most clients open at one instant.
    pub peak_clients: u64,
}

impl RangeDoc {
    /// The figures of `totals`, the sum of the `seconds_recorded` windows of [`from`, `to`) of a run that lasted `run_s` seconds.
    pub fn of(totals: &Window, from: u32, to: u32, seconds_recorded: u32, run_s: f64) -> RangeDoc {
        let duration_s = (f64::from(to).min(run_s) - f64::from(from)).max(0.0);
        let (ledger, counters) = (totals.ledger, totals.counters);
        let finished = ledger.finished();
        RangeDoc {
            from,
            to,
            duration_s: round3(duration_s),
            seconds_recorded,
            ledger,
            requests_per_second: (duration_s > 0.0).then(|| round3(ledger.answered() as f64 / duration_s)),
            error_rate: if finished == 0 { 0.0 } else { ledger.errors() as f64 / finished as f64 },
            latency_ms: Percentiles::of(&totals.latency),
            ok_ms: Percentiles::of(totals.ok_latency()),
            service_ms: Percentiles::of(&totals.service),
            failed_ms: Percentiles::of(&totals.failed),
            bytes: Bytes { sent: counters.bytes_sent, received: counters.bytes_received, body: counters.bytes_body },
            statuses: totals.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
            errors: error_docs(&totals.errors),
            peak_clients: totals.peak_clients,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::window::Merge;

    /// Second `t` has the latencies `t·1000 + 1 … t·1000 + t` µs.
    fn second(t: u32) -> (Window, Vec<u64>) {
        let mut window = Window::new(t, 1);
        let samples: Vec<u64> = (1..=u64::from(t)).map(|n| u64::from(t) * 1000 + n).collect();
        for us in &samples {
            window.ledger.sent += 1;
            window.ledger.finish(Outcome::Answered(200));
            window.latency.record(*us);
        }
        (window, samples)
    }

    #[test]
    fn figures_equal_those_of_all_samples_and_the_last_second_is_as_long_as_it_was() {
        for (from, to, run_s) in [(0, 20, 20.0), (3, 4, 20.0), (5, 17, 20.0), (10, 20, 19.5)] {
            let (mut totals, mut samples) = (Window::default(), Vec::new());
            for t in from..to {
                let (window, more) = second(t);
                totals.merge(&window, Merge::OtherSecond);
                samples.extend(more);
            }
            let doc = RangeDoc::of(&totals, from, to, to - from, run_s);
            samples.sort_unstable();
            let rank = |q: f64| samples[(samples.len() as f64 * q).ceil() as usize - 1] as f64 / 1000.0;
            for (ours, q) in [(doc.latency_ms.p50, 0.5), (doc.latency_ms.p95, 0.95), (doc.latency_ms.p99_9, 0.999)] {
                let ours = ours.unwrap();
                assert!((ours / rank(q) - 1.0).abs() < 0.001, "{ours} against {}", rank(q));
            }
            assert_eq!(doc.ledger.ok, samples.len() as u64);
            let length = f64::from(to).min(run_s) - f64::from(from);
            assert_eq!(
                (doc.duration_s, doc.requests_per_second),
                (length, Some(round3(samples.len() as f64 / length)))
            );
        }
    }

    #[test]
    fn nothing_recorded_has_no_figures() {
        let doc = RangeDoc::of(&Window::default(), 3, 5, 0, 10.0);
        assert_eq!((doc.latency_ms, doc.requests_per_second, doc.error_rate), (Percentiles::default(), Some(0.0), 0.0));
        assert!(!serde_json::to_string(&doc).unwrap().contains("NaN"));
        assert_eq!(RangeDoc::of(&Window::default(), 12, 13, 0, 10.0).requests_per_second, None);
    }
}

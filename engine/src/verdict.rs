//! What limited a run: nothing, the target, the generator or the plan itself.

use serde::{Deserialize, Serialize};

use crate::result::{EndReason, Record};

/// Median lateness in µs from which the generator is named.
const LATE_P50_US: u64 = 2_000;
/// 99th percentile of the lateness in µs from which the generator is named.
const LATE_P99_US: u64 = 20_000;
/// Share of a processor, in permille, from which a worker counts as saturated.
const SATURATED_PERMILLE: u64 = 950;
/// Share of the time, in permille, for which the machine may keep the generator's threads waiting before it is named. An idle
/// machine shows next to nothing here, and a busy one that still shares fairly little more.
const STALLED_PERMILLE: u64 = 100;
/// Share of all requests, from which dropped or failed ones name somebody.
const NOTABLE_SHARE: f64 = 0.01;

/// Who or what kept the run from going further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// Nothing: the plan was carried out as written.
    None,
    /// The target.
    Target,
    /// The machine that made the load: true values are at least as good as shown.
    Generator,
    /// The plan: a cap it set itself.
    Plan,
}

/// What limited a run, with the reasons in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Who.
    pub limited_by: LimitedBy,
    /// Why, most important first.
    pub reasons: Vec<String>,
}

impl Verdict {
    /// Judges a run. The generator is accused first: its faults make every other figure doubtful.
    pub fn of(record: &Record<'_>) -> Verdict {
        let generator = generator_reasons(record);
        if !generator.is_empty() {
            return Verdict { limited_by: LimitedBy::Generator, reasons: generator };
        }
        let plan = plan_reasons(record);
        let target = target_reasons(record);
        let limited_by = match (target.is_empty(), plan.is_empty()) {
            (true, true) => LimitedBy::None,
            (false, _) => LimitedBy::Target,
            (true, false) => LimitedBy::Plan,
        };
        Verdict { limited_by, reasons: [target, plan].concat() }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", share(part, whole) * 100.0)
}

fn generator_reasons(record: &Record<'_>) -> Vec<String> {
    let (totals, ledger) = (record.totals, &record.totals.ledger);
    let mut reasons = Vec::new();
    if ledger.local > 0 {
        reasons.push(format!(
            "{} requests failed on limits of the generator itself (ports, descriptors, addresses).",
            ledger.local
        ));
    }
    let lateness = |q| totals.lateness.percentile_us(q).unwrap_or(0);
    let (p50, p99) = (lateness(50_000), lateness(99_000));
    // Waiting for the plan's own cap makes requests late too; that is not the generator's fault.
    if record.clients_capped == 0 && (p50 >= LATE_P50_US || p99 >= LATE_P99_US) {
        reasons.push(format!(
            "Requests left late: by {:.1} ms at the median and {:.1} ms at the 99th percentile. True values are at least as good as shown.",
            p50 as f64 / 1000.0,
            p99 as f64 / 1000.0
        ));
    }
    let wall_us = record.duration.as_micros() as u64 * u64::from(record.threads.max(1));
    let busy_permille = (totals.counters.cpu_us * 1000).checked_div(wall_us).unwrap_or(0);
    if record.duration.as_millis() >= 1000 && busy_permille >= SATURATED_PERMILLE {
        reasons.push(format!(
            "The generator's threads were busy {:.0} % of the time: the target can do at least this much.",
            busy_permille as f64 / 10.0
        ));
    }
    let stalled_permille = (totals.counters.stalled_us * 1000).checked_div(wall_us).unwrap_or(0);
    if record.duration.as_millis() >= 1000 && stalled_permille >= STALLED_PERMILLE {
        reasons.push(format!(
            "The machine did not let the generator's threads run for {:.0} % of the time: every time measured may be too long.",
            stalled_permille as f64 / 10.0
        ));
    }
    reasons
}

/// Requests that were never sent for want of a value.
fn not_sent(record: &Record<'_>) -> u64 {
    record.totals.not_sent.values().sum()
}

fn plan_reasons(record: &Record<'_>) -> Vec<String> {
    let ledger = &record.totals.ledger;
    let mut reasons = Vec::new();
    if share(not_sent(record), ledger.planned) >= NOTABLE_SHARE {
        reasons.push(format!(
            "{} of the planned requests were not sent because a value to fill in was missing or could not be used.",
            percent(not_sent(record), ledger.planned)
        ));
    }
    if record.clients_capped > 0 {
        reasons.push(format!(
            "{} clients had to wait because the plan allows {} at once.",
            record.clients_capped,
            record.plan.max_clients()
        ));
    }
    if record.end == Some(EndReason::Stopped) {
        reasons.push("The run was stopped by a person before its end.".to_owned());
    }
    if record.end == Some(EndReason::Interrupted) {
        reasons.push("The process that made the load ended before the run did.".to_owned());
    }
    if ledger.aborted > 0 && share(ledger.aborted, ledger.sent) >= NOTABLE_SHARE {
        reasons.push(format!(
            "{} of the requests sent were cut by the end of the run.",
            percent(ledger.aborted, ledger.sent)
        ));
    }
    reasons
}

fn target_reasons(record: &Record<'_>) -> Vec<String> {
    let ledger = &record.totals.ledger;
    let mut reasons = Vec::new();
    if ledger.finished() > 0 && ledger.answered() == 0 && ledger.aborted < ledger.finished() {
        reasons.push("Nothing that was sent was answered.".to_owned());
    }
    if record.end == Some(EndReason::ErrorThreshold) {
        reasons.push(format!("Errors reached the threshold of {} %.", record.plan.spec().error_threshold));
    }
    for (count, what) in [
        (ledger.timeout, "ran out of time"),
        (ledger.network, "lost their connection or did not get one"),
        (ledger.invalid, "got no valid HTTP reply"),
        (ledger.status_5xx, "were answered with a server error (5xx)"),
    ] {
        if share(count, ledger.sent) >= NOTABLE_SHARE {
            reasons.push(format!("{} of the requests sent {what}.", percent(count, ledger.sent)));
        }
    }
    let late = ledger.dropped.saturating_sub(not_sent(record));
    if record.clients_capped == 0
        && record.end == Some(EndReason::Completed)
        && share(late, ledger.planned) >= NOTABLE_SHARE
    {
        reasons.push(format!(
            "{} of the planned requests could not be sent before the end because earlier replies took too long.",
            percent(late, ledger.planned)
        ));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{ErrorKind, Outcome};
    use crate::plan::{Load, Plan, PlanSpec, RequestSpec};
    use crate::window::Window;
    use std::time::Duration;

    fn verdict(change: impl FnOnce(&mut Window, &mut Record<'_>)) -> Verdict {
        let plan = Plan::try_from(PlanSpec {
            load: Load::PerSecond { rate: 5.0 },
            duration_s: Some(20.0),
            requests: vec![RequestSpec { url: "http://127.0.0.1/".into(), ..Default::default() }],
            ..Default::default()
        })
        .unwrap();
        let mut totals = Window::new(0, 1);
        for _ in 0..100 {
            totals.ledger.planned += 1;
            totals.ledger.sent += 1;
            totals.ledger.finish(Outcome::Answered(200));
            totals.lateness.record(20);
        }
        let empty = Window::default();
        let mut record = Record {
            plan: &plan,
            started_at: String::new(),
            duration: Duration::from_secs(20),
            end: Some(EndReason::Completed),
            totals: &empty,
            in_flight_at_end_us: &[],
            clients_capped: 0,
            threads: 2,
            max_rss_mb: None,
        };
        change(&mut totals, &mut record);
        Verdict::of(&Record { totals: &totals, ..record })
    }

    #[test]
    fn a_run_as_planned_was_limited_by_nothing() {
        assert_eq!(verdict(|_, _| ()), Verdict { limited_by: LimitedBy::None, reasons: vec![] });
    }

    #[test]
    fn each_party_is_named_by_its_own_signs() {
        assert_eq!(verdict(|w, _| (0..5).for_each(|_| w.lateness.record(500_000))).limited_by, LimitedBy::Generator);
        assert_eq!(verdict(|w, _| w.counters.cpu_us = 39_000_000).limited_by, LimitedBy::Generator);
        assert_eq!(verdict(|w, _| w.counters.stalled_us = 4_000_000).limited_by, LimitedBy::Generator);
        assert_eq!(verdict(|w, _| w.counters.stalled_us = 3_900_000).limited_by, LimitedBy::None);
        for ours in [ErrorKind::NoPorts, ErrorKind::NoDescriptors, ErrorKind::LocalLimit] {
            assert_eq!(verdict(|w, _| w.ledger.finish(Outcome::Failed(ours))).limited_by, LimitedBy::Generator);
        }
        assert_eq!(
            verdict(|w, _| (0..5).for_each(|_| w.ledger.finish(Outcome::Failed(ErrorKind::Timeout)))).limited_by,
            LimitedBy::Target
        );
        assert_eq!(verdict(|_, r| r.end = Some(EndReason::ErrorThreshold)).limited_by, LimitedBy::Target);
        assert_eq!(verdict(|_, r| r.clients_capped = 3).limited_by, LimitedBy::Plan);
    }

    #[test]
    fn waiting_for_the_plans_cap_is_not_the_generators_fault() {
        let v = verdict(|w, r| {
            (0..50).for_each(|_| w.lateness.record(900_000));
            r.clients_capped = 50;
        });
        assert_eq!(v.limited_by, LimitedBy::Plan);
    }
}

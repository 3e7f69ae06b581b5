//! Whether two runs differ by more than the noise within them.
//!
//! Seconds of a run are alike their neighbours, so requests are no independent samples: blocks of ⌈n^⅓⌉ of n seconds are
//! redrawn instead (Künsch 1989, *The jackknife and the bootstrap for general stationary observations*, Annals of Statistics 17;
//! the length is of the order that Hall, Horowitz and Jing 1995, Biometrika 82, find for estimating a variance). Runs also change
//! while they last, by plan or not: a ramp, a target that begins to strain. So every block is drawn from around its place, and
//! what changes slowly is no noise: the local block bootstrap (Paparoditis and Politis 2002, Comptes Rendus Mathématique 335;
//! Dowla, Paparoditis and Politis 2013, *Local block bootstrap inference for trending time series*, Metrika 76). Two runs of equal
//! length are drawn alike, so that what they do at the same second is compared.
//!
//! An interval covers a difference with 95 % for all figures together: of m figures judged, each has a level of
//! 1 − 0.05/m (Bonferroni). It says nothing about what differs from one run to the next for reasons that are constant within
//! each, such as a neighbour's load on the machine.

use serde::{Deserialize, Serialize};

use crate::result::ResultDoc;

mod resample;

pub use resample::{Resampled, Series};

/// Redrawn runs from which an interval is read.
pub const RESAMPLES: usize = 1000;
/// Chance that one of the intervals of two runs misses its difference.
pub const ERROR_RATE: f64 = 0.05;
/// Fewest seconds of a run from which anything is said.
pub const FEWEST_SECONDS: usize = 10;
/// Fewest answers on either side of a percentile, and fewest errors of two runs together, from which anything is said.
pub const FEWEST_SAMPLES: u64 = 10;
/// Relative change of a time or rate below which it does not matter in practice.
pub const PRACTICAL: f64 = 0.01;
/// Change of the error share below which it does not matter in practice.
pub const PRACTICAL_SHARE: f64 = 0.001;

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Answered requests per second.
    RequestsPerSecond,
    /// Median latency in ms.
    P50,
    /// 95th percentile in ms.
    P95,
    /// 99th percentile in ms.
    P99,
    /// Share of errors, 0 to 1.
    ErrorShare,
}

impl Figure {
    /// Every figure.
    pub const ALL: [Figure; 5] = [Figure::RequestsPerSecond, Figure::P50, Figure::P95, Figure::P99, Figure::ErrorShare];

    /// Share of the samples below a percentile; `None` for other figures.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Figure::P50 => Some(0.5),
            Figure::P95 => Some(0.95),
            Figure::P99 => Some(0.99),
            Figure::RequestsPerSecond | Figure::ErrorShare => None,
        }
    }
}

/// The exact figures of a run, as its result has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exact {
    /// In the order of [`Figure::ALL`]; `None` where there is no value.
    pub figures: [Option<f64>; 5],
    /// Measured length in seconds.
    pub length_s: f64,
    /// Planned length in seconds, if the plan has one.
    pub planned_s: Option<f64>,
}

impl Exact {
    /// Those of a result.
    pub fn of(result: &ResultDoc) -> Exact {
        let latency = &result.latency_ms;
        let share = (result.ledger.finished() > 0).then_some(result.error_rate);
        Exact {
            figures: [result.requests_per_second, latency.p50, latency.p95, latency.p99, share],
            length_s: result.duration_s,
            planned_s: result.plan.duration_s,
        }
    }

    /// One of them, if it is a number.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.figures[figure as usize].filter(|value| value.is_finite())
    }
}

/// Of what there is too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortage {
    /// One of the runs is shorter than [`FEWEST_SECONDS`], or was answered in too few of its seconds.
    Seconds,
    /// One of the runs has fewer than [`FEWEST_SAMPLES`] answers on a side of the percentile.
    Samples,
    /// There were errors, but fewer than [`FEWEST_SAMPLES`] in both runs together.
    Errors,
}

/// What can be said of a figure's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// One of the runs has no value.
    NoData,
    /// Both runs have the same value.
    Same,
    /// Too little to tell.
    TooLittle(Shortage),
    /// The interval includes no change.
    NoEvidence,
    /// There is a change, too small to matter: below [`PRACTICAL`] or [`PRACTICAL_SHARE`].
    Slight,
    /// There is a change.
    Changed,
}

/// How a figure of a second run differs from that of a first one. Nothing in it is ever NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Which figure.
    pub figure: Figure,
    /// What can be said.
    pub finding: Finding,
    /// Second less first, in the figure's unit; `None` where one has no value.
    pub difference: Option<f64>,
    /// The same as a share of the first; `None` also where the first is 0.
    pub relative: Option<f64>,
    /// Lowest and highest difference that the noise leaves open.
    pub interval: Option<[f64; 2]>,
    /// Lowest and highest relative difference; `None` also where the first may be 0.
    pub relative_interval: Option<[f64; 2]>,
}

/// Compares the second run with the first, in the order of [`Figure::ALL`].
pub fn compare(first: &Resampled, second: &Resampled) -> [Change; 5] {
    let mut changes = Figure::ALL.map(|figure| Change::before_intervals(figure, first, second));
    // Provisionally "no evidence": these are judged.
    let judged = changes.iter().filter(|c| c.finding == Finding::NoEvidence).count().max(1);
    for change in changes.iter_mut().filter(|c| c.finding == Finding::NoEvidence) {
        change.judge(first, second, judged);
    }
    changes
}

impl Change {
    fn before_intervals(figure: Figure, first: &Resampled, second: &Resampled) -> Change {
        let mut change = Change {
            figure,
            finding: Finding::NoData,
            difference: None,
            relative: None,
            interval: None,
            relative_interval: None,
        };
        let (Some(a), Some(b)) = (first.exact(figure), second.exact(figure)) else { return change };
        change.difference = Some(b - a);
        change.relative = finite(b / a - 1.0);
        change.finding = if a == b {
            Finding::Same
        } else if let Some(shortage) = shortage(figure, first, second) {
            Finding::TooLittle(shortage)
        } else {
            Finding::NoEvidence
        };
        change
    }

    fn judge(&mut self, first: &Resampled, second: &Resampled, judged: usize) {
        let pairs = || first.redrawn(self.figure).iter().zip(second.redrawn(self.figure));
        let interval = interval(pairs().map(|(a, b)| b - a).collect(), judged);
        let relative = interval_of_ratios(pairs().map(|(a, b)| b / a - 1.0).collect(), judged);
        let Some([low, high]) = interval else {
            self.finding = Finding::TooLittle(Shortage::Seconds);
            return;
        };
        (self.interval, self.relative_interval) = (Some([low, high]), relative);
        let slight = match self.figure {
            Figure::ErrorShare => self.difference.is_some_and(|d| d.abs() < PRACTICAL_SHARE),
            _ => self.relative.is_some_and(|r| r.abs() < PRACTICAL),
        };
        self.finding = match (low <= 0.0 && high >= 0.0, slight) {
            (true, _) => Finding::NoEvidence,
            (false, true) => Finding::Slight,
            (false, false) => Finding::Changed,
        };
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn shortage(figure: Figure, first: &Resampled, second: &Resampled) -> Option<Shortage> {
    let runs = [first, second];
    if runs.iter().any(|run| run.seconds() < FEWEST_SECONDS || run.redrawn(figure).is_empty()) {
        return Some(Shortage::Seconds);
    }
    if let Some(quantile) = figure.quantile() {
        let rarer = quantile.min(1.0 - quantile);
        // A little less than ten would be ten but for rounding.
        let enough = |run: &&Resampled| run.answered() as f64 * rarer >= FEWEST_SAMPLES as f64 - 1e-6;
        return (!runs.iter().all(enough)).then_some(Shortage::Samples);
    }
    let few_errors = first.errors() + second.errors() < FEWEST_SAMPLES;
    (figure == Figure::ErrorShare && few_errors).then_some(Shortage::Errors)
}

/// The middle 1 − 0.05/m of the values; `None` if one is no number.
fn interval(mut values: Vec<f64>, judged: usize) -> Option<[f64; 2]> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let tail = ERROR_RATE / judged as f64 / 2.0;
    let out = ((values.len() as f64 * tail).ceil() as usize).clamp(1, values.len());
    Some([values[out - 1], values[values.len() - out]])
}

/// As [`interval`]; `None` only if an end of it is no number.
fn interval_of_ratios(mut values: Vec<f64>, judged: usize) -> Option<[f64; 2]> {
    values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = f64::INFINITY);
    values.sort_by(f64::total_cmp);
    let tail = ERROR_RATE / judged as f64 / 2.0;
    let out = ((values.len() as f64 * tail).ceil() as usize).clamp(1, values.len().max(1));
    let ends = [*values.get(out - 1)?, *values.get(values.len() - out)?];
    ends.iter().all(|v| v.is_finite()).then_some(ends)
}

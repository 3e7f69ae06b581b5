//! Conditions that make a run fail, such as `p95>300ms` or `errors>1%`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::plan::limits;
use crate::result::{Percentiles, ResultDoc};
use crate::window::Ledger;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    Min,
    Mean,
    Percentile(&'static str),
    Max,
    Errors,
    Rate,
}

/// Which side of the bound fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// A condition under which a run has failed. Times are in ms, errors in percent, rates in requests per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FailIf {
    metric: Metric,
    side: Side,
    bound: f64,
    text: String,
}

/// The text is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "“{0}” is not a condition; write for example p95>300ms, max>2s, errors>1% or rps<500 (names: min, mean, p50, p66, p75, p80, p90, p95, p98, p99, p99.9, max, errors, rps)"
)]
pub struct NotALimit(String);

const PERCENTILES: &[&str] = &["p50", "p66", "p75", "p80", "p90", "p95", "p98", "p99", "p99.9"];

impl FromStr for FailIf {
    type Err = NotALimit;

    fn from_str(text: &str) -> Result<FailIf, NotALimit> {
        let error = || NotALimit(text.chars().take(60).collect());
        if text.len() > limits::CONDITION_BYTES {
            return Err(error());
        }
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let at = compact.find(['<', '>']).ok_or_else(error)?;
        let (name, rest) = compact.split_at(at);
        let (side, value) =
            match (rest.strip_prefix(">="), rest.strip_prefix('>'), rest.strip_prefix("<="), rest.strip_prefix('<')) {
                (Some(v), ..) => (Side::AtLeast, v),
                (_, Some(v), ..) => (Side::Above, v),
                (_, _, Some(v), _) => (Side::AtMost, v),
                (_, _, _, Some(v)) => (Side::Below, v),
                _ => return Err(error()),
            };
        let metric = match name {
            "min" => Metric::Min,
            "mean" | "avg" => Metric::Mean,
            "max" => Metric::Max,
            "errors" | "error_rate" => Metric::Errors,
            "rps" | "requests_per_second" => Metric::Rate,
            "p99_9" => Metric::Percentile("p99.9"),
            "median" => Metric::Percentile("p50"),
            other => Metric::Percentile(PERCENTILES.iter().find(|p| **p == other).ok_or_else(error)?),
        };
        let (number, factor) = match metric {
            Metric::Errors => (value.strip_suffix('%').unwrap_or(value), 1.0),
            Metric::Rate => (value.strip_suffix("/s").unwrap_or(value), 1.0),
            _ => match (
                value.strip_suffix("ms"),
                value.strip_suffix("us").or(value.strip_suffix("µs")),
                value.strip_suffix('s'),
            ) {
                (Some(n), ..) => (n, 1.0),
                (_, Some(n), _) => (n, 0.001),
                (.., Some(n)) => (n, 1000.0),
                _ => (value, 1.0),
            },
        };
        let bound = number.parse::<f64>().map_err(|_| error())? * factor;
        if !bound.is_finite() || bound < 0.0 {
            return Err(error());
        }
        Ok(FailIf { metric, side, bound, text: compact })
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for FailIf {
    type Error = NotALimit;
    fn try_from(text: String) -> Result<FailIf, NotALimit> {
        text.parse()
    }
}

impl From<FailIf> for String {
    fn from(limit: FailIf) -> String {
        limit.text
    }
}

/// What a condition is judged by: a run, or one request of it.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Response times.
    pub latency_ms: &'a Percentiles,
    /// What became of the requests.
    pub ledger: &'a Ledger,
    /// Length in seconds.
    pub seconds: f64,
}

impl Measured<'_> {
    /// Answered requests per second; `None` before anything was measured.
    fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.ledger.answered() as f64 / self.seconds)
    }
}

impl FailIf {
    /// The measured value, in the unit of the condition; `None` where there is none.
    pub fn value(&self, measured: Measured<'_>) -> Option<f64> {
        let l = measured.latency_ms;
        match self.metric {
            Metric::Min => l.min,
            Metric::Mean => l.mean,
            Metric::Max => l.max,
            Metric::Percentile(name) => l.rows().into_iter().find(|(n, _)| *n == name).and_then(|(_, v)| v),
            Metric::Errors => (measured.ledger.finished() > 0).then(|| measured.ledger.error_rate() * 100.0),
            Metric::Rate => measured.rate(),
        }
    }

    /// The measured value of a whole run.
    pub fn measured(&self, result: &ResultDoc) -> Option<f64> {
        self.value(Measured { latency_ms: &result.latency_ms, ledger: &result.ledger, seconds: result.duration_s })
    }

    /// Whether the run failed by this condition. A run without the value fails: silence is no proof.
    pub fn is_broken_by(&self, result: &ResultDoc) -> bool {
        self.measured(result).is_none_or(|value| self.is_broken_at(value))
    }

    /// Whether this value breaks it.
    pub fn is_broken_at(&self, value: f64) -> bool {
        match self.side {
            Side::Above => value > self.bound,
            Side::AtLeast => value >= self.bound,
            Side::Below => value < self.bound,
            Side::AtMost => value <= self.bound,
        }
    }

    /// What holds while it is not broken: `p95≤300ms` for `p95>300ms`.
    pub fn kept_words(&self) -> String {
        let (broken, kept) = match self.side {
            Side::Above => (">", "≤"),
            Side::AtLeast => (">=", "<"),
            Side::Below => ("<", "≥"),
            Side::AtMost => ("<=", ">"),
        };
        self.text.replacen(broken, kept, 1)
    }

    /// The unit of its values: `ms`, `%` or `/s`.
    pub fn unit(&self) -> &'static str {
        match self.metric {
            Metric::Errors => "%",
            Metric::Rate => "/s",
            _ => "ms",
        }
    }
}

/// A pass/fail limit of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitSpec {
    /// When it is broken.
    pub condition: FailIf,
    /// The request of the list it is about, from 0; absent = all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<usize>,
    /// Whether the run ends as soon as it is broken by everything so far.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
}

/// A limit and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitDoc {
    /// The condition under which the run has failed.
    pub text: String,
    /// The request of the list it is about, from 0; `null` = all together.
    pub request: Option<usize>,
    /// The measured value, in the condition's unit.
    pub value: Option<f64>,
    /// The unit of `value`.
    pub unit: String,
    /// Whether the run kept it. Without a value it did not: silence is no proof.
    pub held: bool,
}

impl LimitDoc {
    /// Whether a value shows that it was not kept.
    pub fn broken(&self) -> bool {
        !self.held && self.value.is_some()
    }
}

impl LimitSpec {
    /// What came of it.
    pub fn judged(&self, measured: Measured<'_>) -> LimitDoc {
        let value = self.condition.value(measured);
        LimitDoc {
            text: self.condition.to_string(),
            request: self.request,
            value: value.map(|v| (v * 1000.0).round() / 1000.0),
            unit: self.condition.unit().to_owned(),
            held: value.is_some_and(|v| !self.condition.is_broken_at(v)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_with_their_units() {
        for (text, bound) in [
            ("p95>300ms", 300.0),
            ("max > 2s", 2000.0),
            ("errors>1%", 1.0),
            ("rps<500", 500.0),
            ("p50>=250us", 0.25),
            ("p99.9>1", 1.0),
        ] {
            assert_eq!(text.parse::<FailIf>().unwrap().bound, bound, "{text}");
        }
        let kept = |text: &str| text.parse::<FailIf>().unwrap().kept_words();
        assert_eq!(
            (kept("p95 > 300ms"), kept("rps<=5"), kept("max>=2s")),
            ("p95≤300ms".into(), "rps>5".into(), "max<2s".into())
        );
        for bad in ["", "p95", "p94>1ms", "p95>x", "p95>-1", "errors>NaN%", "p95=3", "max>1e308s"] {
            assert!(bad.parse::<FailIf>().is_err(), "{bad}");
        }
    }
}

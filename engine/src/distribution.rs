//! How the times of a whole run are spread: what a result document does not hold, kept beside it.

use serde::{Deserialize, Serialize};

use crate::histogram::{DecodeError, Histogram, take};
use crate::result::ms;
use crate::window::Window;

/// Most bars of a histogram that is drawn.
pub const BARS: usize = 120;
/// Decades of the percentile curve: 1/(1 − q) from 1 to 100 000, that is p0 to p99.999.
const DECADES: u32 = 5;
/// Points of the curve in a decade.
const STEPS: u32 = 16;
/// Each bar is at least so much wider than the one before.
const RATIO: f64 = 1.06;

/// Latencies and service times of a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// As [`Window::latency`].
    pub latency: Histogram,
    /// As [`Window::service`].
    pub service: Histogram,
}

impl Totals {
    /// Those of the sum of a run's windows.
    pub fn of(window: &Window) -> Totals {
        Totals { latency: window.latency.clone(), service: window.service.clone() }
    }

    /// The stored form: a version byte, then both histograms.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![1];
        self.latency.encode(&mut out);
        self.service.encode(&mut out);
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are cut, damaged or of a later version.
    pub fn decode(mut bytes: &[u8]) -> Result<Totals, DecodeError> {
        let [version] = take::<1>(&mut bytes)?;
        if version != 1 {
            return Err(DecodeError(format!("version {version} is not known").into()));
        }
        let totals = Totals { latency: Histogram::decode(&mut bytes)?, service: Histogram::decode(&mut bytes)? };
        if bytes.is_empty() { Ok(totals) } else { Err(DecodeError("longer than it says".into())) }
    }
}

/// Requests within a range of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// From this time on, in ms.
    pub from_ms: f64,
    /// Up to, but not including, this time in ms.
    pub to_ms: f64,
    /// How many took so long.
    pub count: u64,
}

/// A point of a percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// 1/(1 − q): 1 for the smallest, 2 for the median, 100 for p99.
    pub one_in: f64,
    /// The time in ms that only one in so many exceeds.
    pub ms: f64,
}

/// What is drawn of a run's times: bounded lists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Latencies, shortest first; at most [`BARS`]. Bars without a request are left out.
    pub bars: Vec<Bar>,
    /// Latencies by percentile.
    pub latency: Vec<Quantile>,
    /// Service times by percentile.
    pub service: Vec<Quantile>,
}

impl Distribution {
    /// The distribution of what was measured.
    pub fn of(totals: &Totals) -> Distribution {
        Distribution { bars: bars(&totals.latency), latency: curve(&totals.latency), service: curve(&totals.service) }
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.bars.is_empty()
    }
}

/// Bars whose edges grow by a constant factor, so that they are equally wide on a logarithmic scale; whole µs.
fn bars(histogram: &Histogram) -> Vec<Bar> {
    let (Some(min), Some(max)) = (histogram.min_us(), histogram.max_us()) else { return Vec::new() };
    // One bar less than there may be, for the rounding up below never makes more.
    let ratio = ((max as f64 + 1.0) / min as f64).powf(1.0 / (BARS - 1) as f64).max(RATIO);
    let next = |edge: u64| ((edge as f64 * ratio).ceil() as u64).max(edge + 1);
    let (mut from, mut to) = (min, next(min));
    let mut bars: Vec<Bar> = Vec::new();
    for (us, count) in histogram.buckets() {
        // A bucket's highest time may lie just beyond the largest that was measured.
        let us = us.clamp(min, max);
        while us >= to {
            (from, to) = (to, next(to));
        }
        let (from_ms, to_ms) = (ms(from as f64), ms(to as f64));
        match bars.last_mut() {
            Some(bar) if bar.from_ms == from_ms => bar.count += count,
            _ => bars.push(Bar { from_ms, to_ms, count }),
        }
    }
    bars
}

/// Nearest-rank percentiles up to the first that is the largest time: of 100 requests none is p99.99 of its own.
fn curve(histogram: &Histogram) -> Vec<Quantile> {
    let count = u128::from(histogram.count());
    let mut points = Vec::new();
    for step in 0..=DECADES * STEPS {
        let one_in = 10f64.powf(f64::from(step) / f64::from(STEPS));
        let thousandths = ((1.0 - 1.0 / one_in) * 100_000.0).round() as u32;
        let Some(us) = histogram.percentile_us(thousandths) else { break };
        points.push(Quantile { one_in, ms: ms(us as f64) });
        if (count * u128::from(thousandths)).div_ceil(100_000).max(1) == count {
            break;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn totals(samples: &[u64]) -> Totals {
        let mut totals = Totals::default();
        for us in samples {
            totals.latency.record(*us);
            totals.service.record(us.div_ceil(2));
        }
        totals
    }

    #[test]
    fn b20_one_request_is_one_bar_and_one_point() {
        let one = Distribution::of(&totals(&[1234]));
        assert_eq!((one.bars.len(), one.bars[0].count), (1, 1));
        assert_eq!(one.latency, [Quantile { one_in: 1.0, ms: 1.234 }]);
        assert!(Distribution::of(&Totals::default()).is_empty());
    }

    #[test]
    fn the_curve_agrees_with_the_percentiles_and_ends_at_the_largest() {
        let samples: Vec<u64> = (1..=1000).map(|n| n * 1000).collect();
        let curve = Distribution::of(&totals(&samples)).latency;
        let at = |one_in: f64| curve.iter().find(|p| (p.one_in / one_in - 1.0).abs() < 1e-9).unwrap().ms;
        let histogram = totals(&samples).latency;
        let p = |q| ms(histogram.percentile_us(q).unwrap() as f64);
        assert_eq!((at(1.0), at(10.0), at(100.0), at(1000.0)), (1.0, p(90_000), p(99_000), p(99_900)));
        assert_eq!(curve.last().unwrap().ms, 1000.0);
        assert!(curve.windows(2).all(|w| w[0].one_in < w[1].one_in && w[0].ms <= w[1].ms), "{curve:?}");
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = totals(&[5, 6, 7]).encode();
        assert_eq!(Totals::decode(&bytes).unwrap(), totals(&[5, 6, 7]));
        assert!((0..bytes.len()).all(|cut| Totals::decode(&bytes[..cut]).is_err()));
        assert!(Totals::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn bars_are_bounded_in_order_and_hold_every_request(samples in prop::collection::vec(1u64..=3_600_000_000, 1..300), narrow in 1u64..4000) {
            for samples in [samples.clone(), samples.iter().map(|us| us % narrow + 1).collect::<Vec<_>>()] {
                let bars = Distribution::of(&totals(&samples)).bars;
                prop_assert!(bars.len() <= BARS, "{} bars", bars.len());
                prop_assert_eq!(bars.iter().map(|b| b.count).sum::<u64>(), samples.len() as u64);
                prop_assert!(bars.windows(2).all(|w| w[0].to_ms <= w[1].from_ms) && bars.iter().all(|b| b.from_ms < b.to_ms));
            }
        }
    }
}

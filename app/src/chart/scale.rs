//! Scales: from values to places, with ticks at round numbers.

use crate::format;

/// From a domain of values to a range of places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// Linear; an empty or backward domain becomes one unit wide.
    pub fn linear(from: f64, to: f64, start: f64, end: f64) -> Scale {
        let to = if to > from { to } else { from + 1.0 };
        Scale { from, to, start, end, log: false }
    }

    /// Logarithmic over a positive domain; values below it land at its start.
    pub fn log(from: f64, to: f64, start: f64, end: f64) -> Scale {
        let from = if from > 0.0 { from } else { f64::MIN_POSITIVE };
        let to = if to > from { to } else { from * 10.0 };
        Scale { from, to, start, end, log: true }
    }

    /// Where a value stands; never outside the range, never NaN.
    pub fn place(&self, value: f64) -> f64 {
        if !value.is_finite() {
            return self.start;
        }
        let value = value.clamp(self.from, self.to);
        let share = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + share * (self.end - self.start)
    }

    /// The value at a place of a linear scale.
    pub fn value(&self, place: f64) -> f64 {
        self.from + (place - self.start) / (self.end - self.start) * (self.to - self.from)
    }
}

/// Steps of 1, 2 or 5 times a power of ten: about `wanted` ticks from 0 to at least `max`. The last is the top of the axis.
pub fn linear_ticks(max: f64, wanted: usize, whole: bool) -> Vec<f64> {
    let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
    let rough = max / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let mut step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough * 0.999_999).unwrap_or(10.0 * power);
    if whole {
        step = step.max(1.0);
    }
    let count = (max / step - 1e-9).ceil().max(1.0) as usize;
    (0..=count).map(|i| i as f64 * step).collect()
}

/// Ticks of a logarithmic axis around [min, max]: decades, with 2 and 5 between them when there are few.
pub fn log_ticks(min: f64, max: f64) -> Vec<f64> {
    let min = if min.is_finite() && min > 0.0 { min } else { 0.1 };
    let max = if max.is_finite() && max > min { max } else { min * 10.0 };
    let (low, high) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    let between: &[f64] = if high - low <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut ticks: Vec<f64> = (low..=high).flat_map(|p| between.iter().map(move |m| m * 10f64.powi(p))).collect();
    // The axis begins at the last tick below the data and ends at the first above.
    let first = ticks.iter().rposition(|t| *t <= min * 1.000_001).unwrap_or(0);
    let last = ticks.iter().position(|t| *t >= max * 0.999_999).unwrap_or(ticks.len() - 1);
    ticks.drain(last + 1..);
    ticks.drain(..first);
    ticks
}

/// Ticks of a time axis in seconds at steps people know.
pub fn time_ticks(end_s: f64, wanted: usize) -> Vec<f64> {
    const STEPS: [f64; 19] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 14_400.0,
        21_600.0, 43_200.0, 86_400.0,
    ];
    let end_s = if end_s.is_finite() && end_s > 0.0 { end_s } else { 1.0 };
    let rough = end_s / wanted.max(1) as f64;
    let step = STEPS.into_iter().find(|s| *s >= rough).unwrap_or(86_400.0);
    let count = (end_s / step + 1e-9).floor() as usize;
    (0..=count).map(|i| i as f64 * step).collect()
}

/// A tick's words: no more digits than it needs.
pub fn tick_label(value: f64) -> String {
    if value >= 1_000_000.0 {
        return format!("{} M", format::number(value / 1_000_000.0));
    }
    format::number(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_data() {
        assert_eq!(linear_ticks(93.0, 5, false), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(linear_ticks(2.0, 5, true), [0.0, 1.0, 2.0]);
        assert_eq!(linear_ticks(0.0, 4, false).first(), Some(&0.0));
        assert_eq!(linear_ticks(f64::NAN, 4, false).first(), Some(&0.0));
        assert_eq!(log_ticks(3.0, 70.0), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(time_ticks(60.0, 6), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(time_ticks(0.0, 6), [0.0, 1.0]);
    }

    #[test]
    fn places_stay_inside() {
        let scale = Scale::log(1.0, 100.0, 300.0, 0.0);
        assert_eq!(
            (scale.place(10.0), scale.place(0.0), scale.place(f64::NAN), scale.place(1e9)),
            (150.0, 300.0, 300.0, 0.0)
        );
        assert_eq!(Scale::linear(0.0, 0.0, 0.0, 10.0).place(0.5), 5.0);
    }
}

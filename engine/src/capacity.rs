//! The search for a capacity: the largest size of a load that keeps given limits, by doubling, then halving the gap, then a
//! confirming run. Pure: what is to be tried next follows from what was tried.

use serde::{Deserialize, Serialize};

/// Between which sizes, and how exactly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The smallest size, tried first; above 0.
    pub from: f64,
    /// The largest size that may be tried; at least `from`.
    pub to: f64,
    /// The gap between what is kept and what is broken at which the search ends, as a share of the size: 0.05 = 5 %.
    pub precision: f64,
    /// Whether sizes are whole numbers.
    pub whole: bool,
}

/// What a run said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Every limit was kept.
    Kept,
    /// A limit was broken.
    Broken,
    /// The generator was the limit, so the run says nothing about the target.
    Generator,
}

/// A run that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// Its size.
    pub size: f64,
    /// What it said.
    pub answer: Answer,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A run of this size.
    Run {
        /// Size, within the bounds of the search.
        size: f64,
        /// Whether it confirms what was found.
        confirms: bool,
    },
    /// Nothing: the search is over.
    Done(Found),
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// The limits are kept at this size, in two runs.
    Capacity {
        /// Largest size that kept them, confirmed.
        size: f64,
        /// The smallest size above it that broke them; `None` where even the largest allowed one kept them.
        broken_at: Option<f64>,
    },
    /// Even the smallest size breaks them.
    Nothing {
        /// That size.
        size: f64,
    },
    /// The generator could not go further: the capacity is at least what was kept.
    Generator {
        /// The largest size that kept the limits, in one run; `None` if the first run was limited already.
        kept: Option<f64>,
        /// The size that the generator could not make.
        at: f64,
    },
}

/// Factor between one size and the next while everything is kept.
const GROWTH: f64 = 2.0;
/// Significant digits of sizes in between, where that many are enough.
const DIGITS: i32 = 3;

/// What to do after these runs, in the order they were made. The number of runs is bounded: about log₂(to/from) to find a size
/// that breaks the limits, log₂(ln 2 / ln(1 + precision)) to close the gap, and one confirmation, or one for each size that
/// kept the limits once and then did not.
pub fn next(search: &Search, history: &[Tried]) -> Step {
    // Sizes that kept the limits, rising; the smallest that broke them.
    let (mut kept, mut broken): (Vec<f64>, Option<f64>) = (Vec::new(), None);
    let mut step = search.step(&kept, broken, false);
    for tried in history {
        let Step::Run { size, confirms } = step else { return step };
        match tried.answer {
            Answer::Generator => {
                return Step::Done(Found::Generator { kept: kept.last().copied(), at: size });
            }
            Answer::Kept if confirms => return Step::Done(Found::Capacity { size, broken_at: broken }),
            Answer::Kept => kept.push(size),
            Answer::Broken => {
                if confirms {
                    kept.pop();
                }
                broken = Some(size);
            }
        }
        step = search.step(&kept, broken, confirms);
    }
    step
}

impl Search {
    fn step(&self, kept: &[f64], broken: Option<f64>, confirming: bool) -> Step {
        let Some(&low) = kept.last() else {
            return match broken {
                None => Step::Run { size: self.from, confirms: false },
                Some(_) => Step::Done(Found::Nothing { size: self.from }),
            };
        };
        let further = match broken {
            _ if confirming => None,
            Some(high) => self.between(low, high),
            None => (low < self.to).then(|| (low * GROWTH).min(self.to)),
        };
        match further {
            Some(size) => Step::Run { size, confirms: false },
            None => Step::Run { size: low, confirms: true },
        }
    }

    /// A size strictly between two, about as many times the one as the other is of it; `None` where the gap is small enough.
    fn between(&self, low: f64, high: f64) -> Option<f64> {
        if high <= low * (1.0 + self.precision) || (self.whole && high - low <= 1.0) {
            return None;
        }
        let exact = (low * high).sqrt();
        let exact = if self.whole { exact.round().clamp(low + 1.0, high - 1.0) } else { exact };
        let unit = 10f64.powi(exact.log10().floor() as i32 + 1 - DIGITS);
        let short = (exact / unit).round() * unit;
        let fits = |size: f64| size > low && size < high && (!self.whole || size.fract() == 0.0);
        // A round number only where it still halves the gap, more or less.
        if fits(short) && (short - low).min(high - short) > (high - low) * 0.2 {
            return Some(short);
        }
        fits(exact).then_some(exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search against an oracle; the sizes tried and what was found.
    fn search(search: Search, oracle: impl Fn(f64) -> Answer) -> (Vec<f64>, Found) {
        let mut history = Vec::new();
        for _ in 0..100 {
            match next(&search, &history) {
                Step::Run { size, .. } => history.push(Tried { size, answer: oracle(size) }),
                Step::Done(found) => return (history.iter().map(|t| t.size).collect(), found),
            }
        }
        panic!("it does not end: {history:?}");
    }

    fn up_to(capacity: f64) -> impl Fn(f64) -> Answer {
        move |size| if size <= capacity { Answer::Kept } else { Answer::Broken }
    }

    const RATES: Search = Search { from: 100.0, to: 10_000.0, precision: 0.05, whole: false };

    #[test]
    fn doubling_then_halving_then_a_confirmation() {
        let (sizes, found) = search(RATES, up_to(850.0));
        assert_eq!(sizes[..5], [100.0, 200.0, 400.0, 800.0, 1600.0]);
        let Found::Capacity { size, broken_at: Some(broken) } = found else { panic!("{found:?}") };
        assert!((800.0..=850.0).contains(&size) && broken > 850.0 && broken <= size * 1.05, "{found:?}");
        assert_eq!(sizes.last(), Some(&size), "the last run confirms");
        assert!(sizes.len() <= 10, "{sizes:?}");
    }

    #[test]
    fn the_ends_of_the_range_are_told_apart() {
        assert_eq!(search(RATES, up_to(1e9)).1, Found::Capacity { size: 10_000.0, broken_at: None });
        assert_eq!(search(RATES, up_to(1.0)), (vec![100.0], Found::Nothing { size: 100.0 }));
        let one = Search { from: 1.0, to: 1.0, precision: 0.05, whole: true };
        assert_eq!(search(one, up_to(5.0)), (vec![1.0, 1.0], Found::Capacity { size: 1.0, broken_at: None }));
    }

    #[test]
    fn a_generator_at_its_limit_ends_the_search() {
        let limited = |size: f64| if size > 500.0 { Answer::Generator } else { Answer::Kept };
        assert_eq!(
            search(RATES, limited),
            (vec![100.0, 200.0, 400.0, 800.0], Found::Generator { kept: Some(400.0), at: 800.0 })
        );
        assert_eq!(search(RATES, |_| Answer::Generator).1, Found::Generator { kept: None, at: 100.0 });
    }

    #[test]
    fn what_is_not_confirmed_gives_way_to_the_next_smaller() {
        let kept = |size| Tried { size, answer: Answer::Kept };
        let broken = |size| Tried { size, answer: Answer::Broken };
        let whole = Search { from: 1.0, to: 100.0, precision: 0.5, whole: true };
        let mut history = vec![kept(1.0), kept(2.0), kept(4.0), broken(8.0), kept(6.0)];
        assert_eq!(next(&whole, &history), Step::Run { size: 6.0, confirms: true });
        history.push(broken(6.0));
        assert_eq!(next(&whole, &history), Step::Run { size: 4.0, confirms: true });
        history.push(kept(4.0));
        assert_eq!(next(&whole, &history), Step::Done(Found::Capacity { size: 4.0, broken_at: Some(6.0) }));
        history.push(kept(9.0));
        assert_eq!(
            next(&whole, &history),
            Step::Done(Found::Capacity { size: 4.0, broken_at: Some(6.0) }),
            "over is over"
        );
    }

    #[test]
    fn whole_sizes_stay_whole_and_apart() {
        let whole = Search { from: 1.0, to: 64.0, precision: 0.01, whole: true };
        for capacity in 1..=64 {
            let (sizes, found) = search(whole, up_to(f64::from(capacity)));
            assert!(sizes.iter().all(|s| s.fract() == 0.0), "{sizes:?}");
            let broken_at = (capacity < 64).then(|| f64::from(capacity + 1));
            assert_eq!(found, Found::Capacity { size: f64::from(capacity), broken_at });
        }
    }
}

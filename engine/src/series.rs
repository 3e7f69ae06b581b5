//! A test at several sizes: what varies, at which sizes or how they are searched for, and the plan at one of them.

use serde::{Deserialize, Serialize};

use crate::capacity::{self, Answer, Search, Step, Tried};
use crate::limit::LimitSpec;
use crate::plan::limits::{self, Bound};
use crate::plan::{Load, Plan, PlanErrors, Reuse, text_enum};

text_enum! {
    /// What is different from run to run.
    Varies {
        /// Clients: at once, or over the whole test.
        #[default] Clients = "clients",
        /// Requests of a fixed count.
        Requests = "requests",
        /// Clients that start each second.
        Rate = "rate",
    }
}

impl Varies {
    /// What may vary in a load of this type; the first is what is offered.
    pub fn choices(load: Load) -> &'static [Varies] {
        match load {
            Load::FixedCount { .. } => &[Varies::Clients, Varies::Requests],
            Load::PerSecond { .. } => &[Varies::Rate],
            Load::PerTest { .. } | Load::Maintain { .. } => &[Varies::Clients],
        }
    }

    /// The bound of its sizes.
    pub fn bound(self, load: Load) -> Bound {
        match (self, load) {
            (Varies::Requests, _) => limits::REQUESTS,
            (Varies::Rate, _) => limits::RATE,
            (Varies::Clients, Load::PerTest { .. }) => limits::PER_TEST,
            (Varies::Clients, Load::Maintain { .. }) => Bound { min: 1.0, ..limits::TO },
            (Varies::Clients, _) => limits::CLIENTS,
        }
    }

    /// Whether its sizes are whole numbers.
    pub fn is_whole(self) -> bool {
        self != Varies::Rate
    }

    /// The size that a plan has as it is.
    pub fn size_of(self, load: Load) -> f64 {
        match (self, load) {
            (Varies::Requests, Load::FixedCount { requests, .. }) => requests as f64,
            (_, Load::FixedCount { clients, .. }) => f64::from(clients),
            (_, Load::PerTest { clients }) => clients as f64,
            (_, Load::PerSecond { rate }) => rate,
            (_, Load::Maintain { from, to }) => f64::from(from.max(to)),
        }
    }

    /// The load at this size. A maintained load has that many clients from its beginning to its end.
    fn load_at(self, load: Load, size: f64) -> Load {
        let whole = size.round().clamp(0.0, f64::from(u32::MAX)) as u32;
        match load {
            Load::FixedCount { clients, .. } if self == Varies::Requests => {
                Load::FixedCount { requests: u64::from(whole), clients }
            }
            Load::FixedCount { requests, .. } => Load::FixedCount { requests, clients: whole },
            Load::PerTest { .. } => Load::PerTest { clients: u64::from(whole) },
            Load::PerSecond { .. } => Load::PerSecond { rate: size },
            Load::Maintain { .. } => Load::Maintain { from: whole, to: whole },
        }
    }
}

/// Runs that are made again because the process that made their load ended; when it is more, the series ends.
const REPEATS: usize = 3;

/// A series of runs: one after the other, never two at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesSpec {
    /// What varies.
    pub varies: Varies,
    /// Seconds between the end of a run and the next.
    pub pause_s: f64,
    /// Which sizes.
    pub how: How,
}

/// Which sizes a series has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum How {
    /// Those listed.
    Sizes {
        /// In the order they are run.
        sizes: Vec<f64>,
        /// Whether each is run twice: with connections kept alive, and with a new one for every request.
        both_reuses: bool,
    },
    /// Those that the search for a capacity asks for.
    Capacity {
        /// The search.
        search: Search,
        /// What has to be kept; never empty.
        limits: Vec<LimitSpec>,
        /// Length of a run in seconds; `None` = as the plan says.
        run_s: Option<f64>,
        /// Length of the confirming run in seconds; `None` = as the others.
        confirm_s: Option<f64>,
    },
}

/// One place of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its number, from 0.
    pub number: u32,
    /// The size.
    pub size: f64,
    /// How connections are reused; `None` = as the plan says.
    pub reuse: Option<Reuse>,
    /// Whether the run confirms what a search found.
    pub confirms: bool,
}

/// A run of a series that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Past {
    /// The number of its place.
    pub number: u32,
    /// Its size.
    pub size: f64,
    /// What it said; `None` if the process that made its load ended before it did: then it is made again.
    pub answer: Option<Answer>,
}

impl SeriesSpec {
    /// The places of a series of listed sizes; of a search, those that these runs had and the next.
    pub fn places(&self, past: &[Past]) -> Vec<Place> {
        match &self.how {
            How::Sizes { sizes, both_reuses } => {
                let reuses: &[Option<Reuse>] =
                    if *both_reuses { &[Some(Reuse::Client), Some(Reuse::Off)] } else { &[None] };
                let all = sizes.iter().flat_map(|size| reuses.iter().map(move |reuse| (*size, *reuse)));
                all.zip(0..).map(|((size, reuse), number)| Place { number, size, reuse, confirms: false }).collect()
            }
            How::Capacity { search, .. } => {
                let answers = answers(past);
                let steps = (0..=answers.len()).map(|n| capacity::next(search, &answers[..n]));
                let runs = steps.map_while(|step| match step {
                    Step::Run { size, confirms } => Some((size, confirms)),
                    Step::Done(_) => None,
                });
                runs.zip(0..).map(|((size, confirms), number)| Place { number, size, reuse: None, confirms }).collect()
            }
        }
    }

    /// The next place to run after these; `None` when the series is over.
    pub fn next(&self, past: &[Past]) -> Option<Place> {
        let interrupted = past.iter().filter(|p| p.answer.is_none()).count();
        if interrupted > REPEATS {
            return None;
        }
        let done = |place: &Place| past.iter().any(|p| p.number == place.number && p.answer.is_some());
        self.places(past).into_iter().find(|place| !done(place))
    }

    /// What a search found after these runs; `None` while it goes on, and for listed sizes.
    pub fn found(&self, past: &[Past]) -> Option<capacity::Found> {
        let How::Capacity { search, .. } = &self.how else { return None };
        match capacity::next(search, &answers(past)) {
            Step::Done(found) => Some(found),
            Step::Run { .. } => None,
        }
    }

    /// The plan of one place.
    ///
    /// # Errors
    /// If a plan of this size breaks a bound.
    pub fn plan_at(&self, plan: &Plan, place: Place) -> Result<Plan, PlanErrors> {
        let mut spec = plan.spec().clone();
        spec.load = self.varies.load_at(spec.load, place.size);
        if let Some(reuse) = place.reuse {
            spec.reuse = reuse;
        }
        if let How::Capacity { limits, run_s, confirm_s, .. } = &self.how {
            spec.limits.clone_from(limits);
            let length = if place.confirms { confirm_s.or(*run_s) } else { *run_s };
            spec.duration_s = length.or(spec.duration_s);
        }
        Plan::try_from(spec)
    }
}

fn answers(past: &[Past]) -> Vec<Tried> {
    past.iter().filter_map(|p| Some(Tried { size: p.size, answer: p.answer? })).collect()
}

/// `steps` sizes from one to another at even distances; those that would fall together are one.
pub fn even_sizes(from: f64, to: f64, steps: usize, whole: bool) -> Vec<f64> {
    let last = steps.max(2) - 1;
    let size = |n: usize| from + (to - from) * n as f64 / last as f64;
    // Without what arithmetic leaves behind: 0.30000000000000004.
    let tidy = |size: f64| if whole { size.round() } else { (size * 1e6).round() / 1e6 };
    let mut sizes: Vec<f64> = (0..=last.min(limits::SERIES_SIZES.1)).map(|n| tidy(size(n))).collect();
    sizes.dedup();
    sizes
}

/// Each size twice the one before, from one to another, which is the last; more than a series may have is cut off one above.
pub fn doubling_sizes(from: f64, to: f64) -> Vec<f64> {
    let mut sizes: Vec<f64> = std::iter::successors(Some(from), |size| Some(size * 2.0))
        .take_while(|size| *size < to && *size > 0.0)
        .take(limits::SERIES_SIZES.1)
        .collect();
    sizes.push(to);
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Found;
    use crate::plan::{PlanSpec, RequestSpec};

    fn plan(load: Load) -> Plan {
        Plan::try_from(PlanSpec {
            load,
            duration_s: Some(5.0),
            requests: vec![RequestSpec { url: "http://127.0.0.1/".into(), ..Default::default() }],
            ..Default::default()
        })
        .unwrap()
    }

    fn sizes(both_reuses: bool) -> SeriesSpec {
        let how = How::Sizes { sizes: vec![10.0, 20.0], both_reuses };
        SeriesSpec { varies: Varies::Clients, pause_s: 0.0, how }
    }

    fn past(number: u32, answer: Option<Answer>) -> Past {
        Past { number, size: 1.0, answer }
    }

    #[test]
    fn each_load_varies_in_its_own_way() {
        let fixed = Load::FixedCount { requests: 100, clients: 5 };
        let maintain = Load::Maintain { from: 1, to: 50 };
        for (varies, load, at) in [
            (Varies::Requests, fixed, Load::FixedCount { requests: 20, clients: 5 }),
            (Varies::Clients, fixed, Load::FixedCount { requests: 100, clients: 20 }),
            (Varies::Rate, Load::PerSecond { rate: 1.5 }, Load::PerSecond { rate: 20.0 }),
            (Varies::Clients, Load::PerTest { clients: 1 }, Load::PerTest { clients: 20 }),
            (Varies::Clients, maintain, Load::Maintain { from: 20, to: 20 }),
        ] {
            assert!(Varies::choices(load).contains(&varies));
            let spec = SeriesSpec { varies, ..sizes(false) };
            let place = Place { number: 1, size: 20.0, reuse: None, confirms: false };
            assert_eq!(spec.plan_at(&plan(load), place).unwrap().load(), at);
            assert_eq!(varies.size_of(at), 20.0);
            assert!(varies.bound(load).contains(20.0));
        }
    }

    #[test]
    fn keep_alive_makes_two_of_every_size() {
        let series = sizes(true);
        let reuses: Vec<_> = series.places(&[]).iter().map(|p| (p.number, p.size, p.reuse)).collect();
        let (on, off) = (Some(Reuse::Client), Some(Reuse::Off));
        assert_eq!(reuses, [(0, 10.0, on), (1, 10.0, off), (2, 20.0, on), (3, 20.0, off)]);
        let fixed = plan(Load::FixedCount { requests: 9, clients: 1 });
        let at = series.plan_at(&fixed, series.places(&[])[3]).unwrap();
        assert_eq!((at.spec().reuse, at.load()), (Reuse::Off, Load::FixedCount { requests: 9, clients: 20 }));
    }

    #[test]
    fn a_run_that_was_interrupted_is_made_again_a_few_times() {
        let series = sizes(false);
        let mut runs = vec![past(0, Some(Answer::Broken)), past(1, None)];
        assert_eq!(series.next(&runs).map(|p| p.number), Some(1));
        runs.push(past(1, Some(Answer::Kept)));
        assert_eq!(series.next(&runs), None);
        assert_eq!(series.next(&[past(0, None); REPEATS]).map(|p| p.number), Some(0));
        assert_eq!(series.next(&[past(0, None); REPEATS + 1]), None);
    }

    #[test]
    fn a_search_runs_with_its_limits_and_lengths() {
        let limit = LimitSpec { condition: "p95>300ms".parse().unwrap(), request: None, stop: false };
        let series = SeriesSpec {
            varies: Varies::Rate,
            pause_s: 0.0,
            how: How::Capacity {
                search: Search { from: 10.0, to: 20.0, precision: 0.5, whole: false },
                limits: vec![limit.clone()],
                run_s: Some(2.0),
                confirm_s: Some(30.0),
            },
        };
        let of = |number, size, answer| Past { number, size, answer: Some(answer) };
        let mut runs = vec![of(0, 10.0, Answer::Kept), of(1, 20.0, Answer::Broken)];
        let place = series.next(&runs).unwrap();
        assert_eq!((place.number, place.confirms, place.size > 10.0), (2, false, true));
        let first = series.plan_at(&plan(Load::PerSecond { rate: 1.0 }), place).unwrap();
        assert_eq!((first.spec().limits.clone(), first.spec().duration_s), (vec![limit], Some(2.0)));
        runs.push(of(2, place.size, Answer::Kept));
        let place = series.next(&runs).unwrap();
        assert!(place.confirms);
        assert_eq!(series.plan_at(&first, place).unwrap().spec().duration_s, Some(30.0));
        runs.push(of(3, place.size, Answer::Kept));
        assert_eq!((series.next(&runs), series.places(&runs).len()), (None, 4));
        assert_eq!(series.found(&runs), Some(Found::Capacity { size: place.size, broken_at: Some(20.0) }));
    }

    #[test]
    fn ranges_become_sizes() {
        assert_eq!(even_sizes(10.0, 50.0, 5, true), [10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(even_sizes(0.1, 0.3, 3, false), [0.1, 0.2, 0.3]);
        assert_eq!(even_sizes(1.0, 3.0, 9, true), [1.0, 2.0, 3.0]);
        assert_eq!(doubling_sizes(10.0, 100.0), [10.0, 20.0, 40.0, 80.0, 100.0]);
        assert_eq!(doubling_sizes(1.0, 8.0), [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(doubling_sizes(1.0, 1e9).len(), limits::SERIES_SIZES.1 + 1, "too many are told, not cut");
    }
}

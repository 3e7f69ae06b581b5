//! Properties of the search for a capacity, against targets that answer steadily and ones that do not.

use oleada_engine::capacity::{Answer, Found, Search, Step, Tried, next};
use proptest::prelude::*;

/// Runs that no search may exceed, within the bounds of every load: 30 doublings, 7 halvings, each confirmed at worst.
const MOST_RUNS: usize = 80;

fn searches() -> impl Strategy<Value = Search> {
    (0.0..6.0f64, 0.0..9.0f64, 0.01..0.5f64, any::<bool>()).prop_map(|(from, span, precision, whole)| {
        let from = if whole { 10f64.powf(from).round() } else { 10f64.powf(from - 3.0) };
        let to = (from * 10f64.powf(span)).min(1e9);
        Search { from, to: if whole { to.round() } else { to }, precision, whole }
    })
}

/// Every run with whether it was to confirm, and what was found.
fn run(search: Search, mut oracle: impl FnMut(f64) -> Answer) -> (Vec<(Tried, bool)>, Found) {
    let mut runs: Vec<(Tried, bool)> = Vec::new();
    loop {
        let history: Vec<Tried> = runs.iter().map(|(tried, _)| *tried).collect();
        match next(&search, &history) {
            Step::Done(found) => return (runs, found),
            Step::Run { size, confirms } => runs.push((Tried { size, answer: oracle(size) }, confirms)),
        }
        assert!(runs.len() <= MOST_RUNS, "{search:?} does not end: {runs:?}");
    }
}

fn stays_inside(search: Search, runs: &[(Tried, bool)]) -> Result<(), TestCaseError> {
    for (tried, _) in runs {
        prop_assert!(tried.size >= search.from && tried.size <= search.to, "{tried:?} of {search:?}");
        prop_assert!(!search.whole || tried.size.fract() == 0.0, "{tried:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_steady_target_is_found_within_the_precision(search in searches(), share in 0.0..1.2f64) {
        let capacity = search.from * (search.to / search.from).powf(share);
        let (runs, found) = run(search, |size| if size <= capacity { Answer::Kept } else { Answer::Broken });
        stays_inside(search, &runs)?;
        let Found::Capacity { size, broken_at } = found else { panic!("{found:?}") };
        prop_assert!(size <= capacity);
        match broken_at {
            None => prop_assert_eq!(size, search.to),
            Some(broken) => {
                prop_assert!(broken > capacity);
                let close = broken <= size * (1.0 + search.precision) || (search.whole && broken - size <= 1.0);
                prop_assert!(close, "{size} to {broken}");
            }
        }
        prop_assert_eq!(runs.iter().filter(|(_, confirms)| *confirms).count(), 1);
    }

    #[test]
    fn whatever_a_target_answers_the_end_is_confirmed_or_nothing_is_kept(
        search in searches(),
        answers in prop::collection::vec(prop::bool::weighted(0.7), MOST_RUNS),
    ) {
        let mut answers = answers.into_iter();
        let mut oracle = |_| if answers.next().unwrap_or(false) { Answer::Kept } else { Answer::Broken };
        let (runs, found) = run(search, &mut oracle);
        stays_inside(search, &runs)?;
        let (last, confirms) = runs[runs.len() - 1];
        match found {
            Found::Capacity { size, .. } => {
                prop_assert!(confirms && last.size == size && last.answer == Answer::Kept);
                let kept_before = runs[..runs.len() - 1].iter().any(|(t, _)| t.size == size && t.answer == Answer::Kept);
                prop_assert!(kept_before, "confirmed is what was kept before");
            }
            Found::Nothing { size } => {
                prop_assert!(size == search.from && last.size == size && last.answer == Answer::Broken);
            }
            Found::Generator { .. } => prop_assert!(false, "nobody said so"),
        }
    }

    #[test]
    fn the_generators_limit_ends_it_with_what_was_kept(search in searches(), share in 0.0..1.0f64) {
        let limit = search.from * (search.to / search.from).powf(share);
        let (runs, found) = run(search, |size| if size < limit { Answer::Kept } else { Answer::Generator });
        let before: Vec<f64> = runs[..runs.len() - 1].iter().map(|(t, _)| t.size).collect();
        match found {
            Found::Generator { kept, at } => {
                prop_assert!(at >= limit && runs[runs.len() - 1].0.size == at);
                prop_assert_eq!(kept, before.last().copied());
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

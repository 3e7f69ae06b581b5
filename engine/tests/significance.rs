//! Whether noise is told from change: runs are made up here, second by second, with fixed seeds.

use oleada_engine::histogram::Histogram;
use oleada_engine::significance::{Change, Exact, Figure, Finding, Resampled, Series, Shortage, compare};
use oleada_engine::window::{Glance, Ledger};
use proptest::prelude::*;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Inside (0, 1).
    fn share(&mut self) -> f64 {
        ((self.number() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// A run of so many requests a second.
struct Made {
    seconds: u32,
    per_second: u64,
    median_ms: f64,
    /// Standard deviation of the logarithm of a latency.
    sigma: f64,
    /// How much of a second's mood is left in the next, and how strong moods are.
    mood: (f64, f64),
    /// Growth of the logarithm of the latency over the run.
    ramp: f64,
    /// Share of errors, which are answered.
    errors: f64,
}

const STEADY: Made =
    Made { seconds: 20, per_second: 50, median_ms: 20.0, sigma: 0.3, mood: (0.0, 0.0), ramp: 0.0, errors: 0.0 };

fn of(seconds: &[(Ledger, Histogram)], length_s: f64) -> Resampled {
    let (mut ledger, mut latency) = (Ledger::default(), Histogram::default());
    for (one, times) in seconds {
        ledger.add(one);
        latency.add(times);
    }
    let ms = |q| latency.percentile_us(q).map(|us| us as f64 / 1000.0);
    let share = (ledger.finished() > 0).then(|| ledger.errors() as f64 / ledger.finished() as f64);
    let figures = [Some(ledger.answered() as f64 / length_s), ms(50_000), ms(95_000), ms(99_000), share];
    let mut series = Series::new(Exact { figures, length_s, planned_s: None });
    for (t, (ledger, latency)) in (0..).zip(seconds) {
        series.push(&Glance { t, ledger: *ledger, latency: latency.buckets() });
    }
    series.resample()
}

impl Made {
    fn run(&self, seed: u64) -> Resampled {
        let mut random = Random(seed.wrapping_mul(7919));
        let mut mood = 0.0;
        let seconds: Vec<(Ledger, Histogram)> = (0..self.seconds)
            .map(|t| {
                let (kept, strength) = self.mood;
                mood = kept * mood + strength * (1.0 - kept * kept).sqrt() * random.normal();
                let level = self.median_ms.ln() + mood + self.ramp * f64::from(t) / f64::from(self.seconds);
                let mut latency = Histogram::default();
                let mut ledger = Ledger { planned: self.per_second, sent: self.per_second, ..Ledger::default() };
                for _ in 0..self.per_second {
                    latency.record(((level + self.sigma * random.normal()).exp() * 1000.0).ceil() as u64);
                    if random.share() < self.errors { ledger.status_5xx += 1 } else { ledger.ok += 1 }
                }
                (ledger, latency)
            })
            .collect();
        of(&seconds, f64::from(self.seconds))
    }
}

fn is_change(change: &Change) -> bool {
    change.finding == Finding::Changed
}

fn findings(changes: &[Change; 5]) -> [Finding; 5] {
    changes.map(|change| change.finding)
}

#[test]
fn b70_noise_is_no_change_and_ten_percent_are_one() {
    let slower = Made { median_ms: 22.0, ..STEADY };
    let (mut clean, mut found) = (0, 0);
    for pair in 0..10 {
        let (first, second, changed) =
            (STEADY.run(2 * pair + 1), STEADY.run(2 * pair + 2), slower.run(1000 + 2 * pair));
        let same = compare(&first, &second);
        clean += i32::from(!same.iter().any(is_change));
        assert!(
            same.iter()
                .all(|c| matches!(c.finding, Finding::Same | Finding::NoEvidence | Finding::Slight | Finding::Changed))
        );
        let p50 = compare(&first, &changed)[Figure::P50 as usize];
        found +=
            i32::from(is_change(&p50) && p50.relative_interval.is_some_and(|[low, high]| low > 0.0 && high < 0.25));
    }
    assert!(clean >= 9, "no evidence of change in {clean} of 10 identical pairs");
    assert!(found >= 9, "ten percent found in {found} of 10 pairs");
}

#[test]
fn seconds_that_are_alike_their_neighbours_are_not_called_a_change() {
    let moody = Made { seconds: 120, mood: (0.5, 0.1), ..STEADY };
    let called = (0..20).filter(|n| compare(&moody.run(2 * n + 1), &moody.run(2 * n + 2)).iter().any(is_change));
    assert!(called.count() <= 2);
    let slower = Made { median_ms: 24.0, ..moody };
    let found = (0..10).filter(|n| is_change(&compare(&moody.run(n + 1), &slower.run(n + 500))[1]));
    assert!(found.count() >= 9);
}

#[test]
fn what_both_runs_do_at_the_same_second_is_no_noise() {
    // Ten times slower at the end than in the beginning.
    let ramp = Made { seconds: 60, ramp: 10_f64.ln(), ..STEADY };
    let slower = Made { median_ms: 22.0, ..ramp };
    let found = (0..10).filter(|n| is_change(&compare(&ramp.run(n + 1), &slower.run(n + 500))[1])).count();
    assert!(found >= 9, "{found}");
    let called = (0..10).filter(|n| compare(&ramp.run(n + 1), &ramp.run(n + 500)).iter().any(is_change)).count();
    assert!(called <= 1, "{called}");
    // One that strains only towards its end is as certainly slower.
    let steady = Made { ramp: 0.0, ..ramp };
    let p50 = compare(&steady.run(1), &ramp.run(2))[1];
    assert!(is_change(&p50) && p50.relative_interval.is_some_and(|[low, high]| low > 1.0 && high < 4.0), "{p50:?}");
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let run = Made { errors: 0.05, ..STEADY }.run(1);
    for change in compare(&run, &run.clone()) {
        assert_eq!((change.finding, change.difference, change.relative), (Finding::Same, Some(0.0), Some(0.0)));
    }
    // The same samples in another order are the same run, too.
    let short = Made { seconds: 3, ..STEADY }.run(1);
    assert_eq!(compare(&short, &short)[1].finding, Finding::Same);
}

#[test]
fn too_little_is_said_to_be_too_little() {
    let found = |made: Made| findings(&compare(&made.run(1), &made.run(2)));
    let few = Finding::TooLittle(Shortage::Samples);
    assert_eq!(found(Made { seconds: 9, ..STEADY })[1], Finding::TooLittle(Shortage::Seconds));
    assert_eq!(found(Made { per_second: 1, ..STEADY })[1..4], [Finding::NoEvidence, few, few]);
    assert_eq!(found(Made { per_second: 49, ..STEADY })[3], few);
    // Without errors there is nothing to judge, and some few errors judge nothing.
    let rare = Made { errors: 0.004, ..STEADY }.run(5);
    assert!((1..10).contains(&rare.errors()));
    assert_eq!(compare(&STEADY.run(1), &rare)[4].finding, Finding::TooLittle(Shortage::Errors));
    assert_eq!(compare(&STEADY.run(1), &STEADY.run(2))[4].finding, Finding::Same);
    let many = compare(&STEADY.run(1), &Made { errors: 0.2, ..STEADY }.run(2))[4];
    assert!(is_change(&many) && many.relative.is_none(), "{many:?}");
    let [low, high] = many.interval.unwrap();
    assert!(low > 0.1 && high < 0.3, "{many:?}");
}

#[test]
fn b69_nothing_against_something_has_no_invented_numbers() {
    let down: Vec<(Ledger, Histogram)> = (0..20)
        .map(|_| (Ledger { planned: 50, sent: 50, network: 50, ..Ledger::default() }, Histogram::default()))
        .collect();
    let (up, down) = (STEADY.run(1), of(&down, 20.0));
    let lost = compare(&up, &down);
    assert_eq!(findings(&lost)[1..4], [Finding::NoData; 3]);
    assert!(is_change(&lost[0]) && lost[0].relative == Some(-1.0) && lost[0].relative_interval == Some([-1.0; 2]));
    assert!(is_change(&lost[4]) && lost[4].difference == Some(1.0));
    let back = compare(&down, &up);
    assert!(is_change(&back[0]) && back[0].relative.is_none() && back[0].relative_interval.is_none(), "{:?}", back[0]);
    assert_eq!(back[4].difference, Some(-1.0));
}

#[test]
fn hours_are_joined_and_compared() {
    let hours = |seed| Made { seconds: 10_800, per_second: 2, ..STEADY }.run(seed);
    let changes = compare(&hours(1), &hours(2));
    assert_eq!(changes[2].finding, Finding::NoEvidence);
    let [low, high] = changes[1].relative_interval.unwrap();
    assert!(high - low < 0.04, "{changes:?}");
}

fn any_second() -> impl Strategy<Value = (Ledger, Histogram)> {
    (prop::collection::vec(1_u64..=3_600_000_000, 0..8), 0_u64..4, 0_u64..3).prop_map(|(times, timeout, aborted)| {
        let mut latency = Histogram::default();
        times.iter().for_each(|us| latency.record(*us));
        (Ledger { ok: times.len() as u64, timeout, aborted, ..Ledger::default() }, latency)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_number_is_invented_and_sides_can_be_swapped(
        a in prop::collection::vec(any_second(), 1..40),
        b in prop::collection::vec(any_second(), 1..40),
    ) {
        let (a, b) = (of(&a, a.len() as f64 - 0.4), of(&b, b.len() as f64 + 0.3));
        for (there, back) in compare(&a, &b).into_iter().zip(compare(&b, &a)) {
            let numbers = [there.difference, there.relative].into_iter().chain(
                [there.interval, there.relative_interval].into_iter().flat_map(|i| i.map_or([None; 2], |ends| ends.map(Some))),
            );
            prop_assert!(numbers.flatten().all(f64::is_finite), "{:?}", there);
            prop_assert_eq!(there.difference.map(|d| -d), back.difference);
            prop_assert_eq!(there.interval.map(|[low, high]| [-high, -low]), back.interval);
            // What does not matter in practice is a share of the first run's value, so it may differ at the very edge.
            let same = |finding| if finding == Finding::Slight { Finding::Changed } else { finding };
            prop_assert_eq!(same(there.finding), same(back.finding));
        }
    }
}

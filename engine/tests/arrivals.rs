//! Properties of the planned instants.

use std::time::Duration;

use oleada_engine::arrivals::{Arrivals, Population};
use oleada_engine::plan::Stage;
use proptest::prelude::*;

proptest! {
    #[test]
    fn instants_increase_and_all_fall_inside_the_test(rate in 0.01f64..20_000.0, seconds in 0.1f64..20.0) {
        let duration = Duration::from_secs_f64(seconds);
        let arrivals = Arrivals::at_rate(rate, duration);
        let all: Vec<Duration> = arrivals.clone().shard(0, 1).take(5000).collect();
        prop_assert!(all.windows(2).all(|w| w[0] < w[1]));
        prop_assert!(arrivals.count() == 0 || arrivals.instant(arrivals.count() - 1) < duration);
        prop_assert!((arrivals.count() as f64 - rate * seconds).abs() <= 1.0);
    }

    #[test]
    fn shards_partition_the_arrivals(count in 1u64..5000, of in 1u64..9, cut_ms in 0u64..10_000) {
        let arrivals = Arrivals::spread(count, Duration::from_secs(10));
        let mut merged: Vec<Duration> = (0..of).flat_map(|k| arrivals.clone().shard(k, of)).collect();
        merged.sort();
        prop_assert_eq!(merged, arrivals.clone().shard(0, 1).collect::<Vec<_>>());
        let cut = Duration::from_millis(cut_ms);
        let split: u64 = (0..of).map(|k| arrivals.clone().shard(k, of).before(cut)).sum();
        prop_assert_eq!(split, arrivals.before(cut));
        let before = arrivals.before(cut);
        prop_assert_eq!(before, arrivals.shard(0, 1).filter(|t| *t < cut).count() as u64);
    }

    #[test]
    fn population_agrees_with_its_starts_and_ends(from in 0u32..200, to in 0u32..200, t_ms in 0u64..10_000) {
        let p = Population::new(from, to, Duration::from_secs(10));
        let t = Duration::from_millis(t_ms);
        let alive = (0..p.most()).filter(|k| p.spans(*k).iter().any(|(starts, leaves)| *starts <= t && *leaves > t));
        let alive = alive.count() as u32;
        prop_assert_eq!(p.at(t), alive);
        let line = f64::from(from) + (f64::from(to) - f64::from(from)) * t.as_secs_f64() / 10.0;
        prop_assert!((f64::from(p.at(t)) - line).abs() <= 0.5 + 1e-6);
    }

    #[test]
    fn stages_keep_all_promises(rate in 0.0f64..500.0, list in proptest::collection::vec((0u32..4000, 0.0f64..500.0), 1..6), of in 1u64..5) {
        let stages: Vec<Stage> = list.iter().map(|&(ms, to)| Stage { duration_s: f64::from(ms) / 1000.0, to }).collect();
        let arrivals = Arrivals::staged(rate, &stages);
        let all: Vec<Duration> = arrivals.clone().shard(0, 1).collect();
        prop_assert!(all.windows(2).all(|w| w[0] < w[1]));
        let length: Duration = stages.iter().map(Stage::duration).sum();
        prop_assert!(all.iter().all(|t| *t < length));
        // The integral of the rate, by trapezoids, which are exact for lines.
        let (mut from, mut area) = (rate, 0.0);
        for stage in &stages {
            area += stage.duration_s * (from + stage.to) / 2.0;
            from = stage.to;
        }
        prop_assert!((arrivals.count() as f64 - area).abs() <= 1.0);
        for cut_ms in (0..8000).step_by(500) {
            let cut = Duration::from_millis(cut_ms);
            prop_assert_eq!(arrivals.before(cut), all.iter().filter(|t| **t < cut).count() as u64);
        }
        let mut merged: Vec<Duration> = (0..of).flat_map(|k| arrivals.clone().shard(k, of)).collect();
        merged.sort();
        prop_assert_eq!(merged, all);
    }

    #[test]
    fn staged_populations_agree_with_their_spans(from in 0u32..60, list in proptest::collection::vec((0u32..3000, 0u32..60), 1..6)) {
        let stages: Vec<Stage> =
            list.iter().map(|&(ms, to)| Stage { duration_s: f64::from(ms) / 1000.0, to: f64::from(to) }).collect();
        let p = Population::staged(from, &stages);
        let spans: Vec<_> = (0..p.most()).map(|k| p.spans(k)).collect();
        prop_assert!(spans.iter().flatten().all(|(starts, leaves)| starts < leaves));
        prop_assert!(spans.iter().all(|one| one.windows(2).all(|w| w[0].1 <= w[1].0)));
        for t_ms in (0..9000).step_by(250) {
            let t = Duration::from_millis(t_ms);
            let alive = spans.iter().flatten().filter(|(starts, leaves)| *starts <= t && *leaves > t).count() as u32;
            prop_assert_eq!(p.at(t), alive, "at {} ms", t_ms);
        }
    }
}

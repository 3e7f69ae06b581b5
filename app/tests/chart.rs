//! Properties of the charts: nothing visible is lost by thinning, no drawing holds a NaN, gaps stay open.
#![cfg(feature = "ssr")]

use oleada_app::chart::thin::thin;
use oleada_app::chart::{Viewport, report, svg};
use oleada_engine::result::Point;
use proptest::prelude::*;

/// Samples in order of time, some seconds missing.
fn samples() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((any::<bool>(), 0.0..1e6f64), 1..600).prop_map(|rows| {
        rows.into_iter().enumerate().filter(|(_, (there, _))| *there).map(|(t, (_, y))| (t as f64, y)).collect()
    })
}

proptest! {
    #[test]
    fn the_extremes_of_every_column_survive(samples in samples(), columns in 1usize..300) {
        let (from, to) = (0.0, 600.0);
        let kept = thin(&samples, from, to, columns, 1.5).concat();
        let width = (to - from) / columns as f64;
        let column = |x: f64| (((x - from) / width) as u64).min(columns as u64 - 1);
        let extremes = |of: &[(f64, f64)], c: u64| {
            of.iter().filter(|(x, _)| column(*x) == c).fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, y)| (lo.min(*y), hi.max(*y)))
        };
        for c in samples.iter().map(|(x, _)| column(*x)) {
            prop_assert_eq!(extremes(&samples, c), extremes(&kept, c));
        }
        prop_assert!(kept.iter().all(|k| samples.contains(k)), "a sample was made up");
        prop_assert!(kept.windows(2).all(|w| w[0].0 < w[1].0), "not in order");
    }

    #[test]
    fn every_gap_wider_than_a_column_stays_open(samples in samples()) {
        let stretches = thin(&samples, 0.0, 600.0, 600, 1.5);
        let gaps = samples.windows(2).filter(|w| w[1].0 - w[0].0 > 1.5).count();
        prop_assert_eq!(stretches.len(), if samples.is_empty() { 0 } else { gaps + 1 });
        prop_assert!(stretches.iter().all(|s| !s.is_empty()));
    }

    #[test]
    fn no_drawing_holds_a_nan(values in prop::collection::vec((0.0..1e7f64, any::<bool>()), 0..80), log: bool, narrow: bool) {
        let points: Vec<Point> = values.iter().enumerate().map(|(t, (v, answered))| Point {
            t: t as u32,
            ok: u64::from(*answered),
            errors: u64::from(!answered),
            clients: v / 1000.0,
            p50: answered.then_some(*v),
            p95: answered.then_some(v * 2.0),
            p99: answered.then_some(v * 3.0),
            max: answered.then_some(v * 4.0),
            ..Point::default()
        }).collect();
        let base = if narrow { Viewport::narrow() } else { Viewport::wide() };
        let chart = report::response_times("c", &points, 1, None);
        let drawing = svg::write(&chart.scene(&Viewport { log, ..base }), "x");
        prop_assert!(!drawing.contains("NaN") && !drawing.contains("inf"), "{}", drawing);
    }
}

#[test]
fn a_second_alone_is_a_dot_and_a_silent_one_a_gap() {
    let answered =
        |t: u32| Point { t, ok: 1, p50: Some(5.0), p95: Some(5.0), p99: Some(5.0), max: Some(5.0), ..Point::default() };
    let silent = |t: u32| Point { t, ..Point::default() };
    let points = [answered(0), answered(1), silent(2), answered(3), silent(4), answered(5), answered(6)];
    let drawing = svg::write(&report::response_times("c", &points, 1, None).scene(&Viewport::wide()), "x");
    assert_eq!(drawing.matches("class=\"dot s-p50\"").count(), 1);
    assert_eq!(drawing.matches("class=\"line s-p50\"").count(), 2);
    assert_eq!(drawing.matches("class=\"line s-clients\"").count(), 1, "clients are known in silent seconds too");
}

#[test]
fn a_long_run_is_drawn_with_bounded_paths() {
    let points: Vec<Point> = (0..86_400)
        .map(|t| Point { t, ok: 1, p50: Some(f64::from(t % 997)), p95: Some(1000.0), ..Point::default() })
        .collect();
    let chart = report::response_times("c", &points, 1, None).thinned(900);
    assert!(chart.series.iter().all(|s| s.samples.len() <= 1800));
    let drawing = svg::write(&chart.scene(&Viewport::wide()), "x");
    assert!(drawing.len() < 150_000, "{} bytes", drawing.len());
    assert_eq!(drawing.matches("class=\"line s-p50\"").count(), 1, "thinning must not break lines");
}

#[test]
fn hostile_names_are_escaped_in_drawings() {
    let points = [Point { t: 0, p50: Some(1.0), ..Point::default() }];
    let chart = report::overlay("c", "p50", "ms", &[("<script>alert(1)</script>".to_owned(), &points)], |p| p.p50);
    let drawing = svg::write(&chart.scene(&Viewport::wide()), "x");
    assert!(!drawing.contains("<script") && drawing.contains("&lt;script&gt;"));
}

#[test]
fn the_maximum_waits_when_it_would_flatten_everything() {
    let point =
        |max: f64| [Point { t: 0, p50: Some(1.0), p95: Some(2.0), p99: Some(3.0), max: Some(max), ..Point::default() }];
    let hidden = |max: f64| report::response_times("c", &point(max), 1, None).series.iter().any(|s| s.hidden);
    assert_eq!((hidden(8.0), hidden(900.0)), (false, true));
}

//! Properties of the charts: nothing visible is lost by thinning, no drawing holds a NaN, gaps stay open.
#![cfg(feature = "ssr")]

use oleada_app::chart::overview::{Facts, Overview};
use oleada_app::chart::report::Timing;
use oleada_app::chart::thin::thin;
use oleada_app::chart::{Chart, Viewport, distribution, report, svg, table};
use oleada_engine::distribution::{Distribution, Totals};
use oleada_engine::result::Point;
use proptest::prelude::*;

fn times(points: &[Point]) -> Chart {
    report::response_times("c", points, Timing::live(1, None), &Facts::of(points, 1))
}

fn rates(points: &[Point], end_s: f64) -> Vec<(f64, f64)> {
    report::outcomes("c", points, Timing::over(1, end_s), &Facts::of(points, 1)).series[0].samples.clone()
}

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
        let chart = times(&points);
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
    let drawing = svg::write(&times(&points).scene(&Viewport::wide()), "x");
    assert_eq!(drawing.matches("class=\"dot s-p50\"").count(), 1);
    assert_eq!(drawing.matches("class=\"line s-p50\"").count(), 2);
    assert_eq!(drawing.matches("class=\"line s-clients\"").count(), 1, "clients are known in silent seconds too");
}

#[test]
fn a_long_run_is_drawn_with_bounded_paths() {
    let points: Vec<Point> = (0..86_400)
        .map(|t| Point { t, ok: 1, p50: Some(f64::from(t % 997)), p95: Some(1000.0), ..Point::default() })
        .collect();
    let chart = times(&points).thinned(900);
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
    let hidden = |max: f64| times(&point(max)).series.iter().any(|s| s.hidden);
    assert_eq!((hidden(8.0), hidden(900.0)), (false, true));
}

#[test]
fn b21_a_short_last_second_is_no_drop_and_no_peak() {
    let point = |t, ok| Point { t, ok, ..Point::default() };
    let close = |found: &[(f64, f64)], wanted: &[(f64, f64)]| {
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        assert!(found.iter().zip(wanted).all(|(a, b)| a.0 == b.0 && (a.1 / b.1 - 1.0).abs() < 0.01), "{found:?}");
    };
    // 100 a second for 2.5 s.
    close(&rates(&[point(0, 100), point(1, 100), point(2, 50)], 2.502), &[(0.0, 100.0), (1.0, 100.0), (2.0, 100.0)]);
    // Three milliseconds are no second: what ended in them counts with the second before.
    close(&rates(&[point(0, 100), point(1, 99), point(2, 1)], 2.003), &[(0.0, 100.0), (1.0, 100.0)]);
    // A second added at the end of an interrupted run has no length at all.
    close(&rates(&[point(0, 100), point(1, 100), point(2, 0)], 2.0), &[(0.0, 100.0), (1.0, 100.0)]);
    // While the run goes on every second shown is whole.
    let live = report::throughput("c", &[point(0, 7)], Timing::live(1, Some(0.5)), &Facts::default());
    assert_eq!(live.series[0].samples, [(0.0, 7.0)]);
    let data = table::html(&Overview::of(&[point(0, 100), point(1, 50)]).table, Some(1.5));
    assert!(data.contains("The last row is 0.5 s long."), "{data}");
}

#[test]
fn b20_b60_the_shortest_runs_show_a_point_in_every_chart() {
    for n in [1u32, 5] {
        let ok = u64::from(n);
        let point = Point {
            t: 0,
            sent: ok,
            ok,
            clients: 0.001,
            p50: Some(1.0),
            p95: Some(1.0),
            p99: Some(1.0),
            max: Some(1.0),
            bytes_received: 99,
            bytes_sent: 9,
            ..Point::default()
        };
        let (timing, facts) = (Timing::over(1, 0.0012), Facts::of(&[point], 1));
        for chart in [
            report::response_times("c", &[point], timing, &facts),
            report::outcomes("c", &[point], timing, &facts),
            report::bandwidth("c", &[point], timing, &facts),
        ] {
            for viewport in [Viewport::wide(), Viewport::narrow()] {
                let drawing = svg::write(&chart.scene(&viewport), "x");
                assert!(drawing.contains("<circle class=\"dot s-"), "{drawing}");
                assert!(!drawing.contains("NaN") && !drawing.contains("inf"), "{drawing}");
            }
        }
        let mut totals = Totals::default();
        (0..n).for_each(|n| {
            totals.latency.record(1000 + u64::from(n));
            totals.service.record(1000);
        });
        let of = Distribution::of(&totals);
        for viewport in [distribution::WIDE, distribution::NARROW] {
            let bars = svg::write(&distribution::histogram("h", &of, viewport), "x");
            assert!(bars.contains("<rect class=\"bar s-latency\""), "{bars}");
            let curve = svg::write(&distribution::curve("q", &of, viewport), "x");
            assert!(curve.contains("dot s-latency") && curve.contains("dot s-service"), "{curve}");
            assert!(!curve.contains("NaN") && !bars.contains("NaN"));
        }
    }
}

#[test]
fn b22_seconds_without_an_answer_are_zero_and_b61_the_axis_ends_with_the_run() {
    let points: Vec<Point> = (0..6).map(|t| Point { t, ok: if t < 4 { 900 } else { 0 }, ..Point::default() }).collect();
    let chart = report::outcomes("c", &points, Timing::over(1, 6.0), &Facts::of(&points, 1));
    assert_eq!(chart.series[0].samples[4..], [(4.0, 0.0), (5.0, 0.0)]);
    assert_eq!(chart.end_s, 6.0);
    let planned_longer = report::outcomes("c", &points[..2], Timing::over(1, 1.4), &Facts::default());
    assert_eq!(planned_longer.end_s, 1.4);
}

#[test]
fn outcomes_are_told_apart_without_colour() {
    let point = Point { t: 0, ok: 1, errors: 5, status_4xx: 1, status_5xx: 2, timeout: 1, ..Point::default() };
    let chart = report::outcomes("c", &[point, Point { t: 1, ..point }], Timing::over(1, 2.0), &Facts::default());
    let named: Vec<&str> = chart.series.iter().map(|s| s.class.as_str()).collect();
    assert_eq!(
        named,
        ["s-ok", "s-4xx", "s-5xx", "s-timeout", "s-error-rate", "s-sent"],
        "the fifth error is of no class"
    );
    let css = include_str!("../../style/chart.css");
    let dashed: Vec<&str> = css.lines().filter(|l| l.contains("stroke-dasharray")).collect();
    for (class, plain) in [("s-4xx", false), ("s-5xx", false), ("s-timeout", false), ("s-ok", true)] {
        let line = dashed.iter().any(|l| l.starts_with(&format!(".line.{class} ")));
        assert_eq!(line, !plain, "{class}");
    }
}

#[test]
fn the_distribution_says_what_it_shows_and_stays_small() {
    let mut totals = Totals::default();
    let mut state = 7u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        totals.latency.record(300 + (state >> 40) % 40_000 * ((state >> 33) % 50));
        totals.service.record(200 + (state >> 40) % 30_000);
    }
    let of = Distribution::of(&totals);
    assert!(of.bars.len() <= 200 && of.latency.len() <= 200);
    for viewport in [distribution::WIDE, distribution::NARROW] {
        let (bars, curve) = (distribution::histogram("h", &of, viewport), distribution::curve("q", &of, viewport));
        assert!(bars.description.contains("20,000") && curve.description.contains("p99"), "{}", curve.description);
        for drawing in [svg::write(&bars, "x"), svg::write(&curve, "x")] {
            assert!(drawing.len() < 30_000 && !drawing.contains("NaN"), "{}", drawing.len());
        }
    }
    let none = Distribution::default();
    assert!(!svg::write(&distribution::histogram("h", &none, distribution::WIDE), "x").contains("NaN"));
}

//! The charts of a run and of several runs.

use oleada_engine::result::Point;

use super::{Band, Chart, Mark, Series, Side, describe};

/// Reads one value of a second.
type Pick = fn(&Point) -> Option<f64>;

fn series(label: &str, class: &str, side: Side, mark: Mark, unit: &str, points: &[Point], pick: Pick) -> Series {
    let samples =
        points.iter().filter_map(|p| Some((f64::from(p.t), pick(p)?))).filter(|(_, y)| y.is_finite()).collect();
    Series {
        label: label.to_owned(),
        class: class.to_owned(),
        side,
        mark,
        unit: unit.to_owned(),
        samples,
        hidden: false,
    }
}

/// The share of errors among what ended in a second; nothing where nothing failed.
fn error_share(p: &Point) -> Option<f64> {
    (p.errors > 0).then(|| p.errors as f64 / (p.ok + p.errors) as f64)
}

fn end_of(points: &[Point], step: u32, planned_s: Option<f64>) -> f64 {
    let seen = points.last().map_or(0.0, |p| f64::from(p.t + step - 1));
    seen.max(planned_s.unwrap_or(0.0)).max(1.0)
}

/// Response time and clients of one run. `step` is the number of seconds in a point, `planned_s` draws the axis to the planned end.
pub fn response_times(id: &str, points: &[Point], step: u32, planned_s: Option<f64>) -> Chart {
    let mut all = vec![
        series("p50", "s-p50", Side::Left, Mark::Line, "ms", points, |p| p.p50),
        series("p95", "s-p95", Side::Left, Mark::Line, "ms", points, |p| p.p95),
        series("p99", "s-p99", Side::Left, Mark::Line, "ms", points, |p| p.p99),
        series("Max", "s-max", Side::Left, Mark::Line, "ms", points, |p| p.max),
        series("Clients", "s-clients", Side::Right, Mark::Area, "", points, |p| Some(p.clients)),
        series("Errors", "s-errors", Side::Left, Mark::Lane, "%", points, error_share),
    ];
    // A few very slow answers would press all else to the floor: then the maximum waits to be switched on.
    let top = |s: &Series| s.samples.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    all[3].hidden = top(&all[3]) > 3.0 * top(&all[2]);
    let end_s = end_of(points, step, planned_s);
    Chart {
        id: id.to_owned(),
        title: "Response time and clients".to_owned(),
        description: describe::response_times(points, step),
        left: "Response time in ms".to_owned(),
        right: Some("Clients".to_owned()),
        series: all,
        bands: vec![
            Band { lower: 0, upper: 1, class: "b-p95".to_owned() },
            Band { lower: 1, upper: 2, class: "b-p99".to_owned() },
        ],
        end_s,
        step_s: f64::from(step),
    }
}

/// Requests per second of one run: sent, answered ok, failed.
pub fn throughput(id: &str, points: &[Point], step: u32, planned_s: Option<f64>) -> Chart {
    let per = f64::from(step.max(1));
    let rate = |n: u64| n as f64 / per;
    let line = |label: &str, class: &str, mark: Mark, pick: fn(&Point) -> u64| {
        let samples = points.iter().map(|p| (f64::from(p.t), rate(pick(p)))).collect();
        Series {
            label: label.to_owned(),
            class: class.to_owned(),
            side: Side::Left,
            mark,
            unit: "/s".to_owned(),
            samples,
            hidden: false,
        }
    };
    Chart {
        id: id.to_owned(),
        title: "Requests per second".to_owned(),
        description: describe::throughput(points, step),
        left: "Requests per second".to_owned(),
        right: None,
        series: vec![
            line("Answered ok", "s-ok", Mark::Area, |p| p.ok),
            line("Sent", "s-sent", Mark::Line, |p| p.sent),
            line("Errors", "s-error-rate", Mark::Line, |p| p.errors),
        ],
        bands: Vec::new(),
        end_s: end_of(points, step, planned_s),
        step_s: per,
    }
}

/// One figure of several runs over each other.
pub fn overlay(id: &str, title: &str, unit: &str, runs: &[(String, &[Point])], pick: Pick) -> Chart {
    let all: Vec<Series> = runs
        .iter()
        .enumerate()
        .map(|(i, (name, points))| series(name, &format!("r-{}", i % 8), Side::Left, Mark::Line, unit, points, pick))
        .collect();
    let description = describe::overlay(title, unit, &all);
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description,
        left: if unit.is_empty() { title.to_owned() } else { format!("{title} in {unit}") },
        right: None,
        series: all,
        bands: Vec::new(),
        end_s: runs.iter().map(|(_, points)| end_of(points, 1, None)).fold(1.0, f64::max),
        step_s: 1.0,
    }
}

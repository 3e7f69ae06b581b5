//! Latencies of several runs over the load they were measured at, a mark a second: what a ramp shows.

use oleada_engine::result::Point;

use super::layout::{Scene, Shape, number};
use super::plane::{self, Still};
use super::{Viewport, svg, thin};
use crate::format;

/// Most columns of marks; each keeps its lowest and highest.
const COLUMNS: usize = 225;

/// The seconds of a run as marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    /// Words in the legend.
    pub label: String,
    /// Place among the runs: colour and form.
    pub index: usize,
    /// (load, value), in order of load.
    pub samples: Vec<(f64, f64)>,
}

/// A figure over load.
#[derive(Clone, Debug, PartialEq)]
pub struct ByLoad {
    /// Prefix of ids.
    pub id: String,
    /// Title.
    pub title: String,
    /// Title of the horizontal axis.
    pub across: String,
    /// Unit of the values; may be empty.
    pub unit: String,
    /// The runs.
    pub runs: Vec<Marks>,
}

/// The load of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOf {
    /// Clients that were open.
    Clients,
    /// Requests that were planned.
    Planned,
}

impl LoadOf {
    fn of(self, point: &Point) -> f64 {
        match self {
            LoadOf::Clients => point.clients,
            LoadOf::Planned => point.planned as f64,
        }
    }

    /// Title of the axis.
    pub fn label(self) -> &'static str {
        match self {
            LoadOf::Clients => "Clients in that second",
            LoadOf::Planned => "Requests planned in that second",
        }
    }
}

impl ByLoad {
    /// One figure of these runs. Seconds without a value or a load have no mark.
    pub fn of(
        id: &str,
        title: &str,
        unit: &str,
        runs: &[(String, &[Point])],
        load: LoadOf,
        pick: fn(&Point) -> Option<f64>,
    ) -> ByLoad {
        let marks = runs.iter().enumerate().map(|(index, (label, points))| {
            let with_load = points.iter().map(|p| (load.of(p), pick(p))).filter(|(load, _)| *load > 0.0);
            let mut samples: Vec<(f64, f64)> = with_load.filter_map(|(load, value)| Some((load, value?))).collect();
            samples.retain(|(x, y)| x.is_finite() && y.is_finite());
            samples.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let most = samples.last().map_or(1.0, |(x, _)| *x);
            let samples = thin::thin(&samples, 0.0, most, COLUMNS, f64::INFINITY).concat();
            Marks { label: label.clone(), index, samples }
        });
        ByLoad {
            id: id.to_owned(),
            title: title.to_owned(),
            across: load.label().to_owned(),
            unit: unit.to_owned(),
            runs: marks.collect(),
        }
    }

    fn says(&self) -> String {
        let parts = self.runs.iter().map(|run| match (run.samples.first(), run.samples.last()) {
            (Some(first), Some(last)) => {
                let highest = run.samples.iter().map(|(_, y)| *y).fold(0.0, f64::max);
                let highest = format!("at most {} {}", format::number(highest), self.unit);
                format!(
                    "{}: load from {} to {}, {}",
                    run.label,
                    format::number(first.0),
                    format::number(last.0),
                    highest.trim_end()
                )
            }
            _ => format!("{}: no data", run.label),
        });
        format!("A mark is a second. {}.", parts.collect::<Vec<_>>().join("; "))
    }

    /// Lays it out.
    pub fn scene(&self, viewport: &Viewport) -> Scene {
        let most =
            |of: fn(&(f64, f64)) -> f64| self.runs.iter().flat_map(|run| &run.samples).map(of).fold(0.0, f64::max);
        let across = plane::Across::numbers(&self.across, most(|(x, _)| *x), viewport);
        let up = if self.unit.is_empty() { self.title.clone() } else { format!("{} in {}", self.title, self.unit) };
        let says = self.says();
        let named = plane::Named { id: &self.id, title: &self.title, description: &says };
        let mut scene = plane::scene(named, viewport, &across, &up, most(|(_, y)| *y));
        // The first run lies on top.
        for run in self.runs.iter().rev() {
            let mut d = String::new();
            for (x, y) in &run.samples {
                d.push_str(&mark(run.index, scene.time.place(*x), scene.left.place(*y), 3.0));
            }
            if !d.is_empty() {
                scene.shapes.push(Shape::Path { class: format!("mark r-{}", run.index % 8), d });
            }
        }
        scene
    }

    /// The drawings.
    pub fn still(&self) -> Still {
        let draw = |viewport: &Viewport, suffix| [svg::write(&self.scene(viewport), suffix), String::new()];
        let legend = self.runs.iter().map(|run| {
            let class = format!("r-{}", run.index % 8);
            let picture = format!(
                "<svg width=\"14\" height=\"14\" viewBox=\"0 0 14 14\" aria-hidden=\"true\" focusable=\"false\"><path class=\"mark\" d=\"{}\"/></svg>",
                mark(run.index, 7.0, 7.0, 4.5)
            );
            (class, picture, run.label.clone())
        });
        Still {
            title: self.title.clone(),
            says: self.says(),
            legend: legend.collect(),
            wide: draw(&Viewport::wide(), "w"),
            narrow: draw(&Viewport::narrow(), "n"),
        }
    }
}

/// Forms, so that runs are not told by colour alone: disc, square, triangle, diamond.
fn mark(index: usize, x: f64, y: f64, r: f64) -> String {
    let n = number;
    match index % 4 {
        0 => format!("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", n(x - r), n(y), d = r * 2.0),
        1 => format!("M{} {}h{d}v{d}h-{d}Z", n(x - r * 0.9), n(y - r * 0.9), d = r * 1.8),
        2 => format!("M{} {}l{r} {d}h-{d}Z", n(x), n(y - r), d = r * 2.0),
        _ => format!("M{} {}l{w} {r}l-{w} {r}l-{w} -{r}Z", n(x), n(y - r), w = r * 1.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_seconds_in_order_of_load_and_bounded() {
        let points: Vec<Point> = (0..5000)
            .map(|t| Point {
                t,
                planned: u64::from(t),
                clients: f64::from(5000 - t),
                p50: (t % 2 == 0).then_some(f64::from(t)),
                ..Point::default()
            })
            .collect();
        let runs = [("A".to_owned(), &points[..]), ("B".to_owned(), &points[..10]), ("C".to_owned(), &[][..])];
        let chart = ByLoad::of("x", "Median", "ms", &runs, LoadOf::Clients, |p| p.p50);
        let samples = &chart.runs[0].samples;
        assert!(samples.len() <= 2 * COLUMNS && samples.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!((samples[0], samples[samples.len() - 1]), ((2.0, 4998.0), (5000.0, 0.0)));
        let scene = chart.scene(&Viewport::wide());
        let marks = scene.shapes.iter().filter(|s| matches!(s, Shape::Path { class, .. } if class.starts_with("mark")));
        assert_eq!(marks.count(), 2, "a run without data has no marks");
        assert!(chart.says().contains("C: no data"), "{}", chart.says());
        let planned = ByLoad::of("x", "Median", "ms", &runs, LoadOf::Planned, |p| p.p50);
        assert_eq!(planned.runs[1].samples.first(), Some(&(2.0, 2.0)), "no load, no mark");
    }
}

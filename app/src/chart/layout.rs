//! From a chart and a viewport to a list of shapes with places.

use super::scale::{Scale, linear_ticks, log_ticks, tick_label, time_ticks};
use super::{Chart, Mark, Series, Side, Viewport, thin};
use crate::format;

/// Which end of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Begins there.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

/// One thing to draw. Places are units from the top left.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A path.
    Path {
        /// CSS class.
        class: String,
        /// Path data.
        d: String,
    },
    /// A straight line.
    Line {
        /// CSS class.
        class: &'static str,
        /// From x, from y, to x, to y.
        at: [f64; 4],
    },
    /// A filled rectangle.
    Rect {
        /// CSS class.
        class: String,
        /// x, y, width, height.
        at: [f64; 4],
    },
    /// A dot: a sample without neighbours.
    Dot {
        /// CSS class.
        class: String,
        /// x, y.
        at: [f64; 2],
    },
    /// Text.
    Text {
        /// CSS class.
        class: &'static str,
        /// x, y of the baseline.
        at: [f64; 2],
        /// Which end is there.
        anchor: Anchor,
        /// Words.
        text: String,
    },
}

/// A chart laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Prefix of ids.
    pub id: String,
    /// Width in units.
    pub width: f64,
    /// Height in units.
    pub height: f64,
    /// Left, top, right, bottom of the plot.
    pub plot: [f64; 4],
    /// Title for those who cannot see it.
    pub title: String,
    /// Sentence for those who cannot see it.
    pub description: String,
    /// Shapes, back to front.
    pub shapes: Vec<Shape>,
    /// Time axis.
    pub time: Scale,
    /// Left axis.
    pub left: Scale,
    /// Right axis.
    pub right: Scale,
}

/// Height of the lane along the bottom of the plot.
const LANE: f64 = 16.0;
/// Room above the plot for the axes' titles.
const TOP: f64 = 26.0;
/// Room below the plot for the time.
const BOTTOM: f64 = 26.0;

pub(super) fn scene(chart: &Chart, viewport: &Viewport) -> Scene {
    let left = left_axis(chart, viewport);
    let right_ticks = chart.right.as_ref().map(|_| linear_ticks(highest(chart, viewport, Side::Right), 4, true));
    let left_room = label_room(&left.labels);
    let right_room =
        right_ticks.as_ref().map_or(12.0, |t| label_room(&t.iter().map(|v| tick_label(*v)).collect::<Vec<_>>()));
    let lane = chart.series.iter().enumerate().any(|(i, s)| s.mark == Mark::Lane && viewport.shows(i));
    let plot =
        [left_room, TOP, viewport.width - right_room, viewport.height - BOTTOM - if lane { LANE + 4.0 } else { 0.0 }];
    let end = chart.end_s.max(1.0);
    let time = Scale::linear(0.0, end, plot[0], plot[2]);
    let left_scale = left.scale(plot);
    let right_scale = right_ticks.as_ref().map_or_else(
        || Scale::linear(0.0, 1.0, plot[3], plot[1]),
        |t| Scale::linear(0.0, t.last().copied().unwrap_or(1.0), plot[3], plot[1]),
    );
    let mut scene = Scene {
        id: chart.id.clone(),
        width: viewport.width,
        height: viewport.height,
        plot,
        title: chart.title.clone(),
        description: chart.description.clone(),
        shapes: Vec::new(),
        time,
        left: left_scale,
        right: right_scale,
    };
    scene.axes(chart, viewport, &left, right_ticks.as_deref());
    scene.bands(chart, viewport);
    for (_, series) in chart.series.iter().enumerate().rev().filter(|(i, _)| viewport.shows(*i)) {
        match series.mark {
            Mark::Lane => scene.lane(series, viewport, chart.step_s),
            Mark::Line | Mark::Area => scene.line(series, chart),
        }
    }
    scene
}

struct Axis {
    ticks: Vec<f64>,
    labels: Vec<String>,
    log: bool,
}

impl Axis {
    fn scale(&self, plot: [f64; 4]) -> Scale {
        let (low, high) = (self.ticks.first().copied().unwrap_or(0.0), self.ticks.last().copied().unwrap_or(1.0));
        if self.log { Scale::log(low, high, plot[3], plot[1]) } else { Scale::linear(low, high, plot[3], plot[1]) }
    }
}

fn left_axis(chart: &Chart, viewport: &Viewport) -> Axis {
    let high = highest(chart, viewport, Side::Left);
    let ticks = if viewport.log {
        let low = values(chart, viewport, Side::Left).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        log_ticks(low, high)
    } else {
        linear_ticks(high, if viewport.height < 320.0 { 4 } else { 5 }, false)
    };
    let labels = ticks.iter().map(|t| tick_label(*t)).collect();
    Axis { ticks, labels, log: viewport.log }
}

fn values<'a>(chart: &'a Chart, viewport: &'a Viewport, side: Side) -> impl Iterator<Item = f64> + 'a {
    let shown = chart
        .series
        .iter()
        .enumerate()
        .filter(move |(i, s)| s.side == side && s.mark != Mark::Lane && viewport.shows(*i));
    shown.flat_map(|(_, s)| s.samples.iter().map(|(_, y)| *y)).filter(|y| y.is_finite())
}

fn highest(chart: &Chart, viewport: &Viewport, side: Side) -> f64 {
    values(chart, viewport, side).fold(0.0, f64::max)
}

pub(super) fn label_room(labels: &[String]) -> f64 {
    labels.iter().map(|l| l.chars().count()).max().unwrap_or(1) as f64 * 7.5 + 14.0
}

impl Scene {
    fn axes(&mut self, chart: &Chart, viewport: &Viewport, left: &Axis, right: Option<&[f64]>) {
        let [x0, y0, x1, y1] = self.plot;
        for (tick, label) in left.ticks.iter().zip(&left.labels) {
            let y = self.left.place(*tick);
            self.shapes.push(Shape::Line { class: "grid", at: [x0, y, x1, y] });
            self.shapes.push(Shape::Text {
                class: "tick",
                at: [x0 - 8.0, y + 4.0],
                anchor: Anchor::End,
                text: label.clone(),
            });
        }
        for tick in right.unwrap_or_default() {
            let y = self.right.place(*tick);
            self.shapes.push(Shape::Text {
                class: "tick right",
                at: [x1 + 8.0, y + 4.0],
                anchor: Anchor::Start,
                text: tick_label(*tick),
            });
        }
        let base = viewport.height - BOTTOM;
        let wanted = (self.width / 90.0) as usize;
        for tick in time_ticks(chart.end_s.max(1.0), wanted) {
            let x = self.time.place(tick);
            self.shapes.push(Shape::Line { class: "tick-mark", at: [x, base, x, base + 5.0] });
            self.shapes.push(Shape::Text {
                class: "tick",
                at: [x, base + 19.0],
                anchor: Anchor::Middle,
                text: format::clock(tick as u32),
            });
        }
        self.shapes.push(Shape::Line { class: "axis", at: [x0, y1, x1, y1] });
        if base > y1 {
            self.shapes.push(Shape::Line { class: "axis", at: [x0, base, x1, base] });
        }
        self.shapes.push(Shape::Text {
            class: "axis-title",
            at: [0.0, y0 - 12.0],
            anchor: Anchor::Start,
            text: chart.left.clone(),
        });
        if let Some(title) = &chart.right {
            self.shapes.push(Shape::Text {
                class: "axis-title right",
                at: [viewport.width, y0 - 12.0],
                anchor: Anchor::End,
                text: title.clone(),
            });
        }
    }

    /// At most one column a unit of width.
    fn stretches(&self, samples: &[(f64, f64)], chart: &Chart) -> Vec<Vec<(f64, f64)>> {
        let columns = (self.plot[2] - self.plot[0]).max(1.0) as usize;
        thin::thin(samples, 0.0, chart.end_s.max(1.0), columns, chart.step_s * 1.5)
    }

    fn line(&mut self, series: &Series, chart: &Chart) {
        let scale = if series.side == Side::Left { self.left } else { self.right };
        for stretch in self.stretches(&series.samples, chart) {
            let places: Vec<[f64; 2]> = stretch.iter().map(|(x, y)| [self.time.place(*x), scale.place(*y)]).collect();
            let (Some(first), Some(last)) = (places.first(), places.last()) else { continue };
            if places.len() == 1 {
                self.shapes.push(Shape::Dot { class: series.class.clone(), at: *first });
                continue;
            }
            let d = path(&places);
            if series.mark == Mark::Area {
                let floor = number(self.plot[3]);
                let closed = format!("{d}L{} {floor}L{} {floor}Z", number(last[0]), number(first[0]));
                self.shapes.push(Shape::Path { class: format!("area {}", series.class), d: closed });
            }
            self.shapes.push(Shape::Path { class: format!("line {}", series.class), d });
        }
    }

    fn bands(&mut self, chart: &Chart, viewport: &Viewport) {
        for band in &chart.bands {
            let (Some(lower), Some(upper)) = (chart.series.get(band.lower), chart.series.get(band.upper)) else {
                continue;
            };
            if !viewport.shows(band.lower) || !viewport.shows(band.upper) {
                continue;
            }
            for (low, high) in self.stretches(&lower.samples, chart).iter().zip(self.stretches(&upper.samples, chart)) {
                if low.len() < 2 || high.len() < 2 {
                    continue;
                }
                let there = high.iter().map(|(x, y)| [self.time.place(*x), self.left.place(*y)]);
                let back = low.iter().rev().map(|(x, y)| [self.time.place(*x), self.left.place(*y)]);
                let places: Vec<[f64; 2]> = there.chain(back).collect();
                self.shapes
                    .push(Shape::Path { class: format!("band {}", band.class), d: format!("{}Z", path(&places)) });
            }
        }
    }

    /// Bars as high as the share; a share above zero is never invisible.
    fn lane(&mut self, series: &Series, viewport: &Viewport, step_s: f64) {
        let base = viewport.height - BOTTOM;
        // As wide as a second where there is room, never too thin to see.
        let width = (self.time.place(step_s) - self.time.place(0.0)).max(3.0);
        let mut bars: std::collections::BTreeMap<u64, f64> = std::collections::BTreeMap::new();
        for (x, share) in series.samples.iter().filter(|(_, s)| s.is_finite() && *s > 0.0) {
            let column = ((self.time.place(*x) - self.plot[0]) / width + 1e-6) as u64;
            let bar = bars.entry(column).or_default();
            *bar = bar.max(*share);
        }
        for (column, share) in bars {
            let height = 3.0 + (LANE - 3.0) * share.min(1.0);
            let x = self.plot[0] + column as f64 * width;
            self.shapes.push(Shape::Rect { class: series.class.clone(), at: [x, base - height, width - 1.0, height] });
        }
    }
}

pub(super) fn path(places: &[[f64; 2]]) -> String {
    let mut d = String::with_capacity(places.len() * 12);
    for (i, [x, y]) in places.iter().enumerate() {
        d.push(if i == 0 { 'M' } else { 'L' });
        d.push_str(&number(*x));
        d.push(' ');
        d.push_str(&number(*y));
    }
    d
}

/// A place with one decimal, as short as it goes.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

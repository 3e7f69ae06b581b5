//! One figure against another: the sizes of a series along the bottom, what was measured up the left.

use super::layout::{Anchor, Scene, Shape, label_room, number, path};
use super::scale::{Scale, linear_ticks, tick_label};
use super::{Viewport, svg};
use crate::format;

/// What stands at a point, besides the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// A dot.
    #[default]
    Dot,
    /// A dot of its own colour: limits were kept.
    Kept,
    /// A cross: a limit was broken.
    Broken,
    /// A triangle: it says nothing about the target.
    Open,
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XyPoint {
    /// Along the bottom; above 0.
    pub x: f64,
    /// Up the left; 0 or more.
    pub y: f64,
    /// What stands there.
    pub sign: Sign,
}

/// Points that belong together, joined by a line.
#[derive(Clone, Debug, PartialEq)]
pub struct XyLine {
    /// Words in the legend.
    pub label: String,
    /// CSS class: colour and dash.
    pub class: &'static str,
    /// In any order; drawn by x.
    pub points: Vec<XyPoint>,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Xy {
    /// Prefix of the ids inside the drawing; unique on its page.
    pub id: &'static str,
    /// Title.
    pub title: String,
    /// Title of the bottom axis.
    pub bottom: String,
    /// Title of the left axis, with its unit.
    pub left: String,
    /// Unit of the values in sentences.
    pub unit: &'static str,
    /// Lines in the legend's order; the first is drawn on top.
    pub lines: Vec<XyLine>,
}

/// Room above the plot for the title of the left axis.
const TOP: f64 = 26.0;
/// Room below the plot for sizes and the title of the bottom axis.
const BOTTOM: f64 = 46.0;
/// Room between the plot's ends and the first and last point.
const INSET: f64 = 16.0;
/// From this ratio of the largest to the smallest size the bottom axis is logarithmic: doubled sizes stand at even distances.
const LOG_FROM: f64 = 16.0;

impl Xy {
    fn points(&self) -> impl Iterator<Item = &XyPoint> {
        self.lines.iter().flat_map(|line| &line.points).filter(|p| p.x.is_finite() && p.x > 0.0 && p.y.is_finite())
    }

    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.points().next().is_none()
    }

    /// Every size once, rising.
    fn sizes(&self) -> Vec<f64> {
        let mut sizes: Vec<f64> = self.points().map(|p| p.x).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        sizes
    }

    /// What it says, in a sentence a line.
    pub fn description(&self) -> String {
        let one = |line: &XyLine| {
            let (first, last) = (sorted(line).first().copied()?, sorted(line).last().copied()?);
            let most = sorted(line).into_iter().max_by(|a, b| a.y.total_cmp(&b.y))?;
            let value = |p: XyPoint| format!("{} {}", format::number(p.y), self.unit);
            let at = |p: XyPoint| format::number(p.x);
            Some(format!(
                "{}: from {} at {} to {} at {}, at most {} at {}.",
                line.label,
                value(first),
                at(first),
                value(last),
                at(last),
                value(most),
                at(most)
            ))
        };
        let all: Vec<String> = self.lines.iter().filter_map(one).collect();
        if all.is_empty() { "Nothing was measured yet.".to_owned() } else { all.join(" ") }
    }

    /// Lays it out.
    pub fn scene(&self, viewport: &Viewport) -> Scene {
        let highest = self.points().map(|p| p.y).fold(0.0, f64::max);
        let ticks = linear_ticks(highest, if viewport.height < 320.0 { 4 } else { 5 }, false);
        let labels: Vec<String> = ticks.iter().map(|t| tick_label(*t)).collect();
        let plot = [label_room(&labels), TOP, viewport.width - 12.0, viewport.height - BOTTOM];
        let sizes = self.sizes();
        let (least, most) = (sizes.first().copied().unwrap_or(1.0), sizes.last().copied().unwrap_or(1.0));
        let bottom = if most / least >= LOG_FROM {
            Scale::log(least, most, plot[0] + INSET, plot[2] - INSET)
        } else {
            Scale::linear(0.0, most, plot[0], plot[2] - INSET)
        };
        let mut scene = Scene {
            id: self.id.to_owned(),
            width: viewport.width,
            height: viewport.height,
            plot,
            title: self.title.clone(),
            description: self.description(),
            shapes: Vec::new(),
            time: bottom,
            left: Scale::linear(0.0, ticks.last().copied().unwrap_or(1.0), plot[3], plot[1]),
            right: Scale::linear(0.0, 1.0, plot[3], plot[1]),
        };
        self.axes(&mut scene, &ticks, &labels, &sizes);
        for line in self.lines.iter().rev() {
            draw(&mut scene, line);
        }
        scene
    }

    fn axes(&self, scene: &mut Scene, ticks: &[f64], labels: &[String], sizes: &[f64]) {
        let [x0, y0, x1, y1] = scene.plot;
        let text = |class, at, anchor, text: &str| Shape::Text { class, at, anchor, text: text.to_owned() };
        for (tick, label) in ticks.iter().zip(labels) {
            let y = scene.left.place(*tick);
            scene.shapes.push(Shape::Line { class: "grid", at: [x0, y, x1, y] });
            scene.shapes.push(text("tick", [x0 - 8.0, y + 4.0], Anchor::End, label));
        }
        // From the right, so that the largest has its number; those without room for it have their mark.
        let mut free = f64::INFINITY;
        for size in sizes.iter().rev() {
            let (x, label) = (scene.time.place(*size), tick_label(*size));
            let half = label.chars().count() as f64 * 3.75 + 5.0;
            scene.shapes.push(Shape::Line { class: "tick-mark", at: [x, y1, x, y1 + 5.0] });
            if x + half <= free {
                free = x - half;
                scene.shapes.push(text("tick", [x, y1 + 19.0], Anchor::Middle, &label));
            }
        }
        scene.shapes.push(Shape::Line { class: "axis", at: [x0, y1, x1, y1] });
        scene.shapes.push(text("axis-title", [0.0, y0 - 12.0], Anchor::Start, &self.left));
        scene.shapes.push(text("axis-title", [x1, y1 + 40.0], Anchor::End, &self.bottom));
    }

    /// The drawing as SVG text; `suffix` keeps its ids apart from those of the same at another size.
    pub fn svg(&self, viewport: &Viewport, suffix: &str) -> String {
        svg::write(&self.scene(viewport), suffix)
    }
}

/// The points of a line by x, without what cannot be placed.
fn sorted(line: &XyLine) -> Vec<XyPoint> {
    let mut points: Vec<XyPoint> =
        line.points.iter().copied().filter(|p| p.x.is_finite() && p.x > 0.0 && p.y.is_finite()).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

fn draw(scene: &mut Scene, line: &XyLine) {
    let points = sorted(line);
    let places: Vec<[f64; 2]> = points.iter().map(|p| [scene.time.place(p.x), scene.left.place(p.y)]).collect();
    if places.len() > 1 {
        scene.shapes.push(Shape::Path { class: format!("line {}", line.class), d: path(&places) });
    }
    for (point, at) in points.iter().zip(places) {
        let shape = match point.sign {
            Sign::Dot => Shape::Dot { class: line.class.to_owned(), at },
            Sign::Kept => Shape::Dot { class: "xy-kept".to_owned(), at },
            Sign::Broken => Shape::Path { class: "xy-sign xy-broken".to_owned(), d: cross(at) },
            Sign::Open => Shape::Path { class: "xy-sign xy-open".to_owned(), d: triangle(at) },
        };
        scene.shapes.push(shape);
    }
}

fn cross([x, y]: [f64; 2]) -> String {
    let (l, r, t, b) = (number(x - 4.5), number(x + 4.5), number(y - 4.5), number(y + 4.5));
    format!("M{l} {t}L{r} {b}M{r} {t}L{l} {b}")
}

fn triangle([x, y]: [f64; 2]) -> String {
    format!(
        "M{} {}L{} {}L{} {}Z",
        number(x),
        number(y - 5.0),
        number(x + 5.0),
        number(y + 4.0),
        number(x - 5.0),
        number(y + 4.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: &[(f64, f64)]) -> Xy {
        let points = points.iter().map(|(x, y)| XyPoint { x: *x, y: *y, sign: Sign::Dot }).collect();
        Xy {
            id: "p",
            title: "T".into(),
            bottom: "Clients".into(),
            left: "ms".into(),
            unit: "ms",
            lines: vec![XyLine { label: "p50".into(), class: "s-p50", points }],
        }
    }

    fn ticks(xy: &Xy, viewport: &Viewport) -> Vec<String> {
        let y = viewport.height - BOTTOM + 19.0;
        let texts = xy.scene(viewport).shapes;
        let found = texts.into_iter().filter_map(|s| match s {
            Shape::Text { at, text, .. } if at[1] == y => Some(text),
            _ => None,
        });
        let mut found: Vec<String> = found.collect();
        found.reverse();
        found
    }

    #[test]
    fn sizes_are_the_ticks_and_the_last_always_has_its_number() {
        let few = plot(&[(50.0, 1.0), (10.0, 2.0), (20.0, 3.0)]);
        assert_eq!(ticks(&few, &Viewport::wide()), ["10", "20", "50"]);
        let many: Vec<(f64, f64)> = (1..=20).map(|n| (f64::from(n) * 1000.0, 1.0)).collect();
        let shown = ticks(&plot(&many), &Viewport::narrow());
        assert!(shown.len() < 20 && shown.last().is_some_and(|t| t == "20,000"), "{shown:?}");
    }

    #[test]
    fn doubled_sizes_stand_at_even_distances() {
        let scene = plot(&[(1.0, 1.0), (4.0, 1.0), (16.0, 1.0)]).scene(&Viewport::wide());
        let at = |x: f64| scene.time.place(x);
        assert!((at(4.0) - at(1.0) - (at(16.0) - at(4.0))).abs() < 0.01);
    }

    #[test]
    fn nothing_and_nonsense_are_drawn_without_a_nan() {
        for points in [vec![], vec![(0.0, 1.0)], vec![(f64::NAN, f64::NAN), (1.0, f64::INFINITY)], vec![(5.0, 0.0)]] {
            let svg = plot(&points).svg(&Viewport::narrow(), "n");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert_eq!(plot(&[]).description(), "Nothing was measured yet.");
        assert_eq!(
            plot(&[(10.0, 1.0), (20.0, 9.0), (30.0, 4.0)]).description(),
            "p50: from 1 ms at 10 to 4 ms at 30, at most 9 ms at 20."
        );
    }
}

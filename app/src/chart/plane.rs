//! Two linear axes of numbers: what charts stand on that do not go over time.

use super::Viewport;
use super::layout::{Anchor, Scene, Shape, label_room};
use super::scale::{Scale, linear_ticks, tick_label};

/// Room above for the title of the vertical axis.
const TOP: f64 = 26.0;
/// Room below for ticks and the title of the horizontal axis.
const BOTTOM: f64 = 46.0;

/// A chart that does not move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Still {
    /// Title.
    pub title: String,
    /// What it says, in a sentence.
    pub says: String,
    /// What marks stand for: CSS class, drawing of the mark as SVG text, words.
    pub legend: Vec<(String, String, String)>,
    /// The drawing for wide columns as SVG text, and what lies over it.
    pub wide: [String; 2],
    /// The same for narrow columns.
    pub narrow: [String; 2],
}

/// A horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// Title, with its unit; may be empty.
    pub title: String,
    /// Values at its ends.
    pub range: [f64; 2],
    /// Ticks and their words, in order.
    pub ticks: Vec<(f64, String)>,
}

impl Across {
    /// Numbers from 0 to at least `most`.
    pub fn numbers(title: &str, most: f64, viewport: &Viewport) -> Across {
        let ticks = linear_ticks(most, (viewport.width / 110.0) as usize, false);
        let end = ticks.last().copied().unwrap_or(1.0);
        Across {
            title: title.to_owned(),
            range: [0.0, end],
            ticks: ticks.into_iter().map(|t| (t, tick_label(t))).collect(),
        }
    }
}

/// What a drawing is for those who cannot see it.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Prefix of the ids inside the drawing; unique on its page.
    pub id: &'a str,
    /// Title.
    pub title: &'a str,
    /// What it says, in a sentence.
    pub description: &'a str,
}

/// A scene with axes and nothing on them yet; the vertical one goes from 0 to at least `most`.
pub fn scene(named: Named<'_>, viewport: &Viewport, across: &Across, up: &str, most: f64) -> Scene {
    let ticks = linear_ticks(most, if viewport.height < 320.0 { 4 } else { 5 }, false);
    let labels: Vec<String> = ticks.iter().map(|t| tick_label(*t)).collect();
    let plot = [label_room(&labels), TOP, viewport.width - 16.0, viewport.height - BOTTOM];
    let [x0, y0, x1, y1] = plot;
    let left = Scale::linear(0.0, ticks.last().copied().unwrap_or(1.0), y1, y0);
    let place = Scale::linear(across.range[0], across.range[1], x0, x1);
    let text = |class, at, anchor, text: &str| Shape::Text { class, at, anchor, text: text.to_owned() };
    let mut shapes = Vec::new();
    for (tick, label) in ticks.iter().zip(&labels) {
        let y = left.place(*tick);
        shapes.push(Shape::Line { class: "grid", at: [x0, y, x1, y] });
        shapes.push(text("tick", [x0 - 8.0, y + 4.0], Anchor::End, label));
    }
    for (tick, label) in &across.ticks {
        let x = place.place(*tick);
        shapes.push(Shape::Line { class: "tick-mark", at: [x, y1, x, y1 + 5.0] });
        shapes.push(text("tick", [x, y1 + 19.0], Anchor::Middle, label));
    }
    shapes.push(Shape::Line { class: "axis", at: [x0, y1, x1, y1] });
    shapes.push(text("axis-title", [0.0, y0 - 12.0], Anchor::Start, up));
    if !across.title.is_empty() {
        shapes.push(text("axis-title", [x1, viewport.height - 6.0], Anchor::End, &across.title));
    }
    Scene {
        id: named.id.to_owned(),
        width: viewport.width,
        height: viewport.height,
        plot,
        title: named.title.to_owned(),
        description: named.description.to_owned(),
        shapes,
        time: place,
        left,
        right: left,
    }
}

//! Charts: data and viewport in, a scene out. Pure layout, the same for page, browser and picture; nothing here knows Leptos.
//!
//! A [`Chart`] holds what is shown, a [`Viewport`] how large and which part; [`Chart::scene`] lays it out and
//! [`svg::write`] draws it. Colours are classes, decided by the style sheet.

pub mod by_load;
pub mod describe;
pub mod distribution;
pub mod layout;
pub mod overview;
pub mod plane;
pub mod report;
pub mod scale;
pub mod svg;
pub mod table;
pub mod thin;
pub mod timeline;
pub mod trend;
pub mod xy;

use serde::{Deserialize, Serialize};

pub use layout::{Scene, Shape};

/// Which scale a series is read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The left axis.
    Left,
    /// The right axis.
    Right,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A line.
    Line,
    /// A line with the area below it lightly filled.
    Area,
    /// Bars in a lane along the bottom; values are shares from 0 to 1.
    Lane,
}

/// One series over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Words in the legend.
    pub label: String,
    /// CSS class, chooses colour and dash.
    pub class: String,
    /// Axis.
    pub side: Side,
    /// Drawing.
    pub mark: Mark,
    /// Unit of the values for people (`ms`, `clients`, `%`).
    pub unit: String,
    /// (seconds since the start, value), in order of time; seconds without a value are absent.
    pub samples: Vec<(f64, f64)>,
    /// Switched off until the reader switches it on.
    pub hidden: bool,
}

/// The area between two series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Index of the lower series.
    pub lower: usize,
    /// Index of the upper series.
    pub upper: usize,
    /// CSS class.
    pub class: String,
}

/// What a chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Prefix of the ids inside the drawing; unique on its page.
    pub id: String,
    /// Title.
    pub title: String,
    /// What the chart says, in a sentence.
    pub description: String,
    /// Title of the left axis, with its unit.
    pub left: String,
    /// Title of the right axis; `None` = no right axis.
    pub right: Option<String>,
    /// Series in the legend's order; the first is drawn on top.
    pub series: Vec<Series>,
    /// Areas between them, drawn below them.
    pub bands: Vec<Band>,
    /// Right end of the time axis in seconds.
    pub end_s: f64,
    /// Seconds between samples; a line is broken where more than one and a half of these are missing.
    pub step_s: f64,
}

/// How large, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewport {
    /// Width in units (pixels at full size).
    pub width: f64,
    /// Height in units.
    pub height: f64,
    /// Logarithmic left axis.
    pub log: bool,
    /// Series switched off, by index; missing entries are on.
    pub hidden: Vec<bool>,
}

impl Viewport {
    /// For columns from [`Viewport::BREAK`] up.
    pub fn wide() -> Viewport {
        Viewport { width: 960.0, height: 360.0, log: false, hidden: Vec::new() }
    }

    /// For narrow columns.
    pub fn narrow() -> Viewport {
        Viewport { width: 380.0, height: 300.0, log: false, hidden: Vec::new() }
    }

    /// Width of the column in CSS pixels below which the narrow drawing is shown; the style sheet has the same number.
    pub const BREAK: f64 = 560.0;

    /// Whether series `index` is drawn.
    pub fn shows(&self, index: usize) -> bool {
        !self.hidden.get(index).copied().unwrap_or(false)
    }
}

impl Chart {
    /// The series that start switched off.
    pub fn initially_hidden(&self) -> Vec<bool> {
        self.series.iter().map(|s| s.hidden).collect()
    }

    /// Lays the chart out.
    pub fn scene(&self, viewport: &Viewport) -> Scene {
        layout::scene(self, viewport)
    }

    /// Bounds what has to be sent to a browser: every series keeps the extremes of `columns` stretches of time.
    pub fn thinned(mut self, columns: usize) -> Chart {
        let end = self.end_s.max(1.0);
        for series in &mut self.series {
            series.samples = thin::thin(&series.samples, 0.0, end, columns, self.step_s * 1.5).concat();
        }
        // Samples are further apart now, and no line may break between two that were neighbours.
        let column = end / columns.max(1) as f64;
        if column > self.step_s {
            self.step_s = column * 2.0;
        }
        self
    }

    /// The moments that have any sample, in order; what the crosshair steps through.
    pub fn moments(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.series.iter().flat_map(|s| s.samples.iter().map(|(x, _)| *x)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }
}

impl Series {
    /// The value at a moment, if there is a sample within `reach` seconds.
    pub fn at(&self, moment: f64, reach: f64) -> Option<f64> {
        let after = self.samples.partition_point(|(x, _)| *x < moment);
        let near = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|i| self.samples.get(i));
        near.map(|(x, y)| ((x - moment).abs(), *y))
            .filter(|(d, _)| *d <= reach)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, y)| y)
    }
}

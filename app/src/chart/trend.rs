//! One figure over the runs of a test, a dot a run, evenly spaced in their order.

use std::fmt::Write as _;

use super::layout::{Anchor, Scene, Shape, number, path};
use super::plane::{self, Still};
use super::{Viewport, svg};
use crate::format::{self, escape};

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// When it began, unix milliseconds.
    pub at: i64,
    /// The figure; `None` where it has none.
    pub value: Option<f64>,
    /// Where it leads.
    pub href: String,
    /// What is said of it.
    pub title: String,
    /// Whether the plan was changed before it.
    pub changed: bool,
    /// Whether it came to its planned end.
    pub whole: bool,
}

/// A figure over runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// Title.
    pub title: String,
    /// Title of the vertical axis, with its unit.
    pub up: String,
    /// The runs, oldest first.
    pub dots: Vec<Dot>,
    /// The figure of the baseline.
    pub baseline: Option<f64>,
}

impl Trend {
    fn says(&self) -> String {
        let values: Vec<f64> = self.dots.iter().filter_map(|dot| dot.value).filter(|v| v.is_finite()).collect();
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return "No run has this figure.".into();
        };
        let (low, high) = values.iter().fold((*first, *first), |(low, high), v| (low.min(*v), high.max(*v)));
        let baseline = self.baseline.map_or_else(String::new, |v| format!(" The baseline has {}.", format::number(v)));
        format!(
            "Over {} it went from {} to {}; lowest {}, highest {}.{baseline}",
            format::plural(values.len() as u64, "run", "runs"),
            format::number(*first),
            format::number(*last),
            format::number(low),
            format::number(high)
        )
    }

    /// Where the dots with a value stand, by their places in `dots`.
    fn places(&self, scene: &Scene) -> Vec<(usize, [f64; 2])> {
        let with = self.dots.iter().enumerate().filter_map(|(i, dot)| Some((i, dot.value.filter(|v| v.is_finite())?)));
        with.map(|(i, v)| (i, [scene.time.place(i as f64), scene.left.place(v)])).collect()
    }

    /// Lays it out.
    pub fn scene(&self, viewport: &Viewport) -> Scene {
        let values = self.dots.iter().filter_map(|dot| dot.value).chain(self.baseline);
        let most = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let last = self.dots.len().saturating_sub(1);
        let wanted = ((viewport.width / 90.0) as usize).max(2);
        let every = (last / wanted + 1).max(1);
        let across = plane::Across {
            title: "Runs, oldest first; dates in UTC".into(),
            range: [-0.5, last as f64 + 0.5],
            ticks: self
                .dots
                .iter()
                .enumerate()
                .step_by(every)
                .map(|(i, dot)| (i as f64, format::Utc::from_unix_ms(dot.at).day()))
                .collect(),
        };
        let says = self.says();
        let named = plane::Named { id: "trend", title: &self.title, description: &says };
        let mut scene = plane::scene(named, viewport, &across, &self.up, most);
        let [x0, y0, x1, y1] = scene.plot;
        for (i, _) in self.dots.iter().enumerate().filter(|(_, dot)| dot.changed) {
            let x = scene.time.place(i as f64 - 0.5);
            scene.shapes.push(Shape::Line { class: "plan-change", at: [x, y0, x, y1] });
        }
        if let Some(value) = self.baseline.filter(|v| v.is_finite()) {
            let y = scene.left.place(value);
            scene.shapes.push(Shape::Line { class: "baseline-line", at: [x0, y, x1, y] });
            scene.shapes.push(Shape::Text {
                class: "tick halo",
                at: [x1, y - 6.0],
                anchor: Anchor::End,
                text: "baseline".into(),
            });
        }
        let places = self.places(&scene);
        let line: Vec<[f64; 2]> = places.iter().map(|(_, at)| *at).collect();
        if line.len() > 1 {
            scene.shapes.push(Shape::Path { class: "line s-trend".into(), d: path(&line) });
        }
        for (i, at) in places {
            let whole = self.dots.get(i).is_some_and(|dot| dot.whole);
            scene.shapes.push(Shape::Dot { class: if whole { "s-trend" } else { "s-trend part" }.into(), at });
        }
        scene
    }

    /// What lies over the drawing: a place to press for each dot. The table below has the same links for the keyboard.
    fn links(&self, viewport: &Viewport) -> String {
        let scene = self.scene(viewport);
        let mut out = format!(
            "<svg viewBox=\"0 0 {} {}\" aria-hidden=\"true\" focusable=\"false\">",
            number(scene.width),
            number(scene.height)
        );
        for (i, [x, y]) in self.places(&scene) {
            let Some(dot) = self.dots.get(i) else { continue };
            let _ = write!(
                out,
                "<a href=\"{}\" tabindex=\"-1\"><circle class=\"dot-link\" cx=\"{}\" cy=\"{}\" r=\"10\"><title>{}</title></circle></a>",
                escape(&dot.href),
                number(x),
                number(y),
                escape(&dot.title)
            );
        }
        out.push_str("</svg>");
        out
    }

    /// The drawings.
    pub fn still(&self) -> Still {
        let draw = |viewport: &Viewport, suffix| [svg::write(&self.scene(viewport), suffix), self.links(viewport)];
        let picture = |shapes: &str| {
            format!(
                "<svg width=\"18\" height=\"14\" viewBox=\"0 0 18 14\" aria-hidden=\"true\" focusable=\"false\">{shapes}</svg>"
            )
        };
        let mut legend = vec![(
            "s-trend".to_owned(),
            picture("<circle class=\"dot s-trend\" cx=\"9\" cy=\"7\" r=\"4\"/>"),
            "Run".to_owned(),
        )];
        let mut add = |there: bool, shapes: &str, words: &str| {
            if there {
                legend.push(("s-trend".to_owned(), picture(shapes), words.to_owned()));
            }
        };
        let part = self.dots.iter().any(|dot| !dot.whole && dot.value.is_some());
        add(part, "<circle class=\"dot s-trend part\" cx=\"9\" cy=\"7\" r=\"4\"/>", "Run that ended early");
        add(
            self.baseline.is_some(),
            "<line class=\"baseline-line\" x1=\"0\" y1=\"7\" x2=\"18\" y2=\"7\"/>",
            "Baseline",
        );
        let changed = self.dots.iter().any(|dot| dot.changed);
        add(changed, "<line class=\"plan-change\" x1=\"9\" y1=\"0\" x2=\"9\" y2=\"14\"/>", "The plan was changed");
        Still {
            title: self.title.clone(),
            says: self.says(),
            legend,
            wide: draw(&Viewport::wide(), "w"),
            narrow: draw(&Viewport::narrow(), "n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(at: i64, value: Option<f64>) -> Dot {
        Dot { at, value, href: format!("/runs/{at}"), title: "<b>".into(), changed: at == 2, whole: at != 3 }
    }

    #[test]
    fn runs_are_dots_that_lead_to_them() {
        let trend = Trend {
            title: "p95".into(),
            up: "ms".into(),
            dots: vec![dot(1, Some(10.0)), dot(2, None), dot(3, Some(30.0)), dot(4, Some(f64::NAN))],
            baseline: Some(20.0),
        };
        let scene = trend.scene(&Viewport::wide());
        let dots: Vec<&Shape> = scene.shapes.iter().filter(|s| matches!(s, Shape::Dot { .. })).collect();
        assert_eq!(dots.len(), 2, "a run without the figure has no dot");
        assert!(matches!(dots[1], Shape::Dot { class, .. } if class == "s-trend part"));
        let lines = |wanted: &str| {
            scene.shapes.iter().filter(|s| matches!(s, Shape::Line { class, .. } if *class == wanted)).count()
        };
        assert_eq!((lines("plan-change"), lines("baseline-line")), (1, 1));
        let links = trend.links(&Viewport::wide());
        assert!(
            links.contains("href=\"/runs/3\"") && links.contains("&lt;b&gt;") && !links.contains("/runs/2"),
            "{links}"
        );
        assert!(trend.says().starts_with("Over 2 runs it went from 10 to 30;"), "{}", trend.says());
        let empty = Trend { dots: Vec::new(), baseline: None, ..trend };
        assert!(!svg::write(&empty.scene(&Viewport::narrow()), "n").contains("NaN"));
    }
}

//! A scene as SVG text: in pages, in the browser, as a file.
//!
//! Text rather than elements, because the same drawing must leave the page as a file and be replaced once a second without
//! touching anything else. Every word in it passes through [`escape`].

use std::fmt::Write as _;

use super::layout::{Anchor, Scene, Shape, number};
use crate::format::escape;

/// Writes the drawing. `suffix` keeps its ids apart from those of the same chart at another size.
pub fn write(scene: &Scene, suffix: &str) -> String {
    let id = format!("{}-{suffix}", scene.id);
    let mut out = String::with_capacity(8192);
    let _ = write!(
        out,
        "<svg class=\"chart-drawing\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" xmlns=\"http://www.w3.org/2000/svg\">\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
        number(scene.width),
        number(scene.height),
        escape(&scene.title),
        escape(&scene.description),
        id = escape(&id)
    );
    for shape in &scene.shapes {
        write_shape(&mut out, shape);
    }
    out.push_str("</svg>");
    out
}

fn write_shape(out: &mut String, shape: &Shape) {
    let _ = match shape {
        Shape::Path { class, d } => write!(out, "<path class=\"{}\" d=\"{d}\"/>", escape(class)),
        Shape::Line { class, at: [x1, y1, x2, y2] } => {
            write!(
                out,
                "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                number(*x1),
                number(*y1),
                number(*x2),
                number(*y2)
            )
        }
        Shape::Rect { class, at: [x, y, w, h] } => {
            write!(
                out,
                "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                escape(class),
                number(*x),
                number(*y),
                number(*w),
                number(*h)
            )
        }
        Shape::Dot { class, at: [x, y] } => {
            write!(out, "<circle class=\"dot {}\" cx=\"{}\" cy=\"{}\" r=\"3\"/>", escape(class), number(*x), number(*y))
        }
        Shape::Text { class, at: [x, y], anchor, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            write!(
                out,
                "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                number(*x),
                number(*y),
                escape(text)
            )
        }
    };
}

/// What lies over a scene: the chosen seconds (the last not included) as a band; and at a moment a line, a dot on every line
/// shown, and the time.
pub fn overlay(scene: &Scene, chosen: Option<(u32, u32)>, cross: Option<(f64, &[(String, f64)])>) -> String {
    let mut out = format!(
        "<svg viewBox=\"0 0 {} {}\" aria-hidden=\"true\" focusable=\"false\">",
        number(scene.width),
        number(scene.height)
    );
    let [x0, y0, x1, y1] = scene.plot;
    if let Some((from, to)) = chosen {
        let (from, to) = (scene.time.place(f64::from(from)), scene.time.place(f64::from(to)));
        // A single second of a long run is seen, too.
        let width = (to - from).max(3.0);
        let _ = write!(
            out,
            "<rect class=\"chosen\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            number(from.min(x1 - width)),
            number(y0),
            number(width),
            number(y1 - y0)
        );
    }
    if let Some((moment, marks)) = cross {
        let x = scene.time.place(moment);
        let _ = write!(
            out,
            "<line class=\"cross\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{}\"/>",
            number(y0),
            number(y1),
            x = number(x)
        );
        for (class, y) in marks {
            let class = escape(class);
            let _ = write!(out, "<circle class=\"dot {class}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>", number(x), number(*y));
        }
        let label = x.clamp(x0 + 24.0, (x1 - 24.0).max(x0 + 24.0));
        let _ = write!(
            out,
            "<rect class=\"cross-label\" x=\"{}\" y=\"{}\" width=\"56\" height=\"20\" rx=\"4\"/><text class=\"cross-text\" x=\"{l}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            number(label - 28.0),
            number(y0 - 4.0),
            number(y0 + 10.5),
            crate::format::clock(moment.max(0.0) as u32),
            l = number(label)
        );
    }
    out.push_str("</svg>");
    out
}

//! How the response times of a run are spread: a histogram over a logarithmic time axis, and times by percentile.

use oleada_engine::distribution::{Bar, Distribution, Quantile};

use super::layout::{Anchor, Scene, Shape, label_room, path};
use super::scale::{Scale, linear_ticks, log_ticks, tick_label};
use crate::format::{self, escape};

/// Width and height of a drawing in units.
pub type Size = [f64; 2];
/// Beside another one.
pub const WIDE: Size = [520.0, 300.0];
/// For narrow columns.
pub const NARROW: Size = [340.0, 280.0];

const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 14.0;

/// Requests by response time.
pub fn histogram(id: &str, of: &Distribution, size: Size) -> Scene {
    let (low, high) = (of.bars.first().map_or(0.1, |b| b.from_ms), of.bars.last().map_or(1.0, |b| b.to_ms));
    // Times that hardly differ get room on both sides, so that a round number stands below them.
    let (low, high) = if high < 2.0 * low { (low / 1.6, high * 1.6) } else { (low, high) };
    let highest = of.bars.iter().map(|b| b.count).max().unwrap_or(0);
    let ticks = linear_ticks(highest as f64, 4, true);
    let mut scene = frame(id, size, &ticks, false, (low, high), true);
    scene.title = "Distribution of response times".to_owned();
    scene.description = describe_bars(&of.bars);
    scene.titles("Requests", "Response time in ms, logarithmic");
    let wanted = (size[0] / 60.0) as usize;
    let all = log_ticks(low, high);
    let every = all.len().div_ceil(wanted.max(1));
    for tick in all.iter().step_by(every).filter(|t| **t >= low && **t <= high) {
        scene.tick_below(scene.time.place(*tick), tick_label(*tick));
    }
    let floor = scene.plot[3];
    for bar in &of.bars {
        let (from, to) = (scene.time.place(bar.from_ms), scene.time.place(bar.to_ms));
        // Whatever was counted can be seen.
        let height = (floor - scene.left.place(bar.count as f64)).max(1.5);
        let width = (to - from - 0.5).max(1.0);
        scene.shapes.push(Shape::Rect { class: "s-latency".to_owned(), at: [from, floor - height, width, height] });
    }
    scene
}

/// Percentiles that are labelled below the curve, as 1/(1 − q).
const LABELS: [(f64, &str); 7] = [
    (1.0, "0 %"),
    (2.0, "50 %"),
    (10.0, "90 %"),
    (100.0, "99 %"),
    (1e3, "99.9 %"),
    (1e4, "99.99 %"),
    (1e5, "99.999 %"),
];

/// Times by percentile, response and service time as two lines. Each step to the right is ten times as rare.
pub fn curve(id: &str, of: &Distribution, size: Size) -> Scene {
    let all = || of.latency.iter().chain(&of.service);
    let high = all().map(|p| p.ms).fold(0.0, f64::max);
    let low = all().map(|p| p.ms).filter(|ms| *ms > 0.0).fold(f64::INFINITY, f64::min);
    // Where the slowest takes far longer than the fastest, a linear axis would show one step and nothing else.
    let log = low.is_finite() && high > 30.0 * low;
    let ticks = if log { log_ticks(low, high) } else { linear_ticks(high, 4, false) };
    let last = all().map(|p| p.one_in).fold(10.0, f64::max);
    let mut scene = frame(id, size, &ticks, log, (1.0, last), true);
    scene.title = "Time by percentile".to_owned();
    scene.description = describe_curve(of);
    scene.titles(if log { "Time in ms, logarithmic" } else { "Time in ms" }, "Share of requests that were faster");
    let mut free = f64::NEG_INFINITY;
    for (one_in, label) in LABELS.into_iter().filter(|(one_in, _)| *one_in <= last * 1.000_001) {
        let x = scene.time.place(one_in);
        let room = label.len() as f64 * 3.8;
        // Labels that would stand on each other are left out.
        if x - room >= free {
            free = x + room;
            scene.tick_below(x, label.to_owned());
        }
    }
    for (class, line) in [("s-service", &of.service), ("s-latency", &of.latency)] {
        let places: Vec<[f64; 2]> = line.iter().map(|p| [scene.time.place(p.one_in), scene.left.place(p.ms)]).collect();
        if places.len() > 1 {
            scene.shapes.push(Shape::Path { class: format!("line {class}"), d: path(&places) });
        }
        // Few requests make few steps: each is shown.
        if places.len() <= FEW {
            scene.shapes.extend(places.iter().map(|at| Shape::Dot { class: class.to_owned(), at: *at }));
        }
    }
    scene
}

/// Lines of so few points have dots.
const FEW: usize = 14;

/// The histogram's bars as a table, joined so that it stays readable.
pub fn bars_table(of: &Distribution) -> String {
    let all: u64 = of.bars.iter().map(|b| b.count).sum();
    let join = of.bars.len().div_ceil(40).max(1);
    let rows = of.bars.chunks(join).filter_map(|part| {
        let (first, last) = (part.first()?, part.last()?);
        let count: u64 = part.iter().map(|b| b.count).sum();
        let times = format!("{} to {}", format::number(first.from_ms), format::number(last.to_ms));
        Some([times, format::count(count), format::percent((all > 0).then(|| count as f64 / all as f64))])
    });
    table("Requests by response time.", ["Time in ms", "Requests", "Share"], rows)
}

/// The curve as a table.
pub fn curve_table(of: &Distribution) -> String {
    let at =
        |line: &[Quantile], one_in: f64| line.iter().find(|p| (p.one_in / one_in - 1.0).abs() < 0.01).map(|p| p.ms);
    // The steps of the curve that are round: every quarter of a decade, and the median where it is one.
    let rows = of.latency.iter().step_by(4).map(|p| {
        let share = (1.0 - 1.0 / p.one_in) * 100.0;
        [format!("{share:.3} %"), format::maybe(Some(p.ms)), format::maybe(at(&of.service, p.one_in))]
    });
    table(
        "Times in milliseconds within which so many requests were answered.",
        ["Share", "Response time", "Service time"],
        rows,
    )
}

fn table(caption: &str, heads: [&str; 3], rows: impl Iterator<Item = [String; 3]>) -> String {
    let mut out = format!("<table class=\"data\"><caption>{}</caption><thead><tr>", escape(caption));
    heads.iter().for_each(|head| out.push_str(&format!("<th scope=\"col\">{}</th>", escape(head))));
    out.push_str("</tr></thead><tbody>");
    for [head, first, second] in rows {
        out.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
            escape(&head),
            escape(&first),
            escape(&second)
        ));
    }
    out.push_str("</tbody></table>");
    out
}

fn describe_bars(bars: &[Bar]) -> String {
    let all: u64 = bars.iter().map(|b| b.count).sum();
    let Some(top) = bars.iter().max_by_key(|b| b.count) else { return "No request was answered.".to_owned() };
    format!(
        "Of {}, most ({}) took {} to {}.",
        format::plural(all, "answered request", "answered requests"),
        format::count(top.count),
        format::ms(Some(top.from_ms)),
        format::ms(Some(top.to_ms))
    )
}

fn describe_curve(of: &Distribution) -> String {
    let at = |one_in: f64| of.latency.iter().rfind(|p| p.one_in <= one_in * 1.000_001).map(|p| p.ms);
    match (at(1.0), of.latency.last()) {
        (Some(least), Some(last)) => format!(
            "Response times from {}, p90 {}, p99 {}, to {}.",
            format::ms(Some(least)),
            format::ms(at(10.0)),
            format::ms(at(100.0)),
            format::ms(Some(last.ms))
        ),
        _ => "No request was answered.".to_owned(),
    }
}

/// An empty scene with a left axis; `domain` is that of the axis below.
fn frame(id: &str, [width, height]: Size, ticks: &[f64], log_left: bool, domain: (f64, f64), log_below: bool) -> Scene {
    let labels: Vec<String> = ticks.iter().map(|t| tick_label(*t)).collect();
    let plot = [label_room(&labels), TOP, width - RIGHT, height - BOTTOM];
    let (low, high) = (ticks.first().copied().unwrap_or(0.0), ticks.last().copied().unwrap_or(1.0));
    let scale = |log: bool| if log { Scale::log } else { Scale::linear };
    let left = scale(log_left)(low, high, plot[3], plot[1]);
    let mut scene = Scene {
        id: id.to_owned(),
        width,
        height,
        plot,
        title: String::new(),
        description: String::new(),
        shapes: Vec::new(),
        time: scale(log_below)(domain.0, domain.1, plot[0], plot[2]),
        left,
        right: Scale::linear(0.0, 1.0, plot[3], plot[1]),
    };
    for (tick, text) in ticks.iter().zip(labels) {
        let y = left.place(*tick);
        scene.shapes.push(Shape::Line { class: "grid", at: [plot[0], y, plot[2], y] });
        scene.shapes.push(Shape::Text { class: "tick", at: [plot[0] - 8.0, y + 4.0], anchor: Anchor::End, text });
    }
    scene.shapes.push(Shape::Line { class: "axis", at: [plot[0], plot[3], plot[2], plot[3]] });
    scene
}

impl Scene {
    fn titles(&mut self, left: &str, below: &str) {
        let [x0, y0, x1, _] = self.plot;
        let text = |class, at, anchor, text: &str| Shape::Text { class, at, anchor, text: text.to_owned() };
        self.shapes.push(text("axis-title", [0.0, y0 - 12.0], Anchor::Start, left));
        self.shapes.push(text("axis-title", [(x0 + x1) / 2.0, self.height - 6.0], Anchor::Middle, below));
    }

    fn tick_below(&mut self, x: f64, text: String) {
        let y = self.plot[3];
        self.shapes.push(Shape::Line { class: "tick-mark", at: [x, y, x, y + 5.0] });
        // The last label must not stand out on the right.
        let anchor = if x > self.width - RIGHT - 12.0 { Anchor::End } else { Anchor::Middle };
        let x = if anchor == Anchor::End { self.width } else { x };
        self.shapes.push(Shape::Text { class: "tick", at: [x, y + 19.0], anchor, text });
    }
}

//! The charts of a run and of several runs.

use oleada_engine::result::Point;

use super::overview::Facts;
use super::{Band, Chart, Mark, Series, Side, describe};

/// Reads one value of a second.
type Pick = fn(&Point) -> Option<f64>;
/// Reads one count of a second.
type Count = fn(&Point) -> u64;

/// A last second shorter than this says nothing by itself: its few requests would look like a peak or a drop, so it is
/// counted with the one before.
const SHORTEST_S: f64 = 0.5;

/// What the points of a chart stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Seconds joined into each point.
    joined: u32,
    /// Seconds between neighbours.
    spacing: u32,
    /// Right end of the axis, as far as it is known.
    end_s: Option<f64>,
    /// The run is over: its last second ended where it did.
    over: bool,
}

impl Timing {
    /// Of a run under way: `joined` seconds a point, the axis drawn to the planned end.
    pub fn live(joined: u32, planned_s: Option<f64>) -> Timing {
        Timing { joined: joined.max(1), spacing: joined.max(1), end_s: planned_s, over: false }
    }

    /// Of a run that lasted `end_s` seconds; `stretch` as in [`super::overview::Overview`].
    pub fn over(stretch: u32, end_s: f64) -> Timing {
        Timing { joined: 1, spacing: if stretch > 1 { 2 * stretch } else { 1 }, end_s: Some(end_s), over: true }
    }

    /// Where the axis ends. A run that is over ends where it ended, however long it was planned.
    fn end(&self, points: &[Point]) -> f64 {
        let seen = points.last().map_or(0.0, |p| f64::from(p.t + self.joined - 1));
        seen.max(self.end_s.unwrap_or(0.0)).max(1.0)
    }

    /// How long a point is in seconds.
    fn length(&self, point: &Point) -> f64 {
        let whole = f64::from(self.joined);
        match self.end_s.filter(|_| self.over) {
            Some(end) => (end - f64::from(point.t)).clamp(0.0, whole),
            None => whole,
        }
    }

    /// Counts as rates a second, each over the real length of its second.
    fn rates(&self, points: &[Point], pick: Count) -> Vec<(f64, f64)> {
        let mut rates: Vec<(f64, f64)> = Vec::with_capacity(points.len());
        for (n, point) in points.iter().enumerate() {
            let length = self.length(point);
            let before = n.checked_sub(1).and_then(|n| points.get(n)).filter(|p| p.t + self.joined == point.t);
            match (rates.last_mut(), before) {
                (Some(last), Some(before)) if length < SHORTEST_S => {
                    last.1 = (pick(before) + pick(point)) as f64 / (self.length(before) + length);
                }
                _ => {
                    let length = if length > 0.0 { length } else { f64::from(self.joined) };
                    rates.push((f64::from(point.t), pick(point) as f64 / length));
                }
            }
        }
        rates
    }
}

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

/// Response time and clients of one run.
pub fn response_times(id: &str, points: &[Point], timing: Timing, facts: &Facts) -> Chart {
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
    Chart {
        id: id.to_owned(),
        title: "Response time and clients".to_owned(),
        description: describe::response_times(facts, timing.joined),
        left: "Response time in ms".to_owned(),
        right: Some("Clients".to_owned()),
        series: all,
        bands: vec![
            Band { lower: 0, upper: 1, class: "b-p95".to_owned() },
            Band { lower: 1, upper: 2, class: "b-p99".to_owned() },
        ],
        end_s: timing.end(points),
        step_s: f64::from(timing.spacing),
    }
}

fn rate_line(label: &str, class: &str, mark: Mark, unit: &str, samples: Vec<(f64, f64)>) -> Series {
    Series {
        label: label.to_owned(),
        class: class.to_owned(),
        side: Side::Left,
        mark,
        unit: unit.to_owned(),
        samples,
        hidden: false,
    }
}

fn rate_chart(
    id: &str,
    title: &str,
    left: &str,
    description: String,
    all: Vec<Series>,
    end_s: f64,
    step_s: f64,
) -> Chart {
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description,
        left: left.to_owned(),
        right: None,
        series: all,
        bands: Vec::new(),
        end_s,
        step_s,
    }
}

/// Requests per second of one run: sent, answered ok, failed.
pub fn throughput(id: &str, points: &[Point], timing: Timing, facts: &Facts) -> Chart {
    let line = |label, class, mark, pick: Count| rate_line(label, class, mark, "/s", timing.rates(points, pick));
    let all = vec![
        line("Answered ok", "s-ok", Mark::Area, |p| p.ok),
        line("Sent", "s-sent", Mark::Line, |p| p.sent),
        line("Errors", "s-error-rate", Mark::Line, |p| p.errors),
    ];
    let text = describe::throughput(facts, timing.joined);
    rate_chart(
        id,
        "Requests per second",
        "Requests per second",
        text,
        all,
        timing.end(points),
        f64::from(timing.spacing),
    )
}

/// Name and CSS class of every way in which a request ends, in the ledger's order.
pub const OUTCOMES: [(&str, &str, Count); 10] = [
    ("Answered ok", "s-ok", |p| p.ok),
    ("Client errors (4xx)", "s-4xx", |p| p.status_4xx),
    ("Server errors (5xx)", "s-5xx", |p| p.status_5xx),
    ("Other statuses", "s-other", |p| p.status_other),
    ("Timed out", "s-timeout", |p| p.timeout),
    ("Network failures", "s-network", |p| p.network),
    ("Invalid replies", "s-invalid", |p| p.invalid),
    ("Generator's limits", "s-local", |p| p.local),
    ("Cut at the end", "s-aborted", |p| p.aborted),
    ("Errors of no known class", "s-error-rate", Point::errors_of_no_class),
];

/// How many requests ended in each way, second by second. Ways in which none ended are left out, but `ok` is always there.
pub fn outcomes(id: &str, points: &[Point], timing: Timing, facts: &Facts) -> Chart {
    let mut all: Vec<Series> = OUTCOMES
        .into_iter()
        .enumerate()
        .filter(|(n, (.., pick))| *n == 0 || points.iter().any(|p| pick(p) > 0))
        .map(|(n, (label, class, pick))| {
            rate_line(label, class, if n == 0 { Mark::Area } else { Mark::Line }, "/s", timing.rates(points, pick))
        })
        .collect();
    all.push(rate_line("Sent", "s-sent", Mark::Line, "/s", timing.rates(points, |p| p.sent)));
    let text = describe::throughput(facts, timing.joined);
    let title = "Responses per second, by outcome";
    rate_chart(id, title, "Requests per second", text, all, timing.end(points), f64::from(timing.spacing))
}

/// Bytes on the wire, second by second.
pub fn bandwidth(id: &str, points: &[Point], timing: Timing, facts: &Facts) -> Chart {
    let received = timing.rates(points, |p| p.bytes_received);
    let sent = timing.rates(points, |p| p.bytes_sent);
    let most = received.iter().chain(&sent).map(|(_, y)| *y).fold(0.0, f64::max);
    let (unit, per) = match most {
        m if m >= 1e9 => ("GB/s", 1e9),
        m if m >= 1e6 => ("MB/s", 1e6),
        m if m >= 1e3 => ("kB/s", 1e3),
        _ => ("B/s", 1.0),
    };
    let scaled = |samples: Vec<(f64, f64)>| samples.into_iter().map(|(x, y)| (x, y / per)).collect();
    let mut all = vec![rate_line("Received", "s-received", Mark::Area, unit, scaled(received))];
    // Seconds from before this was counted have none.
    if points.iter().any(|p| p.bytes_sent > 0) {
        all.push(rate_line("Sent", "s-bytes-sent", Mark::Line, unit, scaled(sent)));
    }
    let text = describe::bandwidth(facts);
    rate_chart(id, "Bandwidth", &format!("Traffic in {unit}"), text, all, timing.end(points), f64::from(timing.spacing))
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
        end_s: runs.iter().map(|(_, points)| Timing::live(1, None).end(points)).fold(1.0, f64::max),
        step_s: 1.0,
    }
}

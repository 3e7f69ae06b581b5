//! A chart's data as a table, bounded: neighbours are joined beyond about 120 rows, and the caption says so.

use oleada_engine::result::Point;

use super::timeline::Timeline;
use crate::format::{self, escape};

/// Most rows in the table.
pub const ROWS: usize = 120;

const HEADS: [&str; 13] = [
    "Time",
    "Clients",
    "Sent",
    "Ok",
    "4xx",
    "5xx",
    "Other errors",
    "p50",
    "p95",
    "p99",
    "Max",
    "Received",
    "Bytes sent",
];

/// The table as HTML text, for `<details>`; figures only, nothing a person typed. `ended_s` is when the run ended, in seconds
/// from its start.
pub fn html(timeline: &Timeline, ended_s: Option<f64>) -> String {
    let mut out =
        format!("<table class=\"data\"><caption>{}</caption><thead><tr>", escape(&caption(timeline, ended_s)));
    for head in HEADS {
        out.push_str(&format!("<th scope=\"col\">{head}</th>"));
    }
    out.push_str("</tr></thead><tbody>");
    for p in timeline.rows() {
        out.push_str(&format!("<tr><th scope=\"row\">{}</th>", format::clock(p.t)));
        for cell in cells(p) {
            out.push_str(&format!("<td>{}</td>", escape(&cell)));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>");
    out
}

fn caption(timeline: &Timeline, ended_s: Option<f64>) -> String {
    let step = timeline.step();
    let mut caption = if step == 1 {
        "Second by second from the start of the run. Times in milliseconds.".to_owned()
    } else {
        format!(
            "Each row joins {step} seconds: counts are sums, clients the average, times the highest of these seconds, in milliseconds."
        )
    };
    let last = timeline.rows().last().map(|p| f64::from(p.t));
    let length = last.zip(ended_s).map(|(t, end)| end - t).filter(|s| *s > 0.0 && *s < f64::from(step) - 0.001);
    if let Some(length) = length {
        caption.push_str(&format!(" The last row is {} long.", format::duration_s(length)));
    }
    caption
}

fn cells(p: &Point) -> [String; 12] {
    [
        format::number(p.clients),
        format::count(p.sent),
        format::count(p.ok),
        format::count(p.status_4xx),
        format::count(p.status_5xx),
        format::count(p.errors.saturating_sub(p.status_4xx + p.status_5xx)),
        format::maybe(p.p50),
        format::maybe(p.p95),
        format::maybe(p.p99),
        format::maybe(p.max),
        format::bytes(p.bytes_received),
        format::bytes(p.bytes_sent),
    ]
}

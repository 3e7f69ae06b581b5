//! A chart's data as a table, bounded: neighbours are joined beyond about 120 rows, and the caption says so.

use oleada_engine::result::Point;

use super::timeline::Timeline;
use crate::format::{self, escape};

/// Most rows in the table.
pub const ROWS: usize = 120;

/// The table as HTML text, for `<details>`; figures only, nothing a person typed.
pub fn html(points: &[Point]) -> String {
    let timeline = Timeline::of(points, ROWS);
    let step = timeline.step();
    let caption = if step == 1 {
        "Second by second. Times in milliseconds.".to_owned()
    } else {
        format!(
            "Each row joins {step} seconds: counts are sums, clients the average, times the highest of these seconds, in milliseconds."
        )
    };
    let mut out = format!(
        "<table class=\"data\"><caption>{}</caption><thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Clients</th><th scope=\"col\">Sent</th>\
         <th scope=\"col\">Ok</th><th scope=\"col\">Errors</th><th scope=\"col\">p50</th><th scope=\"col\">p95</th><th scope=\"col\">p99</th><th scope=\"col\">Max</th></tr></thead><tbody>",
        escape(&caption)
    );
    for p in timeline.rows() {
        out.push_str(&format!("<tr><th scope=\"row\">{}</th>", format::clock(p.t)));
        let cells = [
            format::number(p.clients),
            format::count(p.sent),
            format::count(p.ok),
            format::count(p.errors),
            format::maybe(p.p50),
            format::maybe(p.p95),
            format::maybe(p.p99),
            format::maybe(p.max),
        ];
        for cell in cells {
            out.push_str(&format!("<td>{}</td>", escape(&cell)));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>");
    out
}

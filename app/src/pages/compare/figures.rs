//! The tables of figures and of the ledgers.

use leptos::prelude::*;
use oleada_engine::result::ResultDoc;
use oleada_engine::significance::{Figure, Finding};

use super::super::report::{distribution, outcomes};
use super::{ComparePage, ComparedRun, head};
use crate::format;
use crate::ui::change::{is_better, words};
use crate::ui::table::scroll;

/// How a value differs from the first run's: absolute and relative, in words.
fn difference(value: Option<f64>, first: Option<f64>, show: fn(f64) -> String) -> String {
    let (value, first) = match (value, first) {
        (Some(value), Some(first)) => (value, first),
        (Some(_), None) => return "new".to_owned(),
        (None, _) => return "no data".to_owned(),
    };
    let change = value - first;
    if change.abs() < 0.0005 * first.abs().max(1e-9) || change == 0.0 {
        return "no difference".to_owned();
    }
    let sign = if change > 0.0 { "+" } else { "−" };
    let relative = if first == 0.0 {
        "new".to_owned()
    } else {
        format!("{sign}{} %", format::number((change / first * 100.0).abs()))
    };
    format!("{sign}{} ({relative})", show(change.abs()))
}

struct Row {
    label: &'static str,
    values: Vec<Option<f64>>,
    /// Under which name it is judged, if it is.
    figure: Option<Figure>,
    show: fn(f64) -> String,
    /// How a difference is written.
    show_change: fn(f64) -> String,
}

fn body(runs: &[ComparedRun], rows: &[Row]) -> AnyView {
    rows.iter()
        .map(|row| {
            let first = row.values.first().copied().flatten();
            let cells = row
                .values
                .iter()
                .zip(runs)
                .enumerate()
                .map(|(i, (value, run))| {
                    let text = value.map_or_else(|| format::NONE.to_owned(), row.show);
                    if i == 0 {
                        view! { <td class="num">{text}</td> }.into_any()
                    } else {
                        let told = difference(*value, first, row.show_change);
                        compared(text, told, row.figure, run)
                    }
                })
                .collect_view();
            view! { <tr><th scope="row">{row.label}</th>{cells}</tr> }
        })
        .collect_view()
        .into_any()
}

/// A value, its difference, and what can be said of it. Only what is more than noise is called better or worse.
fn compared(text: String, told: String, figure: Option<Figure>, run: &ComparedRun) -> AnyView {
    let change = figure.and_then(|figure| run.changes.as_ref()?.iter().find(|change| change.figure == figure));
    let class = match change {
        Some(change) if change.finding == Finding::Changed => {
            if is_better(change) {
                "diff better"
            } else {
                "diff worse"
            }
        }
        _ => "diff",
    };
    // What the difference says already is not said twice.
    let finding = change.filter(|change| !matches!(change.finding, Finding::Same | Finding::NoData)).map(words);
    view! {
        <td class="num">
            {text}
            <span class=class>{told}</span>
            {finding.map(|words| view! { <span class="finding">{words}</span> })}
        </td>
    }
    .into_any()
}

fn count(value: f64) -> String {
    format::count(value.round().max(0.0) as u64)
}

fn plain(value: f64) -> String {
    format::maybe(Some(value))
}

fn points(value: f64) -> String {
    format!("{} points", format::number(value * 100.0))
}

fn share(value: f64) -> String {
    format::percent(Some(value))
}

fn table(page: &ComparePage, caption: &'static str, rows: &[Row], with_links: bool) -> AnyView {
    let table = view! {
        <table class="data compare">
            <caption class="visually-hidden">{caption}</caption>
            {head(page, with_links)}
            <tbody>{body(&page.runs, rows)}</tbody>
        </table>
    };
    scroll(caption, table.into_any())
}

const LATENCIES: [(&str, Option<Figure>); 13] = [
    ("Smallest, ms", None),
    ("Mean, ms", None),
    ("Standard deviation, ms", None),
    ("p50, ms", Some(Figure::P50)),
    ("p66, ms", None),
    ("p75, ms", None),
    ("p80, ms", None),
    ("p90, ms", None),
    ("p95, ms", Some(Figure::P95)),
    ("p98, ms", None),
    ("p99, ms", Some(Figure::P99)),
    ("p99.9, ms", None),
    ("Largest, ms", None),
];

/// All figures of the runs.
pub(super) fn figures(page: &ComparePage) -> AnyView {
    let of = |pick: &dyn Fn(&ResultDoc) -> Option<f64>| {
        page.runs.iter().map(|r| r.result.as_ref().and_then(pick)).collect::<Vec<_>>()
    };
    let row = |label, figure, values, show: fn(f64) -> String, show_change: fn(f64) -> String| Row {
        label,
        values,
        figure,
        show,
        show_change,
    };
    let mut rows = vec![
        row(
            "Requests per second",
            Some(Figure::RequestsPerSecond),
            of(&|r| r.requests_per_second),
            plain,
            format::number,
        ),
        row(
            "Error share",
            Some(Figure::ErrorShare),
            of(&|r| (r.ledger.finished() > 0).then_some(r.error_rate)),
            share,
            points,
        ),
        row("Peak clients", None, of(&|r| Some(r.peak_clients as f64)), count, count),
        row("Length, s", None, of(&|r| Some(r.duration_s)), format::number, format::number),
    ];
    for (i, (label, figure)) in LATENCIES.into_iter().enumerate() {
        let values = of(&|r| distribution(&r.latency_ms).get(i).and_then(|(_, v)| *v));
        rows.push(row(label, figure, values, plain, format::number));
    }
    rows.push(row("Received, MB", None, of(&|r| Some(r.bytes.received as f64 / 1e6)), plain, format::number));
    table(page, "Figures of the runs side by side", &rows, true)
}

/// What became of every request of each run.
pub(super) fn ledgers(page: &ComparePage) -> AnyView {
    let of = |pick: &dyn Fn(&ResultDoc) -> u64| {
        page.runs.iter().map(|r| r.result.as_ref().map(|d| pick(d) as f64)).collect::<Vec<_>>()
    };
    let row = |label: &'static str, values| Row { label, values, figure: None, show: count, show_change: count };
    let mut rows = vec![
        row("Planned", of(&|r| r.ledger.planned)),
        row("Dropped", of(&|r| r.ledger.dropped)),
        row("Sent", of(&|r| r.ledger.sent)),
    ];
    let names = outcomes(&oleada_engine::window::Ledger::default());
    for (i, (label, ..)) in names.into_iter().enumerate() {
        rows.push(row(label, of(&|r| outcomes(&r.ledger).get(i).map_or(0, |o| o.2))));
    }
    table(page, "Ledgers side by side", &rows, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_words_for_every_case() {
        let ms = |value, first| difference(value, first, format::number);
        assert_eq!(ms(Some(15.0), Some(10.0)), "+5 (+50 %)");
        assert_eq!(ms(Some(5.0), Some(10.0)), "−5 (−50 %)");
        assert_eq!(ms(Some(5.0), Some(0.0)), "+5 (new)");
        assert_eq!(ms(Some(0.0), Some(5.0)), "−5 (−100 %)");
        assert_eq!(ms(Some(0.0), Some(0.0)), "no difference");
        assert_eq!(
            (ms(None, Some(1.0)), ms(Some(1.0), None), ms(None, None)),
            ("no data".into(), "new".into(), "no data".into())
        );
        assert_eq!(difference(Some(0.02), Some(0.01), points), "+1 points (+100 %)");
    }
}

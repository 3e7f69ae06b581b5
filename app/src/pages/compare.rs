//! Two to eight runs side by side.

use leptos::prelude::*;
use oleada_engine::plan::limits;
use oleada_engine::result::{PlanDoc, Point, ResultDoc};

use super::report::{distribution, outcomes};
use crate::chart::report;
use crate::format;
use crate::islands::RunChart;
use crate::shell::{Head, document};
use crate::ui::badge::run_badge;
use crate::ui::runs::run_table;
use crate::ui::table::scroll;
use crate::ui::time::maybe_moment;
use crate::ui::words;
use crate::view::{Chrome, RunRow, RunState};

/// One run to compare.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Id.
    pub id: String,
    /// The test's name.
    pub test_name: String,
    /// Where it is; runs that are not over are shown as far as they are.
    pub state: RunState,
    /// When load began, unix milliseconds.
    pub started_at: Option<i64>,
    /// What ran.
    pub plan: PlanDoc,
    /// Its result, if anything was measured.
    pub result: Option<ResultDoc>,
    /// Its seconds.
    pub points: Vec<Point>,
}

/// `GET /compare?run=a&run=b`.
#[derive(Clone, Debug, Default)]
pub struct ComparePage {
    /// The runs in the order asked for; the first is what the others are compared with. Fewer than two shows the chooser alone.
    pub runs: Vec<ComparedRun>,
    /// Latest runs to choose from.
    pub candidates: Vec<RunRow>,
    /// What was wrong with the choice, in a sentence (unknown run, more than eight).
    pub problem: Option<String>,
}

/// Samples of a line; eight runs over each other need fewer.
const COLUMNS: usize = 450;

/// Draws the page.
pub fn render(chrome: &Chrome, page: &ComparePage) -> String {
    document(chrome, &Head::private("Compare runs").class("wide"), || {
        view! {
            <p class="crumbs"><a href="/runs">"Runs"</a></p>
            <h1>"Compare runs"</h1>
            {page.problem.clone().map(|p| view! { <div class="note-box bad" role="alert"><p>{p}</p></div> })}
            {if page.runs.len() >= limits::COMPARED_RUNS.0 { comparison(&page.runs) } else { ().into_any() }}
            {(page.candidates.len() > 1).then(|| view! {
                <section class="no-print">
                    <h2>{if page.runs.len() < 2 { "Choose runs to compare" } else { "Compare others" }}</h2>
                    {run_table("Runs to choose from", &page.candidates, true, true)}
                </section>
            })}
        }
        .into_any()
    })
}

/// `A`, `B`, …
fn letter(index: usize) -> char {
    char::from(b'A' + (index % 26) as u8)
}

fn name(index: usize, run: &ComparedRun) -> String {
    format!("{} · {}", letter(index), run.test_name)
}

fn comparison(runs: &[ComparedRun]) -> AnyView {
    view! {
        <section aria-labelledby="figures-title">
            <h2 id="figures-title">"Figures side by side"</h2>
            <p class="muted">"Differences are to the first run, "{letter(0).to_string()}". A filled triangle is a better value, an open one a worse one."</p>
            {figures(runs)}
        </section>
        <section aria-labelledby="curves-title">
            <h2 id="curves-title">"Second by second"</h2>
            {curves(runs)}
        </section>
        <section aria-labelledby="compare-ledger-title">
            <h2 id="compare-ledger-title">"What became of every request"</h2>
            {ledgers(runs)}
        </section>
        <section aria-labelledby="plans-title">
            <h2 id="plans-title">"What differs between the plans"</h2>
            {plans(runs)}
        </section>
    }
    .into_any()
}

/// Which way a figure is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Better {
    Higher,
    Lower,
    Neither,
}

/// How a value differs from the first run's: absolute and relative, in words, and its class.
fn difference(
    value: Option<f64>,
    first: Option<f64>,
    better: Better,
    show: fn(f64) -> String,
) -> (String, &'static str) {
    let (Some(value), Some(first)) = (value, first) else { return (format::NONE.to_owned(), "same") };
    let change = value - first;
    if change.abs() < 0.0005 * first.abs().max(1e-9) || change == 0.0 {
        return ("no difference".to_owned(), "same");
    }
    let sign = if change > 0.0 { "+" } else { "−" };
    let relative = if first == 0.0 {
        "new".to_owned()
    } else {
        format!("{sign}{} %", format::number((change / first * 100.0).abs()))
    };
    let class = match (better, change > 0.0) {
        (Better::Neither, _) => "same",
        (Better::Higher, true) | (Better::Lower, false) => "better",
        _ => "worse",
    };
    (format!("{sign}{} ({relative})", show(change.abs())), class)
}

struct Row {
    label: &'static str,
    values: Vec<Option<f64>>,
    better: Better,
    show: fn(f64) -> String,
    /// How a difference is written.
    show_change: fn(f64) -> String,
}

fn head(runs: &[ComparedRun]) -> AnyView {
    let cells = runs
        .iter()
        .enumerate()
        .map(|(i, run)| {
            view! {
                <th scope="col" class="num">
                    <span class=format!("run-key r-{}", i % 8)>{letter(i).to_string()}</span>
                    " "<a href=format!("/runs/{}", run.id)>{run.test_name.clone()}</a>
                    <span class="sub">{maybe_moment(run.started_at)}</span>
                    {run_badge(run.state, None)}
                </th>
            }
        })
        .collect_view();
    view! { <thead><tr><th scope="col"><span class="visually-hidden">"Figure"</span></th>{cells}</tr></thead> }
        .into_any()
}

fn body(rows: &[Row]) -> AnyView {
    rows.iter()
        .map(|row| {
            let first = row.values.first().copied().flatten();
            let cells = row
                .values
                .iter()
                .enumerate()
                .map(|(i, value)| {
                    let text = value.map_or_else(|| format::NONE.to_owned(), row.show);
                    let (difference, class) = difference(*value, first, row.better, row.show_change);
                    view! {
                        <td class="num">{text}{(i > 0).then(|| view! { <span class=format!("diff {class}")>{difference}</span> })}</td>
                    }
                })
                .collect_view();
            view! { <tr><th scope="row">{row.label}</th>{cells}</tr> }
        })
        .collect_view()
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

fn figures(runs: &[ComparedRun]) -> AnyView {
    let of = |pick: &dyn Fn(&ResultDoc) -> Option<f64>| {
        runs.iter().map(|r| r.result.as_ref().and_then(pick)).collect::<Vec<_>>()
    };
    let mut rows = vec![
        Row {
            label: "Requests per second",
            values: of(&|r| r.requests_per_second),
            better: Better::Higher,
            show: plain,
            show_change: format::number,
        },
        Row {
            label: "Error share",
            values: of(&|r| (r.ledger.finished() > 0).then_some(r.error_rate)),
            better: Better::Lower,
            show: share,
            show_change: points,
        },
        Row {
            label: "Peak clients",
            values: of(&|r| Some(r.peak_clients as f64)),
            better: Better::Neither,
            show: count,
            show_change: count,
        },
        Row {
            label: "Length, s",
            values: of(&|r| Some(r.duration_s)),
            better: Better::Neither,
            show: format::number,
            show_change: format::number,
        },
    ];
    let labels = [
        "Smallest, ms",
        "Mean, ms",
        "Standard deviation, ms",
        "p50, ms",
        "p66, ms",
        "p75, ms",
        "p80, ms",
        "p90, ms",
        "p95, ms",
        "p98, ms",
        "p99, ms",
        "p99.9, ms",
        "Largest, ms",
    ];
    for (i, label) in labels.into_iter().enumerate() {
        rows.push(Row {
            label,
            values: of(&|r| distribution(&r.latency_ms).get(i).and_then(|(_, v)| *v)),
            better: Better::Lower,
            show: plain,
            show_change: format::number,
        });
    }
    rows.push(Row {
        label: "Received, MB",
        values: of(&|r| Some(r.bytes.received as f64 / 1e6)),
        better: Better::Neither,
        show: plain,
        show_change: format::number,
    });
    let table = view! {
        <table class="data compare">
            <caption class="visually-hidden">"Figures of the runs side by side"</caption>
            {head(runs)}
            <tbody>{body(&rows)}</tbody>
        </table>
    };
    scroll("Table of figures side by side", table.into_any())
}

fn curves(runs: &[ComparedRun]) -> AnyView {
    let named: Vec<(String, &[Point])> =
        runs.iter().enumerate().map(|(i, r)| (name(i, r), r.points.as_slice())).collect();
    if named.iter().all(|(_, points)| points.is_empty()) {
        return view! { <p class="muted">"None of these runs has any seconds to draw."</p> }.into_any();
    }
    let chart = |id: &str, title: &str, unit: &str, pick: fn(&Point) -> Option<f64>| {
        report::overlay(id, title, unit, &named, pick).thinned(COLUMNS)
    };
    view! {
        <RunChart chart=chart("c-p50", "Median response time (p50)", "ms", |p| p.p50) />
        <RunChart chart=chart("c-p95", "95th percentile (p95)", "ms", |p| p.p95) />
        <RunChart chart=chart("c-p99", "99th percentile (p99)", "ms", |p| p.p99) />
        <RunChart chart=chart("c-clients", "Clients", "", |p| Some(p.clients)) />
    }
    .into_any()
}

fn ledgers(runs: &[ComparedRun]) -> AnyView {
    let of = |pick: &dyn Fn(&ResultDoc) -> u64| {
        runs.iter().map(|r| r.result.as_ref().map(|d| pick(d) as f64)).collect::<Vec<_>>()
    };
    let neutral =
        |label: &'static str, values| Row { label, values, better: Better::Neither, show: count, show_change: count };
    let mut rows = vec![
        neutral("Planned", of(&|r| r.ledger.planned)),
        neutral("Dropped", of(&|r| r.ledger.dropped)),
        neutral("Sent", of(&|r| r.ledger.sent)),
    ];
    let names = outcomes(&oleada_engine::window::Ledger::default());
    for (i, (label, ..)) in names.into_iter().enumerate() {
        let values = of(&|r| outcomes(&r.ledger).get(i).map_or(0, |o| o.2));
        rows.push(Row {
            label,
            values,
            better: if i == 0 { Better::Higher } else { Better::Lower },
            show: count,
            show_change: count,
        });
    }
    let table = view! {
        <table class="data compare">
            <caption class="visually-hidden">"Ledgers side by side"</caption>
            {head(runs)}
            <tbody>{body(&rows)}</tbody>
        </table>
    };
    scroll("Ledgers side by side", table.into_any())
}

fn plans(runs: &[ComparedRun]) -> AnyView {
    let all: Vec<Vec<(&'static str, String)>> = runs
        .iter()
        .map(|r| {
            let mut rows = words::plan_rows(&r.plan);
            let requests: Vec<String> = r.plan.requests.iter().map(|q| format!("{} {}", q.method, q.url)).collect();
            rows.insert(1, ("Requests", requests.join(", ")));
            rows
        })
        .collect();
    let mut labels: Vec<&'static str> = Vec::new();
    for (label, _) in all.iter().flatten() {
        if !labels.contains(label) {
            labels.push(label);
        }
    }
    let value = |rows: &[(&'static str, String)], label: &str| {
        rows.iter().find(|(l, _)| *l == label).map_or_else(|| format::NONE.to_owned(), |(_, v)| v.clone())
    };
    let differing: Vec<&'static str> =
        labels.into_iter().filter(|l| all.iter().any(|rows| value(rows, l) != value(&all[0], l))).collect();
    if differing.is_empty() {
        return view! { <p>"Nothing: all runs had the same plan."</p> }.into_any();
    }
    let rows = differing
        .into_iter()
        .map(|label| {
            let cells = all.iter().map(|rows| view! { <td class="break">{value(rows, label)}</td> }).collect_view();
            view! { <tr><th scope="row">{label}</th>{cells}</tr> }
        })
        .collect_view();
    let table = view! {
        <table class="data compare-plans">
            <caption class="visually-hidden">"Settings that differ"</caption>
            {head(runs)}
            <tbody>{rows}</tbody>
        </table>
    };
    scroll("Settings that differ", table.into_any())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_words_for_every_case() {
        let ms = |value, first| difference(value, first, Better::Lower, format::number);
        assert_eq!(ms(Some(15.0), Some(10.0)), ("+5 (+50 %)".into(), "worse"));
        assert_eq!(ms(Some(5.0), Some(10.0)), ("−5 (−50 %)".into(), "better"));
        assert_eq!(ms(Some(5.0), Some(0.0)), ("+5 (new)".into(), "worse"));
        assert_eq!(ms(Some(0.0), Some(0.0)), ("no difference".into(), "same"));
        assert_eq!(ms(None, Some(1.0)), ("–".into(), "same"));
        assert_eq!(difference(Some(0.02), Some(0.01), Better::Lower, points).0, "+1 points (+100 %)");
    }
}

//! Lists of runs.

use leptos::prelude::*;

use super::badge::run_badge;
use super::change::baseline_tag;
use super::spark::sparkline;
use super::table::scroll;
use super::time::moment_short;
use crate::format;
use crate::view::{Figures, RunRow};

/// What a list of runs has besides figures.
#[derive(Clone, Copy, Debug, Default)]
struct Columns {
    /// A box to tick.
    choose: bool,
    /// The test's name above the start.
    test: bool,
    /// The small drawing.
    spark: bool,
}

/// A table of runs. With `choose`, each has a box to tick and the whole is a form that leads to the comparison; `with_test`
/// adds the test's name above its start.
pub fn run_table(caption: &'static str, runs: &[RunRow], choose: bool, with_test: bool) -> AnyView {
    table(caption, runs, Columns { choose: choose && runs.len() > 1, test: with_test, spark: false })
}

/// A table of runs of any tests, with boxes to tick and the small drawings.
pub fn run_history(caption: &'static str, runs: &[RunRow]) -> AnyView {
    table(caption, runs, Columns { choose: runs.len() > 1, test: true, spark: true })
}

fn table(caption: &'static str, runs: &[RunRow], columns: Columns) -> AnyView {
    let rows = runs.iter().map(|run| row(run, columns)).collect_view();
    let table = view! {
        <table class=if columns.spark { "data runs history-table" } else { "data runs" }>
            <caption class="visually-hidden">{caption}</caption>
            <thead>
                <tr>
                    {columns.choose.then(|| view! { <th scope="col"><span class="visually-hidden">"Compare"</span></th> })}
                    <th scope="col">{if columns.test { "Test and start" } else { "Start" }}</th>
                    <th scope="col">"State"</th>
                    <th scope="col" class="num">"Requests/s"</th>
                    <th scope="col" class="num">"p50, ms"</th>
                    <th scope="col" class="num">"p95, ms"</th>
                    {columns.spark.then(|| view! { <th scope="col">"p95 over time"</th> })}
                    <th scope="col" class="num">"p99, ms"</th>
                    <th scope="col" class="num">"Errors"</th>
                    <th scope="col" class="num">"Length"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any();
    let table = scroll(caption, table);
    if !columns.choose {
        return table;
    }
    view! {
        <form method="get" action="/compare" class="choose">
            {table}
            <p class="form-actions">
                <button class="button quiet" type="submit">"Compare ticked runs"</button>
                <span class="hint">"Tick two to eight runs; the first ticked is what the others are compared with."</span>
            </p>
        </form>
    }
    .into_any()
}

/// Whether a run kept its limits, in a word; nothing without limits.
pub fn limits_word(passed: Option<bool>) -> Option<AnyView> {
    passed.map(|kept| {
        let (class, word) = if kept { ("sub kept", "✓ limits kept") } else { ("sub broken", "✗ limit broken") };
        view! { <span class=class>{word}</span> }.into_any()
    })
}

fn row(run: &RunRow, columns: Columns) -> AnyView {
    let Figures { requests_per_second, p50, p95, p99, error_rate } = run.figures.unwrap_or_default();
    let at = run.started_at.unwrap_or(run.created_at);
    let href = format!("/runs/{}", run.id);
    let label = format!("Compare the run of {}", format::Utc::from_unix_ms(at).words());
    let series = run
        .series_id
        .as_ref()
        .map(|id| view! { <span class="sub"><a href=format!("/series/{id}")>"part of a series"</a></span> });
    view! {
        <tr>
            {columns.choose.then(|| view! { <td class="tick-cell"><input type="checkbox" name="run" value=run.id.clone() aria-label=label /></td> })}
            {if columns.test {
                view! { <th scope="row"><a href=href>{run.test_name.clone()}</a><span class="sub when">{moment_short(at)}</span>{series}</th> }.into_any()
            } else {
                view! { <th scope="row" class="when"><a href=href>{moment_short(at)}</a>{series}</th> }.into_any()
            }}
            <td>{run_badge(run.state, run.position)}{limits_word(run.passed)}{run.is_baseline.then(|| view! { " "{baseline_tag()} })}</td>
            <td class="num">{format::maybe(requests_per_second)}</td>
            <td class="num">{format::maybe(p50)}</td>
            <td class="num">{format::maybe(p95)}</td>
            {columns.spark.then(|| view! { <td>{sparkline("p95 over time", &run.spark)}</td> })}
            <td class="num">{format::maybe(p99)}</td>
            <td class="num">{format::percent(error_rate)}</td>
            <td class="num">{run.duration_s.map_or_else(|| format::NONE.to_owned(), format::duration_s)}</td>
        </tr>
    }
    .into_any()
}

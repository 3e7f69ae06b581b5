//! The finished report, in the order a reader asks: how fast, did it pass, what limited it; then everything else.

use leptos::prelude::*;
use oleada_engine::distribution::Distribution;
use oleada_engine::result::ResultDoc;

use super::run::RunPage;
use crate::chart::overview::Overview;
use crate::chart::report::{self, Timing};
use crate::chart::{Chart, table};
use crate::islands::{Choosing, RunChart};
use crate::ui::time::moment;

pub mod apache;
mod failures;
mod generator;
mod headline;
pub mod ledger;
pub mod part;
mod requests;
pub mod times;

pub use ledger::outcomes;
pub use part::Part;
pub use times::distribution_rows as distribution;

/// Samples a drawn line may have per column of the widest drawing.
const COLUMNS: usize = 900;

/// What a report shows besides the result document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The seconds that its charts draw; `None` where the page holds all seconds.
    pub overview: Option<Overview>,
    /// How the times of the whole run are spread, where that is known.
    pub distribution: Option<Distribution>,
    /// The part of the run that was asked for.
    pub part: Part,
}

/// The whole report of a run, but for its plan.
pub fn body(page: &RunPage, result: &ResultDoc, overview: &Overview) -> AnyView {
    let path = page.path();
    let part = &page.details.part;
    let empty = overview.points.is_empty();
    view! {
        {part::section(part, result, &path)}
        {headline::figures(result)}
        {headline::verdict(result)}
        {notes(page)}
        {if empty {
            view! { <p class="muted">"No second of this run was recorded."</p> }.into_any()
        } else {
            main_chart(page, result, overview)
        }}
        <section aria-labelledby="ledger-title">
            <h2 id="ledger-title">"What became of every request"</h2>
            {ledger::ledger(&result.ledger)}
        </section>
        <section aria-labelledby="percentiles-title">
            <h2 id="percentiles-title">"Response times"</h2>
            {times::percentiles(result)}
            {times::spread(page.details.distribution.as_ref(), result)}
        </section>
        {(!empty).then(|| more_charts(part, result, overview))}
        <div class="columns">
            {times::phases(result)}
            {failures::statuses(result)}
        </div>
        {failures::errors(result)}
        {failures::examples(result)}
        {requests::requests(result)}
        {requests::conditions(result)}
        {requests::in_flight(result)}
        <div class="columns">
            {generator::traffic(result)}
            {generator::health(result)}
        </div>
    }
    .into_any()
}

fn notes(page: &RunPage) -> AnyView {
    let Some(text) = page.notes.as_deref().filter(|text| !text.trim().is_empty() && page.notes_error.is_none()) else {
        return ().into_any();
    };
    view! {
        <section class="note-box run-notes" aria-labelledby="notes-title">
            <h2 id="notes-title">"Notes"</h2>
            <p class="break written">{text.to_owned()}</p>
        </section>
    }
    .into_any()
}

fn timing(result: &ResultDoc, overview: &Overview) -> Timing {
    Timing::over(overview.stretch, result.duration_s)
}

fn choosing(part: &Part) -> Choosing {
    Choosing { possible: true, chosen: part.figures.as_ref().map(|f| (f.from, f.to)) }
}

fn chart(chart: Chart, part: &Part) -> AnyView {
    view! { <RunChart chart=chart.thinned(COLUMNS) choosing=choosing(part) /> }.into_any()
}

fn main_chart(page: &RunPage, result: &ResultDoc, overview: &Overview) -> AnyView {
    let Overview { points, facts, .. } = overview;
    let part = &page.details.part;
    let data = table::html(&overview.table, Some(result.duration_s));
    let asked = part.figures.is_some() || !part.errors.is_empty();
    let path = page.path();
    view! {
        {chart(report::response_times("times", points, timing(result, overview), facts), part)}
        <p class="muted chart-zero">
            "Charts run from the start of the run: 0:00 is "{page.started_at.map(moment)}"."
            {(overview.stretch > 1).then(|| format!(" Of every {} seconds those with the lowest and highest figures are drawn.", overview.stretch))}
        </p>
        <details class="chart-data"><summary>"The charts' data as a table"</summary><div class="table-box" role="region" tabindex="0" aria-label="Data of the charts" inner_html=data></div></details>
        {(!asked).then(|| view! { <details class="part-ask no-print"><summary>"Exact figures of a part of the run"</summary>{part::form(part, &path)}</details> })}
    }
    .into_any()
}

fn more_charts(part: &Part, result: &ResultDoc, overview: &Overview) -> AnyView {
    let Overview { points, facts, .. } = overview;
    let timing = timing(result, overview);
    view! {
        {chart(report::outcomes("outcomes", points, timing, facts), part)}
        {chart(report::bandwidth("bandwidth", points, timing, facts), part)}
    }
    .into_any()
}

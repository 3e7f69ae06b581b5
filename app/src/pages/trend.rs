//! One figure of a test over all of its runs.

use leptos::prelude::*;

use crate::chart::trend::{Dot, Trend};
use crate::format;
use crate::shell::{Head, document};
use crate::ui::badge::run_badge;
use crate::ui::change::baseline_tag;
use crate::ui::chart::still;
use crate::ui::table::scroll;
use crate::ui::time::moment_short;
use crate::view::{Chrome, RunState};

/// A figure that has a trend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrendFigure {
    /// Answered requests per second.
    Rate,
    /// Median latency.
    P50,
    /// 95th percentile.
    #[default]
    P95,
    /// 99th percentile.
    P99,
    /// Largest latency.
    Max,
    /// Share of errors.
    Errors,
    /// Requests that were answered ok.
    Ok,
    /// Bytes received per second.
    Bytes,
}

impl TrendFigure {
    /// Every figure, in the order they are offered.
    pub const ALL: [TrendFigure; 8] = [
        TrendFigure::Rate,
        TrendFigure::P50,
        TrendFigure::P95,
        TrendFigure::P99,
        TrendFigure::Max,
        TrendFigure::Errors,
        TrendFigure::Ok,
        TrendFigure::Bytes,
    ];

    /// The value of `figure` in the address.
    pub fn slug(self) -> &'static str {
        match self {
            TrendFigure::Rate => "rate",
            TrendFigure::P50 => "p50",
            TrendFigure::P95 => "p95",
            TrendFigure::P99 => "p99",
            TrendFigure::Max => "max",
            TrendFigure::Errors => "errors",
            TrendFigure::Ok => "ok",
            TrendFigure::Bytes => "bytes",
        }
    }

    /// The figure of this name, or the one that is shown when none is asked for.
    pub fn parse(text: &str) -> TrendFigure {
        TrendFigure::ALL.into_iter().find(|figure| figure.slug() == text).unwrap_or_default()
    }

    /// The words people see.
    pub fn label(self) -> &'static str {
        match self {
            TrendFigure::Rate => "Requests per second",
            TrendFigure::P50 => "Median (p50)",
            TrendFigure::P95 => "95th percentile (p95)",
            TrendFigure::P99 => "99th percentile (p99)",
            TrendFigure::Max => "Largest time",
            TrendFigure::Errors => "Error share",
            TrendFigure::Ok => "Answered ok",
            TrendFigure::Bytes => "Received per second",
        }
    }

    /// Unit of [`TrendRow::value`] on the axis; may be empty.
    fn unit(self) -> &'static str {
        match self {
            TrendFigure::Rate | TrendFigure::Ok => "",
            TrendFigure::P50 | TrendFigure::P95 | TrendFigure::P99 | TrendFigure::Max => "ms",
            TrendFigure::Errors => "%",
            TrendFigure::Bytes => "kB/s",
        }
    }

    /// A value with its unit.
    fn shown(self, value: Option<f64>) -> String {
        match value {
            Some(v) if !self.unit().is_empty() => format!("{} {}", format::number(v), self.unit()),
            value => format::maybe(value),
        }
    }
}

/// A run of the trend.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendRow {
    /// Id.
    pub id: String,
    /// When it began, unix milliseconds.
    pub at: i64,
    /// How it ended.
    pub state: RunState,
    /// The figure in its unit: requests, milliseconds, percent, kilobytes per second. `None` where the run has no value.
    pub value: Option<f64>,
    /// Whether the others are compared with it.
    pub is_baseline: bool,
    /// Whether its plan is not that of the run before.
    pub changed: bool,
    /// What was changed, in sentences; empty where that is not looked up. No secrets stand in them.
    pub changes: Vec<String>,
}

/// `GET /tests/{id}/trend?figure=p95`.
#[derive(Clone, Debug)]
pub struct TrendPage {
    /// Id of the test.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Which figure.
    pub figure: TrendFigure,
    /// The runs that are over and measured something, newest first.
    pub rows: Vec<TrendRow>,
    /// The baseline, also where it is older than the rows: id, moment, value.
    pub baseline: Option<(String, i64, Option<f64>)>,
    /// Whether there are older runs that are left out.
    pub cut: bool,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &TrendPage) -> String {
    let path = format!("/tests/{}", page.id);
    document(chrome, &Head::private(format!("Trend of {}", page.name)).class("wide"), || {
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a href=path.clone()>{page.name.clone()}</a></p>
            <h1 class="break">"Trend of "{page.name.clone()}</h1>
            {if page.rows.is_empty() {
                view! { <p class="muted">"No run of this test is over yet. (Those of series are not in a trend: their loads differ by intention.)"</p> }.into_any()
            } else {
                view! {
                    {choice(page)}
                    {still(chart(page).still())}
                    {notes(page)}
                    <section aria-labelledby="trend-runs-title">
                        <h2 id="trend-runs-title">"Runs"</h2>
                        {table(page)}
                    </section>
                }
                .into_any()
            }}
        }
        .into_any()
    })
}

fn choice(page: &TrendPage) -> AnyView {
    let links = TrendFigure::ALL.map(|figure| {
        let href = format!("/tests/{}/trend?figure={}", page.id, figure.slug());
        let current = (figure == page.figure).then_some("true");
        view! { <a class="button quiet small" href=href aria-current=current>{figure.label()}</a> }
    });
    view! { <nav class="align no-print" aria-label="Figure">{links.collect_view()}</nav> }.into_any()
}

fn chart(page: &TrendPage) -> Trend {
    let figure = page.figure;
    let dots = page.rows.iter().rev().map(|row| Dot {
        at: row.at,
        value: row.value,
        href: format!("/runs/{}", row.id),
        title: format!("{}: {}", format::Utc::from_unix_ms(row.at).words(), figure.shown(row.value)),
        changed: row.changed,
        whole: row.state == RunState::Finished,
    });
    let unit = figure.unit();
    let up = if unit.is_empty() { figure.label().to_owned() } else { format!("{} in {unit}", figure.label()) };
    let baseline = page.baseline.as_ref().and_then(|(.., value)| *value);
    Trend { title: figure.label().to_owned(), up, dots: dots.collect(), baseline }
}

fn notes(page: &TrendPage) -> AnyView {
    let baseline = page.baseline.as_ref().map(|(id, at, _)| {
        view! { <p class="muted">"The baseline is "<a href=format!("/runs/{id}")>"the run of "{moment_short(*at)}</a>"."</p> }
    });
    let cut = page.cut.then(|| {
        let count = format::count(page.rows.len() as u64);
        view! { <p class="muted">{format!("The latest {count} runs are shown; there are older ones.")}</p> }
    });
    view! { {baseline}{cut} }.into_any()
}

/// The difference to the baseline, as a share.
fn to_baseline(page: &TrendPage, row: &TrendRow) -> String {
    let baseline = page.baseline.as_ref().and_then(|(.., value)| *value);
    match (row.value, baseline) {
        _ if row.is_baseline => "the baseline".to_owned(),
        (Some(value), Some(base)) if value == base => "no difference".to_owned(),
        (Some(_), Some(0.0)) => "new".to_owned(),
        (Some(value), Some(base)) => {
            let share = (value / base - 1.0) * 100.0;
            let sign = if share < 0.0 { "−" } else { "+" };
            format!("{sign}{} %", format::number(share.abs()))
        }
        _ => format::NONE.to_owned(),
    }
}

fn table(page: &TrendPage) -> AnyView {
    let with_baseline = page.baseline.is_some();
    let rows = page
        .rows
        .iter()
        .map(|row| {
            let compare = page.baseline.as_ref().filter(|(id, ..)| *id != row.id).map(|(id, ..)| {
                let label =
                    format!("Compare the run of {} with the baseline", format::Utc::from_unix_ms(row.at).words());
                view! { " "<a href=format!("/compare?run={id}&run={}", row.id) aria-label=label>"compare"</a> }
            });
            let changes = match (row.changed, row.changes.as_slice()) {
                (false, _) => ().into_any(),
                (true, []) => "The plan was changed".into_any(),
                (true, sentences) => {
                    let list = sentences.iter().map(|text| view! { <li>{text.clone()}</li> }).collect_view();
                    view! { <ul class="changes">{list}</ul> }.into_any()
                }
            };
            view! {
                <tr>
                    <th scope="row" class="when"><a href=format!("/runs/{}", row.id)>{moment_short(row.at)}</a></th>
                    <td>{run_badge(row.state, None)}{row.is_baseline.then(|| view! { " "{baseline_tag()} })}</td>
                    <td class="num">{page.figure.shown(row.value)}</td>
                    {with_baseline.then(|| view! { <td class="num">{to_baseline(page, row)}{compare}</td> })}
                    <td class="break">{changes}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data runs trend">
            <caption class="visually-hidden">"Runs of this test"</caption>
            <thead>
                <tr>
                    <th scope="col">"Start"</th>
                    <th scope="col">"State"</th>
                    <th scope="col" class="num">{page.figure.label()}</th>
                    {with_baseline.then(|| view! { <th scope="col" class="num">"To the baseline"</th> })}
                    <th scope="col">"Changed since the run before"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    };
    scroll("Runs of this test", table.into_any())
}

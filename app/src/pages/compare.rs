//! Two to eight runs side by side.

use leptos::prelude::*;
use oleada_engine::plan::limits;
use oleada_engine::result::{PlanDoc, Point, ResultDoc};
use oleada_engine::significance::Change;

use crate::shell::{Head, document};
use crate::ui::badge::run_badge;
use crate::ui::change::{baseline_tag, summary};
use crate::ui::runs::run_table;
use crate::ui::time::maybe_moment;
use crate::view::{Chrome, RunRow, RunState};

mod curves;
mod figures;
mod likeness;
mod plans;

/// One run to compare.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Id.
    pub id: String,
    /// The test it belongs to; `None` once that was deleted.
    pub test_id: Option<String>,
    /// The test's name.
    pub test_name: String,
    /// Where it is; runs that are not over are shown as far as they are.
    pub state: RunState,
    /// Whether the other runs of its test are compared with it.
    pub is_baseline: bool,
    /// When load began, unix milliseconds.
    pub started_at: Option<i64>,
    /// What ran.
    pub plan: PlanDoc,
    /// Its result, if anything was measured.
    pub result: Option<ResultDoc>,
    /// Its seconds; of a long run those that stick out.
    pub points: Vec<Point>,
    /// Of each stretch of so many seconds some are among the points; 1 where all are.
    pub stretch: u32,
    /// What differs from the first run; `None` for the first itself, and where one is not over or has measured nothing.
    pub changes: Option<[Change; 5]>,
    /// What was changed from the first run's plan to this one's, in sentences. No secrets stand in them.
    pub plan_changes: Vec<String>,
}

/// Along what curves are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Seconds since each run's start.
    #[default]
    Time,
    /// The load in a second.
    Load,
}

impl Align {
    /// The value of `align` in the address.
    pub fn parse(text: &str) -> Align {
        if text == "load" { Align::Load } else { Align::Time }
    }
}

/// `GET /compare?run=…&run=…&align=load`.
#[derive(Clone, Debug, Default)]
pub struct ComparePage {
    /// The runs in the order asked for; the first is what the others are compared with. Fewer than two shows the chooser alone.
    pub runs: Vec<ComparedRun>,
    /// Along what curves are drawn.
    pub align: Align,
    /// Latest runs to choose from.
    pub candidates: Vec<RunRow>,
    /// What was wrong with the choice, in a sentence (unknown run, more than eight).
    pub problem: Option<String>,
}

impl ComparePage {
    /// The address of the same page with these of its runs.
    fn href(&self, runs: impl IntoIterator<Item = usize>, align: Align) -> String {
        let mut pairs: Vec<String> =
            runs.into_iter().filter_map(|i| self.runs.get(i)).map(|run| format!("run={}", run.id)).collect();
        if align == Align::Load {
            pairs.push("align=load".to_owned());
        }
        format!("/compare?{}", pairs.join("&"))
    }

    fn others(&self, index: usize) -> impl Iterator<Item = usize> {
        (0..self.runs.len()).filter(move |i| *i != index)
    }
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &ComparePage) -> String {
    document(chrome, &Head::private("Compare runs").class("wide"), || {
        view! {
            <p class="crumbs"><a href="/runs">"Runs"</a></p>
            <h1>"Compare runs"</h1>
            {page.problem.clone().map(|p| view! { <div class="note-box bad" role="alert"><p>{p}</p></div> })}
            {if page.runs.len() >= limits::COMPARED_RUNS.0 { comparison(page) } else { ().into_any() }}
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

fn key(index: usize) -> AnyView {
    view! { <span class=format!("run-key r-{}", index % 8)>{letter(index).to_string()}</span> }.into_any()
}

fn comparison(page: &ComparePage) -> AnyView {
    let runs = &page.runs;
    view! {
        {likeness::banner(runs)}
        <section aria-labelledby="changes-title">
            <h2 id="changes-title">"What changed"</h2>
            {findings(page)}
        </section>
        <section aria-labelledby="figures-title">
            <h2 id="figures-title">"Figures side by side"</h2>
            <p class="muted">"Differences are to the first run, "{letter(0).to_string()}". A filled triangle is a better value, an open one a worse one; values without a triangle are the same, within the noise, or not judged."</p>
            {figures::figures(page)}
        </section>
        <section aria-labelledby="curves-title">
            <h2 id="curves-title">{if page.align == Align::Load { "By load" } else { "Second by second" }}</h2>
            {curves::curves(page)}
        </section>
        <section aria-labelledby="compare-ledger-title">
            <h2 id="compare-ledger-title">"What became of every request"</h2>
            {figures::ledgers(page)}
        </section>
        <section aria-labelledby="plans-title">
            <h2 id="plans-title">"What differs between the plans"</h2>
            {plans::plans(page)}
        </section>
    }
    .into_any()
}

/// One paragraph for each run but the first.
fn findings(page: &ComparePage) -> AnyView {
    let told = |i: usize, run: &ComparedRun| {
        let parts = match &run.changes {
            Some(changes) => summary(changes),
            None if !run.state.is_over() || page.runs.first().is_some_and(|first| !first.state.is_over()) => {
                vec!["is told once both runs are over".to_owned()]
            }
            None => vec!["no data".to_owned()],
        };
        let parts = parts.into_iter().map(|part| view! { <li>{part}</li> }).collect_view();
        view! {
            <li>
                <p>{key(i)}" beside "{key(0)}":"</p>
                <ul class="changes">{parts}</ul>
            </li>
        }
    };
    let rows = page.runs.iter().enumerate().skip(1).map(|(i, run)| told(i, run)).collect_view();
    view! {
        <ul class="plain findings-list">{rows}</ul>
        <details class="explain-details">
            <summary>"How this is told"</summary>
            <p>"Blocks of neighbouring seconds of each run are drawn anew at random, a thousand times, each from around its place, and every figure is computed again. The range in brackets is where the true difference lies; all ranges of two runs together hold with 95 % confidence. If a range includes no change, there is no evidence of one. It covers the noise within the runs: what differs from one run to the next and stays so, such as another program on the machine, shows only when the same thing is run again."</p>
        </details>
    }
    .into_any()
}

/// The head of every table: the runs, and how to order them otherwise.
fn head(page: &ComparePage, with_links: bool) -> AnyView {
    let many = page.runs.len() > limits::COMPARED_RUNS.0;
    let cells = page
        .runs
        .iter()
        .enumerate()
        .map(|(i, run)| {
            let first = page.href(std::iter::once(i).chain(page.others(i)), page.align);
            let without = page.href(page.others(i), page.align);
            view! {
                <th scope="col" class="num">
                    {key(i)}" "<a href=format!("/runs/{}", run.id)>{run.test_name.clone()}</a>
                    <span class="sub">{maybe_moment(run.started_at)}</span>
                    {run_badge(run.state, None)}
                    {run.is_baseline.then(baseline_tag)}
                    {with_links.then(|| view! {
                        <span class="sub no-print">
                            {if i == 0 {
                                view! { "the reference" }.into_any()
                            } else {
                                view! { <a href=first>"Make this the reference"</a> }.into_any()
                            }}
                            {many.then(|| view! { " · "<a href=without aria-label=format!("Leave {} out", letter(i))>"Leave out"</a> })}
                        </span>
                    })}
                </th>
            }
        })
        .collect_view();
    view! { <thead><tr><th scope="col"><span class="visually-hidden">"Figure"</span></th>{cells}</tr></thead> }
        .into_any()
}

//! One run: live while it is under way, its report afterwards; for its owner, or for anybody who has the link.

use leptos::prelude::*;
use oleada_engine::result::{PlanDoc, Point, ResultDoc};

use super::report::{self, Details};
use crate::chart::overview::Overview;
use crate::chart::timeline::Timeline;
use crate::format;
use crate::islands::LiveReport;
use crate::live::StateEvent;
use crate::shell::{Head, document};
use crate::ui::badge::run_badge;
use crate::ui::form::{error_summary, text_area};
use crate::ui::runs::run_table;
use crate::ui::table::facts;
use crate::ui::time::{maybe_moment, moment};
use crate::ui::words;
use crate::view::{Chrome, FieldError, RunRow, RunState};

/// Who looks at a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner, with all controls.
    Owner {
        /// Path of the public link, such as `/r/{token}`, if there is one.
        share_path: Option<String>,
        /// The same with scheme and host, for copying.
        share_url: Option<String>,
    },
    /// Anybody who has the link.
    Public {
        /// The link's token.
        token: String,
    },
}

/// What is different from the plan of the run before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanChange {
    /// Id of the run before; `None` on public pages.
    pub before_id: Option<String>,
    /// When it began, unix milliseconds.
    pub at: i64,
    /// The changes; never empty. No secrets stand in them.
    pub sentences: Vec<String>,
}

/// `GET /runs/{id}` and `GET /r/{token}`.
#[derive(Clone, Debug)]
pub struct RunPage {
    /// Id of the run; never shown on public pages.
    pub id: String,
    /// The test it belongs to; `None` once that was deleted.
    pub test_id: Option<String>,
    /// The series it is part of; `None` on public pages.
    pub series_id: Option<String>,
    /// The test's name when the run was made.
    pub test_name: String,
    /// Where it is.
    pub state: RunState,
    /// Place in the queue from 1, while queued.
    pub position: Option<u32>,
    /// Why it was refused or interrupted, in a sentence.
    pub state_detail: Option<String>,
    /// When it was asked for, unix milliseconds.
    pub created_at: i64,
    /// When load began, unix milliseconds.
    pub started_at: Option<i64>,
    /// When it was over, unix milliseconds.
    pub finished_at: Option<i64>,
    /// Seconds of load so far.
    pub elapsed_s: f64,
    /// The plan as it may be shown: `PlanDoc::of` leaves secrets out.
    pub plan: PlanDoc,
    /// The seconds so far, in order; all of them once it is over.
    pub points: Vec<Point>,
    /// The result, once it is over and anything was measured.
    pub result: Option<ResultDoc>,
    /// What else the report shows, once the run is over.
    pub details: Details,
    /// What its owner wrote about the run; `None` where that is not to be shown.
    pub notes: Option<String>,
    /// Why the notes just typed were not kept; they stand in `notes`.
    pub notes_error: Option<String>,
    /// What is different from the plan of the run before; `None` if it was the same, or there is none.
    pub changed: Option<PlanChange>,
    /// Who looks.
    pub access: Access,
    /// Runs of the same test that are over, this one included, newest first; empty on public pages.
    pub siblings: Vec<RunRow>,
}

/// Most seconds sent to a live page at first; beyond them neighbours are joined.
const LIVE_ROWS: usize = 1800;

impl RunPage {
    fn is_public(&self) -> bool {
        matches!(self.access, Access::Public { .. })
    }

    /// Path of this page; its events are below it.
    pub(super) fn path(&self) -> String {
        match &self.access {
            Access::Owner { .. } => format!("/runs/{}", self.id),
            Access::Public { token } => format!("/r/{token}"),
        }
    }
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &RunPage) -> String {
    let over = page.state.is_over();
    let head = Head {
        title: page.test_name.clone(),
        description: if page.is_public() {
            format!("Load test report: {}", words::plan_sentence(&page.plan))
        } else {
            String::new()
        },
        private: true,
        class: "report",
        // Without a script the page fetches itself again; with one, the island is quicker.
        refresh_s: (!over).then_some(5),
        ..Head::default()
    };
    // The seconds in the page itself, unless the server had fewer to send.
    let kept = page.details.overview.as_ref();
    let overview = kept.is_none().then(|| Overview::of(if over { &page.points } else { &[] }));
    let overview = kept.or(overview.as_ref());
    document(chrome, &head, || {
        view! {
            {notes_errors(page)}
            {(!page.is_public()).then(|| crumbs(page))}
            <div class="page-head">
                <div>
                    <h1 class="break">{page.test_name.clone()}</h1>
                    <p class="run-line">{over.then(|| run_badge(page.state, page.position))} <span>{words::plan_sentence(&page.plan)}</span></p>
                </div>
                {(!page.is_public()).then(|| actions(page, over))}
            </div>
            {if over { finished(page, overview) } else { live(page) }}
            {page.changed.as_ref().map(|change| changed(change, &page.id))}
            <section aria-labelledby="plan-title">
                <h2 id="plan-title">"The plan"</h2>
                {words::plan_facts(&page.plan)}
            </section>
            {over.then(|| Some(report::apache::block(page.result.as_ref()?, &overview?.facts)))}
            {(over && !page.is_public()).then(|| owner_only(page))}
        }
        .into_any()
    })
}

fn crumbs(page: &RunPage) -> AnyView {
    let test =
        page.test_id.as_ref().map(|id| view! { " / "<a href=format!("/tests/{id}")>{page.test_name.clone()}</a> });
    let series = page.series_id.as_ref().map(|id| view! { " / "<a href=format!("/series/{id}")>"Series"</a> });
    view! { <p class="crumbs"><a href="/tests">"Tests"</a>{test}{series}</p> }.into_any()
}

fn actions(page: &RunPage, over: bool) -> AnyView {
    let path = page.path();
    if !over {
        let stoppable = page.state != RunState::Draining;
        let words = if page.state == RunState::Queued { "Take out of the queue" } else { "Stop the run" };
        return view! {
            <div class="actions">
                {stoppable.then(|| view! { <form method="post" action=format!("{path}/stop")><button class="button danger" type="submit">{words}</button></form> })}
            </div>
        }
        .into_any();
    }
    let compare = page
        .siblings
        .iter()
        .find(|r| r.created_at < page.created_at)
        .map(|r| format!("/compare?run={}&run={}", r.id, page.id));
    view! {
        <div class="actions">
            {page.test_id.as_ref().map(|id| view! { <form method="post" action=format!("/tests/{id}/run")><button class="button" type="submit">"Run again"</button></form> })}
            {compare.map(|href| view! { <a class="button quiet" href=href>"Compare with the run before"</a> })}
            {page.result.is_some().then(|| view! { <a class="button quiet" href=format!("{path}/result.json")>"JSON"</a> })}
        </div>
    }
    .into_any()
}

fn live(page: &RunPage) -> AnyView {
    let state = StateEvent {
        state: page.state,
        position: page.position,
        elapsed_s: page.elapsed_s,
        duration_s: page.plan.duration_s,
        end_reason: None,
    };
    let timeline = Timeline::of(&page.points, LIVE_ROWS);
    view! { <LiveReport events=format!("{}/events", page.path()) timeline=timeline state=state /> }.into_any()
}

fn finished(page: &RunPage, overview: Option<&Overview>) -> AnyView {
    let times = facts(vec![
        ("Asked for", moment(page.created_at)),
        ("Started", maybe_moment(page.started_at)),
        ("Ended", maybe_moment(page.finished_at)),
        (
            "Length",
            page.result
                .as_ref()
                .map_or_else(|| format::NONE.to_owned(), |r| format::duration_s(r.duration_s))
                .into_any(),
        ),
    ]);
    view! {
        // With a result, its verdict says how the run ended.
        {(page.state != RunState::Finished && (page.result.is_none() || page.state_detail.is_some())).then(|| view! {
            <div class="note-box warn">
                <p><strong>{page.state.label()}"."</strong>" "{page.state.explanation()} {page.state_detail.clone().map(|d| format!(" {d}"))}</p>
            </div>
        })}
        {match page.result.as_ref().zip(overview) {
            Some((result, overview)) => report::body(page, result, overview),
            None => view! { <p class="muted">"Nothing was measured."</p> }.into_any(),
        }}
        <section aria-labelledby="times-title"><h2 id="times-title">"When"</h2>{times}</section>
    }
    .into_any()
}

fn changed(change: &PlanChange, id: &str) -> AnyView {
    let sentences = change.sentences.iter().map(|text| view! { <li>{text.clone()}</li> }).collect_view();
    let compare = change.before_id.as_ref().map(|before| {
        view! { <p class="no-print"><a href=format!("/compare?run={before}&run={id}")>"Compare the two runs"</a></p> }
    });
    view! {
        <section aria-labelledby="changed-title">
            <h2 id="changed-title">"Changed since the previous run"</h2>
            <p class="muted">"The run of "{moment(change.at)}" had another plan. Since then:"</p>
            <ul class="changes">{sentences}</ul>
            {compare}
        </section>
    }
    .into_any()
}

fn errors_of_notes(page: &RunPage) -> Vec<FieldError> {
    page.notes_error.iter().map(|message| FieldError { field: "notes".into(), message: message.clone() }).collect()
}

fn notes_errors(page: &RunPage) -> AnyView {
    error_summary(&errors_of_notes(page), |_| "The notes".to_owned())
}

fn notes_form(page: &RunPage) -> AnyView {
    let text = page.notes.clone().unwrap_or_default();
    let hint = "What was special about this run: a release, a setting, a suspicion. Shown on the report.";
    view! {
        <section class="panel no-print" aria-labelledby="notes-form-title">
            <h2 id="notes-form-title">"Notes on this run"</h2>
            <form method="post" action=format!("{}/notes", page.path())>
                {text_area("notes", "Notes", hint, 4, &text, &errors_of_notes(page))}
                <button class="button quiet" type="submit">"Keep the notes"</button>
            </form>
        </section>
    }
    .into_any()
}

fn owner_only(page: &RunPage) -> AnyView {
    let path = page.path();
    let Access::Owner { share_path, share_url } = &page.access else { return ().into_any() };
    let share = match (share_path, share_url) {
        (Some(href), url) => {
            let shown = url.clone().unwrap_or_else(|| href.clone());
            view! {
                <p>"Anybody who has this link can see the report, without signing in:"</p>
                <div class="copyable">
                    <code id="share-link" tabindex="0">{shown}</code>
                    <button class="button quiet small" type="button" data-copy="share-link" hidden>"Copy"</button>
                    <a class="button quiet small" href=href.clone()>"Open"</a>
                </div>
                <form method="post" action=format!("{path}/unshare")><button class="button quiet" type="submit">"Revoke the link"</button></form>
            }
            .into_any()
        }
        _ => view! {
            <p>"Make a link that shows this report to anybody who has it, without signing in. You can revoke it at any time."</p>
            <form method="post" action=format!("{path}/share")><button class="button" type="submit">"Create a public link"</button></form>
        }
        .into_any(),
    };
    view! {
        {notes_form(page)}
        <section class="panel no-print" aria-labelledby="share-title"><h2 id="share-title">"Share"</h2>{share}</section>
        {(page.siblings.len() > 1).then(|| view! {
            <section class="no-print"><h2>"Compare with other runs of this test"</h2>{run_table("Runs of this test", &page.siblings, true, false)}</section>
        })}
        <section class="danger no-print">
            <h2>"Delete this run"</h2>
            <p>"Its report and its public link go with it."</p>
            <form method="post" action=format!("{path}/delete") data-confirm="Delete this run and its report?"><button class="button danger" type="submit">"Delete run"</button></form>
        </section>
    }
    .into_any()
}

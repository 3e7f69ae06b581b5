//! One run: live while it is under way, its report afterwards; for its owner, or for anybody who has the link.

pub mod export;
pub mod share;
pub mod summary;

use leptos::prelude::*;
use oleada_engine::result::{PlanDoc, Point, ResultDoc};

use self::share::{ShareForm, ShareLink};
use super::report::{self, Details};
use crate::chart::overview::Overview;
use crate::chart::timeline::Timeline;
use crate::format;
use crate::islands::LiveReport;
use crate::live::StateEvent;
use crate::shell::{Head, Preview, document};
use crate::ui::badge::run_badge;
use crate::ui::change::{self, Against, baseline_tag};
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
        /// The public link, if there is one.
        share: Option<ShareLink>,
        /// The form of the link as typed, where it was not understood.
        form: Option<ShareForm>,
    },
    /// Anybody who has the link.
    Public {
        /// The link's token.
        token: String,
        /// The link with scheme and host, for previews.
        url: String,
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
    /// Whether the other runs of its test are compared with it; false on public pages.
    pub is_baseline: bool,
    /// How it differs from the baseline of its test; `None` on public pages.
    pub against: Option<Against>,
    /// Who looks.
    pub access: Access,
    /// Runs of the same test that are over, this one included, newest first; empty on public pages.
    pub siblings: Vec<RunRow>,
}

/// Size of the picture of a public link in pixels.
pub const PICTURE: (u32, u32) = (1200, 630);

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
            Access::Public { token, .. } => format!("/r/{token}"),
        }
    }
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &RunPage) -> String {
    let over = page.state.is_over();
    let (description, preview) = match &page.access {
        Access::Owner { .. } => (String::new(), None),
        Access::Public { url, .. } => {
            let picture = format!("{url}/picture.png");
            let says = match &page.result {
                Some(result) => summary::sentence(result),
                None => page.state.explanation().to_owned(),
            };
            (says, Some(Preview { url: url.clone(), picture, size: PICTURE }))
        }
    };
    let head = Head {
        title: page.test_name.clone(),
        description,
        preview,
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
                    <p class="run-line">{over.then(|| run_badge(page.state, page.position))} {page.is_baseline.then(baseline_tag)} <span>{words::plan_sentence(&page.plan)}</span></p>
                    {page.against.as_ref().map(change::against_line)}
                </div>
                {(!page.is_public()).then(|| actions(page, over))}
            </div>
            {if over { finished(page, overview) } else { live(page) }}
            {page.against.as_ref().map(|against| change::against("This run", against))}
            {page.changed.as_ref().map(|change| changed(change, &page.id))}
            <section aria-labelledby="plan-title">
                <h2 id="plan-title">"The plan"</h2>
                {words::plan_facts(&page.plan)}
            </section>
            {over.then(|| Some(report::apache::block(page.result.as_ref()?, &overview?.facts)))}
            {over.then(|| export::panel(page))}
            {share::panel(page)}
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
            {page.test_id.as_ref().map(|id| view! { <a class="button quiet" href=format!("/tests/{id}/trend")>"Trend of this test"</a> })}
            {(page.test_id.is_some() && page.result.is_some()).then(|| baseline_form(&path, page.is_baseline))}
            {page.result.is_some().then(|| view! { <a class="button quiet" href="#export-title">"Downloads"</a> })}
        </div>
    }
    .into_any()
}

fn baseline_form(path: &str, is_baseline: bool) -> AnyView {
    let (action, words) =
        if is_baseline { ("unbaseline", "Not the baseline") } else { ("baseline", "Make it the baseline") };
    view! {
        <form method="post" action=format!("{path}/{action}")>
            <button class="button quiet" type="submit" title="Other runs of this test are compared with its baseline.">{words}</button>
        </form>
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
    let shared = matches!(&page.access, Access::Owner { share: Some(_), .. });
    view! {
        {notes_form(page)}
        {(page.siblings.len() > 1).then(|| view! {
            <section class="no-print"><h2>"Compare with other runs of this test"</h2>{run_table("Runs of this test", &page.siblings, true, false)}</section>
        })}
        <section class="danger no-print">
            <h2>"Delete this run"</h2>
            <p>"Its report goes with it, and its public link shows nothing any more."</p>
            {if shared {
                view! { <p><a class="button danger" href=format!("{path}/delete")>"Delete run"</a></p> }.into_any()
            } else {
                view! { <form method="post" action=format!("{path}/delete") data-confirm="Delete this run and its report?"><button class="button danger" type="submit">"Delete run"</button></form> }.into_any()
            }}
        </section>
    }
    .into_any()
}

/// `GET /runs/{id}/delete`: the question before a run is deleted that somebody may be reading.
#[derive(Clone, Debug)]
pub struct DeletePage {
    /// Id of the run.
    pub id: String,
    /// The test's name when the run was made.
    pub test_name: String,
    /// When it was asked for, unix milliseconds.
    pub created_at: i64,
    /// Whether it has a public link that is not revoked.
    pub shared: bool,
}

/// Draws the question.
pub fn render_delete(chrome: &Chrome, page: &DeletePage) -> String {
    let path = format!("/runs/{}", page.id);
    document(chrome, &Head::private(format!("Delete a run of {}", page.test_name)), || {
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a href=path.clone()>{page.test_name.clone()}</a></p>
            <h1 class="break">"Delete this run of “"{page.test_name.clone()}"”?"</h1>
            <p>"The run of "{moment(page.created_at)}", its report and what was measured go and do not come back."</p>
            {page.shared.then(|| view! { <p><strong>"It has a public link."</strong>" Whoever follows it will read that the run was deleted."</p> })}
            <form method="post" action=format!("{path}/delete") class="form-actions">
                <input type="hidden" name="confirmed" value="yes" />
                <button class="button danger" type="submit">"Delete run"</button>
                <a class="cancel" href=path.clone()>"Cancel"</a>
            </form>
        }
        .into_any()
    })
}

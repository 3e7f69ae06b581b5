//! The pages of runs: for their owner, and for anybody who has the public link.

use std::time::Duration;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use oleada_app::pages::embed;
use oleada_app::pages::run::share::{ShareForm, ShareLink};
use oleada_app::pages::run::{self as page, Access, RunPage};
use oleada_app::{FlashKind, format};
use oleada_engine::plan::{FieldError, limits};
use serde::Deserialize;
use tower_sessions::Session;

use super::plans::Confirmation;

use crate::auth::CurrentUser;
use crate::error::{Error, Result, see_other};
use crate::layers::ForOthers;
use crate::render::{Frame, flash};
use crate::runs::range::Asked;
use crate::runs::share::Shared;
use crate::runs::{self, report, share};
use crate::state::AppState;
use crate::store::runs::RunRow;
use crate::store::shares::{ShareOptions, ShareRow};
use crate::store::{RunId, Timestamp};

/// Runs of the same test listed under a report.
const SIBLINGS: i64 = 20;
/// The run, if this account owns it.
///
/// # Errors
/// [`Error::NotFound`], also for a text that is no id.
pub async fn own_run(state: &AppState, user: &CurrentUser, id: &str) -> Result<RunRow> {
    let id: RunId = id.parse().map_err(|_| Error::NotFound)?;
    state.db.run(id).await?.filter(|run| run.owner_id == user.id).ok_or(Error::NotFound)
}

/// `GET /runs/{id}`.
///
/// # Errors
/// [`Error::NotFound`] for a run of somebody else.
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
    frame: Frame,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    let page = own_page(&state, &run, &asked, None).await?;
    frame.show(|chrome| page::render(chrome, &page)).await
}

/// The page of a run for its owner; `form` is what was typed to share it and not understood.
async fn own_page(state: &AppState, run: &RunRow, asked: &Asked, form: Option<ShareForm>) -> Result<RunPage> {
    let mut siblings = match run.plan_id {
        Some(plan) => state.db.runs_of_plan(plan, SIBLINGS).await?,
        None => Vec::new(),
    };
    siblings.retain(|run| runs::state_of(run).is_over());
    let siblings = runs::list(state, &siblings).await?;
    let share = state.db.share_of_run(run.id).await?.map(|row| link_of(state, &row));
    report::page(state, run, Access::Owner { share, form }, siblings, asked).await
}

fn link_of(state: &AppState, row: &ShareRow) -> ShareLink {
    let path = format!("/r/{}", row.token);
    ShareLink {
        url: state.url(&path),
        path,
        created_at: row.created_at.0,
        expires_at: row.expires_at.map(|at| at.0),
        expired: row.has_expired(Timestamp::now()),
        hide_host: row.hide_host,
        hide_headers: row.hide_headers,
        hide_notes: row.hide_notes,
    }
}

/// `GET /r/{token}`.
///
/// # Errors
/// As [`share::open`].
pub async fn show_shared(
    State(state): State<AppState>,
    Path(token): Path<String>,
    Query(asked): Query<Asked>,
    frame: Frame,
) -> Result<Response> {
    let shared = share::open(&state, &token).await?;
    let page = shared_page(&state, shared, &asked).await?;
    frame.show(|chrome| page::render(chrome, &page)).await
}

/// What the owner writes about a run.
#[derive(Debug, Default, Deserialize)]
pub struct Notes {
    #[serde(default)]
    notes: String,
}

/// `POST /runs/{id}/notes`.
///
/// # Errors
/// As [`show`].
pub async fn note(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    frame: Frame,
    Form(Notes { notes }): Form<Notes>,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    // Browsers send line breaks as two characters, which the counter of nobody counts.
    let notes = notes.replace("\r\n", "\n");
    if notes.chars().count() > limits::NOTES_CHARS {
        let mut page = own_page(&state, &run, &Asked::default(), None).await?;
        page.notes_error = Some(format!("may hold at most {} characters", format::count(limits::NOTES_CHARS as u64)));
        page.notes = Some(notes);
        return frame.show_again(|chrome| page::render(chrome, &page)).await;
    }
    if !state.db.note_run(user.id, run.id, notes.trim_end()).await? {
        return Err(Error::NotFound);
    }
    flash(&session, FlashKind::Success, "The notes are kept with the run.").await?;
    Ok(see_other(&format!("/runs/{}", run.id)))
}

/// `POST /runs/{id}/stop`.
///
/// # Errors
/// As [`show`].
pub async fn stop(State(state): State<AppState>, user: CurrentUser, Path(id): Path<String>) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    runs::stop(&state, &run).await?;
    Ok(see_other(&format!("/runs/{}", run.id)))
}

/// The page of a run by its public link.
///
/// # Errors
/// If the database fails.
pub async fn shared_page(state: &AppState, shared: Shared, asked: &Asked) -> Result<RunPage> {
    let token = shared.share.token;
    let access = Access::Public { url: state.url(&format!("/r/{token}")), token };
    shared.mask.page(report::page(state, &shared.run, access, Vec::new(), asked).await?)
}

/// `GET /r/{token}/embed`: the only page that others may show in a frame, also where it says that there is nothing to show.
///
/// # Errors
/// As [`share::open`], for an unknown token.
pub async fn embed(State(state): State<AppState>, Path(token): Path<String>, frame: Frame) -> Result<Response> {
    let mut response = match share::open(&state, &token).await {
        Ok(shared) => {
            let page = shared_page(&state, shared, &Asked::default()).await?;
            let url = state.url(&format!("/r/{token}"));
            Html(embed::render(&frame.bare_chrome(), &page, &url)).into_response()
        }
        Err(Error::Gone(sentence)) => {
            (StatusCode::GONE, Html(embed::render_gone(&frame.bare_chrome(), &sentence))).into_response()
        }
        Err(error) => return Err(error),
    };
    response.extensions_mut().insert(ForOthers);
    Ok(response)
}

/// `GET /r/{token}/picture.png`: what previews of the link show.
///
/// # Errors
/// As [`share::open`]; [`Error::Unavailable`] when many pictures are being drawn.
pub async fn picture(State(state): State<AppState>, Path(token): Path<String>) -> Result<Response> {
    let shared = share::open(&state, &token).await?;
    let share = shared.share.clone();
    let page = shared_page(&state, shared, &Asked::default()).await?;
    let png = state.pictures.of_link(&share, &page).await?;
    let mut response = ([(header::CONTENT_TYPE, "image/png")], png.to_vec()).into_response();
    response.extensions_mut().insert(ForOthers);
    Ok(response)
}

/// The form by which a run is shared.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ShareInput {
    expires: String,
    expires_on: String,
    hide_host: String,
    hide_headers: String,
    hide_notes: String,
}

impl ShareInput {
    /// What was chosen, or a sentence about the field `expires_on` or `expires`. `present` is the end that the link has now.
    fn options(&self, present: Option<Timestamp>) -> std::result::Result<ShareOptions, (&'static str, &'static str)> {
        let days = |n: u64| Some(Timestamp::now().after(Duration::from_secs(n * 86_400)));
        let expires_at = match self.expires.as_str() {
            "" | "never" => None,
            "keep" => present,
            "1d" => days(1),
            "7d" => days(7),
            "30d" => days(30),
            "date" => Some(end_of_day(&self.expires_on).ok_or((
                "expires_on",
                "The last day must be a date from today on, within ten years, such as 2026-12-31.",
            ))?),
            _ => return Err(("expires", "How long the link works must be one of those in the list.")),
        };
        let ticked = |field: &str| field == "on";
        Ok(ShareOptions {
            expires_at,
            hide_host: ticked(&self.hide_host),
            hide_headers: ticked(&self.hide_headers),
            hide_notes: ticked(&self.hide_notes),
        })
    }

    /// As typed, shortened to what a form could hold.
    fn again(self, (field, message): (&str, &str)) -> ShareForm {
        let short = |text: &str| text.chars().take(limits::NAME_CHARS).collect::<String>();
        ShareForm {
            expires: short(&self.expires),
            expires_on: short(&self.expires_on),
            hide_host: self.hide_host == "on",
            hide_headers: self.hide_headers == "on",
            hide_notes: self.hide_notes == "on",
            errors: vec![FieldError { field: field.into(), message: message.into() }],
        }
    }
}

/// The last moment of a day in UTC that is not over and not further away than [`limits::SHARE_DAYS`].
fn end_of_day(text: &str) -> Option<Timestamp> {
    let day: jiff::civil::Date = text.trim().parse().ok().filter(|_| text.trim().len() == "2026-12-31".len())?;
    let next = day.tomorrow().ok()?.at(0, 0, 0, 0);
    let end = jiff::tz::TimeZone::UTC.to_timestamp(next).ok()?.as_millisecond();
    let (now, most) = (Timestamp::now().0, limits::SHARE_DAYS * 86_400_000);
    (now < end && end - now <= most).then_some(Timestamp(end))
}

/// `POST /runs/{id}/share`: makes a link, or changes the one that is there.
///
/// # Errors
/// As [`show`].
pub async fn share(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    frame: Frame,
    Form(input): Form<ShareInput>,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    let present = state.db.share_of_run(run.id).await?.and_then(|row| row.expires_at);
    match input.options(present) {
        Ok(options) => {
            share::set(&state, &run, options).await?;
            flash(&session, FlashKind::Success, "Anybody who has the link can now read this report.").await?;
            Ok(see_other(&format!("/runs/{}", run.id)))
        }
        Err(fault) => {
            let page = own_page(&state, &run, &Asked::default(), Some(input.again(fault))).await?;
            frame.show_again(|chrome| page::render(chrome, &page)).await
        }
    }
}

/// `POST /runs/{id}/unshare`.
///
/// # Errors
/// As [`show`].
pub async fn unshare(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    share::revoke(&state, &run).await?;
    flash(&session, FlashKind::Success, "The public link does not work any more.").await?;
    Ok(see_other(&format!("/runs/{}", run.id)))
}

/// `POST /runs/{id}/baseline`.
///
/// # Errors
/// As [`show`]; [`Error::Conflict`] for a run that cannot be one.
pub async fn baseline(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    runs::mark_baseline(&state, &run).await?;
    flash(&session, FlashKind::Success, "The other runs of this test are now compared with this one.").await?;
    Ok(see_other(&format!("/runs/{}", run.id)))
}

/// `POST /runs/{id}/unbaseline`.
///
/// # Errors
/// As [`show`].
pub async fn unbaseline(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    runs::unmark_baseline(&state, &run).await?;
    flash(&session, FlashKind::Success, "This run is not a baseline any more.").await?;
    Ok(see_other(&format!("/runs/{}", run.id)))
}

/// `GET /runs/{id}/delete`: the question.
///
/// # Errors
/// As [`show`].
pub async fn ask_delete(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    let shared = state.db.share_of_run(run.id).await?.is_some();
    let page = page::DeletePage { id: run.id.to_string(), test_name: run.name, created_at: run.queued_at.0, shared };
    frame.show(|chrome| page::render_delete(chrome, &page)).await
}

/// `POST /runs/{id}/delete`. A run with a public link goes only when that was confirmed.
///
/// # Errors
/// As [`show`]; [`Error::Conflict`] while it is under way.
pub async fn delete(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    Form(confirmation): Form<Confirmation>,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    // A baseline is refused whatever is confirmed.
    let asked = confirmation.is_given() || run.is_baseline;
    if !asked && state.db.share_of_run(run.id).await?.is_some() {
        return Ok(see_other(&format!("/runs/{}/delete", run.id)));
    }
    runs::delete(&state, &run).await?;
    flash(&session, FlashKind::Success, "The run was deleted.").await?;
    Ok(see_other(&run.plan_id.map_or_else(|| "/dashboard".to_owned(), |plan| format!("/tests/{plan}"))))
}

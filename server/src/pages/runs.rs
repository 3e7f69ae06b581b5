//! The pages of runs: for their owner, and for anybody who has the public link.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use oleada_app::pages::run::{self as page, Access, RunPage};
use oleada_app::{FlashKind, format};
use oleada_engine::plan::limits;
use serde::Deserialize;
use tower_sessions::Session;

use crate::auth::CurrentUser;
use crate::error::{Error, Result, see_other};
use crate::render::{Frame, flash};
use crate::runs::range::Asked;
use crate::runs::{self, report};
use crate::state::AppState;
use crate::store::RunId;
use crate::store::runs::RunRow;

/// Runs of the same test listed under a report.
const SIBLINGS: i64 = 20;
/// Hexadecimal digits of a public link's token.
const TOKEN_CHARS: usize = 32;

/// The run, if this account owns it.
///
/// # Errors
/// [`Error::NotFound`], also for a text that is no id.
pub async fn own_run(state: &AppState, user: &CurrentUser, id: &str) -> Result<RunRow> {
    let id: RunId = id.parse().map_err(|_| Error::NotFound)?;
    state.db.run(id).await?.filter(|run| run.owner_id == user.id).ok_or(Error::NotFound)
}

/// The run that a public link shows.
///
/// # Errors
/// [`Error::NotFound`] for an unknown or revoked token.
pub async fn shared_run(state: &AppState, token: &str) -> Result<RunRow> {
    if token.len() != TOKEN_CHARS || !token.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Error::NotFound);
    }
    state.db.run_by_token(token).await?.ok_or(Error::NotFound)
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
    let page = own_page(&state, &run, &asked).await?;
    frame.show(|chrome| page::render(chrome, &page)).await
}

async fn own_page(state: &AppState, run: &RunRow, asked: &Asked) -> Result<RunPage> {
    let share_path = run.share_token.as_ref().map(|token| format!("/r/{token}"));
    let share_url = share_path.as_ref().map(|path| state.url(path));
    let mut siblings = match run.plan_id {
        Some(plan) => state.db.runs_of_plan(plan, SIBLINGS).await?,
        None => Vec::new(),
    };
    siblings.retain(|run| runs::state_of(run).is_over());
    let siblings = runs::list(state, &siblings).await?;
    report::page(state, run, Access::Owner { share_path, share_url }, siblings, asked).await
}

/// `GET /r/{token}`.
///
/// # Errors
/// [`Error::NotFound`] for an unknown or revoked token.
pub async fn show_shared(
    State(state): State<AppState>,
    Path(token): Path<String>,
    Query(asked): Query<Asked>,
    frame: Frame,
) -> Result<Response> {
    let run = shared_run(&state, &token).await?;
    let page = report::page(&state, &run, Access::Public { token }, Vec::new(), &asked).await?;
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
        let mut page = own_page(&state, &run, &Asked::default()).await?;
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

/// `POST /runs/{id}/share`.
///
/// # Errors
/// As [`show`].
pub async fn share(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    runs::share(&state, &run).await?;
    flash(&session, FlashKind::Success, "Anybody who has the link can now read this report.").await?;
    Ok(see_other(&format!("/runs/{}", run.id)))
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
    runs::unshare(&state, &run).await?;
    flash(&session, FlashKind::Success, "The public link does not work any more.").await?;
    Ok(see_other(&format!("/runs/{}", run.id)))
}

/// `POST /runs/{id}/delete`.
///
/// # Errors
/// As [`show`]; [`Error::Conflict`] while it is under way.
pub async fn delete(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    runs::delete(&state, &run).await?;
    flash(&session, FlashKind::Success, "The run was deleted.").await?;
    Ok(see_other(&run.plan_id.map_or_else(|| "/dashboard".to_owned(), |plan| format!("/tests/{plan}"))))
}

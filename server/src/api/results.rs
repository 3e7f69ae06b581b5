//! The result document of a run.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::auth::CurrentUser;
use crate::error::{Error, Result};
use crate::pages::runs::own_run;
use crate::runs::mask::Mask;
use crate::runs::{report, share};
use crate::state::AppState;
use crate::store::runs::RunRow;

/// `?seconds=1` adds the list of seconds.
#[derive(Debug, Default, Deserialize)]
pub struct Wanted {
    #[serde(default)]
    seconds: Option<String>,
}

/// `GET /runs/{id}/result.json` and `GET /api/v1/runs/{id}`.
///
/// # Errors
/// [`Error::NotFound`] for a run of somebody else, or one that has measured nothing yet.
pub async fn own(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    document(&state, &run, &Mask::nothing(), &wanted).await
}

/// `GET /r/{token}/result.json`.
///
/// # Errors
/// As [`share::open`] and [`own`].
pub async fn shared(
    State(state): State<AppState>,
    Path(token): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response> {
    let shared = share::open(&state, &token).await?;
    document(&state, &shared.run, &shared.mask, &wanted).await
}

async fn document(state: &AppState, run: &RunRow, mask: &Mask, wanted: &Wanted) -> Result<Response> {
    let view = report::look(state, run).await?;
    let mut document = mask.result(view.result.ok_or(Error::NotFound)?)?;
    document.seconds = wanted.seconds.as_deref().is_some_and(|v| v != "0").then_some(view.points);
    Ok(([(header::CACHE_CONTROL, "private, no-store")], Json(document)).into_response())
}

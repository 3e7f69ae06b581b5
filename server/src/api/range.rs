//! The figures of a part of a run as JSON: the same that its page shows.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::auth::CurrentUser;
use crate::error::Result;
use crate::pages::runs::own_run;
use crate::runs::mask::Mask;
use crate::runs::range::{self, Asked};
use crate::runs::{result_of, share};
use crate::state::AppState;
use crate::store::runs::RunRow;

/// `GET /runs/{id}/window.json?from=…&to=…`.
///
/// # Errors
/// [`crate::error::Error::NotFound`] for a run of somebody else.
pub async fn own(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    document(&state, &run, &Mask::nothing(), &asked).await
}

/// `GET /r/{token}/window.json?from=…&to=…`.
///
/// # Errors
/// As [`share::open`].
pub async fn shared(
    State(state): State<AppState>,
    Path(token): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response> {
    let shared = share::open(&state, &token).await?;
    document(&state, &shared.run, &shared.mask, &asked).await
}

/// Of a run under way the seconds that are stored already. What makes no sense is answered with 400 and a sentence.
async fn document(state: &AppState, run: &RunRow, mask: &Mask, asked: &Asked) -> Result<Response> {
    // A run under way has lasted as long as its stored seconds.
    let stored = range::end_of(state, run.id, 0.0).await?;
    let run_s = result_of(run).map_or(f64::from(stored), |result| result.duration_s);
    let end = stored.max(run_s.ceil() as u32);
    let headers = [(header::CACHE_CONTROL, "private, no-store")];
    Ok(match asked.seconds(end) {
        Ok((from, to)) => {
            let figures = mask.range(range::figures(state, run.id, from, to, run_s).await?)?;
            (headers, Json(figures)).into_response()
        }
        Err(error) => {
            let body = json!({ "field": error.field, "error": format!("{} {}", error.field, error.message) });
            (StatusCode::BAD_REQUEST, headers, Json(body)).into_response()
        }
    })
}

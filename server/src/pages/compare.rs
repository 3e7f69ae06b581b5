//! Runs side by side.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use oleada_app::pages::compare::{self as page, Align, ComparePage};
use oleada_engine::plan::limits;

use super::runs::own_run;
use crate::auth::CurrentUser;
use crate::error::{Error, Result};
use crate::render::Frame;
use crate::runs::{self, report};
use crate::state::AppState;

/// Latest runs offered to choose from.
const CANDIDATES: i64 = 50;

/// `GET /compare?run=a&run=b&align=load`. The first run is what the others are compared with.
///
/// # Errors
/// If the database fails. A run that is not there is told on the page.
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    RawQuery(query): RawQuery,
    frame: Frame,
) -> Result<Response> {
    let query = query.as_deref().unwrap_or("");
    let (mut page, wanted) = (ComparePage { align: align(query), ..ComparePage::default() }, wanted_runs(query));
    let (fewest, most) = limits::COMPARED_RUNS;
    if wanted.len() > most {
        page.problem = Some(format!("At most {most} runs fit side by side; the first {most} are shown."));
    } else if wanted.len() == 1 {
        page.problem = Some(format!("Choose at least {fewest} runs."));
    }
    let mut runs_asked_for = Vec::new();
    for id in wanted.iter().take(most) {
        match own_run(&state, &user, id).await {
            Ok(run) => runs_asked_for.push(run),
            Err(Error::NotFound) => page.problem = Some("One of the runs does not exist any more.".into()),
            Err(error) => return Err(error),
        }
    }
    // One alone is not compared.
    if let Some(first) = runs_asked_for.first().filter(|_| runs_asked_for.len() >= fewest) {
        for run in &runs_asked_for {
            page.runs.push(report::compared(&state, first, run).await?);
        }
        if let Some(first) = page.runs.first_mut() {
            first.changes = None;
        }
    }
    page.candidates = runs::recent(&state, user.id, CANDIDATES).await?;
    frame.show(|chrome| page::render(chrome, &page)).await
}

/// The last value of `align`.
fn align(query: &str) -> Align {
    let last = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "align").last();
    last.map_or_else(Align::default, |(_, value)| Align::parse(&value))
}

/// The values of `run`, in order; the same run may be named twice.
fn wanted_runs(query: &str) -> Vec<String> {
    url::form_urlencoded::parse(query.as_bytes())
        .filter(|(name, value)| name == "run" && !value.is_empty())
        .map(|(_, value)| value.into_owned())
        .take(limits::COMPARED_RUNS.1 + 1)
        .collect()
}

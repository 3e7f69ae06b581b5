//! What a signed-in person sees first.

use axum::extract::State;
use axum::response::Response;
use oleada_app::pages::dashboard::{DashboardPage, render};

use crate::auth::CurrentUser;
use crate::error::Result;
use crate::render::Frame;
use crate::state::AppState;
use crate::{hosts, runs};

/// Finished runs shown.
const LATEST: i64 = 10;

/// `GET /dashboard`
pub async fn show(State(state): State<AppState>, user: CurrentUser, frame: Frame) -> Result<Response> {
    let hosts = state.db.hosts(user.id).await?.iter().map(|row| hosts::line(&state.config, row)).collect();
    let tests = u64::try_from(state.db.count_active_plans(user.id).await?).unwrap_or(0);
    let active = runs::list(&state, &state.db.runs_under_way(user.id).await?).await?;
    let mut latest = runs::recent(&state, user.id, LATEST + active.len() as i64).await?;
    latest.retain(|run| run.state.is_over());
    latest.truncate(LATEST as usize);
    let page = DashboardPage { hosts, tests, active, latest };
    frame.show(|chrome| render(chrome, &page)).await
}

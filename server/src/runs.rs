//! Runs: put into the queue, stopped, deleted; and what their stored states mean.

use std::time::Duration;

use oleada_app::view::{Figures, RunRow as ListRow, RunState};
use oleada_engine::plan::{HostPort, Plan};
use oleada_engine::result::{EndReason, ResultDoc};
use tokio::sync::Notify;

use crate::error::{Error, Result};
use crate::plans;
use crate::secrets::Unreadable;
use crate::state::AppState;
use crate::store::plans::PlanRow;
use crate::store::runs::{NewRun, RunRow};
use crate::store::{RunId, Timestamp, UserId};

pub mod compare;
pub mod export;
pub mod generate;
pub mod kept;
pub mod light;
pub mod live;
pub mod mask;
pub mod picture;
pub mod queue;
pub mod range;
pub mod report;
pub mod series;
pub mod share;

/// Runs that one account may have waiting or under way.
const UNDER_WAY: usize = 50;

/// What handlers and the queue share about runs.
#[derive(Debug, Default)]
pub struct Runs {
    /// What runs under way look like now.
    pub hub: live::Hub,
    /// Wakes the queue.
    pub wake: Notify,
    /// What was redrawn for comparisons.
    pub redrawn: compare::Cache,
}

/// Puts a run of this test at the end of the queue.
///
/// # Errors
/// [`Error::Conflict`] when the account has too many runs waiting, the test is archived, or secrets of it are lost.
pub async fn enqueue(state: &AppState, owner: UserId, plan: &PlanRow) -> Result<RunId> {
    if plan.archived_at.is_some() {
        return Err(Error::Conflict("This test is archived, so it cannot be started. Bring it back first.".into()));
    }
    let opened = plans::open(state, plan)?;
    if let Some(loss) = opened.loss() {
        return Err(Error::Conflict(format!("The run was not started. {loss}")));
    }
    if state.db.runs_under_way(owner).await?.len() >= UNDER_WAY {
        return Err(Error::Conflict(format!(
            "You have {UNDER_WAY} runs waiting or under way. Stop one, or wait until one is over."
        )));
    }
    let hosts = light::hosts_of(&opened.plan);
    let new = NewRun { owner, plan: plan.id, name: &plan.name, spec: &plan.spec, hosts: &hosts };
    let id = state.db.add_run(new).await?;
    tracing::info!(run = %id, "run queued");
    state.runs.wake.notify_one();
    state.runs.hub.queue_changed();
    Ok(id)
}

/// Stops a run: one that waits never starts, one under way sends nothing new. Stopping again changes nothing.
///
/// # Errors
/// If the database fails.
pub async fn stop(state: &AppState, run: &RunRow) -> Result<()> {
    tracing::info!(run = %run.id, "stop asked for");
    if state.db.stop_queued_run(run.id, Timestamp::now()).await? {
        state.runs.hub.queue_changed();
        return Ok(());
    }
    // Between leaving the queue and being driven a run is in neither place, for a moment.
    for _ in 0..20 {
        if let Some(live) = state.runs.hub.get(run.id) {
            live.stop();
            return Ok(());
        }
        match state.db.run(run.id).await? {
            Some(now) if now.state == "verifying" => queue::pause(Duration::from_millis(50)).await,
            _ => break,
        }
    }
    Ok(())
}

/// Deletes a run that is over. Its public links say so from then on.
///
/// # Errors
/// [`Error::Conflict`] while it is under way, or the baseline of its test.
pub async fn delete(state: &AppState, run: &RunRow) -> Result<()> {
    if state.db.delete_run(run.owner_id, run.id).await? {
        return Ok(());
    }
    if state.db.run(run.id).await?.is_some_and(|now| now.is_baseline) {
        return Err(Error::Conflict(
            "This run is the baseline of its test: others are compared with it. Choose another baseline first, or take the \
             mark away; then the run can be deleted."
                .into(),
        ));
    }
    if state_of(run).is_over() {
        let why = "This run is part of a series that is under way. Stop the series first; then the run can be deleted.";
        return Err(Error::Conflict(why.into()));
    }
    Err(Error::Conflict("This run is under way. Stop it first; then it can be deleted.".into()))
}

/// Marks a run as the one that the others of its test are compared with.
///
/// # Errors
/// [`Error::Conflict`] for a run that is not over, has no result, or whose test is gone.
pub async fn mark_baseline(state: &AppState, run: &RunRow) -> Result<()> {
    let marked = match run.plan_id {
        Some(plan) => state.db.set_baseline(run.owner_id, plan, run.id).await?,
        None => false,
    };
    if marked {
        return Ok(());
    }
    Err(Error::Conflict(
        "Only a run that is over, has measured something, and whose test is still there can be a baseline.".into(),
    ))
}

/// Takes the mark of [`mark_baseline`] away. Doing so again changes nothing.
///
/// # Errors
/// If the database fails.
pub async fn unmark_baseline(state: &AppState, run: &RunRow) -> Result<()> {
    state.db.unset_baseline(run.owner_id, run.id).await?;
    Ok(())
}

/// Whether a run that is not over names this host and port.
///
/// # Errors
/// If the database fails.
pub async fn uses_host(state: &AppState, owner: UserId, at: &HostPort) -> Result<bool> {
    let under_way = state.db.runs_under_way(owner).await?;
    Ok(under_way.iter().filter_map(|run| plan_of(state, run).ok()).any(|plan| plan.hosts().contains(at)))
}

/// The plan that a run runs; secrets that are lost stand in it as marks.
///
/// # Errors
/// If the stored text is not a plan of this version.
pub fn plan_of(state: &AppState, run: &RunRow) -> Result<Plan, Unreadable> {
    plan_of_text(state, &run.spec)
}

/// The plan of a stored text; secrets that are lost stand in it as marks.
fn plan_of_text(state: &AppState, spec: &str) -> Result<Plan, Unreadable> {
    Ok(state.vault.unseal(spec)?.plan)
}

/// The result document of a run that is over.
pub fn result_of(run: &RunRow) -> Option<ResultDoc> {
    run.result.as_deref().and_then(|json| serde_json::from_str(json).ok())
}

/// The state in the words of the pages.
pub fn state_of(run: &RunRow) -> RunState {
    match run.state.as_str() {
        "queued" => RunState::Queued,
        "verifying" => RunState::Verifying,
        "running" => RunState::Running,
        "draining" => RunState::Draining,
        "refused" => RunState::Refused,
        _ => ended_state(run.end_reason.as_deref().and_then(EndReason::from_name)),
    }
}

/// The state of a run that is over.
pub fn ended_state(reason: Option<EndReason>) -> RunState {
    match reason {
        Some(EndReason::Completed) => RunState::Finished,
        Some(EndReason::Stopped) => RunState::Stopped,
        Some(EndReason::ErrorThreshold | EndReason::Limit | EndReason::RateMissed) => RunState::Aborted,
        Some(EndReason::Interrupted) | None => RunState::Interrupted,
    }
}

/// A run as a line of a list.
///
/// # Errors
/// If the database fails.
pub async fn list_row(state: &AppState, run: &RunRow) -> Result<ListRow> {
    let run_state = state_of(run);
    let position = match run_state {
        RunState::Queued => u32::try_from(state.db.queue_position(run.id).await?).ok().filter(|n| *n > 0),
        _ => None,
    };
    let figures = &run.light;
    Ok(ListRow {
        id: run.id.to_string(),
        test_id: run.plan_id.map(|id| id.to_string()),
        test_name: run.name.clone(),
        state: run_state,
        position,
        is_baseline: run.is_baseline,
        created_at: run.queued_at.0,
        started_at: run.started_at.map(|t| t.0),
        duration_s: figures.duration_s,
        figures: figures.duration_s.map(|_| Figures {
            requests_per_second: figures.requests_per_second,
            p50: figures.p50,
            p95: figures.p95,
            p99: figures.p99,
            error_rate: figures.error_rate,
        }),
        passed: figures.passed,
        spark: light::spark_values(figures),
        series_id: run.series_id.map(|id| id.to_string()),
    })
}

/// The latest runs of an account, newest first.
///
/// # Errors
/// If the database fails.
pub async fn recent(state: &AppState, owner: UserId, limit: i64) -> Result<Vec<ListRow>> {
    list(state, &state.db.recent_runs(owner, limit).await?).await
}

/// Runs as lines of a list.
///
/// # Errors
/// If the database fails.
pub async fn list(state: &AppState, runs: &[RunRow]) -> Result<Vec<ListRow>> {
    let mut rows = Vec::with_capacity(runs.len());
    for run in runs {
        rows.push(list_row(state, run).await?);
    }
    Ok(rows)
}

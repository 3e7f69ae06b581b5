//! Series of runs: begun, carried on run by run, stopped. What comes next says `oleada_engine::series`; here it is put into the queue.

use oleada_app::view::RunState;
use oleada_engine::capacity::Answer;
use oleada_engine::plan::{Plan, limits};
use oleada_engine::result::EndReason;
use oleada_engine::series::{Past, Place, SeriesSpec};
use oleada_engine::verdict::LimitedBy;

use super::{light, plan_of_text, state_of};
use crate::error::{Error, Result};
use crate::plans;
use crate::state::AppState;
use crate::store::plans::PlanRow;
use crate::store::runs::{NewRun, RunRow, SeriesPlace};
use crate::store::series::{NewSeries, SeriesEnd, SeriesRow};
use crate::store::{SeriesId, Timestamp, UserId};

/// Begins a series of this test and puts its first run into the queue.
///
/// # Errors
/// [`Error::Conflict`] when the account has too many under way, the test is archived, or secrets of it are lost.
pub async fn begin(state: &AppState, owner: UserId, plan: &PlanRow, spec: &SeriesSpec) -> Result<SeriesId> {
    if plan.archived_at.is_some() {
        return Err(Error::Conflict("This test is archived, so it cannot be started. Bring it back first.".into()));
    }
    if let Some(loss) = plans::open(state, plan)?.loss() {
        return Err(Error::Conflict(format!("The series was not started. {loss}")));
    }
    if state.db.count_running_series(owner).await? >= limits::SERIES_UNDER_WAY as i64 {
        return Err(Error::Conflict(format!(
            "You have {} series under way. Stop one, or wait until one is over.",
            limits::SERIES_UNDER_WAY
        )));
    }
    let settings = serde_json::to_string(spec).map_err(anyhow::Error::from)?;
    let new = NewSeries { owner, plan: plan.id, name: &plan.name, settings: &settings, spec: &plan.spec };
    let id = state.db.add_series(new).await?;
    tracing::info!(series = %id, "series begun");
    advance(state, id).await?;
    Ok(id)
}

/// The series, if this account has it.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn find(state: &AppState, owner: UserId, id: SeriesId) -> Result<SeriesRow> {
    state.db.series(id).await?.filter(|row| row.owner_id == owner).ok_or(Error::NotFound)
}

/// What varies in a stored series, and how.
///
/// # Errors
/// If the stored text is not of this version.
pub fn spec_of(row: &SeriesRow) -> Result<SeriesSpec> {
    let read = serde_json::from_str(&row.settings);
    Ok(read.map_err(|error| anyhow::anyhow!("series {} cannot be read: {error}", row.id))?)
}

/// Carries on every series that goes on: where a pause is over, or the process that should have done it is gone.
pub async fn advance_all(state: &AppState) {
    let ids = match state.db.running_series().await {
        Ok(ids) => ids,
        Err(error) => return tracing::error!(%error, "series cannot be looked for; trying again"),
    };
    for id in ids {
        if let Err(error) = advance(state, id).await {
            tracing::error!(series = %id, %error, "a series cannot be carried on; trying again");
        }
    }
}

/// Puts the next run of a series into the queue if its turn has come, or ends the series. Calling it again changes nothing.
///
/// # Errors
/// If the database fails.
pub async fn advance(state: &AppState, id: SeriesId) -> Result<()> {
    if state.shutdown.has_begun() {
        return Ok(());
    }
    let Some(row) = state.db.series(id).await?.filter(|row| row.state == "running") else { return Ok(()) };
    let runs = state.db.runs_of_series(id).await?;
    if runs.iter().any(|run| !state_of(run).is_over()) {
        return Ok(());
    }
    match what_next(state, &row, &runs) {
        Turn::Run(place, plan) => queue_run(state, &row, runs.len(), place, &plan).await,
        Turn::Wait => Ok(()),
        Turn::End(end, detail) => {
            state.db.end_series(id, end, detail.as_deref(), Timestamp::now()).await?;
            tracing::info!(series = %id, ?end, "series over");
            Ok(())
        }
    }
}

enum Turn {
    Run(Place, Box<Plan>),
    Wait,
    End(SeriesEnd, Option<String>),
}

/// `runs` are all over.
fn what_next(state: &AppState, row: &SeriesRow, runs: &[RunRow]) -> Turn {
    let over = |why: String| Turn::End(SeriesEnd::Over, Some(why));
    if let Some(last) = runs.last() {
        match state_of(last) {
            // Whoever stops a run does not want a larger one a moment later.
            RunState::Stopped => {
                return Turn::End(SeriesEnd::Stopped, Some("One of its runs was stopped.".to_owned()));
            }
            RunState::Refused => {
                let why = last.detail.clone().unwrap_or_default();
                return over(format!("A run was refused, so the rest was not started. {why}"));
            }
            _ => {}
        }
    }
    if row.plan_id.is_none() {
        return over("The test was deleted, so the rest was not started.".to_owned());
    }
    let Ok(spec) = spec_of(row) else {
        return over("The series was stored by another version of Oleada, so it cannot go on.".to_owned());
    };
    let past = past(runs);
    let Some(place) = spec.next(&past) else {
        let unfinished = past.last().is_some_and(|p| p.answer.is_none());
        let why = "Runs were interrupted again and again, so the rest was not started.";
        return Turn::End(SeriesEnd::Over, unfinished.then(|| why.to_owned()));
    };
    let ended = runs.last().and_then(|run| run.ended_at);
    let pause_ms = (spec.pause_s * 1000.0) as i64;
    if ended.is_some_and(|at| Timestamp::now().0 < at.0.saturating_add(pause_ms)) {
        return Turn::Wait;
    }
    let opened = match plan_of_text(state, &row.spec) {
        Ok(plan) => spec.plan_at(&plan, place),
        Err(_) => return over("The stored test is not one that this version can run.".to_owned()),
    };
    match opened {
        Ok(plan) => Turn::Run(place, Box::new(plan)),
        Err(errors) => over(format!("The next run cannot be made: {errors}.")),
    }
}

async fn queue_run(state: &AppState, row: &SeriesRow, made: usize, place: Place, plan: &Plan) -> Result<()> {
    let Some(plan_id) = row.plan_id else { return Ok(()) };
    let (spec, hosts) = (state.vault.seal(plan, Some(&row.spec))?, light::hosts_of(plan));
    let new = NewRun { owner: row.owner_id, plan: plan_id, name: &row.name, spec: &spec, hosts: &hosts };
    let at = SeriesPlace { series: row.id, made: made as i64, number: i64::from(place.number), size: place.size };
    if let Some(run) = state.db.add_series_run(at, new).await? {
        tracing::info!(%run, series = %row.id, size = place.size, "run of a series queued");
        state.runs.wake.notify_one();
        state.runs.hub.queue_changed();
    }
    Ok(())
}

/// What the runs that are over said.
pub fn past(runs: &[RunRow]) -> Vec<Past> {
    let over = runs.iter().filter(|run| state_of(run).is_over());
    over.map(|run| Past {
        number: run.series_point.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        size: run.series_size.unwrap_or(0.0),
        answer: answer(run),
    })
    .collect()
}

/// What a run that is over says of the limits; `None` if its process ended before it did, or it never began.
pub fn answer(run: &RunRow) -> Option<Answer> {
    let reason = run.end_reason.as_deref().and_then(EndReason::from_name)?;
    match reason {
        EndReason::Interrupted | EndReason::Stopped => None,
        // Its faults make every other figure doubtful.
        _ if light::limited_by(&run.light) == Some(LimitedBy::Generator) => Some(Answer::Generator),
        EndReason::Completed if run.light.passed == Some(true) => Some(Answer::Kept),
        _ => Some(Answer::Broken),
    }
}

/// Stops a series: the run under way is stopped, and none is started after it. Stopping again changes nothing.
///
/// # Errors
/// If the database fails.
pub async fn stop(state: &AppState, row: &SeriesRow) -> Result<()> {
    state.db.end_series(row.id, SeriesEnd::Stopped, None, Timestamp::now()).await?;
    // After the end no run is made any more, so these are all.
    for run in state.db.runs_of_series(row.id).await? {
        if !state_of(&run).is_over() {
            super::stop(state, &run).await?;
        }
    }
    Ok(())
}

/// Forgets a series that is over; its runs stay.
///
/// # Errors
/// [`Error::Conflict`] while it goes on.
pub async fn delete(state: &AppState, row: &SeriesRow) -> Result<()> {
    if state.db.delete_series(row.owner_id, row.id).await? {
        return Ok(());
    }
    Err(Error::Conflict("This series is under way. Stop it first; then it can be deleted.".into()))
}

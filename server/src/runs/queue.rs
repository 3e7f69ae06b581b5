//! Who runs next: first come, first served, a configured number at once. And what becomes of runs whose process died.

use std::time::Duration;

use tokio::task::JoinSet;

use super::{generate, series};
use crate::state::AppState;
use crate::store::runs::RunRow;
use crate::store::{Db, RunId, Timestamp};

/// How often the queue is looked at without being woken, and how often claimed runs are marked as alive.
const TICK: Duration = Duration::from_secs(1);
/// A run whose process has not been heard of for so long is taken for interrupted.
const SILENCE: Duration = Duration::from_secs(15);

/// Starts queued runs until the server ends; then waits until those under way have stored what they have.
pub async fn work(state: AppState) {
    recover(&state, at_start(&state.db)).await;
    series::advance_all(&state).await;
    let places = state.config.max_runs.get() as usize;
    let mut running = JoinSet::new();
    while !state.shutdown.has_begun() {
        while running.len() < places && !state.shutdown.has_begun() {
            match state.db.claim_run().await {
                Ok(Some(run)) => {
                    state.runs.hub.queue_changed();
                    running.spawn(generate::drive(state.clone(), run));
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, "the queue cannot be read; trying again");
                    break;
                }
            }
        }
        tokio::select! {
            () = state.shutdown.begun() => {}
            () = state.runs.wake.notified() => {}
            Some(ended) = running.join_next(), if !running.is_empty() => {
                if let Err(panicked) = ended {
                    tracing::error!(error = %panicked, "driving a run failed; it will be settled as interrupted");
                }
            }
            () = pause(TICK) => {
                recover(&state, before(SILENCE)).await;
                series::advance_all(&state).await;
            }
        }
    }
    state.runs.hub.interrupt_all();
    while running.join_next().await.is_some() {}
}

#[expect(clippy::disallowed_methods, reason = "a few milliseconds do not matter to the queue")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

fn before(silence: Duration) -> Timestamp {
    Timestamp(Timestamp::now().0 - i64::try_from(silence.as_millis()).unwrap_or(0))
}

/// A file has one process, so at its start every run under way is an orphan; a Postgres may have others that are alive.
fn at_start(db: &Db) -> Timestamp {
    match db {
        Db::Sqlite { .. } => Timestamp(i64::MAX),
        Db::Postgres(_) => before(SILENCE),
    }
}

async fn recover(state: &AppState, silent_since: Timestamp) {
    let orphans = match state.db.silent_runs(silent_since).await {
        Ok(orphans) => orphans,
        Err(error) => return tracing::error!(%error, "runs of dead processes cannot be looked for; trying again"),
    };
    for run in orphans.iter().filter(|run| state.runs.hub.get(run.id).is_none()) {
        if let Err(error) = settle(state, run).await {
            tracing::error!(run = %run.id, %error, "an interrupted run cannot be settled; trying again");
        }
    }
}

/// What had sent nothing waits for its turn again; what had begun is over, with what was stored of it.
async fn settle(state: &AppState, run: &RunRow) -> crate::error::Result<()> {
    let id: RunId = run.id;
    if run.state == "verifying" && state.db.unclaim_run(id).await? {
        tracing::info!(run = %id, "run put back into the queue");
        return Ok(());
    }
    generate::settle_interrupted(state, run).await?;
    tracing::warn!(run = %id, "run was interrupted by the end of its process");
    state.runs.hub.queue_changed();
    Ok(())
}

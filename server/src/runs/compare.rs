//! Whether runs differ by more than noise: reads their stored seconds and keeps what was redrawn from them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use oleada_engine::result::ResultDoc;
use oleada_engine::significance::{Change, Exact, Resampled, Series, compare};
use oleada_engine::window::Glance;

use super::{result_of, state_of};
use crate::error::Result;
use crate::state::AppState;
use crate::store::RunId;
use crate::store::runs::RunRow;

/// Runs kept, some 40 KB each.
const KEPT: usize = 64;
/// Stored seconds read at once, some kilobytes each.
const STEP: u32 = 600;
/// Most seconds read of a run: a day and an hour of draining.
const MOST: u32 = 90_000;

/// What was redrawn of runs that are over, which do not change any more; the latest asked for.
#[derive(Debug, Default)]
pub struct Cache {
    kept: Mutex<VecDeque<(RunId, Arc<Resampled>)>>,
    /// Held while a run is redrawn: one at a time, and never the same twice.
    working: tokio::sync::Mutex<()>,
}

impl Cache {
    fn get(&self, run: RunId) -> Option<Arc<Resampled>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(id, _)| *id == run)?;
        let found = kept.remove(at)?;
        kept.push_front(found.clone());
        Some(found.1)
    }

    fn put(&self, run: RunId, redrawn: Arc<Resampled>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((run, redrawn));
        kept.truncate(KEPT);
    }
}

/// What differs in `run` from `first`; `None` while one of them is under way, or if it has measured nothing.
///
/// # Errors
/// If the database fails.
pub async fn changes(state: &AppState, first: &RunRow, run: &RunRow) -> Result<Option<[Change; 5]>> {
    let (Some(first), Some(run)) = (redrawn(state, first).await?, redrawn(state, run).await?) else { return Ok(None) };
    Ok(Some(compare(&first, &run)))
}

async fn redrawn(state: &AppState, run: &RunRow) -> Result<Option<Arc<Resampled>>> {
    let cache = &state.runs.redrawn;
    if let Some(found) = cache.get(run.id) {
        return Ok(Some(found));
    }
    let Some(result) = result_of(run).filter(|_| state_of(run).is_over()) else { return Ok(None) };
    let _working = cache.working.lock().await;
    // Somebody else may have been at it.
    if let Some(found) = cache.get(run.id) {
        return Ok(Some(found));
    }
    let redrawn = Arc::new(redraw(state, run.id, &result).await?);
    cache.put(run.id, Arc::clone(&redrawn));
    Ok(Some(redrawn))
}

/// Reads the stored seconds, in steps; the work is done where it may take its time.
async fn redraw(state: &AppState, run: RunId, result: &ResultDoc) -> Result<Resampled> {
    let mut series = Series::new(Exact::of(result));
    let seconds = result.duration_s.ceil().clamp(1.0, f64::from(MOST)) as u32;
    // The last second may have been stored a moment after the measured end.
    let (mut from, end, mut damaged) = (0, seconds.saturating_add(2).min(MOST), 0_u32);
    while from < end {
        let to = (from + STEP).min(end);
        let mut stored = Vec::new();
        state.db.windows(run, from, to, |blob| stored.push(blob.to_vec())).await?;
        let added = tokio::task::spawn_blocking(move || {
            let mut damaged = 0;
            for blob in &stored {
                match Glance::read(blob) {
                    Ok(second) => series.push(&second),
                    Err(_) => damaged += 1,
                }
            }
            (series, damaged)
        });
        let (read, unreadable) = added.await.map_err(anyhow::Error::from)?;
        (series, damaged, from) = (read, damaged + unreadable, to);
    }
    if damaged > 0 {
        tracing::error!(%run, damaged, "stored seconds could not be read");
    }
    Ok(tokio::task::spawn_blocking(move || series.resample()).await.map_err(anyhow::Error::from)?)
}

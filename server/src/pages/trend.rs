//! The trend of a test.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use oleada_app::pages::trend::{self as page, TrendFigure, TrendPage, TrendRow};
use oleada_app::view::RunState;
use oleada_engine::plan::limits;
use oleada_engine::result::{Bytes, EndReason, Percentiles};
use oleada_engine::window::Ledger;
use serde::Deserialize;

use crate::auth::CurrentUser;
use crate::error::Result;
use crate::render::Frame;
use crate::state::AppState;
use crate::store::RunId;
use crate::store::runs::HistoryRow;
use crate::{plans, runs};

/// Changes of the plan that are told in sentences; each takes two plans to read, which can be large.
const TOLD: usize = 50;

/// `?figure=p95`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    figure: String,
}

/// The part of a result that trends show.
#[derive(Deserialize)]
struct Whole {
    requests_per_second: Option<f64>,
    duration_s: f64,
    error_rate: f64,
    latency_ms: Percentiles,
    ledger: Ledger,
    bytes: Bytes,
}

impl Whole {
    fn value(&self, figure: TrendFigure) -> Option<f64> {
        let latency = &self.latency_ms;
        let value = match figure {
            TrendFigure::Rate => self.requests_per_second,
            TrendFigure::P50 => latency.p50,
            TrendFigure::P95 => latency.p95,
            TrendFigure::P99 => latency.p99,
            TrendFigure::Max => latency.max,
            TrendFigure::Errors => (self.ledger.finished() > 0).then_some(self.error_rate * 100.0),
            TrendFigure::Ok => Some(self.ledger.ok as f64),
            TrendFigure::Bytes => Some(self.bytes.received as f64 / self.duration_s / 1000.0),
        };
        value.filter(|v| v.is_finite())
    }
}

fn value_of(result: &str, figure: TrendFigure) -> Option<f64> {
    serde_json::from_str::<Whole>(result).ok()?.value(figure)
}

/// Whether the figure stands in results only.
fn needs_whole(figure: TrendFigure) -> bool {
    matches!(figure, TrendFigure::Max | TrendFigure::Ok | TrendFigure::Bytes)
}

fn value_in(run: &HistoryRow, figure: TrendFigure) -> Option<f64> {
    match figure {
        TrendFigure::Rate => run.requests_per_second,
        TrendFigure::P50 => run.p50,
        TrendFigure::P95 => run.p95,
        TrendFigure::P99 => run.p99,
        TrendFigure::Errors => run.error_rate.map(|share| share * 100.0),
        TrendFigure::Max | TrendFigure::Ok | TrendFigure::Bytes => {
            run.result.as_deref().and_then(|r| value_of(r, figure))
        }
    }
}

/// `GET /tests/{id}/trend`.
///
/// # Errors
/// [`crate::error::Error::NotFound`] for a test of somebody else.
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
    frame: Frame,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let figure = TrendFigure::parse(&wanted.figure);
    // One more tells whether there are more, and what the last one shown was changed from.
    let history = state.db.run_history(row.id, limits::TREND_RUNS as i64 + 1, needs_whole(figure)).await?;
    let baseline = match state.db.baseline_of(row.id).await? {
        Some(run) => {
            let value = run.result.as_deref().and_then(|result| value_of(result, figure));
            Some((run.id.to_string(), run.started_at.unwrap_or(run.queued_at).0, value))
        }
        None => None,
    };
    let mut rows = Vec::with_capacity(history.len());
    let mut told = 0;
    for (i, run) in history.iter().enumerate().take(limits::TREND_RUNS) {
        let mut changed = run.is_changed;
        let mut changes = Vec::new();
        if let Some(before) = history.get(i + 1).filter(|_| changed && told < TOLD) {
            told += 1;
            changes = changes_between(&state, before.id, run.id).await?;
            // Sealed again, but the same.
            changed = !changes.is_empty();
        }
        rows.push(TrendRow {
            id: run.id.to_string(),
            at: run.started_at.unwrap_or(run.queued_at).0,
            state: ended(run),
            value: value_in(run, figure),
            is_baseline: row.baseline_run_id == Some(run.id),
            changed,
            changes,
        });
    }
    let cut = history.len() > limits::TREND_RUNS;
    let page = TrendPage { id: row.id.to_string(), name: row.name, figure, rows, baseline, cut };
    frame.show(|chrome| page::render(chrome, &page)).await
}

fn ended(run: &HistoryRow) -> RunState {
    runs::ended_state(run.end_reason.as_deref().and_then(EndReason::from_name))
}

async fn changes_between(state: &AppState, before: RunId, after: RunId) -> Result<Vec<String>> {
    let unknown = || vec!["The plan was changed; this version of Oleada cannot read it.".to_owned()];
    let (Some(before), Some(after)) = (state.db.run(before).await?, state.db.run(after).await?) else {
        return Ok(unknown());
    };
    Ok(match (state.vault.unseal(&before.spec), state.vault.unseal(&after.spec)) {
        (Ok(old), Ok(new)) => plans::plan_changes(&old, &new),
        _ => unknown(),
    })
}

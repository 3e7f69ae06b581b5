//! From stored rows, or the live hub, to what a run's page shows.

use std::sync::Arc;

use oleada_app::pages::compare::ComparedRun;
use oleada_app::pages::report::Details;
use oleada_app::pages::run::{Access, PlanChange, RunPage};
use oleada_app::ui::change::Against;
use oleada_app::view::{RunRow as ListRow, RunState};
use oleada_engine::result::{PlanDoc, Point, ResultDoc};

use super::compare;
use super::live::{Look, Phase};
use super::range::{self, Asked};
use super::{kept, plan_of, result_of, state_of};
use crate::error::Result;
use crate::plans;
use crate::state::AppState;
use crate::store::Timestamp;
use crate::store::runs::RunRow;

/// A run as it is now.
#[derive(Clone, Debug)]
pub struct View {
    /// Where it is.
    pub state: RunState,
    /// Place in the queue from 1.
    pub position: Option<u32>,
    /// When load began.
    pub started_at: Option<i64>,
    /// Seconds of load so far.
    pub elapsed_s: f64,
    /// All seconds so far.
    pub points: Vec<Point>,
    /// The result, or the figures so far.
    pub result: Option<ResultDoc>,
}

/// Looks at a run: in the hub while this process drives it, in the database otherwise.
///
/// # Errors
/// If the database fails.
pub async fn look(state: &AppState, run: &RunRow) -> Result<View> {
    let look = state.runs.hub.get(run.id).map(|live| live.look(None)).filter(|look| look.phase != Phase::Over);
    if let Some(look) = look {
        return Ok(live_view(look));
    }
    let run_state = state_of(run);
    let position = match run_state {
        RunState::Queued => u32::try_from(state.db.queue_position(run.id).await?).ok().filter(|n| *n > 0),
        _ => None,
    };
    let points = state.db.points(run.id, -1).await?;
    let result = result_of(run);
    let elapsed_s =
        result.as_ref().map_or_else(|| points.last().map_or(0.0, |p| f64::from(p.t) + 1.0), |r| r.duration_s);
    Ok(View { state: run_state, position, started_at: run.started_at.map(|t| t.0), elapsed_s, points, result })
}

fn live_view(look: Look) -> View {
    View {
        state: phase_state(look.phase),
        position: None,
        started_at: look.started_at.map(|t| t.0),
        elapsed_s: elapsed_s(look.started_at),
        points: look.points,
        result: look.summary.map(Arc::unwrap_or_clone),
    }
}

/// Seconds since load began; 0 before.
pub fn elapsed_s(started_at: Option<Timestamp>) -> f64 {
    started_at.map_or(0.0, |at| (Timestamp::now().0 - at.0).max(0) as f64 / 1000.0)
}

/// The state in the words of the pages.
pub fn phase_state(phase: Phase) -> RunState {
    match phase {
        Phase::Verifying => RunState::Verifying,
        Phase::Running => RunState::Running,
        Phase::Draining | Phase::Over => RunState::Draining,
    }
}

/// The plan as it may be shown; `None` if the stored text is not one of this version.
pub fn plan_doc(state: &AppState, run: &RunRow) -> Option<PlanDoc> {
    plan_of(state, run).ok().map(|plan| PlanDoc::of(&plan))
}

/// What the run's page shows, with the figures of the seconds asked for once it is over.
///
/// # Errors
/// If the database fails, or the stored plan cannot be read.
pub async fn page(
    state: &AppState,
    run: &RunRow,
    access: Access,
    siblings: Vec<ListRow>,
    asked: &Asked,
) -> Result<RunPage> {
    let (view, details) = match report_of(state, run, asked).await? {
        Some(report) => report,
        None => (look(state, run).await?, Details::default()),
    };
    let plan = plan_doc(state, run).ok_or_else(|| anyhow::anyhow!("the plan of run {} cannot be read", run.id))?;
    let changed = if view.state.is_over() { changed_since(state, run, &access).await? } else { None };
    let series_id = run.series_id.filter(|_| matches!(access, Access::Owner { .. })).map(|id| id.to_string());
    let is_owner = matches!(access, Access::Owner { .. });
    let against = if is_owner { against(state, run).await? } else { None };
    Ok(RunPage {
        id: run.id.to_string(),
        series_id,
        test_id: run.plan_id.map(|id| id.to_string()),
        test_name: run.name.clone(),
        state: view.state,
        position: view.position,
        state_detail: run.detail.clone(),
        created_at: run.queued_at.0,
        started_at: view.started_at,
        finished_at: run.ended_at.map(|t| t.0),
        elapsed_s: view.elapsed_s,
        plan,
        points: view.points,
        result: view.result.filter(|_| view.state.is_over()),
        details,
        notes: Some(run.notes.clone()),
        notes_error: None,
        changed,
        is_baseline: is_owner && run.is_baseline,
        against,
        access,
        siblings,
    })
}

/// What the report of a run that is over and measured anything shows. Its seconds are not read one by one: a run of a day has
/// 86,400 of them.
async fn report_of(state: &AppState, run: &RunRow, asked: &Asked) -> Result<Option<(View, Details)>> {
    let Some(result) = result_of(run).filter(|_| state_of(run).is_over()) else { return Ok(None) };
    let (overview, distribution) = kept::load(state, run).await?;
    let part = range::part(state, run, asked, result.duration_s).await?;
    let view = View {
        state: state_of(run),
        position: None,
        started_at: run.started_at.map(|t| t.0),
        elapsed_s: result.duration_s,
        points: Vec::new(),
        result: Some(result),
    };
    Ok(Some((view, Details { overview: Some(overview), distribution, part })))
}

/// What is different from the plan of the run before, if anything.
async fn changed_since(state: &AppState, run: &RunRow, access: &Access) -> Result<Option<PlanChange>> {
    let Some(before) = state.db.run_before(run).await? else { return Ok(None) };
    let (Ok(old), Ok(new)) = (state.vault.unseal(&before.spec), state.vault.unseal(&run.spec)) else {
        return Ok(None);
    };
    let sentences = plans::plan_changes(&old, &new);
    let before_id = matches!(access, Access::Owner { .. }).then(|| before.id.to_string());
    let at = before.started_at.unwrap_or(before.queued_at).0;
    Ok((!sentences.is_empty()).then_some(PlanChange { before_id, at, sentences }))
}

/// How a run that is over differs from the baseline of its test; `None` without one, or if it is that itself.
///
/// # Errors
/// If the database fails.
pub async fn against(state: &AppState, run: &RunRow) -> Result<Option<Against>> {
    let Some(plan) = run.plan_id.filter(|_| state_of(run).is_over() && run.result.is_some()) else { return Ok(None) };
    let Some(baseline) = state.db.baseline_of(plan).await?.filter(|baseline| baseline.id != run.id) else {
        return Ok(None);
    };
    Ok(Some(Against {
        baseline_id: baseline.id.to_string(),
        at: baseline.started_at.unwrap_or(baseline.queued_at).0,
        run_id: run.id.to_string(),
        changes: compare::changes(state, &baseline, run).await?,
    }))
}

/// One column of the compare page, beside the first one.
///
/// # Errors
/// As [`page`].
pub async fn compared(state: &AppState, first: &RunRow, run: &RunRow) -> Result<ComparedRun> {
    let plan = plan_doc(state, run).ok_or_else(|| anyhow::anyhow!("the plan of run {} cannot be read", run.id))?;
    let plan_changes = match (state.vault.unseal(&first.spec), state.vault.unseal(&run.spec)) {
        (Ok(old), Ok(new)) if first.id != run.id => plans::plan_changes(&old, &new),
        _ => Vec::new(),
    };
    let mut compared = ComparedRun {
        id: run.id.to_string(),
        test_id: run.plan_id.map(|id| id.to_string()),
        test_name: run.name.clone(),
        state: state_of(run),
        is_baseline: run.is_baseline,
        started_at: run.started_at.map(|t| t.0),
        plan,
        result: result_of(run),
        points: Vec::new(),
        stretch: 1,
        changes: compare::changes(state, first, run).await?,
        plan_changes,
    };
    if compared.state.is_over() {
        // The seconds of a long run are not read one by one.
        let overview = kept::overview(state, run).await?;
        (compared.points, compared.stretch) = (overview.points, overview.stretch);
    } else {
        let view = look(state, run).await?;
        (compared.state, compared.started_at) = (view.state, view.started_at);
        (compared.result, compared.points) = (view.result, view.points);
    }
    Ok(compared)
}

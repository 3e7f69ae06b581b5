//! Tests, called plans in code: saved, changed, copied, deleted.

use oleada_engine::plan::{HostPort, Plan, limits};

use crate::error::{Error, Result};
use crate::pages::forms::NewTest;
use crate::state::AppState;
use crate::store::plans::{PlanRow, PlanText};
use crate::store::{PlanId, UserId};

/// Tests of one account.
pub const MOST: i64 = 1000;

/// What a copied test's name ends with.
const COPY: &str = " (copy)";

/// The test, if this account has it.
///
/// # Errors
/// [`Error::NotFound`], also for a text that is no id.
pub async fn find(state: &AppState, owner: UserId, id: &str) -> Result<PlanRow> {
    let id: PlanId = id.parse().map_err(|_| Error::NotFound)?;
    state.db.plan(owner, id).await?.ok_or(Error::NotFound)
}

/// The stored plan.
///
/// # Errors
/// If the stored text is not a plan of this version.
pub fn plan_of(row: &PlanRow) -> Result<Plan> {
    serde_json::from_str(&row.spec).map_err(|error| {
        anyhow::Error::new(error).context(format!("the plan of test {} cannot be read", row.id)).into()
    })
}

/// Saves a new test.
///
/// # Errors
/// [`Error::Conflict`] when the account has [`MOST`] of them.
pub async fn add(state: &AppState, owner: UserId, test: &NewTest) -> Result<PlanId> {
    if state.db.plans(owner, MOST).await?.len() as i64 >= MOST {
        return Err(Error::Conflict(format!("You have {MOST} tests, the most an account may have. Delete one first.")));
    }
    let spec = serde_json::to_string(&test.plan).map_err(anyhow::Error::from)?;
    Ok(state.db.add_plan(owner, PlanText { name: &test.name, notes: &test.notes, spec: &spec }).await?)
}

/// Saves a changed test. Runs that are waiting keep the plan they were asked for with.
///
/// # Errors
/// [`Error::NotFound`] if it is gone.
pub async fn change(state: &AppState, owner: UserId, id: PlanId, test: &NewTest) -> Result<()> {
    let spec = serde_json::to_string(&test.plan).map_err(anyhow::Error::from)?;
    let text = PlanText { name: &test.name, notes: &test.notes, spec: &spec };
    if state.db.change_plan(owner, id, text).await? { Ok(()) } else { Err(Error::NotFound) }
}

/// Saves a copy of a test.
///
/// # Errors
/// As [`add`].
pub async fn copy(state: &AppState, owner: UserId, row: &PlanRow) -> Result<PlanId> {
    let kept = limits::NAME_CHARS - COPY.chars().count();
    let name: String = row.name.chars().take(kept).chain(COPY.chars()).collect();
    add(state, owner, &NewTest { name, notes: row.notes.clone(), plan: plan_of(row)? }).await
}

/// Deletes a test; its finished runs stay.
///
/// # Errors
/// [`Error::Conflict`] while a run of it waits or is under way.
pub async fn delete(state: &AppState, owner: UserId, row: &PlanRow) -> Result<()> {
    if state.db.delete_plan(owner, row.id).await? {
        return Ok(());
    }
    Err(Error::Conflict(
        "A run of this test is waiting or under way. Stop it first; then the test can be deleted.".into(),
    ))
}

/// The hosts that a test needs.
///
/// # Errors
/// As [`plan_of`].
pub fn hosts_of(row: &PlanRow) -> Result<Vec<HostPort>> {
    Ok(plan_of(row)?.hosts())
}

//! The pages of series: the forms that begin one, its page, its table as a file.

use axum::Form;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use oleada_app::FlashKind;
use oleada_app::pages::series::{self as page, SeriesPage, SeriesRun};
use oleada_app::pages::series_form::{self, SeriesForm, SeriesFormPage, SeriesKind};
use oleada_app::view::{FieldError, Figures, SeriesLine, SeriesState};
use oleada_engine::plan::{Plan, Reuse};
use oleada_engine::result::PlanDoc;
use oleada_engine::series::How;
use oleada_engine::verdict::LimitedBy;
use tower_sessions::Session;

use super::plans::missing_hosts;
use super::series_read;
use crate::auth::CurrentUser;
use crate::error::{Result, see_other};
use crate::render::{Frame, flash};
use crate::router::Id;
use crate::runs::{self, light, series};
use crate::state::AppState;
use crate::store::plans::PlanRow;
use crate::store::runs::RunRow;
use crate::store::series::SeriesRow;
use crate::store::{SeriesId, Timestamp};
use crate::{plans, secrets};

/// `GET /tests/{id}/series`.
///
/// # Errors
/// [`crate::error::Error::NotFound`] for a test of somebody else.
pub async fn ask(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    show_form(&state, &plans::find(&state, user.id, &id).await?, SeriesKind::Sizes, frame).await
}

/// `GET /tests/{id}/capacity`.
///
/// # Errors
/// As [`ask`].
pub async fn ask_capacity(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    show_form(&state, &plans::find(&state, user.id, &id).await?, SeriesKind::Capacity, frame).await
}

async fn show_form(state: &AppState, row: &PlanRow, kind: SeriesKind, frame: Frame) -> Result<Response> {
    let opened = plans::open(state, row)?;
    let form = SeriesForm::suggested(kind, &PlanDoc::of(&opened.plan));
    let page = form_page(row, kind, &opened, form, Vec::new());
    frame.show(|chrome| series_form::render(chrome, &page)).await
}

fn form_page(
    row: &PlanRow,
    kind: SeriesKind,
    opened: &secrets::Opened,
    form: SeriesForm,
    errors: Vec<FieldError>,
) -> SeriesFormPage {
    SeriesFormPage {
        kind,
        test_id: row.id.to_string(),
        test_name: row.name.clone(),
        plan: PlanDoc::of(&opened.plan),
        form,
        errors,
        refusal: refusal(row, &opened.plan).or_else(|| opened.loss()),
    }
}

/// Why there can be no series of a test.
fn refusal(row: &PlanRow, plan: &Plan) -> Option<String> {
    if row.archived_at.is_some() {
        return Some("This test is archived, so it cannot be started. Bring it back first.".into());
    }
    let staged = "The load of this test changes in stages, so it has no single size. Copy the test, leave the stages out, and run that.";
    (!plan.stages().is_empty()).then(|| staged.into())
}

/// `POST /tests/{id}/series`.
///
/// # Errors
/// As [`ask`]; [`crate::error::Error::Conflict`] when too many are under way.
pub async fn begin(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    frame: Frame,
    Form(form): Form<SeriesForm>,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    start(&state, &user, &row, SeriesKind::Sizes, form, &session, frame).await
}

/// `POST /tests/{id}/capacity`.
///
/// # Errors
/// As [`begin`].
pub async fn begin_capacity(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    frame: Frame,
    Form(form): Form<SeriesForm>,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    start(&state, &user, &row, SeriesKind::Capacity, form, &session, frame).await
}

async fn start(
    state: &AppState,
    user: &CurrentUser,
    row: &PlanRow,
    kind: SeriesKind,
    form: SeriesForm,
    session: &Session,
    frame: Frame,
) -> Result<Response> {
    let opened = plans::open(state, row)?;
    let spec = match series_read::read(kind, &form, &opened.plan) {
        Ok(spec) if refusal(row, &opened.plan).is_none() => spec,
        read => {
            let page = form_page(row, kind, &opened, form, read.err().unwrap_or_default());
            return frame.show_again(|chrome| series_form::render(chrome, &page)).await;
        }
    };
    let missing: Vec<_> = missing_hosts(state, user.id, row).await?.into_iter().map(|m| m.address).collect();
    if !missing.is_empty() {
        let text = format!("Not started: register and verify {} first.", missing.join(", "));
        flash(session, FlashKind::Failure, text).await?;
        return Ok(see_other(&format!("/tests/{}", row.id)));
    }
    let id = series::begin(state, user.id, row, &spec).await?;
    Ok(see_other(&format!("/series/{id}")))
}

/// `GET /series/{id}`.
///
/// # Errors
/// [`crate::error::Error::NotFound`] for a series of somebody else.
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    Id(id): Id<SeriesId>,
    frame: Frame,
) -> Result<Response> {
    let row = series::find(&state, user.id, id).await?;
    let page = page_of(&state, &row).await?;
    frame.show(|chrome| page::render(chrome, &page)).await
}

async fn page_of(state: &AppState, row: &SeriesRow) -> Result<SeriesPage> {
    let spec = series::spec_of(row)?;
    let plan = state.vault.unseal(&row.spec).map_err(anyhow::Error::from)?.plan;
    let runs = state.db.runs_of_series(row.id).await?;
    let past = series::past(&runs);
    let mut rows = Vec::new();
    for place in spec.places(&past) {
        // The latest: those before it were interrupted. Of a search it is the run that gave the answer.
        let of_place = |run: &&RunRow| run.series_point == Some(i64::from(place.number));
        let run = runs.iter().rfind(of_place);
        rows.push(SeriesRun {
            place,
            run: match run {
                Some(run) => Some(runs::list_row(state, run).await?),
                None => None,
            },
            limited_by: run.and_then(|run| light::limited_by(&run.light)),
            answer: run.and_then(series::answer),
        });
    }
    let quiet = runs.iter().all(|run| runs::state_of(run).is_over());
    let pause_ms = (spec.pause_s * 1000.0) as i64;
    let pause = runs.last().and_then(|run| run.ended_at).map(|at| at.0.saturating_add(pause_ms));
    let waits_until = pause.filter(|until| quiet && pause_ms > 0 && *until > Timestamp::now().0);
    Ok(SeriesPage {
        id: row.id.to_string(),
        test_id: row.plan_id.map(|id| id.to_string()),
        test_name: row.name.clone(),
        found: spec.found(&past),
        spec,
        plan: PlanDoc::of(&plan),
        state: state_of(row),
        detail: row.detail.clone(),
        runs: rows,
        waits_until,
        created_at: row.created_at.0,
        ended_at: row.ended_at.map(|at| at.0),
    })
}

fn state_of(row: &SeriesRow) -> SeriesState {
    match row.state.as_str() {
        "running" => SeriesState::Running,
        "stopped" => SeriesState::Stopped,
        _ => SeriesState::Over,
    }
}

/// The latest series of a test, for its page.
///
/// # Errors
/// If the database fails.
pub async fn lines(state: &AppState, row: &PlanRow, plan: &Plan, limit: i64) -> Result<Vec<SeriesLine>> {
    let rows = state.db.series_of_plan(row.id, limit).await?;
    let line = |row: &SeriesRow| SeriesLine {
        id: row.id.to_string(),
        what: series::spec_of(row).map_or_else(|_| "Series".to_owned(), |spec| page::what(&spec, plan.load())),
        state: state_of(row),
        created_at: row.created_at.0,
        runs: u64::try_from(row.made).unwrap_or(0),
    };
    Ok(rows.iter().map(line).collect())
}

/// `POST /series/{id}/stop`.
///
/// # Errors
/// As [`show`].
pub async fn stop(State(state): State<AppState>, user: CurrentUser, Id(id): Id<SeriesId>) -> Result<Response> {
    let row = series::find(&state, user.id, id).await?;
    series::stop(&state, &row).await?;
    Ok(see_other(&format!("/series/{}", row.id)))
}

/// `POST /series/{id}/delete`.
///
/// # Errors
/// As [`show`]; [`crate::error::Error::Conflict`] while it goes on.
pub async fn delete(
    State(state): State<AppState>,
    user: CurrentUser,
    Id(id): Id<SeriesId>,
    session: Session,
) -> Result<Response> {
    let row = series::find(&state, user.id, id).await?;
    series::delete(&state, &row).await?;
    flash(&session, FlashKind::Success, "The series was deleted. Its runs are kept.").await?;
    Ok(see_other(&row.plan_id.map_or_else(|| "/runs".to_owned(), |plan| format!("/tests/{plan}"))))
}

/// `GET /series/{id}/table.csv`.
///
/// # Errors
/// As [`show`].
pub async fn table(State(state): State<AppState>, user: CurrentUser, Id(id): Id<SeriesId>) -> Result<Response> {
    let row = series::find(&state, user.id, id).await?;
    let page = page_of(&state, &row).await?;
    let name = format!("attachment; filename=\"series-{}.csv\"", row.id);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
        (header::CACHE_CONTROL, "private, no-store".to_owned()),
    ];
    Ok((headers, csv(&page)).into_response())
}

/// One line for each place; a value that is not there is empty. Nothing in it was typed by anybody.
fn csv(page: &SeriesPage) -> String {
    let mut out = format!(
        "{},keep_alive,confirms,state,requests_per_second,p50_ms,p95_ms,p99_ms,error_rate,limits_kept,limited_by,run\r\n",
        page.spec.varies
    );
    let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    let own = page.plan.reuse == Reuse::Client.as_str();
    for r in &page.runs {
        let Figures { requests_per_second, p50, p95, p99, error_rate } =
            r.run.as_ref().and_then(|run| run.figures).unwrap_or_default();
        let kept = r.run.as_ref().and_then(|run| run.passed).map_or_else(String::new, |kept| kept.to_string());
        let limited_by = match r.limited_by {
            Some(LimitedBy::None) => "none",
            Some(LimitedBy::Target) => "target",
            Some(LimitedBy::Generator) => "generator",
            Some(LimitedBy::Plan) => "plan",
            None => "",
        };
        let cells = [
            r.place.size.to_string(),
            r.place.reuse.map_or(own, |reuse| reuse == Reuse::Client).to_string(),
            (matches!(page.spec.how, How::Capacity { .. }) && r.place.confirms).to_string(),
            r.run.as_ref().map_or("not run", |run| run.state.class()).to_owned(),
            number(requests_per_second),
            number(p50),
            number(p95),
            number(p99),
            number(error_rate),
            kept,
            limited_by.to_owned(),
            r.run.as_ref().map_or_else(String::new, |run| run.id.clone()),
        ];
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use oleada_engine::series::SeriesSpec;

    use super::*;

    #[test]
    fn a_place_without_a_run_has_a_line_without_figures() {
        let spec = SeriesSpec {
            varies: oleada_engine::series::Varies::Clients,
            pause_s: 0.0,
            how: How::Sizes { sizes: vec![5.0], both_reuses: true },
        };
        let plan: Plan = serde_json::from_str(
            r#"{"load":{"type":"fixed_count","requests":9,"clients":1},"duration_s":null,"requests":[{"url":"http://127.0.0.1/"}]}"#,
        )
        .unwrap();
        let runs = spec.places(&[]).into_iter();
        let page = SeriesPage {
            id: "s".into(),
            test_id: None,
            test_name: "=cmd()".into(),
            runs: runs.map(|place| SeriesRun { place, run: None, limited_by: None, answer: None }).collect(),
            spec,
            plan: PlanDoc::of(&plan),
            state: SeriesState::Stopped,
            detail: None,
            found: None,
            waits_until: None,
            created_at: 0,
            ended_at: None,
        };
        let text = csv(&page);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("clients,keep_alive,"), "{text}");
        assert_eq!(lines[1..], ["5,true,false,not run,,,,,,,,", "5,false,false,not run,,,,,,,,"]);
        assert!(lines.iter().all(|line| line.matches(',').count() == 11), "{text}");
    }
}

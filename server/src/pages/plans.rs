//! The pages of tests.

use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use oleada_app::FlashKind;
use oleada_app::pages::plan_form::{self, TestFormPage};
use oleada_app::pages::plans::{
    self as page, DeletePage, HistoryEntry, HistoryPage, MissingHost, TestFilter, TestPage, TestRow, TestsPage,
};
use oleada_app::plan_form::{Edit, FormAction, PlanForm};
use oleada_engine::plan::{FieldError, PlanSpec, limits};
use oleada_engine::result::PlanDoc;
use serde::Deserialize;
use tower_sessions::Session;

use super::forms;
use super::submitted::Submitted;
use crate::auth::CurrentUser;
use crate::error::{Error, Result, see_other};
use crate::render::{Frame, flash};
use crate::runs::report;
use crate::state::AppState;
use crate::store::plans::{PlanRow, Sort, Wanted, split_tags};
use crate::store::runs::RunRow;
use crate::store::{PlanId, RunId, UserId};
use crate::{hosts, plans, runs};

/// Runs shown on a test's page.
const RUNS: i64 = 100;
/// Series shown there.
const SERIES: i64 = 10;

/// `?url=`: the address a new test starts with.
#[derive(Debug, Default, Deserialize)]
pub struct Prefill {
    #[serde(default)]
    url: String,
}

/// What a list of tests is asked for. Whatever is not understood counts as not asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    q: String,
    tag: String,
    show: String,
    sort: String,
    page: String,
}

impl ListQuery {
    /// Bounded, and without what is not understood.
    fn filter(&self) -> TestFilter {
        let known = |value: &str, of: &[&str]| if of.contains(&value) { value.to_owned() } else { String::new() };
        TestFilter {
            q: bounded(&self.q, limits::SEARCH_CHARS),
            tag: bounded(&self.tag.to_lowercase(), limits::TAG_CHARS),
            show: known(&self.show, &["archived", "all"]),
            sort: known(&self.sort, &["name", "run"]),
        }
    }
}

/// Without control characters, which stand in no name and which Postgres takes in no text.
fn bounded(text: &str, most: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(most).collect()
}

fn wanted(filter: &TestFilter) -> (Wanted, Sort) {
    let words = filter.q.to_lowercase().split_whitespace().take(limits::SEARCH_WORDS).map(str::to_owned).collect();
    let archived = match filter.show.as_str() {
        "all" => None,
        shown => Some(shown == "archived"),
    };
    let sort = match filter.sort.as_str() {
        "name" => Sort::Name,
        "run" => Sort::Run,
        _ => Sort::Changed,
    };
    (Wanted { words, tag: (!filter.tag.is_empty()).then(|| filter.tag.clone()), archived }, sort)
}

/// `GET /tests`.
///
/// # Errors
/// If the database fails.
pub async fn list(
    State(state): State<AppState>,
    user: CurrentUser,
    Query(query): Query<ListQuery>,
    frame: Frame,
) -> Result<Response> {
    let filter = query.filter();
    let (wanted, sort) = wanted(&filter);
    let found = u64::try_from(state.db.count_wanted_plans(user.id, &wanted).await?).unwrap_or(0);
    let a_page = limits::TESTS_A_PAGE as u64;
    let pages = found.div_ceil(a_page).max(1);
    let page = query.page.parse::<u64>().unwrap_or(1).clamp(1, pages);
    let (limit, offset) = (limits::TESTS_A_PAGE as i64, ((page - 1) * a_page) as i64);
    let mut tests = Vec::new();
    for row in state.db.wanted_plans(user.id, &wanted, sort, limit, offset).await? {
        let last = state.db.runs_of_plan(row.id, 1).await?;
        tests.push(TestRow {
            id: row.id.to_string(),
            name: row.name,
            tags: split_tags(&row.tags),
            archived: row.archived_at.is_some(),
            updated_at: row.updated_at.0,
            // One test that cannot be read must not hide the others.
            plan: state.vault.unseal(&row.spec).ok().map(|opened| PlanDoc::of(&opened.plan)),
            last_run: runs::list(&state, &last).await?.pop(),
            runs: u64::try_from(row.runs).unwrap_or(0),
        });
    }
    let page = TestsPage {
        tests,
        tags: state.db.plan_tags(user.id).await?,
        filter,
        found,
        all: u64::try_from(state.db.count_plans(user.id).await?).unwrap_or(0),
        page,
        pages,
    };
    frame.show(|chrome| page::render_list(chrome, &page)).await
}

/// `GET /tests/new`.
///
/// # Errors
/// If the database fails.
pub async fn new(
    State(state): State<AppState>,
    user: CurrentUser,
    Query(prefill): Query<Prefill>,
    frame: Frame,
) -> Result<Response> {
    let mut form = if prefill.url.is_empty() { PlanForm::default() } else { PlanForm::for_url(&prefill.url) };
    form.form_id = uuid::Uuid::new_v4().to_string();
    let page = form_page(&state, user.id, None, form, Vec::new()).await?;
    frame.show(|chrome| plan_form::render(chrome, &page)).await
}

/// `POST /tests`.
///
/// # Errors
/// If the database fails, or the account has too many tests.
pub async fn create(
    State(state): State<AppState>,
    user: CurrentUser,
    session: Session,
    frame: Frame,
    Submitted(pairs): Submitted,
) -> Result<Response> {
    let (mut form, action) = PlanForm::from_pairs(pairs);
    if let Some(error) = fetch_data(&state, &mut form, action).await {
        return again(&state, user.id, None, form, vec![error], frame).await;
    }
    let form_id = form.form_id.clone();
    match judge(form, action, None) {
        Judged::Test(test, run) => {
            let plans::Added { id, again } = plans::add_by_form(&state, user.id, &test, &form_id).await?;
            if let Some(run) = if again && run { first_run(&state, id).await? } else { None } {
                return Ok(see_other(&format!("/runs/{run}")));
            }
            saved(&state, user.id, id, &test.told, run, &session).await
        }
        Judged::Again(form, errors) => again(&state, user.id, None, *form, errors, frame).await,
    }
}

/// The run that the first of two clicks has started, or is about to start.
async fn first_run(state: &AppState, id: PlanId) -> Result<Option<RunId>> {
    for _ in 0..20 {
        if let Some(run) = state.db.runs_of_plan(id, 1).await?.pop() {
            return Ok(Some(run.id));
        }
        runs::queue::pause(Duration::from_millis(50)).await;
    }
    Ok(None)
}

/// `GET /tests/{id}`.
///
/// # Errors
/// [`Error::NotFound`] for a test of somebody else.
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let opened = plans::open(&state, &row)?;
    let history = state.db.runs_of_plan(row.id, RUNS).await?;
    // Runs of a series differ from the baseline by intention.
    let is_latest =
        |run: &&RunRow| runs::state_of(run).is_over() && run.light.duration_s.is_some() && run.series_id.is_none();
    let latest = history.iter().find(is_latest).filter(|_| row.baseline_run_id.is_some());
    // Lists are read without what comparisons need.
    let against = match latest {
        Some(run) => match state.db.run(run.id).await? {
            Some(run) => report::against(&state, &run).await?,
            None => None,
        },
        None => None,
    };
    let page = TestPage {
        id: row.id.to_string(),
        name: row.name.clone(),
        notes: row.notes.clone(),
        tags: split_tags(&row.tags),
        archived_at: row.archived_at.map(|at| at.0),
        lost: opened.loss(),
        plan: PlanDoc::of(&opened.plan),
        runs: runs::list(&state, &history).await?,
        series: super::series::lines(&state, &row, &opened.plan, SERIES).await?,
        against,
        missing_hosts: missing_hosts(&state, user.id, &row).await?,
        updated_at: row.updated_at.0,
    };
    frame.show(|chrome| page::render_one(chrome, &page)).await
}

/// `GET /tests/{id}/edit`.
///
/// # Errors
/// As [`show`].
pub async fn edit(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let mut form = PlanForm::from_spec(&row.name, &row.notes, plans::open(&state, &row)?.plan.spec());
    form.tags = split_tags(&row.tags).join(", ");
    let page = form_page(&state, user.id, Some(row.id), form, Vec::new()).await?;
    frame.show(|chrome| plan_form::render(chrome, &page)).await
}

/// `POST /tests/{id}/edit`.
///
/// # Errors
/// As [`show`].
pub async fn update(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    frame: Frame,
    Submitted(pairs): Submitted,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let stored = PlanSpec::from(plans::open(&state, &row)?.plan);
    let (mut form, action) = PlanForm::from_pairs(pairs);
    form.mark_stored(&stored);
    if let Some(error) = fetch_data(&state, &mut form, action).await {
        return again(&state, user.id, Some(row.id), form, vec![error], frame).await;
    }
    match judge(form, action, Some(&stored)) {
        Judged::Test(test, run) => {
            plans::change(&state, user.id, &row, &test).await?;
            saved(&state, user.id, row.id, &test.told, run, &session).await
        }
        Judged::Again(form, errors) => again(&state, user.id, Some(row.id), *form, errors, frame).await,
    }
}

/// `POST /tests/{id}/run`.
///
/// # Errors
/// As [`show`]; [`Error::Conflict`] when too many runs wait.
pub async fn run(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    start(&state, user.id, &row, &session).await
}

/// `POST /tests/{id}/copy`.
///
/// # Errors
/// As [`show`].
pub async fn copy(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let copy = plans::copy(&state, user.id, &row).await?;
    flash(&session, FlashKind::Success, format!("This is a copy of “{}”.", row.name)).await?;
    Ok(see_other(&format!("/tests/{copy}/edit")))
}

/// `POST /tests/{id}/archive`.
///
/// # Errors
/// As [`show`].
pub async fn archive(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    plans::archive(&state, user.id, &row).await?;
    flash(&session, FlashKind::Success, format!("“{}” is archived. Its runs are kept.", row.name)).await?;
    Ok(see_other(&format!("/tests/{}", row.id)))
}

/// `POST /tests/{id}/unarchive`.
///
/// # Errors
/// As [`show`].
pub async fn unarchive(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    plans::unarchive(&state, user.id, &row).await?;
    flash(&session, FlashKind::Success, format!("“{}” is back in the list.", row.name)).await?;
    Ok(see_other(&format!("/tests/{}", row.id)))
}

/// `GET /tests/{id}/history`.
///
/// # Errors
/// As [`show`].
pub async fn history(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let entries = plans::history(&state, &row).await?.into_iter().map(|change| HistoryEntry {
        version: change.before.id.to_string(),
        at: change.before.changed_at.0,
        by: change.before.changed_by,
        sentences: change.sentences,
    });
    let page = HistoryPage {
        id: row.id.to_string(),
        name: row.name.clone(),
        created_at: row.created_at.0,
        entries: entries.collect(),
    };
    frame.show(|chrome| page::render_history(chrome, &page)).await
}

/// `POST /tests/{id}/history/{version}/restore`.
///
/// # Errors
/// As [`show`]; [`Error::NotFound`] for a version that is not kept any more.
pub async fn restore(
    State(state): State<AppState>,
    user: CurrentUser,
    Path((id, version)): Path<(String, String)>,
    session: Session,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    plans::restore(&state, user.id, &row, &version).await?;
    flash(&session, FlashKind::Success, "The former version is back. What was replaced is in the history.").await?;
    Ok(see_other(&format!("/tests/{}", row.id)))
}

/// `GET /tests/{id}/delete`: the question.
///
/// # Errors
/// As [`show`].
pub async fn ask_delete(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let runs = u64::try_from(state.db.count_runs_of_plan(row.id).await?).unwrap_or(0);
    let page = DeletePage { id: row.id.to_string(), name: row.name, runs };
    frame.show(|chrome| page::render_delete(chrome, &page)).await
}

/// The answer to the question before something is deleted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Confirmation {
    confirmed: String,
}

impl Confirmation {
    /// Whether the question was answered with yes.
    pub fn is_given(&self) -> bool {
        self.confirmed == "yes"
    }
}

/// `POST /tests/{id}/delete`. An archived test that has runs was put away to be kept: it goes only when that was confirmed.
///
/// # Errors
/// As [`show`]; [`Error::Conflict`] while a run of it is under way.
pub async fn delete(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    axum::Form(confirmation): axum::Form<Confirmation>,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    if row.archived_at.is_some() && !confirmation.is_given() && state.db.count_runs_of_plan(row.id).await? > 0 {
        return Ok(see_other(&format!("/tests/{}/delete", row.id)));
    }
    plans::delete(&state, user.id, &row).await?;
    flash(&session, FlashKind::Success, format!("“{}” was deleted. Its runs are kept.", row.name)).await?;
    Ok(see_other("/tests"))
}

enum Judged {
    Test(Box<forms::NewTest>, bool),
    Again(Box<PlanForm>, Vec<FieldError>),
}

/// Puts the rows from the address that the form names, if it names one, in the place of those that were typed.
async fn fetch_data(state: &AppState, form: &mut PlanForm, action: FormAction) -> Option<FieldError> {
    let fault = |message: String| Some(FieldError { field: "data_url".to_owned(), message });
    let asked = match action {
        FormAction::Edit(edit) => edit == Edit::FetchData,
        FormAction::Save | FormAction::Run => !form.data_url.trim().is_empty(),
    };
    if !asked {
        return None;
    }
    if form.data_url.trim().is_empty() {
        return fault("is needed: type where the file lies".to_owned());
    }
    match state.outgoing.file(&form.data_url).await {
        Ok(text) => {
            form.data = text;
            form.data_url.clear();
            None
        }
        Err(sentence) => fault(format!("gave no data. {sentence}")),
    }
}

/// A button that changes rows shows the form again without judging it.
fn judge(mut form: PlanForm, action: FormAction, stored: Option<&PlanSpec>) -> Judged {
    if let FormAction::Edit(edit) = action {
        form.apply(edit);
        return Judged::Again(Box::new(form), Vec::new());
    }
    form.drop_blank_rows();
    match forms::read(&form, stored) {
        Ok(test) => Judged::Test(Box::new(test), action == FormAction::Run),
        Err(errors) => Judged::Again(Box::new(form), errors),
    }
}

async fn again(
    state: &AppState,
    owner: UserId,
    id: Option<PlanId>,
    form: PlanForm,
    errors: Vec<FieldError>,
    frame: Frame,
) -> Result<Response> {
    let faulty = !errors.is_empty();
    let page = form_page(state, owner, id, form, errors).await?;
    let render = |chrome: &oleada_app::Chrome| plan_form::render(chrome, &page);
    if faulty { frame.show_again(render).await } else { frame.show(render).await }
}

async fn form_page(
    state: &AppState,
    owner: UserId,
    id: Option<PlanId>,
    form: PlanForm,
    errors: Vec<FieldError>,
) -> Result<TestFormPage> {
    let hosts = hosts::usable(state, owner).await?.iter().map(ToString::to_string).collect();
    Ok(TestFormPage { id: id.map(|id| id.to_string()), form, errors, hosts })
}

/// After a test was saved; `told` is what was changed on the way.
async fn saved(
    state: &AppState,
    owner: UserId,
    id: PlanId,
    told: &[String],
    run: bool,
    session: &Session,
) -> Result<Response> {
    if run {
        let row = state.db.plan(owner, id).await?.ok_or(Error::NotFound)?;
        return start(state, owner, &row, session).await;
    }
    let kind = if told.is_empty() { FlashKind::Success } else { FlashKind::Notice };
    flash(session, kind, format!("The test is saved. {}", told.join(" ")).trim_end()).await?;
    Ok(see_other(&format!("/tests/{id}")))
}

/// Queues a run, unless a host is missing: then the test's page says what to do.
async fn start(state: &AppState, owner: UserId, row: &PlanRow, session: &Session) -> Result<Response> {
    let missing = missing_hosts(state, owner, row).await?;
    if missing.is_empty() {
        let id = runs::enqueue(state, owner, row).await?;
        return Ok(see_other(&format!("/runs/{id}")));
    }
    let names: Vec<_> = missing.into_iter().map(|m| m.address).collect();
    let text = format!("Not started: register and verify {} first.", names.join(", "));
    flash(session, FlashKind::Failure, text).await?;
    Ok(see_other(&format!("/tests/{}", row.id)))
}

pub(super) async fn missing_hosts(state: &AppState, owner: UserId, row: &PlanRow) -> Result<Vec<MissingHost>> {
    let mut missing = Vec::new();
    for at in plans::hosts_of(state, row)? {
        match hosts::standing(state, owner, &at).await? {
            hosts::Standing::Usable => {}
            hosts::Standing::Unproved(id) => {
                missing.push(MissingHost { address: at.to_string(), id: Some(id.to_string()) })
            }
            hosts::Standing::Unknown => missing.push(MissingHost { address: at.to_string(), id: None }),
        }
    }
    Ok(missing)
}

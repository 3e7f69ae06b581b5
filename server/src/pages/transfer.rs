//! Tests from elsewhere and to elsewhere.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use oleada_app::FlashKind;
use oleada_app::pages::transfer::{self, ExportPage, ImportPage};
use oleada_engine::plan::{FieldError, Plan, Target, limits};
use oleada_engine::result::shown_url;
use oleada_import::secrets::{self, Secrets};
use oleada_import::{Exported, Imported, to_bench_command, to_json, to_loaderio};
use tower_sessions::Session;

use super::forms::NewTest;
use super::submitted::Submitted;
use crate::auth::CurrentUser;
use crate::error::{Result, see_other};
use crate::plans;
use crate::render::{Frame, flash};
use crate::state::AppState;
use crate::store::plans::{PlanRow, split_tags};

/// Sentences about what was left out that a page shows; of the rest it says how many they are.
const SENTENCES: usize = 12;

/// `GET /tests/import`.
///
/// # Errors
/// If the page cannot be drawn.
pub async fn ask(_user: CurrentUser, frame: Frame) -> Result<Response> {
    frame.show(|chrome| transfer::render_import(chrome, &ImportPage::default())).await
}

/// `POST /tests/import`: what is read becomes a test, which is then shown in its form.
///
/// # Errors
/// If the database fails, or the account has too many tests.
pub async fn import(
    State(state): State<AppState>,
    user: CurrentUser,
    session: Session,
    frame: Frame,
    Submitted(pairs): Submitted,
) -> Result<Response> {
    // A file comes under the same name and counts where one was chosen.
    let mut text =
        pairs.into_iter().filter(|(name, text)| name == "text" && !text.trim().is_empty()).map(|(_, text)| text);
    let text = text.next_back().unwrap_or_default();
    let read = match oleada_import::detect_and_import(&text) {
        Ok(mut imported) => {
            fetch_data(&state, &mut imported).await;
            let left_out = left_out(&imported);
            test(imported).map(|test| (test, left_out))
        }
        Err(error) => Err(error.to_string()),
    };
    match read {
        Ok((test, left_out)) => {
            let id = plans::add(&state, user.id, &test).await?;
            let kind = if left_out.is_empty() { FlashKind::Success } else { FlashKind::Notice };
            flash(&session, kind, format!("The test was imported: look at it, then run it. {left_out}").trim_end())
                .await?;
            Ok(see_other(&format!("/tests/{id}/edit")))
        }
        Err(message) => {
            let page = ImportPage { text, errors: vec![FieldError { field: "text".to_owned(), message }] };
            frame.show_again(|chrome| transfer::render_import(chrome, &page)).await
        }
    }
}

fn left_out(imported: &Imported) -> String {
    let mut sentences: Vec<String> = imported.left_out.iter().take(SENTENCES).cloned().collect();
    let more = imported.left_out.len().saturating_sub(SENTENCES);
    if more > 0 {
        sentences.push(format!("{more} more things were left out."));
    }
    sentences.join(" ")
}

/// Fetches the data that lie elsewhere; where that fails, the reason stands among what was left out.
async fn fetch_data(state: &AppState, imported: &mut Imported) {
    let Some(url) = imported.data_url.take() else { return };
    let read = match state.outgoing.file(&url).await {
        Ok(text) => oleada_import::payload(&text).map_err(|error| error.to_string()),
        Err(sentence) => Err(sentence),
    };
    match read {
        Ok(mut data) => {
            imported.left_out.append(&mut data.left_out);
            imported.left_out.extend(data.apply(&mut imported.plan));
        }
        Err(sentence) => imported
            .left_out
            .push(format!("Its rows of data could not be fetched from {}: {sentence}", shown_address(&url))),
    }
}

/// An address as it may stand in a message.
fn shown_address(url: &str) -> String {
    Target::parse(url).map_or_else(|_| "the address it names".to_owned(), |target| shown_url(&target))
}

fn test(imported: Imported) -> Result<NewTest, String> {
    let plan = Plan::try_from(imported.plan).map_err(|errors| errors.to_string())?;
    let named = imported.name.filter(|name| !name.trim().is_empty());
    let name = named.unwrap_or_else(|| plan.requests().first().map_or_else(String::new, |r| shown_url(&r.target)));
    Ok(NewTest {
        name: name.chars().take(limits::NAME_CHARS).collect(),
        notes: imported.notes.unwrap_or_default(),
        tags: imported.tags,
        plan,
        told: Vec::new(),
    })
}

/// `GET /tests/{id}/export`.
///
/// # Errors
/// [`crate::error::Error::NotFound`] for a test of somebody else.
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    frame: Frame,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let mut test = exported(&state, &row)?;
    let json = to_json(&test, Secrets::LeaveOut);
    secrets::strip(&mut test.plan);
    let (command, command_lacks) = to_bench_command(&test.plan);
    let (body, loaderio_lacks) = to_loaderio(&test);
    let page = ExportPage {
        id: row.id.to_string(),
        name: row.name.clone(),
        json,
        command,
        command_lacks,
        loaderio: format!("{body:#}"),
        loaderio_lacks,
    };
    frame.show(|chrome| transfer::render_export(chrome, &page)).await
}

/// `GET /tests/{id}/export.json`.
///
/// # Errors
/// As [`show`].
pub async fn download(State(state): State<AppState>, user: CurrentUser, Path(id): Path<String>) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let text = to_json(&exported(&state, &row)?, Secrets::LeaveOut);
    let name = format!("attachment; filename=\"oleada-test-{}.json\"", row.id);
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, text).into_response())
}

fn exported(state: &AppState, row: &PlanRow) -> Result<Exported> {
    Ok(Exported {
        name: Some(row.name.clone()),
        notes: Some(row.notes.clone()).filter(|notes| !notes.is_empty()),
        tags: split_tags(&row.tags),
        plan: plans::open(state, row)?.plan.spec().clone(),
    })
}

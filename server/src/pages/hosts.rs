//! Hosts: the list, adding one, and proving that it is one's own.

use axum::Form;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use oleada_app::FlashKind;
use oleada_app::pages::hosts::{HostCheck, HostPage, HostProof, HostsPage, render_list, render_one};
use oleada_app::view::FieldError;
use oleada_engine::plan::Target;
use serde::Deserialize;
use tower_sessions::Session;

use crate::accounts::Refusal;
use crate::auth::CurrentUser;
use crate::error::{Error, Result, see_other};
use crate::hosts::{self, lookalike, proof};
use crate::plans;
use crate::render::{Frame, flash};
use crate::router::Id;
use crate::state::AppState;
use crate::store::hosts::{HostRow, ProofRow, SchemeHint};
use crate::store::{HostId, UserId};

/// The form that adds a host.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct AddForm {
    address: String,
}

/// The form that asks for a check.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct VerifyForm {
    method: String,
}

/// `GET /hosts`
pub async fn list(State(state): State<AppState>, user: CurrentUser, frame: Frame) -> Result<Response> {
    let page = list_page(&state, user.id, String::new(), Vec::new()).await?;
    frame.show(|chrome| render_list(chrome, &page)).await
}

async fn list_page(state: &AppState, user: UserId, address: String, errors: Vec<FieldError>) -> Result<HostsPage> {
    let rows = state.db.hosts(user).await?;
    let hosts = rows.iter().map(|row| hosts::line(&state.config, row)).collect();
    Ok(HostsPage { hosts, address, errors, local_mode: state.is_local() && !state.config.require_proof })
}

/// `POST /hosts`
pub async fn add(
    State(state): State<AppState>,
    user: CurrentUser,
    session: Session,
    frame: Frame,
    Form(form): Form<AddForm>,
) -> Result<Response> {
    match hosts::add(&state, user.id, &form.address).await {
        Ok(id) => {
            let row = hosts::find(&state, user.id, id).await?;
            let trusted = hosts::at(&row).is_some_and(|at| hosts::is_trusted(&state.config, &at));
            let words = if trusted {
                "The host is added. It is trusted by this installation, so it can be tested at once."
            } else {
                "The host is added. Now prove that it is yours."
            };
            flash(&session, FlashKind::Success, words).await?;
            Ok(see_other(&format!("/hosts/{id}")))
        }
        Err(Refusal::Fields(errors)) => {
            let page = list_page(&state, user.id, form.address, errors).await?;
            frame.show_again(|chrome| render_list(chrome, &page)).await
        }
        Err(Refusal::Error(error)) => Err(error),
    }
}

/// `GET /hosts/{id}/token.txt`: the file to put on the host.
pub async fn token_file(State(state): State<AppState>, user: CurrentUser, Id(id): Id<HostId>) -> Result<Response> {
    let row = hosts::find(&state, user.id, id).await?;
    let (name, body) = (format!("oleada-{}.txt", row.token), format!("oleada-{}", row.token));
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers =
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, body).into_response())
}

/// `GET /hosts/{id}`
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    Id(id): Id<HostId>,
    frame: Frame,
) -> Result<Response> {
    let row = hosts::find(&state, user.id, id).await?;
    let last_check = state.db.last_proof(id).await?.map(check_of);
    let target = hosts::target(&row);
    let page = HostPage {
        unicode: target.as_ref().and_then(Target::unicode_host),
        warning: target.as_ref().and_then(lookalike::warning),
        host: hosts::line(&state.config, &row),
        proof: proof_of(&row),
        last_check,
        tests: tests_of(&state, &row).await?,
    };
    frame.show(|chrome| render_one(chrome, &page)).await
}

/// How many tests name this host.
async fn tests_of(state: &AppState, row: &HostRow) -> Result<u64> {
    let Some(at) = hosts::at(row) else { return Ok(0) };
    let plans = state.db.plans(row.user_id, plans::MOST).await?;
    let named = plans.iter().filter(|plan| plans::hosts_of(state, plan).is_ok_and(|hosts| hosts.contains(&at)));
    Ok(named.count() as u64)
}

/// `POST /hosts/{id}/verify`
pub async fn verify(
    State(state): State<AppState>,
    user: CurrentUser,
    Id(id): Id<HostId>,
    session: Session,
    Form(form): Form<VerifyForm>,
) -> Result<Response> {
    let row = hosts::find(&state, user.id, id).await?;
    let method = proof::method_named(&form.method)
        .ok_or_else(|| Error::BadRequest("There is no such way to prove ownership.".into()))?;
    let found = hosts::verify(&state, &row, method).await?;
    if found.passed {
        flash(&session, FlashKind::Success, "Verified: the host is yours and can be tested.").await?;
    } else {
        flash(&session, FlashKind::Failure, "Not verified. What was found is shown below.").await?;
    }
    Ok(see_other(&format!("/hosts/{id}")))
}

/// `POST /hosts/{id}/delete`
pub async fn delete(
    State(state): State<AppState>,
    user: CurrentUser,
    Id(id): Id<HostId>,
    session: Session,
) -> Result<Response> {
    let row = hosts::find(&state, user.id, id).await?;
    hosts::remove(&state, &row).await?;
    flash(&session, FlashKind::Success, format!("{}:{} is removed.", row.host, row.port)).await?;
    Ok(see_other("/hosts"))
}

fn check_of(row: ProofRow) -> HostCheck {
    HostCheck {
        at: row.at.0,
        method: hosts::shown_method(row.method),
        passed: row.passed,
        message: row.message,
        status: row.status.and_then(|status| u16::try_from(status).ok()),
        expected: row.expected,
        seen: row.seen,
    }
}

/// What to put where.
fn proof_of(row: &HostRow) -> HostProof {
    let (scheme, usual_port) = match row.scheme {
        SchemeHint::Http => ("http", 80),
        SchemeHint::Https => ("https", 443),
    };
    let authority = if row.port == usual_port { row.host.clone() } else { format!("{}:{}", row.host, row.port) };
    let body = format!("oleada-{}", row.token);
    HostProof {
        file_name: format!("{body}.txt"),
        file_url: format!("{scheme}://{authority}/{body}.txt"),
        file_body: body,
        dns_name: proof::txt_names(&row.host).into_iter().next().unwrap_or_default(),
        dns_value: format!("oleada={}", row.token),
        meta_url: format!("{scheme}://{authority}/"),
        meta_tag: proof::meta_tag(&row.token),
    }
}

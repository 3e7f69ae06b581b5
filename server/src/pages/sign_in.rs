//! Sign up, sign in, sign out.

use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use oleada_app::FlashKind;
use oleada_app::pages::sign_in::{SignInPage, SignUpPage, render_sign_in, render_sign_up};
use oleada_app::view::FieldError;
use serde::Deserialize;
use tower_sessions::Session;

use crate::accounts::{self, NewAccount, Refusal, is_sign_up_open};
use crate::auth::{self, MaybeUser, safe_next};
use crate::error::{Result, see_other};
use crate::render::{Frame, flash};
use crate::router::ClientAddress;
use crate::state::AppState;

const AFTERWARDS: &str = "/dashboard";
/// Where the session keeps the setup token that a visitor showed.
const SETUP: &str = "setup";

/// What the address of a form may carry.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    next: String,
    setup: String,
}

/// The sign-up form as it was sent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SignUpForm {
    email: String,
    name: String,
    password: String,
    next: String,
}

/// The sign-in form as it was sent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SignInForm {
    email: String,
    password: String,
    next: String,
}

fn next_of(text: &str) -> Option<String> {
    safe_next(text).map(str::to_owned)
}

/// `GET /sign-up`
pub async fn sign_up_form(
    State(state): State<AppState>,
    MaybeUser(user): MaybeUser,
    Query(asked): Query<Asked>,
    session: Session,
    frame: Frame,
) -> Result<Response> {
    if user.is_some() {
        return Ok(see_other(safe_next(&asked.next).unwrap_or(AFTERWARDS)));
    }
    if !asked.setup.is_empty() && state.setup.matches(&asked.setup) {
        // Out of the address, into the session: the form is then like any other.
        session.insert(SETUP, &asked.setup).await?;
    }
    accounts::admission(&state, &setup_of(&session).await?).await?;
    let page = sign_up_page(&state, &SignUpForm { next: asked.next, ..SignUpForm::default() }, Vec::new()).await?;
    frame.show(|chrome| render_sign_up(chrome, &page)).await
}

/// `POST /sign-up`
pub async fn sign_up(
    State(state): State<AppState>,
    ClientAddress(from): ClientAddress,
    session: Session,
    frame: Frame,
    Form(form): Form<SignUpForm>,
) -> Result<Response> {
    let admission = accounts::admission(&state, &setup_of(&session).await?).await?;
    state.attempts.from_address(from)?;
    let new = NewAccount { email: form.email.clone(), name: form.name.clone(), password: form.password.clone() };
    match accounts::add(&state.db, &state.passwords, new, admission).await {
        Ok(user) => {
            auth::sign_in(&session, user.id).await?;
            let words = if user.is_operator {
                "Your account is ready. You are the operator of this installation."
            } else {
                "Your account is ready."
            };
            flash(&session, FlashKind::Success, words).await?;
            Ok(see_other(safe_next(&form.next).unwrap_or(AFTERWARDS)))
        }
        Err(Refusal::Fields(errors)) => {
            let page = sign_up_page(&state, &form, errors).await?;
            frame.show_again(|chrome| render_sign_up(chrome, &page)).await
        }
        Err(Refusal::Error(error)) => Err(error),
    }
}

async fn setup_of(session: &Session) -> Result<String> {
    Ok(session.get(SETUP).await?.unwrap_or_default())
}

async fn sign_up_page(state: &AppState, form: &SignUpForm, errors: Vec<FieldError>) -> Result<SignUpPage> {
    Ok(SignUpPage {
        email: form.email.clone(),
        errors,
        first_account: !state.db.is_set_up().await?,
        next: next_of(&form.next),
    })
}

/// `GET /sign-in`
pub async fn sign_in_form(
    State(state): State<AppState>,
    MaybeUser(user): MaybeUser,
    Query(asked): Query<Asked>,
    frame: Frame,
) -> Result<Response> {
    if user.is_some() {
        return Ok(see_other(safe_next(&asked.next).unwrap_or(AFTERWARDS)));
    }
    let page =
        SignInPage { next: next_of(&asked.next), sign_up_open: is_sign_up_open(&state), ..SignInPage::default() };
    frame.show(|chrome| render_sign_in(chrome, &page)).await
}

/// `POST /sign-in`
pub async fn sign_in(
    State(state): State<AppState>,
    ClientAddress(from): ClientAddress,
    session: Session,
    frame: Frame,
    Form(form): Form<SignInForm>,
) -> Result<Response> {
    match accounts::authenticate(&state, from, &form.email, &form.password).await {
        Ok(user) => {
            auth::sign_in(&session, user.id).await?;
            Ok(see_other(safe_next(&form.next).unwrap_or(AFTERWARDS)))
        }
        Err(Refusal::Fields(errors)) => {
            let page = SignInPage {
                email: form.email,
                errors,
                sign_up_open: is_sign_up_open(&state),
                next: next_of(&form.next),
            };
            frame.show_again(|chrome| render_sign_in(chrome, &page)).await
        }
        Err(Refusal::Error(error)) => Err(error),
    }
}

/// `POST /sign-out`
pub async fn sign_out(session: Session) -> Result<Response> {
    auth::sign_out(&session).await?;
    Ok(see_other("/"))
}

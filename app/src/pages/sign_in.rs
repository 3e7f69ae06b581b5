//! Sign up and sign in.

use leptos::prelude::*;

use oleada_engine::plan::limits;

use crate::shell::{Head, document};
use crate::ui::form::{Field, error_summary};
use crate::view::{Chrome, FieldError};

/// `GET /sign-up`, and the answer (422) to a `POST` with faults. Fields: `email`, `password`, `next`.
#[derive(Clone, Debug, Default)]
pub struct SignUpPage {
    /// As typed.
    pub email: String,
    /// Faults; `field` is `email`, `password` or empty for the form as a whole.
    pub errors: Vec<FieldError>,
    /// This account will be the operator of the installation.
    pub first_account: bool,
    /// Where to go afterwards: a path on this server.
    pub next: Option<String>,
}

/// `GET /sign-in`, and the answer (422) to a `POST` with faults. Fields: `email`, `password`, `next`.
#[derive(Clone, Debug, Default)]
pub struct SignInPage {
    /// As typed.
    pub email: String,
    /// Faults; `field` is `email`, `password` or empty for the form as a whole.
    pub errors: Vec<FieldError>,
    /// Whether people may make accounts themselves.
    pub sign_up_open: bool,
    /// Where to go afterwards: a path on this server.
    pub next: Option<String>,
}

/// Draws the sign-up page.
pub fn render_sign_up(chrome: &Chrome, page: &SignUpPage) -> String {
    let (fewest, most) = limits::PASSWORD_CHARS;
    document(chrome, &Head::private("Create an account").class("slim"), || {
        view! {
            {error_summary(&page.errors, label)}
            <h1>"Create an account"</h1>
            {page.first_account.then(|| view! {
                <div class="note-box"><p><strong>"You are the first here."</strong>" This account will be the operator of this installation: it decides who may join and what may be tested."</p></div>
            })}
            <form method="post" action="/sign-up" class="stack">
                {email(&page.email, &page.errors)}
                {Field {
                    name: "password", label: "Password", kind: "password", autocomplete: "new-password", required: true,
                    hint: format!("{fewest} to {most} characters. A few unrelated words make a good one."), ..Field::default()
                }.view(&page.errors)}
                {next(page.next.as_deref())}
                <p class="form-actions"><button class="button" type="submit">"Create account"</button></p>
            </form>
            <p class="muted">"Have an account already? "<a href="/sign-in">"Sign in"</a></p>
        }
        .into_any()
    })
}

/// Draws the sign-in page.
pub fn render_sign_in(chrome: &Chrome, page: &SignInPage) -> String {
    document(chrome, &Head::private("Sign in").class("slim"), || {
        view! {
            {error_summary(&page.errors, label)}
            <h1>"Sign in"</h1>
            <form method="post" action="/sign-in" class="stack">
                {email(&page.email, &page.errors)}
                {Field { name: "password", label: "Password", kind: "password", autocomplete: "current-password", required: true, ..Field::default() }.view(&page.errors)}
                {next(page.next.as_deref())}
                <p class="form-actions"><button class="button" type="submit">"Sign in"</button></p>
            </form>
            {page.sign_up_open.then(|| view! { <p class="muted">"No account yet? "<a href="/sign-up">"Create one"</a></p> })}
        }
        .into_any()
    })
}

fn email(value: &str, errors: &[FieldError]) -> AnyView {
    Field {
        name: "email",
        label: "E-mail address",
        kind: "email",
        autocomplete: "username",
        inputmode: "email",
        required: true,
        value,
        ..Field::default()
    }
    .view(errors)
}

fn next(path: Option<&str>) -> AnyView {
    path.map(|p| view! { <input type="hidden" name="next" value=p.to_owned() /> }).into_any()
}

fn label(field: &str) -> String {
    match field {
        "email" => "E-mail address",
        "password" => "Password",
        _ => "",
    }
    .to_owned()
}

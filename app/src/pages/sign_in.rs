//! Sign up and sign in.

use leptos::prelude::*;

use crate::shell::{Head, document};
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
    let _ = page;
    document(chrome, &Head::private("Create an account"), || view! { <h1>"Create an account"</h1> }.into_any())
}

/// Draws the sign-in page.
pub fn render_sign_in(chrome: &Chrome, page: &SignInPage) -> String {
    let _ = page;
    document(chrome, &Head::private("Sign in"), || view! { <h1>"Sign in"</h1> }.into_any())
}

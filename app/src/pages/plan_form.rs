//! Creating and editing a test.

use leptos::prelude::*;

use crate::plan_form::PlanForm;
use crate::shell::{Head, document};
use crate::view::{Chrome, FieldError};

/// `GET /tests/new`, `GET /tests/{id}/edit`, and the answers (422) to their `POST`s with faults, or (200) to their buttons
/// that add and remove requests.
#[derive(Clone, Debug)]
pub struct TestFormPage {
    /// The test being edited; `None` for a new one.
    pub id: Option<String>,
    /// As typed.
    pub form: PlanForm,
    /// Faults; `field` as in [`crate::plan_form`].
    pub errors: Vec<FieldError>,
    /// Addresses of hosts that may be tested, to suggest.
    pub hosts: Vec<String>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &TestFormPage) -> String {
    let _ = page;
    document(chrome, &Head::private("New test"), || view! { <h1>"New test"</h1> }.into_any())
}

//! Tests: the list and one test with its runs.

use leptos::prelude::*;
use oleada_engine::result::PlanDoc;

use crate::shell::{Head, document};
use crate::view::{Chrome, RunRow};

/// One test in the list.
#[derive(Clone, Debug)]
pub struct TestRow {
    /// Id, as in `/tests/{id}`.
    pub id: String,
    /// Name.
    pub name: String,
    /// What it does.
    pub plan: PlanDoc,
    /// Its latest run.
    pub last_run: Option<RunRow>,
    /// How many runs it has.
    pub runs: u64,
}

/// `GET /tests`.
#[derive(Clone, Debug, Default)]
pub struct TestsPage {
    /// The tests, latest used first.
    pub tests: Vec<TestRow>,
}

/// A host that a test needs and that may not be tested yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingHost {
    /// Host and port.
    pub address: String,
    /// Its id if it is registered but not verified.
    pub id: Option<String>,
}

/// `GET /tests/{id}`.
#[derive(Clone, Debug)]
pub struct TestPage {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Notes; may be empty.
    pub notes: String,
    /// What it does.
    pub plan: PlanDoc,
    /// Its runs, newest first.
    pub runs: Vec<RunRow>,
    /// Hosts that keep it from running.
    pub missing_hosts: Vec<MissingHost>,
    /// When it was last changed, unix milliseconds.
    pub updated_at: i64,
}

/// Draws the list.
pub fn render_list(chrome: &Chrome, page: &TestsPage) -> String {
    let _ = page;
    document(chrome, &Head::private("Tests"), || view! { <h1>"Tests"</h1> }.into_any())
}

/// Draws one test.
pub fn render_one(chrome: &Chrome, page: &TestPage) -> String {
    document(chrome, &Head::private(page.name.clone()), || view! { <h1>{page.name.clone()}</h1> }.into_any())
}

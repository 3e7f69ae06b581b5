//! What a signed-in person sees first.

use leptos::prelude::*;

use crate::shell::{Head, document};
use crate::view::{Chrome, HostRow, RunRow};

/// `GET /dashboard`.
#[derive(Clone, Debug, Default)]
pub struct DashboardPage {
    /// Registered hosts.
    pub hosts: Vec<HostRow>,
    /// How many tests there are.
    pub tests: u64,
    /// Runs that are queued or under way, oldest first.
    pub active: Vec<RunRow>,
    /// Latest runs that are over, newest first; about ten.
    pub latest: Vec<RunRow>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &DashboardPage) -> String {
    let _ = page;
    document(chrome, &Head::private("Dashboard"), || view! { <h1>"Dashboard"</h1> }.into_any())
}

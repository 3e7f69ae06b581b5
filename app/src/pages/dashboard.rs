//! What a signed-in person sees first.

use leptos::prelude::*;

use crate::shell::{Head, document};
use crate::ui::badge::{host_badge, run_badge};
use crate::ui::empty::empty;
use crate::ui::runs::run_table;
use crate::ui::time::moment_short;
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
    document(chrome, &Head::private("Dashboard"), || {
        view! {
            <div class="page-head">
                <h1>"Dashboard"</h1>
                {page.hosts.iter().any(|h| h.state.is_usable()).then(|| view! { <a class="button" href="/tests/new">"New test"</a> })}
            </div>
            {next_step(page)}
            {(!page.active.is_empty()).then(|| active(&page.active))}
            {(!page.latest.is_empty()).then(|| view! {
                <section><div class="section-head"><h2>"Latest runs"</h2><a href="/runs">"All runs"</a></div>{run_table("Latest runs", &page.latest, true, true)}</section>
            })}
            {(!page.hosts.is_empty()).then(|| hosts(page))}
        }
        .into_any()
    })
}

/// What to do next, while there is something obvious.
fn next_step(page: &DashboardPage) -> AnyView {
    let unproved = page.hosts.iter().find(|h| !h.state.is_usable());
    if page.hosts.is_empty() {
        return empty(
            "Which host do you want to test?",
            "Register it and prove that it is yours. Local addresses are trusted in local mode.",
            "/hosts",
            "Add a host",
        );
    }
    if let Some(host) = unproved.filter(|_| !page.hosts.iter().any(|h| h.state.is_usable())) {
        let href = format!("/hosts/{}", host.id);
        return view! {
            <div class="empty">
                <h2>"Prove that "{host.address.clone()}" is yours"</h2>
                <p>"A file, a DNS record or a meta tag is enough; then you can test it."</p>
                <a class="button" href=href>"Verify the host"</a>
            </div>
        }
        .into_any();
    }
    if page.tests == 0 {
        return empty(
            "Define your first test",
            "Say what to request and how many clients; a preview shows what will happen.",
            "/tests/new",
            "New test",
        );
    }
    if page.latest.is_empty() && page.active.is_empty() {
        return empty(
            "Ready to run",
            "Your test is defined. Run it and watch response times as they come.",
            "/tests",
            "Choose a test to run",
        );
    }
    ().into_any()
}

fn active(runs: &[RunRow]) -> AnyView {
    let cards = runs
        .iter()
        .map(|run| {
            view! {
                <li class="card">
                    <a class="card-link" href=format!("/runs/{}", run.id)>{run.test_name.clone()}</a>
                    {run_badge(run.state, run.position)}
                    <span class="muted">{match run.started_at { Some(at) => view! { "since "{moment_short(at)} }.into_any(), None => view! { "asked for "{moment_short(run.created_at)} }.into_any() }}</span>
                </li>
            }
        })
        .collect_view();
    view! { <section><h2>"Under way"</h2><ul class="cards">{cards}</ul></section> }.into_any()
}

fn hosts(page: &DashboardPage) -> AnyView {
    let rows = page
        .hosts
        .iter()
        .map(|h| view! { <li class="card"><a class="card-link" href=format!("/hosts/{}", h.id)>{h.address.clone()}</a>{host_badge(h.state)}</li> })
        .collect_view();
    view! {
        <section>
            <div class="section-head"><h2>"Hosts"</h2><a href="/hosts">"All hosts"</a></div>
            <ul class="cards">{rows}</ul>
        </section>
    }
    .into_any()
}

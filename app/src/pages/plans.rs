//! Tests: the list and one test with its runs.

use leptos::prelude::*;
use oleada_engine::result::PlanDoc;

use crate::format;
use crate::shell::{Head, document};
use crate::ui::badge::run_badge;
use crate::ui::empty::empty;
use crate::ui::runs::run_table;
use crate::ui::table::scroll;
use crate::ui::time::moment;
use crate::ui::words;
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
    document(chrome, &Head::private("Tests"), || {
        view! {
            <div class="page-head">
                <h1>"Tests"</h1>
                {(!page.tests.is_empty()).then(|| view! { <a class="button" href="/tests/new">"New test"</a> })}
            </div>
            {if page.tests.is_empty() {
                empty("No tests yet", "A test says what to request, how many clients make the requests, and for how long.", "/tests/new", "Define your first test")
            } else {
                table(&page.tests)
            }}
        }
        .into_any()
    })
}

fn table(tests: &[TestRow]) -> AnyView {
    let rows = tests
        .iter()
        .map(|t| {
            let last = t.last_run.as_ref().map(|r| view! { <a class="quiet-link" href=format!("/runs/{}", r.id)>{run_badge(r.state, r.position)}</a> });
            let p95 = t.last_run.as_ref().and_then(|r| r.figures).and_then(|f| f.p95);
            view! {
                <tr>
                    <th scope="row">
                        <a href=format!("/tests/{}", t.id)>{t.name.clone()}</a>
                        <span class="sub break">{words::targets(&t.plan)}</span>
                    </th>
                    <td>{words::plan_sentence(&t.plan)}</td>
                    <td>{last.map_or_else(|| view! { <span class="muted">"never run"</span> }.into_any(), IntoAny::into_any)}</td>
                    <td class="num">{format::maybe(p95)}</td>
                    <td class="num">{format::count(t.runs)}</td>
                    <td>
                        <form method="post" action=format!("/tests/{}/run", t.id)>
                            <button class="button small quiet" type="submit" aria-label=format!("Run {}", t.name)>"Run"</button>
                        </form>
                    </td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data tests">
            <caption class="visually-hidden">"Your tests"</caption>
            <thead>
                <tr>
                    <th scope="col">"Test"</th>
                    <th scope="col">"Load"</th>
                    <th scope="col">"Last run"</th>
                    <th scope="col" class="num">"p95, ms"</th>
                    <th scope="col" class="num">"Runs"</th>
                    <th scope="col"><span class="visually-hidden">"Run"</span></th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    };
    scroll("Your tests", table.into_any())
}

/// Draws one test.
pub fn render_one(chrome: &Chrome, page: &TestPage) -> String {
    let path = format!("/tests/{}", page.id);
    document(chrome, &Head::private(page.name.clone()), || {
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a></p>
            <div class="page-head">
                <h1 class="break">{page.name.clone()}</h1>
                <div class="actions">
                    {page.missing_hosts.is_empty().then(|| view! {
                        <form method="post" action=format!("{path}/run")><button class="button" type="submit">"Run now"</button></form>
                    })}
                    <a class="button quiet" href=format!("{path}/edit")>"Edit"</a>
                    <form method="post" action=format!("{path}/copy")><button class="button quiet" type="submit">"Copy"</button></form>
                </div>
            </div>
            <p class="lead">{words::plan_sentence(&page.plan)}", requesting "<span class="break">{words::targets(&page.plan)}</span></p>
            {(!page.missing_hosts.is_empty()).then(|| missing(&page.missing_hosts))}
            <section>
                <h2>"Runs"</h2>
                {if page.runs.is_empty() {
                    view! { <p class="muted">"This test has not been run yet."</p> }.into_any()
                } else {
                    run_table("Runs of this test", &page.runs, true, false)
                }}
            </section>
            {(!page.notes.is_empty()).then(|| view! { <section><h2>"Notes"</h2><p class="notes">{page.notes.clone()}</p></section> })}
            <section>
                <h2>"Settings"</h2>
                {words::plan_facts(&page.plan)}
                <p class="muted">"Last changed "{moment(page.updated_at)}</p>
            </section>
            <section class="danger">
                <h2>"Delete this test"</h2>
                <p>"Its runs and their reports stay."</p>
                <form method="post" action=format!("{path}/delete") data-confirm="Delete this test? Its reports stay.">
                    <button class="button danger" type="submit">"Delete test"</button>
                </form>
            </section>
        }
        .into_any()
    })
}

fn missing(hosts: &[MissingHost]) -> AnyView {
    let rows = hosts
        .iter()
        .map(|h| {
            let (href, words) =
                h.id.as_ref().map_or(("/hosts".to_owned(), "Add it"), |id| (format!("/hosts/{id}"), "Verify it"));
            view! { <li><span class="break">{h.address.clone()}</span>" – "<a href=href>{words}</a></li> }
        })
        .collect_view();
    view! {
        <div class="note-box warn">
            <p><strong>"This test cannot run yet."</strong>" Prove first that these hosts are yours:"</p>
            <ul>{rows}</ul>
        </div>
    }
    .into_any()
}

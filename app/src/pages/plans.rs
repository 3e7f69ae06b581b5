//! Tests: the list, one test with its runs, its history, and the question before it is deleted.

use leptos::prelude::*;
use oleada_engine::plan::limits;
use oleada_engine::plan::request::{Escape, escaped};
use oleada_engine::result::PlanDoc;

use crate::format;
use crate::shell::{Head, document};
use crate::ui::badge::{run_badge, series_badge};
use crate::ui::change::{self, Against};
use crate::ui::empty::empty;
use crate::ui::form::filter_choice;
use crate::ui::runs::run_table;
use crate::ui::table::scroll;
use crate::ui::time::{moment, moment_short};
use crate::ui::words;
use crate::view::{Chrome, RunRow, SeriesLine};

/// One test in the list.
#[derive(Clone, Debug)]
pub struct TestRow {
    /// Id, as in `/tests/{id}`.
    pub id: String,
    /// Name.
    pub name: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Whether it is archived.
    pub archived: bool,
    /// When it was last changed, unix milliseconds.
    pub updated_at: i64,
    /// What it does; `None` if this version cannot read the stored plan.
    pub plan: Option<PlanDoc>,
    /// Its latest run.
    pub last_run: Option<RunRow>,
    /// How many runs it has.
    pub runs: u64,
}

/// What a list of tests shows: the fields of its form and of the links to its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestFilter {
    /// What is searched for, as typed.
    pub q: String,
    /// The tag that tests must have; empty for any.
    pub tag: String,
    /// `archived`, `all`, or empty for those that are not archived.
    pub show: String,
    /// `name`, `run`, or empty for the latest changed first.
    pub sort: String,
}

impl TestFilter {
    /// The address of a page of the list, from 1.
    fn href(&self, page: u64) -> String {
        let page = if page > 1 { page.to_string() } else { String::new() };
        let fields = [("q", &self.q), ("tag", &self.tag), ("show", &self.show), ("sort", &self.sort), ("page", &page)];
        let pairs: Vec<String> = fields
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", escaped(value, Escape::Component)))
            .collect();
        if pairs.is_empty() { "/tests".to_owned() } else { format!("/tests?{}", pairs.join("&")) }
    }

    /// Whether it leaves out more than archived tests.
    fn is_narrow(&self) -> bool {
        !self.q.is_empty() || !self.tag.is_empty() || !self.show.is_empty()
    }
}

/// `GET /tests`.
#[derive(Clone, Debug, Default)]
pub struct TestsPage {
    /// The tests of this page, in order.
    pub tests: Vec<TestRow>,
    /// What was asked for.
    pub filter: TestFilter,
    /// Every tag of the account's tests.
    pub tags: Vec<String>,
    /// How many tests there are with this filter.
    pub found: u64,
    /// How many tests the account has, archived ones too.
    pub all: u64,
    /// Number of this page, from 1.
    pub page: u64,
    /// How many pages there are.
    pub pages: u64,
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
    /// Tags.
    pub tags: Vec<String>,
    /// Since when it is archived, unix milliseconds.
    pub archived_at: Option<i64>,
    /// A sentence about secrets that cannot be read, if there are any.
    pub lost: Option<String>,
    /// What it does.
    pub plan: PlanDoc,
    /// Its runs, newest first.
    pub runs: Vec<RunRow>,
    /// Its latest series, newest first.
    pub series: Vec<SeriesLine>,
    /// How its latest run that is over differs from the baseline; `None` without one, or if that is the run itself.
    pub against: Option<Against>,
    /// Hosts that keep it from running.
    pub missing_hosts: Vec<MissingHost>,
    /// When it was last changed, unix milliseconds.
    pub updated_at: i64,
}

/// One change of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Id of the version before the change.
    pub version: String,
    /// When it was changed, unix milliseconds.
    pub at: i64,
    /// Who changed it; `None` if that account is gone.
    pub by: Option<String>,
    /// What was changed. No secrets stand in it.
    pub sentences: Vec<String>,
}

/// `GET /tests/{id}/history`.
#[derive(Clone, Debug)]
pub struct HistoryPage {
    /// Id of the test.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was made, unix milliseconds.
    pub created_at: i64,
    /// Its changes, latest first.
    pub entries: Vec<HistoryEntry>,
}

/// `GET /tests/{id}/delete`.
#[derive(Clone, Debug)]
pub struct DeletePage {
    /// Id of the test.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How many runs it has.
    pub runs: u64,
}

/// Draws the list.
pub fn render_list(chrome: &Chrome, page: &TestsPage) -> String {
    document(chrome, &Head::private("Tests"), || {
        view! {
            <div class="page-head">
                <h1>"Tests"</h1>
                <div class="actions">
                    <a class="button quiet" href="/tests/import">"Import"</a>
                    {(page.all > 0).then(|| view! { <a class="button" href="/tests/new">"New test"</a> })}
                </div>
            </div>
            {if page.all == 0 {
                empty("No tests yet", "A test says what to request, how many clients make the requests, and for how long.", "/tests/new", "Define your first test")
            } else {
                view! {
                    {filter_form(page)}
                    {found(page)}
                    {(!page.tests.is_empty()).then(|| table(&page.tests))}
                    {(page.pages > 1).then(|| paging(page))}
                }
                .into_any()
            }}
        }
        .into_any()
    })
}

const SHOWN: &[(&str, &str)] = &[("", "Not archived"), ("archived", "Archived"), ("all", "All")];
const SORTS: &[(&str, &str)] = &[("", "Latest changed first"), ("name", "By name"), ("run", "Latest run first")];

fn filter_form(page: &TestsPage) -> AnyView {
    let filter = &page.filter;
    let tags: Vec<(&str, &str)> =
        std::iter::once(("", "Any tag")).chain(page.tags.iter().map(|tag| (&**tag, &**tag))).collect();
    view! {
        <form method="get" action="/tests" class="filters no-print" role="search">
            <div class="field search-field">
                <label for="f-q">"Search"</label>
                <input id="f-q" type="search" name="q" value=filter.q.clone() autocomplete="off" maxlength=limits::SEARCH_CHARS.to_string() placeholder="Name, notes, host or tag" />
            </div>
            {(!page.tags.is_empty()).then(|| filter_choice("tag", "Tag", &tags, &filter.tag))}
            {filter_choice("show", "Show", SHOWN, &filter.show)}
            {filter_choice("sort", "Order", SORTS, &filter.sort)}
            <button class="button quiet" type="submit">"Show"</button>
        </form>
    }
    .into_any()
}

fn found(page: &TestsPage) -> AnyView {
    let filter = &page.filter;
    let all = filter.is_narrow().then(|| view! { " "<a href="/tests">"Show all that are not archived"</a> });
    let words = match page.found {
        0 if filter.is_narrow() => "No test is like this.".to_owned(),
        0 => "All tests are archived.".to_owned(),
        n if page.pages > 1 => {
            format!("{}, page {} of {}.", format::plural(n, "test", "tests"), page.page, page.pages)
        }
        n => format!("{}.", format::plural(n, "test", "tests")),
    };
    let archived = (page.found == 0 && !filter.is_narrow())
        .then(|| view! { " "<a href="/tests?show=archived">"Show the archived ones"</a> });
    view! { <p class="muted" role="status">{words}{all}{archived}</p> }.into_any()
}

fn paging(page: &TestsPage) -> AnyView {
    let link = |to: u64, words: &'static str, rel: &'static str| {
        view! { <a class="button quiet small" rel=rel href=page.filter.href(to)>{words}</a> }
    };
    view! {
        <nav class="paging no-print" aria-label="Pages of the list">
            {(page.page > 1).then(|| link(page.page - 1, "Previous page", "prev"))}
            <span class="muted">{format!("Page {} of {}", page.page, page.pages)}</span>
            {(page.page < page.pages).then(|| link(page.page + 1, "Next page", "next"))}
        </nav>
    }
    .into_any()
}

/// Tags, each a link to the tests that have it.
fn tag_links(tags: &[String]) -> AnyView {
    let tags = tags
        .iter()
        .map(|tag| {
            let filter = TestFilter { tag: tag.clone(), ..TestFilter::default() };
            view! { <li><a class="tag" href=filter.href(1)>{tag.clone()}</a></li> }
        })
        .collect_view();
    view! { <ul class="tags" aria-label="Tags">{tags}</ul> }.into_any()
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
                        {t.archived.then(|| view! { " "<span class="tag">"archived"</span> })}
                        {t.plan.as_ref().map(|plan| view! { <span class="sub break">{words::targets(plan)}</span> })}
                        {(!t.tags.is_empty()).then(|| tag_links(&t.tags))}
                    </th>
                    <td>{t.plan.as_ref().map_or_else(|| "cannot be read by this version".to_owned(), words::plan_sentence)}</td>
                    <td>{last.map_or_else(|| view! { <span class="muted">"never run"</span> }.into_any(), IntoAny::into_any)}</td>
                    <td class="num">{format::maybe(p95)}</td>
                    <td class="num">{format::count(t.runs)}</td>
                    <td>{moment_short(t.updated_at)}</td>
                    <td>
                        {(!t.archived).then(|| view! {
                            <form method="post" action=format!("/tests/{}/run", t.id)>
                                <button class="button small quiet" type="submit" aria-label=format!("Run {}", t.name)>"Run"</button>
                            </form>
                        })}
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
                    <th scope="col">"Changed"</th>
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
                    {(page.missing_hosts.is_empty() && page.archived_at.is_none() && page.lost.is_none()).then(|| view! {
                        <form method="post" action=format!("{path}/run")><button class="button" type="submit">"Run now"</button></form>
                    })}
                    {(page.missing_hosts.is_empty() && page.lost.is_none()).then(|| view! {
                        <form method="post" action=format!("{path}/try")><button class="button quiet" type="submit" title="One client goes through the list once; every exchange is shown.">"Try once"</button></form>
                    })}
                    {(page.missing_hosts.is_empty() && page.archived_at.is_none() && page.lost.is_none()).then(|| view! {
                        <a class="button quiet" href=format!("{path}/series") title="The same test at several sizes, one run after the other.">"Run as a series"</a>
                        <a class="button quiet" href=format!("{path}/capacity") title="The largest load that keeps your limits.">"Find the capacity"</a>
                    })}
                    <a class="button quiet" href=format!("{path}/edit")>"Edit"</a>
                    <form method="post" action=format!("{path}/copy")><button class="button quiet" type="submit">"Copy"</button></form>
                    {if page.archived_at.is_some() {
                        view! { <form method="post" action=format!("{path}/unarchive")><button class="button" type="submit">"Bring back"</button></form> }.into_any()
                    } else {
                        view! { <form method="post" action=format!("{path}/archive")><button class="button quiet" type="submit">"Archive"</button></form> }.into_any()
                    }}
                    {(!page.runs.is_empty()).then(|| view! { <a class="button quiet" href=format!("{path}/trend")>"Trend"</a> })}
                    <a class="button quiet" href=format!("{path}/history")>"History"</a>
                    <a class="button quiet" href=format!("{path}/export")>"Export"</a>
                </div>
            </div>
            <p class="lead">{words::plan_sentence(&page.plan)}", requesting "<span class="break">{words::targets(&page.plan)}</span></p>
            {(!page.tags.is_empty()).then(|| tag_links(&page.tags))}
            {page.archived_at.map(|at| view! {
                <div class="note-box">
                    <p><strong>"This test is archived."</strong>" It is not in the list and cannot be started; its runs stay. Archived "{moment(at)}"."</p>
                </div>
            })}
            {page.lost.clone().map(|text| view! { <div class="note-box bad"><p>{text}</p></div> })}
            {(!page.missing_hosts.is_empty()).then(|| missing(&page.missing_hosts))}
            {page.against.as_ref().map(|against| change::against("The latest run", against))}
            {(!page.series.is_empty()).then(|| series(&page.series))}
            <section>
                <div class="section-head"><h2>"Runs"</h2>{(!page.runs.is_empty()).then(|| view! { <a href=format!("/runs?test={}", page.id)>"All runs of this test"</a> })}</div>
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
                {if page.runs.is_empty() {
                    view! {
                        <form method="post" action=format!("{path}/delete") data-confirm="Delete this test?">
                            <button class="button danger" type="submit">"Delete test"</button>
                        </form>
                    }
                    .into_any()
                } else {
                    view! { <p><a class="button danger" href=format!("{path}/delete")>"Delete test"</a></p> }.into_any()
                }}
            </section>
        }
        .into_any()
    })
}

/// Draws the history of a test.
pub fn render_history(chrome: &Chrome, page: &HistoryPage) -> String {
    let path = format!("/tests/{}", page.id);
    document(chrome, &Head::private(format!("History of {}", page.name)), || {
        let entries = page.entries.iter().enumerate().map(|(n, entry)| history_entry(n, entry, &path)).collect_view();
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a href=path.clone()>{page.name.clone()}</a></p>
            <h1 class="break">"History of "{page.name.clone()}</h1>
            <p class="muted">"Made "{moment(page.created_at)}". "{format!("The latest {} changes are kept. Of passwords and other secrets it is said only that they changed.", limits::VERSIONS)}</p>
            {if page.entries.is_empty() {
                view! { <p>"No change is known."</p> }.into_any()
            } else {
                view! { <ol class="history">{entries}</ol> }.into_any()
            }}
        }
        .into_any()
    })
}

fn history_entry(n: usize, entry: &HistoryEntry, path: &str) -> AnyView {
    let sentences = entry.sentences.iter().map(|text| view! { <li>{text.clone()}</li> }).collect_view();
    let by = entry.by.clone().unwrap_or_else(|| "somebody whose account is gone".to_owned());
    let (title, restore) = (format!("change-{n}"), format!("{path}/history/{}/restore", entry.version));
    view! {
        <li class="panel" aria-labelledby=title>
            <h2 id=title.clone()>{moment(entry.at)}</h2>
            <p class="muted break">"by "{by}</p>
            {if entry.sentences.is_empty() {
                view! { <p>"Saved without a change."</p> }.into_any()
            } else {
                view! { <ul class="changes">{sentences}</ul> }.into_any()
            }}
            <form method="post" action=restore>
                <button class="button quiet small" type="submit">"Restore the version before this change"</button>
            </form>
        </li>
    }
    .into_any()
}

/// Draws the question whether a test is to be deleted.
pub fn render_delete(chrome: &Chrome, page: &DeletePage) -> String {
    let path = format!("/tests/{}", page.id);
    document(chrome, &Head::private(format!("Delete {}", page.name)), || {
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a href=path.clone()>{page.name.clone()}</a></p>
            <h1 class="break">"Delete “"{page.name.clone()}"”?"</h1>
            <p>{match page.runs {
                0 => "It has no runs.".to_owned(),
                n => format!("It has {}. Their reports and public links stay, but they cannot be run again.", format::plural(n, "run", "runs")),
            }}" Its settings and its history go and do not come back."</p>
            <form method="post" action=format!("{path}/delete") class="form-actions">
                <input type="hidden" name="confirmed" value="yes" />
                <button class="button danger" type="submit">"Delete test"</button>
                <a class="cancel" href=path.clone()>"Cancel"</a>
            </form>
        }
        .into_any()
    })
}

fn series(lines: &[SeriesLine]) -> AnyView {
    let rows = lines
        .iter()
        .map(|line| {
            view! {
                <tr>
                    <th scope="row" class="break"><a href=format!("/series/{}", line.id)>{line.what.clone()}</a></th>
                    <td>{series_badge(line.state)}</td>
                    <td class="num">{format::count(line.runs)}</td>
                    <td>{moment_short(line.created_at)}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data tests">
            <caption class="visually-hidden">"Series of this test"</caption>
            <thead><tr><th scope="col">"Series"</th><th scope="col">"State"</th><th scope="col" class="num">"Runs"</th><th scope="col">"Asked for"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    view! { <section><h2>"Series"</h2>{scroll("Series of this test", table.into_any())}</section> }.into_any()
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

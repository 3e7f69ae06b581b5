//! All runs of an account, newest first.

use leptos::prelude::*;
use oleada_engine::plan::limits;
use oleada_engine::plan::request::{Escape, escaped};

use crate::shell::{Head, document};
use crate::ui::empty::empty;
use crate::ui::form::filter_choice;
use crate::ui::runs::run_history;
use crate::view::{Chrome, RunRow};

/// What the list shows: the fields of its form and of the links to its pages, as typed; empty = any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// What is searched for.
    pub q: String,
    /// Id of the test.
    pub test: String,
    /// Host and port that the test names.
    pub host: String,
    /// One of [`RUN_STATES`].
    pub state: String,
    /// One of [`LIMITS_KEPT`].
    pub limits: String,
    /// The first day, `2026-12-01`, in UTC.
    pub from: String,
    /// The last day.
    pub to: String,
}

/// States to choose from: value and words.
pub const RUN_STATES: &[(&str, &str)] = &[
    ("", "Any state"),
    ("under_way", "Under way"),
    ("finished", "Finished"),
    ("stopped", "Stopped"),
    ("aborted", "Aborted by threshold"),
    ("interrupted", "Interrupted"),
    ("refused", "Refused"),
];

/// What became of pass/fail limits: value and words.
pub const LIMITS_KEPT: &[(&str, &str)] =
    &[("", "Any result"), ("yes", "Limits kept"), ("no", "Limit broken"), ("none", "Without limits")];

impl RunFilter {
    /// The address of the list, at a place such as `older=…`; empty = its beginning.
    fn href(&self, place: Option<(&str, &str)>) -> String {
        let fields = [
            ("q", &*self.q),
            ("test", &*self.test),
            ("host", &*self.host),
            ("state", &*self.state),
            ("limits", &*self.limits),
            ("from", &*self.from),
            ("to", &*self.to),
        ];
        let pairs: Vec<String> = fields
            .into_iter()
            .chain(place)
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", escaped(value, Escape::Component)))
            .collect();
        if pairs.is_empty() { "/runs".to_owned() } else { format!("/runs?{}", pairs.join("&")) }
    }

    fn is_narrow(&self) -> bool {
        *self != RunFilter::default()
    }
}

/// `GET /runs`.
#[derive(Clone, Debug, Default)]
pub struct RunListPage {
    /// The runs of this page, newest first.
    pub runs: Vec<RunRow>,
    /// What was asked for.
    pub filter: RunFilter,
    /// Tests to choose from: id and name.
    pub tests: Vec<(String, String)>,
    /// Hosts to choose from.
    pub hosts: Vec<String>,
    /// The place where older runs begin, if there are any.
    pub older: Option<String>,
    /// The place where newer runs begin, if there are any.
    pub newer: Option<String>,
    /// A sentence about a day that cannot be read.
    pub problem: Option<String>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &RunListPage) -> String {
    let nothing_yet = page.runs.is_empty() && !page.filter.is_narrow() && page.older.is_none() && page.newer.is_none();
    document(chrome, &Head::private("Runs").class("wide"), || {
        view! {
            <div class="page-head"><h1>"Runs"</h1></div>
            {if nothing_yet {
                empty("No runs yet", "A run is one execution of a test. Its report stays here.", "/tests", "Choose a test to run")
            } else {
                view! {
                    {filter_form(page)}
                    {page.problem.clone().map(|text| view! { <p class="note-box bad" role="alert">{text}</p> })}
                    {page.runs.is_empty().then(|| view! { <p class="muted" role="status">"No run is like this. "<a href="/runs">"Show all"</a></p> })}
                    {(!page.runs.is_empty()).then(|| run_history("Your runs", &page.runs))}
                    {(page.older.is_some() || page.newer.is_some()).then(|| paging(page))}
                }
                .into_any()
            }}
        }
        .into_any()
    })
}

fn filter_form(page: &RunListPage) -> AnyView {
    let filter = &page.filter;
    let any_test = [(String::new(), "Any test".to_owned())];
    let tests: Vec<(&str, &str)> = any_test.iter().chain(&page.tests).map(|(id, name)| (&**id, &**name)).collect();
    let hosts: Vec<(&str, &str)> =
        std::iter::once(("", "Any host")).chain(page.hosts.iter().map(|host| (&**host, &**host))).collect();
    let day = |name: &'static str, label: &'static str, value: &str| {
        let id = format!("f-{name}");
        view! {
            <div class="field day-field">
                <label for=id.clone()>{label}</label>
                <input id=id type="date" name=name value=value.to_owned() placeholder="2026-12-01" />
            </div>
        }
    };
    view! {
        <form method="get" action="/runs" class="filters no-print" role="search">
            <div class="field search-field">
                <label for="f-q">"Search"</label>
                <input id="f-q" type="search" name="q" value=filter.q.clone() autocomplete="off" maxlength=limits::SEARCH_CHARS.to_string() placeholder="Name of the test, or host" />
            </div>
            {filter_choice("test", "Test", &tests, &filter.test)}
            {filter_choice("host", "Host", &hosts, &filter.host)}
            {filter_choice("state", "State", RUN_STATES, &filter.state)}
            {filter_choice("limits", "Limits", LIMITS_KEPT, &filter.limits)}
            {day("from", "From day (UTC)", &filter.from)}
            {day("to", "To day (UTC)", &filter.to)}
            <button class="button quiet" type="submit">"Show"</button>
            {filter.is_narrow().then(|| view! { <a class="button quiet" href="/runs">"Show all"</a> })}
        </form>
    }
    .into_any()
}

fn paging(page: &RunListPage) -> AnyView {
    let link = |name: &'static str, place: &str, words: &'static str, rel: &'static str| {
        view! { <a class="button quiet small" rel=rel href=page.filter.href(Some((name, place)))>{words}</a> }
    };
    view! {
        <nav class="paging no-print" aria-label="Pages of the list">
            {page.newer.is_some().then(|| view! { <a class="button quiet small" href=page.filter.href(None)>"Newest runs"</a> })}
            {page.newer.as_deref().map(|place| link("newer", place, "Newer runs", "prev"))}
            {page.older.as_deref().map(|place| link("older", place, "Older runs", "next"))}
        </nav>
    }
    .into_any()
}

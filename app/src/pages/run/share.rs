//! The panel by which an owner shares a run: the link, how long it shows the report, what of it, and how to embed it.

use leptos::prelude::*;

use super::{Access, RunPage};
use crate::format::escape;
use crate::ui::form::{Field, check_box, choice, error_summary};
use crate::ui::time::moment;
use crate::view::FieldError;

/// The public link of a run. Times are unix milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareLink {
    /// Path, such as `/r/{token}`.
    pub path: String,
    /// The same with scheme and host, for copying.
    pub url: String,
    /// When it was made.
    pub created_at: i64,
    /// From when on it shows nothing.
    pub expires_at: Option<i64>,
    /// Whether its time is over.
    pub expired: bool,
    /// Hides the target's names and addresses.
    pub hide_host: bool,
    /// Hides headers.
    pub hide_headers: bool,
    /// Hides notes.
    pub hide_notes: bool,
}

/// What was typed into the form, where it was not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareForm {
    /// One of [`EXPIRIES`], or `keep`.
    pub expires: String,
    /// `2026-12-31`, for `date`.
    pub expires_on: String,
    /// Ticked.
    pub hide_host: bool,
    /// Ticked.
    pub hide_headers: bool,
    /// Ticked.
    pub hide_notes: bool,
    /// Faults.
    pub errors: Vec<FieldError>,
}

impl ShareForm {
    /// What the form says before anybody has typed: as the link is, or for a new one all but the notes.
    fn of(link: Option<&ShareLink>) -> ShareForm {
        let never = || "never".to_owned();
        match link {
            Some(link) => ShareForm {
                expires: if link.expires_at.is_some() { "keep".to_owned() } else { never() },
                hide_host: link.hide_host,
                hide_headers: link.hide_headers,
                hide_notes: link.hide_notes,
                ..ShareForm::default()
            },
            None => ShareForm { expires: never(), hide_notes: true, ..ShareForm::default() },
        }
    }
}

/// How long a link may last: the value of the field, and its words.
pub const EXPIRIES: &[(&str, &str)] = &[
    ("never", "Until it is revoked"),
    ("1d", "1 day from now"),
    ("7d", "7 days from now"),
    ("30d", "30 days from now"),
    ("date", "Until the end of a day, in UTC"),
];

/// Size of an embedded report in CSS pixels.
pub const EMBED: (u32, u32) = (720, 420);

/// The snippet that shows the report on another site. `url` is the link with scheme and host.
pub fn embed_snippet(url: &str, title: &str) -> String {
    let (width, height) = EMBED;
    format!(
        "<iframe src=\"{}/embed\" width=\"{width}\" height=\"{height}\" title=\"{}\" loading=\"lazy\"></iframe>",
        escape(url),
        escape(title)
    )
}

/// Draws the panel; nothing on public pages.
pub(super) fn panel(page: &RunPage) -> AnyView {
    let path = page.path();
    let Access::Owner { share, form } = &page.access else { return ().into_any() };
    let shown = form.clone().unwrap_or_else(|| ShareForm::of(share.as_ref()));
    let fields = fields(&path, share.as_ref(), &shown);
    view! {
        <section class="panel no-print" aria-labelledby="share-title">
            <h2 id="share-title">"Share"</h2>
            {error_summary(&shown.errors, |_| String::new())}
            {match share {
                Some(link) => shared(page, link, fields, !shown.errors.is_empty()),
                None => view! {
                    <p>"Make a link that shows this report to anybody who has it, without signing in. You can revoke it at any time."</p>
                    {fields}
                }
                .into_any(),
            }}
        </section>
    }
    .into_any()
}

fn shared(page: &RunPage, link: &ShareLink, fields: AnyView, open: bool) -> AnyView {
    let path = page.path();
    let hidden: Vec<&str> = [(link.hide_host, "hosts"), (link.hide_headers, "headers"), (link.hide_notes, "notes")]
        .into_iter()
        .filter_map(|(hidden, what)| hidden.then_some(what))
        .collect();
    let title =
        if link.hide_host { "Load test report".to_owned() } else { format!("{} – load test report", page.test_name) };
    let snippet = embed_snippet(&link.url, &title);
    view! {
        {if link.expired {
            view! { <p class="field-error">"The link’s time is over: it shows nothing any more. Give it a new end, or revoke it."</p> }.into_any()
        } else {
            view! { <p>"Anybody who has this link can see the report, without signing in:"</p> }.into_any()
        }}
        <div class="copyable">
            <code id="share-link" tabindex="0">{link.url.clone()}</code>
            <button class="button quiet small" type="button" data-copy="share-link" hidden>"Copy"</button>
            <a class="button quiet small" href=link.path.clone()>"Open"</a>
        </div>
        <p class="muted">
            "Made "{moment(link.created_at)}"; "
            {match link.expires_at {
                Some(at) if link.expired => view! { "expired "{moment(at)} }.into_any(),
                Some(at) => view! { "expires "{moment(at)} }.into_any(),
                None => "does not expire".into_any(),
            }}
            {if hidden.is_empty() { "; shows everything.".to_owned() } else { format!("; hides {}.", hidden.join(", ")) }}
        </p>
        <details class="advanced" open=open>
            <summary>"Change what it shows and how long"</summary>
            {fields}
        </details>
        <details class="advanced">
            <summary>"Embed in a page"</summary>
            <div class="copyable">
                <code id="embed-snippet" tabindex="0">{snippet}</code>
                <button class="button quiet small" type="button" data-copy="embed-snippet" hidden>"Copy"</button>
                <a class="button quiet small" href=format!("{}/embed", link.path)>"Preview"</a>
            </div>
        </details>
        <form method="post" action=format!("{path}/unshare")><button class="button quiet" type="submit">"Revoke the link"</button></form>
    }
    .into_any()
}

fn fields(path: &str, link: Option<&ShareLink>, form: &ShareForm) -> AnyView {
    let mut options: Vec<(String, String)> =
        EXPIRIES.iter().map(|(value, words)| ((*value).to_owned(), (*words).to_owned())).collect();
    if link.is_some_and(|link| link.expires_at.is_some()) {
        options.insert(0, ("keep".to_owned(), "As it is now".to_owned()));
    }
    let date = Field {
        name: "expires_on",
        label: "Last day",
        hint: "For example 2026-12-31; only used with “Until the end of a day”.".to_owned(),
        value: &form.expires_on,
        kind: "date",
        width: "half",
        ..Field::default()
    };
    view! {
        <form method="post" action=format!("{path}/share") class="stack">
            {choice("expires", "How long it works", "", options, &form.expires, &form.errors)}
            {date.view(&form.errors)}
            {check_box("hide_host", "Hide hosts", "Addresses show “host hidden” and their path; no name or address of the target is in the report or its downloads.", form.hide_host)}
            {check_box("hide_headers", "Hide headers", "The headers that were sent are left out.", form.hide_headers)}
            {check_box("hide_notes", "Hide notes", "What you noted on the run is left out.", form.hide_notes)}
            <p class="form-actions"><button class="button" type="submit">{if link.is_some() { "Save" } else { "Create a public link" }}</button></p>
        </form>
    }
    .into_any()
}

//! A test that was tried once: every exchange of one client, as it passed.

use leptos::prelude::*;
use oleada_engine::trace::{Exchange, Step, Text, Trace, TraceError};

use crate::format;
use crate::shell::{Head, document};
use crate::ui::table::scroll;
use crate::view::Chrome;

/// The answer to `POST /tests/{id}/try`.
#[derive(Clone, Debug)]
pub struct TrialPage {
    /// Id of the test.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What people call its requests, in order.
    pub requests: Vec<String>,
    /// What passed; secrets are masked.
    pub trace: Trace,
    /// A sentence, when it ended before its end.
    pub cut: Option<String>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &TrialPage) -> String {
    let path = format!("/tests/{}", page.id);
    document(chrome, &Head::private(format!("{}, tried once", page.name)), || {
        let steps = page.trace.steps.iter().map(|step| one(step, &page.requests)).collect_view();
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a class="break" href=path.clone()>{page.name.clone()}</a></p>
            <div class="page-head">
                <h1 class="break">{format!("{}, tried once", page.name)}</h1>
                <div class="actions">
                    <form method="post" action=format!("{path}/run")><button class="button" type="submit">"Run the test"</button></form>
                    <form method="post" action=format!("{path}/try")><button class="button quiet" type="submit">"Try again"</button></form>
                    <a class="button quiet" href=format!("{path}/edit")>"Edit"</a>
                </div>
            </div>
            <p>{summary(&page.trace)}" One client went through the list once, without pauses. This page is not kept; passwords and tokens of the test are masked on it."</p>
            {page.cut.clone().map(|sentence| view! { <p class="note-box warn">{sentence}</p> })}
            {steps}
        }
        .into_any()
    })
}

fn is_bad(step: &Step) -> bool {
    step.error.is_some()
        || step.assertions.iter().any(|a| !a.passed)
        || step.extracted.iter().any(|e| e.value.is_none())
        || step.exchanges.last().is_some_and(|e| e.status.is_some_and(|status| status >= 400))
}

fn summary(trace: &Trace) -> String {
    let bad = trace.steps.iter().filter(|step| is_bad(step)).count() as u64;
    let all = format::plural(trace.steps.len() as u64, "request", "requests");
    match bad {
        0 => format!("{all}, and all went as hoped."),
        1 => format!("{all}; one of them needs a look."),
        bad => format!("{all}; {} of them need a look.", format::count(bad)),
    }
}

fn one(step: &Step, requests: &[String]) -> AnyView {
    let name = requests.get(step.request).cloned().unwrap_or_default();
    let (class, word) = if is_bad(step) { ("badge aborted", "look here") } else { ("badge finished", "as hoped") };
    let extracted = step.extracted.iter().map(|e| {
        let value = match (&e.value, &e.reason) {
            (Some(value), _) => view! { <code class="break">{value.clone()}</code> }.into_any(),
            (None, reason) => format!("not found: {}", reason.clone().unwrap_or_default()).into_any(),
        };
        view! { <tr><th scope="row"><code>{e.name.clone()}</code></th><td>{value}</td></tr> }
    });
    let extracted = (!step.extracted.is_empty()).then(|| {
        let table = view! {
            <table class="data">
                <caption>"Variables taken from the reply"</caption>
                <thead><tr><th scope="col">"Variable"</th><th scope="col">"Value"</th></tr></thead>
                <tbody>{extracted.collect_view()}</tbody>
            </table>
        };
        scroll("Variables taken from the reply", table.into_any())
    });
    let conditions = step.assertions.iter().map(|a| {
        let found = a.found.clone().map(|found| format!(" – {found}")).unwrap_or_default();
        let (class, word) = if a.passed { ("badge finished", "holds") } else { ("badge aborted", "fails") };
        view! { <li class="break"><span class=class>{word}</span>" "<code>{a.text.clone()}</code>{found}</li> }
    });
    let conditions = (!step.assertions.is_empty())
        .then(|| view! { <h3>"Conditions"</h3><ul class="plain">{conditions.collect_view()}</ul> });
    let hops = step.exchanges.len();
    let exchanges = step.exchanges.iter().enumerate().map(|(n, e)| exchange(e, n, hops)).collect_view();
    view! {
        <section class="trial-step">
            <h2 class="break">{format!("{}. {name} ", step.request + 1)}<span class=class>{word}</span></h2>
            {step.error.as_ref().filter(|_| hops == 0).map(|e| view! { <p class="note-box bad">"Not sent: "{error_words(e)}</p> })}
            {exchanges}
            {extracted}
            {conditions}
        </section>
    }
    .into_any()
}

fn error_words(error: &TraceError) -> String {
    if error.detail.is_empty() { error.sentence.clone() } else { format!("{} ({})", error.sentence, error.detail) }
}

fn exchange(e: &Exchange, n: usize, hops: usize) -> AnyView {
    let status = match e.status {
        Some(status) => format!("status {status}"),
        None => "no reply".to_owned(),
    };
    let version = if e.http2 { "HTTP/2" } else { "HTTP/1.1" };
    let place = match &e.address {
        Some(address) => format!("a new connection to {address}"),
        None if e.reused => "a kept connection".to_owned(),
        None => "no connection".to_owned(),
    };
    let times = [
        ("name", e.phases_ms.dns),
        ("connect", e.phases_ms.connect),
        ("TLS", e.phases_ms.tls),
        ("waiting", e.phases_ms.wait),
        ("receiving", e.phases_ms.receive),
        ("in all", e.phases_ms.total),
    ];
    let times: Vec<String> =
        times.into_iter().filter_map(|(name, ms)| Some(format!("{name} {} ms", format::maybe(Some(ms?))))).collect();
    let hop = (hops > 1).then(|| view! { <h3 class="break">{format!("Exchange {} of {hops}: {}", n + 1, e.url)}</h3> });
    view! {
        {hop}
        <p class="break"><strong>{status}</strong>{format!(", {version}, {place}; {}", times.join(", "))}</p>
        {e.error.as_ref().map(|error| view! { <p class="note-box bad">{error_words(error)}</p> })}
        <details>
            <summary>"Request"</summary>
            {text("Head of the request", &e.request_head)}
            {text("Body of the request", &e.request_body)}
        </details>
        <details open=n + 1 == hops>
            <summary>"Reply"</summary>
            {text("Head of the reply", &e.response_head)}
            {text("Body of the reply", &e.response_body)}
        </details>
    }
    .into_any()
}

fn text(label: &'static str, text: &Text) -> Option<AnyView> {
    if text.bytes == 0 && text.text.is_empty() {
        return None;
    }
    let cut = (text.bytes > text.text.len() as u64)
        .then(|| view! { <p class="muted">{format!("The beginning; {} in all.", format::bytes(text.bytes))}</p> });
    Some(
        view! {
            <pre class="code" tabindex="0" role="region" aria-label=label><code>{text.text.trim_end().to_owned()}</code></pre>
            {cut}
        }
        .into_any(),
    )
}

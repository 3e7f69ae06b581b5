//! What was answered and what failed: statuses, kinds of failure, and the first failed exchanges as examples.

use leptos::prelude::*;
use oleada_engine::example::FailedExample;
use oleada_engine::outcome::ErrorKind;
use oleada_engine::result::ResultDoc;

use super::ledger::meter;
use crate::format;
use crate::ui::table::scroll;
use crate::ui::words::request_name;

fn explain(kind: &str) -> &'static str {
    ErrorKind::ALL.iter().find(|k| k.name() == kind).map_or("", |k| k.explain())
}

/// Failures by kind.
pub(super) fn errors(result: &ResultDoc) -> AnyView {
    if result.errors.is_empty() {
        return ().into_any();
    }
    let rows = result
        .errors
        .iter()
        .map(|e| {
            view! {
                <tr>
                    <th scope="row"><code>{e.kind.clone()}</code></th>
                    <td>{explain(&e.kind)}{(!e.detail.is_empty()).then(|| view! { <span class="sub break">{e.detail.clone()}</span> })}</td>
                    <td class="num">{format::count(e.count)}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data">
            <caption class="visually-hidden">"Failures"</caption>
            <thead><tr><th scope="col">"Failure"</th><th scope="col">"What it means"</th><th scope="col" class="num">"Requests"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    view! { <section aria-labelledby="errors-title"><h2 id="errors-title">"What failed"</h2>{scroll("Failures", table.into_any())}</section> }.into_any()
}

/// Answers by status.
pub(super) fn statuses(result: &ResultDoc) -> AnyView {
    if result.statuses.is_empty() {
        return ().into_any();
    }
    let answered = result.ledger.answered().max(1);
    let rows = result
        .statuses
        .iter()
        .map(|(status, n)| {
            let tone = match status.as_bytes().first() {
                Some(b'1'..=b'3') => "ok",
                Some(b'4') => "warn",
                _ => "bad",
            };
            view! {
                <tr>
                    <th scope="row">{status.clone()}</th>
                    <td class="bar-cell">{meter(*n as f64 / answered as f64, tone)}</td>
                    <td class="num">{format::count(*n)}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data">
            <caption class="visually-hidden">"Answers by status"</caption>
            <thead><tr><th scope="col">"Status"</th><th scope="col"><span class="visually-hidden">"Share as a bar"</span></th><th scope="col" class="num">"Answers"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    view! { <section aria-labelledby="statuses-title"><h2 id="statuses-title">"Answers by status"</h2>{scroll("Table of answers by status", table.into_any())}</section> }.into_any()
}

/// The first failed exchanges, folded. All of it is text: nothing a target sent becomes markup or a link.
pub(super) fn examples(result: &ResultDoc) -> AnyView {
    if result.failed_examples.is_empty() {
        return ().into_any();
    }
    let all = result.failed_examples.iter().map(|example| one(example, result)).collect_view();
    view! {
        <section aria-labelledby="examples-title">
            <h2 id="examples-title">"Failed examples"</h2>
            <p class="muted">"The first of each kind, without what may be secret."</p>
            <div class="examples">{all}</div>
        </section>
    }
    .into_any()
}

/// What failed, in a few words.
fn kind_words(example: &FailedExample) -> String {
    match (example.kind.as_str(), example.status) {
        ("status_4xx" | "status_5xx" | "status_other", Some(status)) => format!("Status {status}"),
        (kind, Some(status)) => format!("{} (status {status})", kind.replace('_', " ")),
        (kind, None) => kind.replace('_', " "),
    }
}

fn one(example: &FailedExample, result: &ResultDoc) -> AnyView {
    let title = format!("{} at {} s", kind_words(example), format::number(example.at_s));
    let of = request_name(&result.plan, example.request);
    let p = &example.phases_ms;
    let parts = [
        ("in all", example.latency_ms),
        ("name", p.dns),
        ("connect", p.connect),
        ("TLS", p.tls),
        ("waiting", p.wait),
        ("receiving", p.receive),
    ];
    let times: Vec<String> =
        parts.into_iter().filter_map(|(name, ms)| Some(format!("{name} {}", format::ms(Some(ms?))))).collect();
    let sent: String = example.request_headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let text = |label: &'static str, text: String| {
        (!text.trim().is_empty()).then(|| {
            view! {
                <p class="muted">{label}</p>
                <pre class="code" tabindex="0" role="region" aria-label=label><code>{text.trim_end().to_owned()}</code></pre>
            }
        })
    };
    let meaning = explain(&example.kind);
    view! {
        <details class="example">
            <summary><strong>{title}</strong>" "<span class="muted break">{of}</span></summary>
            {(!meaning.is_empty()).then(|| view! { <p>{meaning}</p> })}
            {example.detail.clone().map(|detail| view! { <p class="break">{detail}</p> })}
            <p class="break"><code>{format!("{} {}", example.method, example.url)}</code></p>
            {(!times.is_empty()).then(|| view! { <p>{format!("Time: {}.", times.join(", "))}</p> })}
            {text("Headers as sent", sent)}
            {text("Head of the reply", example.response_head.clone().unwrap_or_default())}
            {text("Beginning of the reply's body", example.body_start.clone().unwrap_or_default())}
        </details>
    }
    .into_any()
}

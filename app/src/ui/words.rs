//! A plan in plain words.

use leptos::prelude::*;
use oleada_engine::plan::{Load, TlsVersion};
use oleada_engine::result::{PlanDoc, ResultDoc};

use super::table::facts;
use crate::format;

/// How clients arrive, in one sentence without a full stop.
pub fn load_sentence(load: Load, duration_s: Option<f64>) -> String {
    let over = duration_s.map(format::duration_s).unwrap_or_default();
    match load {
        Load::PerTest { clients } => format!("{} spread over {over}", format::plural(clients, "client", "clients")),
        Load::PerSecond { rate } => format!("{} clients per second for {over}", format::number(rate)),
        Load::Maintain { from, to } if from == to => {
            format!("{} at once for {over}", format::plural(u64::from(to), "client", "clients"))
        }
        Load::Maintain { from, to } => {
            format!(
                "{} to {} clients at once over {over}",
                format::count(u64::from(from)),
                format::count(u64::from(to))
            )
        }
        Load::FixedCount { requests, clients } => {
            let limit = if over.is_empty() { String::new() } else { format!(", for at most {over}") };
            format!(
                "{} by {} at once{limit}",
                format::plural(requests, "request", "requests"),
                format::plural(u64::from(clients), "client", "clients")
            )
        }
    }
}

/// The first request's address and how many more there are.
pub fn targets(plan: &PlanDoc) -> String {
    match plan.requests.as_slice() {
        [] => format::NONE.to_owned(),
        [only] => format!("{} {}", only.method, only.url),
        [first, rest @ ..] => format!("{} {} and {} more", first.method, first.url, rest.len()),
    }
}

/// Every setting of a plan in words, defaults included; without the requests.
pub fn plan_rows(plan: &PlanDoc) -> Vec<(&'static str, String)> {
    let threshold = if plan.error_threshold >= 100.0 {
        "never ends the run".to_owned()
    } else {
        format!("ends the run at {} % errors", format::number(plan.error_threshold))
    };
    let either = |first: bool, yes: &str, no: &str| if first { yes.to_owned() } else { no.to_owned() };
    let mut rows = vec![
        ("Load", format!("{}: {}", plan.load.label(), load_sentence(plan.load, plan.duration_s))),
        ("Timeout", format!("{} for the whole exchange", format::ms(Some(plan.timeout_ms)))),
        (
            "Idle timeout",
            plan.idle_timeout_ms
                .map_or_else(|| "off".to_owned(), |v| format!("{} without a byte", format::ms(Some(v)))),
        ),
        ("Error threshold", threshold),
        ("Connections", either(plan.reuse == "off", "a new one for every request", "kept alive within a client")),
        (
            "At the end",
            either(
                plan.end == "abort",
                "requests in flight are cut",
                "requests in flight may finish until their timeout",
            ),
        ),
        ("Redirects", either(plan.redirects == "off", "not followed", "followed to hosts that are allowed")),
        (
            "HTTP",
            if plan.http == "auto" {
                "best version both sides know".to_owned()
            } else {
                format!("HTTP/{} only", plan.http)
            },
        ),
        ("TLS", either(plan.min_tls == TlsVersion::Tls13, "version 1.3 only", "version 1.2 or 1.3")),
        ("Certificates", either(plan.insecure, "not checked", "checked")),
    ];
    if let Some(most) = plan.max_clients {
        rows.push(("Most clients", format!("{} at once; more have to wait", format::count(u64::from(most)))));
    }
    if plan.warm_up_s > 0.0 {
        rows.push(("Warm-up", format!("{}, left out of the result", format::duration_s(plan.warm_up_s))));
    }
    if let Some(missed) = plan.max_rate_missed {
        rows.push((
            "Missed rate",
            format!("ends the run when more than {} % of the planned rate is missed", format::number(missed)),
        ));
    }
    rows
}

/// Which HTTP was spoken: `ran over HTTP/1.1`. `None` when nothing was answered, or in results from before this was counted.
pub fn spoken_http(result: &ResultDoc) -> Option<String> {
    let shown = |name: &String| name.to_uppercase();
    Some(match result.protocols.iter().collect::<Vec<_>>().as_slice() {
        [] => return None,
        [(only, _)] if result.fell_back_to_http1() => {
            format!("ran over {}: the target does not offer HTTP/2", shown(only))
        }
        [(only, _)] => format!("ran over {}", shown(only)),
        many => many
            .iter()
            .map(|(name, n)| format!("{} over {}", format::plural(**n, "answer", "answers"), shown(name)))
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// Which TLS was spoken: `64 connections with TLS 1.3`. `None` when there was none, or in results from before this was counted.
pub fn spoken_tls(result: &ResultDoc) -> Option<String> {
    let each = result.tls_versions.iter();
    let words: Vec<String> =
        each.map(|(name, n)| format!("{} with {name}", format::plural(*n, "connection", "connections"))).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// [`plan_rows`] and the requests, as a list.
pub fn plan_facts(plan: &PlanDoc) -> AnyView {
    let mut rows: Vec<(&'static str, AnyView)> =
        plan_rows(plan).into_iter().map(|(label, text)| (label, text.into_any())).collect();
    rows.insert(1, ("Requests", requests(plan)));
    facts(rows)
}

fn requests(plan: &PlanDoc) -> AnyView {
    let rows = plan
        .requests
        .iter()
        .map(|r| {
            let headers =
                r.headers.iter().map(|(n, v)| view! { <li><code>{format!("{n}: {v}")}</code></li> }).collect_view();
            let notes: Vec<String> = [
                r.body_bytes.map(|n| format!("body of {}", format::bytes(n))),
                r.basic_auth.then(|| "basic authentication".to_owned()),
            ]
            .into_iter()
            .flatten()
            .collect();
            view! {
                <li>
                    <code>{format!("{} {}", r.method, r.url)}</code>
                    {(!notes.is_empty()).then(|| view! { <span class="muted">" with "{notes.join(" and ")}</span> })}
                    {(!r.headers.is_empty()).then(|| view! { <ul class="plain">{headers}</ul> })}
                </li>
            }
        })
        .collect_view();
    if plan.requests.len() == 1 {
        view! { <ul class="plain">{rows}</ul> }.into_any()
    } else {
        view! { <ol class="plain numbered">{rows}</ol> }.into_any()
    }
}

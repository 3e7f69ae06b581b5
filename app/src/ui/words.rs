//! A plan in plain words.

use leptos::prelude::*;
use oleada_engine::plan::scenario::Pause;
use oleada_engine::plan::{Load, Stage, TlsVersion};
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

/// How the load goes on, stage by stage.
fn stages_sentence(stages: &[Stage]) -> String {
    let one = |stage: &Stage| {
        let to = format::number(stage.to);
        match stage.duration_s {
            0.0 => format!("at once to {to}"),
            seconds => format!("to {to} in {}", format::duration_s(seconds)),
        }
    };
    let shown: Vec<String> = stages.iter().take(SHOWN_STAGES).map(one).collect();
    let more = stages.len().saturating_sub(SHOWN_STAGES);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

/// Stages named one by one.
const SHOWN_STAGES: usize = 10;

fn pause_words(pause: Pause) -> String {
    if pause.least_ms == pause.most_ms {
        format::ms(Some(pause.least_ms))
    } else {
        format!("{} to {}", format::ms(Some(pause.least_ms)), format::ms(Some(pause.most_ms)))
    }
}

/// How a load with stages begins, in one sentence without a full stop.
fn staged_sentence(plan: &PlanDoc) -> String {
    let over = plan.duration_s.map(format::duration_s).unwrap_or_default();
    let stages = format::plural(plan.stages.len() as u64, "stage", "stages");
    match plan.load {
        Load::PerSecond { rate } => format!("from {} clients per second in {stages} over {over}", format::number(rate)),
        Load::Maintain { from, .. } => {
            format!("from {} at once in {stages} over {over}", format::plural(u64::from(from), "client", "clients"))
        }
        load => load_sentence(load, plan.duration_s),
    }
}

/// How clients arrive, stages included, in one sentence without a full stop.
pub fn plan_sentence(plan: &PlanDoc) -> String {
    if plan.stages.is_empty() { load_sentence(plan.load, plan.duration_s) } else { staged_sentence(plan) }
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
        ("Load", format!("{}: {}", plan.load.label(), plan_sentence(plan))),
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
    rows.extend(scenario_rows(plan));
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

/// What makes a list of requests a scenario, as far as the plan uses it.
fn scenario_rows(plan: &PlanDoc) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if !plan.stages.is_empty() {
        rows.push(("Stages", stages_sentence(&plan.stages)));
    }
    if plan.order.is_some() {
        rows.push(("Order", "one request at a time, drawn by weight".to_owned()));
    }
    if let Some(think) = plan.think {
        rows.push(("Pause", format!("{} after each reply", pause_words(think))));
    }
    if let Some(pacing) = plan.pacing {
        rows.push(("Pacing", format!("the list begins again after {} at the earliest", pause_words(pacing))));
    }
    if let Some(data) = &plan.data {
        let next = match data.order.as_str() {
            "random" => "any comes next",
            "unique" => "each client has one of its own",
            _ => "one after the other",
        };
        let end = match data.at_end.as_str() {
            "stop" => "the run ends after the last",
            "missing" => "after the last, requests that want one are not sent",
            _ => "after the last the first comes again",
        };
        let count = format::plural(data.rows, "row", "rows");
        rows.push(("Data", format!("{count} of {}; {next}; {end}", data.columns.join(", "))));
    }
    if let Some(meaning) = &plan.assertion_failure {
        let text = if meaning == "error" { "makes the request an error" } else { "is counted beside the outcome" };
        rows.push(("Failed condition", text.to_owned()));
    }
    if !plan.limits.is_empty() {
        let one = |limit: &oleada_engine::limit::LimitSpec| {
            let of = limit.request.map(|i| format!(" for {}", request_name(plan, i))).unwrap_or_default();
            let stop = if limit.stop { ", which ends it at once" } else { "" };
            format!("{}{of}{stop}", limit.condition)
        };
        rows.push(("Fails when", plan.limits.iter().map(one).collect::<Vec<_>>().join("; ")));
    }
    rows
}

/// What people call a request of the list.
pub fn request_name(plan: &PlanDoc, index: usize) -> String {
    match plan.requests.get(index) {
        Some(request) => request.name.clone().unwrap_or_else(|| format!("{} {}", request.method, request.url)),
        None => format!("request {}", index + 1),
    }
}

/// [`plan_rows`] and the requests, as a list.
pub fn plan_facts(plan: &PlanDoc) -> AnyView {
    let mut rows: Vec<(&'static str, AnyView)> =
        plan_rows(plan).into_iter().map(|(label, text)| (label, text.into_any())).collect();
    rows.insert(1, ("Requests", requests(plan)));
    facts(rows)
}

/// `a, b and c`.
fn list_words(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
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
                r.bearer.then(|| "a bearer token".to_owned()),
                (r.cookies > 0).then(|| format::plural(r.cookies, "cookie", "cookies")),
                (r.conditions > 0).then(|| format::plural(r.conditions, "condition", "conditions")),
                (!r.variables.is_empty()).then(|| {
                    let words = if r.variables.len() == 1 { "the variable" } else { "the variables" };
                    format!("{words} {} from its reply", r.variables.join(", "))
                }),
                r.weight.map(|weight| format!("weight {}", format::count(u64::from(weight)))),
            ]
            .into_iter()
            .flatten()
            .collect();
            view! {
                <li>
                    {r.name.clone().map(|name| view! { <strong class="break">{name}</strong>" " })}
                    <code>{format!("{} {}", r.method, r.url)}</code>
                    {(!notes.is_empty()).then(|| view! { <span class="muted">" with "{list_words(&notes)}</span> })}
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

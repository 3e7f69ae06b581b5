//! The first glance: large figures, the verdict in words, limits with what was measured.

use leptos::prelude::*;
use oleada_engine::result::{EndReason, ResultDoc};
use oleada_engine::verdict::LimitedBy;
use oleada_engine::window::Ledger;

use crate::format;
use crate::ui::words::request_name;

/// How good the news is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Good,
    Mixed,
    Bad,
}

/// What happened in one sentence, and how it looks.
fn outcome(result: &ResultDoc) -> (Tone, String) {
    let Ledger { sent, ok, aborted, .. } = result.ledger;
    let ended = sent - aborted.min(sent);
    if ended == 0 {
        return (Tone::Bad, "Nothing that was sent came to an end.".to_owned());
    }
    if result.ledger.answered() == 0 {
        return (
            Tone::Bad,
            format!("Nothing was answered: all {} failed.", format::plural(ended, "request", "requests")),
        );
    }
    let failed = result.ledger.errors() - aborted.min(result.ledger.errors());
    if failed == 0 && ok > 0 {
        let sentence = match ok {
            1 => "The one request was answered ok.".to_owned(),
            _ => format!("All {} requests were answered ok.", format::count(ok)),
        };
        return (Tone::Good, sentence);
    }
    let tone = if result.error_rate < 0.01 { Tone::Mixed } else { Tone::Bad };
    (
        tone,
        format!(
            "{} of {} failed ({}).",
            format::count(failed),
            format::plural(ended, "request", "requests"),
            format::percent(Some(failed as f64 / ended as f64))
        ),
    )
}

/// Who limited the run, in words.
fn limit(result: &ResultDoc) -> &'static str {
    match result.verdict.limited_by {
        LimitedBy::None => "Nothing limited the run: the plan was carried out as written.",
        LimitedBy::Target => "The target was the limit.",
        LimitedBy::Generator => {
            "The machine that made the load was the limit, so the target may be better than it looks here."
        }
        LimitedBy::Plan => "The plan itself was the limit.",
    }
}

pub(super) fn verdict(result: &ResultDoc) -> AnyView {
    let (mut tone, sentence) = outcome(result);
    if tone == Tone::Good && result.verdict.limited_by != LimitedBy::None {
        tone = Tone::Mixed;
    }
    let broken = result.limits.iter().filter(|limit| !limit.held).count() as u64;
    let judged = match (result.limits.len() as u64, broken) {
        (0, _) => None,
        (n, 0) => Some(("Passed", if n == 1 { "The limit held.".to_owned() } else { format!("All {n} limits held.") })),
        (1, _) => Some(("Failed", "The limit was broken.".to_owned())),
        (n, broken) => Some(("Failed", format!("{broken} of {n} limits were broken."))),
    };
    match judged {
        Some(("Failed", _)) => tone = Tone::Bad,
        // Whoever says what is good enough has said that this is.
        Some(_) if tone == Tone::Bad => tone = Tone::Mixed,
        _ => {}
    }
    let (class, word, shape) = match tone {
        Tone::Good => ("verdict good", "Passed as planned", "M5 12.5l5 5l9-11"),
        Tone::Mixed => ("verdict warn", "Finished with remarks", "M12 5v9M12 18v.5"),
        Tone::Bad => ("verdict bad", "Failures", "M6 6l12 12M18 6l-12 12"),
    };
    let word = judged.as_ref().map_or(word, |(word, _)| word);
    let limits = judged.map(|(_, text)| format!("{text} "));
    let end = match result.end_reason {
        Some(EndReason::ErrorThreshold) => {
            Some("The run ended early: the share of errors reached the test's threshold.")
        }
        Some(EndReason::Limit) => Some("The run ended early: a limit was broken."),
        Some(EndReason::RateMissed) => Some("The run ended early: too much of the planned rate was missed."),
        Some(EndReason::Stopped) => Some("The run was stopped before its end."),
        Some(EndReason::Interrupted) => Some("The run was interrupted."),
        Some(EndReason::Completed) | None => None,
    };
    let reasons = result.verdict.reasons.iter().map(|r| view! { <li>{r.clone()}</li> }).collect_view();
    view! {
        <div class=class>
            <svg viewBox="0 0 24 24" width="32" height="32" aria-hidden="true" focusable="false"><path d=shape /></svg>
            <div>
                <p class="verdict-line"><strong>{word}"."</strong>" "{limits}{sentence}" "{limit(result)}</p>
                {limits_kept(result)}
                {end.map(|text| view! { <p>{text}</p> })}
                {(!result.verdict.reasons.is_empty()).then(|| view! { <ul>{reasons}</ul> })}
            </div>
        </div>
    }
    .into_any()
}

/// Every limit, and what was measured.
fn limits_kept(result: &ResultDoc) -> AnyView {
    if result.limits.is_empty() {
        return ().into_any();
    }
    let rows = result
        .limits
        .iter()
        .map(|limit| {
            let of = limit.request.map(|i| format!(" for {}", request_name(&result.plan, i))).unwrap_or_default();
            let space = if limit.unit == "ms" { " " } else { "" };
            let measured = match limit.value {
                Some(value) => format!("{}{space}{} measured", format::number(value), limit.unit),
                None => "nothing measured".to_owned(),
            };
            let (class, word) = if limit.held { ("kept", "✓ Kept") } else { ("broken", "✗ Broken") };
            view! {
                <li class=class>
                    <strong>{word}</strong>": fails when "<code>{limit.text.clone()}</code><span class="break">{of}</span>" – "{measured}
                </li>
            }
        })
        .collect_view();
    view! { <ul class="limits plain">{rows}</ul> }.into_any()
}

pub(super) fn figures(result: &ResultDoc) -> AnyView {
    let latency = &result.latency_ms;
    let rate = format::maybe(result.requests_per_second);
    let share = if result.ledger.finished() == 0 { None } else { Some(result.error_rate) };
    view! {
        <dl class="figures">
            {figure("Requests/s", rate, "", "answered, on average")}
            {time_figure("p50", latency.p50, "half were faster")}
            {time_figure("p95", latency.p95, "19 of 20 were faster")}
            {time_figure("p99", latency.p99, "99 of 100 were faster")}
            {figure("Errors", format::percent(share), "", "of all that were sent and ended")}
            {figure("Peak clients", format::count(result.peak_clients), "", "open at one instant")}
        </dl>
    }
    .into_any()
}

fn time_figure(label: &'static str, value: Option<f64>, note: &'static str) -> AnyView {
    let (number, unit) = format::ms_parts(value);
    figure(label, number, unit, note)
}

fn figure(label: &'static str, value: String, unit: &'static str, note: &'static str) -> AnyView {
    view! {
        <div class="figure">
            <dt>{label}</dt>
            <dd>{value}{(!unit.is_empty()).then(|| view! { <span class="figure-unit">" "{unit}</span> })}</dd>
            <dd class="note">{note}</dd>
        </div>
    }
    .into_any()
}

//! The requests of the list, the conditions on their replies, and what was still in flight at the end.

use leptos::prelude::*;
use oleada_engine::result::ResultDoc;

use crate::format;
use crate::ui::table::scroll;
use crate::ui::words::request_name;

/// Every request of the list, with its share of all that was sent.
pub(super) fn requests(result: &ResultDoc) -> AnyView {
    if result.requests.len() < 2 {
        return ().into_any();
    }
    let all: u64 = result.requests.iter().map(|r| r.ledger.sent).sum();
    let rows = result
        .requests
        .iter()
        .enumerate()
        .map(|(i, r)| {
            let name = result.plan.requests.get(i).and_then(|r| r.name.clone());
            let rate = (r.ledger.finished() > 0).then(|| r.ledger.errors() as f64 / r.ledger.finished() as f64);
            view! {
                <tr>
                    <th scope="row">{name.map(|name| view! { <span class="break">{name}</span><br /> })}<code class="break">{format!("{} {}", r.method, r.url)}</code></th>
                    <td class="num">{format::count(r.ledger.sent)}</td>
                    <td class="num">{format::percent((all > 0).then(|| r.ledger.sent as f64 / all as f64))}</td>
                    <td class="num">{format::percent(rate)}</td>
                    <td class="num">{format::maybe(r.latency_ms.p50)}</td>
                    <td class="num">{format::maybe(r.latency_ms.p95)}</td>
                    <td class="num">{format::maybe(r.latency_ms.p99)}</td>
                    <td class="num">{format::maybe(r.latency_ms.max)}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data">
            <caption class="visually-hidden">"Figures by request"</caption>
            <thead><tr><th scope="col">"Request"</th><th scope="col" class="num">"Sent"</th><th scope="col" class="num">"Share"</th><th scope="col" class="num">"Errors"</th><th scope="col" class="num">"p50, ms"</th><th scope="col" class="num">"p95, ms"</th><th scope="col" class="num">"p99, ms"</th><th scope="col" class="num">"Max, ms"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    view! { <section aria-labelledby="requests-title"><h2 id="requests-title">"By request"</h2>{scroll("Figures by request", table.into_any())}</section> }.into_any()
}

/// Conditions on replies, and how often each held.
pub(super) fn conditions(result: &ResultDoc) -> AnyView {
    if result.assertions.is_empty() {
        return ().into_any();
    }
    let rows = result
        .assertions
        .iter()
        .map(|a| {
            let judged = a.passed + a.failed;
            let (class, word) = match (judged, a.failed) {
                (0, _) => ("", "never judged"),
                (_, 0) => ("kept", "✓ always held"),
                _ => ("broken", "✗ failed"),
            };
            view! {
                <tr>
                    <th scope="row"><code class="break">{a.text.clone()}</code><span class="sub break">{request_name(&result.plan, a.request)}</span></th>
                    <td class=class>{word}</td>
                    <td class="num">{format::count(a.passed)}</td>
                    <td class="num">{format::count(a.failed)}</td>
                    <td class="num">{format::percent((judged > 0).then(|| a.failed as f64 / judged as f64))}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data limits">
            <caption class="visually-hidden">"Conditions on replies"</caption>
            <thead><tr><th scope="col">"Condition"</th><th scope="col">"Result"</th><th scope="col" class="num">"Held"</th><th scope="col" class="num">"Failed"</th><th scope="col" class="num">"Failed, share"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    let examples = result.assertion_failures.iter().map(|e| {
        view! { <li class="break"><code>{e.detail.clone()}</code>" – "{format::plural(e.count, "time", "times")}</li> }
    });
    view! {
        <section aria-labelledby="conditions-title">
            <h2 id="conditions-title">"Conditions on replies"</h2>
            {scroll("Conditions on replies", table.into_any())}
            {(!result.assertion_failures.is_empty()).then(|| view! { <h3>"What was found instead"</h3><ul class="plain">{examples.collect_view()}</ul> })}
        </section>
    }
    .into_any()
}

/// Ages shown one by one.
const AGES: usize = 20;

/// Requests that had no reply when the run ended, oldest first.
pub(super) fn in_flight(result: &ResultDoc) -> AnyView {
    let ages = &result.in_flight_at_end_ms;
    let (Some(oldest), Some(youngest)) = (ages.first(), ages.last()) else { return ().into_any() };
    let all = result.ledger.aborted.max(ages.len() as u64);
    let shown: Vec<String> = ages.iter().take(AGES).map(|ms| format::ms(Some(*ms))).collect();
    let more = if ages.len() > AGES {
        format!(" and {} more", format::count((ages.len() - AGES) as u64))
    } else {
        String::new()
    };
    let text = if ages.len() == 1 {
        format!("1 request was cut at the end of the run; it was {} old.", format::ms(Some(*oldest)))
    } else {
        format!(
            "{} were cut at the end of the run. The oldest was {} old, the youngest {}.",
            format::plural(all, "request", "requests"),
            format::ms(Some(*oldest)),
            format::ms(Some(*youngest))
        )
    };
    view! {
        <section aria-labelledby="in-flight-title">
            <h2 id="in-flight-title">"In flight at the end"</h2>
            <p>{text}</p>
            {(ages.len() > 1).then(|| view! { <p class="muted">{format!("Ages: {}{more}.", shown.join(", "))}</p> })}
        </section>
    }
    .into_any()
}

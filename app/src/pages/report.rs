//! The finished report, in the order a reader asks: did it pass, how fast, what limited it; then everything else.

use leptos::prelude::*;
use oleada_engine::outcome::ErrorKind;
use oleada_engine::result::{AddressDoc, EndReason, Percentiles, Point, ResultDoc};
use oleada_engine::verdict::LimitedBy;
use oleada_engine::window::Ledger;

use crate::chart::{report, table};
use crate::format;
use crate::islands::RunChart;
use crate::ui::table::{facts, scroll};
use crate::ui::words::{self, request_name};

/// Samples a drawn line may have per column of the widest drawing.
const COLUMNS: usize = 900;

/// The whole report of a run.
pub fn body(result: &ResultDoc, points: &[Point]) -> AnyView {
    let times = report::response_times("times", points, 1, None).thinned(COLUMNS);
    let rates = report::throughput("rates", points, 1, None).thinned(COLUMNS);
    view! {
        {verdict(result)}
        {figures(result)}
        {if points.is_empty() {
            view! { <p class="muted">"No second of this run was recorded."</p> }.into_any()
        } else {
            view! {
                <RunChart chart=times />
                <RunChart chart=rates />
                <details class="chart-data"><summary>"The charts' data as a table"</summary><div class="table-box" role="region" tabindex="0" aria-label="Data of the charts" inner_html=table::html(points)></div></details>
            }.into_any()
        }}
        <section aria-labelledby="ledger-title">
            <h2 id="ledger-title">"What became of every request"</h2>
            {ledger(&result.ledger)}
        </section>
        <section aria-labelledby="percentiles-title">
            <h2 id="percentiles-title">"Response times"</h2>
            {percentiles(result)}
        </section>
        {errors(result)}
        <div class="columns">
            {statuses(result)}
            {phases(result)}
        </div>
        {requests(result)}
        {traffic(result)}
    }
    .into_any()
}

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
        return (Tone::Good, format!("All {} were answered ok.", format::plural(ok, "request", "requests")));
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

fn verdict(result: &ResultDoc) -> AnyView {
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

fn figures(result: &ResultDoc) -> AnyView {
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

/// Name, explanation and count of each outcome, in the ledger's order.
pub(super) fn outcomes(ledger: &Ledger) -> [(&'static str, &'static str, u64, &'static str); 9] {
    [
        ("Answered ok", "status below 400", ledger.ok, "ok"),
        ("Client errors", "status 4xx", ledger.status_4xx, "warn"),
        ("Server errors", "status 5xx", ledger.status_5xx, "bad"),
        ("Other statuses", "600 and above", ledger.status_other, "warn"),
        ("Timed out", "no complete reply in time", ledger.timeout, "bad"),
        ("Network failures", "connection not made or lost", ledger.network, "bad"),
        ("Invalid replies", "not HTTP", ledger.invalid, "bad"),
        ("Generator's limits", "never charged to the target", ledger.local, "warn"),
        ("Cut at the end", "still in flight when the run ended", ledger.aborted, "cut"),
    ]
}

fn ledger(ledger: &Ledger) -> AnyView {
    let share = |n: u64, of: u64| (of > 0).then(|| n as f64 / of as f64);
    let rows = outcomes(ledger)
        .into_iter()
        .map(|(name, note, n, tone)| {
            let part = share(n, ledger.sent);
            view! {
                <tr class=if n == 0 { "zero" } else { "" }>
                    <th scope="row">{name}<span class="sub">{note}</span></th>
                    <td class="bar-cell">{(n > 0).then(|| meter(part.unwrap_or(0.0), tone))}</td>
                    <td class="num">{format::count(n)}</td>
                    <td class="num">{format::percent(part)}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data outcomes">
            <caption class="visually-hidden">"Outcomes of what was sent"</caption>
            <thead><tr><th scope="col">"Outcome"</th><th scope="col"><span class="visually-hidden">"Share as a bar"</span></th><th scope="col" class="num">"Requests"</th><th scope="col" class="num">"Share"</th></tr></thead>
            <tbody>{rows}</tbody>
            <tfoot><tr><th scope="row">"Sent"</th><td></td><td class="num">{format::count(ledger.sent)}</td><td class="num">{format::percent(share(ledger.sent, ledger.sent))}</td></tr></tfoot>
        </table>
    };
    let dropped = if ledger.dropped > 0 { "flow-node side warn" } else { "flow-node side" };
    view! {
        <div class="flow">
            <ol class="flow-steps plain">
                <li class="flow-node"><span>"Planned"</span><strong>{format::count(ledger.planned)}</strong></li>
                <li class="flow-node"><span>"Sent"</span><strong>{format::count(ledger.sent)}</strong><small>{format::percent(share(ledger.sent, ledger.planned))}</small></li>
                <li class=dropped>
                    <span>"Dropped"</span><strong>{format::count(ledger.dropped)}</strong><small>"planned, but never sent"</small>
                </li>
            </ol>
            {scroll("Outcomes of what was sent", table.into_any())}
        </div>
    }
    .into_any()
}

/// A bar of a share; whatever is not zero can be seen.
fn meter(share: f64, tone: &'static str) -> AnyView {
    let width = if share > 0.0 { (share * 100.0).clamp(1.0, 100.0) } else { 0.0 };
    view! {
        <svg class=format!("meter {tone}") viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
            <rect class="meter-ground" width="100" height="8" rx="1" />
            <rect class="meter-fill" width=format!("{width:.2}") height="8" rx="1" />
        </svg>
    }
    .into_any()
}

/// Figures of a distribution by name.
pub(super) fn distribution(p: &Percentiles) -> Vec<(&'static str, Option<f64>)> {
    let mut rows = vec![("Smallest", p.min), ("Mean", p.mean), ("Standard deviation", p.stddev)];
    rows.extend(p.rows());
    if let Some(last) = rows.last_mut() {
        last.0 = "Largest";
    }
    rows
}

fn percentiles(result: &ResultDoc) -> AnyView {
    let open = result.plan.load.is_open();
    let (latency, ok, service) = (&result.latency_ms, &result.ok_ms, &result.service_ms);
    // Documents from before have no such figures, and most runs no errors.
    let adjusted = &result.adjusted_ms;
    let errors = ok.count < latency.count && adjusted.count > 0;
    let connecting = result.total_ms.count > 0 && result.connections.opened * 20 > result.total_ms.count;
    let mut columns: Vec<(&str, &Percentiles, &str)> = vec![("Response time", latency, "")];
    if errors {
        columns.push(("Of successes", ok, ""));
    }
    if adjusted.count > ok.count {
        columns.push(("With failures", adjusted, "failed"));
    }
    columns.push(("Service time", service, ""));
    if connecting {
        columns.push(("With connecting", &result.total_ms, ""));
    }
    if result.failed_ms.count > 0 {
        columns.push(("Until failure", &result.failed_ms, ""));
    }
    let figures: Vec<_> = columns.iter().map(|(_, figures, none)| (distribution(figures), *none)).collect();
    let rows = distribution(latency).into_iter().enumerate().map(|(n, (name, _))| {
        let cells = figures.iter().map(|(column, none)| {
            // Mean and deviation of what never ended do not exist; a percentile that is a failure does.
            let is_failure = !none.is_empty() && !["Smallest", "Mean", "Standard deviation"].contains(&name);
            let cell = match column.get(n).and_then(|(_, value)| *value) {
                None if is_failure => (*none).to_owned(),
                value => format::maybe(value),
            };
            view! { <td class="num">{cell}</td> }
        });
        view! {
            <tr>
                <th scope="row">{name}</th>
                {cells.collect_view()}
            </tr>
        }
    });
    let heads = columns.iter().map(|(name, ..)| view! { <th scope="col" class="num">{*name}</th> }).collect_view();
    let counts = columns.iter().map(|(_, p, _)| view! { <td class="num">{format::count(p.count)}</td> }).collect_view();
    let table = view! {
        <table class="data">
            <caption class="visually-hidden">"Percentiles in milliseconds"</caption>
            <thead>
                <tr>
                    <th scope="col">"In milliseconds"</th>
                    {heads}
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
            <tfoot>
                <tr>
                    <th scope="row">"Requests"</th>
                    {counts}
                </tr>
            </tfoot>
        </table>
    };
    view! {
        <div class="beside">
            {scroll("Percentiles in milliseconds", table.into_any())}
            <div class="explain">
                <p>{if open {
                    "Response time runs from the moment the plan said a request was due, so time spent waiting for its turn counts, as it would for a visitor."
                } else {
                    "Response time runs from the moment a client sends its request: clients wait for an answer before they send the next one, so a slow target also slows the load down."
                }}</p>
                <p>"Service time runs from the first byte written to the last byte read: what the target alone took."</p>
                {errors.then(|| view! { <p>"Quick errors would make a page look fast: the successes stand in a column of their own."</p> })}
                {(adjusted.count > ok.count).then(|| view! { <p>"With failures: the same, but a failed request counts as slower than any other. Where a percentile is one of them it says so."</p> })}
                {connecting.then(|| view! { <p>"With connecting: with name resolution, connect and TLS of the requests that opened a connection."</p> })}
                {(result.failed_ms.count > 0).then(|| view! { <p>"Requests that were not answered are kept apart; the last column is how long it took until they failed."</p> })}
                <p>"A percentile is a rank: p95 is the time within which 95 of 100 were answered. It is never averaged."</p>
            </div>
        </div>
    }
    .into_any()
}

fn explain(kind: &str) -> &'static str {
    ErrorKind::ALL.iter().find(|k| k.name() == kind).map_or("", |k| k.explain())
}

fn errors(result: &ResultDoc) -> AnyView {
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

fn statuses(result: &ResultDoc) -> AnyView {
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

fn phases(result: &ResultDoc) -> AnyView {
    let p = &result.phases_ms;
    let rows = [
        ("Name resolution", &p.dns),
        ("Connecting", &p.connect),
        ("TLS handshake", &p.tls),
        ("Waiting for the first byte", &p.wait),
        ("Receiving", &p.receive),
    ]
    .into_iter()
    .filter(|(_, d)| d.count > 0)
    .map(|(name, d)| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td class="num">{format::maybe(d.p50)}</td>
                <td class="num">{format::maybe(d.p95)}</td>
                <td class="num">{format::maybe(d.p99)}</td>
                <td class="num">{format::count(d.count)}</td>
            </tr>
        }
    })
    .collect_view();
    if [&p.dns, &p.connect, &p.tls, &p.wait, &p.receive].iter().all(|d| d.count == 0) {
        return ().into_any();
    }
    let table = view! {
        <table class="data">
            <caption class="visually-hidden">"Parts of an exchange in milliseconds"</caption>
            <thead><tr><th scope="col">"In milliseconds"</th><th scope="col" class="num">"p50"</th><th scope="col" class="num">"p95"</th><th scope="col" class="num">"p99"</th><th scope="col" class="num">"Times"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    view! { <section aria-labelledby="phases-title"><h2 id="phases-title">"Where the time went"</h2>{scroll("Parts of an exchange", table.into_any())}</section> }.into_any()
}

fn requests(result: &ResultDoc) -> AnyView {
    if result.requests.len() < 2 {
        return ().into_any();
    }
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
            <thead><tr><th scope="col">"Request"</th><th scope="col" class="num">"Sent"</th><th scope="col" class="num">"Errors"</th><th scope="col" class="num">"p50, ms"</th><th scope="col" class="num">"p95, ms"</th><th scope="col" class="num">"p99, ms"</th><th scope="col" class="num">"Max, ms"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    view! { <section aria-labelledby="requests-title"><h2 id="requests-title">"By request"</h2>{scroll("Figures by request", table.into_any())}</section> }.into_any()
}

/// Addresses shown with their connections; the document has more.
const ADDRESSES_SHOWN: usize = 8;

/// Where the connections went, when names were resolved or there was more than one address.
fn addresses(result: &ResultDoc) -> Option<String> {
    if result.addresses.is_empty() || result.addresses.len() == 1 && result.phases_ms.dns.count == 0 {
        return None;
    }
    let one =
        |a: &AddressDoc| format!("{} ({})", a.address, format::plural(a.connections, "connection", "connections"));
    let shown: Vec<String> = result.addresses.iter().take(ADDRESSES_SHOWN).map(one).collect();
    let more = result.addresses.len().saturating_sub(ADDRESSES_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{}{more}", shown.join(", ")))
}

fn traffic(result: &ResultDoc) -> AnyView {
    let (b, c, r, g) = (&result.bytes, &result.connections, &result.redirects, &result.generator);
    let text = |t: String| t.into_any();
    let rate = if result.duration_s > 0.0 {
        format!(", {} a second", format::bytes((b.received as f64 / result.duration_s) as u64))
    } else {
        String::new()
    };
    let mut rows = vec![
        ("Received", text(format!("{}{rate}", format::bytes(b.received)))),
        ("Sent", text(format::bytes(b.sent))),
        ("Bodies", text(format!("{} as sent, not unpacked", format::bytes(b.body)))),
        (
            "Connections",
            text(format!(
                "{} opened; {} reused one; {} sent again because it was closed",
                format::count(c.opened),
                format::plural(c.reused, "request", "requests"),
                format::count(c.reconnects)
            )),
        ),
    ];
    if let Some(addresses) = addresses(result) {
        rows.push(("Addresses", text(addresses)));
    }
    if let Some(words) = words::spoken_http(result) {
        rows.push(("HTTP", text(words)));
    }
    if let Some(words) = words::spoken_tls(result) {
        let unchecked = if result.plan.insecure { "; certificates were not checked" } else { "" };
        rows.push(("TLS", text(format!("{words}{unchecked}"))));
    }
    if r.followed + r.refused > 0 {
        rows.push((
            "Redirects",
            text(format!(
                "{} followed, {} refused because their host is not allowed",
                format::count(r.followed),
                format::count(r.refused)
            )),
        ));
    }
    if result.plan.load.is_open() {
        rows.push((
            "Lateness",
            text(format!(
                "requests left {} late at the median, {} at the 99th percentile",
                format::ms(result.lateness_ms.p50),
                format::ms(result.lateness_ms.p99)
            )),
        ));
    }
    let memory = match g.max_rss_mb {
        Some(mb) => format!(", at most {} MB of memory", format::number(mb)),
        None => ", memory unknown".to_owned(),
    };
    rows.push((
        "Generator",
        text(format!(
            "{}, {} s of processor time{memory}",
            format::plural(u64::from(g.threads), "thread", "threads"),
            format::number(g.cpu_s)
        )),
    ));
    rows.push(("Made by", text(result.tool.clone())));
    view! { <section aria-labelledby="traffic-title"><h2 id="traffic-title">"Traffic and generator"</h2>{facts(rows)}</section> }.into_any()
}

//! How long it took: percentiles, the spread as drawings, and the parts of an exchange.

use leptos::prelude::*;
use oleada_engine::distribution::Distribution;
use oleada_engine::result::{Percentiles, ResultDoc};

use crate::chart::distribution::{self, NARROW, Size, WIDE};
use crate::chart::layout::Scene;
use crate::chart::svg;
use crate::format;
use crate::ui::table::scroll;

/// Figures of a distribution by name.
pub fn distribution_rows(p: &Percentiles) -> Vec<(&'static str, Option<f64>)> {
    let mut rows = vec![("Smallest", p.min), ("Mean", p.mean), ("Standard deviation", p.stddev)];
    rows.extend(p.rows());
    if let Some(last) = rows.last_mut() {
        last.0 = "Largest";
    }
    rows
}

/// Percentiles of everything that was timed, side by side, and what they mean.
pub(super) fn percentiles(result: &ResultDoc) -> AnyView {
    let open = result.plan.load.is_open();
    let (latency, ok, service) = (&result.latency_ms, &result.ok_ms, &result.service_ms);
    // Documents from before have no such figures, and most runs no errors.
    let adjusted = &result.adjusted_ms;
    let errors = ok.count < latency.count && adjusted.count > 0;
    let connecting = result.total_ms.count > 0 && result.connections.opened * 20 > result.total_ms.count;
    let mut columns: Vec<(&str, &Percentiles, &str)> =
        vec![("Response time", latency, ""), ("Service time", service, "")];
    if errors {
        columns.push(("Of successes", ok, ""));
    }
    if adjusted.count > ok.count {
        columns.push(("With failures", adjusted, "failed"));
    }
    if connecting {
        columns.push(("With connecting", &result.total_ms, ""));
    }
    if result.failed_ms.count > 0 {
        columns.push(("Until failure", &result.failed_ms, ""));
    }
    let figures: Vec<_> = columns.iter().map(|(_, figures, none)| (distribution_rows(figures), *none)).collect();
    let rows = distribution_rows(latency).into_iter().enumerate().map(|(n, (name, _))| {
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
                    "Response time is what a visitor felt: it runs from the planned instant at which a request was due, so time spent waiting for its turn counts. Service time runs from the first byte written to the last byte read: what the target alone took. A large difference means that requests could not leave when they were due, because all that came before them had not been answered yet."
                } else {
                    "Response time is what a client felt: it runs from the moment it sends its request. Clients wait for an answer before they send the next one, so a slow target also slows the load down. Service time runs from the first byte written to the last byte read: what the target alone took. With this kind of load both begin at the same moment, so they hardly differ."
                }}</p>
                {waited(result).map(|text| view! { <p><strong>{text}</strong></p> })}
                {mean_above_p95(latency).map(|text| view! { <p><strong>{text}</strong></p> })}
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

/// Says that a mean above p95 is no error of ours (and why nobody should look at the mean).
pub(super) fn mean_above_p95(p: &Percentiles) -> Option<String> {
    let (mean, p95, max) = (p.mean?, p.p95?, p.max?);
    (mean > p95).then(|| {
        format!(
            "The mean ({}) is above the 95th percentile ({}), and that is no error: a few requests took up to {} and pull the average up, while 95 of 100 were faster than it.",
            format::ms(Some(mean)),
            format::ms(Some(p95)),
            format::ms(Some(max))
        )
    })
}

/// Differences of less than this are nobody's waiting.
const NOTABLE_MS: f64 = 1.0;

/// Says how much of the response time was waiting, where that is much.
fn waited(result: &ResultDoc) -> Option<String> {
    let (felt, took) = (result.latency_ms.p95?, result.service_ms.p95?);
    (felt > 1.5 * took && felt - took > NOTABLE_MS).then(|| {
        format!(
            "Here p95 was {} to the visitor and {} to the target: most of the rest was waiting.",
            format::ms(Some(felt)),
            format::ms(Some(took))
        )
    })
}

/// Histogram and percentile curve side by side.
pub(super) fn spread(of: Option<&Distribution>, result: &ResultDoc) -> AnyView {
    match of {
        Some(of) if !of.is_empty() => {
            let bars = |size| distribution::histogram("spread", of, size);
            let curve = |size| distribution::curve("curve", of, size);
            view! {
                <div class="columns">
                    {drawing(bars, distribution::bars_table(of), None)}
                    {drawing(curve, distribution::curve_table(of), Some(keys()))}
                </div>
            }
            .into_any()
        }
        // Of a run from before the distribution was kept, or one whose seconds are too many to be added up for a page.
        _ if result.latency_ms.count > 0 => {
            view! { <p class="muted">"The distribution of this run was not kept."</p> }.into_any()
        }
        _ => ().into_any(),
    }
}

fn keys() -> AnyView {
    view! {
        <ul class="legend-row plain" aria-hidden="true">
            <li class="legend s-latency"><span class="swatch"></span>"Response time"</li>
            <li class="legend s-service"><span class="swatch"></span>"Service time"</li>
        </ul>
    }
    .into_any()
}

fn drawing(scene: impl Fn(Size) -> Scene, data: String, keys: Option<AnyView>) -> AnyView {
    let (wide, narrow) = (scene(WIDE), scene(NARROW));
    let label = format!("Data: {}", wide.title);
    view! {
        <figure class="chart">
            <figcaption>{wide.title.clone()}</figcaption>
            {keys}
            <div class="chart-stage half">
                <div class="drawing wide" inner_html=svg::write(&wide, "w")></div>
                <div class="drawing narrow" inner_html=svg::write(&narrow, "n")></div>
            </div>
            <p class="chart-says">{wide.description.clone()}</p>
            <details class="chart-data"><summary>"As a table"</summary><div class="table-box" role="region" tabindex="0" aria-label=label inner_html=data></div></details>
        </figure>
    }
    .into_any()
}

/// Parts of an exchange.
pub(super) fn phases(result: &ResultDoc) -> AnyView {
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

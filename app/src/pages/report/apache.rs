//! The figures that ApacheBench prints, by its formulas, for those who know them.

use leptos::prelude::*;
use oleada_engine::plan::Load;
use oleada_engine::result::{Percentiles, ResultDoc};

use crate::chart::overview::Facts;
use crate::format;
use crate::ui::table::facts as list;

/// Clients at once, as `ab -c` counts them: those of a fixed count, or the average of all seconds.
fn concurrency(result: &ResultDoc, facts: &Facts) -> Option<(f64, &'static str)> {
    match result.plan.load {
        Load::FixedCount { clients, .. } => Some((f64::from(clients), "as planned")),
        _ if result.duration_s > 0.0 => {
            Some((facts.client_seconds / result.duration_s, "on average; ab keeps it constant"))
        }
        _ => None,
    }
}

/// Rows of name and value. `c` clients, `t` seconds and `n` answers give c·t·1000/n and t·1000/n ms a request.
fn rows(result: &ResultDoc, facts: &Facts) -> Vec<(&'static str, String)> {
    let (t, done) = (result.duration_s, result.ledger.answered());
    let (l, b) = (&result.ledger, &result.bytes);
    let per_request = |clients: f64| (done > 0).then(|| clients * t * 1000.0 / done as f64);
    let kbytes = |bytes: u64| (t > 0.0).then(|| bytes as f64 / 1024.0 / t);
    let not_2xx: u64 = result.statuses.iter().filter(|(s, _)| !s.starts_with('2')).map(|(_, n)| *n).sum();
    let clients = concurrency(result, facts);
    let mut rows = Vec::new();
    if let Some((clients, how)) = clients {
        rows.push(("Concurrency level", format!("{} ({how})", format::number(clients))));
    }
    rows.push(("Time taken for tests", format!("{t:.3} seconds")));
    rows.push(("Complete requests", format::count(done)));
    rows.push((
        "Failed requests",
        format!(
            "{} (not answered: {} timed out, {} network, {} invalid, {} generator's limits)",
            format::count(l.timeout + l.network + l.invalid + l.local),
            format::count(l.timeout),
            format::count(l.network),
            format::count(l.invalid),
            format::count(l.local)
        ),
    ));
    if not_2xx > 0 {
        rows.push(("Non-2xx responses", format::count(not_2xx)));
    }
    rows.push((
        "Document length",
        match (done > 0).then(|| b.body as f64 / done as f64) {
            Some(mean) if mean.fract() == 0.0 => {
                format!("{} bytes on average over all answers", format::count(mean as u64))
            }
            Some(mean) => format!("{mean:.1} bytes on average: the answers differ in length"),
            None => format::NONE.to_owned(),
        },
    ));
    rows.push(("Total transferred", format!("{} bytes", format::count(b.received))));
    rows.push(("HTML transferred", format!("{} bytes", format::count(b.body))));
    rows.push((
        "Requests per second",
        result.requests_per_second.map_or_else(|| format::NONE.to_owned(), |v| format!("{v:.2} (mean)")),
    ));
    let ms =
        |value: Option<f64>, how: &str| value.map_or_else(|| format::NONE.to_owned(), |v| format!("{v:.3} ms ({how})"));
    rows.push(("Time per request", ms(clients.and_then(|(c, _)| per_request(c)), "mean")));
    rows.push(("Time per request", ms(per_request(1.0), "mean, across all concurrent requests")));
    rows.push((
        "Transfer rate",
        match (kbytes(b.received), kbytes(b.sent)) {
            (Some(received), Some(sent)) => format!("{received:.2} Kbytes/sec received, {sent:.2} sent"),
            _ => format::NONE.to_owned(),
        },
    ));
    rows
}

/// Percentage of the requests served within a certain time; ab's times include connecting.
fn served(p: &Percentiles) -> [(&'static str, Option<f64>); 9] {
    [
        ("50%", p.p50),
        ("66%", p.p66),
        ("75%", p.p75),
        ("80%", p.p80),
        ("90%", p.p90),
        ("95%", p.p95),
        ("98%", p.p98),
        ("99%", p.p99),
        ("100%", p.max),
    ]
}

/// The block, folded.
pub fn block(result: &ResultDoc, facts: &Facts) -> AnyView {
    // Documents from before have no times with connecting.
    let times = if result.total_ms.count > 0 { &result.total_ms } else { &result.latency_ms };
    let all = rows(result, facts).into_iter().map(|(name, text)| (name, text.into_any())).collect();
    let within = served(times).map(|(share, value)| {
        let longest = if share == "100%" { " (longest request)" } else { "" };
        view! { <tr><th scope="row">{share}</th><td class="num">{format::maybe(value)}</td><td>{longest}</td></tr> }
    });
    view! {
        <details class="apache">
            <summary><h2>"For ApacheBench readers"</h2></summary>
            <p class="muted">"The same run in the words and by the formulas of ab. As in ab, answers of any status are complete, and times include connecting."</p>
            {list(all)}
            <div class="table-box" role="region" tabindex="0" aria-label="Requests served within a certain time">
                <table class="data">
                    <caption>"Percentage of the requests served within a certain time (ms)"</caption>
                    <thead><tr><th scope="col">"Share"</th><th scope="col" class="num">"Within, ms"</th><th scope="col"><span class="visually-hidden">"Remark"</span></th></tr></thead>
                    <tbody>{within.into_iter().collect_view()}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

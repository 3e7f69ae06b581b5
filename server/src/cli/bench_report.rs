//! The report of `oleada bench` as text.

use std::fmt::Write;

use oleada_app::ui::words;
use oleada_engine::limit::FailIf;
use oleada_engine::result::{EndReason, Percentiles, ResultDoc};
use oleada_engine::verdict::LimitedBy;

use super::units::{bytes, ms};

/// The report, ending with a line break.
pub fn text(doc: &ResultDoc, conditions: &[FailIf]) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write(&mut out, doc, conditions);
    out
}

fn write(out: &mut String, doc: &ResultDoc, conditions: &[FailIf]) -> std::fmt::Result {
    head(out, doc)?;
    ledger(out, doc)?;
    times(out, doc)?;
    if !doc.statuses.is_empty() {
        let statuses: Vec<String> = doc.statuses.iter().map(|(status, count)| format!("{status} × {count}")).collect();
        writeln!(out, "\nStatus codes     {}", statuses.join(", "))?;
    }
    for error in &doc.errors {
        writeln!(out, "Error            {} × {} ({})", error.kind, error.count, error.detail.escape_debug())?;
    }
    let c = &doc.connections;
    writeln!(
        out,
        "\nConnections      {} opened, {} requests on a reused one, {} reconnects",
        c.opened, c.reused, c.reconnects
    )?;
    addresses(out, doc)?;
    if let Some(words) = words::spoken_http(doc) {
        writeln!(out, "HTTP             {words}")?;
    }
    if let Some(words) = words::spoken_tls(doc) {
        writeln!(out, "TLS              {words}")?;
    }
    let b = &doc.bytes;
    writeln!(
        out,
        "Bytes            {} sent, {} received ({} in bodies)",
        bytes(b.sent),
        bytes(b.received),
        bytes(b.body)
    )?;
    let rss = doc.generator.max_rss_mb.map_or("memory unknown".to_owned(), |mb| format!("{mb:.0} MB of memory"));
    writeln!(
        out,
        "Generator        {} threads, {:.2} s of processor time, {rss}",
        doc.generator.threads, doc.generator.cpu_s
    )?;
    for condition in conditions {
        let state = if condition.is_broken_by(doc) { "FAILED" } else { "held" };
        writeln!(out, "Fail if          {condition}: {state}")?;
    }
    verdict(out, doc)
}

/// Addresses shown with their connections; the document has more.
const ADDRESSES_SHOWN: usize = 5;

/// Where the connections went, when that was a choice.
fn addresses(out: &mut String, doc: &ResultDoc) -> std::fmt::Result {
    if doc.addresses.len() < 2 {
        return Ok(());
    }
    let mut shown: Vec<String> = doc.addresses.iter().map(|a| format!("{} × {}", a.address, a.connections)).collect();
    let more = shown.len().saturating_sub(ADDRESSES_SHOWN);
    shown.truncate(ADDRESSES_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    writeln!(out, "Addresses        {}{more}", shown.join(", "))
}

fn head(out: &mut String, doc: &ResultDoc) -> std::fmt::Result {
    for request in &doc.plan.requests {
        writeln!(out, "{} {}", request.method, request.url)?;
    }
    if doc.plan.insecure {
        writeln!(out, "Certificates were not checked (--insecure).")?;
    }
    let end = match doc.end_reason {
        Some(EndReason::Completed) => "completed",
        Some(EndReason::Stopped) => "stopped",
        Some(EndReason::ErrorThreshold) => "ended by the error threshold",
        Some(EndReason::Limit) => "ended by a limit",
        Some(EndReason::RateMissed) => "ended because the rate was missed",
        Some(EndReason::Interrupted) | None => "interrupted",
    };
    writeln!(out, "\n{} in {:.3} s; load: {}", end, doc.duration_s, doc.plan.load.label().to_lowercase())?;
    let rate = doc.requests_per_second.map_or("–".to_owned(), |r| format!("{r:.1}"));
    writeln!(out, "Requests/s       {rate}")?;
    writeln!(out, "Errors           {:.2} %", doc.error_rate * 100.0)?;
    writeln!(out, "Clients at most  {}", doc.peak_clients)
}

fn ledger(out: &mut String, doc: &ResultDoc) -> std::fmt::Result {
    let l = &doc.ledger;
    writeln!(out, "\nPlanned {} = sent {} + dropped {}", l.planned, l.sent, l.dropped)?;
    let parts = [
        ("ok", l.ok),
        ("4xx", l.status_4xx),
        ("5xx", l.status_5xx),
        ("other status", l.status_other),
        ("timeout", l.timeout),
        ("network", l.network),
        ("invalid", l.invalid),
        ("local", l.local),
        ("aborted", l.aborted),
    ];
    let shown: Vec<String> =
        parts.iter().filter(|(n, c)| *c > 0 || *n == "ok").map(|(n, c)| format!("{n} {c}")).collect();
    writeln!(out, "Sent {} = {}", l.sent, shown.join(" + "))
}

fn times(out: &mut String, doc: &ResultDoc) -> std::fmt::Result {
    let open = doc.plan.load.is_open();
    let from = if open { "from the planned instant" } else { "from the write" };
    writeln!(out, "\nResponse time    {:>12} {:>12}", "latency", "service")?;
    let (latency, service) = (&doc.latency_ms, &doc.service_ms);
    let mut line = |name: &str, pick: fn(&Percentiles) -> Option<f64>| {
        writeln!(out, "  {name:<14} {:>12} {:>12}", ms(pick(latency)), ms(pick(service)))
    };
    line("min", |p| p.min)?;
    line("mean", |p| p.mean)?;
    line("deviation", |p| p.stddev)?;
    line("p50", |p| p.p50)?;
    line("p75", |p| p.p75)?;
    line("p90", |p| p.p90)?;
    line("p95", |p| p.p95)?;
    line("p99", |p| p.p99)?;
    line("p99.9", |p| p.p99_9)?;
    line("max", |p| p.max)?;
    writeln!(
        out,
        "Latency of {} answered requests runs {from}; service is first byte written to last byte read.",
        latency.count
    )?;
    if open && let Some(p99) = doc.lateness_ms.p99 {
        writeln!(
            out,
            "Requests left {} late at the median, {} at the 99th percentile.",
            ms(doc.lateness_ms.p50),
            ms(Some(p99))
        )?;
    }
    Ok(())
}

fn verdict(out: &mut String, doc: &ResultDoc) -> std::fmt::Result {
    let who = match doc.verdict.limited_by {
        LimitedBy::None => "nothing limited this run",
        LimitedBy::Target => "the target limited this run",
        LimitedBy::Generator => "the generator limited this run",
        LimitedBy::Plan => "the plan limited this run",
    };
    writeln!(out, "\nVerdict          {who}")?;
    for reason in &doc.verdict.reasons {
        writeln!(out, "                 {reason}")?;
    }
    Ok(())
}

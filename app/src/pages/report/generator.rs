//! Traffic on the wire, and how the machine that made the load fared.

use leptos::prelude::*;
use oleada_engine::result::{AddressDoc, ResultDoc};

use crate::format;
use crate::ui::table::facts;
use crate::ui::words;

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

/// Bytes, connections, protocols.
pub(super) fn traffic(result: &ResultDoc) -> AnyView {
    let (b, c, r) = (&result.bytes, &result.connections, &result.redirects);
    let text = |t: String| t.into_any();
    let per_second = |n: u64| {
        if result.duration_s > 0.0 {
            format!(", {} a second", format::bytes((n as f64 / result.duration_s) as u64))
        } else {
            String::new()
        }
    };
    let mut rows = vec![
        ("Received", text(format!("{}{}", format::bytes(b.received), per_second(b.received)))),
        ("Sent", text(format!("{}{}", format::bytes(b.sent), per_second(b.sent)))),
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
    view! { <section aria-labelledby="traffic-title"><h2 id="traffic-title">"Traffic"</h2>{facts(rows)}</section> }
        .into_any()
}

/// The machine that made the load: whether it kept up.
pub(super) fn health(result: &ResultDoc) -> AnyView {
    let g = &result.generator;
    let text = |t: String| t.into_any();
    let capacity = f64::from(g.threads) * result.duration_s;
    let busy = if capacity > 0.0 {
        format!(
            ", {} of what {} could have had",
            format::percent(Some((g.cpu_s / capacity).min(1.0))),
            format::plural(u64::from(g.threads), "thread", "threads")
        )
    } else {
        String::new()
    };
    let mut rows = vec![
        ("Threads", text(format::count(u64::from(g.threads)))),
        ("Processor time", text(format!("{} s{busy}", format::number(g.cpu_s)))),
        (
            "Memory",
            text(g.max_rss_mb.map_or_else(
                || "unknown on this system".to_owned(),
                |mb| format!("at most {} MB, of the whole program", format::number(mb)),
            )),
        ),
    ];
    if result.plan.load.is_open() {
        let l = &result.lateness_ms;
        rows.push((
            "Lateness",
            text(format!(
                "requests left {} after their planned instant at the median, {} at the 99th percentile, {} at most",
                format::ms(l.p50),
                format::ms(l.p99),
                format::ms(l.max)
            )),
        ));
    }
    rows.push((
        "Held up",
        text(if g.stalled_s > 0.0 {
            format!(
                "for {} in all the machine kept threads from running although they were due",
                format::duration_s(g.stalled_s)
            )
        } else {
            "never: the threads ran whenever they were due".to_owned()
        }),
    ));
    if g.sent_by_thread.len() > 1 {
        let each: Vec<String> = g.sent_by_thread.iter().map(|n| format::count(*n)).collect();
        rows.push(("Requests by thread", text(each.join(", "))));
    }
    rows.push(("Made by", text(result.tool.clone())));
    view! {
        <section aria-labelledby="generator-title">
            <h2 id="generator-title">"The generator"</h2>
            <p class="muted">"The machine that made the load. Where it was the limit, the verdict above says so."</p>
            {facts(rows)}
        </section>
    }
    .into_any()
}

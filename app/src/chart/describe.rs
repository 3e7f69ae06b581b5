//! What a chart says, in a sentence, for those who cannot see it.

use super::Series;
use super::overview::Facts;
use crate::format;

/// Response time and clients; each point stands for `joined` seconds.
pub fn response_times(facts: &Facts, joined: u32) -> String {
    if facts.first_p50.is_none() {
        return "No request was answered.".to_owned();
    }
    let mut text = format!(
        "Over {}, the median response time went from {} to {}",
        format::duration_s(f64::from(facts.end)),
        format::ms(facts.first_p50),
        format::ms(facts.last_p50)
    );
    if let Some((t, value)) = facts.worst_p99 {
        text.push_str(&format!(
            "; the highest 99th percentile was {} at {}",
            format::ms(Some(value)),
            format::clock(t)
        ));
    }
    text.push_str(&match facts.most_clients.round() {
        1.0 => "; at most 1 client was open. ".to_owned(),
        most => format!("; at most {} clients were open. ", format::number(most)),
    });
    let unit = |n: u64| {
        if joined == 1 {
            format::plural(n, "second", "seconds")
        } else {
            format!("{} of the points (each {joined} seconds)", format::count(n))
        }
    };
    text.push_str(&if facts.failing == 0 {
        "No errors".to_owned()
    } else {
        format!("Errors in {}", unit(facts.failing))
    });
    if facts.silent > 0 {
        text.push_str(&format!("; no answers in {}", unit(facts.silent)));
    }
    text.push('.');
    text
}

/// Requests per second.
pub fn throughput(facts: &Facts, joined: u32) -> String {
    let most = facts.most_ok as f64 / f64::from(joined.max(1));
    format!(
        "At most {} requests were answered ok in one second; {} in all.",
        format::number(most),
        format::plural(facts.errors, "error", "errors")
    )
}

/// Bytes on the wire.
pub fn bandwidth(facts: &Facts) -> String {
    let sent =
        if facts.most_sent > 0 { format!(" and {} sent", format::bytes(facts.most_sent)) } else { String::new() };
    format!("At most {} were received{sent} in one second, heads included.", format::bytes(facts.most_received))
}

/// Several runs over each other.
pub fn overlay(title: &str, unit: &str, series: &[Series]) -> String {
    let parts: Vec<String> = series
        .iter()
        .map(|s| {
            let top = s.samples.iter().map(|(_, y)| *y).fold(f64::NEG_INFINITY, f64::max);
            let value =
                if top.is_finite() { format!("at most {} {unit}", format::number(top)) } else { "no data".to_owned() };
            format!("{}: {}", s.label, value.trim_end())
        })
        .collect();
    format!("{title}. {}.", parts.join("; "))
}

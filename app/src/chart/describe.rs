//! What a chart says, in a sentence, for those who cannot see it.

use oleada_engine::result::Point;

use super::Series;
use crate::format;

/// Response time and clients.
pub fn response_times(points: &[Point], step: u32) -> String {
    let answered: Vec<&Point> = points.iter().filter(|p| p.p50.is_some()).collect();
    let (Some(first), Some(last)) = (answered.first(), answered.last()) else {
        return "No request was answered.".to_owned();
    };
    let worst = answered.iter().filter_map(|p| p.p99.map(|v| (p.t, v))).max_by(|a, b| a.1.total_cmp(&b.1));
    let most = points.iter().map(|p| p.clients).fold(0.0, f64::max);
    let failing = points.iter().filter(|p| p.errors > 0).count() as u64;
    let silent = points.iter().filter(|p| p.p50.is_none()).count() as u64;
    let span = points.last().map_or(0, |p| p.t + step);
    let mut text = format!(
        "Over {}, the median response time went from {} to {}",
        format::duration_s(f64::from(span)),
        format::ms(first.p50),
        format::ms(last.p50)
    );
    if let Some((t, value)) = worst {
        text.push_str(&format!(
            "; the highest 99th percentile was {} at {}",
            format::ms(Some(value)),
            format::clock(t)
        ));
    }
    text.push_str(&match most.round() {
        1.0 => "; at most 1 client was open. ".to_owned(),
        most => format!("; at most {} clients were open. ", format::number(most)),
    });
    let unit = |n: u64| {
        if step == 1 {
            format::plural(n, "second", "seconds")
        } else {
            format!("{} of the points (each {step} seconds)", format::count(n))
        }
    };
    text.push_str(&if failing == 0 { "No errors".to_owned() } else { format!("Errors in {}", unit(failing)) });
    if silent > 0 {
        text.push_str(&format!("; no answers in {}", unit(silent)));
    }
    text.push('.');
    text
}

/// Requests per second.
pub fn throughput(points: &[Point], step: u32) -> String {
    let per = f64::from(step.max(1));
    let most = points.iter().map(|p| p.ok).max().unwrap_or(0) as f64 / per;
    let errors: u64 = points.iter().map(|p| p.errors).sum();
    format!(
        "At most {} requests per second were answered ok; {} in all.",
        format::number(most),
        format::plural(errors, "error", "errors")
    )
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

//! A result in a few words: for previews of links, pictures and small frames.

use oleada_engine::result::ResultDoc;
use oleada_engine::verdict::LimitedBy;

use crate::format;

/// The headline figures, with their labels.
pub fn figures(result: &ResultDoc) -> [(&'static str, String); 5] {
    let share = (result.ledger.finished() > 0).then_some(result.error_rate);
    [
        ("Requests/s", format::maybe(result.requests_per_second)),
        ("p50", format::ms(result.latency_ms.p50)),
        ("p95", format::ms(result.latency_ms.p95)),
        ("p99", format::ms(result.latency_ms.p99)),
        ("Errors", format::percent(share)),
    ]
}

/// What limited the run.
pub fn limit(result: &ResultDoc) -> &'static str {
    match result.verdict.limited_by {
        LimitedBy::None => "limited by nothing but the plan’s end",
        LimitedBy::Target => "limited by the target",
        LimitedBy::Generator => "limited by the machine that made the load",
        LimitedBy::Plan => "limited by the plan",
    }
}

/// `p95 120 ms, 998 requests/s, 0.1 % errors, limited by the target`.
pub fn sentence(result: &ResultDoc) -> String {
    let [rate, _, p95, _, errors] = figures(result);
    if result.ledger.answered() == 0 {
        return format!("Nothing was answered, {} errors, {}", errors.1, limit(result));
    }
    format!("p95 {}, {} requests/s, {} errors, {}", p95.1, rate.1, errors.1, limit(result))
}

//! A result in a few words: for previews of links, pictures and small frames.

use oleada_engine::result::ResultDoc;
use oleada_engine::verdict::LimitedBy;

use super::RunPage;
use crate::chart::Chart;
use crate::chart::overview::{Facts, Overview};
use crate::chart::report::{self, Timing};
use crate::format;

/// The response times of a run, under way or over.
pub fn chart(id: &str, page: &RunPage) -> Chart {
    let over = |result: &ResultDoc, Overview { points, stretch, facts, .. }: &Overview| {
        report::response_times(id, points, Timing::over(*stretch, result.duration_s), facts)
    };
    match (&page.result, &page.details.overview) {
        (Some(result), Some(overview)) => over(result, overview),
        (Some(result), None) => over(result, &Overview::of(&page.points)),
        (None, _) => {
            let facts = Facts::of(&page.points, 1);
            report::response_times(id, &page.points, Timing::live(1, page.plan.duration_s), &facts)
        }
    }
}

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

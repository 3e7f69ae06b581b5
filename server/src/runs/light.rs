//! What lists show of a run, kept beside its result so that a page of runs reads no result documents.

use oleada_engine::plan::limits;
use oleada_engine::result::{Point, ResultDoc};
use oleada_engine::verdict::LimitedBy;
use uuid::Uuid;

use super::plan_of_text;
use crate::error::Result;
use crate::state::AppState;
use crate::store::RunId;
use crate::store::runs::{Light, Unsummed, joined_hosts};

/// Runs of older versions that are looked after at once.
const BATCH: i64 = 50;

/// What lists show of a run with this result and these seconds.
pub fn of(result: &ResultDoc, points: &[Point]) -> Light {
    Light {
        requests_per_second: result.requests_per_second,
        p50: result.latency_ms.p50,
        p95: result.latency_ms.p95,
        p99: result.latency_ms.p99,
        error_rate: Some(result.error_rate),
        duration_s: Some(result.duration_s),
        passed: (!result.limits.is_empty()).then(|| result.limits.iter().all(|limit| limit.held)),
        limited_by: Some(name_of(result.verdict.limited_by).to_owned()),
        spark: Some(spark(points)),
    }
}

/// The stable name, as in the result document.
fn name_of(limited_by: LimitedBy) -> &'static str {
    match limited_by {
        LimitedBy::None => "none",
        LimitedBy::Target => "target",
        LimitedBy::Generator => "generator",
        LimitedBy::Plan => "plan",
    }
}

/// What limited a run, from its stable name.
pub fn limited_by(light: &Light) -> Option<LimitedBy> {
    let all = [LimitedBy::None, LimitedBy::Target, LimitedBy::Generator, LimitedBy::Plan];
    all.into_iter().find(|by| light.limited_by.as_deref() == Some(name_of(*by)))
}

/// The highest p95 of each of at most [`limits::SPARK_VALUES`] stretches of equal length, commas between; nothing stands for a
/// stretch without answers.
fn spark(points: &[Point]) -> String {
    let seconds = points.last().map_or(0, |p| p.t as usize + 1);
    let stretches = seconds.min(limits::SPARK_VALUES);
    let mut highest: Vec<Option<f64>> = vec![None; stretches];
    for point in points {
        let stretch = point.t as usize * stretches / seconds.max(1);
        if let (Some(value), Some(slot)) = (point.p95, highest.get_mut(stretch)) {
            *slot = Some(slot.map_or(value, |most| most.max(value)));
        }
    }
    let words: Vec<String> = highest.into_iter().map(|v| v.map_or_else(String::new, |v| format!("{v}"))).collect();
    words.join(",")
}

/// The values of a stored `spark`.
pub fn spark_values(light: &Light) -> Vec<Option<f64>> {
    let values = light.spark.iter().filter(|text| !text.is_empty()).flat_map(|text| text.split(','));
    values.take(limits::SPARK_VALUES).map(|word| word.parse().ok().filter(|v: &f64| v.is_finite())).collect()
}

/// Writes what lists show and search of runs that older versions left without it, a few at a time, until there is none or the
/// server ends.
pub async fn take_over(state: AppState) {
    let mut after = RunId(Uuid::nil());
    let mut runs = 0;
    while !state.shutdown.has_begun() {
        match batch(&state, after).await {
            Ok((Some(last), count)) => (after, runs) = (last, runs + count),
            Ok((None, _)) => break,
            Err(error) => {
                tracing::warn!(%error, "runs of an older version could not be looked after; the next start tries again");
                break;
            }
        }
    }
    if runs > 0 {
        tracing::info!(runs, "runs of an older version can be listed and searched");
    }
}

async fn batch(state: &AppState, after: RunId) -> Result<(Option<RunId>, usize)> {
    let runs = state.db.unsummed_runs(after, BATCH).await?;
    for run in &runs {
        look_after(state, run).await?;
    }
    Ok((runs.last().map(|run| run.id), runs.len()))
}

async fn look_after(state: &AppState, run: &Unsummed) -> Result<()> {
    // A plan of a version that is gone names no hosts that could be told.
    let hosts = plan_of_text(state, &run.spec).map(|plan| hosts_of(&plan)).unwrap_or_default();
    state.db.set_run_hosts(run.id, &run.name, &hosts).await?;
    if let Some(result) = run.result.as_deref().and_then(|json| serde_json::from_str(json).ok()) {
        let points = state.db.points(run.id, -1).await?;
        state.db.set_run_light(run.id, &of(&result, &points)).await?;
    }
    Ok(())
}

/// The hosts that a plan names, as they are stored.
pub fn hosts_of(plan: &oleada_engine::plan::Plan) -> String {
    joined_hosts(&plan.hosts().iter().map(ToString::to_string).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(t: u32, p95: Option<f64>) -> Point {
        Point { t, p95, ..Point::default() }
    }

    fn values(points: &[Point]) -> Vec<Option<f64>> {
        spark_values(&Light { spark: Some(spark(points)), ..Light::default() })
    }

    #[test]
    fn the_small_drawing_keeps_every_high_and_every_gap() {
        assert_eq!(values(&[]), []);
        assert_eq!(values(&[point(0, Some(1.25))]), [Some(1.25)]);
        assert_eq!(values(&[point(0, Some(1.0)), point(2, Some(3.0))]), [Some(1.0), None, Some(3.0)]);
        let long: Vec<Point> = (0..1000).map(|t| point(t, (t != 7).then_some(f64::from(t % 100)))).collect();
        let drawn = values(&long);
        assert_eq!((drawn.len(), drawn.iter().flatten().fold(0.0, |a, b| f64::max(a, *b))), (40, 99.0));
        let silent: Vec<Point> = (0..1000).map(|t| point(t, (t >= 500).then_some(5.0))).collect();
        assert_eq!(values(&silent).iter().filter(|v| v.is_none()).count(), 20);
    }
}

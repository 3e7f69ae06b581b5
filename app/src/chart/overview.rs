//! The seconds that the charts of a finished run draw: all of a short run; of a long one those that stick out.
//!
//! Every point is a second as it was. Of each stretch of a long run the seconds stay in which any figure is at its lowest or
//! highest, so a spike of one second is seen in a run of a day. What has to be known of all seconds is in [`Facts`] and in the table.

use oleada_engine::result::Point;
use serde::{Deserialize, Serialize};

use super::table;
use super::timeline::Timeline;

/// Runs up to this many seconds are drawn whole.
pub const WHOLE: usize = 1800;
/// Stretches into which a longer run is cut.
pub const STRETCHES: usize = 360;

/// What charts, their table and their words need of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// Seconds in order.
    pub points: Vec<Point>,
    /// The length of a stretch in seconds; 1 where every second is there.
    pub stretch: u32,
    /// The table's rows.
    pub table: Timeline,
    /// What is true of all seconds.
    pub facts: Facts,
}

/// What is true of all seconds of a run, those included that are not drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// How many seconds.
    pub seconds: u64,
    /// The end of the last one, in seconds from the start.
    pub end: u32,
    /// Median latency in ms of the first second with an answer.
    pub first_p50: Option<f64>,
    /// The same of the last such second.
    pub last_p50: Option<f64>,
    /// Second and value of the highest 99th percentile.
    pub worst_p99: Option<(u32, f64)>,
    /// Most clients on average in one second.
    pub most_clients: f64,
    /// How long clients were open, in seconds summed over clients.
    pub client_seconds: f64,
    /// Most requests that ended ok in one second.
    pub most_ok: u64,
    /// Errors in all.
    pub errors: u64,
    /// Seconds with an error.
    pub failing: u64,
    /// Seconds without an answer.
    pub silent: u64,
    /// Most bytes read in one second.
    pub most_received: u64,
    /// Most bytes written in one second.
    pub most_sent: u64,
}

impl Facts {
    /// Of these seconds, each of which stands for `joined`.
    pub fn of(points: &[Point], joined: u32) -> Facts {
        let mut facts = Facts::default();
        for p in points {
            facts.seconds += 1;
            facts.end = facts.end.max(p.t + joined);
            facts.first_p50 = facts.first_p50.or(p.p50);
            facts.last_p50 = p.p50.or(facts.last_p50);
            if let Some(p99) = p.p99.filter(|p99| facts.worst_p99.is_none_or(|(_, worst)| *p99 > worst)) {
                facts.worst_p99 = Some((p.t, p99));
            }
            facts.most_clients = facts.most_clients.max(p.clients);
            facts.client_seconds += p.clients * f64::from(joined);
            facts.most_ok = facts.most_ok.max(p.ok);
            facts.errors += p.errors;
            facts.failing += u64::from(p.errors > 0);
            facts.silent += u64::from(p.p50.is_none());
            facts.most_received = facts.most_received.max(p.bytes_received);
            facts.most_sent = facts.most_sent.max(p.bytes_sent);
        }
        facts
    }
}

impl Overview {
    /// Of all seconds of a run, in order.
    pub fn of(points: &[Point]) -> Overview {
        let span = points.last().map_or(0, |p| p.t as usize + 1);
        let stretch = if points.len() > WHOLE { span.div_ceil(STRETCHES).max(1) as u32 } else { 1 };
        Overview {
            points: if stretch == 1 { points.to_vec() } else { prominent(points, stretch) },
            stretch,
            table: Timeline::of(points, table::ROWS),
            facts: Facts::of(points, 1),
        }
    }
}

/// What makes a second stay when it is the highest of its stretch.
const HIGHEST: &[fn(&Point) -> f64] = &[
    |p| p.p50.unwrap_or(-1.0),
    |p| p.p95.unwrap_or(-1.0),
    |p| p.p99.unwrap_or(-1.0),
    |p| p.max.unwrap_or(-1.0),
    |p| p.clients,
    |p| p.ok as f64,
    |p| p.sent as f64,
    |p| p.errors as f64,
    |p| p.status_4xx as f64,
    |p| p.status_5xx as f64,
    |p| p.status_other as f64,
    |p| p.timeout as f64,
    |p| p.network as f64,
    |p| p.invalid as f64,
    |p| p.local as f64,
    |p| p.aborted as f64,
    |p| p.bytes_received as f64,
    |p| p.bytes_sent as f64,
];

/// The same for the lowest.
const LOWEST: &[fn(&Point) -> f64] = &[
    |p| p.p50.unwrap_or(f64::INFINITY),
    |p| p.p99.unwrap_or(f64::INFINITY),
    |p| p.clients,
    |p| p.ok as f64,
    |p| p.bytes_received as f64,
];

fn prominent(points: &[Point], stretch: u32) -> Vec<Point> {
    let last = points.len().saturating_sub(1);
    let mut kept = Vec::new();
    let mut start = 0;
    for part in points.chunk_by(|a, b| a.t / stretch == b.t / stretch) {
        // The first of equals, so that figures that do not change keep one second, not many.
        let first = |pick: &fn(&Point) -> f64, better: fn(f64, f64) -> bool| {
            let mut best = 0;
            for (n, point) in part.iter().enumerate() {
                if better(pick(point), pick(&part[best])) {
                    best = n;
                }
            }
            start + best
        };
        let mut stay: Vec<usize> = HIGHEST.iter().map(|pick| first(pick, |a, b| a > b)).collect();
        stay.extend(LOWEST.iter().map(|pick| first(pick, |a, b| a < b)));
        // Both ends of the run are drawn where they are.
        stay.extend([0, last].into_iter().filter(|n| (start..start + part.len()).contains(n)));
        stay.sort_unstable();
        stay.dedup();
        kept.extend(stay.into_iter().filter_map(|n| points.get(n).copied()));
        start += part.len();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day() -> Vec<Point> {
        let busy = |t: u32| Point {
            t,
            ok: 100 + u64::from(t % 7),
            clients: 10.0,
            p50: Some(5.0),
            p95: Some(6.0),
            p99: Some(7.0 + f64::from(t % 3)),
            max: Some(20.0),
            ..Point::default()
        };
        (0..86_400).map(busy).collect()
    }

    #[test]
    fn b64_a_spike_of_one_second_survives_in_every_figure() {
        for at in [0, 43_211, 86_399] {
            let mut points = day();
            points[at].p99 = Some(900.0);
            points[at + 1 - usize::from(at == 86_399) * 2].network = 3;
            let overview = Overview::of(&points);
            assert_eq!(overview.points.iter().filter_map(|p| p.p99).fold(0.0, f64::max), 900.0);
            assert!(overview.points.iter().any(|p| p.network == 3));
            assert_eq!(overview.facts.worst_p99, Some((at as u32, 900.0)));
            assert!(overview.points.len() <= STRETCHES * 12, "{}", overview.points.len());
            assert!(overview.points.windows(2).all(|w| w[0].t < w[1].t && w[1].t - w[0].t < 2 * overview.stretch));
            assert_eq!((overview.points[0].t, overview.points.last().unwrap().t), (0, 86_399));
            assert!(overview.points.iter().all(|p| points[p.t as usize] == *p), "a second was made up");
            assert_eq!(
                overview.table.rows().iter().map(|p| p.ok).sum::<u64>(),
                points.iter().map(|p| p.ok).sum::<u64>()
            );
        }
    }

    #[test]
    fn short_runs_are_drawn_whole() {
        let points = &day()[..WHOLE];
        assert_eq!((Overview::of(points).points.len(), Overview::of(points).stretch), (WHOLE, 1));
        assert_eq!(Overview::of(&[]).facts, Facts::default());
    }
}

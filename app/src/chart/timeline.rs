//! A run's seconds in bounded memory: when there are too many, neighbours are joined and every row covers more seconds.
//!
//! Counts add up and clients are averaged; of percentiles the highest is kept, because percentiles cannot be averaged. What
//! shows joined rows says so.

use oleada_engine::result::Point;
use serde::{Deserialize, Serialize};

/// Rows of equal length in time, at most `limit` of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    limit: usize,
    step: u32,
    rows: Vec<Point>,
    /// Seconds joined into each row, to average clients.
    seconds: Vec<u32>,
    /// The latest second pushed.
    last: Option<u32>,
}

impl Timeline {
    /// Empty, for at most `limit` rows (at least two).
    pub fn new(limit: usize) -> Timeline {
        Timeline { limit: limit.max(2), step: 1, rows: Vec::new(), seconds: Vec::new(), last: None }
    }

    /// The timeline of these seconds.
    pub fn of(points: &[Point], limit: usize) -> Timeline {
        let mut timeline = Timeline::new(limit);
        for point in points {
            timeline.push(*point);
        }
        timeline
    }

    /// Seconds in a row.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// The rows, in order; `t` is the first second each covers.
    pub fn rows(&self) -> &[Point] {
        &self.rows
    }

    /// The latest second pushed; `None` before the first.
    pub fn last_t(&self) -> Option<u32> {
        self.last
    }

    /// Adds the next second. One that was there already (a repeat after reconnecting) is left out.
    pub fn push(&mut self, point: Point) {
        if self.last.is_some_and(|last| point.t <= last) {
            return;
        }
        self.last = Some(point.t);
        let start = point.t - point.t % self.step;
        match self.rows.last() {
            Some(last) if last.t == start => self.join_last(&point),
            _ => {
                self.rows.push(Point { t: start, ..point });
                self.seconds.push(1);
            }
        }
        if self.rows.len() > self.limit {
            self.halve();
        }
    }

    fn join_last(&mut self, point: &Point) {
        if let (Some(row), Some(seconds)) = (self.rows.last_mut(), self.seconds.last_mut()) {
            join(row, *seconds, point, 1);
            *seconds += 1;
        }
    }

    fn halve(&mut self) {
        self.step *= 2;
        let (rows, seconds) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.seconds));
        for (mut row, n) in rows.into_iter().zip(seconds) {
            row.t -= row.t % self.step;
            match (self.rows.last_mut(), self.seconds.last_mut()) {
                (Some(last), Some(m)) if last.t == row.t => {
                    join(last, *m, &row, n);
                    *m += n;
                }
                _ => {
                    self.rows.push(row);
                    self.seconds.push(n);
                }
            }
        }
    }
}

fn join(row: &mut Point, n: u32, other: &Point, m: u32) {
    row.planned += other.planned;
    row.sent += other.sent;
    row.ok += other.ok;
    row.errors += other.errors;
    row.bytes_received += other.bytes_received;
    row.bytes_sent += other.bytes_sent;
    row.status_4xx += other.status_4xx;
    row.status_5xx += other.status_5xx;
    row.status_other += other.status_other;
    row.timeout += other.timeout;
    row.network += other.network;
    row.invalid += other.invalid;
    row.local += other.local;
    row.aborted += other.aborted;
    row.clients = (row.clients * f64::from(n) + other.clients * f64::from(m)) / f64::from(n + m);
    for (mine, theirs) in
        [(&mut row.p50, other.p50), (&mut row.p95, other.p95), (&mut row.p99, other.p99), (&mut row.max, other.max)]
    {
        *mine = match (*mine, theirs) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let points: Vec<Point> = (0..10_000)
            .map(|t| Point {
                t,
                sent: 3,
                errors: 1,
                timeout: 1,
                clients: 2.0,
                p99: Some(f64::from(t % 777)),
                ..Point::default()
            })
            .collect();
        let timeline = Timeline::of(&points, 120);
        assert!(timeline.rows().len() <= 120, "{}", timeline.rows().len());
        assert_eq!(timeline.rows().iter().map(|p| p.sent).sum::<u64>(), 30_000);
        assert!(timeline.rows().iter().all(|p| p.errors_of_no_class() == 0), "classes are joined, too");
        assert_eq!(timeline.rows().iter().filter_map(|p| p.p99).fold(0.0, f64::max), 776.0);
        assert!(timeline.rows().iter().all(|p| (p.clients - 2.0).abs() < 1e-9));
        assert_eq!((timeline.step(), timeline.rows()[1].t), (128, 128));
    }

    #[test]
    fn a_repeated_second_counts_once() {
        let mut timeline = Timeline::new(10);
        for t in [0, 1, 1, 0, 2] {
            timeline.push(Point { t, sent: 1, ..Point::default() });
        }
        assert_eq!(timeline.rows().iter().map(|p| p.t).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(timeline.last_t(), Some(2));
    }
}

//! When clients arrive, in closed form: nothing here reads a clock.

use std::sync::Arc;
use std::time::Duration;

use crate::plan::{Load, Plan, Stage};

/// The planned instants of an open model, as offsets from the start; strictly increasing.
///
/// N(t) clients have arrived before t, so client n (from 0) arrives where N(t) = n. At a constant rate r, N(t) = r·t, and
/// ⌈r·d⌉ clients arrive in [0, d); a test of N clients over d has r = N / d. Where the rate goes from a to b over T,
/// N(t) = a·t + k·t²/2 with k = (b − a)/T, so that client n arrives at t = 2n / (a + √(a² + 2·k·n)), the form of the
/// quadratic's solution that loses no digits. Stages follow one another: each counts from where the one before ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    count: u64,
    pieces: Arc<[Piece]>,
}

/// A time in which the rate is constant or changes linearly. Times in ns, rates per ns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    start: f64,
    length: f64,
    /// Clients before its start; a fraction where the one before ended between two.
    before: f64,
    clients: f64,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// The time between two arrivals.
    Even {
        gap: f64,
    },
    Ramp {
        from: f64,
        to: f64,
    },
}

impl Piece {
    /// When `n` clients of this piece have arrived, as time in it.
    fn time_of(&self, n: f64) -> f64 {
        match self.shape {
            Shape::Even { gap } => n * gap,
            Shape::Ramp { .. } if n <= 0.0 => 0.0,
            Shape::Ramp { from, to } => {
                let slope = (to - from) / self.length;
                // Rounding may take the root of a ramp to zero just below it at the very end.
                2.0 * n / (from + (from * from + 2.0 * slope * n).max(0.0).sqrt())
            }
        }
    }

    /// How many clients of this piece arrive in its first `time`.
    fn clients_by(&self, time: f64) -> f64 {
        match self.shape {
            Shape::Even { gap } => time / gap,
            Shape::Ramp { from, to } => time * (from + (to - from) / self.length * time / 2.0),
        }
    }
}

impl Arrivals {
    /// The arrivals of a plan; `None` for closed models.
    pub fn of(plan: &Plan) -> Option<Arrivals> {
        let duration = plan.duration()?;
        match plan.load() {
            Load::PerTest { clients } => Some(Arrivals::spread(clients, duration)),
            Load::PerSecond { rate } if plan.stages().is_empty() => Some(Arrivals::at_rate(rate, duration)),
            Load::PerSecond { rate } => Some(Arrivals::staged(rate, plan.stages())),
            Load::FixedCount { .. } | Load::Maintain { .. } => None,
        }
    }

    /// `clients` spread evenly over `duration`.
    pub fn spread(clients: u64, duration: Duration) -> Arrivals {
        let length = duration.as_nanos() as f64;
        Arrivals::even(clients, length / clients as f64, length)
    }

    /// `rate` clients per second for `duration`; a part of an arrival that fits exactly at the end does not count.
    pub fn at_rate(rate: f64, duration: Duration) -> Arrivals {
        let count = whole(rate * duration.as_secs_f64());
        Arrivals::even(count, 1e9 / rate, duration.as_nanos() as f64)
    }

    fn even(count: u64, gap: f64, length: f64) -> Arrivals {
        let piece = Piece { start: 0.0, length, before: 0.0, clients: length / gap, shape: Shape::Even { gap } };
        Arrivals { count, pieces: Arc::from([piece]) }
    }

    /// From `rate` clients per second through `stages`, each of which goes linearly to its own rate.
    pub fn staged(rate: f64, stages: &[Stage]) -> Arrivals {
        let mut pieces: Vec<Piece> = Vec::new();
        let (mut start, mut before, mut from) = (0.0, 0.0, rate / 1e9);
        for stage in stages {
            let (length, to) = (stage.duration().as_nanos() as f64, stage.to / 1e9);
            let clients = length * (from + to) / 2.0;
            if clients > 0.0 {
                let shape = if from == to { Shape::Even { gap: 1.0 / from } } else { Shape::Ramp { from, to } };
                pieces.push(Piece { start, length, before, clients, shape });
            }
            (start, before, from) = (start + length, before + clients, to);
        }
        Arrivals { count: whole(before), pieces: pieces.into() }
    }

    /// Clients in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Planned instant of client `n`, counted from 0.
    pub fn instant(&self, n: u64) -> Duration {
        let n = n as f64;
        let at = self.pieces.partition_point(|piece| piece.before + piece.clients <= n);
        let Some(piece) = self.pieces.get(at).or(self.pieces.last()) else { return Duration::ZERO };
        let time = piece.time_of(n - piece.before).max(0.0);
        // A single piece of even arrivals goes on past its end, for those who ask what would come next.
        let time = if self.pieces.len() == 1 { time } else { time.min(piece.length) };
        Duration::from_nanos((piece.start + time).round() as u64)
    }

    /// How many clients are planned in [0, `t`).
    pub fn before(&self, t: Duration) -> u64 {
        let ns = t.as_nanos() as f64;
        let at = self.pieces.partition_point(|piece| piece.start <= ns).saturating_sub(1);
        let estimate = self
            .pieces
            .get(at)
            .map_or(0.0, |piece| piece.before + piece.clients_by((ns - piece.start).clamp(0.0, piece.length)));
        let mut n = (estimate.ceil() as u64).min(self.count);
        while n > 0 && self.instant(n - 1) >= t {
            n -= 1;
        }
        while n < self.count && self.instant(n) < t {
            n += 1;
        }
        n
    }

    /// The share of worker `k` of `of`: every `of`-th client, so that bursts and stalls spread over all workers.
    pub fn shard(self, k: u64, of: u64) -> Shard {
        Shard { all: self, next: k, stride: of }
    }
}

/// Arrivals counted from 0 that come before a sum of `clients`.
fn whole(clients: f64) -> u64 {
    // Decimal fractions such as 0.1 are not exact in binary: a millionth of an arrival is no arrival.
    (clients - 1e-6).ceil().max(0.0) as u64
}

/// Every `stride`-th arrival.
#[derive(Clone, Debug)]
pub struct Shard {
    all: Arrivals,
    next: u64,
    stride: u64,
}

impl Shard {
    /// How many of this shard's clients are planned in [0, `t`), independent of what was taken already.
    pub fn before(&self, t: Duration) -> u64 {
        let first = self.next % self.stride;
        self.all.before(t).saturating_sub(first).div_ceil(self.stride)
    }
}

impl Iterator for Shard {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.next >= self.all.count {
            return None;
        }
        let at = self.all.instant(self.next);
        self.next += self.stride;
        Some(at)
    }
}

/// How many clients a maintained load has at each instant.
///
/// In a stage from a to b over d the target is a + (b − a)·t/d, rounded to the nearest client: change j (from 0) of
/// n = |b − a| comes at d·(j + ½)/n, so that the area under the steps equals the area under the line.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    ramps: Vec<Ramp>,
    duration: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Ramp {
    start: Duration,
    from: u32,
    to: u32,
    length: Duration,
}

impl Population {
    /// The clients of a plan; `None` unless it maintains a load.
    pub fn of(plan: &Plan) -> Option<Population> {
        match (plan.load(), plan.duration()) {
            (Load::Maintain { from, to }, Some(duration)) if plan.stages().is_empty() => {
                Some(Population::new(from, to, duration))
            }
            (Load::Maintain { from, .. }, _) => Some(Population::staged(from, plan.stages())),
            _ => None,
        }
    }

    /// From `from` to `to` clients over `duration`.
    pub fn new(from: u32, to: u32, duration: Duration) -> Population {
        Population { ramps: vec![Ramp { start: Duration::ZERO, from, to, length: duration }], duration }
    }

    /// From `from` clients through `stages`, each of which goes linearly to its own number.
    pub fn staged(from: u32, stages: &[Stage]) -> Population {
        let (mut start, mut from) = (Duration::ZERO, from);
        let mut ramps = Vec::new();
        for stage in stages {
            let (length, to) = (stage.duration(), stage.to as u32);
            if !length.is_zero() {
                ramps.push(Ramp { start, from, to, length });
            }
            (start, from) = (start + length, to);
        }
        Population { ramps, duration: start }
    }

    /// Clients alive at `t`; 0 from the end on.
    pub fn at(&self, t: Duration) -> u32 {
        if t >= self.duration {
            return 0;
        }
        let ramp = self.ramps.iter().rev().find(|ramp| ramp.start <= t);
        ramp.map_or(0, |ramp| ramp.at(t - ramp.start))
    }

    /// The times from when until when client `k` (from 0) begins requests, in order. It is a new client each time.
    pub fn spans(&self, k: u32) -> Vec<(Duration, Duration)> {
        let mut spans = Vec::new();
        let mut since = None;
        for ramp in &self.ramps {
            match (since, k < ramp.from) {
                (None, true) => since = Some(ramp.start),
                (Some(began), false) => {
                    spans.push((began, ramp.start));
                    since = None;
                }
                _ => {}
            }
            if ramp.from <= k && k < ramp.to {
                since = Some(ramp.start + ramp.change(u64::from(k - ramp.from)));
            } else if ramp.to <= k && k < ramp.from {
                let leaves = ramp.start + ramp.change(u64::from(ramp.from - 1 - k));
                spans.extend(since.take().map(|began| (began, leaves)));
            }
        }
        spans.extend(since.map(|began| (began, self.duration)));
        spans
    }

    /// Clients that exist at any time.
    pub fn most(&self) -> u32 {
        self.ramps.iter().map(|ramp| ramp.from.max(ramp.to)).max().unwrap_or(0)
    }
}

impl Ramp {
    fn at(&self, t: Duration) -> u32 {
        let n = u64::from(self.from.abs_diff(self.to));
        let estimate = t.as_nanos() as f64 / self.length.as_nanos() as f64 * n as f64;
        let mut changed = (estimate as u64).min(n);
        while changed > 0 && self.change(changed - 1) > t {
            changed -= 1;
        }
        while changed < n && self.change(changed) <= t {
            changed += 1;
        }
        let changed = changed as u32;
        if self.to >= self.from { self.from + changed } else { self.from - changed }
    }

    fn change(&self, j: u64) -> Duration {
        let n = u64::from(self.from.abs_diff(self.to)).max(1);
        let share = (j as f64 + 0.5) / n as f64;
        Duration::from_nanos((self.length.as_nanos() as f64 * share).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn counts_are_exact_for_whole_and_fractional_rates() {
        for (rate, seconds, count) in [
            (1.0, 3.0, 3),
            (0.2, 30.0, 6),
            (2.5, 2.0, 5),
            (100.0, 2.5, 250),
            (333.0, 3.0, 999),
            (0.1, 1.0, 1),
            (0.3, 10.0, 3),
            (10.0, 0.5, 5),
        ] {
            assert_eq!(
                Arrivals::at_rate(rate, Duration::from_secs_f64(seconds)).count(),
                count,
                "{rate}/s for {seconds} s"
            );
        }
        assert_eq!(Arrivals::spread(7, 10 * S).instant(1).as_millis(), 1428);
    }

    #[test]
    fn b30_the_first_client_arrives_at_once() {
        let all: Vec<_> = Arrivals::at_rate(1.0, 3 * S).shard(0, 1).collect();
        assert_eq!(all, [Duration::ZERO, S, 2 * S]);
    }

    #[test]
    fn population_is_linear_and_rounded() {
        let p = Population::new(20, 0, 10 * S);
        assert_eq!((p.at(Duration::ZERO), p.at(5 * S), p.at(10 * S)), (20, 10, 0));
        let p = Population::new(0, 50, 10 * S);
        let ms = Duration::from_millis;
        assert_eq!(p.spans(0), [(ms(100), 10 * S)]);
        assert_eq!((p.spans(49), p.spans(50)), (vec![(ms(9900), 10 * S)], vec![]));
        let flat = Population::new(5, 5, S);
        assert_eq!((flat.at(Duration::ZERO), flat.spans(4)), (5, vec![(Duration::ZERO, S)]));
    }

    fn stages(list: &[(f64, f64)]) -> Vec<Stage> {
        list.iter().map(|&(duration_s, to)| Stage { duration_s, to }).collect()
    }

    #[test]
    fn a_ramp_follows_the_quadratic() {
        // 0 to 10/s in 10 s: N(t) = t²/2, so client n comes at √(2n); 50 in all.
        let ramp = Arrivals::staged(0.0, &stages(&[(10.0, 10.0)]));
        assert_eq!(ramp.count(), 50);
        for n in [0u64, 1, 2, 8, 32, 49] {
            let expected = (2.0 * n as f64).sqrt();
            assert!((ramp.instant(n).as_secs_f64() - expected).abs() < 1e-8, "{n}");
        }
        assert_eq!(ramp.before(4 * S), 8);
        // The same backwards: the gaps are mirrored.
        let down = Arrivals::staged(10.0, &stages(&[(10.0, 0.0)]));
        assert_eq!((down.count(), down.instant(0), down.before(6 * S)), (50, Duration::ZERO, 42));
    }

    #[test]
    fn stages_follow_one_another() {
        // 2/s for 5 s, a step to 10/s for 2 s, nothing for 3 s, then 1/s for 2 s.
        let plan = stages(&[(5.0, 2.0), (0.0, 10.0), (2.0, 10.0), (0.0, 0.0), (3.0, 0.0), (0.0, 1.0), (2.0, 1.0)]);
        let all = Arrivals::staged(2.0, &plan);
        assert_eq!(all.count(), 32);
        let by = |s: u32| all.before(s * S);
        assert_eq!((by(5), by(6), by(7), by(10), by(11), by(12)), (10, 20, 30, 30, 31, 32));
        assert_eq!((all.instant(30), all.instant(31)), (10 * S, 11 * S));
    }

    #[test]
    fn clients_come_and_go_in_stages() {
        // To 2 in 2 s, hold 1 s, a step to none for 1 s, a step to 1 for 1 s.
        let plan = stages(&[(2.0, 2.0), (1.0, 2.0), (0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]);
        let p = Population::staged(0, &plan);
        let ms = Duration::from_millis;
        assert_eq!(p.spans(0), [(ms(500), ms(3000)), (ms(4000), ms(5000))]);
        assert_eq!(p.spans(1), [(ms(1500), ms(3000))]);
        let at = |t: u64| p.at(ms(t));
        assert_eq!((at(0), at(500), at(1500), at(2999), at(3000), at(4000), at(5000)), (0, 1, 2, 2, 0, 1, 0));
        assert_eq!(p.most(), 2);
    }
}

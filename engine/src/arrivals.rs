//! When clients arrive, in closed form: nothing here reads a clock.

use std::time::Duration;

use crate::plan::{Load, Plan};

/// The planned instants of an open model, as offsets from the start; strictly increasing.
///
/// At a constant rate r, N(t) = r·t clients have arrived before t, so client n (from 0) arrives at n / r, and
/// ⌈r·d⌉ of them arrive in [0, d). A test of N clients over d has r = N / d.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    count: u64,
    /// Nanoseconds between two arrivals; at least 1 000 by the bounds of the rate.
    gap_ns: f64,
}

impl Arrivals {
    /// The arrivals of a plan; `None` for closed models.
    pub fn of(plan: &Plan) -> Option<Arrivals> {
        let duration = plan.duration()?;
        match plan.load() {
            Load::PerTest { clients } => Some(Arrivals::spread(clients, duration)),
            Load::PerSecond { rate } => Some(Arrivals::at_rate(rate, duration)),
            Load::FixedCount { .. } | Load::Maintain { .. } => None,
        }
    }

    /// `clients` spread evenly over `duration`.
    pub fn spread(clients: u64, duration: Duration) -> Arrivals {
        Arrivals { count: clients, gap_ns: duration.as_nanos() as f64 / clients as f64 }
    }

    /// `rate` clients per second for `duration`; a part of an arrival that fits exactly at the end does not count.
    pub fn at_rate(rate: f64, duration: Duration) -> Arrivals {
        // Decimal fractions such as 0.1 are not exact in binary: a millionth of an arrival is no arrival.
        let count = (rate * duration.as_secs_f64() - 1e-6).ceil().max(0.0) as u64;
        Arrivals { count, gap_ns: 1e9 / rate }
    }

    /// Clients in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Planned instant of client `n`, counted from 0.
    pub fn instant(&self, n: u64) -> Duration {
        Duration::from_nanos((n as f64 * self.gap_ns).round() as u64)
    }

    /// How many clients are planned in [0, `t`).
    pub fn before(&self, t: Duration) -> u64 {
        let mut n = ((t.as_nanos() as f64 / self.gap_ns).ceil() as u64).min(self.count);
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
/// The target is from + (to − from)·t/d, rounded to the nearest client: change j (from 0) of n = |to − from| comes at
/// d·(j + ½)/n, so that the area under the steps equals the area under the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    from: u32,
    to: u32,
    duration: Duration,
}

impl Population {
    /// From `from` to `to` clients over `duration`.
    pub fn new(from: u32, to: u32, duration: Duration) -> Population {
        Population { from, to, duration }
    }

    /// Clients alive at `t`; 0 from the end on.
    pub fn at(&self, t: Duration) -> u32 {
        if t >= self.duration {
            return 0;
        }
        let n = u64::from(self.from.abs_diff(self.to));
        let estimate = t.as_nanos() as f64 / self.duration.as_nanos() as f64 * n as f64;
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

    /// When client `k` (from 0) starts; `None` if it never does.
    pub fn starts(&self, k: u32) -> Option<Duration> {
        if k < self.from {
            Some(Duration::ZERO)
        } else if k < self.to {
            Some(self.change(u64::from(k - self.from)))
        } else {
            None
        }
    }

    /// When client `k` starts no further request: at its turn to leave, or at the end.
    pub fn leaves(&self, k: u32) -> Duration {
        if self.to < self.from && k >= self.to { self.change(u64::from(self.from - 1 - k)) } else { self.duration }
    }

    /// Clients that exist at any time.
    pub fn most(&self) -> u32 {
        self.from.max(self.to)
    }

    fn change(&self, j: u64) -> Duration {
        let n = u64::from(self.from.abs_diff(self.to)).max(1);
        let share = (j as f64 + 0.5) / n as f64;
        Duration::from_nanos((self.duration.as_nanos() as f64 * share).round() as u64)
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
        assert_eq!(p.starts(0), Some(Duration::from_millis(100)));
        assert_eq!((p.starts(49), p.starts(50)), (Some(Duration::from_millis(9900)), None));
        let flat = Population::new(5, 5, S);
        assert_eq!((flat.at(Duration::ZERO), flat.starts(4), flat.leaves(4)), (5, Some(Duration::ZERO), S));
    }
}

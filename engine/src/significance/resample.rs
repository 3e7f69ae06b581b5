//! A run's seconds, and the same run redrawn from blocks of them.

use super::{Exact, Figure, RESAMPLES};
use crate::window::Glance;

/// Most units that are drawn from; a longer run's neighbouring seconds are joined.
const UNITS: usize = 256;
/// Times within 0.2 % of each other count as one while redrawing.
const RATIO: f64 = 1.002;
/// Where the sequence of draws begins: any number, the same for every comparison.
const SEED: u64 = 0x6f6c_6561_6461;

/// One second, or some neighbouring ones together.
#[derive(Clone, Debug, Default)]
struct Unit {
    answered: u64,
    finished: u64,
    errors: u64,
    /// (index of the time on a logarithmic scale, count), in order.
    latency: Vec<(u16, u64)>,
}

impl Unit {
    fn add(&mut self, other: &Unit) {
        self.answered += other.answered;
        self.finished += other.finished;
        self.errors += other.errors;
        let mine = std::mem::take(&mut self.latency);
        self.latency = Vec::with_capacity(mine.len() + other.latency.len());
        let (mut mine, mut theirs) = (mine.as_slice(), other.latency.as_slice());
        loop {
            let next = match (mine.first(), theirs.first()) {
                (Some(a), Some(b)) if b.0 < a.0 => &mut theirs,
                (Some(_), _) => &mut mine,
                (None, Some(_)) => &mut theirs,
                (None, None) => break,
            };
            if let Some((&(index, count), rest)) = next.split_first() {
                *next = rest;
                match self.latency.last_mut() {
                    Some(last) if last.0 == index => last.1 += count,
                    _ => self.latency.push((index, count)),
                }
            }
        }
    }
}

impl From<&Glance> for Unit {
    fn from(second: &Glance) -> Unit {
        let mut latency: Vec<(u16, u64)> = Vec::with_capacity(second.latency.len());
        for &(us, count) in &second.latency {
            let index = ((us.max(1) as f64).ln() / RATIO.ln()) as u16;
            match latency.last_mut() {
                Some(last) if last.0 == index => last.1 += count,
                _ => latency.push((index, count)),
            }
        }
        let ledger = &second.ledger;
        Unit { answered: ledger.answered(), finished: ledger.finished(), errors: ledger.errors(), latency }
    }
}

/// The seconds of a run as they are read, in bounded memory.
#[derive(Clone, Debug)]
pub struct Series {
    units: Vec<Unit>,
    /// Seconds in a unit.
    step: u32,
    /// Seconds of the run; what ends later belongs to the last one.
    whole: u32,
    exact: Exact,
}

impl Series {
    /// Of a run with these figures, nothing read yet.
    pub fn new(exact: Exact) -> Series {
        let end = exact.planned_s.map_or(exact.length_s, |planned| planned.min(exact.length_s));
        let whole = if end.is_finite() { end.round().clamp(1.0, f64::from(u32::MAX)) as u32 } else { 1 };
        let step = whole.div_ceil(UNITS as u32);
        Series { units: vec![Unit::default(); whole.div_ceil(step) as usize], step, whole, exact }
    }

    /// Adds a second; several parts of the same second add up.
    pub fn push(&mut self, second: &Glance) {
        let index = (second.t.min(self.whole - 1) / self.step) as usize;
        if let Some(unit) = self.units.get_mut(index) {
            unit.add(&Unit::from(second));
        }
    }

    /// Redraws the run.
    pub fn resample(&self) -> Resampled {
        let sums = Sums::of(self);
        let total = |of: fn(&Unit) -> u64| self.units.iter().map(of).sum::<u64>();
        let mut redrawn: [Vec<f64>; 5] = std::array::from_fn(|_| Vec::with_capacity(RESAMPLES));
        let n = self.units.len();
        let block = block_length(n);
        if n > block {
            let mut draws = Draws::new(n);
            for _ in 0..RESAMPLES {
                for (values, drawn) in redrawn.iter_mut().zip(sums.figures(&draws.next_run(n, block))) {
                    values.extend(drawn);
                }
            }
            // A run that cannot always be redrawn has too few seconds with answers.
            redrawn.iter_mut().filter(|values| values.len() < RESAMPLES).for_each(Vec::clear);
            let widening = widening(n, block);
            for (figure, values) in Figure::ALL.into_iter().zip(&mut redrawn) {
                match self.exact.get(figure) {
                    Some(exact) => place(figure, exact, values, widening),
                    None => values.clear(),
                }
            }
        }
        Resampled {
            exact: self.exact,
            seconds: self.whole as usize,
            answered: total(|u| u.answered),
            errors: total(|u| u.errors),
            redrawn,
        }
    }
}

/// Neighbours drawn together.
fn block_length(units: usize) -> usize {
    (units as f64).cbrt().ceil().max(1.0) as usize
}

/// How far from its place a block may be drawn.
fn reach(block: usize) -> usize {
    2 * block
}

/// By how much deviations are widened, for n units redrawn in blocks of l from m around each. They vary less than fresh ones by
/// √(1 − l/m); and few blocks tell their own variation badly, as in Student's t with ν = 1.5·(n/l)·(1 − l/m) (overlapping blocks
/// tell half as much again as separate ones, Künsch 1989). Its quantile is that of the normal, z, times
/// 1 + (z² + 1)/4ν + (5z⁴ + 16z² + 3)/96ν² (Abramowitz and Stegun, 26.7.5); z is that of four figures.
fn widening(units: usize, block: usize) -> f64 {
    const Z: f64 = 2.498;
    let (n, l) = (units as f64, block as f64);
    let left = 1.0 - l / ((2 * reach(block) + block).min(units) as f64);
    let freedom = 1.5 * n / l * left;
    let student = 1.0
        + (Z.powi(2) + 1.0) / (4.0 * freedom)
        + (5.0 * Z.powi(4) + 16.0 * Z.powi(2) + 3.0) / (96.0 * freedom.powi(2));
    student / left.sqrt()
}

/// Puts redrawn values around the exact one: it is known more finely than they are, and their middle is a little off where
/// the run changes towards its ends.
fn place(figure: Figure, exact: f64, values: &mut [f64], widening: f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(&middle) = sorted.get(sorted.len() / 2) else { return };
    for value in values {
        *value = match figure {
            // On the scale on which they were counted: factors.
            Figure::P50 | Figure::P95 | Figure::P99 => exact * (*value / middle).powf(widening),
            Figure::RequestsPerSecond => (exact + (*value - middle) * widening).max(0.0),
            Figure::ErrorShare => (exact + (*value - middle) * widening).clamp(0.0, 1.0),
        };
    }
}

/// Sums over all units before one, so that a block is a difference.
struct Sums {
    /// Length of a column.
    rows: usize,
    /// Times on the logarithmic scale that occur.
    times: Vec<u16>,
    /// For each of them a column: how many latencies up to it there were in the units before the row.
    upto: Vec<u64>,
    answered: Vec<u64>,
    finished: Vec<u64>,
    errors: Vec<u64>,
    length_s: Vec<f64>,
}

fn running<'a, T: Default + Copy + std::ops::Add<Output = T>>(
    units: impl Iterator<Item = &'a (f64, &'a Unit)>,
    of: impl Fn(&(f64, &'a Unit)) -> T,
) -> Vec<T> {
    let mut sum = T::default();
    let mut sums = vec![sum];
    for unit in units {
        sum = sum + of(unit);
        sums.push(sum);
    }
    sums
}

impl Sums {
    fn of(series: &Series) -> Sums {
        let n = series.units.len();
        let last_from = (n as f64 - 1.0) * f64::from(series.step);
        let length =
            |i: usize| if i + 1 < n { f64::from(series.step) } else { (series.exact.length_s - last_from).max(0.001) };
        let units: Vec<(f64, &Unit)> = series.units.iter().enumerate().map(|(i, unit)| (length(i), unit)).collect();
        let mut times: Vec<u16> = series.units.iter().flat_map(|u| u.latency.iter().map(|(time, _)| *time)).collect();
        times.sort_unstable();
        times.dedup();
        let rows = units.len() + 1;
        let mut upto = vec![0; rows * times.len()];
        let mut sums = vec![0_u64; times.len()];
        for (row, (_, unit)) in units.iter().enumerate() {
            let (mut counts, mut below) = (unit.latency.iter().peekable(), 0);
            for (column, time) in times.iter().enumerate() {
                if let Some((_, count)) = counts.next_if(|(t, _)| t == time) {
                    below += count;
                }
                sums[column] += below;
                upto[column * rows + row + 1] = sums[column];
            }
        }
        Sums {
            rows,
            times,
            upto,
            answered: running(units.iter(), |(_, u)| u.answered),
            finished: running(units.iter(), |(_, u)| u.finished),
            errors: running(units.iter(), |(_, u)| u.errors),
            length_s: running(units.iter(), |(length, _)| *length),
        }
    }

    /// The figures of these stretches put together, in the order of [`Figure::ALL`].
    fn figures(&self, stretches: &[(usize, usize)]) -> [Option<f64>; 5] {
        let sum = |sums: &[u64]| stretches.iter().map(|(from, to)| sums[*to] - sums[*from]).sum::<u64>();
        let length: f64 = stretches.iter().map(|(from, to)| self.length_s[*to] - self.length_s[*from]).sum();
        let finished = sum(&self.finished);
        Figure::ALL.map(|figure| match figure.quantile() {
            Some(quantile) => self.percentile(stretches, quantile),
            None if figure == Figure::ErrorShare => (finished > 0).then(|| sum(&self.errors) as f64 / finished as f64),
            None => Some(sum(&self.answered) as f64 / length),
        })
    }

    /// Nearest rank, on the logarithmic scale.
    fn percentile(&self, stretches: &[(usize, usize)], quantile: f64) -> Option<f64> {
        let upto = |column: usize| {
            let sums = &self.upto[column * self.rows..(column + 1) * self.rows];
            stretches.iter().map(|(from, to)| sums[*to] - sums[*from]).sum::<u64>()
        };
        let count = upto(self.times.len().checked_sub(1)?);
        let rank = ((count as f64 * quantile).ceil() as u64).max(1);
        if count == 0 {
            return None;
        }
        let (mut low, mut high) = (0, self.times.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if upto(middle) >= rank { high = middle } else { low = middle + 1 }
        }
        self.times.get(low).map(|time| (f64::from(*time) * RATIO.ln()).exp())
    }
}

/// Which stretches are drawn: the same for every run of as many units, so that two of them are drawn alike.
struct Draws {
    state: u64,
}

impl Draws {
    fn new(units: usize) -> Draws {
        Draws { state: SEED.wrapping_add(units as u64) }
    }

    /// SplitMix64 (Steele, Lea and Flood 2014, *Fast splittable pseudorandom number generators*).
    fn next_number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, each as likely.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_number()) * end as u128) >> 64) as usize
    }

    /// Stretches of n units together, each in its place taken from around it.
    fn next_run(&mut self, n: usize, block: usize) -> Vec<(usize, usize)> {
        let mut stretches = Vec::with_capacity(n.div_ceil(block));
        for place in (0..n).step_by(block) {
            let length = block.min(n - place);
            // As many to choose from at the ends as in the middle.
            let choices = (2 * reach(block) + 1).min(n - length + 1);
            let first = place.saturating_sub(reach(block)).min(n - length + 1 - choices);
            let from = first + self.below(choices);
            stretches.push((from, from + length));
        }
        stretches
    }
}

/// A run's figures, and what they might as well have been. Some tens of kilobytes.
#[derive(Clone, Debug)]
pub struct Resampled {
    exact: Exact,
    seconds: usize,
    answered: u64,
    errors: u64,
    redrawn: [Vec<f64>; 5],
}

impl Resampled {
    /// The exact figure.
    pub fn exact(&self, figure: Figure) -> Option<f64> {
        self.exact.get(figure)
    }

    /// The figure in each redrawn run; empty where there is nothing to redraw.
    pub(super) fn redrawn(&self, figure: Figure) -> &[f64] {
        &self.redrawn[figure as usize]
    }

    /// Length in whole seconds.
    pub fn seconds(&self) -> usize {
        self.seconds
    }

    /// Answered requests.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Requests that ended and were not ok.
    pub fn errors(&self) -> u64 {
        self.errors
    }
}

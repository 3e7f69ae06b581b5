//! Response times as tools of others read them: ab's files, an HdrHistogram interval log.

use std::fmt::Write as _;

use jiff::Timestamp;
use oleada_engine::histogram::Histogram;
use oleada_engine::interval_log;

use super::{STEP, Source, latencies};
use crate::error::Result;
use crate::state::AppState;

/// Most rows of [`requests`].
pub const ROWS: u64 = 100_000;

/// The columns of `ab -g`.
const COLUMNS: &str = "starttime\tseconds\tctime\tdtime\tttime\twait\n";

/// The table of `ab -e`: the time in ms within which 0 to 100 % were answered. A percentile is the same as in the report: the
/// nearest rank, 0 the smallest and 100 the largest. Nothing answered: no rows.
///
/// # Errors
/// If the database fails.
pub async fn percentiles(state: &AppState, source: &Source) -> Result<Vec<u8>> {
    let mut all = Histogram::default();
    for from in (0..source.end()).step_by(STEP as usize) {
        latencies(state, source.id, from, from + STEP).await?.iter().for_each(|(_, times)| all.add(times));
    }
    Ok(percentile_table(&all).into_bytes())
}

fn percentile_table(all: &Histogram) -> String {
    let mut out = String::from("Percentage served,Time in ms\r\n");
    for percent in 0..=100 {
        let time = if percent == 0 { all.min_us() } else { all.percentile_us(percent * 1000) };
        if let Some(us) = time {
            let _ = write!(out, "{percent},{:.3}\r\n", us as f64 / 1000.0);
        }
    }
    out
}

/// Rows in the columns of `ab -g`, made from the histograms of every second, because single requests are not stored: one for
/// every answered request with the second in which it ended and its time in whole ms, in the order of seconds and then of
/// times. Connect, processing and first byte are not known of single requests and stay empty. Of more than [`ROWS`] requests
/// every second, third … is given.
///
/// # Errors
/// If the database fails.
pub async fn requests(state: &AppState, source: &Source) -> Result<Vec<u8>> {
    let mut rows = Rows::new(source.result.latency_ms.count.div_ceil(ROWS).max(1));
    for from in (0..source.end()).step_by(STEP as usize) {
        for (t, times) in latencies(state, source.id, from, from + STEP).await? {
            rows.second(source.started_at.div_euclid(1000) + i64::from(t), &times);
        }
    }
    Ok(rows.out.into_bytes())
}

struct Rows {
    out: String,
    /// One of so many requests is given.
    one_of: u64,
    seen: u64,
}

impl Rows {
    fn new(one_of: u64) -> Rows {
        Rows { out: COLUMNS.to_owned(), one_of, seen: 0 }
    }

    fn second(&mut self, unix_s: i64, times: &Histogram) {
        let at = Timestamp::from_second(unix_s).unwrap_or_default().strftime("%a %b %d %H:%M:%S %Y").to_string();
        for (us, count) in times.buckets() {
            let us = times.max_us().map_or(us, |most| us.min(most));
            for _ in 0..(self.seen + count) / self.one_of - self.seen / self.one_of {
                let _ = writeln!(self.out, "{at}\t{unix_s}\t\t\t{}\t", (us + 500) / 1000);
            }
            self.seen += count;
        }
    }
}

/// The next piece of the interval log: its head, then [`STEP`] seconds at a time.
///
/// # Errors
/// If the database fails.
pub async fn log_piece(state: &AppState, source: &Source, from: u32) -> Result<Vec<u8>> {
    let mut out = if from == 0 { interval_log::head(source.start()) } else { Vec::new() };
    for (t, times) in latencies(state, source.id, from, from.saturating_add(STEP)).await? {
        interval_log::append(&mut out, t, &times);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(list: impl IntoIterator<Item = u64>) -> Histogram {
        let mut all = Histogram::default();
        list.into_iter().for_each(|us| all.record(us));
        all
    }

    #[test]
    fn the_table_of_percentiles_has_101_rows_from_the_smallest_to_the_largest() {
        let table = percentile_table(&times((1..=200).map(|n| n * 1000)));
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(
            (rows.len(), rows[0], rows[1], rows[101]),
            (102, "Percentage served,Time in ms", "0,1.000", "100,200.000")
        );
        let ms = |row: &str| row.split_once(',').unwrap().1.parse::<f64>().unwrap();
        assert!((ms(rows[51]) - 100.0).abs() < 0.1 && (ms(rows[96]) - 190.0).abs() < 0.1, "{table}");
        assert_eq!(percentile_table(&Histogram::default()).lines().count(), 1);
    }

    #[test]
    fn rows_stand_for_requests_and_are_bounded() {
        let mut all = Rows::new(1);
        all.second(1_796_119_200, &times([1400, 1600, 1600]));
        let lines: Vec<&str> = all.out.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "Tue Dec 01 10:00:00 2026\t1796119200\t\t\t1\t",
                "Tue Dec 01 10:00:00 2026\t1796119200\t\t\t2\t",
                "Tue Dec 01 10:00:00 2026\t1796119200\t\t\t2\t",
            ]
        );
        let mut some = Rows::new(3);
        (0..10).for_each(|t| some.second(t, &times(1..=10)));
        assert_eq!(some.out.lines().count(), 1 + 33);
    }
}

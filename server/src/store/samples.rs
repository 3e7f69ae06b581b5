//! Seconds of runs: a light row for charts and a whole window for exact figures.

use oleada_engine::result::Point;
use oleada_engine::window::Window;
use sqlx::{query, query_as, query_scalar};

use super::{Db, Result, RunId, Timestamp, reading, statements, transaction};

statements! {
    ADD = "
        insert into samples (run_id, shard, t, planned, sent, ok, errors, clients, p50, p95, p99, max, bytes_received,
            bytes_sent, status_4xx, status_5xx, status_other, timeout, network, invalid, local, aborted)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
        on conflict do nothing";
    ADD_WINDOW = "
        insert into windows (run_id, shard, t, recorded)
        values ($1, $2, $3, $4)
        on conflict do nothing";
    TOUCH = "
        update runs
        set heartbeat_at = $2
        where id = $1 and state in ('running', 'draining')";
    POINTS = "
        select t, planned, sent, ok, errors, clients, p50, p95, p99, max, bytes_received,
            bytes_sent, status_4xx, status_5xx, status_other, timeout, network, invalid, local, aborted
        from samples
        where run_id = $1 and t > $2
        order by t, shard
        limit $3";
    WINDOWS = "
        select recorded
        from windows
        where run_id = $1 and t >= $2 and t < $3
        order by t, shard";
    LAST = "
        select max(t) as last
        from samples
        where run_id = $1";
    COUNT = "
        select count(*)
        from samples
        where run_id = $1";
}

/// Most seconds read at once: a day and an hour of draining.
const MOST: i64 = 90_000;
/// Windows held in memory at once while merging.
const STEP: i64 = 600;

#[derive(sqlx::FromRow)]
struct PointRow {
    t: i64,
    planned: i64,
    sent: i64,
    ok: i64,
    errors: i64,
    clients: f64,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
    bytes_received: i64,
    bytes_sent: i64,
    status_4xx: i64,
    status_5xx: i64,
    status_other: i64,
    timeout: i64,
    network: i64,
    invalid: i64,
    local: i64,
    aborted: i64,
}

impl From<PointRow> for Point {
    fn from(row: PointRow) -> Point {
        // Written by `add_sample` from unsigned numbers.
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Point {
            t: u32::try_from(row.t).unwrap_or(0),
            planned: count(row.planned),
            sent: count(row.sent),
            ok: count(row.ok),
            errors: count(row.errors),
            clients: row.clients,
            p50: row.p50,
            p95: row.p95,
            p99: row.p99,
            max: row.max,
            bytes_received: count(row.bytes_received),
            bytes_sent: count(row.bytes_sent),
            status_4xx: count(row.status_4xx),
            status_5xx: count(row.status_5xx),
            status_other: count(row.status_other),
            timeout: count(row.timeout),
            network: count(row.network),
            invalid: count(row.invalid),
            local: count(row.local),
            aborted: count(row.aborted),
        }
    }
}

/// A second as it is stored; some kilobytes, where a [`Window`] holds megabytes.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What charts read.
    pub point: Point,
    /// The whole window, encoded.
    pub recorded: Vec<u8>,
}

impl Sample {
    /// The stored form of a window.
    pub fn of(window: &Window) -> Sample {
        Sample { point: Point::of(window), recorded: window.encode() }
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Db {
    /// Stores a second and marks the run as alive. Storing the same second again changes nothing.
    pub async fn add_sample(&self, run: RunId, shard: u32, sample: &Sample) -> Result<()> {
        let Sample { point, recorded } = sample;
        let (shard, t) = (i64::from(shard), i64::from(point.t));
        transaction!(self, tx => {
            query(ADD)
                .bind(run)
                .bind(shard)
                .bind(t)
                .bind(signed(point.planned))
                .bind(signed(point.sent))
                .bind(signed(point.ok))
                .bind(signed(point.errors))
                .bind(point.clients)
                .bind(point.p50)
                .bind(point.p95)
                .bind(point.p99)
                .bind(point.max)
                .bind(signed(point.bytes_received))
                .bind(signed(point.bytes_sent))
                .bind(signed(point.status_4xx))
                .bind(signed(point.status_5xx))
                .bind(signed(point.status_other))
                .bind(signed(point.timeout))
                .bind(signed(point.network))
                .bind(signed(point.invalid))
                .bind(signed(point.local))
                .bind(signed(point.aborted))
                .execute(&mut *tx)
                .await?;
            query(ADD_WINDOW).bind(run).bind(shard).bind(t).bind(&recorded[..]).execute(&mut *tx).await?;
            query(TOUCH).bind(run).bind(Timestamp::now()).execute(&mut *tx).await?;
            Ok(())
        })
    }

    /// The seconds after second `after` (−1 for all), in order.
    pub async fn points(&self, run: RunId, after: i64) -> Result<Vec<Point>> {
        let rows: Vec<PointRow> =
            reading!(self, pool => query_as(POINTS).bind(run).bind(after).bind(MOST).fetch_all(pool).await)?;
        Ok(rows.into_iter().map(Point::from).collect())
    }

    /// The last second that is stored.
    pub async fn last_second(&self, run: RunId) -> Result<Option<u32>> {
        let t: Option<i64> = reading!(self, pool => query_scalar(LAST).bind(run).fetch_one(pool).await)?;
        Ok(t.and_then(|t| u32::try_from(t).ok()))
    }

    /// How many seconds are stored.
    pub async fn count_samples(&self, run: RunId) -> Result<i64> {
        reading!(self, pool => query_scalar(COUNT).bind(run).fetch_one(pool).await)
    }

    /// Calls `each` with every stored window of the seconds [`from`, `to`), in order; memory stays small however long the run.
    pub async fn windows(&self, run: RunId, from: u32, to: u32, mut each: impl FnMut(&[u8])) -> Result<()> {
        let mut rest = (from, to);
        while let Some((_, blobs)) = self.next_windows(run, &mut rest).await? {
            blobs.iter().for_each(|blob| each(blob));
        }
        Ok(())
    }

    /// The windows of the first few minutes of the seconds [`rest.0`, `rest.1`), with the second from which they were looked for;
    /// `rest` moves past them. `None` at its end.
    pub async fn next_windows(&self, run: RunId, rest: &mut (u32, u32)) -> Result<Option<(u32, Vec<Vec<u8>>)>> {
        let (from, to) = (i64::from(rest.0), i64::from(rest.1).min(MOST));
        if from >= to {
            return Ok(None);
        }
        let end = (from + STEP).min(to);
        let blobs: Vec<Vec<u8>> =
            reading!(self, pool => query_scalar(WINDOWS).bind(run).bind(from).bind(end).fetch_all(pool).await)?;
        let first = std::mem::replace(&mut rest.0, u32::try_from(end).unwrap_or(rest.1));
        Ok(Some((first, blobs)))
    }
}

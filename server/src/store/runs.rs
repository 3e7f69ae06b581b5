//! Runs: one execution of a test each. A run's life is queued → verifying → running → draining → over; or refused.

use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use super::{Db, PlanId, Result, RunId, SeriesId, Timestamp, UserId, reading, statements, transaction, writing};

/// What lists show, the place in a series, and whether it is the baseline of its test.
macro_rules! light_columns {
    () => {
        concat!(
            "requests_per_second, p50, p95, p99, error_rate, duration_s, passed, limited_by, spark, series_id, series_point, series_size, ",
            "exists (select 1 from plans where plans.baseline_run_id = runs.id) as is_baseline"
        )
    };
}

macro_rules! columns {
    () => {
        concat!(
            "id, owner_id, plan_id, name, spec, state, end_reason, detail, queued_at, started_at, ended_at, result, notes, ",
            light_columns!()
        )
    };
}

/// For lists, which need neither the plan, which can hold megabytes of bodies, nor the result: the light columns stand beside it.
macro_rules! list_columns {
    () => {
        concat!(
            "id, owner_id, plan_id, name, '' as spec, state, end_reason, detail, queued_at, started_at, ended_at, ",
            "cast(null as text) as result, '' as notes, ",
            $crate::store::runs::light_columns!()
        )
    };
}
pub(super) use {light_columns, list_columns};

statements! {
    BY_ID = concat!("
        select ", columns!(), "
        from runs
        where id = $1");
    RECENT = concat!("
        select ", list_columns!(), "
        from runs
        where owner_id = $1
        order by queued_at desc, id desc
        limit $2");
    OF_PLAN = concat!("
        select ", list_columns!(), "
        from runs
        where plan_id = $1
        order by queued_at desc, id desc
        limit $2");
    OF_SERIES = concat!("
        select ", list_columns!(), "
        from runs
        where series_id = $1
        order by queued_at, id");
    UNSUMMED = "
        select id, name, spec, state, result
        from runs
        where id > $1 and (hosts is null or (result is not null and duration_s is null))
        order by id
        limit $2";
    SET_SEARCHED = "
        update runs
        set hosts = $2, search = $3
        where id = $1";
    SET_LIGHT = "
        update runs
        set requests_per_second = $2, p50 = $3, p95 = $4, p99 = $5, error_rate = $6, duration_s = $7, passed = $8, limited_by = $9,
            spark = $10
        where id = $1";
    PREVIOUS = concat!("
        select ", columns!(), "
        from runs
        where plan_id = $1 and state = 'over' and (queued_at < $2 or (queued_at = $2 and id < $3))
        order by queued_at desc, id desc
        limit 1");
    BASELINE = concat!("
        select ", columns!(), "
        from runs
        where id = (select baseline_run_id from plans where plans.id = $1)");
    SPECS = "
        select id, spec
        from runs
        where id > $1
        order by id
        limit $2";
    SET_SPEC = "
        update runs
        set spec = $3
        where id = $1 and spec = $2";
    COUNT_OF_PLAN = "
        select count(*)
        from runs
        where plan_id = $1";
    UNDER_WAY = concat!("
        select ", columns!(), "
        from runs
        where owner_id = $1 and state in ('queued', 'verifying', 'running', 'draining')");
    AHEAD = "
        select count(*)
        from runs as mine
        join runs as other on other.state = 'queued'
            and (other.queued_at < mine.queued_at or (other.queued_at = mine.queued_at and other.id <= mine.id))
        where mine.id = $1 and mine.state = 'queued'";
    ADD = "
        insert into runs (id, owner_id, plan_id, name, spec, state, queued_at, hosts, search)
        values ($1, $2, $3, $4, $5, 'queued', $6, $7, $8)";
    COUNT_UP = "
        update series
        set made = made + 1
        where id = $1 and made = $2 and state = 'running'";
    PUT_IN_SERIES = "
        update runs
        set series_id = $2, series_point = $3, series_size = $4
        where id = $1";
    NEXT = "
        select id
        from runs
        where state = 'queued'
        order by queued_at, id
        limit 1";
    CLAIM = "
        update runs
        set state = 'verifying', heartbeat_at = $2
        where id = $1 and state = 'queued'";
    UNCLAIM = "
        update runs
        set state = 'queued', heartbeat_at = null
        where id = $1 and state = 'verifying'";
    START = "
        update runs
        set state = 'running', started_at = $2, heartbeat_at = $2
        where id = $1 and state = 'verifying'";
    DRAIN = "
        update runs
        set state = 'draining'
        where id = $1 and state = 'running'";
    HEARTBEAT = "
        update runs
        set heartbeat_at = $2
        where id = $1 and state in ('verifying', 'running', 'draining')";
    FINISH = "
        update runs
        set state = 'over', end_reason = $2, detail = $3, ended_at = $4, result = $5, requests_per_second = $6, p50 = $7, p95 = $8,
            p99 = $9, error_rate = $10, duration_s = $11, passed = $12, limited_by = $13, spark = $14
        where id = $1 and state in ('queued', 'verifying', 'running', 'draining')";
    REFUSE = "
        update runs
        set state = 'refused', detail = $2, ended_at = $3
        where id = $1 and state in ('verifying', 'running')";
    STOP_QUEUED = "
        update runs
        set state = 'over', end_reason = 'stopped', ended_at = $2
        where id = $1 and state = 'queued'";
    SILENT = concat!("
        select ", columns!(), "
        from runs
        where state in ('verifying', 'running', 'draining') and heartbeat_at < $1");
    KEEP = "
        update runs
        set totals = $2, overview = $3
        where id = $1";
    KEPT = "
        select totals, overview
        from runs
        where id = $1";
    NOTES = "
        update runs
        set notes = $3
        where id = $1 and owner_id = $2";
    DELETE = "
        delete from runs
        where id = $1 and owner_id = $2 and state in ('over', 'refused')
          and not exists (select 1 from series where series.id = runs.series_id and series.state = 'running')
          and not exists (select 1 from plans where plans.baseline_run_id = runs.id)";
    HISTORY = "
        select id, end_reason, queued_at, started_at, requests_per_second, p50, p95, p99, error_rate,
            case when $3 = 'whole' then result end as result, is_changed
        from (
            select id, end_reason, queued_at, started_at, requests_per_second, p50, p95, p99, error_rate, result,
                coalesce(lag(spec) over (order by queued_at, id) <> spec, false) as is_changed
            from runs
            where plan_id = $1 and state = 'over' and result is not null and series_id is null
        ) as history
        order by queued_at desc, id desc
        limit $2";
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct RunRow {
    /// Id.
    pub id: RunId,
    /// Whose it is.
    pub owner_id: UserId,
    /// The test it ran; `None` once that is deleted.
    pub plan_id: Option<PlanId>,
    /// The test's name when the run was asked for.
    pub name: String,
    /// The plan it runs, as JSON, its secrets sealed.
    pub spec: String,
    /// `queued`, `verifying`, `running`, `draining`, `over` or `refused`.
    pub state: String,
    /// Why it is over.
    pub end_reason: Option<String>,
    /// A sentence about a refusal or an interruption.
    pub detail: Option<String>,
    /// When it was asked for.
    pub queued_at: Timestamp,
    /// When load began.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// The result document as JSON, once it is over and anything was measured; lists are read without it.
    pub result: Option<String>,
    /// What its owner wrote about it; empty in lists.
    pub notes: String,
    /// Its figures in lists.
    #[sqlx(flatten)]
    pub light: Light,
    /// The series it is part of.
    pub series_id: Option<SeriesId>,
    /// The number of its place there, from 0.
    pub series_point: Option<i64>,
    /// The size of its load there.
    pub series_size: Option<f64>,
    /// Whether the others of its test are compared with it.
    pub is_baseline: bool,
}

/// What lists show of a run that is over, kept beside its result. All are `None` until it is; times are in ms.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Light {
    /// Answered requests per second.
    pub requests_per_second: Option<f64>,
    /// Median response time.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Share of errors, 0 to 1.
    pub error_rate: Option<f64>,
    /// Measured length in seconds.
    pub duration_s: Option<f64>,
    /// Whether every pass/fail limit was kept; `None` also where the plan has none.
    pub passed: Option<bool>,
    /// What limited it, by its stable name.
    pub limited_by: Option<String>,
    /// Its p95 over time, a few values.
    pub spark: Option<String>,
}

/// A run that an older version left without its [`Light`] or its hosts.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Unsummed {
    /// Id.
    pub id: RunId,
    /// The test's name.
    pub name: String,
    /// The plan as JSON, its secrets sealed.
    pub spec: String,
    /// As in [`RunRow::state`].
    pub state: String,
    /// The result document as JSON.
    pub result: Option<String>,
}

/// What is kept of a run that is over, so that its report need not read all its seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct Kept {
    /// Its times, encoded.
    pub totals: Option<Vec<u8>>,
    /// What its charts draw, encoded.
    pub overview: Option<Vec<u8>>,
}

/// A run among the others of its test.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct HistoryRow {
    /// Id.
    pub id: RunId,
    /// Why it is over.
    pub end_reason: Option<String>,
    /// When it was asked for.
    pub queued_at: Timestamp,
    /// When load began.
    pub started_at: Option<Timestamp>,
    /// As in [`Light`].
    pub requests_per_second: Option<f64>,
    /// As in [`Light`].
    pub p50: Option<f64>,
    /// As in [`Light`].
    pub p95: Option<f64>,
    /// As in [`Light`].
    pub p99: Option<f64>,
    /// As in [`Light`].
    pub error_rate: Option<f64>,
    /// The result document as JSON, if it was asked for.
    pub result: Option<String>,
    /// Whether its stored plan is not that of the run before it.
    pub is_changed: bool,
}

/// A run to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    /// Whose.
    pub owner: UserId,
    /// Of which test.
    pub plan: PlanId,
    /// The test's name.
    pub name: &'a str,
    /// The plan as JSON, its secrets sealed.
    pub spec: &'a str,
    /// The hosts that it names, as [`joined_hosts`].
    pub hosts: &'a str,
}

/// Hosts as they are stored: one a line, with a line break before and after, so that a pattern finds whole ones.
pub fn joined_hosts(hosts: &[String]) -> String {
    super::plans::joined_tags(hosts)
}

/// What a search for runs looks through.
fn search_text(name: &str, hosts: &str) -> String {
    format!("{name}{hosts}").to_lowercase()
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// Stable name of the reason.
    pub reason: &'a str,
    /// A sentence, where the reason needs one.
    pub detail: Option<&'a str>,
    /// When.
    pub at: Timestamp,
    /// The result document as JSON.
    pub result: Option<&'a str>,
    /// What lists show of it; there whenever `result` is.
    pub light: Option<&'a Light>,
}

/// The place of a run that is to be made in its series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesPlace {
    /// The series.
    pub series: SeriesId,
    /// How many runs it has made before.
    pub made: i64,
    /// The number of the place, from 0.
    pub number: i64,
    /// The size of its load.
    pub size: f64,
}

/// Binds a new run to `ADD`.
macro_rules! adding {
    ($id:expr, $new:expr, $search:expr) => {
        query(ADD)
            .bind($id)
            .bind($new.owner)
            .bind($new.plan)
            .bind($new.name)
            .bind($new.spec)
            .bind(Timestamp::now())
            .bind($new.hosts)
            .bind($search)
    };
}

/// Binds the nine values of a [`Light`].
macro_rules! with_light {
    ($query:expr, $light:expr) => {
        $query
            .bind($light.requests_per_second)
            .bind($light.p50)
            .bind($light.p95)
            .bind($light.p99)
            .bind($light.error_rate)
            .bind($light.duration_s)
            .bind($light.passed)
            .bind($light.limited_by.as_deref())
            .bind($light.spark.as_deref())
    };
}

impl Db {
    /// A run by id, whoever owns it.
    pub async fn run(&self, id: RunId) -> Result<Option<RunRow>> {
        reading!(self, pool => query_as(BY_ID).bind(id).fetch_optional(pool).await)
    }

    /// The latest runs of an account, newest first.
    pub async fn recent_runs(&self, owner: UserId, limit: i64) -> Result<Vec<RunRow>> {
        reading!(self, pool => query_as(RECENT).bind(owner).bind(limit).fetch_all(pool).await)
    }

    /// The latest runs of a test, newest first.
    pub async fn runs_of_plan(&self, plan: PlanId, limit: i64) -> Result<Vec<RunRow>> {
        reading!(self, pool => query_as(OF_PLAN).bind(plan).bind(limit).fetch_all(pool).await)
    }

    /// The run of the same test before this one, if both are of a test that is still there.
    pub async fn run_before(&self, run: &RunRow) -> Result<Option<RunRow>> {
        let Some(plan) = run.plan_id else { return Ok(None) };
        reading!(self, pool => query_as(PREVIOUS).bind(plan).bind(run.queued_at).bind(run.id).fetch_optional(pool).await)
    }

    /// The run that the others of a test are compared with.
    pub async fn baseline_of(&self, plan: PlanId) -> Result<Option<RunRow>> {
        reading!(self, pool => query_as(BASELINE).bind(plan).fetch_optional(pool).await)
    }

    /// The latest runs of a test that are over and have a result, newest first; without those of series, whose loads differ by
    /// intention. `whole`: with their results.
    pub async fn run_history(&self, plan: PlanId, limit: i64, whole: bool) -> Result<Vec<HistoryRow>> {
        let wanted = if whole { "whole" } else { "light" };
        reading!(self, pool => query_as(HISTORY).bind(plan).bind(limit).bind(wanted).fetch_all(pool).await)
    }

    /// Stored plans of runs, whoever owns them, in the order of their ids after `after`.
    pub async fn run_specs(&self, after: Uuid, limit: i64) -> Result<Vec<(Uuid, String)>> {
        reading!(self, pool => query_as(SPECS).bind(after).bind(limit).fetch_all(pool).await)
    }

    /// Writes a stored plan anew, unless it was changed in the meantime.
    pub async fn set_run_spec(&self, id: Uuid, before: &str, spec: &str) -> Result<()> {
        writing!(self, pool => query(SET_SPEC).bind(id).bind(before).bind(spec).execute(pool).await.map(|_| ()))
    }

    /// How many runs a test has.
    pub async fn count_runs_of_plan(&self, plan: PlanId) -> Result<i64> {
        reading!(self, pool => query_scalar(COUNT_OF_PLAN).bind(plan).fetch_one(pool).await)
    }

    /// The account's runs that are not over.
    pub async fn runs_under_way(&self, owner: UserId) -> Result<Vec<RunRow>> {
        reading!(self, pool => query_as(UNDER_WAY).bind(owner).fetch_all(pool).await)
    }

    /// Place in the queue, from 1; 0 for a run that is not queued.
    pub async fn queue_position(&self, id: RunId) -> Result<i64> {
        reading!(self, pool => query_scalar(AHEAD).bind(id).fetch_one(pool).await)
    }

    /// Puts a run at the end of the queue.
    pub async fn add_run(&self, new: NewRun<'_>) -> Result<RunId> {
        let id = RunId::new();
        let search = search_text(new.name, new.hosts);
        writing!(self, pool => adding!(id, new, &search).execute(pool).await.map(|_| id))
    }

    /// Puts the next run of a series at the end of the queue, unless the series is over or another than its run number `made` was
    /// queued last: of several processes exactly one makes it.
    pub async fn add_series_run(&self, place: SeriesPlace, new: NewRun<'_>) -> Result<Option<RunId>> {
        let id = RunId::new();
        let search = search_text(new.name, new.hosts);
        transaction!(self, tx => {
            let mine = query(COUNT_UP).bind(place.series).bind(place.made).execute(&mut *tx).await?.rows_affected();
            if mine != 1 {
                return Ok(None);
            }
            adding!(id, new, &search).execute(&mut *tx).await?;
            query(PUT_IN_SERIES).bind(id).bind(place.series).bind(place.number).bind(place.size).execute(&mut *tx).await?;
            Ok(Some(id))
        })
    }

    /// The runs of a series in the order they were made, without plan and result.
    pub async fn runs_of_series(&self, series: SeriesId) -> Result<Vec<RunRow>> {
        reading!(self, pool => query_as(OF_SERIES).bind(series).fetch_all(pool).await)
    }

    /// Runs that older versions left without what lists show, in the order of their ids after `after`.
    pub async fn unsummed_runs(&self, after: RunId, limit: i64) -> Result<Vec<Unsummed>> {
        reading!(self, pool => query_as(UNSUMMED).bind(after).bind(limit).fetch_all(pool).await)
    }

    /// Sets the hosts that a run names, as [`joined_hosts`], and what a search for it looks through.
    pub async fn set_run_hosts(&self, id: RunId, name: &str, hosts: &str) -> Result<()> {
        let search = search_text(name, hosts);
        writing!(self, pool => query(SET_SEARCHED).bind(id).bind(hosts).bind(&search).execute(pool).await.map(|_| ()))
    }

    /// Sets what lists show of a run that is over.
    pub async fn set_run_light(&self, id: RunId, light: &Light) -> Result<()> {
        writing!(self, pool => with_light!(query(SET_LIGHT).bind(id), light).execute(pool).await.map(|_| ()))
    }

    /// Takes the first run out of the queue. Of several processes exactly one gets it.
    pub async fn claim_run(&self) -> Result<Option<RunRow>> {
        transaction!(self, tx => {
            let next: Option<RunId> = query_scalar(NEXT).fetch_optional(&mut *tx).await?;
            let Some(id) = next else { return Ok(None) };
            let claimed = query(CLAIM).bind(id).bind(Timestamp::now()).execute(&mut *tx).await?.rows_affected();
            if claimed == 1 { query_as(BY_ID).bind(id).fetch_optional(&mut *tx).await } else { Ok(None) }
        })
    }

    /// Puts a claimed run that has not begun back where it was in the queue.
    pub async fn unclaim_run(&self, id: RunId) -> Result<bool> {
        changed(writing!(self, pool => query(UNCLAIM).bind(id).execute(pool).await.map(|done| done.rows_affected()))?)
    }

    /// Load begins now; false if the run was ended in the meantime.
    pub async fn start_run(&self, id: RunId, at: Timestamp) -> Result<bool> {
        changed(
            writing!(self, pool => query(START).bind(id).bind(at).execute(pool).await.map(|done| done.rows_affected()))?,
        )
    }

    /// Nothing new starts from now on.
    pub async fn drain_run(&self, id: RunId) -> Result<bool> {
        changed(writing!(self, pool => query(DRAIN).bind(id).execute(pool).await.map(|done| done.rows_affected()))?)
    }

    /// This process still works on the run.
    pub async fn touch_run(&self, id: RunId, at: Timestamp) -> Result<bool> {
        changed(
            writing!(self, pool => query(HEARTBEAT).bind(id).bind(at).execute(pool).await.map(|done| done.rows_affected()))?,
        )
    }

    /// The run is over; false if it was already.
    pub async fn finish_run(&self, id: RunId, ending: Ending<'_>) -> Result<bool> {
        let none = Light::default();
        let light = ending.light.unwrap_or(&none);
        changed(writing!(self, pool => {
            let finish = query(FINISH).bind(id).bind(ending.reason).bind(ending.detail).bind(ending.at).bind(ending.result);
            with_light!(finish, light).execute(pool).await.map(|done| done.rows_affected())
        })?)
    }

    /// Keeps what the report of a run shows besides its result; see [`Kept`].
    pub async fn keep_for_report(&self, id: RunId, kept: &Kept) -> Result<()> {
        writing!(self, pool => {
            query(KEEP).bind(id).bind(kept.totals.as_deref()).bind(kept.overview.as_deref()).execute(pool).await.map(|_| ())
        })
    }

    /// What was kept; nothing of a run that is not over, or ended before this was kept.
    pub async fn kept_for_report(&self, id: RunId) -> Result<Kept> {
        Ok(reading!(self, pool => query_as(KEPT).bind(id).fetch_optional(pool).await)?.unwrap_or_default())
    }

    /// Writes down what the owner says about a run; false if the account has no such run.
    pub async fn note_run(&self, owner: UserId, id: RunId, notes: &str) -> Result<bool> {
        changed(writing!(self, pool => {
            query(NOTES).bind(id).bind(owner).bind(notes).execute(pool).await.map(|done| done.rows_affected())
        })?)
    }

    /// The run is not started, for the reason in `detail`.
    pub async fn refuse_run(&self, id: RunId, detail: &str, at: Timestamp) -> Result<bool> {
        changed(writing!(self, pool => {
            query(REFUSE).bind(id).bind(detail).bind(at).execute(pool).await.map(|done| done.rows_affected())
        })?)
    }

    /// Ends a run that still waits; false if it does not.
    pub async fn stop_queued_run(&self, id: RunId, at: Timestamp) -> Result<bool> {
        changed(
            writing!(self, pool => query(STOP_QUEUED).bind(id).bind(at).execute(pool).await.map(|done| done.rows_affected()))?,
        )
    }

    /// Runs under way whose process was last heard of before `before`.
    pub async fn silent_runs(&self, before: Timestamp) -> Result<Vec<RunRow>> {
        reading!(self, pool => query_as(SILENT).bind(before).fetch_all(pool).await)
    }

    /// Deletes a run that is over, with its samples; false if it is not over, the baseline of its test, or not there.
    pub async fn delete_run(&self, owner: UserId, id: RunId) -> Result<bool> {
        changed(
            writing!(self, pool => query(DELETE).bind(id).bind(owner).execute(pool).await.map(|done| done.rows_affected()))?,
        )
    }
}

fn changed(rows: u64) -> Result<bool> {
    Ok(rows == 1)
}

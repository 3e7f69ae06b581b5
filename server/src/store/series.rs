//! Series: several runs of one test, one after the other. A series is running, over, or stopped by a person.

use sqlx::{query, query_as, query_scalar};

use super::{Db, PlanId, Result, SeriesId, Timestamp, UserId, reading, statements, writing};

macro_rules! columns {
    () => {
        "id, owner_id, plan_id, name, settings, spec, state, detail, made, created_at, ended_at"
    };
}

statements! {
    BY_ID = concat!("
        select ", columns!(), "
        from series
        where id = $1");
    OF_PLAN = "
        select id, owner_id, plan_id, name, settings, '' as spec, state, detail, made, created_at, ended_at
        from series
        where plan_id = $1
        order by created_at desc, id desc
        limit $2";
    RUNNING = "
        select id
        from series
        where state = 'running'
        order by id";
    COUNT_RUNNING = "
        select count(*)
        from series
        where owner_id = $1 and state = 'running'";
    ADD = "
        insert into series (id, owner_id, plan_id, name, settings, spec, state, created_at)
        values ($1, $2, $3, $4, $5, $6, 'running', $7)";
    END = "
        update series
        set state = $2, detail = $3, ended_at = $4
        where id = $1 and state = 'running'";
    DELETE = "
        delete from series
        where id = $1 and owner_id = $2 and state <> 'running'";
}

/// A series as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct SeriesRow {
    /// Id.
    pub id: SeriesId,
    /// Whose it is.
    pub owner_id: UserId,
    /// The test it runs; `None` once that is deleted.
    pub plan_id: Option<PlanId>,
    /// The test's name when the series was asked for.
    pub name: String,
    /// What varies and how, as JSON.
    pub settings: String,
    /// The plan as JSON as it was then, its secrets sealed; empty in lists.
    pub spec: String,
    /// `running`, `over` or `stopped`.
    pub state: String,
    /// A sentence, where it ended before its end.
    pub detail: Option<String>,
    /// How many of its runs were put into the queue.
    pub made: i64,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
}

/// A series to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewSeries<'a> {
    /// Whose.
    pub owner: UserId,
    /// Of which test.
    pub plan: PlanId,
    /// The test's name.
    pub name: &'a str,
    /// What varies and how, as JSON.
    pub settings: &'a str,
    /// The plan as JSON, its secrets sealed.
    pub spec: &'a str,
}

/// How a series ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesEnd {
    /// By itself.
    Over,
    /// By a person.
    Stopped,
}

impl Db {
    /// A series by id, whoever owns it.
    pub async fn series(&self, id: SeriesId) -> Result<Option<SeriesRow>> {
        reading!(self, pool => query_as(BY_ID).bind(id).fetch_optional(pool).await)
    }

    /// The latest series of a test, newest first, without their plans.
    pub async fn series_of_plan(&self, plan: PlanId, limit: i64) -> Result<Vec<SeriesRow>> {
        reading!(self, pool => query_as(OF_PLAN).bind(plan).bind(limit).fetch_all(pool).await)
    }

    /// Every series that goes on, of all accounts.
    pub async fn running_series(&self) -> Result<Vec<SeriesId>> {
        reading!(self, pool => query_scalar(RUNNING).fetch_all(pool).await)
    }

    /// How many series of an account go on.
    pub async fn count_running_series(&self, owner: UserId) -> Result<i64> {
        reading!(self, pool => query_scalar(COUNT_RUNNING).bind(owner).fetch_one(pool).await)
    }

    /// Begins a series; its runs are made one by one.
    pub async fn add_series(&self, new: NewSeries<'_>) -> Result<SeriesId> {
        let id = SeriesId::new();
        writing!(self, pool => {
            query(ADD)
                .bind(id)
                .bind(new.owner)
                .bind(new.plan)
                .bind(new.name)
                .bind(new.settings)
                .bind(new.spec)
                .bind(Timestamp::now())
                .execute(pool)
                .await
                .map(|_| id)
        })
    }

    /// Ends a series: no further run is made. False if it was over already.
    pub async fn end_series(&self, id: SeriesId, end: SeriesEnd, detail: Option<&str>, at: Timestamp) -> Result<bool> {
        let state = if end == SeriesEnd::Over { "over" } else { "stopped" };
        let done = writing!(self, pool => {
            query(END).bind(id).bind(state).bind(detail).bind(at).execute(pool).await.map(|done| done.rows_affected())
        })?;
        Ok(done == 1)
    }

    /// Forgets a series that is over; its runs stay. False if it goes on or is not there.
    pub async fn delete_series(&self, owner: UserId, id: SeriesId) -> Result<bool> {
        let done = writing!(self, pool => query(DELETE).bind(id).bind(owner).execute(pool).await.map(|done| done.rows_affected()))?;
        Ok(done == 1)
    }
}

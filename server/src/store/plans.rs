//! Tests, called plans in code.

use sqlx::{query, query_as};

use super::{Db, PlanId, Result, Timestamp, UserId, reading, statements, writing};

statements! {
    ONE = "
        select id, name, notes, spec, created_at, updated_at
        from plans
        where id = $1 and owner_id = $2";
    LIST = "
        select id, name, notes, spec, created_at, updated_at
        from plans
        where owner_id = $1
        order by updated_at desc, id desc
        limit $2";
    ADD = "
        insert into plans (id, owner_id, name, notes, spec, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $6)";
    CHANGE = "
        update plans
        set name = $3, notes = $4, spec = $5, updated_at = $6
        where id = $1 and owner_id = $2";
    DELETE = "
        delete from plans
        where id = $1 and owner_id = $2
          and not exists (
              select 1 from runs
              where plan_id = $1 and state in ('queued', 'verifying', 'running', 'draining')
          )";
}

/// A test as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct PlanRow {
    /// Id.
    pub id: PlanId,
    /// Name.
    pub name: String,
    /// Notes; may be empty.
    pub notes: String,
    /// The plan as JSON, credentials included.
    pub spec: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What is written of a test.
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'a> {
    /// Name.
    pub name: &'a str,
    /// Notes.
    pub notes: &'a str,
    /// The plan as JSON.
    pub spec: &'a str,
}

impl Db {
    /// A test of this account.
    pub async fn plan(&self, owner: UserId, id: PlanId) -> Result<Option<PlanRow>> {
        reading!(self, pool => query_as(ONE).bind(id).bind(owner).fetch_optional(pool).await)
    }

    /// The tests of this account, latest changed first.
    pub async fn plans(&self, owner: UserId, limit: i64) -> Result<Vec<PlanRow>> {
        reading!(self, pool => query_as(LIST).bind(owner).bind(limit).fetch_all(pool).await)
    }

    /// Makes a test.
    pub async fn add_plan(&self, owner: UserId, text: PlanText<'_>) -> Result<PlanId> {
        let id = PlanId::new();
        writing!(self, pool => {
            query(ADD)
                .bind(id)
                .bind(owner)
                .bind(text.name)
                .bind(text.notes)
                .bind(text.spec)
                .bind(Timestamp::now())
                .execute(pool)
                .await
                .map(|_| id)
        })
    }

    /// Changes a test; false if there is none.
    pub async fn change_plan(&self, owner: UserId, id: PlanId, text: PlanText<'_>) -> Result<bool> {
        let done = writing!(self, pool => {
            query(CHANGE)
                .bind(id)
                .bind(owner)
                .bind(text.name)
                .bind(text.notes)
                .bind(text.spec)
                .bind(Timestamp::now())
                .execute(pool)
                .await
                .map(|done| done.rows_affected())
        })?;
        Ok(done == 1)
    }

    /// Deletes a test that has no run under way; its finished runs stay. False if there was nothing to delete or a run is
    /// under way.
    pub async fn delete_plan(&self, owner: UserId, id: PlanId) -> Result<bool> {
        let done = writing!(self, pool => query(DELETE).bind(id).bind(owner).execute(pool).await.map(|done| done.rows_affected()))?;
        Ok(done == 1)
    }
}

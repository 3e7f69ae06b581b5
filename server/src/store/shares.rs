//! Public links of runs.

use sqlx::{query, query_as};

use super::{Db, Result, RunId, Timestamp, UserId, reading, statements, writing};

macro_rules! columns {
    () => {
        "token, run_id, created_at, expires_at, revoked_at, hide_host, hide_headers, hide_notes"
    };
}

statements! {
    BY_TOKEN = concat!("
        select ", columns!(), "
        from shares
        where token = $1");
    OF_RUN = concat!("
        select ", columns!(), "
        from shares
        where run_id = $1 and revoked_at is null");
    ADD = "
        insert into shares (token, run_id, created_at, expires_at, hide_host, hide_headers, hide_notes)
        select $1, id, $4, $5, $6, $7, $8
        from runs
        where id = $2 and owner_id = $3
        on conflict do nothing";
    CHANGE = "
        update shares
        set expires_at = $3, hide_host = $4, hide_headers = $5, hide_notes = $6
        where run_id = $1 and revoked_at is null
          and exists (select 1 from runs where id = $1 and owner_id = $2)";
    REVOKE = "
        update shares
        set revoked_at = $3
        where run_id = $1 and revoked_at is null
          and exists (select 1 from runs where id = $1 and owner_id = $2)";
}

/// A public link as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ShareRow {
    /// What the link ends with; who knows it may read.
    pub token: String,
    /// What it shows; `None` once that is deleted.
    pub run_id: Option<RunId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it shows nothing.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Names and addresses of the target are not shown.
    pub hide_host: bool,
    /// Headers of requests are not shown.
    pub hide_headers: bool,
    /// Notes are not shown.
    pub hide_notes: bool,
}

impl ShareRow {
    /// Whether its time is over.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// What the owner of a link chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareOptions {
    /// From when on it shows nothing.
    pub expires_at: Option<Timestamp>,
    /// Names and addresses of the target are not shown.
    pub hide_host: bool,
    /// Headers of requests are not shown.
    pub hide_headers: bool,
    /// Notes are not shown.
    pub hide_notes: bool,
}

impl Db {
    /// A link by its token, whatever became of it.
    pub async fn share_by_token(&self, token: &str) -> Result<Option<ShareRow>> {
        reading!(self, pool => query_as(BY_TOKEN).bind(token).fetch_optional(pool).await)
    }

    /// The link of a run that is not revoked, expired or not.
    pub async fn share_of_run(&self, run: RunId) -> Result<Option<ShareRow>> {
        reading!(self, pool => query_as(OF_RUN).bind(run).fetch_optional(pool).await)
    }

    /// Makes a link; false if the run has one, or the account has no such run.
    pub async fn add_share(&self, owner: UserId, run: RunId, token: &str, options: ShareOptions) -> Result<bool> {
        let added = writing!(self, pool => {
            query(ADD)
                .bind(token)
                .bind(run)
                .bind(owner)
                .bind(Timestamp::now())
                .bind(options.expires_at)
                .bind(options.hide_host)
                .bind(options.hide_headers)
                .bind(options.hide_notes)
                .execute(pool)
                .await
                .map(|done| done.rows_affected())
        })?;
        Ok(added == 1)
    }

    /// Changes what a run's link shows and how long; false if the account has no such run, or the run no link.
    pub async fn change_share(&self, owner: UserId, run: RunId, options: ShareOptions) -> Result<bool> {
        let changed = writing!(self, pool => {
            query(CHANGE)
                .bind(run)
                .bind(owner)
                .bind(options.expires_at)
                .bind(options.hide_host)
                .bind(options.hide_headers)
                .bind(options.hide_notes)
                .execute(pool)
                .await
                .map(|done| done.rows_affected())
        })?;
        Ok(changed == 1)
    }

    /// Revokes a run's link; false if there is none.
    pub async fn revoke_share(&self, owner: UserId, run: RunId, at: Timestamp) -> Result<bool> {
        let revoked = writing!(self, pool => {
            query(REVOKE).bind(run).bind(owner).bind(at).execute(pool).await.map(|done| done.rows_affected())
        })?;
        Ok(revoked == 1)
    }
}

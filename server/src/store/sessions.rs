//! Who is signed in where. The caller gives the hash of a session's id, never the id itself.

use sqlx::{query, query_as};

use super::{Db, Result, Timestamp, UserId, reading, statements, writing};

statements! {
    LOAD = "
        select data, expires_at
        from sessions
        where id = $1 and expires_at > $2";
    CREATE = "
        insert into sessions (id, user_id, data, expires_at)
        values ($1, $2, $3, $4)";
    SAVE = "
        update sessions
        set user_id = $2, data = $3, expires_at = $4
        where id = $1";
    DELETE = "
        delete from sessions
        where id = $1";
    SWEEP = "
        delete from sessions
        where expires_at <= $1";
}

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct SessionRow {
    /// JSON.
    pub data: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A session to be stored.
#[derive(Clone, Copy, Debug)]
pub struct SessionValues<'a> {
    /// Hash of its id.
    pub id: &'a [u8],
    /// Who is signed in by it.
    pub user: Option<UserId>,
    /// JSON.
    pub data: &'a str,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Db {
    /// A session that has not expired at `now`.
    pub async fn session(&self, id: &[u8], now: Timestamp) -> Result<Option<SessionRow>> {
        reading!(self, pool => query_as(LOAD).bind(id).bind(now).fetch_optional(pool).await)
    }

    /// Adds a session.
    ///
    /// # Errors
    /// A unique violation if the id is taken.
    pub async fn add_session(&self, session: SessionValues<'_>) -> Result<()> {
        let SessionValues { id, user, data, expires_at } = session;
        writing!(self, pool => query(CREATE).bind(id).bind(user).bind(data).bind(expires_at).execute(pool).await.map(|_| ()))
    }

    /// Changes a session; whether it was still there. One that was ended in the meantime is not brought back.
    pub async fn save_session(&self, session: SessionValues<'_>) -> Result<bool> {
        let SessionValues { id, user, data, expires_at } = session;
        let done = writing!(self, pool => query(SAVE).bind(id).bind(user).bind(data).bind(expires_at).execute(pool).await.map(|d| d.rows_affected()))?;
        Ok(done > 0)
    }

    /// Ends a session.
    pub async fn delete_session(&self, id: &[u8]) -> Result<()> {
        writing!(self, pool => query(DELETE).bind(id).execute(pool).await.map(|_| ()))
    }

    /// Removes sessions that expired at or before `now`; how many.
    pub async fn sweep_sessions(&self, now: Timestamp) -> Result<u64> {
        writing!(self, pool => query(SWEEP).bind(now).execute(pool).await.map(|done| done.rows_affected()))
    }
}

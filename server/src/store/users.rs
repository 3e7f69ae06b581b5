//! Accounts.

use sqlx::{query, query_as, query_scalar};

use super::{Db, Result, Timestamp, UserId, reading, statements, transaction, writing};

statements! {
    BY_ID = "
        select id, email, name, password_hash, is_operator, created_at
        from users
        where id = $1";
    BY_EMAIL = "
        select id, email, name, password_hash, is_operator, created_at
        from users
        where email = $1";
    LIST = "
        select id, email, name, password_hash, is_operator, created_at
        from users
        order by id";
    COUNT_SET_UP = "select count(*) from installation";
    SET_UP = "
        insert into installation (id, set_up_at)
        values (1, $1)
        on conflict do nothing";
    ADD = "
        insert into users (id, email, name, password_hash, is_operator, created_at)
        values ($1, $2, $3, $4, $5, $6)";
    SET_PASSWORD = "
        update users
        set password_hash = $2
        where id = $1";
    FORGET_SESSIONS = "
        delete from sessions
        where user_id = $1";
}

/// An account as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct UserRow {
    /// Id.
    pub id: UserId,
    /// Lower case.
    pub email: String,
    /// What to call the person.
    pub name: String,
    /// PHC string.
    pub password_hash: String,
    /// May administer this installation.
    pub is_operator: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An account to be made.
#[derive(Clone, Debug)]
pub struct NewUser<'a> {
    /// Lower case.
    pub email: &'a str,
    /// What to call the person.
    pub name: &'a str,
    /// PHC string.
    pub password_hash: &'a str,
}

/// What has to be true for an account to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing; the first account becomes the operator.
    Anybody,
    /// There is no account yet.
    First,
    /// There is one already.
    Later,
    /// Nothing, and the account may administer.
    Operator,
}

impl Db {
    /// An account by id.
    pub async fn user(&self, id: UserId) -> Result<Option<UserRow>> {
        reading!(self, pool => query_as(BY_ID).bind(id).fetch_optional(pool).await)
    }

    /// An account by e-mail address, which must be in lower case.
    pub async fn user_by_email(&self, email: &str) -> Result<Option<UserRow>> {
        reading!(self, pool => query_as(BY_EMAIL).bind(email).fetch_optional(pool).await)
    }

    /// All accounts, oldest first.
    pub async fn users(&self) -> Result<Vec<UserRow>> {
        reading!(self, pool => query_as(LIST).fetch_all(pool).await)
    }

    /// Whether the first account has been made.
    pub async fn is_set_up(&self) -> Result<bool> {
        let rows: i64 = reading!(self, pool => query_scalar(COUNT_SET_UP).fetch_one(pool).await)?;
        Ok(rows > 0)
    }

    /// Makes an account, if `admission` allows it: `None` if it does not. Of several that come at the same moment exactly
    /// one is the first.
    ///
    /// # Errors
    /// A unique violation if the address has an account.
    pub async fn add_user(&self, new: &NewUser<'_>, admission: Admission) -> Result<Option<UserRow>> {
        let now = Timestamp::now();
        transaction!(self, tx => {
            let first = query(SET_UP).bind(now).execute(&mut *tx).await?.rows_affected() == 1;
            let allowed = match admission {
                Admission::Anybody | Admission::Operator => true,
                Admission::First => first,
                Admission::Later => !first,
            };
            if !allowed {
                // Returning the error undoes the row in `installation`; it is no failure, see below.
                return Err(sqlx::Error::RowNotFound);
            }
            let is_operator = first || admission == Admission::Operator;
            let id = UserId::new();
            query(ADD)
                .bind(id)
                .bind(new.email)
                .bind(new.name)
                .bind(new.password_hash)
                .bind(is_operator)
                .bind(now)
                .execute(&mut *tx)
                .await?;
            query_as(BY_ID).bind(id).fetch_one(&mut *tx).await
        })
        .map(Some)
        .or_else(|error| if matches!(error.0, sqlx::Error::RowNotFound) { Ok(None) } else { Err(error) })
    }

    /// Changes a password and signs the account out everywhere.
    pub async fn set_password(&self, id: UserId, password_hash: &str) -> Result<()> {
        transaction!(self, tx => {
            query(SET_PASSWORD).bind(id).bind(password_hash).execute(&mut *tx).await?;
            query(FORGET_SESSIONS).bind(id).execute(&mut *tx).await?;
            Ok(())
        })
    }

    /// Replaces a password's hash by one of the same password with today's parameters.
    pub async fn refresh_password_hash(&self, id: UserId, password_hash: &str) -> Result<()> {
        writing!(self, pool => query(SET_PASSWORD).bind(id).bind(password_hash).execute(pool).await.map(|_| ()))
    }
}

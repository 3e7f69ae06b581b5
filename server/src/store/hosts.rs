//! Registered hosts and what was found when their proofs were looked for.

use sqlx::{query, query_as};

use super::{Db, HostId, ProofId, Result, Timestamp, UserId, reading, statements, transaction, writing};

statements! {
    BY_ID = "
        select id, user_id, host, port, scheme, token, state, method, verified_at, checked_at, created_at
        from hosts
        where id = $1";
    OF_USER = "
        select id, user_id, host, port, scheme, token, state, method, verified_at, checked_at, created_at
        from hosts
        where user_id = $1
        order by host, port";
    AT = "
        select id, user_id, host, port, scheme, token, state, method, verified_at, checked_at, created_at
        from hosts
        where user_id = $1 and host = $2 and port = $3";
    ADD = "
        insert into hosts (id, user_id, host, port, scheme, token, state, created_at)
        values ($1, $2, $3, $4, $5, $6, 'unverified', $7)";
    DELETE = "
        delete from hosts
        where id = $1";
    PASSED = "
        update hosts
        set state = 'verified', method = $2, verified_at = $3, checked_at = $3
        where id = $1";
    FAILED = "
        update hosts
        set state = case when state = 'verified' and method = $3 then 'lost' else state end, checked_at = $2
        where id = $1";
    ADD_PROOF = "
        insert into proofs (id, host_id, at, method, passed, message, status, expected, seen)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    FORGET_OLD_PROOFS = "
        delete from proofs
        where host_id = $1
          and id not in (select id from proofs where host_id = $1 order by at desc, id desc limit 20)";
    LAST_PROOF = "
        select at, method, passed, message, status, expected, seen
        from proofs
        where host_id = $1
        order by at desc, id desc
        limit 1";
}

/// The scheme that the owner typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum SchemeHint {
    /// Plain.
    Http,
    /// Over TLS.
    Https,
}

/// Whether ownership was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Ownership {
    /// Never.
    Unverified,
    /// The last time it was looked at.
    Verified,
    /// Once, but not the last time it was looked at.
    Lost,
}

/// A way to prove ownership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Method {
    /// A file on the host.
    File,
    /// A TXT record.
    Dns,
    /// A meta tag on its front page.
    Meta,
}

/// A host of an account.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct HostRow {
    /// Id.
    pub id: HostId,
    /// Whose it is.
    pub user_id: UserId,
    /// ASCII, lower case; IPv6 in brackets.
    pub host: String,
    /// 1 to 65535.
    pub port: i64,
    /// What to try first.
    pub scheme: SchemeHint,
    /// 32 hexadecimal digits.
    pub token: String,
    /// Whether it was proved.
    pub state: Ownership,
    /// How.
    pub method: Option<Method>,
    /// When it was last proved.
    pub verified_at: Option<Timestamp>,
    /// When it was last looked at.
    pub checked_at: Option<Timestamp>,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// A host to be registered.
#[derive(Clone, Debug)]
pub struct NewHost<'a> {
    /// Whose.
    pub user: UserId,
    /// As in [`HostRow`].
    pub host: &'a str,
    /// TCP port.
    pub port: u16,
    /// What to try first.
    pub scheme: SchemeHint,
    /// 32 hexadecimal digits.
    pub token: &'a str,
}

/// What was found when a proof was looked for.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ProofRow {
    /// When.
    pub at: Timestamp,
    /// What was looked for.
    pub method: Method,
    /// Whether it was there.
    pub passed: bool,
    /// What happened, a sentence.
    pub message: String,
    /// HTTP status of the answer.
    pub status: Option<i64>,
    /// What should have been there.
    pub expected: String,
    /// The first characters of what was there.
    pub seen: Option<String>,
}

impl Db {
    /// A host by id.
    pub async fn host(&self, id: HostId) -> Result<Option<HostRow>> {
        reading!(self, pool => query_as(BY_ID).bind(id).fetch_optional(pool).await)
    }

    /// An account's hosts, by name and port.
    pub async fn hosts(&self, user: UserId) -> Result<Vec<HostRow>> {
        reading!(self, pool => query_as(OF_USER).bind(user).fetch_all(pool).await)
    }

    /// An account's host by where it is.
    pub async fn host_at(&self, user: UserId, host: &str, port: u16) -> Result<Option<HostRow>> {
        reading!(self, pool => query_as(AT).bind(user).bind(host).bind(i64::from(port)).fetch_optional(pool).await)
    }

    /// Registers a host.
    ///
    /// # Errors
    /// A unique violation if the account has it already.
    pub async fn add_host(&self, new: &NewHost<'_>) -> Result<HostId> {
        let id = HostId::new();
        writing!(self, pool => query(ADD)
            .bind(id)
            .bind(new.user)
            .bind(new.host)
            .bind(i64::from(new.port))
            .bind(new.scheme)
            .bind(new.token)
            .bind(Timestamp::now())
            .execute(pool)
            .await
            .map(|_| id))
    }

    /// Removes a host with its proofs; whether it was there.
    ///
    /// # Errors
    /// A foreign key violation if something that may not go with it refers to it.
    pub async fn delete_host(&self, id: HostId) -> Result<bool> {
        writing!(self, pool => query(DELETE).bind(id).execute(pool).await.map(|done| done.rows_affected() > 0))
    }

    /// Keeps what a look for a proof found, and what that says about the host.
    pub async fn add_proof(&self, host: HostId, proof: &ProofRow) -> Result<()> {
        transaction!(self, tx => {
            if proof.passed {
                query(PASSED).bind(host).bind(proof.method).bind(proof.at).execute(&mut *tx).await?;
            } else {
                query(FAILED).bind(host).bind(proof.at).bind(proof.method).execute(&mut *tx).await?;
            }
            query(ADD_PROOF)
                .bind(ProofId::new())
                .bind(host)
                .bind(proof.at)
                .bind(proof.method)
                .bind(proof.passed)
                .bind(&proof.message)
                .bind(proof.status)
                .bind(&proof.expected)
                .bind(&proof.seen)
                .execute(&mut *tx)
                .await?;
            query(FORGET_OLD_PROOFS).bind(host).execute(&mut *tx).await?;
            Ok(())
        })
    }

    /// The last look for a proof of a host.
    pub async fn last_proof(&self, host: HostId) -> Result<Option<ProofRow>> {
        reading!(self, pool => query_as(LAST_PROOF).bind(host).fetch_optional(pool).await)
    }
}

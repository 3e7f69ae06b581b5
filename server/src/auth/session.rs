//! Sessions: a random id in a cookie, everything else in the database, under the hash of the id.

use axum::http::HeaderMap;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use tower_sessions::cookie::SameSite;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};
use tower_sessions::{Expiry, SessionManagerLayer, SessionStore};

use super::{INACTIVITY, USER};
use crate::config::Config;
use crate::store::sessions::SessionValues;
use crate::store::{Db, Timestamp, UserId};

/// The name of the cookie.
pub const COOKIE: &str = "oleada";

/// Sessions in the database.
#[derive(Clone, Debug)]
pub struct Sessions(Db);

/// The layer that gives each request its session.
pub fn layer(db: &Db, config: &Config) -> SessionManagerLayer<Sessions> {
    let seconds = i64::try_from(INACTIVITY.as_secs()).unwrap_or(i64::MAX);
    SessionManagerLayer::new(Sessions(db.clone()))
        .with_name(COOKIE)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_secure(is_secure(config))
        .with_expiry(Expiry::OnInactivity(time::Duration::seconds(seconds)))
}

/// Whether browsers may send the cookie over TLS only: where people are said to come by TLS. A browser drops such a cookie on a
/// plain address, and nobody could sign in.
fn is_secure(config: &Config) -> bool {
    config.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
}

/// Whether the request carries a cookie of ours.
pub fn has_cookie(headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(axum::http::header::COOKIE).iter();
    cookies.filter_map(|value| value.to_str().ok()).any(|value| {
        value.split(';').any(|pair| pair.trim_start().strip_prefix(COOKIE).is_some_and(|rest| rest.starts_with('=')))
    })
}

fn hash(id: &Id) -> [u8; 32] {
    Sha256::digest(id.0.to_le_bytes()).into()
}

/// The columns of a record.
struct Columns {
    id: [u8; 32],
    user: Option<UserId>,
    data: String,
    expires_at: Timestamp,
}

impl Columns {
    fn of(record: &Record) -> Result<Columns> {
        let user = record.data.get(USER).and_then(Value::as_str).and_then(|text| text.parse().ok());
        let data = serde_json::to_string(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
        let millis = record.expiry_date.unix_timestamp_nanos() / 1_000_000;
        Ok(Columns {
            id: hash(&record.id),
            user,
            data,
            expires_at: Timestamp(i64::try_from(millis).unwrap_or(i64::MAX)),
        })
    }

    fn values(&self) -> SessionValues<'_> {
        SessionValues { id: &self.id, user: self.user, data: &self.data, expires_at: self.expires_at }
    }
}

fn backend(error: impl std::fmt::Display) -> Error {
    Error::Backend(error.to_string())
}

#[async_trait::async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        loop {
            match self.0.add_session(Columns::of(record)?.values()).await {
                Err(error) if error.is_unique_violation() => record.id = Id::default(),
                other => return other.map_err(backend),
            }
        }
    }

    /// A session that was ended while this request ran stays ended.
    async fn save(&self, record: &Record) -> Result<()> {
        self.0.save_session(Columns::of(record)?.values()).await.map(|_| ()).map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some(row) = self.0.session(&hash(id), Timestamp::now()).await.map_err(backend)? else { return Ok(None) };
        let data = serde_json::from_str(&row.data).map_err(|error| Error::Decode(error.to_string()))?;
        let expiry_date = OffsetDateTime::from_unix_timestamp_nanos(i128::from(row.expires_at.0) * 1_000_000)
            .map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.0.delete_session(&hash(id)).await.map_err(backend)
    }
}

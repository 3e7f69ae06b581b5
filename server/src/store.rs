//! The database: SQLite inside the process or Postgres, behind one set of functions.
//!
//! A query is written once, in a `statements!` block, and runs on both. Nothing here knows HTTP, pages or rules of the product.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, PgPool, SqlitePool};
use uuid::Uuid;

pub mod history;
pub mod hosts;
pub mod plans;
pub mod runs;
pub mod samples;
pub mod series;
pub mod sessions;
pub mod shares;
pub mod users;

/// Every statement of the store, by module: what the tests prepare on both databases.
pub const STATEMENTS: &[(&str, &[(&str, &str)])] = &[
    ("history", history::STATEMENTS),
    ("hosts", hosts::STATEMENTS),
    ("plans", plans::STATEMENTS),
    ("runs", runs::STATEMENTS),
    ("samples", samples::STATEMENTS),
    ("series", series::STATEMENTS),
    ("sessions", sessions::STATEMENTS),
    ("shares", shares::STATEMENTS),
    ("users", users::STATEMENTS),
];

static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");
static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("../migrations/postgres");

/// How long a statement waits for another process that writes to the same SQLite file.
const BUSY: Duration = Duration::from_secs(5);
/// How long opening waits for another process that is migrating the same SQLite file.
const BUSY_MIGRATION: Duration = Duration::from_secs(60);

/// An open database. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Db {
    /// A file. SQLite has one writer at a time: a pool of one connection is a fair queue, where several would only collide.
    Sqlite {
        /// Connections that cannot write.
        read: SqlitePool,
        /// The one that can.
        write: SqlitePool,
    },
    /// A server.
    Postgres(PgPool),
}

/// Runs a body that only reads, once for each kind of database: `reading!(self, pool => query_as(ONE).bind(id).fetch_optional(pool).await)`.
/// The body is a `sqlx::Result`; `?` on others inside it is fine.
macro_rules! reading {
    ($db:expr, $pool:ident => $body:expr) => {{
        let result: ::sqlx::Result<_> = match $db {
            $crate::store::Db::Sqlite { read: $pool, .. } => $crate::store::body(async { $body }).await,
            $crate::store::Db::Postgres($pool) => $crate::store::body(async { $body }).await,
        };
        result.map_err($crate::store::Error::from)
    }};
}

/// Like [`reading!`] for a body of one statement that writes.
macro_rules! writing {
    ($db:expr, $pool:ident => $body:expr) => {{
        let result: ::sqlx::Result<_> = match $db {
            $crate::store::Db::Sqlite { write: $pool, .. } => $crate::store::body(async { $body }).await,
            $crate::store::Db::Postgres($pool) => $crate::store::body(async { $body }).await,
        };
        result.map_err($crate::store::Error::from)
    }};
}

/// Runs a body of several statements as one: all or none. `$tx` is the transaction; statements run on `&mut *tx`. An error
/// (or a dropped future) undoes everything. On SQLite it begins `immediate`: a transaction that reads first and writes later
/// would otherwise fail when another process wrote in between.
macro_rules! transaction {
    ($db:expr, $tx:ident => $body:expr) => {{
        let result: ::sqlx::Result<_> = match $db {
            $crate::store::Db::Sqlite { write, .. } => {
                async {
                    let mut $tx = write.begin_with("begin immediate").await?;
                    let value = $crate::store::body(async { $body }).await?;
                    $tx.commit().await?;
                    ::sqlx::Result::Ok(value)
                }
                .await
            }
            $crate::store::Db::Postgres(pool) => {
                async {
                    let mut $tx = pool.begin().await?;
                    let value = $crate::store::body(async { $body }).await?;
                    $tx.commit().await?;
                    ::sqlx::Result::Ok(value)
                }
                .await
            }
        };
        result.map_err($crate::store::Error::from)
    }};
}

/// Names the SQL of a module and lists it in `STATEMENTS`, so that the tests can prepare all of it on both databases.
macro_rules! statements {
    ($($(#[$meta:meta])* $name:ident = $sql:expr;)+) => {
        $($(#[$meta])* const $name: &str = $sql;)+
        /// This module's statements by name.
        pub const STATEMENTS: &[(&str, &str)] = &[$((stringify!($name), $name)),+];
    };
}

/// Tells the compiler what a body answers, so that `?` and a bare `Ok(())` work in it.
pub(crate) fn body<T>(body: impl Future<Output = sqlx::Result<T>>) -> impl Future<Output = sqlx::Result<T>> {
    body
}

pub(crate) use {reading, statements, transaction, writing};

/// What the database had to say.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] sqlx::Error);

impl Error {
    /// Whether a uniqueness constraint was broken. Which one, SQLite does not say.
    pub fn is_unique_violation(&self) -> bool {
        matches!(&self.0, sqlx::Error::Database(error) if error.is_unique_violation())
    }

    /// Whether a row that is referred to is not there.
    pub fn is_foreign_key_violation(&self) -> bool {
        matches!(&self.0, sqlx::Error::Database(error) if error.is_foreign_key_violation())
    }
}

/// Result of a store function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A moment: milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type, serde::Serialize, serde::Deserialize,
)]
#[sqlx(transparent)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Now, by the system's clock.
    pub fn now() -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// This moment moved by `duration`.
    #[must_use]
    pub fn after(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// An id of its own type: UUID version 7, so that newer rows sort after older ones.
macro_rules! id {
    ($($(#[$meta:meta])* $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type, serde::Serialize, serde::Deserialize)]
        #[sqlx(transparent)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new one, greater than those made before by this process.
            pub fn new() -> $name {
                $name(Uuid::now_v7())
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        /// Only the usual spelling: 36 characters in lower case.
        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<$name, NotAnId> {
                let id = Uuid::parse_str(text).map_err(|_| NotAnId)?;
                if id.to_string() == text { Ok($name(id)) } else { Err(NotAnId) }
            }
        }
    )+};
}

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct NotAnId;

id! {
    /// An account.
    UserId;
    /// A registered host.
    HostId;
    /// A look for a proof.
    ProofId;
    /// A test (plan).
    PlanId;
    /// A former version of a test.
    VersionId;
    /// One execution of a test.
    RunId;
    /// Several runs of a test, one after the other.
    SeriesId;
}

/// Why a database cannot be used: a sentence for the operator.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is neither SQLite's nor Postgres's, or cannot be read.
    #[error("the database URL must be sqlite:FILE or postgres://USER:PASSWORD@HOST/NAME{0}")]
    Url(String),
    /// It cannot be reached or opened.
    #[error("the database cannot be opened: {0}")]
    Open(sqlx::Error),
    /// It was made by a newer version.
    #[error(
        "the database was made by a newer version of Oleada (it has migration {0}, which this version does not know); use that version or another database"
    )]
    Newer(i64),
    /// A migration that it has is not the one that this version knows.
    #[error("migration {0} was changed after this database had applied it; use the version that made the database")]
    Changed(i64),
    /// A migration failed.
    #[error("the database could not be migrated: {0}")]
    Migrate(MigrateError),
}

impl From<MigrateError> for OpenError {
    fn from(error: MigrateError) -> OpenError {
        match error {
            MigrateError::VersionMissing(version) => OpenError::Newer(version),
            MigrateError::VersionMismatch(version) => OpenError::Changed(version),
            other => OpenError::Migrate(other),
        }
    }
}

impl Db {
    /// Opens a database by its URL and brings its schema up to date. An SQLite file is made if it is missing.
    ///
    /// # Errors
    /// [`OpenError`], a sentence for the operator.
    pub async fn open(url: &str) -> Result<Db, OpenError> {
        let (url, runtime) = (url.to_owned(), tokio::runtime::Handle::current());
        // On a thread that may block: the compiler cannot prove the migrator's futures `Send`, and callers spawn this one.
        match tokio::task::spawn_blocking(move || runtime.block_on(Db::open_here(&url))).await {
            Ok(opened) => opened,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }

    async fn open_here(url: &str) -> Result<Db, OpenError> {
        if url.starts_with("sqlite:") {
            Db::open_sqlite(url).await
        } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            Db::open_postgres(url).await
        } else {
            Err(OpenError::Url(String::new()))
        }
    }

    async fn open_sqlite(url: &str) -> Result<Db, OpenError> {
        if url.contains(":memory:") || url.contains("mode=memory") {
            return Err(OpenError::Url("; a database in memory would lose everything at the end".into()));
        }
        let options = SqliteConnectOptions::from_str(url)
            .map_err(|error| OpenError::Url(format!(": {error}")))?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            // What is deleted or overwritten may have been a secret.
            .pragma("secure_delete", "on")
            .busy_timeout(BUSY)
            .disable_statement_logging();
        migrate_sqlite(options.clone().busy_timeout(BUSY_MIGRATION)).await?;
        let write =
            SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await.map_err(OpenError::Open)?;
        let read = SqlitePoolOptions::new()
            .max_connections(4)
            .connect_with(options.pragma("query_only", "on"))
            .await
            .map_err(OpenError::Open)?;
        Ok(Db::Sqlite { read, write })
    }

    async fn open_postgres(url: &str) -> Result<Db, OpenError> {
        let options = sqlx::postgres::PgConnectOptions::from_str(url)
            .map_err(|error| OpenError::Url(format!(": {error}")))?
            .application_name("oleada")
            .disable_statement_logging();
        let pool = PgPoolOptions::new()
            .max_connections(10)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options)
            .await
            .map_err(OpenError::Open)?;
        POSTGRES_MIGRATIONS.run(&pool).await?;
        Ok(Db::Postgres(pool))
    }

    /// Closes every connection, waiting for statements that are under way.
    pub async fn close(&self) {
        match self {
            Db::Sqlite { read, write } => {
                read.close().await;
                write.close().await;
            }
            Db::Postgres(pool) => pool.close().await,
        }
    }
}

/// The file of an SQLite database; `None` for a URL of another kind, or one that cannot be read.
pub fn sqlite_file(url: &str) -> Option<PathBuf> {
    let options = SqliteConnectOptions::from_str(url).ok().filter(|_| url.starts_with("sqlite:"))?;
    Some(options.get_filename().to_owned())
}

/// Applies all migrations in one immediate transaction, so that a second process waits for the first and finds them done.
async fn migrate_sqlite(options: SqliteConnectOptions) -> Result<(), OpenError> {
    let mut connection = connect_when_free(&options).await.map_err(OpenError::Open)?;
    let mut tx = connection.begin_with("begin immediate").await.map_err(OpenError::Open)?;
    SQLITE_MIGRATIONS.run(&mut *tx).await?;
    tx.commit().await.map_err(OpenError::Open)?;
    connection.close().await.map_err(OpenError::Open)
}

/// Switching a new file to WAL does not wait for another process that does the same: SQLite answers "locked" at once.
async fn connect_when_free(options: &SqliteConnectOptions) -> sqlx::Result<sqlx::SqliteConnection> {
    let mut tries = 100;
    loop {
        match options.connect().await {
            Err(sqlx::Error::Database(error)) if tries > 0 && error.message().contains("locked") => tries -= 1,
            other => return other,
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a millisecond does not matter while waiting for another process"
        )]
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

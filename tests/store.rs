//! The contract of the store: every function on both databases, every statement prepared on both, the same schema in both.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harness::db::TestDb;
use oleada_server::store::hosts::{Method, NewHost, Ownership, ProofRow, SchemeHint};
use oleada_server::store::sessions::SessionValues;
use oleada_server::store::users::{Admission, NewUser, UserRow};
use oleada_server::store::{Db, HostId, OpenError, STATEMENTS, Timestamp, UserId};
use sqlx::{Column as _, Either, Executor as _, SqlStr, Statement as _};

#[path = "store/runs.rs"]
mod runs;
#[path = "store/series.rs"]
mod series;

/// Runs a test on each kind of database that this machine has.
async fn on_each(test: impl AsyncFn(&Db)) {
    for (name, file) in TestDb::each().await {
        println!("on {name}");
        let db = Db::open(file.url()).await.unwrap();
        test(&db).await;
        db.close().await;
    }
}

async fn user(db: &Db, name: &str) -> UserRow {
    let new = NewUser { email: &format!("{name}@people.test"), name, password_hash: "$hash$" };
    db.add_user(&new, Admission::Anybody).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_made_found_and_changed() {
    on_each(async |db| {
        assert!(!db.is_set_up().await.unwrap());
        let later = NewUser { email: "early@people.test", name: "Early", password_hash: "x" };
        assert_eq!(db.add_user(&later, Admission::Later).await.unwrap(), None);
        assert!(!db.is_set_up().await.unwrap(), "a refused account sets nothing up");

        let anna = user(db, "anna").await;
        assert!(anna.is_operator && db.is_set_up().await.unwrap());
        assert_eq!(db.add_user(&later, Admission::First).await.unwrap(), None);
        let bert = user(db, "bert").await;
        assert!(!bert.is_operator && bert.id > anna.id);
        let carla = NewUser { email: "carla@people.test", name: "Carla", password_hash: "x" };
        assert!(db.add_user(&carla, Admission::Operator).await.unwrap().unwrap().is_operator);

        let again = NewUser { email: "anna@people.test", name: "Other", password_hash: "x" };
        assert!(db.add_user(&again, Admission::Anybody).await.unwrap_err().is_unique_violation());
        assert_eq!(db.user(anna.id).await.unwrap().as_ref(), Some(&anna));
        assert_eq!(db.user_by_email("anna@people.test").await.unwrap().as_ref(), Some(&anna));
        assert_eq!(db.user_by_email("nobody@people.test").await.unwrap(), None);
        assert_eq!(db.user(UserId::new()).await.unwrap(), None);
        let names: Vec<_> = db.users().await.unwrap().into_iter().map(|user| user.name).collect();
        assert_eq!(names, ["anna", "bert", "Carla"]);

        db.refresh_password_hash(anna.id, "$fresh$").await.unwrap();
        assert_eq!(db.user(anna.id).await.unwrap().unwrap().password_hash, "$fresh$");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_once_one_is_the_first() {
    on_each(async |db| {
        let one = |n: u32| {
            let db = db.clone();
            tokio::spawn(async move {
                let email = format!("u{n}@people.test");
                let new = NewUser { email: &email, name: "u", password_hash: "x" };
                db.add_user(&new, Admission::First).await.unwrap().is_some()
            })
        };
        let attempts: Vec<_> = (0..8).map(one).collect();
        let mut firsts = 0;
        for attempt in attempts {
            firsts += u32::from(attempt.await.unwrap());
        }
        assert_eq!((firsts, db.users().await.unwrap().len()), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_kept_until_they_end() {
    on_each(async |db| {
        let (anna, now) = (user(db, "anna").await, Timestamp::now());
        let later = now.after(Duration::from_secs(60));
        let session =
            |id: &'static [u8], user, data: &'static str, expires_at| SessionValues { id, user, data, expires_at };
        db.add_session(session(b"one", Some(anna.id), "{}", later)).await.unwrap();
        db.add_session(session(b"two", None, "{}", now)).await.unwrap();
        assert!(db.add_session(session(b"one", None, "{}", later)).await.unwrap_err().is_unique_violation());

        assert_eq!(db.session(b"one", now).await.unwrap().unwrap().expires_at, later);
        assert_eq!(db.session(b"one", later).await.unwrap(), None, "it ends at its end, not after it");
        assert_eq!(db.session(b"two", now).await.unwrap(), None);
        assert!(db.save_session(session(b"one", Some(anna.id), "{\"a\":\"ü\"}", later)).await.unwrap());
        assert_eq!(db.session(b"one", now).await.unwrap().unwrap().data, "{\"a\":\"ü\"}");
        assert_eq!(db.sweep_sessions(now).await.unwrap(), 1);

        db.delete_session(b"one").await.unwrap();
        assert!(!db.save_session(session(b"one", None, "{}", later)).await.unwrap());
        assert_eq!(db.session(b"one", now).await.unwrap(), None, "an ended session does not come back");

        db.add_session(session(b"three", Some(anna.id), "{}", later)).await.unwrap();
        db.add_session(session(b"four", None, "{}", later)).await.unwrap();
        db.set_password(anna.id, "$new$").await.unwrap();
        assert_eq!(db.session(b"three", now).await.unwrap(), None, "a new password ends the account's sessions");
        assert!(db.session(b"four", now).await.unwrap().is_some());
        assert_eq!(db.user(anna.id).await.unwrap().unwrap().password_hash, "$new$");
    })
    .await;
}

fn new_host<'a>(user: UserId, host: &'a str, port: u16) -> NewHost<'a> {
    NewHost { user, host, port, scheme: SchemeHint::Https, token: "0123456789abcdef0123456789abcdef" }
}

fn proof(at: i64, passed: bool) -> ProofRow {
    ProofRow {
        at: Timestamp(at),
        method: Method::File,
        passed,
        message: "What happened.".into(),
        status: Some(404),
        expected: "oleada-x".into(),
        seen: Some("<h1>".into()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_belong_to_accounts_and_change_with_their_proofs() {
    on_each(async |db| {
        let (anna, bert) = (user(db, "anna").await.id, user(db, "bert").await.id);
        let id = db.add_host(&new_host(anna, "shop.example", 443)).await.unwrap();
        assert!(db.add_host(&new_host(anna, "shop.example", 443)).await.unwrap_err().is_unique_violation());
        assert!(
            db.add_host(&new_host(UserId::new(), "shop.example", 443)).await.unwrap_err().is_foreign_key_violation()
        );
        db.add_host(&new_host(anna, "shop.example", 80)).await.unwrap();
        db.add_host(&new_host(bert, "shop.example", 443)).await.unwrap();

        let host = db.host(id).await.unwrap().unwrap();
        assert_eq!(
            (host.user_id, host.port, host.scheme, host.state),
            (anna, 443, SchemeHint::Https, Ownership::Unverified)
        );
        assert_eq!((host.method, host.verified_at, host.checked_at), (None, None, None));
        assert_eq!(db.host(HostId::new()).await.unwrap(), None);
        assert_eq!(db.host_at(anna, "shop.example", 443).await.unwrap(), Some(host));
        assert_eq!(db.host_at(bert, "shop.example", 80).await.unwrap(), None);
        let ports: Vec<_> = db.hosts(anna).await.unwrap().iter().map(|host| host.port).collect();
        assert_eq!(ports, [80, 443]);

        assert_eq!(db.last_proof(id).await.unwrap(), None);
        for (at, passed, state, verified) in [
            (1, false, Ownership::Unverified, None),
            (2, true, Ownership::Verified, Some(2)),
            (3, false, Ownership::Lost, Some(2)),
            (4, true, Ownership::Verified, Some(4)),
        ] {
            db.add_proof(id, &proof(at, passed)).await.unwrap();
            let host = db.host(id).await.unwrap().unwrap();
            assert_eq!(
                (host.state, host.verified_at.map(|t| t.0), host.checked_at),
                (state, verified, Some(Timestamp(at)))
            );
            assert_eq!(db.last_proof(id).await.unwrap(), Some(proof(at, passed)));
        }
        for at in 5..40 {
            db.add_proof(id, &proof(at, true)).await.unwrap();
        }
        assert_eq!(db.last_proof(id).await.unwrap().unwrap().at, Timestamp(39));
        assert!(db.delete_host(id).await.unwrap() && !db.delete_host(id).await.unwrap());
        assert_eq!((db.host(id).await.unwrap(), db.last_proof(id).await.unwrap()), (None, None));
    })
    .await;
}

/// What a database says of a statement: parameters and the names of its columns.
async fn prepared(db: &Db, sql: &'static str) -> Result<(usize, Vec<String>), sqlx::Error> {
    macro_rules! on {
        ($pool:expr) => {{
            let statement = $pool.prepare(SqlStr::from_static(sql)).await?;
            let parameters = statement.parameters().map_or(0, |p| match p {
                Either::Left(types) => types.len(),
                Either::Right(count) => count,
            });
            (parameters, statement.columns().iter().map(|column| column.name().replace("(*)", "")).collect())
        }};
    }
    Ok(match db {
        Db::Sqlite { write, .. } => on!(write),
        Db::Postgres(pool) => on!(pool),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_prepares_and_means_the_same_on_both() {
    let mut found: BTreeMap<String, BTreeSet<(usize, Vec<String>)>> = BTreeMap::new();
    for (kind, file) in TestDb::each().await {
        let db = Db::open(file.url()).await.unwrap();
        for (module, statements) in STATEMENTS {
            assert!(!statements.is_empty(), "{module}");
            for (name, sql) in *statements {
                let what =
                    prepared(&db, sql).await.unwrap_or_else(|error| panic!("{module}::{name} on {kind}: {error}"));
                found.entry(format!("{module}::{name}")).or_default().insert(what);
            }
        }
        db.close().await;
    }
    for (name, meanings) in found {
        assert_eq!(meanings.len(), 1, "{name}: {meanings:?}");
    }
}

/// The source files below a folder of the server.
fn sources(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn sql_is_written_in_the_store_and_listed_there() {
    let server = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src");
    let mut files = Vec::new();
    sources(&server, &mut files);
    assert!(files.len() > 20, "{files:?}");
    let listed: BTreeSet<String> = STATEMENTS.iter().map(|(module, _)| format!("{module}.rs")).collect();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&server).unwrap();
        let in_store = name.starts_with("store") || name.starts_with("store.rs");
        assert!(in_store || !text.contains("sqlx::"), "{} speaks to the database itself", name.display());
        if name.starts_with("store") && text.contains("query") {
            assert!(
                listed.contains(name.file_name().unwrap().to_str().unwrap()),
                "{} is not in STATEMENTS",
                name.display()
            );
            for call in ["query(\"", "query_as(\"", "query_scalar(\"", "query(\n", "AssertSqlSafe"] {
                assert!(!text.contains(call), "{}: {call} is SQL outside of `statements!`", name.display());
            }
        }
    }
}

/// Tables, columns, kinds and nullability; and the names of indexes.
type Schema = (BTreeSet<(String, String, &'static str, bool)>, BTreeSet<String>);

fn kind(name: &str) -> &'static str {
    match name.to_ascii_lowercase().as_str() {
        "blob" | "uuid" | "bytea" => "bytes",
        "integer" | "bigint" | "boolean" => "integer",
        "text" => "text",
        "real" | "double precision" => "real",
        other => panic!("a type that has no twin: {other}"),
    }
}

/// Table, column, type, nullable.
type Column = (String, String, String, bool);

async fn schema(db: &Db) -> Schema {
    let (columns, indexes): (Vec<Column>, Vec<String>) = match db {
        Db::Sqlite { read, .. } => (
            sqlx::query_as(
                "select m.name, c.name, c.type, c.\"notnull\" = 0 and c.pk = 0
                 from sqlite_master m, pragma_table_info(m.name) c
                 where m.type = 'table' and m.name not like 'sqlite_%' and m.name not like '_sqlx%'",
            )
            .fetch_all(read)
            .await
            .unwrap(),
            sqlx::query_scalar("select name from sqlite_master where type = 'index' and sql is not null").fetch_all(read).await.unwrap(),
        ),
        Db::Postgres(pool) => (
            sqlx::query_as(
                "select table_name::text, column_name::text, data_type::text, is_nullable = 'YES'
                 from information_schema.columns
                 where table_schema = current_schema() and table_name not like '\\_sqlx%'",
            )
            .fetch_all(pool)
            .await
            .unwrap(),
            sqlx::query_scalar(
                "select i.relname::text
                 from pg_index x join pg_class i on i.oid = x.indexrelid join pg_namespace n on n.oid = i.relnamespace
                 where n.nspname = current_schema() and not exists (select 1 from pg_constraint c where c.conindid = x.indexrelid)",
            )
            .fetch_all(pool)
            .await
            .unwrap(),
        ),
    };
    let columns = columns.into_iter().map(|(table, column, of, nullable)| (table, column, kind(&of), nullable));
    (columns.collect(), indexes.into_iter().collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_schemas_are_the_same() {
    let mut schemas = Vec::new();
    for (_, file) in TestDb::each().await {
        let db = Db::open(file.url()).await.unwrap();
        schemas.push(schema(&db).await);
        db.close().await;
    }
    let tables: BTreeSet<_> = schemas[0].0.iter().map(|(table, ..)| table.as_str()).collect();
    assert!(tables.is_superset(&["users", "sessions", "hosts", "proofs"].into()), "{tables:?}");
    for other in &schemas[1..] {
        assert_eq!(&schemas[0], other);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_open_a_new_database_at_once() {
    for (kind, file) in TestDb::each().await {
        let open = |_| {
            tokio::spawn({
                let url = file.url().to_owned();
                async move { Db::open(&url).await }
            })
        };
        let opening: Vec<_> = (0..6).map(open).collect();
        for db in opening {
            let db = db.await.unwrap().unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert!(!db.is_set_up().await.unwrap());
            db.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_database_is_refused_in_a_sentence() {
    for (_, file) in TestDb::each().await {
        let db = Db::open(file.url()).await.unwrap();
        let later =
            "update _sqlx_migrations set version = 9999 where version = (select max(version) from _sqlx_migrations)";
        match &db {
            Db::Sqlite { write, .. } => _ = write.execute(later).await.unwrap(),
            Db::Postgres(pool) => _ = pool.execute(later).await.unwrap(),
        }
        db.close().await;
        let error = Db::open(file.url()).await.unwrap_err();
        assert!(
            matches!(error, OpenError::Newer(9999)) && error.to_string().contains("newer version of Oleada"),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_database_is_refused_in_a_sentence() {
    for url in [
        "mysql://x",
        "sqlite::memory:",
        "sqlite:/nowhere/at/all/oleada.db",
        "postgres://127.0.0.1:1/x?connect_timeout=1",
    ] {
        let error = Db::open(url).await.unwrap_err().to_string();
        assert!(error.contains("database"), "{url}: {error}");
    }
}

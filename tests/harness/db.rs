//! One database for each test: a file, or one of its own on the Postgres that `OLEADA_TEST_POSTGRES` names.

use std::path::PathBuf;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use crate::tools::temp_dir;

/// A database that is gone when this is dropped.
pub struct TestDb {
    url: String,
    kind: Kind,
}

enum Kind {
    File(PathBuf),
    /// The administrator's URL and the database's name.
    Postgres(String, String),
}

impl TestDb {
    /// A file that does not exist yet.
    pub fn sqlite() -> TestDb {
        let folder = temp_dir("db");
        TestDb { url: format!("sqlite:{}", folder.join("oleada.db").display()), kind: Kind::File(folder) }
    }

    /// An empty Postgres database. Without a server the test says that it skips, and under `CI=true` it fails.
    pub async fn postgres() -> Option<TestDb> {
        let admin = administrator()?;
        let name = format!("oleada_test_{}", uuid::Uuid::now_v7().simple());
        let mut connection = PgConnection::connect(&admin).await.expect("OLEADA_TEST_POSTGRES answers");
        connection.execute(AssertSqlSafe(format!("create database {name}"))).await.expect("a database is made");
        let mut url = url::Url::parse(&admin).expect("OLEADA_TEST_POSTGRES is a URL");
        url.set_path(&name);
        Some(TestDb { url: url.into(), kind: Kind::Postgres(admin, name) })
    }

    /// Each kind that this machine has, named.
    pub async fn each() -> Vec<(&'static str, TestDb)> {
        let mut all = vec![("sqlite", TestDb::sqlite())];
        all.extend(TestDb::postgres().await.map(|db| ("postgres", db)));
        all
    }

    /// For `Db::open` and `--database`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The URL of a Postgres on which databases may be made.
#[expect(clippy::disallowed_methods, reason = "the environment is how `cargo xtask test` tells what there is")]
fn administrator() -> Option<String> {
    let url = std::env::var("OLEADA_TEST_POSTGRES").ok();
    if url.is_none() {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "OLEADA_TEST_POSTGRES is not set; run the tests with `cargo xtask test`"
        );
        eprintln!("skipped on Postgres: OLEADA_TEST_POSTGRES is not set; run the tests with `cargo xtask test`");
    }
    url
}

impl Drop for TestDb {
    fn drop(&mut self) {
        match &self.kind {
            Kind::File(folder) => drop(std::fs::remove_dir_all(folder)),
            Kind::Postgres(admin, name) => {
                let (admin, name) = (admin.clone(), name.clone());
                // A thread of its own: the test's runtime may be the one that is dropping this.
                let dropping = std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                    runtime.block_on(async {
                        let mut connection = PgConnection::connect(&admin).await?;
                        connection.execute(AssertSqlSafe(format!("drop database {name} with (force)"))).await?;
                        anyhow::Ok(())
                    })
                });
                if !matches!(dropping.join(), Ok(Ok(()))) {
                    eprintln!("a test's database was left behind");
                }
            }
        }
    }
}

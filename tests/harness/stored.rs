//! Runs with made-up results: what would take a day to measure is written into the database of a running server.

use oleada_engine::distribution::Totals;
use oleada_engine::plan::Plan;
use oleada_engine::result::{EndReason, Point, Record, ResultDoc};
use oleada_engine::window::{Merge, Window};
use oleada_server::runs::kept;
use oleada_server::store::samples::Sample;
use oleada_server::store::{Db, RunId};
use sqlx::SqlitePool;

use crate::db::TestDb;
use crate::server::Server;
use crate::tools::Target;
use crate::user::{SignedIn, form_of};

/// A server whose database the test can reach, somebody signed in, and a run that is over.
pub struct Stored {
    /// The server.
    pub server: Server,
    /// Its database.
    pub db: Db,
    /// Who owns the run.
    pub user: SignedIn,
    /// The run's path.
    pub run: String,
    /// Its id.
    pub id: RunId,
    _target: Target,
}

impl Stored {
    /// Makes a run of one request.
    pub async fn new() -> Stored {
        let file = TestDb::sqlite();
        let url = file.url().to_owned();
        let (server, target) = (Server::start_on(file, |_| {}).await, Target::start().expect("a target"));
        let user = server.sign_up("anna").await;
        user.post("/hosts", &[("address", target.address())]).await;
        let form = form_of(&[
            ("name", "Stored"),
            ("load", "fixed_count"),
            ("requests", "1"),
            ("clients", "1"),
            ("requests[0].method", "GET"),
            ("requests[0].url", &target.url("/")),
            ("action", "run"),
        ]);
        let run = user.post_pairs("/tests", &form).await.location();
        user.wait_for_run(&run).await;
        let db = Db::open(&url).await.expect("the same database");
        let id = run.trim_start_matches("/runs/").parse().expect("an id");
        Stored { server, db, user, run, id, _target: target }
    }

    fn pool(&self) -> &SqlitePool {
        match &self.db {
            Db::Sqlite { write, .. } => write,
            Db::Postgres(_) => panic!("these tests use a file"),
        }
    }

    /// Puts other seconds and another result in place of what was measured.
    pub async fn replace(&self, windows: &[Window], result: &ResultDoc) {
        self.clear().await;
        for window in windows {
            self.db.add_sample(self.id, 0, &Sample::of(window)).await.expect("a second is stored");
        }
        let points: Vec<Point> = windows.iter().map(Point::of).collect();
        let kept = kept::kept(&Totals::of(&sum(windows)), &points);
        self.db.keep_for_report(self.id, &kept).await.expect("the rest is stored");
        self.set_result(result).await;
    }

    /// As [`Stored::replace`], without the windows, which would take long; all in one transaction.
    pub async fn replace_points(&self, points: &[Point], result: &ResultDoc) {
        self.clear().await;
        let mut tx = self.pool().begin().await.expect("a transaction");
        for p in points {
            sqlx::query(
                "insert into samples (run_id, shard, t, planned, sent, ok, errors, clients, p50, p95, p99, max, bytes_received, bytes_sent, network)
                 values ($1, 0, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            )
            .bind(self.id)
            .bind(i64::from(p.t))
            .bind(p.planned as i64)
            .bind(p.sent as i64)
            .bind(p.ok as i64)
            .bind(p.errors as i64)
            .bind(p.clients)
            .bind(p.p50)
            .bind(p.p95)
            .bind(p.p99)
            .bind(p.max)
            .bind(p.bytes_received as i64)
            .bind(p.bytes_sent as i64)
            .bind(p.network as i64)
            .execute(&mut *tx)
            .await
            .expect("a second is stored");
        }
        tx.commit().await.expect("all of them are");
        self.set_result(result).await;
    }

    async fn clear(&self) {
        for sql in ["delete from samples where run_id = $1", "delete from windows where run_id = $1"] {
            sqlx::query(sql).bind(self.id).execute(self.pool()).await.expect("what was there goes");
        }
        let nothing = oleada_server::store::runs::Kept::default();
        self.db.keep_for_report(self.id, &nothing).await.expect("what was kept goes");
    }

    async fn set_result(&self, result: &ResultDoc) {
        let json = serde_json::to_string(result).expect("a result is JSON");
        let set = sqlx::query("update runs set result = $2 where id = $1").bind(self.id).bind(json);
        set.execute(self.pool()).await.expect("the result is stored");
    }

    /// Makes the public link.
    pub async fn share(&self) -> String {
        self.user.post(&format!("{}/share", self.run), &[]).await.location();
        let page = self.user.get(&self.run).await.body;
        let (_, token) = page.split_once("/r/").expect("a link");
        format!("/r/{}", token.chars().take_while(char::is_ascii_alphanumeric).collect::<String>())
    }
}

/// All windows together.
pub fn sum(windows: &[Window]) -> Window {
    let mut totals = Window::default();
    windows.iter().for_each(|window| totals.merge(window, Merge::OtherSecond));
    totals
}

/// The result of a run of one request that lasted `seconds`.
pub fn result(totals: &Window, seconds: f64) -> ResultDoc {
    let plan: Plan = serde_json::from_value(serde_json::json!({
        "load": { "type": "per_second", "rate": 10.0 },
        "duration_s": seconds,
        "requests": [{ "url": "http://127.0.0.1:9900/" }],
    }))
    .expect("a plan");
    let record = Record {
        plan: &plan,
        started_at: "2026-12-01T10:00:00.000Z".into(),
        duration: std::time::Duration::from_secs_f64(seconds),
        end: Some(EndReason::Completed),
        totals,
        in_flight_at_end_us: &[],
        clients_capped: 0,
        threads: 2,
        max_rss_mb: Some(20.0),
    };
    record.document(None)
}

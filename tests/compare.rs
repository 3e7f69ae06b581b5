//! Comparing runs: what is said of noise and of change, of missing values and unlike runs; baselines; trends.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::time::Duration;

use harness::db::TestDb;
use harness::tools::Target;
use harness::user::{Reply, SignedIn};
use harness::{Server, form_of};
use oleada_engine::outcome::Outcome;
use oleada_engine::plan::Plan;
use oleada_engine::result::{EndReason, Record};
use oleada_engine::window::{Merge, Window};
use oleada_server::store::plans::PlanRow;
use oleada_server::store::samples::Sample;
use oleada_server::store::{Db, RunId, Timestamp};
use sqlx::{Connection as _, SqliteConnection};

const OPEN: &[(&str, &str)] = &[("load", "per_second"), ("rate", "50"), ("duration_s", "20")];
const FEW: &[(&str, &str)] = &[("load", "fixed_count"), ("requests", "5"), ("clients", "1")];

fn form(load: &[(&str, &str)], url: &str) -> Vec<(String, String)> {
    let rest =
        [("name", "Front page"), ("requests[0].method", "GET"), ("requests[0].url", url), ("error_threshold", "100")];
    form_of(load).into_iter().chain(form_of(&rest)).collect()
}

async fn make_test(user: &SignedIn, load: &[(&str, &str)], url: &str) -> String {
    user.post_pairs("/tests", &form(load, url)).await.location()
}

/// Runs a test to its end; returns its path.
async fn run(user: &SignedIn, test: &str) -> String {
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    user.wait_for_run(&run).await;
    run
}

fn id(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

async fn compare(user: &SignedIn, runs: &[&str]) -> Reply {
    let query: Vec<String> = runs.iter().map(|run| format!("run={}", id(run))).collect();
    let page = user.get(&format!("/compare?{}", query.join("&"))).await;
    assert_eq!(page.status, 200, "{}", page.body);
    for bad in ["NaN", "inf ", "∞"] {
        assert!(!page.main().contains(bad), "{bad}");
    }
    page
}

/// The cells of a row of figures after its label, as words.
fn row(page: &Reply, label: &str) -> String {
    let rows = page.select(".compare tbody tr");
    rows.into_iter().find(|row| row.starts_with(label)).unwrap_or_else(|| panic!("no {label}: {}", page.body))
}

/// SplitMix64 and the standard normal of Box and Muller.
struct Random(u64);

impl Random {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Fifty answers a second for twenty seconds, lognormal around a median (σ = 0.3).
fn seconds(seed: u64, median_ms: f64) -> Vec<Window> {
    let mut random = Random(seed.wrapping_mul(7919));
    let second = |t| {
        let mut window = Window::new(t, 1);
        for _ in 0..50 {
            (window.ledger.planned, window.ledger.sent) = (window.ledger.planned + 1, window.ledger.sent + 1);
            window.ledger.finish(Outcome::Answered(200));
            window.record_latency(((median_ms.ln() + 0.3 * random.normal()).exp() * 1000.0) as u64, true);
        }
        window.counters.client_us = 1_000_000;
        window
    };
    (0..20).map(second).collect()
}

/// Somebody whose runs can be written into the database as if they had been made.
struct Made {
    server: Server,
    db: Db,
    url: String,
}

impl Made {
    async fn start() -> Made {
        let file = TestDb::sqlite();
        let url = file.url().to_owned();
        let server = Server::start_on(file, |_| {}).await;
        let db = Db::open(&url).await.unwrap();
        Made { server, db, url }
    }

    async fn plan(&self, user: &SignedIn, test: &str) -> PlanRow {
        let owner = self.db.user_by_email(&user.email).await.unwrap().unwrap().id;
        self.db.plan(owner, id(test).parse().unwrap()).await.unwrap().unwrap()
    }

    /// A run that is over, `age` minutes ago.
    async fn run(&self, user: &SignedIn, row: &PlanRow, windows: &[Window], age: i64) -> String {
        let plan: Plan = serde_json::from_str(&row.spec).unwrap();
        let mut totals = Window::new(0, 1);
        windows.iter().for_each(|window| totals.merge(window, Merge::OtherSecond));
        let record = Record {
            plan: &plan,
            started_at: "2026-12-01T10:00:00.000Z".into(),
            duration: Duration::from_secs(windows.len() as u64),
            end: Some(EndReason::Completed),
            totals: &totals,
            in_flight_at_end_us: &[],
            clients_capped: 0,
            threads: 2,
            max_rss_mb: None,
        };
        let document = record.document(None);
        let (result, latency) = (serde_json::to_string(&document).unwrap(), document.latency_ms);
        let owner = self.db.user_by_email(&user.email).await.unwrap().unwrap().id;
        let (run, at) = (RunId::new(), Timestamp(Timestamp::now().0 - age * 60_000));
        let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
        sqlx::query(
            "insert into runs (id, owner_id, plan_id, name, spec, state, end_reason, queued_at, started_at, ended_at, result,
                requests_per_second, p50, p95, p99, error_rate, duration_s)
             values ($1, $2, $3, $4, $5, 'over', 'completed', $6, $6, $6, $7, $8, $9, $10, $11, $12, $13)",
        )
        .bind(run)
        .bind(owner)
        .bind(row.id)
        .bind(&row.name)
        .bind(&row.spec)
        .bind(at)
        .bind(&result)
        .bind(document.requests_per_second)
        .bind(latency.p50)
        .bind(latency.p95)
        .bind(latency.p99)
        .bind(document.error_rate)
        .bind(document.duration_s)
        .execute(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
        for window in windows {
            self.db.add_sample(run, 0, &Sample::of(window)).await.unwrap();
        }
        format!("/runs/{run}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b70_noise_is_not_presented_as_a_change() {
    let made = Made::start().await;
    let user = made.server.sign_up("anna").await;
    let test = make_test(&user, OPEN, "http://127.0.0.1:9900/").await;
    let plan = made.plan(&user, &test).await;
    let (mut clean, mut found) = (0, 0);
    for pair in 0..10 {
        let first = made.run(&user, &plan, &seconds(2 * pair + 1, 20.0), 90).await;
        let second = made.run(&user, &plan, &seconds(2 * pair + 2, 20.0), 60).await;
        let slower = made.run(&user, &plan, &seconds(1000 + 2 * pair, 22.0), 30).await;
        let page = compare(&user, &[&first, &second, &slower]).await;
        let told = page.select(".findings-list > li");
        assert_eq!(told.len(), 2);
        let is_change = |text: &str| ["slower", "faster", "higher", "lower"].iter().any(|word| text.contains(word));
        clean += i32::from(!is_change(&told[0].replace("too little to matter", "")));
        found += i32::from(told[1].contains("p50") && told[1].contains("% slower ("));
        assert!(told[0].contains("no evidence of change"), "{told:?}");
        // No triangle where there is no change.
        let marked = page
            .select(".compare tbody tr td:nth-child(3) .diff.better, .compare tbody tr td:nth-child(3) .diff.worse");
        assert_eq!(marked.is_empty(), !is_change(&told[0]), "{marked:?}");
    }
    assert!(clean >= 9, "no evidence of change in {clean} of 10");
    assert!(found >= 9, "ten percent found in {found} of 10");
}

#[tokio::test(flavor = "multi_thread")]
async fn b69_compare_with_missing_values() {
    let (server, target, other) = (Server::start().await, Target::start().unwrap(), Target::start().unwrap());
    let user = server.sign_up("anna").await;
    for host in [target.address(), other.address()] {
        user.post("/hosts", &[("address", host)]).await;
    }
    let load = [("load", "fixed_count"), ("requests", "100"), ("clients", "10")];
    let test = make_test(&user, &load, &target.url("/delay/100")).await;
    let a = run(&user, &test).await;
    drop(target);
    let b = run(&user, &test).await;
    let open = [("load", "per_second"), ("rate", "20"), ("duration_s", "2")];
    let c = run(&user, &make_test(&user, &open, &other.url("/delay/50")).await).await;

    let page = compare(&user, &[&a, &b]).await;
    assert!(row(&page, "Requests per second").contains("(−100 %)"), "{}", row(&page, "Requests per second"));
    assert!(row(&page, "p50, ms").ends_with("–no data"), "{}", row(&page, "p50, ms"));
    assert!(row(&page, "Error share").contains("100 %+100 points (new)"), "{}", row(&page, "Error share"));
    let page = compare(&user, &[&b, &a]).await;
    assert!(row(&page, "Requests per second").contains("(new)"));
    assert!(row(&page, "p50, ms").contains("new"), "{}", row(&page, "p50, ms"));

    let page = compare(&user, &[&a, &c]).await;
    let banner = page.select(".note-box.warn").remove(0);
    for part in [
        "Different hosts: A: http://",
        "Different load types: A: Fixed count; B: Clients per second",
        "100 requests by 10 clients at once",
        "20 clients per second for 2 s",
        "Other settings that differ, see below: Requests",
    ] {
        assert!(banner.contains(part), "{part}: {banner}");
    }
    assert!(page.body.contains("Every run begins at 0:00") && page.body.contains("too little data to tell"));

    let page = compare(&user, &[&a, &a]).await;
    assert!(page.select(".note-box.warn").is_empty());
    let differences = page.select(".compare .diff");
    assert!(differences.len() > 25 && differences.iter().all(|d| d == "no difference"), "{differences:?}");
    assert_eq!(page.select(".findings-list li li"), ["requests per second, p50, p95, p99, error share: no difference"]);
    assert!(page.body.contains("Nothing: all runs had the same plan."));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_and_what_curves_go_along_stand_in_the_address() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    user.post("/hosts", &[("address", target.address())]).await;
    let ramp = [("load", "maintain"), ("from", "1"), ("to", "4"), ("duration_s", "2")];
    let test = make_test(&user, &ramp, &target.url("/delay/5")).await;
    let (a, b) = (run(&user, &test).await, run(&user, &test).await);
    let page = compare(&user, &[&a, &b]).await;
    let links = page.select_attribute(".compare thead a, .align a", &["href"]);
    let (a, b) = (id(&a), id(&b));
    assert!(links.contains(&format!("/compare?run={b}&run={a}")), "{links:?}");
    let by_load = links.iter().find(|href| href.contains("align=load")).expect("a link");
    assert_eq!(*by_load, format!("/compare?run={a}&run={b}&align=load#curves-title"));
    let page = user.get(by_load.split('#').next().unwrap()).await;
    assert!(page.select("leptos-island").is_empty(), "drawings that need no script");
    assert_eq!(page.select(".align a[aria-current]"), ["By load"]);
    assert!(!page.select_attribute("path.mark.r-0", &["d"]).is_empty() && page.body.contains("Clients in that second"));
    let links = page.select_attribute(".compare thead a", &["href"]);
    assert!(links.contains(&format!("/compare?run={b}&run={a}&align=load")), "{links:?}");
    // Somebody else's run is not there; one alone is not compared.
    let bert = server.sign_up("bert").await;
    let page = bert.get(&format!("/compare?run={a}&run={b}")).await;
    assert!(page.body.contains("does not exist any more") && page.select(".compare").is_empty());
    let page = user.get(&format!("/compare?run={a}")).await;
    assert!(page.body.contains("Choose at least 2 runs."));
}

#[tokio::test(flavor = "multi_thread")]
async fn b76_the_baseline_stays_until_it_is_none_any_more() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    user.post("/hosts", &[("address", target.address())]).await;
    let test = make_test(&user, FEW, &target.url("/")).await;
    let (first, second) = (run(&user, &test).await, run(&user, &test).await);
    assert!(user.get(&second).await.select("#baseline-title").is_empty());

    assert_eq!(user.post(&format!("{first}/baseline"), &[]).await.location(), first);
    let report = user.get(&first).await;
    assert_eq!(report.select(".run-line .tag"), ["baseline"]);
    assert!(report.select("#baseline-title").is_empty(), "it is not compared with itself");
    let href = format!("/compare?run={}&run={}", id(&first), id(&second));
    let line = user.get(&second).await.select(".page-head .run-line a[href=\"#baseline-title\"]");
    assert_eq!(line, ["Compared with the baseline"]);
    for page in [user.get(&second).await, user.get(&test).await] {
        assert_eq!(page.select("#baseline-title"), ["Compared with the baseline"]);
        assert!(page.select_attribute("section a", &["href"]).contains(&href));
        assert!(page.select(".findings").remove(0).contains("too little data to tell"), "five requests tell nothing");
    }
    let lists = [test.as_str(), "/dashboard", "/compare"];
    for path in lists {
        assert_eq!(user.get(path).await.select("table.runs .tag.baseline").len(), 1, "{path}");
    }
    // What the owner compares is not shown to others.
    user.post(&format!("{second}/share"), &[]).await.location();
    let link = user.get(&second).await.select_attribute("a[href^=\"/r/\"]", &["href"]).remove(0);
    let public = user.get(&link).await;
    assert!(public.status == 200 && !public.body.contains("baseline") && !public.body.contains(id(&first)));

    let refused = user.post(&format!("{first}/delete"), &[]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("is the baseline of its test") && refused.body.contains("Choose another baseline"));
    assert_eq!(user.get(&first).await.status, 200);
    // Another takes its place, and it can go.
    user.post(&format!("{second}/baseline"), &[]).await.location();
    user.post(&format!("{first}/delete"), &[]).await.location();
    assert_eq!(user.get(&first).await.status, 404);
    assert_eq!(user.post(&format!("{second}/delete"), &[]).await.status, 409);
    // The mark is taken away, twice; set again, it goes with the test.
    for _ in 0..2 {
        user.post(&format!("{second}/unbaseline"), &[]).await.location();
    }
    assert!(user.get(&second).await.select(".tag.baseline").is_empty());
    user.post(&format!("{second}/baseline"), &[]).await.location();
    user.post(&format!("{test}/delete"), &[("confirmed", "yes")]).await.location();
    let orphan = user.get(&second).await;
    assert!(orphan.status == 200 && orphan.select(".tag.baseline").is_empty());
    assert_eq!(user.post(&format!("{second}/baseline"), &[]).await.status, 409, "without a test there is no baseline");
    user.post(&format!("{second}/delete"), &[]).await.location();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_is_no_baseline_and_judges_nothing() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    user.post("/hosts", &[("address", target.address())]).await;
    let long = [("load", "maintain"), ("from", "1"), ("to", "1"), ("duration_s", "60")];
    let test = make_test(&user, &long, &target.url("/delay/10")).await;
    let going = user.post(&format!("{test}/run"), &[]).await.location();
    user.wait_for_seconds(&going, 1).await;
    assert_eq!(user.post(&format!("{going}/baseline"), &[]).await.status, 409);
    let page = compare(&user, &[&going, &going]).await;
    assert!(page.select(".findings-list").remove(0).contains("once both runs are over"));
    assert!(page.select(".note-box.warn").remove(0).contains("A is not over yet"));
    user.post(&format!("{going}/stop"), &[]).await;
    user.wait_for_run(&going).await;
    let page = compare(&user, &[&going, &going]).await;
    assert!(page.select(".note-box.warn").remove(0).contains("A did not come to its planned end: Stopped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trend_shows_every_figure_of_every_run() {
    let made = Made::start().await;
    let user = made.server.sign_up("anna").await;
    let test = make_test(&user, OPEN, "http://127.0.0.1:9900/").await;
    let empty = user.get(&format!("{test}/trend")).await;
    assert!(empty.status == 200 && empty.body.contains("No run of this test is over yet."));

    let plan = made.plan(&user, &test).await;
    let oldest = made.run(&user, &plan, &seconds(1, 20.0), 600).await;
    let second = made.run(&user, &plan, &seconds(2, 20.0), 500).await;
    let changed = form(&[("load", "per_second"), ("rate", "60"), ("duration_s", "20")], "http://127.0.0.1:9900/");
    user.post_pairs(&format!("{test}/edit"), &changed).await.location();
    let plan = made.plan(&user, &test).await;
    let newest = made.run(&user, &plan, &seconds(3, 40.0), 400).await;
    user.post(&format!("{oldest}/baseline"), &[]).await.location();

    let page = user.get(&format!("{test}/trend?figure=p50")).await;
    let rows = page.select(".trend tbody tr");
    assert_eq!(rows.len(), 3);
    assert!(rows[0].contains("Load: 50 clients per second → 60 clients per second"), "{rows:?}");
    assert!(rows[0].contains("ms+") && rows[2].contains("the baseline"), "{rows:?}");
    assert!(!rows[1].contains("→"), "{rows:?}");
    let runs = page.select_attribute(".trend tbody th a", &["href"]);
    assert_eq!(runs, [newest.clone(), second, oldest.clone()]);
    assert_eq!(page.select_attribute(".over.wide a", &["href"]), [oldest.clone(), runs[1].clone(), newest.clone()]);
    assert_eq!(
        page.select_attribute(".drawing.wide line.plan-change, .drawing.wide line.baseline-line", &["class"]).len(),
        2
    );
    let compare = format!("/compare?run={}&run={}", id(&oldest), id(&newest));
    assert!(page.select_attribute(".trend a", &["href"]).contains(&compare));

    let value = async |figure: &str| {
        let page = user.get(&format!("{test}/trend?figure={figure}")).await;
        assert_eq!(page.status, 200);
        page.select(".trend tbody tr:last-child td:nth-child(3)").remove(0)
    };
    assert_eq!(
        (value("rate").await, value("ok").await, value("errors").await),
        ("50.0".into(), "1,000".into(), "0 %".into())
    );
    assert!(value("max").await.ends_with(" ms") && value("bytes").await.ends_with("kB/s"));
    assert_eq!(value("nonsense").await, value("p95").await);
    // Both pages lead here.
    for path in [&test, &newest] {
        assert!(user.get(path).await.select_attribute("a", &["href"]).contains(&format!("{test}/trend")), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trend_is_bounded_and_keeps_an_old_baseline() {
    let made = Made::start().await;
    let user = made.server.sign_up("anna").await;
    let test = make_test(&user, OPEN, "http://127.0.0.1:9900/").await;
    let plan = made.plan(&user, &test).await;
    let windows = seconds(1, 20.0);
    let oldest = made.run(&user, &plan, &windows[..1], 10_000).await;
    user.post(&format!("{oldest}/baseline"), &[]).await.location();
    for age in 0..501 {
        made.run(&user, &plan, &windows[..1], age).await;
    }
    let page = user.get(&format!("{test}/trend")).await;
    assert_eq!(page.select(".trend tbody tr").len(), 500);
    assert!(page.body.contains("The latest 500 runs are shown; there are older ones."));
    assert!(page.select_attribute(".muted a", &["href"]).contains(&oldest));
    assert_eq!(page.select_attribute(".drawing.wide line.baseline-line", &["class"]).len(), 1);
}

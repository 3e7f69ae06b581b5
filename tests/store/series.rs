//! The contract of series, and of the list of runs.

use oleada_server::store::history::{Beside, WantedRuns};
use oleada_server::store::plans::PlanText;
use oleada_server::store::runs::{Ending, Light, NewRun, SeriesPlace};
use oleada_server::store::series::{NewSeries, SeriesEnd};
use oleada_server::store::{Db, PlanId, RunId, SeriesId, Timestamp, UserId};

use super::{on_each, user};

async fn plan(db: &Db, owner: UserId, name: &str) -> PlanId {
    db.add_plan(owner, PlanText { name, notes: "", tags: "", spec: "{}", search: "" }).await.unwrap()
}

fn new_run(owner: UserId, plan: PlanId) -> NewRun<'static> {
    NewRun { owner, plan, name: "Kasse Öffnen", spec: "{}", hosts: "\nshop.example:80\n" }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_makes_each_run_once_and_none_after_its_end() {
    on_each(async |db| {
        let (anna, bert) = (user(db, "anna").await.id, user(db, "bert").await.id);
        let plan = plan(db, anna, "Shop").await;
        let new = NewSeries { owner: anna, plan, name: "Shop", settings: "{\"a\":1}", spec: "{\"b\":2}" };
        let id = db.add_series(new).await.unwrap();
        let row = db.series(id).await.unwrap().unwrap();
        assert_eq!(
            (row.state.as_str(), row.made, row.settings.as_str(), row.spec.as_str()),
            ("running", 0, "{\"a\":1}", "{\"b\":2}")
        );
        assert_eq!(db.series(SeriesId::new()).await.unwrap(), None);
        assert_eq!((db.running_series().await.unwrap(), db.count_running_series(anna).await.unwrap()), (vec![id], 1));
        assert_eq!(db.series_of_plan(plan, 5).await.unwrap()[0].spec, "", "lists go without plans");

        let place = SeriesPlace { series: id, made: 0, number: 3, size: 12.5 };
        let making = (0..4).map(|_| {
            let db = db.clone();
            tokio::spawn(async move { db.add_series_run(place, new_run(anna, plan)).await.unwrap() })
        });
        let mut made = Vec::new();
        for making in making.collect::<Vec<_>>() {
            made.extend(making.await.unwrap());
        }
        assert_eq!(made.len(), 1, "of many who carry it on one makes the run");
        let runs = db.runs_of_series(id).await.unwrap();
        assert_eq!(
            (runs.len(), runs[0].id, runs[0].series_point, runs[0].series_size),
            (1, made[0], Some(3), Some(12.5))
        );

        assert!(db.stop_queued_run(made[0], Timestamp::now()).await.unwrap());
        assert!(!db.delete_run(anna, made[0]).await.unwrap(), "its series goes on");
        assert!(!db.delete_series(anna, id).await.unwrap());
        assert!(db.end_series(id, SeriesEnd::Stopped, Some("Why."), Timestamp(9)).await.unwrap());
        assert!(!db.end_series(id, SeriesEnd::Over, None, Timestamp(10)).await.unwrap(), "it ends once");
        let row = db.series(id).await.unwrap().unwrap();
        assert_eq!(
            (row.state.as_str(), row.detail.as_deref(), row.made, row.ended_at),
            ("stopped", Some("Why."), 1, Some(Timestamp(9)))
        );
        let next = SeriesPlace { made: 1, ..place };
        assert_eq!(db.add_series_run(next, new_run(anna, plan)).await.unwrap(), None, "nothing after the end");
        assert!(db.running_series().await.unwrap().is_empty());

        assert!(!db.delete_series(bert, id).await.unwrap());
        assert!(db.delete_series(anna, id).await.unwrap());
        assert_eq!(db.run(made[0]).await.unwrap().unwrap().series_id, None, "runs outlive it");
        assert!(db.delete_run(anna, made[0]).await.unwrap());
    })
    .await;
}

/// A run that is over, with what lists show of it.
async fn over(db: &Db, owner: UserId, plan: PlanId, reason: &str, passed: Option<bool>) -> RunId {
    let id = db.add_run(new_run(owner, plan)).await.unwrap();
    let light =
        Light { duration_s: Some(1.5), p95: Some(7.25), passed, spark: Some("1,,3".into()), ..Light::default() };
    let ending = Ending { reason, detail: None, at: Timestamp::now(), result: Some("{}"), light: Some(&light) };
    assert!(db.finish_run(id, ending).await.unwrap());
    id
}

async fn found(db: &Db, owner: UserId, wanted: &WantedRuns) -> Vec<RunId> {
    db.older_runs(owner, wanted, None, 100).await.unwrap().into_iter().map(|run| run.id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_filtered_by_all_that_lists_show() {
    on_each(async |db| {
        let (anna, bert) = (user(db, "anna").await.id, user(db, "bert").await.id);
        let (shop, other) = (plan(db, anna, "Shop").await, plan(db, anna, "Other").await);
        let kept = over(db, anna, shop, "completed", Some(true)).await;
        let broken = over(db, anna, shop, "limit", Some(false)).await;
        let plain = over(db, anna, other, "completed", None).await;
        let queued = db.add_run(NewRun { hosts: "\n[::1]:80\n", name: "50%_x", ..new_run(anna, other) }).await.unwrap();
        over(db, bert, plan(db, bert, "Bert's").await, "completed", None).await;

        let any = WantedRuns::default();
        assert_eq!(found(db, anna, &any).await, [queued, plain, broken, kept]);
        let run = db.older_runs(anna, &any, None, 4).await.unwrap().remove(3);
        assert_eq!(
            (run.light.p95, run.light.passed, run.light.spark.as_deref()),
            (Some(7.25), Some(true), Some("1,,3"))
        );
        assert_eq!((run.spec.as_str(), run.result), ("", None), "lists read neither plan nor result");

        let with = |change: fn(&mut WantedRuns)| {
            let mut wanted = WantedRuns::default();
            change(&mut wanted);
            wanted
        };
        assert_eq!(found(db, anna, &WantedRuns { plan: Some(shop), ..any.clone() }).await, [broken, kept]);
        assert_eq!(found(db, anna, &with(|w| w.host = Some("[::1]:80".into()))).await, [queued]);
        assert!(found(db, anna, &with(|w| w.host = Some("example:80".into()))).await.is_empty(), "a whole host");
        assert_eq!(
            found(db, anna, &with(|w| w.words = vec!["öffnen".into(), "shop.ex".into()])).await,
            [plain, broken, kept]
        );
        assert_eq!(found(db, anna, &with(|w| w.words = vec!["0%_".into()])).await, [queued]);
        for (state, ids) in [
            ("under_way", vec![queued]),
            ("finished", vec![plain, kept]),
            ("aborted", vec![broken]),
            ("stopped", vec![]),
            ("interrupted", vec![]),
            ("refused", vec![]),
        ] {
            assert_eq!(found(db, anna, &WantedRuns { state, ..any.clone() }).await, ids, "{state}");
        }
        for (passed, ids) in [("yes", vec![kept]), ("no", vec![broken]), ("none", vec![queued, plain])] {
            assert_eq!(found(db, anna, &WantedRuns { passed, ..any.clone() }).await, ids, "{passed}");
        }
        let at = run.queued_at;
        let between = WantedRuns { from: Some(at), until: Some(Timestamp(at.0 + 1)), ..any.clone() };
        assert!(found(db, anna, &between).await.contains(&kept));
        assert!(
            found(db, anna, &WantedRuns { until: Some(at), ..any.clone() }).await.is_empty(),
            "the end is not in it"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_runs_meet_without_a_gap() {
    on_each(async |db| {
        let anna = user(db, "anna").await.id;
        let shop = plan(db, anna, "Shop").await;
        // Many in the same millisecond: then the id decides.
        for _ in 0..23 {
            db.add_run(new_run(anna, shop)).await.unwrap();
        }
        let any = WantedRuns::default();
        let all = found(db, anna, &any).await;
        let (mut pages, mut place) = (Vec::new(), None);
        loop {
            let page = db.older_runs(anna, &any, place, 5).await.unwrap();
            let Some(last) = page.last() else { break };
            place = Some(Beside { at: last.queued_at, id: last.id });
            pages.push(page.iter().map(|run| run.id).collect::<Vec<_>>());
        }
        assert_eq!(pages.concat(), all);
        let first = db.run(pages[2][0]).await.unwrap().unwrap();
        let back = db.newer_runs(anna, &any, Beside { at: first.queued_at, id: first.id }, 5).await.unwrap();
        assert_eq!(back.iter().map(|run| run.id).collect::<Vec<_>>(), pages[1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_older_versions_are_looked_for_until_they_are_whole() {
    on_each(async |db| {
        let anna = user(db, "anna").await.id;
        let shop = plan(db, anna, "Shop").await;
        let new = over(db, anna, shop, "completed", None).await;
        let mut old = Vec::new();
        for _ in 0..3 {
            old.push(over(db, anna, shop, "completed", None).await);
        }
        super::runs::as_an_older_version(
            db,
            "update runs set hosts = null, search = null, duration_s = null where id <> (select id from runs order by id limit 1)",
        )
        .await;
        let left = db.unsummed_runs(RunId(uuid::Uuid::nil()), 2).await.unwrap();
        assert_eq!(left.iter().map(|run| run.id).collect::<Vec<_>>(), old[..2]);
        assert_eq!((left[0].state.as_str(), left[0].result.as_deref()), ("over", Some("{}")));
        for id in &old {
            db.set_run_hosts(*id, "Shop", "\na.example:1\n").await.unwrap();
            db.set_run_light(*id, &Light { duration_s: Some(2.0), ..Light::default() }).await.unwrap();
        }
        assert!(db.unsummed_runs(RunId(uuid::Uuid::nil()), 9).await.unwrap().is_empty());
        let wanted = WantedRuns { host: Some("a.example:1".into()), ..WantedRuns::default() };
        old.reverse();
        assert_eq!(found(db, anna, &wanted).await, old);
        assert_eq!(db.run(new).await.unwrap().unwrap().light.duration_s, Some(1.5));
    })
    .await;
}

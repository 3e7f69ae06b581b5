//! The contract of tests, runs and their seconds.

use oleada_engine::window::Window;
use oleada_server::secrets::{SecretKey, Vault};
use oleada_server::store::plans::{PlanText, Sort, Wanted};
use oleada_server::store::runs::{Ending, NewRun};
use oleada_server::store::samples::Sample;
use oleada_server::store::shares::ShareOptions;
use oleada_server::store::{Db, PlanId, RunId, Timestamp, UserId};

use super::{on_each, user};

const TEXT: PlanText<'static> =
    PlanText { name: "Front page", notes: "ü\n", tags: "", spec: "{}", search: "front page\nü" };

async fn queue(db: &Db, owner: UserId, plan: PlanId) -> RunId {
    db.add_run(NewRun { owner, plan, name: "Front page", spec: "{\"a\":1}", hosts: "\nshop.example:80\n" })
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_belong_to_accounts() {
    on_each(async |db| {
        let (anna, bert) = (user(db, "anna").await.id, user(db, "bert").await.id);
        let first = db.add_plan(anna, TEXT).await.unwrap();
        let second = db.add_plan(anna, PlanText { name: "Second", ..TEXT }).await.unwrap();
        let row = db.plan(anna, first).await.unwrap().unwrap();
        assert_eq!((row.name.as_str(), row.notes.as_str(), row.spec.as_str()), ("Front page", "ü\n", "{}"));
        assert_eq!(row.created_at, row.updated_at);
        assert_eq!(db.plan(bert, first).await.unwrap(), None);

        let changed = PlanText { name: "Changed", ..TEXT };
        assert!(!db.change_plan(bert, first, changed, 100).await.unwrap());
        assert!(db.plan_versions(first).await.unwrap().is_empty(), "who may not change it leaves no version");
        assert!(db.change_plan(anna, first, changed, 100).await.unwrap());
        assert_eq!(db.plan(anna, first).await.unwrap().unwrap().name, "Changed");
        assert_eq!(db.plans(anna, 10).await.unwrap().len(), 2);
        assert_eq!((db.plans(anna, 1).await.unwrap().len(), db.plans(bert, 10).await.unwrap().len()), (1, 0));

        let run = queue(db, anna, first).await;
        assert!(!db.delete_plan(anna, first).await.unwrap(), "a run is under way");
        assert!(db.stop_queued_run(run, Timestamp::now()).await.unwrap());
        assert!(!db.delete_plan(bert, first).await.unwrap());
        assert!(db.delete_plan(anna, first).await.unwrap() && !db.delete_plan(anna, first).await.unwrap());
        assert_eq!(db.run(run).await.unwrap().unwrap().plan_id, None, "a run outlives its test");
        assert!(db.delete_plan(anna, second).await.unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_are_found_sorted_and_archived() {
    on_each(async |db| {
        let (anna, bert) = (user(db, "anna").await.id, user(db, "bert").await.id);
        let add = async |name: &str, tags: &str, search: &str| {
            db.add_plan(anna, PlanText { name, tags, search, ..TEXT }).await.unwrap()
        };
        let shop = add("Shop", "\nshop\nevening peak\n", "shop\nbücher.example:80").await;
        let search = add("archive 50%_off", "\nshopping\n", "archive 50%_off\n127.0.0.1:9900").await;
        let old = add("Old", "", "old\nshop").await;
        assert!(db.archive_plan(anna, old, Some(Timestamp(7))).await.unwrap());
        assert!(!db.archive_plan(bert, shop, Some(Timestamp(7))).await.unwrap());
        assert_eq!(db.plan(anna, old).await.unwrap().unwrap().archived_at, Some(Timestamp(7)));
        assert_eq!((db.count_plans(anna).await.unwrap(), db.count_active_plans(anna).await.unwrap()), (3, 2));
        assert_eq!(db.plan_tags(anna).await.unwrap(), ["evening peak", "shop", "shopping"]);
        assert!(db.plan_tags(bert).await.unwrap().is_empty());

        let active = Wanted { archived: Some(false), ..Wanted::default() };
        let found = async |wanted: &Wanted, sort: Sort| {
            let rows = db.wanted_plans(anna, wanted, sort, 10, 0).await.unwrap();
            assert_eq!(db.count_wanted_plans(anna, wanted).await.unwrap(), rows.len() as i64);
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        let words =
            |list: &[&str]| Wanted { words: list.iter().map(|w| (*w).to_owned()).collect(), ..Wanted::default() };
        assert_eq!(found(&active, Sort::Name).await, [search, shop]);
        assert_eq!(found(&active, Sort::Changed).await, [search, shop]);
        assert_eq!(found(&Wanted { archived: Some(true), ..Wanted::default() }, Sort::Changed).await, [old]);
        assert_eq!(found(&Wanted::default(), Sort::Name).await, [search, old, shop]);
        assert_eq!(found(&words(&["shop"]), Sort::Name).await, [old, shop]);
        assert_eq!(found(&words(&["bücher", "shop"]), Sort::Name).await, [shop]);
        assert_eq!(found(&words(&["50%_"]), Sort::Name).await, [search], "signs of patterns are plain text");
        assert!(
            found(&words(&["%"]), Sort::Name).await == [search] && found(&words(&["o%d"]), Sort::Name).await.is_empty()
        );
        let tagged = |tag: &str| Wanted { tag: Some(tag.to_owned()), ..Wanted::default() };
        assert_eq!(found(&tagged("shop"), Sort::Name).await, [shop], "a tag is a whole word");
        assert!(db.wanted_plans(bert, &Wanted::default(), Sort::Name, 10, 0).await.unwrap().is_empty());
        let second = db.wanted_plans(anna, &Wanted::default(), Sort::Name, 1, 1).await.unwrap();
        assert_eq!(second.iter().map(|row| row.id).collect::<Vec<_>>(), [old], "one page after the other");

        queue(db, anna, shop).await;
        let rows = db.wanted_plans(anna, &Wanted::default(), Sort::Run, 10, 0).await.unwrap();
        assert_eq!((rows[0].id, rows[0].runs, rows[1].runs, rows[1].last_run_at), (shop, 1, 0, None));
        assert!(rows[0].last_run_at.is_some());
        assert!(db.archive_plan(anna, old, None).await.unwrap());
        assert_eq!(found(&active, Sort::Name).await, [search, old, shop]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn former_versions_are_kept_and_bounded() {
    on_each(async |db| {
        let anna = user(db, "anna").await;
        let id = db.add_plan(anna.id, TEXT).await.unwrap();
        for n in 1..=5 {
            let name = format!("Name {n}");
            let text = PlanText { name: &name, tags: "\nx\n", spec: "{\"b\":2}", ..TEXT };
            assert!(db.change_plan(anna.id, id, text, 3).await.unwrap());
        }
        let versions = db.plan_versions(id).await.unwrap();
        let names: Vec<_> = versions.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["Name 4", "Name 3", "Name 2"], "the latest first, the oldest gone");
        assert_eq!((versions[0].changed_by.as_deref(), versions[0].tags.as_str()), (Some(&*anna.email), "\nx\n"));
        assert_eq!((versions[0].plan_id, versions[0].spec.as_str()), (id, ""));
        let whole = db.plan_version(id, versions[0].id).await.unwrap().unwrap();
        assert_eq!((whole.name.as_str(), whole.spec.as_str()), ("Name 4", "{\"b\":2}"));
        assert_eq!(db.plan_version(PlanId::new(), versions[0].id).await.unwrap(), None);
        assert!(db.delete_plan(anna.id, id).await.unwrap());
        assert!(db.plan_versions(id).await.unwrap().is_empty(), "they go with their test");
    })
    .await;
}

/// Runs SQL that no version of the program runs: how an older one left things.
pub async fn as_an_older_version(db: &Db, sql: &'static str) {
    match db {
        Db::Sqlite { write, .. } => _ = sqlx::query(sql).execute(write).await.unwrap(),
        Db::Postgres(pool) => _ = sqlx::query(sql).execute(pool).await.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clear_text_of_older_versions_is_sealed() {
    on_each(async |db| {
        const CLEAR: &str = r#"{"requests":[{"url":"http://127.0.0.1:9900/","bearer":"geheim"}]}"#;
        let anna = user(db, "anna").await.id;
        let text = PlanText { name: "Ältere", spec: CLEAR, ..TEXT };
        let mut plans = Vec::new();
        for _ in 0..45 {
            plans.push(db.add_plan(anna, text).await.unwrap());
        }
        assert!(db.change_plan(anna, plans[0], text, 10).await.unwrap());
        let run =
            db.add_run(NewRun { owner: anna, plan: plans[0], name: "Run", spec: CLEAR, hosts: "" }).await.unwrap();
        as_an_older_version(db, "update plans set search = null").await;
        let broken = db.add_plan(anna, PlanText { spec: "not a plan", ..TEXT }).await.unwrap();

        let vault = Vault::new(SecretKey::generate());
        assert_eq!(oleada_server::plans::seal_all(db, &vault).await.unwrap(), 45 + 1 + 1);
        assert_eq!(oleada_server::plans::seal_all(db, &vault).await.unwrap(), 0, "once is enough");
        let version = db.plan_versions(plans[0]).await.unwrap()[0].id;
        let version = db.plan_version(plans[0], version).await.unwrap().unwrap();
        let mut stored = vec![db.run(run).await.unwrap().unwrap().spec, version.spec];
        for plan in &plans {
            stored.push(db.plan(anna, *plan).await.unwrap().unwrap().spec);
        }
        for spec in stored {
            assert!(!spec.contains("geheim"), "{spec}");
            assert_eq!(vault.unseal(&spec).unwrap().plan.spec().requests[0].bearer.as_deref(), Some("geheim"));
        }
        assert_eq!(db.plan(anna, broken).await.unwrap().unwrap().spec, "not a plan");
        let words = Wanted { words: vec!["ältere".into(), "127.0.0.1:9900".into()], ..Wanted::default() };
        assert_eq!(db.count_wanted_plans(anna, &words).await.unwrap(), 45, "and can be searched");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_before_is_the_one_that_came_to_an_end() {
    on_each(async |db| {
        let anna = user(db, "anna").await.id;
        let (plan, other) = (db.add_plan(anna, TEXT).await.unwrap(), db.add_plan(anna, TEXT).await.unwrap());
        let mut runs = Vec::new();
        for of in [plan, other, plan, plan] {
            runs.push(queue(db, anna, of).await);
        }
        let before = async |n: usize| {
            let run = db.run(runs[n]).await.unwrap().unwrap();
            db.run_before(&run).await.unwrap().map(|run| run.id)
        };
        assert_eq!(before(3).await, None, "the others wait");
        for run in &runs[..3] {
            assert!(db.stop_queued_run(*run, Timestamp::now()).await.unwrap());
        }
        assert_eq!((before(0).await, before(2).await, before(3).await), (None, Some(runs[0]), Some(runs[2])));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_taken_in_turn_and_pass_through_their_states_once() {
    on_each(async |db| {
        let anna = user(db, "anna").await.id;
        let plan = db.add_plan(anna, TEXT).await.unwrap();
        assert_eq!(db.claim_run().await.unwrap(), None);
        let (first, second, third) =
            (queue(db, anna, plan).await, queue(db, anna, plan).await, queue(db, anna, plan).await);
        let positions = [
            db.queue_position(first).await.unwrap(),
            db.queue_position(second).await.unwrap(),
            db.queue_position(third).await.unwrap(),
        ];
        assert_eq!(positions, [1, 2, 3]);

        let claimed = db.claim_run().await.unwrap().unwrap();
        assert_eq!((claimed.id, claimed.state.as_str(), claimed.plan_id), (first, "verifying", Some(plan)));
        assert_eq!((db.queue_position(first).await.unwrap(), db.queue_position(second).await.unwrap()), (0, 1));
        assert!(db.unclaim_run(first).await.unwrap() && !db.unclaim_run(first).await.unwrap());
        assert_eq!(db.claim_run().await.unwrap().unwrap().id, first, "it keeps its place");

        let now = Timestamp::now();
        assert!(!db.start_run(second, now).await.unwrap(), "it waits");
        assert!(!db.drain_run(first).await.unwrap(), "it has not begun");
        assert!(db.start_run(first, now).await.unwrap() && db.touch_run(first, now).await.unwrap());
        assert!(db.drain_run(first).await.unwrap());
        assert!(db.silent_runs(now).await.unwrap().is_empty());
        let silent = db.silent_runs(Timestamp(now.0 + 1)).await.unwrap();
        assert_eq!(silent.iter().map(|run| run.id).collect::<Vec<_>>(), [first]);
        let ending = Ending { reason: "completed", detail: Some("Well."), at: now, result: Some("{}"), light: None };
        assert!(db.finish_run(first, ending).await.unwrap());
        assert!(!db.finish_run(first, Ending { reason: "stopped", ..ending }).await.unwrap(), "it ends once");
        let over = db.run(first).await.unwrap().unwrap();
        assert_eq!(
            (over.state.as_str(), over.end_reason.as_deref(), over.detail.as_deref(), over.result.as_deref()),
            ("over", Some("completed"), Some("Well."), Some("{}"))
        );
        assert_eq!((over.started_at, over.ended_at), (Some(now), Some(now)));

        assert!(!db.stop_queued_run(first, now).await.unwrap());
        assert!(db.stop_queued_run(second, now).await.unwrap());
        assert_eq!(db.claim_run().await.unwrap().unwrap().id, third, "the stopped one is passed over");
        assert!(
            db.refuse_run(third, "Not yours.", now).await.unwrap()
                && !db.refuse_run(third, "Twice.", now).await.unwrap()
        );
        assert_eq!(db.run(third).await.unwrap().unwrap().state, "refused");
        assert!(db.runs_under_way(anna).await.unwrap().is_empty());
        assert_eq!(db.count_runs_of_plan(plan).await.unwrap(), 3);
        let newest: Vec<_> = db.recent_runs(anna, 2).await.unwrap().into_iter().map(|run| run.id).collect();
        assert_eq!(newest, [third, second]);
        assert_eq!(db.runs_of_plan(plan, 10).await.unwrap().len(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_claim_each_run_goes_to_one() {
    on_each(async |db| {
        let anna = user(db, "anna").await.id;
        let plan = db.add_plan(anna, TEXT).await.unwrap();
        let mut queued = Vec::new();
        for _ in 0..5 {
            queued.push(queue(db, anna, plan).await);
        }
        let worker = |_| {
            let db = db.clone();
            tokio::spawn(async move {
                let mut mine = Vec::new();
                // Several empty answers in a row: on Postgres a claim that lost a race answers none.
                let mut empty = 0;
                while empty < 10 {
                    match db.claim_run().await.unwrap() {
                        Some(run) => mine.push(run.id),
                        None => empty += 1,
                    }
                }
                mine
            })
        };
        let workers: Vec<_> = (0..4).map(worker).collect();
        let mut claimed = Vec::new();
        for worker in workers {
            claimed.extend(worker.await.unwrap());
        }
        claimed.sort();
        assert_eq!(claimed, queued);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_shared_and_deleted_by_their_owner() {
    on_each(async |db| {
        let (anna, bert) = (user(db, "anna").await.id, user(db, "bert").await.id);
        let plan = db.add_plan(anna, TEXT).await.unwrap();
        let run = queue(db, anna, plan).await;
        let options =
            ShareOptions { expires_at: Some(Timestamp(7)), hide_host: true, hide_headers: false, hide_notes: true };
        assert!(!db.add_share(bert, run, "token", options).await.unwrap());
        assert!(db.add_share(anna, run, "token", options).await.unwrap());
        let share = db.share_by_token("token").await.unwrap().unwrap();
        assert_eq!((share.run_id, share.expires_at, share.revoked_at), (Some(run), Some(Timestamp(7)), None));
        assert_eq!((share.hide_host, share.hide_headers, share.hide_notes), (true, false, true));
        assert!(share.has_expired(Timestamp(7)) && !share.has_expired(Timestamp(6)));
        assert!(!db.add_share(anna, run, "second", options).await.unwrap(), "a run has one link");
        let other = queue(db, anna, plan).await;
        assert!(!db.add_share(anna, other, "token", options).await.unwrap(), "a token is one run's");
        assert!(!db.change_share(bert, run, ShareOptions::default()).await.unwrap());
        assert!(!db.change_share(anna, other, ShareOptions::default()).await.unwrap());
        assert!(db.change_share(anna, run, ShareOptions::default()).await.unwrap());
        let share = db.share_of_run(run).await.unwrap().unwrap();
        assert_eq!(
            (share.token.as_str(), share.expires_at, share.hide_host, share.hide_notes),
            ("token", None, false, false)
        );
        assert!(!db.revoke_share(bert, run, Timestamp(9)).await.unwrap());
        assert!(db.revoke_share(anna, run, Timestamp(9)).await.unwrap());
        assert!(!db.revoke_share(anna, run, Timestamp(10)).await.unwrap());
        assert_eq!(db.share_by_token("token").await.unwrap().unwrap().revoked_at, Some(Timestamp(9)));
        assert_eq!(db.share_of_run(run).await.unwrap(), None);
        assert!(db.add_share(anna, run, "third", options).await.unwrap(), "a new link after the old one");
        assert_eq!(db.run(RunId::new()).await.unwrap(), None);

        assert!(!db.delete_run(anna, run).await.unwrap(), "it waits");
        assert!(db.stop_queued_run(run, Timestamp::now()).await.unwrap());
        assert!(!db.delete_run(bert, run).await.unwrap());
        assert!(db.delete_run(anna, run).await.unwrap() && !db.delete_run(anna, run).await.unwrap());
        assert_eq!(db.share_by_token("third").await.unwrap().unwrap().run_id, None, "a link outlives its run");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seconds_are_stored_once_and_read_in_order() {
    on_each(async |db| {
        let anna = user(db, "anna").await.id;
        let plan = db.add_plan(anna, TEXT).await.unwrap();
        let run = queue(db, anna, plan).await;
        for t in [2, 0, 1, 1, 700] {
            db.add_sample(run, 0, &Sample::of(&Window::new(t, 1))).await.unwrap();
        }
        assert_eq!(db.count_samples(run).await.unwrap(), 4);
        let seconds =
            async |after| db.points(run, after).await.unwrap().iter().map(|point| point.t).collect::<Vec<_>>();
        assert_eq!((seconds(-1).await, seconds(1).await), (vec![0, 1, 2, 700], vec![2, 700]));
        let windows = async |from, to| {
            let mut found = Vec::new();
            db.windows(run, from, to, |blob| found.push(Window::decode(blob).unwrap().t)).await.unwrap();
            found
        };
        assert_eq!((windows(0, 1000).await, windows(1, 2).await), (vec![0, 1, 2, 700], vec![1]));

        db.stop_queued_run(run, Timestamp::now()).await.unwrap();
        assert!(db.delete_run(anna, run).await.unwrap());
        assert_eq!((db.count_samples(run).await.unwrap(), windows(0, 1000).await.len()), (0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_baseline_is_a_run_of_the_test_that_is_over() {
    on_each(async |db| {
        let (anna, bert) = (user(db, "anna").await.id, user(db, "bert").await.id);
        let (plan, other) = (db.add_plan(anna, TEXT).await.unwrap(), db.add_plan(anna, TEXT).await.unwrap());
        let over = async |plan: PlanId, spec: &str, result: Option<&str>| {
            let run = db.add_run(NewRun { owner: anna, plan, name: "Front page", spec, hosts: "" }).await.unwrap();
            let ending = Ending { reason: "completed", detail: None, at: Timestamp::now(), result, light: None };
            assert!(db.finish_run(run, ending).await.unwrap());
            run
        };
        let (first, second) = (over(plan, "{\"a\":1}", Some("{}")).await, over(plan, "{\"a\":2}", Some("{}")).await);
        let (silent, foreign) = (over(plan, "{\"a\":2}", None).await, over(other, "{\"a\":2}", Some("{}")).await);
        let waiting = queue(db, anna, plan).await;
        for none in [silent, foreign, waiting, RunId::new()] {
            assert!(!db.set_baseline(anna, plan, none).await.unwrap());
        }
        assert!(!db.set_baseline(bert, plan, first).await.unwrap());
        assert_eq!(db.baseline_of(plan).await.unwrap(), None);
        assert!(db.set_baseline(anna, plan, first).await.unwrap());
        assert_eq!(db.baseline_of(plan).await.unwrap().map(|run| (run.id, run.is_baseline)), Some((first, true)));
        assert_eq!(db.plan(anna, plan).await.unwrap().unwrap().baseline_run_id, Some(first));
        let marked: Vec<_> =
            db.recent_runs(anna, 10).await.unwrap().into_iter().filter(|run| run.is_baseline).collect();
        assert_eq!(marked.iter().map(|run| run.id).collect::<Vec<_>>(), [first]);
        assert!(!db.delete_run(anna, first).await.unwrap(), "it is the baseline");

        // The history tells where the plan was changed.
        let third = over(plan, "{\"a\":2}", Some("{}")).await;
        let history = db.run_history(plan, 10, true).await.unwrap();
        let rows: Vec<_> = history.iter().map(|row| (row.id, row.is_changed)).collect();
        assert_eq!(rows, [(third, false), (second, true), (first, false)]);
        assert_eq!((history[0].end_reason.as_deref(), history[0].result.as_deref()), (Some("completed"), Some("{}")));
        assert!(db.run_history(plan, 10, false).await.unwrap().iter().all(|row| row.result.is_none()));
        let latest: Vec<_> = db.run_history(plan, 2, false).await.unwrap().iter().map(|row| row.is_changed).collect();
        assert_eq!(latest, [false, true], "changed since a run that is not among them");

        // One at a time; the mark goes with the test, and a run without it can go.
        assert!(db.set_baseline(anna, plan, second).await.unwrap());
        assert!(db.delete_run(anna, first).await.unwrap());
        assert!(!db.unset_baseline(bert, second).await.unwrap());
        assert!(db.unset_baseline(anna, second).await.unwrap() && !db.unset_baseline(anna, second).await.unwrap());
        assert!(db.set_baseline(anna, plan, second).await.unwrap());
        assert!(db.stop_queued_run(waiting, Timestamp::now()).await.unwrap());
        assert!(db.delete_plan(anna, plan).await.unwrap());
        assert!(!db.run(second).await.unwrap().unwrap().is_baseline);
        assert!(db.delete_run(anna, second).await.unwrap());
    })
    .await;
}

//! The contract of tests, runs and their seconds.

use oleada_engine::window::Window;
use oleada_server::store::plans::PlanText;
use oleada_server::store::runs::{Ending, NewRun};
use oleada_server::store::samples::Sample;
use oleada_server::store::{Db, PlanId, RunId, Timestamp, UserId};

use super::{on_each, user};

const TEXT: PlanText<'static> = PlanText { name: "Front page", notes: "ü\n", spec: "{}" };

async fn queue(db: &Db, owner: UserId, plan: PlanId) -> RunId {
    db.add_run(NewRun { owner, plan, name: "Front page", spec: "{\"a\":1}" }).await.unwrap()
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
        assert!(!db.change_plan(bert, first, changed).await.unwrap());
        assert!(db.change_plan(anna, first, changed).await.unwrap());
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
        let ending = Ending { reason: "completed", detail: Some("Well."), at: now, result: Some("{}") };
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
        assert!(!db.share_run(bert, run, Some("token")).await.unwrap());
        assert!(db.share_run(anna, run, Some("token")).await.unwrap());
        assert_eq!(db.run_by_token("token").await.unwrap().unwrap().id, run);
        let other = queue(db, anna, plan).await;
        assert!(db.share_run(anna, other, Some("token")).await.unwrap_err().is_unique_violation());
        assert!(db.share_run(anna, run, None).await.unwrap());
        assert_eq!(db.run_by_token("token").await.unwrap(), None);
        assert_eq!(db.run(RunId::new()).await.unwrap(), None);

        assert!(!db.delete_run(anna, run).await.unwrap(), "it waits");
        assert!(db.stop_queued_run(run, Timestamp::now()).await.unwrap());
        assert!(!db.delete_run(bert, run).await.unwrap());
        assert!(db.delete_run(anna, run).await.unwrap() && !db.delete_run(anna, run).await.unwrap());
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

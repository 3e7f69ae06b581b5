//! A run's life: queue, stop, crash, shutdown; its ledger against the target's own count.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::time::{Duration, Instant};

use harness::tools::Target;
use harness::user::SignedIn;
use harness::{Process, Server, form_of};
use serde_json::Value;

fn test_form(load: &[(&str, &str)], url: &str) -> Vec<(String, String)> {
    let mut form = form_of(load);
    form.extend(form_of(&[
        ("name", "A test"),
        ("requests[0].method", "GET"),
        ("requests[0].url", url),
        ("timeout_ms", "10000"),
        ("error_threshold", "100"),
        ("reuse", "client"),
        ("http", "auto"),
        ("end", "drain"),
        ("redirects", "follow"),
    ]));
    form
}

async fn prepare(user: &SignedIn, target: &Target, load: &[(&str, &str)], path: &str) -> String {
    user.post("/hosts", &[("address", target.address())]).await;
    user.post_pairs("/tests", &test_form(load, &target.url(path))).await.location()
}

async fn start(user: &SignedIn, test: &str) -> String {
    user.post(&format!("{test}/run"), &[]).await.location()
}

async fn document(user: &SignedIn, run: &str) -> Value {
    user.json(&format!("{run}/result.json?seconds=1")).await
}

/// The ledger closes, and the seconds add up to it.
fn assert_closed(doc: &Value) {
    let l = |name: &str| doc["ledger"][name].as_u64().unwrap_or_else(|| panic!("{name} in {doc}"));
    let outcomes =
        ["ok", "status_4xx", "status_5xx", "status_other", "timeout", "network", "invalid", "local", "aborted"];
    assert_eq!(l("planned"), l("sent") + l("dropped"), "{doc}");
    assert_eq!(l("sent"), outcomes.map(l).iter().sum::<u64>(), "{doc}");
    let sum = |name: &str| doc["seconds"].as_array().unwrap().iter().map(|s| s[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(
        [sum("planned"), sum("sent"), sum("ok"), sum("errors")],
        [l("planned"), l("sent"), l("ok"), l("sent") - l("ok")],
        "{doc}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_four_loads_agree_with_the_targets_own_count() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    for (path, load) in [
        ("/delay/1", &[("load", "per_test"), ("per_test", "50"), ("duration_s", "2")][..]),
        ("/delay/2", &[("load", "per_second"), ("rate", "30"), ("duration_s", "1")]),
        ("/delay/3", &[("load", "maintain"), ("from", "1"), ("to", "5"), ("duration_s", "2")]),
        ("/delay/4", &[("load", "fixed_count"), ("requests", "103"), ("clients", "10"), ("duration_s", "")]),
    ] {
        let test = prepare(&user, &target, load, path).await;
        let run = start(&user, &test).await;
        user.wait_for_run(&run).await;
        let doc = document(&user, &run).await;
        assert_closed(&doc);
        assert_eq!(doc["end_reason"], "completed", "{doc}");
        assert_eq!(doc["ledger"]["ok"].as_u64(), Some(target.count(path).unwrap()), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_wait_their_turn_and_a_stopped_one_never_starts() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let load = [("load", "per_second"), ("rate", "20"), ("duration_s", "30")];
    let test = prepare(&user, &target, &load, "/").await;
    let (first, second, third) = (start(&user, &test).await, start(&user, &test).await, start(&user, &test).await);
    user.wait_for_text(&first, "Running").await;
    assert!(user.get(&second).await.body.contains("Queued"));
    // The second leaves the queue without ever starting; pressing stop twice is no fault.
    for _ in 0..2 {
        assert_eq!(user.post(&format!("{second}/stop"), &[]).await.status, 303);
    }
    user.wait_for_text(&second, "Stopped").await;
    let before = Instant::now();
    for _ in 0..2 {
        user.post(&format!("{first}/stop"), &[]).await;
    }
    user.wait_for_run(&first).await;
    assert!(before.elapsed() < Duration::from_secs(10), "a stop drains at most a second");
    let doc = document(&user, &first).await;
    assert_closed(&doc);
    assert_eq!(doc["end_reason"], "stopped");
    assert!(doc["ledger"]["planned"].as_u64().unwrap() < 600, "only what was due until the stop");
    // Now it is the third one's turn.
    user.wait_for_text(&third, "Running").await;
    user.post(&format!("{third}/stop"), &[]).await;
    user.wait_for_run(&third).await;
    // A request whose connection was still being made when the stop came is sent and aborted, and never reached the target.
    let l = |d: &Value, name: &str| d["ledger"][name].as_u64().unwrap();
    let last = document(&user, &third).await;
    let (sent, aborted) = (l(&doc, "sent") + l(&last, "sent"), l(&doc, "aborted") + l(&last, "aborted"));
    let asked = target.count("/").unwrap();
    assert!(asked <= sent && asked + aborted >= sent, "asked {asked}, sent {sent}, aborted {aborted}");
    assert_eq!(user.get(&format!("{second}/result.json")).await.status, 404, "nothing was measured");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_and_its_test_cannot_be_deleted() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let test =
        prepare(&user, &target, &[("load", "maintain"), ("from", "1"), ("to", "1"), ("duration_s", "30")], "/delay/10")
            .await;
    let run = start(&user, &test).await;
    user.wait_for_text(&run, "Running").await;
    assert_eq!(user.post(&format!("{run}/delete"), &[]).await.status, 409);
    assert_eq!(user.post(&format!("{test}/delete"), &[]).await.status, 409);
    user.post(&format!("{run}/stop"), &[]).await;
    user.wait_for_run(&run).await;
    // Without its test the run is still there; then it goes too.
    assert_eq!(user.post(&format!("{test}/delete"), &[]).await.status, 303);
    assert_eq!(user.get(&run).await.status, 200);
    assert_eq!(user.post(&format!("{run}/delete"), &[]).await.status, 303);
    assert_eq!(user.get(&run).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn live_events_replay_from_the_last_second_seen() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let test = prepare(&user, &target, &[("load", "per_second"), ("rate", "10"), ("duration_s", "3")], "/").await;
    let run = start(&user, &test).await;
    // Read to the end: the stream closes itself after `done`.
    let events = user.events(&run, None).await;
    let seconds = |events: &[(String, String, String)]| -> Vec<u64> {
        events.iter().filter(|(name, ..)| name == "second").map(|(_, id, _)| id.parse().unwrap()).collect()
    };
    let all = seconds(&events);
    assert!(all.windows(2).all(|w| w[0] < w[1]) && all.starts_with(&[0, 1, 2]), "{events:?}");
    let (name, _, data) = events.last().unwrap();
    assert!(name == "done" && !data.is_empty(), "browsers do not tell a page of an event without data");
    let ok: u64 = events
        .iter()
        .filter(|(name, ..)| name == "second")
        .map(|(.., data)| serde_json::from_str::<Value>(data).unwrap()["ok"].as_u64().unwrap())
        .sum();
    assert_eq!(ok, 30);
    let again = user.events(&run, Some("1")).await;
    assert_eq!(seconds(&again), all[2..]);
    // What was live and what is stored are the same.
    let stored: Vec<u64> =
        document(&user, &run).await["seconds"].as_array().unwrap().iter().map(|s| s["t"].as_u64().unwrap()).collect();
    assert_eq!(stored, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_leaves_an_interrupted_run_and_queued_ones_start_once() {
    let target = Target::start().unwrap();
    let mut process = Process::start().await;
    let user = process.sign_up("anna").await;
    let test = prepare(&user, &target, &[("load", "per_second"), ("rate", "50"), ("duration_s", "600")], "/").await;
    let short = user
        .post_pairs(
            "/tests",
            &test_form(&[("load", "fixed_count"), ("requests", "25"), ("clients", "1")], &target.url("/delay/1")),
        )
        .await
        .location();
    let run = start(&user, &test).await;
    let waiting = start(&user, &short).await;
    let sent_before = user.wait_for_seconds(&run, 3).await;

    process.kill();
    // What was in the sockets' buffers still arrives.
    let mut asked = target.count("/").unwrap();
    loop {
        tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(200))).await.unwrap();
        match target.count("/").unwrap() {
            same if same == asked => break,
            more => asked = more,
        }
    }
    process.restart().await;
    let user = process.sign_in("anna").await;
    user.wait_for_text(&run, "Interrupted").await;
    let doc = document(&user, &run).await;
    assert_closed(&doc);
    assert_eq!(doc["end_reason"], "interrupted");
    let sent = doc["ledger"]["sent"].as_u64().unwrap();
    // At most two seconds of 50 requests are lost, and nothing that was shown is.
    assert!(
        sent >= sent_before && sent + 2 * 50 + 50 >= asked,
        "stored {sent}, shown before {sent_before}, asked {asked}"
    );

    user.wait_for_run(&waiting).await;
    assert_eq!(document(&user, &waiting).await["ledger"]["ok"], 25);
    assert_eq!(target.count("/delay/1").unwrap(), 25, "the queued run started once");
    assert_eq!(target.count("/").unwrap(), asked, "the interrupted run did not go on");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_stops_sending_and_stores_everything_within_five_seconds() {
    let target = Target::start().unwrap();
    let mut process = Process::start().await;
    let user = process.sign_up("anna").await;
    // Replies that never come must not hold the end up, nor must an open page.
    let test =
        prepare(&user, &target, &[("load", "per_second"), ("rate", "20"), ("duration_s", "600")], "/hold/60000").await;
    let run = start(&user, &test).await;
    user.wait_for_seconds(&run, 2).await;
    let page = tokio::spawn({
        let (user, run) = (user.clone(), run.clone());
        async move { user.events(&run, None).await }
    });
    let before = Instant::now();
    process.terminate().await;
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    page.await.unwrap();
    process.restart().await;
    let user = process.sign_in("anna").await;
    user.wait_for_text(&run, "Interrupted").await;
    let doc = document(&user, &run).await;
    assert_closed(&doc);
    assert_eq!(doc["end_reason"], "interrupted");
    let (sent, aborted) = (doc["ledger"]["sent"].as_u64().unwrap(), doc["ledger"]["aborted"].as_u64().unwrap());
    let asked = target.count("/hold/60000").unwrap();
    assert!(asked <= sent && asked + aborted >= sent, "asked {asked}, sent {sent}, aborted {aborted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_or_foreign_run_is_not_found() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let (anna, bert) = (server.sign_up("anna").await, server.sign_up("bert").await);
    let test = prepare(&anna, &target, &[("load", "fixed_count"), ("requests", "1"), ("clients", "1")], "/").await;
    let run = start(&anna, &test).await;
    anna.wait_for_run(&run).await;
    let unknown = format!("/runs/{}", uuid::Uuid::now_v7());
    for path in [&run, &unknown, &"/runs/nonsense".to_owned()] {
        for below in ["", "/events", "/result.json"] {
            assert_eq!(bert.get(&format!("{path}{below}")).await.status, 404, "{path}{below}");
        }
        for action in ["/stop", "/share", "/unshare", "/delete"] {
            assert_eq!(bert.post(&format!("{path}{action}"), &[]).await.status, 404, "{path}{action}");
        }
    }
    assert_eq!(bert.get(&test).await.status, 404);
    assert_eq!(bert.post(&format!("{test}/run"), &[]).await.status, 404);
    assert_eq!(bert.get("/r/00000000000000000000000000000000").await.status, 404);
    assert_eq!(bert.get("/r/nonsense").await.status, 404);
}

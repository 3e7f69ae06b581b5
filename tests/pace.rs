//! Pages while the engine works at full speed. A program of its own, so that nothing else is measured at the same time.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::time::{Duration, Instant};

use harness::tools::Target;
use harness::{Server, form_of};

#[tokio::test(flavor = "multi_thread")]
async fn pages_stay_quick_while_the_engine_works_at_full_speed() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let form = form_of(&[
        ("name", "Full speed"),
        ("load", "maintain"),
        ("from", "64"),
        ("to", "64"),
        ("duration_s", "60"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &target.url("/")),
        ("timeout_ms", "10000"),
        ("error_threshold", "100"),
        ("reuse", "client"),
        ("http", "auto"),
        ("end", "drain"),
        ("redirects", "follow"),
        ("action", "run"),
    ]);
    let run = user.post_pairs("/tests", &form).await.location();
    user.wait_for_seconds(&run, 1).await;
    // Both cores belong to the engine and the target now; a page that waited for them would take seconds.
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let before = Instant::now();
        assert_eq!(user.get("/dashboard").await.status, 200);
        slowest = slowest.max(before.elapsed());
    }
    println!("slowest of 20 pages under full load: {slowest:?}");
    assert!(slowest < Duration::from_secs(3), "{slowest:?}");
    user.post(&format!("{run}/stop"), &[]).await;
    user.wait_for_run(&run).await;
    let doc = user.json(&format!("{run}/result.json")).await;
    assert_eq!(doc["end_reason"], "stopped", "{doc}");
}

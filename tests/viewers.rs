//! Many people watch one run while it goes on.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use harness::tools::Target;
use harness::user::{Anonymous, SignedIn};
use harness::{Process, form_of};
use serde_json::Value;

/// Pages open at once.
const VIEWERS: usize = 500;
/// Clients per second of the run that they watch, and its length in seconds.
const RATE: u64 = 1000;
const SECONDS: u64 = 8;

/// Starts a run of the test and makes a public link to it.
async fn start(user: &SignedIn, test: &str) -> (String, String) {
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    user.post(&format!("{run}/share"), &[]).await;
    let link = user.get(&run).await.select("#share-link").concat();
    let path = link.find("/r/").map(|at| link[at..].to_owned());
    (run, path.unwrap_or_else(|| panic!("no link: {link}")))
}

/// Waits for the end, and gives the result.
async fn result(user: &SignedIn, run: &str) -> Value {
    user.wait_for_run(run).await;
    user.json(&format!("{run}/result.json?seconds=1")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_viewers_miss_nothing_and_the_run_goes_on_as_planned() {
    let (server, target) = (Process::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    user.post("/hosts", &[("address", target.address())]).await;
    let (rate, seconds) = (RATE.to_string(), SECONDS.to_string());
    let form = form_of(&[
        ("name", "watched"),
        ("load", "per_second"),
        ("rate", &rate),
        ("duration_s", &seconds),
        ("requests[0].method", "GET"),
        ("requests[0].url", &target.url("/")),
        ("timeout_ms", "10000"),
        ("error_threshold", "100"),
    ]);
    let test = user.post_pairs("/tests", &form).await.location();

    let (alone, _) = start(&user, &test).await;
    let alone = result(&user, &alone).await;

    let (run, link) = start(&user, &test).await;
    let viewer = Anonymous::new(&server);
    let viewers: Vec<_> = (0..VIEWERS)
        .map(|_| {
            let (viewer, link) = (viewer.clone(), link.clone());
            tokio::spawn(async move { viewer.events(&link, None).await })
        })
        .collect();
    let mut seen = Vec::with_capacity(VIEWERS);
    for viewer in viewers {
        seen.push(viewer.await.unwrap());
    }
    let watched = result(&user, &run).await;

    let told: Vec<u64> = watched["seconds"].as_array().unwrap().iter().map(|s| s["t"].as_u64().unwrap()).collect();
    for events in &seen {
        let seconds: Vec<u64> =
            events.iter().filter(|(name, ..)| name == "second").map(|(_, id, _)| id.parse().unwrap()).collect();
        assert_eq!(seconds, told, "every second, once, in order");
        assert_eq!(events.last().map(|(name, ..)| name.as_str()), Some("done"));
    }
    // All were told the same.
    let data =
        |n: usize| seen[n].iter().filter(|(name, ..)| name == "second").map(|(.., data)| data).collect::<Vec<_>>();
    assert!((1..VIEWERS).all(|n| data(n) == data(0)));
    for doc in [&alone, &watched] {
        assert_eq!(doc["ledger"]["planned"], RATE * SECONDS, "{doc}");
        assert_eq!(doc["ledger"]["sent"], doc["ledger"]["planned"], "{doc}");
    }
    println!(
        "lateness in ms, {VIEWERS} viewers beside {RATE}/s: {}; without viewers: {}",
        watched["lateness_ms"], alone["lateness_ms"]
    );
}

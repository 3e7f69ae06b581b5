//! The browser bundle as pages use it: every island that a page names is there, and pages without islands stay light.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use harness::tools::{Target, asked_for};
use harness::user::{Reply, SignedIn};
use harness::{Server, form_of};

/// Bytes that a report may cost a reader who comes for the first time, compressed.
const REPORT_BYTES: usize = 200_000;

/// The path of the module that a page's script loads; `None` in a build without a bundle, which only a developer has.
fn module_of(page: &Reply) -> Option<String> {
    let path = page.select_attribute("#islands", &["data-js"]).pop();
    assert!(
        path.is_some() || !asked_for("CI", "true"),
        "the server was built without its bundle; run `cargo xtask test`"
    );
    path
}

async fn finished_run(user: &SignedIn, target: &Target) -> String {
    let form = form_of(&[
        ("name", "A test"),
        ("load", "per_second"),
        ("rate", "20"),
        ("duration_s", "2"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &target.url("/")),
        ("timeout_ms", "10000"),
        ("error_threshold", "50"),
        ("reuse", "client"),
        ("http", "auto"),
        ("end", "drain"),
        ("redirects", "follow"),
        ("action", "run"),
    ]);
    user.post_pairs("/tests", &form).await.location()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_island_on_a_page_is_exported_by_the_bundle() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let run = finished_run(&user, &target).await;
    let live = user.get(&run).await;
    user.wait_for_run(&run).await;
    let id = run.trim_start_matches("/runs/");
    let mut named = Vec::new();
    for page in [
        live,
        user.get(&run).await,
        user.get("/tests/new").await,
        user.get(&format!("/compare?run={id}&run={id}")).await,
    ] {
        let Some(module) = module_of(&page) else { return };
        let script = user.get(&module).await;
        assert_eq!(
            (script.status, script.header("content-type")),
            (200, Some("text/javascript; charset=utf-8")),
            "{module}"
        );
        let islands = page.select_attribute("leptos-island", &["data-component"]);
        assert!(!islands.is_empty());
        for island in islands {
            assert!(script.body.contains(&format!("export function {island}(")), "{island} is not in {module}");
            named.push(island.split('_').next().unwrap_or_default().to_owned());
        }
    }
    named.sort();
    named.dedup();
    assert_eq!(named, ["LiveReport", "LoadPreview", "RunChart"], "the islands that these pages should have");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_without_islands_loads_no_module_and_a_report_is_small() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    for path in ["/dashboard", "/hosts", "/tests"] {
        let page = user.get(path).await;
        assert!(page.select("#islands").is_empty() && !page.body.contains(".wasm"), "{path}");
    }
    let run = finished_run(&user, &target).await;
    user.wait_for_run(&run).await;
    let page = user.get(&run).await;
    if module_of(&page).is_none() {
        return;
    }
    let assets = page.select_attribute("#islands, link[rel=stylesheet]", &["href", "data-js"]);
    let wasm = page.select_attribute("#islands", &["data-wasm"]);
    let mut bytes = 0;
    for path in [vec![run.clone()], assets, wasm].concat() {
        let reply = user.send(user.request("GET", &path).header("accept-encoding", "br")).await;
        assert_eq!((reply.status, reply.header("content-encoding")), (200, Some("br")), "{path}");
        // Compressed bytes are no text; their number survives the reading.
        bytes += reply.bytes;
    }
    println!("a report costs {bytes} bytes with its bundle");
    assert!(bytes <= REPORT_BYTES, "{bytes}");
}

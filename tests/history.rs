//! The list of all runs: filters, pages, small drawings, and what older versions left.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use harness::tools::Target;
use harness::user::SignedIn;
use harness::{Process, Server, form_of};

/// A fixed count of three requests, with limits that are kept or broken.
fn quick(name: &str, url: &str, limit: &str) -> Vec<(String, String)> {
    form_of(&[
        ("name", name),
        ("load", "fixed_count"),
        ("requests", "3"),
        ("clients", "1"),
        ("requests[0].method", "GET"),
        ("requests[0].url", url),
        ("limits[0].text", limit),
    ])
}

async fn run(user: &SignedIn, test: &str) -> String {
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    user.wait_for_run(&run).await;
    run
}

/// The runs of a page in their order.
async fn listed(user: &SignedIn, query: &str) -> Vec<String> {
    let page = user.get(&format!("/runs{query}")).await;
    assert_eq!(page.status, 200, "{query}");
    page.select_attribute(".runs th a[href^=\"/runs/\"]", &["href"])
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_found_by_what_they_are() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let (user, other) = (server.sign_up("anna").await, server.sign_up("bert").await);
    let empty = user.get("/runs").await;
    assert!(empty.body.contains("No runs yet") && empty.select("form.filters").is_empty());

    user.post("/hosts", &[("address", target.address())]).await;
    let shop = user.post_pairs("/tests", &quick("Shop front", &target.url("/"), "max>60s")).await.location();
    let till = user.post_pairs("/tests", &quick("Kasse <b>", &target.url("/delay/5"), "p50>1ms")).await.location();
    let (first, second, third) = (run(&user, &shop).await, run(&user, &till).await, run(&user, &shop).await);
    assert_eq!(listed(&user, "").await, [&*third, &*second, &*first]);
    let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let host = target.address().replace(':', "%3A");
    let none: [&str; 0] = [];
    for (query, runs) in [
        (format!("?test={}", id(&shop)), &[&*third, &*first][..]),
        ("?limits=yes".into(), &[&*third, &*first]),
        ("?limits=no".into(), &[&*second]),
        ("?limits=none".into(), &none),
        ("?q=KASSE".into(), &[&*second]),
        ("?q=shop+127.0.0.1".into(), &[&*third, &*first]),
        (format!("?host={host}"), &[&*third, &*second, &*first]),
        ("?host=127.0.0.1%3A1".into(), &none),
        ("?state=finished".into(), &[&*third, &*second, &*first]),
        ("?state=under_way".into(), &none),
        ("?from=2020-01-01&to=2099-12-31".into(), &[&*third, &*second, &*first]),
        ("?to=2020-01-01".into(), &none),
        ("?from=2099-01-01".into(), &none),
        ("?older=nonsense&state=%27&test=x".into(), &[&*third, &*second, &*first]),
    ] {
        assert_eq!(listed(&user, &query).await, runs, "{query}");
    }
    assert!(listed(&other, "").await.is_empty());
    assert!(listed(&other, &format!("?test={}", id(&shop))).await.is_empty(), "nobody looks into another's");

    let page = user.get("/runs?q=KASSE&limits=no&from=2020-13-01").await;
    assert_eq!((page.value_of("q").as_deref(), page.value_of("limits").as_deref()), (Some("KASSE"), Some("no")));
    assert!(page.body.contains("is not a day") && page.body.contains("Kasse &lt;b&gt;"));
    assert_eq!(page.select(".runs .broken"), ["✗ limit broken"]);
    assert_eq!(page.select_attribute(".runs svg.spark", &["aria-label"]).len(), 1, "{}", page.body);
    // Ticks lead to the comparison, and the navigation to it all.
    let whole = user.get("/runs").await;
    assert_eq!(whole.select_attribute("form[action=\"/compare\"] input[name=\"run\"]", &["value"]).len(), 3);
    let sections = whole.select_attribute(".site-nav a", &["href"]);
    assert_eq!(sections, ["/dashboard", "/hosts", "/tests", "/runs", "/compare"]);
    assert_eq!(whole.select_attribute(".site-nav a[aria-current]", &["href"]), ["/runs"]);
    assert!(!user.get("/dashboard").await.select("main a[href=\"/runs\"]").is_empty());
    let here = format!("main a[href=\"/runs?test={}\"]", id(&shop));
    assert!(!user.get(&shop).await.select(&here).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_are_turned_page_by_page() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    user.post("/hosts", &[("address", target.address())]).await;
    let test = user.post_pairs("/tests", &quick("Many", &target.url("/"), "")).await.location();
    let mut runs = Vec::new();
    for _ in 0..53 {
        runs.push(run(&user, &test).await);
    }
    runs.reverse();
    let link = async |path: &str, rel: &str| {
        let page = user.get(path).await;
        page.select_attribute(&format!(".paging a[rel=\"{rel}\"]"), &["href"]).into_iter().next()
    };
    let path = "/runs?state=finished";
    let second = link(path, "next").await.expect("a second page");
    assert!(second.contains("state=finished"), "{second}");
    let third = link(&second, "next").await.expect("a third page");
    let mut seen = Vec::new();
    for page in [path, &second, &third] {
        seen.extend(listed(&user, page.strip_prefix("/runs").unwrap()).await);
    }
    assert_eq!(seen, runs);
    assert_eq!((link(path, "prev").await, link(&third, "next").await), (None, None));
    // Back from the end: the same pages, while a new run has come on top.
    let newest = run(&user, &test).await;
    let back = link(&third, "prev").await.expect("a page before");
    assert_eq!(listed(&user, back.strip_prefix("/runs").unwrap()).await, runs[25..50]);
    assert_eq!(listed(&user, "").await[0], newest);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_an_older_version_left_are_listed_after_the_start() {
    let (mut server, target) = (Process::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    user.post("/hosts", &[("address", target.address())]).await;
    let test = user.post_pairs("/tests", &quick("Old", &target.url("/"), "max>60s")).await.location();
    let old = run(&user, &test).await;
    let before = user.get("/runs").await.select(".runs td");
    server.kill();
    let file = format!("sqlite:{}", server.folder().join("oleada.db").display());
    let mut db = <sqlx::SqliteConnection as sqlx::Connection>::connect(&file).await.unwrap();
    sqlx::query(
        "update runs set requests_per_second = null, p50 = null, p95 = null, p99 = null, error_rate = null, duration_s = null,
            passed = null, limited_by = null, spark = null, hosts = null, search = null",
    )
    .execute(&mut db)
    .await
    .unwrap();
    sqlx::Connection::close(db).await.unwrap();
    server.restart().await;
    let user = server.sign_in("anna").await;
    let page = user.wait_for("/runs?limits=yes", "the run", |page| !page.select(".runs th a").is_empty()).await;
    assert_eq!(page.select(".runs td"), before, "the same figures as before");
    let host = target.address().replace(':', "%3A");
    assert_eq!(listed(&user, &format!("?host={host}&q=old")).await, [old]);
}

//! Series of runs and the search for a capacity: one after the other, stopped, carried on after a crash.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, Uri};
use harness::tools::Target;
use harness::user::{Reply, SignedIn};
use harness::{Process, Server, form_of};
use serde_json::Value;

const FIXED: &[(&str, &str)] = &[("load", "fixed_count"), ("requests", "12"), ("clients", "2"), ("duration_s", "")];

async fn test(user: &SignedIn, address: &str, load: &[(&str, &str)], url: &str) -> String {
    user.post("/hosts", &[("address", address)]).await;
    let mut form = form_of(load);
    form.extend(form_of(&[
        ("name", "A test"),
        ("requests[0].method", "GET"),
        ("requests[0].url", url),
        ("error_threshold", "100"),
    ]));
    user.post_pairs("/tests", &form).await.location()
}

async fn begin(user: &SignedIn, test: &str, varies: &str, sizes: &str, more: &[(&str, &str)]) -> String {
    let mut form = vec![("varies", varies), ("how", "list"), ("sizes", sizes)];
    form.extend_from_slice(more);
    user.post(&format!("{test}/series"), &form).await.location()
}

/// Waits until a series has this state.
async fn wait_for_series(user: &SignedIn, series: &str, state: &str) -> Reply {
    let shows = |page: &Reply| page.select(".run-line .badge").iter().any(|badge| badge == state);
    user.wait_for(series, &format!("the series to be {state}"), shows).await
}

/// The runs that a series' page leads to, in its order.
fn reports(page: &Reply) -> Vec<String> {
    page.select_attribute(".series td a[href^=\"/runs/\"]", &["href"])
}

fn number(doc: &Value, pointer: &str) -> u64 {
    doc.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} in {doc}"))
}

/// When a run began and ended, in ms since the day began (UTC).
fn span(doc: &Value) -> (i64, i64) {
    let text = doc["started_at"].as_str().unwrap();
    let part = |from: usize, to: usize| text[from..to].parse::<i64>().unwrap();
    let start = ((part(11, 13) * 60 + part(14, 16)) * 60 + part(17, 19)) * 1000 + part(20, 23);
    (start, start + (doc["duration_s"].as_f64().unwrap() * 1000.0) as i64)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_runs_every_size_one_after_the_other() {
    // Several runs at once are allowed, but not of one series.
    let server = Server::start_with(|config| config.max_runs = 4.try_into().unwrap()).await;
    let (target, user) = (Target::start().unwrap(), server.sign_up("anna").await);
    let test = test(&user, target.address(), FIXED, &target.url("/delay/3")).await;
    let form = user.get(&format!("{test}/series")).await;
    assert_eq!(form.value_of("sizes").as_deref(), Some("1, 2, 4, 8"), "around the test's own size");
    assert_eq!(form.select("[name=varies] option"), ["Clients at once", "Requests"]);

    let series = begin(&user, &test, "requests", "8, 16, 32", &[("pause_s", "0.2")]).await;
    let under_way = user.get(&series).await;
    assert!(!under_way.select("meta[http-equiv=refresh]").is_empty() || under_way.body.contains(">Over<"));
    let page = wait_for_series(&user, &series, "Over").await;
    assert!(page.select("meta[http-equiv=refresh]").is_empty(), "what is over does not load itself again");
    assert_eq!(page.select(".series tbody th"), ["8", "16", "32"]);
    let runs = reports(&page);
    assert_eq!(runs.len(), 3);
    let (mut sent, mut before) = (0, None::<i64>);
    for (run, size) in runs.iter().zip([8, 16, 32]) {
        let doc = user.json(&format!("{run}/result.json")).await;
        assert_eq!((number(&doc, "/ledger/ok"), doc["end_reason"].as_str()), (size, Some("completed")), "{doc}");
        sent += size;
        let (start, end) = span(&doc);
        if let Some(before) = before {
            // Around midnight the day begins anew.
            assert!(start >= before + 200 || start < before - 1000, "after the run before and a pause");
        }
        before = Some(end);
    }
    assert_eq!(target.count("/delay/3").unwrap(), sent, "as many requests as the target saw");

    // Two drawings, at two widths each; the table as a file; its runs side by side; and the way back.
    assert_eq!(
        page.select("svg.chart-drawing title"),
        [
            "Requests per second by size",
            "Requests per second by size",
            "Response time by size",
            "Response time by size",
        ]
    );
    let csv = user.get(&format!("{series}/table.csv")).await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<Vec<&str>> = csv.body.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 4, "{}", csv.body);
    assert_eq!((lines[0][0], lines[0][4], lines[0][5]), ("requests", "requests_per_second", "p50_ms"));
    assert_eq!(
        lines[1..].iter().map(|l| (l[0], l[3])).collect::<Vec<_>>(),
        [("8", "finished"), ("16", "finished"), ("32", "finished")]
    );
    assert!(lines[1..].iter().all(|l| l.len() == 12 && l[5].parse::<f64>().unwrap() >= 3.0), "{}", csv.body);
    let compare = page.select_attribute(".actions a[href^=\"/compare?\"]", &["href"]).remove(0);
    assert_eq!(compare.matches("run=").count(), 3);
    assert_eq!(user.get(&compare).await.status, 200);
    assert_eq!(
        user.get(&test).await.select(&format!("section table.tests a[href=\"{series}\"]")),
        ["Requests: 8, 16, 32"]
    );
    let part = user.get("/runs").await.select_attribute(".runs a[href^=\"/series/\"]", &["href"]);
    assert_eq!(part, [&*series, &series, &series]);

    // Deleted, it leaves its runs.
    assert_eq!(user.post(&format!("{series}/delete"), &[]).await.location(), test);
    assert_eq!((user.get(&series).await.status, user.get(&runs[0]).await.status), (404, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_size_twice_shows_what_keep_alive_is_worth() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let test = test(&user, target.address(), FIXED, &target.url("/")).await;
    let series = begin(&user, &test, "clients", "1 3", &[("both_reuses", "on")]).await;
    let page = wait_for_series(&user, &series, "Over").await;
    assert_eq!(page.select(".series tbody th"), ["1", "1", "3", "3"]);
    assert_eq!(
        page.select(".series tbody td:nth-child(2)"),
        ["kept alive", "new each time", "kept alive", "new each time"]
    );
    let mut opened = Vec::new();
    for run in reports(&page) {
        opened.push(number(&user.json(&format!("{run}/result.json")).await, "/connections/opened"));
    }
    assert_eq!((opened[0], opened[1], opened[3]), (1, 12, 12));
    assert!(opened[2] <= 3, "{opened:?}");
    for (n, label) in ["Keep-alive", "New connection for every request"].into_iter().enumerate() {
        assert_eq!(page.select(".chart:first-child .legend .name")[n], label);
    }
    let lines = page.select_attribute(".chart:first-child .wide path.line", &["class"]);
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_series_starts_nothing_more() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let long = [("load", "per_second"), ("rate", "5"), ("duration_s", "60")];
    let test = test(&user, target.address(), &long, &target.url("/")).await;
    let series = begin(&user, &test, "rate", "5, 6, 7", &[]).await;
    let page = user.wait_for(&series, "its first run", |page| page.select(".series .badge") == ["Running"]).await;
    let first = reports(&page).remove(0);
    assert_eq!(user.post(&format!("{first}/delete"), &[]).await.status, 409);
    assert_eq!(user.post(&format!("{series}/delete"), &[]).await.status, 409);
    for _ in 0..2 {
        assert_eq!(user.post(&format!("{series}/stop"), &[]).await.location(), series, "twice is no fault");
    }
    user.wait_for_run(&first).await;
    let page = wait_for_series(&user, &series, "Stopped").await;
    let states = page.select(".series tbody td:nth-child(2)");
    assert_eq!(states, ["Stopped", "not run: the series was stopped", "not run: the series was stopped"]);

    // Whoever stops a run of a series, stops the series: the next would be larger.
    let series = begin(&user, &test, "rate", "5, 6", &[]).await;
    let page = user.wait_for(&series, "its first run", |page| page.select(".series .badge") == ["Running"]).await;
    user.post(&format!("{}/stop", reports(&page)[0]), &[]).await;
    let page = wait_for_series(&user, &series, "Stopped").await;
    assert!(page.body.contains("One of its runs was stopped."), "{}", page.body);
    assert_eq!(user.get("/runs").await.select(".runs tbody tr").len(), 2, "no other run was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_goes_on_after_a_crash() {
    let (mut server, target) = (Process::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let load = [("load", "per_second"), ("rate", "5"), ("duration_s", "2")];
    let test = test(&user, target.address(), &load, &target.url("/")).await;
    let series = begin(&user, &test, "rate", "5, 6, 7", &[]).await;
    let second = |page: &Reply| page.select(".series .badge") == ["Finished", "Running"];
    user.wait_for(&series, "its second run", second).await;
    server.kill();
    server.restart().await;
    let user = server.sign_in("anna").await;
    let page = wait_for_series(&user, &series, "Over").await;
    assert_eq!(page.select(".series .badge"), ["Finished", "Finished", "Finished"], "{}", page.body);
    for (run, rate) in reports(&page).iter().zip([5, 6, 7]) {
        assert_eq!(number(&user.json(&format!("{run}/result.json")).await, "/ledger/planned"), 2 * rate);
    }
    // The interrupted run is kept, beside the one that was made again.
    let states = user.get("/runs?state=interrupted").await.select(".runs tbody tr");
    assert_eq!((states.len(), user.get("/runs").await.select(".runs tbody tr").len()), (1, 4));

    // Asked to end, it goes on after the next start, too.
    let series = begin(&user, &test, "rate", "5, 6", &[]).await;
    user.wait_for(&series, "its first run", |page| page.select(".series .badge") == ["Running"]).await;
    server.terminate().await;
    server.restart().await;
    let user = server.sign_in("anna").await;
    let page = wait_for_series(&user, &series, "Over").await;
    assert_eq!(page.select(".series .badge"), ["Finished", "Finished"], "{}", page.body);
}

/// A site that shows this token as long as it is not empty, and answers all else.
async fn site(token: Arc<Mutex<String>>) -> String {
    let answer = move |uri: Uri| {
        let token = token.lock().unwrap().clone();
        async move {
            let is_proof = uri.path() == format!("/{token}.txt");
            let unknown = uri.path().ends_with(".txt") && !is_proof;
            let status = if unknown { StatusCode::NOT_FOUND } else { StatusCode::OK };
            (status, if is_proof { token } else { "hello".to_owned() })
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async { axum::serve(listener, Router::new().fallback(answer)).await });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_run_ends_its_series() {
    let server = Server::start_with(|config| config.require_proof = true).await;
    let user = server.sign_up("anna").await;
    let token = Arc::new(Mutex::new("nothing".to_owned()));
    let address = site(token.clone()).await;
    let test = test(&user, &address, FIXED, &format!("http://{address}/")).await;
    // An unverified host is told before anything is begun.
    let sizes = [("varies", "clients"), ("how", "list"), ("sizes", "1, 2")];
    assert_eq!(user.post(&format!("{test}/series"), &sizes).await.location(), test);
    assert!(user.get("/runs").await.body.contains("No runs yet"));

    let host = user.get("/hosts").await.select_attribute("a[href^=\"/hosts/\"]", &["href"]).remove(0);
    *token.lock().unwrap() = user.get(&format!("{host}/token.txt")).await.body.trim().to_owned();
    assert_eq!(user.post(&format!("{host}/verify"), &[("method", "file")]).await.status, 303);
    let series = begin(&user, &test, "clients", "1, 2, 3", &[("pause_s", "3")]).await;
    user.wait_for(&series, "a pause", |page| page.body.contains("Pause until")).await;
    let kept = std::mem::replace(&mut *token.lock().unwrap(), "gone".to_owned());
    let page = wait_for_series(&user, &series, "Over").await;
    assert!(page.body.contains("A run was refused, so the rest was not started."), "{}", page.body);
    assert_eq!(page.select(".series tbody td:nth-child(2)")[1..], ["Refused", "not run: the series was ended"]);

    // A test that is gone cannot be run, either.
    *token.lock().unwrap() = kept;
    assert_eq!(user.post(&format!("{host}/verify"), &[("method", "file")]).await.status, 303);
    let series = begin(&user, &test, "clients", "1, 2", &[("pause_s", "3")]).await;
    user.wait_for(&series, "a pause", |page| page.body.contains("Pause until")).await;
    assert_eq!(user.post(&format!("{test}/delete"), &[]).await.status, 303);
    let page = wait_for_series(&user, &series, "Over").await;
    assert!(page.body.contains("The test was deleted"), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_makes_no_sense_comes_back() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    let fixed = test(&user, target.address(), FIXED, &target.url("/")).await;
    let wrong = [("varies", "rate"), ("how", "list"), ("sizes", "10, \"<b>"), ("pause_s", "-1"), ("both_reuses", "on")];
    let reply = user.post(&format!("{fixed}/series"), &wrong).await;
    assert_eq!((reply.status, reply.value_of("sizes").as_deref()), (422, Some("10, \"<b>")));
    assert_eq!(reply.select(".error-summary li").len(), 3, "{:?}", reply.select(".error-summary li"));
    assert_eq!(reply.value_of("both_reuses").as_deref(), Some("on"));
    let reply = user
        .post(&format!("{fixed}/capacity"), &[("varies", "clients"), ("from", "9"), ("to", "2"), ("limits", "p94>1")])
        .await;
    assert_eq!(
        (reply.status, reply.select(".error-summary li").len()),
        (422, 3),
        "{:?}",
        reply.select(".error-summary li")
    );

    // A load in stages has no single size.
    let staged =
        [("load", "maintain"), ("from", "0"), ("to", "1"), ("stages[0].duration_s", "1"), ("stages[0].to", "2")];
    let staged = test(&user, target.address(), &staged, &target.url("/")).await;
    for path in [format!("{staged}/series"), format!("{staged}/capacity")] {
        let page = user.get(&path).await;
        assert!(page.body.contains("changes in stages") && page.select("form.series-form").is_empty(), "{path}");
    }
    let sizes = [("varies", "clients"), ("how", "list"), ("sizes", "1, 2")];
    assert_eq!(user.post(&format!("{staged}/series"), &sizes).await.status, 422);
    user.post(&format!("{fixed}/archive"), &[]).await.location();
    assert_eq!(user.post(&format!("{fixed}/series"), &sizes).await.status, 422);
    assert!(user.get(&fixed).await.select("a[href$=\"/series\"]").is_empty());
    assert!(user.get("/runs").await.body.contains("No runs yet"));
}

/// A target that answers 503 when more than so many requests are open at once.
async fn crowded(most: u32) -> String {
    let open = Arc::new(AtomicU32::new(0));
    let answer = move || {
        let open = open.clone();
        async move {
            let crowd = open.fetch_add(1, Ordering::SeqCst) + 1;
            hold().await;
            open.fetch_sub(1, Ordering::SeqCst);
            if crowd > most { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async { axum::serve(listener, Router::new().fallback(answer)).await });
    address
}

#[expect(clippy::disallowed_methods, reason = "this is what the target does")]
async fn hold() {
    tokio::time::sleep(Duration::from_millis(150)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_finds_the_capacity_and_confirms_it() {
    let server = Server::start().await;
    let user = server.sign_up("anna").await;
    let address = crowded(8).await;
    let load = [
        ("load", "fixed_count"),
        ("requests", "20"),
        ("clients", "5"),
        ("duration_s", ""),
        ("limits[0].text", "errors>0%"),
    ];
    let test = test(&user, &address, &load, &format!("http://{address}/")).await;
    let form = user.get(&format!("{test}/capacity")).await;
    assert_eq!(form.value_of("limits").as_deref().map(str::trim), Some("errors>0%"), "the test's own limits");
    let typed =
        [("varies", "clients"), ("from", "4"), ("to", "64"), ("precision", "50"), ("limits", "errors>0%\np99>60s")];
    let search = user.post(&format!("{test}/capacity"), &typed).await.location();
    let page = wait_for_series(&user, &search, "Over").await;
    assert_eq!(page.select(".series tbody th"), ["4", "8", "16", "11", "8"], "doubled, halved, confirmed");
    assert_eq!(page.select(".series tbody td:nth-child(2)"), ["step", "step", "step", "step", "confirms"]);
    let kept = page.select(".series tbody td:nth-child(3) .sub");
    assert_eq!(kept, ["✓ limits kept", "✓ limits kept", "✗ limit broken", "✗ limit broken", "✓ limits kept"]);
    let found = "The target keeps errors≤0% and p99≤60s up to 8 clients at once (confirmed). At 11 it did not.";
    assert_eq!(page.select(".note-box strong"), [found]);
    // Marks that can be told without colour: three dots, two crosses.
    let marks = |css: &str| page.select_attribute(&format!(".chart:first-child .wide {css}"), &["class"]).len();
    assert_eq!((marks("circle.xy-kept"), marks("path.xy-broken")), (3, 2));
    // Each run is judged by what was typed.
    let doc = user.json(&format!("{}/result.json", reports(&page)[2])).await;
    assert_eq!(
        (doc["limits"][0]["text"].as_str(), doc["limits"][0]["held"].as_bool()),
        (Some("errors>0%"), Some(false))
    );
    assert!(user.get(&format!("{search}/table.csv")).await.body.contains("\r\n8,true,true,finished,"));

    // Nothing is kept where even the smallest size breaks it.
    let typed = [("varies", "clients"), ("from", "8"), ("to", "64"), ("precision", "5"), ("limits", "min>0ms")];
    let search = user.post(&format!("{test}/capacity"), &typed).await.location();
    let page = wait_for_series(&user, &search, "Over").await;
    assert_eq!(page.select(".series tbody th"), ["8"]);
    assert!(
        page.select(".note-box strong")[0].starts_with("Even the smallest size, 8 clients at once, breaks a limit")
    );
}

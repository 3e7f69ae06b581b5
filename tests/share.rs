//! Public links: what they show, how long, and that they show nothing else.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::time::Duration;

use harness::db::TestDb;
use harness::tools::Target;
use harness::user::{Anonymous, SignedIn};
use harness::{Server, form_of};
use oleada_server::store::shares::ShareOptions;
use oleada_server::store::{Db, RunId, Timestamp};

const HEADERS: &str = "X-Inside: quite-private\nAccept: text/wanted";

/// Every text that can be downloaded; pictures are drawn from the same texts.
const DOWNLOADS: &[&str] = &[
    "result.json",
    "seconds.csv",
    "errors.csv",
    "percentiles.csv",
    "requests.tsv",
    "latency.hlog",
    "junit.xml",
    "response-times.svg",
    "throughput.svg",
];

/// A test that asks the target by the name `localhost`.
async fn prepare(user: &SignedIn, target: &Target, changes: &[(&str, &str)]) -> String {
    let at = target.address().replace("127.0.0.1", "localhost");
    user.post("/hosts", &[("address", &at)]).await;
    let url = format!("http://{at}/delay/1?x=1");
    let name = format!("Shop at {at}");
    let mut form = form_of(&[
        ("name", &name),
        ("load", "fixed_count"),
        ("requests", "20"),
        ("clients", "2"),
        ("timeout_ms", "10000"),
        ("error_threshold", "100"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &url),
        ("requests[0].headers", HEADERS),
    ]);
    for (name, value) in changes {
        form.retain(|(known, _)| known != name);
        form.extend(form_of(&[(name, value)]));
    }
    user.post_pairs("/tests", &form).await.location()
}

async fn start(user: &SignedIn, test: &str) -> String {
    user.post(&format!("{test}/run"), &[]).await.location()
}

async fn link_of(user: &SignedIn, run: &str) -> String {
    user.get(run).await.select_attribute("a[href^=\"/r/\"]", &["href"]).remove(0)
}

async fn share(user: &SignedIn, run: &str, form: &[(&str, &str)]) -> String {
    assert_eq!(user.post(&format!("{run}/share"), form).await.location(), run);
    link_of(user, run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_shows_a_run_from_its_start_until_it_is_revoked() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let (anna, reader) = (server.sign_up("anna").await, Anonymous::new(&server));
    let test = prepare(&anna, &target, &[("load", "per_second"), ("rate", "20"), ("duration_s", "600")]).await;
    let run = start(&anna, &test).await;
    anna.wait_for_text(&run, "Running").await;
    let link = share(&anna, &run, &[("expires", "7d")]).await;
    assert_eq!(share(&anna, &run, &[("expires", "keep")]).await, link, "a run has one link");
    let page = reader.get(&link).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Running") && page.select("form[action*=\"/stop\"]").is_empty());
    reader.wait_for_seconds(&link, 1).await;
    assert_eq!(reader.get(&format!("{link}/result.json")).await.status, 200, "the figures so far");

    // An open live page is cut off, and the run goes on.
    let watching = tokio::spawn({
        let (reader, link) = (reader.clone(), link.clone());
        async move { reader.events(&link, None).await }
    });
    reader.wait_for_seconds(&link, 2).await;
    assert!(!watching.is_finished());
    anna.post(&format!("{run}/unshare"), &[]).await.location();
    let events = watching.await.unwrap();
    assert_eq!(events.last().unwrap().0, "done", "a page that is told so loads itself again");
    for below in ["", "/events", "/result.json"] {
        let gone = reader.get(&format!("{link}{below}")).await;
        assert_eq!(gone.status, 410, "{below}");
        assert!(gone.body.contains("This link was revoked"), "{below}: {}", gone.body);
    }
    assert!(anna.get(&run).await.body.contains("Running"));
    // A new link is another one.
    let second = share(&anna, &run, &[]).await;
    assert_ne!(second, link);
    assert_eq!((reader.get(&second).await.status, reader.get(&link).await.status), (200, 410));
    anna.post(&format!("{run}/stop"), &[]).await;
    anna.wait_for_run(&run).await;
    assert_eq!(reader.get(&second).await.status, 200, "and its report afterwards");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_link_says_so_and_cuts_live_pages_off() {
    let db = TestDb::sqlite();
    let url = db.url().to_owned();
    let (server, target) = (Server::start_on(db, |_| {}).await, Target::start().unwrap());
    let (anna, reader) = (server.sign_up("anna").await, Anonymous::new(&server));
    let test = prepare(&anna, &target, &[("load", "per_second"), ("rate", "20"), ("duration_s", "600")]).await;
    let run = start(&anna, &test).await;
    let link = share(&anna, &run, &[("expires", "30d")]).await;
    assert!(anna.get(&run).await.body.contains("expires "));
    reader.wait_for_seconds(&link, 1).await;

    // As time would: the moment comes while somebody watches.
    let db = Db::open(&url).await.unwrap();
    let id: RunId = run.trim_start_matches("/runs/").parse().unwrap();
    let owner = db.run(id).await.unwrap().unwrap().owner_id;
    let ends = Timestamp::now().after(Duration::from_millis(2500));
    let options = ShareOptions { expires_at: Some(ends), ..ShareOptions::default() };
    assert!(db.change_share(owner, id, options).await.unwrap());
    let events = reader.events(&link, None).await;
    assert_eq!(events.last().unwrap().0, "done");
    assert!(Timestamp::now() >= ends);
    let gone = reader.get(&link).await;
    assert_eq!(gone.status, 410);
    assert!(gone.body.contains("limited time, which is over"), "{}", gone.body);
    let own = anna.get(&run).await;
    assert!(own.body.contains("Running") && own.body.contains("time is over"), "{}", own.body);
    // Its owner gives it more.
    assert_eq!(share(&anna, &run, &[("expires", "never")]).await, link);
    assert_eq!(reader.get(&link).await.status, 200);
    anna.post(&format!("{run}/stop"), &[]).await;
    anna.wait_for_run(&run).await;
    db.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_link_is_chosen_and_faults_are_told() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    let run = start(&anna, &prepare(&anna, &target, &[]).await).await;
    anna.wait_for_run(&run).await;
    for (expires, on) in [
        ("date", ""),
        ("date", "soon"),
        ("date", "2001-01-01"),
        ("date", "9999-12-31"),
        ("date", "2026-13-01"),
        ("year", ""),
    ] {
        let form = [("expires", expires), ("expires_on", on), ("hide_host", "on")];
        let again = anna.post(&format!("{run}/share"), &form).await;
        assert_eq!(again.status, 422, "{form:?}");
        assert_eq!(again.select(".error-summary li").len(), 1, "{form:?}: {}", again.body);
        assert_eq!(again.value_of("hide_host").as_deref(), Some("on"), "what was typed stays");
        assert!(again.select_attribute("a[href^=\"/r/\"]", &["href"]).is_empty(), "{form:?}: nothing was shared");
    }
    let soon = Timestamp::now().after(Duration::from_secs(40 * 86_400)).0;
    let day = oleada_server::clock::rfc3339(soon)[..10].to_owned();
    share(&anna, &run, &[("expires", "date"), ("expires_on", &day), ("hide_notes", "on")]).await;
    let shown = anna.get(&run).await;
    let ends = shown.select_attribute(".panel time", &["datetime"]);
    let next = oleada_server::clock::rfc3339(soon + 86_400_000)[..10].to_owned();
    assert!(ends.iter().any(|end| *end == format!("{next}T00:00:00Z")), "{ends:?}");
    assert_eq!(
        (shown.value_of("expires").as_deref(), shown.value_of("hide_notes").as_deref()),
        (Some("keep"), Some("on"))
    );
    assert_eq!(shown.value_of("hide_host"), None);
    assert!(shown.body.contains("hides notes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_link_hides_is_nowhere_in_what_it_gives() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let (anna, reader) = (server.sign_up("anna").await, Anonymous::new(&server));
    let test = prepare(&anna, &target, &[]).await;
    anna.wait_for_run(&start(&anna, &test).await).await;
    // Another plan, so that the report tells what changed; and a target that is down, so that errors name it.
    let port = target.address().rsplit(':').next().unwrap().to_owned();
    let away = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    anna.post("/hosts", &[("address", &away)]).await;
    let name = format!("Shop at localhost:{port}");
    let edited = [
        ("name", &*name),
        ("load", "fixed_count"),
        ("requests", "20"),
        ("clients", "2"),
        ("timeout_ms", "10000"),
        ("error_threshold", "100"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &format!("http://localhost:{port}/delay/2?from=localhost")),
        ("requests[0].headers", "X-Inside: other\nHost: inner.example"),
        ("requests[1].method", "GET"),
        ("requests[1].url", &format!("http://{away}/path/kept")),
    ];
    anna.post_pairs(&format!("{test}/edit"), &form_of(&edited)).await.location();
    let run = start(&anna, &test).await;
    anna.wait_for_run(&run).await;
    anna.post(&format!("{run}/notes"), &[("notes", "Ask Zoe about localhost first")]).await.location();
    let link = share(&anna, &run, &[]).await;
    let open = reader.get(&link).await.body;
    for word in [&*name, "X-Inside", "Ask Zoe", "inner.example", "/path/kept", &*away] {
        assert!(open.contains(word), "{word} is shown by an open link");
    }

    let hidden = [("hide_host", "on"), ("hide_headers", "on"), ("hide_notes", "on")];
    assert_eq!(share(&anna, &run, &hidden).await, link);
    let below = ["", "?from=0", "/window.json", "/events", "/result.json?seconds=1", "/embed"];
    let mut given: Vec<String> = below.map(str::to_owned).to_vec();
    given.extend(DOWNLOADS.iter().map(|file| format!("/export/{file}")));
    for below in given {
        let reply = reader.get(&format!("{link}{below}")).await;
        assert_eq!(reply.status, 200, "{below}: {}", reply.body);
        let name = reply.header("content-disposition").unwrap_or_default();
        // Where Oleada itself is may be told.
        let text = format!("{name} {}", reply.body.replace(server.url(), "")).to_lowercase();
        for word in
            ["localhost", "127.0.0.1", "inner.example", "x-inside", "zoe", &port, away.rsplit(':').next().unwrap()]
        {
            assert!(!text.contains(word), "{below} names {word}: {text}");
        }
    }
    let page = reader.get(&link).await;
    assert!(page.body.contains("host hidden/path/kept"), "paths are kept");
    assert_eq!(page.select("h1"), ["Shop at host hidden"]);
    assert!(
        page.select(".changes li").iter().any(|text| text.contains("host hidden")),
        "{:?}",
        page.select(".changes li")
    );
    assert!(!page.select(".changes li").iter().any(|text| text.contains("header")));
    // The owner sees all of it.
    assert!(anna.get(&run).await.body.contains(&name));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_opens_its_report_and_nothing_else() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let (anna, reader) = (server.sign_up("anna").await, Anonymous::new(&server));
    let test = prepare(&anna, &target, &[]).await;
    let (run, other) = (start(&anna, &test).await, start(&anna, &test).await);
    anna.wait_for_run(&run).await;
    anna.wait_for_run(&other).await;
    let link = share(&anna, &run, &[]).await;
    let page = reader.get(&link).await;
    let leads: Vec<String> = page.select_attribute("main a, main form", &["href", "action"]);
    assert!(leads.iter().all(|to| to.starts_with(&link) || to.starts_with('#')), "{leads:?}");
    assert!(!page.body.contains(run.trim_start_matches("/runs/")) && !page.body.contains(&anna.email));
    for path in [&*run, &*other, &*test, "/dashboard", &format!("{run}/export/seconds.csv")] {
        assert!(reader.get(path).await.location().starts_with("/sign-in"), "{path}");
    }
    let token = link.trim_start_matches("/r/");
    for (path, status) in [
        (format!("/r/{}", token.to_uppercase()), 404),
        (format!("/r/{}", &token[1..]), 404),
        (format!("/r/{token}/export/nothing.csv"), 404),
        (format!("/r/{token}/export/..%2Fresult.json"), 404),
        (format!("/r/{token}/share"), 404),
        (format!("/runs/{token}"), 303),
    ] {
        assert_eq!(reader.get(&path).await.status, status, "{path}");
    }
    for action in ["share", "unshare", "delete", "stop"] {
        assert_eq!(reader.post(&format!("/r/{token}/{action}"), &[]).await.status, 404, "{action}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b76_a_shared_run_is_deleted_only_when_asked_and_its_link_says_so() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let (anna, reader) = (server.sign_up("anna").await, Anonymous::new(&server));
    let test = prepare(&anna, &target, &[]).await;
    let run = start(&anna, &test).await;
    anna.wait_for_run(&run).await;
    let link = share(&anna, &run, &[]).await;
    let delete = format!("{run}/delete");
    assert_eq!(anna.post(&delete, &[]).await.location(), delete, "asks first");
    let question = anna.get(&delete).await;
    assert!(question.body.contains("It has a public link."), "{}", question.body);
    assert_eq!(reader.get(&link).await.status, 200, "nothing happened yet");
    assert_eq!(question.value_of("confirmed").as_deref(), Some("yes"));
    assert_eq!(anna.post(&delete, &[("confirmed", "yes")]).await.location(), test);
    for below in ["", "/events", "/result.json", "/export/seconds.csv", "/picture.png", "/embed"] {
        let gone = reader.get(&format!("{link}{below}")).await;
        assert_eq!(gone.status, 410, "{below}");
        assert!(gone.body.contains("deleted"), "{below}: {}", gone.body);
    }
    assert_eq!(anna.get(&run).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn b76_a_test_is_not_deleted_while_it_runs() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    let test = prepare(&anna, &target, &[("load", "per_second"), ("rate", "10"), ("duration_s", "600")]).await;
    let run = start(&anna, &test).await;
    let refused = anna.post(&format!("{test}/delete"), &[("confirmed", "yes")]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("Stop"), "{}", refused.body);
    assert_eq!(anna.post(&format!("{run}/delete"), &[("confirmed", "yes")]).await.status, 409);
    anna.post(&format!("{run}/stop"), &[]).await;
    anna.wait_for_run(&run).await;
    assert_eq!(anna.post(&format!("{test}/delete"), &[("confirmed", "yes")]).await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn b76_a_form_that_is_sent_twice_makes_one_test_and_one_run() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    anna.post("/hosts", &[("address", target.address())]).await;
    let id = anna.get("/tests/new").await.value_of("form_id").expect("a form has an id");
    assert_ne!(anna.get("/tests/new").await.value_of("form_id").unwrap(), id);
    let url = target.url("/delay/1");
    let form = [
        ("form_id", &*id),
        ("name", "Once"),
        ("load", "fixed_count"),
        ("requests", "2"),
        ("clients", "1"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &url),
        ("action", "run"),
    ];
    let sent: Vec<_> = (0..4)
        .map(|_| {
            let (anna, form) = (anna.clone(), form_of(&form));
            tokio::spawn(async move { anna.post_pairs("/tests", &form).await.location() })
        })
        .collect();
    let mut runs = Vec::new();
    for one in sent {
        runs.push(one.await.unwrap());
    }
    assert!(runs.iter().all(|run| run.starts_with("/runs/") && *run == runs[0]), "{runs:?}");
    anna.wait_for_run(&runs[0]).await;
    let tests = anna.get("/tests").await.select_attribute("tbody th a[href^=\"/tests/\"]", &["href"]);
    assert_eq!(tests.len(), 1, "{tests:?}");
    assert_eq!(anna.get(&tests[0]).await.select(".runs tbody tr").len(), 1);
    // Faults do not use the form up, and somebody else's form is another one.
    let faulty = anna.get("/tests/new").await.value_of("form_id").unwrap();
    let again = anna.post("/tests", &[("form_id", &faulty), ("name", "Twice")]).await;
    assert_eq!((again.status, again.value_of("form_id")), (422, Some(faulty)));
    let bert = server.sign_up("bert").await;
    let of_bert = form.map(|(name, value)| (name, if name == "action" { "save" } else { value }));
    assert!(bert.post("/tests", &of_bert).await.location().starts_with("/tests/"));
}

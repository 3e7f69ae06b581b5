//! Pages for people without scripts: forms that come back, errors in words, headers on everything.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use harness::db::TestDb;
use harness::tools::run_oleada;
use harness::user::{Anonymous, Reply, SignedIn, email_of, password_of};
use harness::{Process, Server};
use oleada_server::config::{AttemptLimits, Mode};

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_form_with_every_field_wrong_comes_back_with_its_values() {
    let server = Server::start().await;
    let visitor = Anonymous::new(&server);
    let wrong = [("email", "nobody\"><script>alert(1)</script>"), ("password", "short-pw"), ("next", "/tests")];
    let reply = visitor.post("/sign-up", &wrong).await;
    assert_eq!(reply.status, 422);
    assert_eq!(reply.value_of("email").as_deref(), Some(wrong[0].1));
    assert_eq!(reply.value_of("next").as_deref(), Some("/tests"));
    assert_eq!(reply.value_of("password").as_deref(), Some(""), "a password is never sent back");
    assert!(!reply.body.contains("short-pw") && !reply.body.contains("<script>alert"));
    for field in ["email", "password"] {
        assert_eq!(reply.select(&format!("[name=\"{field}\"][aria-invalid=\"true\"]")).len(), 1, "{field}");
    }
    assert_eq!(reply.select(".error-summary li").len(), 2, "{:?}", reply.select(".error-summary"));

    // Nothing at all, also as other media types, is no crash either.
    assert_eq!(visitor.post("/sign-up", &[]).await.status, 422);
    let origin = server.url();
    for (kind, status) in [("text/plain", 415), ("application/json", 415)] {
        let odd = visitor.request("POST", "/sign-up").header("origin", origin).header("content-type", kind).body("{}");
        let reply = visitor.send(odd).await;
        assert_eq!((reply.status, reply.select("h1").len()), (status, 1), "{kind}");
    }
    assert_eq!(visitor.get("/dashboard").await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_does_not_tell_which_half_was_wrong() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let visitor = Anonymous::new(&server);
    let try_with =
        async |email: &str, password: &str| visitor.post("/sign-in", &[("email", email), ("password", password)]).await;
    let wrong = try_with(&anna.email, "not her password").await;
    let unknown = try_with("nobody@people.test", "not her password").await;
    assert_eq!((wrong.status, unknown.status), (422, 422));
    assert_eq!(wrong.select(".error-summary li"), unknown.select(".error-summary li"));
    assert_eq!(wrong.value_of("email"), Some(anna.email.clone()));
    let empty = try_with("", "").await;
    assert_eq!((empty.status, empty.select(".error-summary li").len()), (422, 2));
    assert_eq!(try_with(&anna.email.to_uppercase(), &password_of("anna")).await.location(), "/dashboard");
    assert_eq!(visitor.post("/sign-up", &[("email", &anna.email), ("password", "another password")]).await.status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_leads_back_and_never_away() {
    let server = Server::start().await;
    server.sign_up("anna").await;
    let visitor = Anonymous::new(&server);
    let sent = visitor.get("/compare?run=a&run=b").await.location();
    assert_eq!(sent, "/sign-in?next=%2Fcompare%3Frun%3Da%26run%3Db");
    let form = visitor.get(&sent).await;
    assert_eq!(form.value_of("next").as_deref(), Some("/compare?run=a&run=b"));
    for (next, leads_to) in [
        ("/hosts", "/hosts"),
        ("//evil.example", "/dashboard"),
        ("https://evil.example/", "/dashboard"),
        ("/\\evil", "/dashboard"),
    ] {
        let anna = Anonymous::new(&server);
        let reply = anna
            .post("/sign-in", &[("email", &email_of("anna")), ("password", &password_of("anna")), ("next", next)])
            .await;
        assert_eq!(reply.location(), leads_to, "{next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_account_is_the_operator() {
    for (_, db) in TestDb::each().await {
        let server = Server::start_on(db, |_| {}).await;
        assert!(Anonymous::new(&server).get("/sign-up").await.body.contains("operator"));
        let (anna, bert) = (server.sign_up("anna").await, server.sign_up("bert").await);
        assert_eq!(anna.get("/dashboard").await.select(".site-header .tag"), ["operator"]);
        assert!(bert.get("/dashboard").await.select(".site-header .tag").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_session_on_the_server() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let before = anna.get("/dashboard").await;
    assert_eq!(before.status, 200);
    let visitor = Anonymous::new(&server);
    let reply = visitor.post("/sign-in", &[("email", &anna.email), ("password", &password_of("anna"))]).await;
    let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(reply.header("set-cookie").unwrap().contains(part), "{part}");
    }
    assert_eq!(visitor.post("/sign-out", &[]).await.location(), "/");
    // Whoever kept the cookie has nothing.
    let thief = Anonymous::new(&server);
    assert_eq!(thief.send(thief.request("GET", "/dashboard").header("cookie", cookie)).await.status, 303);
    assert_eq!(anna.get("/dashboard").await.status, 200, "other sessions go on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_shown_once() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    assert_eq!(anna.get("/dashboard").await.select(".flash").len(), 1);
    assert_eq!(anna.get("/dashboard").await.select(".flash").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_in_words() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let id = uuid::Uuid::now_v7();
    let paths = [
        "/nowhere",
        "/hosts/nonsense",
        "/tests/nonsense",
        "/runs/nonsense",
        "/r/nonsense",
        "/hosts/%00",
        "/assets/none.js",
    ];
    for path in paths.into_iter().map(str::to_owned).chain(["hosts", "tests", "runs"].map(|of| format!("/{of}/{id}"))) {
        let reply = anna.get(&path).await;
        assert_eq!(reply.status, 404, "{path}");
        if !path.starts_with("/assets") {
            assert_eq!(reply.select("h1").len(), 1, "{path}: {}", reply.body);
            assert!(reply.body.contains(&anna.email), "{path}: the error page knows who reads it");
        }
    }
    let api = anna.get("/api/v1/nowhere").await;
    assert_eq!((api.status, api.header("content-type")), (404, Some("application/problem+json")));
    let method = anna.send(anna.request("DELETE", "/hosts").header("origin", server.url())).await;
    assert_eq!((method.status, method.select("h1").len()), (405, 1));
    assert_eq!(method.header("allow"), Some("GET,HEAD,POST"));
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_is_refused_in_words() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let reply = anna.post("/hosts", &[("address", &"x".repeat(2 * 1024 * 1024))]).await;
    assert_eq!(reply.status, 413);
    assert!(reply.body.contains("2 MB"), "{}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_carries_the_headers() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let mut nonces = std::collections::BTreeSet::new();
    for path in ["/", "/sign-in", "/dashboard", "/nowhere", "/api/v1/nowhere", "/robots.txt"] {
        let reply = anna.get(path).await;
        let policy = reply.header("content-security-policy").unwrap_or_else(|| panic!("{path}"));
        for part in [
            "default-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "'wasm-unsafe-eval'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe-inline"));
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
        for own in reply.select_attribute("script", &["nonce"]) {
            assert_eq!(own, nonce, "{path}");
        }
        assert!(nonces.insert(nonce), "a nonce is used once");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(reply.header("cache-control"), Some("private, no-store"), "{path}");
        for name in ["permissions-policy", "cross-origin-opener-policy", "x-request-id"] {
            assert!(reply.header(name).is_some(), "{path}: {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_compressed_for_those_who_ask() {
    let server = Server::start().await;
    let visitor = Anonymous::new(&server);
    let page = |encoding: &'static str| visitor.request("GET", "/").header("accept-encoding", encoding);
    for encoding in ["gzip", "br"] {
        let response = page(encoding).send().await.unwrap();
        assert_eq!(response.headers().get("content-encoding").unwrap(), encoding);
    }
    assert_eq!(page("identity").send().await.unwrap().headers().get("content-encoding"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_installation_answers_to_local_names_only() {
    let server = Server::start().await;
    let visitor = Anonymous::new(&server);
    let asked_as =
        async |host: &str| visitor.send(visitor.request("GET", "/sign-in").header("host", host)).await.status;
    assert_eq!(asked_as("localhost:1234").await, 200);
    assert_eq!(asked_as("rebound.example").await, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_passwords_is_slowed_down() {
    let server =
        Server::start_with(|config| config.attempts = AttemptLimits { per_address: 1000, per_account: 3 }).await;
    let anna = server.sign_up("anna").await;
    let visitor = Anonymous::new(&server);
    for _ in 0..3 {
        assert_eq!(visitor.post("/sign-in", &[("email", &anna.email), ("password", "guess")]).await.status, 422);
    }
    let reply = visitor.post("/sign-in", &[("email", &anna.email), ("password", &password_of("anna"))]).await;
    assert_eq!(reply.status, 429);
    assert!(reply.header("retry-after").is_some() && reply.body.contains("Try again in"));
    assert_eq!(
        visitor.post("/sign-in", &[("email", "bert@people.test"), ("password", "guess")]).await.status,
        422,
        "others are not held up"
    );
    assert_eq!(anna.get("/dashboard").await.status, 200);

    let server =
        Server::start_with(|config| config.attempts = AttemptLimits { per_address: 2, per_account: 1000 }).await;
    let visitor = Anonymous::new(&server);
    let statuses = [
        visitor.post("/sign-up", &[]).await.status,
        visitor.post("/sign-in", &[("email", "a@b"), ("password", "x")]).await.status,
        visitor.post("/sign-up", &[]).await.status,
    ];
    assert_eq!(statuses, [422, 422, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_installation_lets_nobody_in_by_itself() {
    let server = Server::start_with(|config| config.mode = Mode::Public).await;
    let visitor = Anonymous::new(&server);
    for path in ["/sign-up", "/sign-up?setup=00000000000000000000000000000000"] {
        assert_eq!(visitor.get(path).await.status, 403, "{path}");
    }
    let reply = visitor.post("/sign-up", &[("email", "a@b"), ("password", "long enough password")]).await;
    assert_eq!(reply.status, 403);
    assert!(reply.body.contains("not been set up"), "{}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_of_a_public_installation_finds_a_link_in_the_log() {
    let mut process = Process::start_with(&["--public-url", "http://load.test"]).await;
    let visitor = Anonymous::new(&process);
    assert_eq!(visitor.get("/sign-up").await.status, 403);
    let log = process.log();
    let link = log
        .split_whitespace()
        .find_map(|word| word.strip_prefix("http://load.test"))
        .expect("the link is in the log")
        .to_owned();
    assert_eq!(visitor.get(&link).await.status, 200);
    let anna = [("email", "anna@people.test"), ("password", "correct horse anna")];
    assert_eq!(visitor.post("/sign-up", &anna).await.location(), "/dashboard");
    // The link works once; others are turned away.
    let other = Anonymous::new(&process);
    assert_eq!(other.get(&link).await.status, 403);
    assert_eq!(
        other.post("/sign-up", &[("email", "b@people.test"), ("password", "long enough password")]).await.status,
        403
    );
    assert_eq!(visitor.get("/dashboard").await.select(".site-header .tag"), ["operator"]);
    process.terminate().await;
}

/// A test of one request on an address, registered before, with these further fields.
async fn new_test(anna: &SignedIn, at: &str, more: &[(&str, &str)]) -> String {
    anna.post("/hosts", &[("address", at)]).await;
    let url = format!("http://{at}/");
    let mut form = vec![
        ("load", "fixed_count"),
        ("requests", "2"),
        ("clients", "1"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &*url),
    ];
    form.extend(more);
    anna.post("/tests", &form).await.location()
}

/// The form of a test as it is shown, sent again with some fields changed.
async fn edit(anna: &SignedIn, test: &str, changes: &[(&str, &str)]) -> Reply {
    let shown = anna.get(&format!("{test}/edit")).await;
    let names = [
        "name",
        "notes",
        "tags",
        "load",
        "requests",
        "clients",
        "duration_s",
        "timeout_ms",
        "error_threshold",
        "reuse",
        "http",
        "end",
        "redirects",
        "warm_up_s",
        "requests[0].method",
        "requests[0].url",
        "requests[0].headers",
        "requests[0].body",
        "requests[0].auth_user",
        "requests[0].auth_password",
        "requests[0].stored",
    ];
    let mut form: Vec<(String, String)> =
        names.iter().filter_map(|name| Some(((*name).to_owned(), shown.value_of(name)?))).collect();
    for (name, value) in changes {
        form.retain(|(known, _)| known != name);
        form.push(((*name).to_owned(), (*value).to_owned()));
    }
    anna.post_pairs(&format!("{test}/edit"), &form).await
}

async fn target() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    tokio::spawn(async { axum::serve(listener, axum::Router::new().fallback(async || "hello")).await });
    at
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_are_found_by_words_tags_and_state_on_pages() {
    for (_, db) in TestDb::each().await {
        let server = Server::start_on(db, |_| {}).await;
        let (anna, bert) = (server.sign_up("anna").await, server.sign_up("bert").await);
        for n in 1..=27 {
            let name = format!("Number {n:02}");
            let more = if n == 5 {
                [("tags", "Shop, evening  peak"), ("notes", "for Ünal")]
            } else {
                [("tags", ""), ("notes", "")]
            };
            new_test(&anna, &format!("127.0.0.1:{}", 9000 + n), &[&[("name", &*name)], &more[..]].concat()).await;
        }
        let rows = async |query: &str| {
            let page = anna.get(&format!("/tests{query}")).await;
            assert_eq!(page.status, 200, "{query}");
            page.select("table.tests tbody th > a:first-child")
        };
        assert_eq!(rows("?sort=name").await.len(), 25);
        assert_eq!(rows("?sort=name&page=2").await, ["Number 26", "Number 27"]);
        assert_eq!(rows("?sort=name&page=99").await, ["Number 26", "Number 27"], "the last page there is");
        let next = anna.get("/tests?sort=name&q=number").await.select_attribute("a[rel=next]", &["href"]);
        assert_eq!(next, ["/tests?q=number&sort=name&page=2"]);
        for query in ["?q=ünal", "?q=NUMBER+%C3%BCnal", "?q=evening", "?q=:9005", "?tag=shop", "?tag=evening+peak"] {
            assert_eq!(rows(query).await, ["Number 05"], "{query}");
        }
        for query in ["?q=%25", "?q=nowhere", "?tag=evening", "?show=archived"] {
            assert!(rows(query).await.is_empty(), "{query}");
        }
        // What makes no sense is left out, and nothing is too long.
        assert_eq!(rows("?show=x&sort=y&page=-1").await.len(), 25);
        assert_eq!(anna.get(&format!("/tests?q={}%00&tag=%00", "q".repeat(5000))).await.status, 200);
        assert_eq!(rows("?q=%00number+05%00").await, ["Number 05"]);
        assert!(bert.get("/tests?q=number").await.select("table.tests").is_empty());

        // Archived: out of the list, not started, still there.
        let found = anna.get("/tests?q=ünal").await.select_attribute("table.tests th a", &["href"]).remove(0);
        assert_eq!(anna.post(&format!("{found}/archive"), &[]).await.location(), found);
        assert!(rows("?q=ünal").await.is_empty());
        assert_eq!(
            (rows("?show=archived").await, rows("?q=ünal&show=all").await.len()),
            (vec!["Number 05".to_owned()], 1)
        );
        let page = anna.get(&found).await;
        assert!(page.body.contains("This test is archived") && !page.body.contains("Run now"));
        let started = anna.post(&format!("{found}/run"), &[]).await;
        assert_eq!(started.status, 409);
        assert!(started.body.contains("This test is archived, so it cannot be started"), "{}", started.body);
        anna.post(&format!("{found}/unarchive"), &[]).await.location();
        assert_eq!(rows("?q=ünal").await, ["Number 05"]);

        // A copy opens its form.
        let copy = anna.post(&format!("{found}/copy"), &[]).await.location();
        let form = anna.get(&copy).await;
        assert_eq!(form.value_of("name").as_deref(), Some("Copy of Number 05"));
        assert_eq!(form.value_of("tags").as_deref(), Some("shop, evening peak"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_told_restored_and_shown_in_the_report() {
    for (_, db) in TestDb::each().await {
        let server = Server::start_on(db, |_| {}).await;
        let (anna, at) = (server.sign_up("anna").await, target().await);
        let test = new_test(
            &anna,
            &at,
            &[
                ("name", "First"),
                ("requests[0].auth_user", "ana"),
                ("requests[0].auth_password", "geheim-one"),
                ("requests[0].headers", "X-Token: geheim-two\nAccept: text/html"),
            ],
        )
        .await;
        let run = async || {
            let run = anna.post(&format!("{test}/run"), &[]).await.location();
            anna.wait_for_run(&run).await;
            run
        };
        let before = run().await;
        assert!(!anna.get(&before).await.body.contains("Changed since the previous run"));
        assert!(anna.get(&format!("{test}/history")).await.body.contains("No change is known"));

        // The form shows no secret; saving it as it is changes nothing.
        let form = anna.get(&format!("{test}/edit")).await;
        assert!(!form.body.contains("geheim"));
        assert_eq!(form.value_of("requests[0].headers").as_deref(), Some("X-Token: (hidden)\nAccept: text/html"));
        edit(&anna, &test, &[]).await.location();
        assert!(anna.get(&format!("{test}/history")).await.body.contains("No change is known"));

        edit(
            &anna,
            &test,
            &[
                ("name", "Second"),
                ("tags", "shop"),
                ("requests", "3"),
                ("requests[0].auth_password", "geheim-three"),
                ("requests[0].headers", "X-Token: (hidden)\nAccept: text/plain"),
            ],
        )
        .await
        .location();
        let request = format!("Request 1 (GET http://{at}/): ");
        let plan_changes = [
            "Load: 2 requests by 1 client at once → 3 requests by 1 client at once".to_owned(),
            format!("{request}header “Accept”: “text/html” → “text/plain”"),
            format!("{request}password changed"),
        ];
        let history = anna.get(&format!("{test}/history")).await;
        let told = history.select(".history .changes li");
        assert_eq!(
            told,
            [&["Name: “First” → “Second”".to_owned(), "Tag added: shop".to_owned()], &plan_changes[..]].concat()
        );
        assert!(history.body.contains(&anna.email) && !history.body.contains("geheim"));

        let after = run().await;
        let report = anna.get(&after).await;
        assert_eq!(report.select(".changes li"), plan_changes);
        let compare =
            format!("/compare?run={}&run={}", before.trim_start_matches("/runs/"), after.trim_start_matches("/runs/"));
        assert!(report.select_attribute("section a", &["href"]).contains(&compare));
        anna.post(&format!("{after}/share"), &[]).await.location();
        let link = anna.get(&after).await.select_attribute("a[href^=\"/r/\"]", &["href"]).remove(0);
        let public = Anonymous::new(&server).get(&link).await;
        assert_eq!(public.select(".changes li"), plan_changes);
        assert!(!public.body.contains("/compare") && !public.body.contains("geheim"));
        let again = run().await;
        assert!(anna.get(&again).await.select(".changes li").is_empty(), "the same plan");

        // Back: a new version, with the old password.
        let restore = history.select_attribute("form[action$=\"/restore\"]", &["action"]).remove(0);
        assert_eq!(anna.post(&restore, &[]).await.location(), test);
        assert_eq!(anna.get(&test).await.select("h1"), ["First"]);
        assert_eq!(anna.get(&format!("{test}/history")).await.select(".history > li").len(), 2);
        let back = run().await;
        assert!(anna.get(&back).await.select(".changes li").contains(&format!("{request}password changed")));
        let bert = server.sign_up("bert").await;
        assert_eq!(bert.post(&restore, &[]).await.status, 404);
        let none = restore.replace(restore.rsplit('/').nth(1).unwrap(), &uuid::Uuid::now_v7().to_string());
        assert_eq!(anna.post(&none, &[]).await.status, 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_test_is_refused_while_it_runs_and_asked_when_it_was_put_away() {
    let server = Server::start().await;
    let (anna, at) = (server.sign_up("anna").await, target().await);
    let long = [("load", "maintain"), ("from", "1"), ("to", "1"), ("duration_s", "600")];
    let test = new_test(&anna, &at, &[&[("name", "Long")], &long[..]].concat()).await;
    let run = anna.post(&format!("{test}/run"), &[]).await.location();
    let refused = anna.post(&format!("{test}/delete"), &[]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("Stop it first"), "{}", refused.body);
    anna.post(&format!("{run}/stop"), &[]).await.location();
    anna.wait_for_run(&run).await;

    anna.post(&format!("{test}/archive"), &[]).await.location();
    let asked = anna.post(&format!("{test}/delete"), &[]).await.location();
    assert_eq!(asked, format!("{test}/delete"));
    let question = anna.get(&asked).await;
    assert!(question.body.contains("It has 1 run."), "{}", question.body);
    assert_eq!(anna.get(&test).await.status, 200, "nothing is gone yet");
    let confirmed = question.value_of("confirmed").unwrap();
    assert_eq!(anna.post(&asked, &[("confirmed", &confirmed)]).await.location(), "/tests");
    assert_eq!((anna.get(&test).await.status, anna.get(&run).await.status), (404, 200));
}

/// The files of a folder that hold these bytes.
fn files_with(folder: &std::path::Path, text: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let holds = |file: &std::path::PathBuf| {
        std::fs::read(file).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes())
    };
    files.filter(holds).map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_not_in_the_database_and_need_their_key() {
    let mut process = Process::start().await;
    let (anna, at) = (process.sign_up("anna").await, target().await);
    let test = new_test(
        &anna,
        &at,
        &[
            ("name", "Plainly named"),
            ("requests[0].auth_user", "ana"),
            ("requests[0].auth_password", "geheim-password"),
            ("requests[0].headers", "X-Token: geheim-token"),
        ],
    )
    .await;
    let run = anna.post(&format!("{test}/run"), &[]).await.location();
    anna.wait_for_run(&run).await;
    edit(&anna, &test, &[("requests[0].headers", "X-Token: geheim-other")]).await.location();
    process.terminate().await;
    assert_eq!(files_with(process.folder(), "Plainly named"), ["oleada.db"]);
    for secret in ["geheim-password", "geheim-token", "geheim-other"] {
        assert_eq!(files_with(process.folder(), secret), Vec::<String>::new(), "{secret}");
    }

    // Another key: all but the secrets is there, and no run sends anything in their place.
    let key = process.folder().join("oleada.db.key");
    let right = std::fs::read_to_string(&key).unwrap();
    std::fs::write(&key, oleada_server::secrets::SecretKey::generate().to_base64()).unwrap();
    process.restart().await;
    let anna = process.sign_in("anna").await;
    let page = anna.get(&test).await;
    assert!(page.body.contains("the password of request 1, the header X-Token of request 1"), "{}", page.body);
    assert!(!page.body.contains("Run now"));
    let refused = anna.post(&format!("{test}/run"), &[]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("cannot be read with the key"), "{}", refused.body);
    assert_eq!(anna.get(&run).await.status, 200);
    // Saving something else leaves them to their key.
    edit(&anna, &test, &[("name", "Renamed")]).await.location();
    process.terminate().await;
    std::fs::write(&key, right).unwrap();
    process.restart().await;
    let anna = process.sign_in("anna").await;
    let run = anna.post(&format!("{test}/run"), &[]).await.location();
    anna.wait_for_run(&run).await;
    process.terminate().await;
}

#[test]
fn the_settings_say_where_the_key_comes_from() {
    let said = |arguments: &[&str]| {
        let output = run_oleada(&[&["check-config"], arguments].concat());
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (good, text) = said(&["--database", "sqlite:/nowhere/o.db"]);
    assert!(good && text.contains("in the file /nowhere/o.db.key, which is made at the first start"), "{text}");
    let (good, text) = said(&["--database", "postgres://a@b/c"]);
    assert!(!good && text.contains("--secret-key is needed with a Postgres database"), "{text}");
    let key = run_oleada(&["new-key"]).stdout;
    let key = String::from_utf8(key).unwrap();
    let (good, text) = said(&["--database", "postgres://a@b/c", "--secret-key", key.trim()]);
    assert!(
        good && text.contains("given by --secret-key or OLEADA_SECRET_KEY") && !text.contains(key.trim()),
        "{text}"
    );
    let (good, text) = said(&["--secret-key", "short"]);
    assert!(!good && text.contains("must be 32 bytes in base64"), "{text}");
}

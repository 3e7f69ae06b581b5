//! Pages for people without scripts: forms that come back, errors in words, headers on everything.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use harness::db::TestDb;
use harness::user::{Anonymous, email_of, password_of};
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

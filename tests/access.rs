//! Every route and every kind of visitor; and that nobody acts or sees in another's name.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::collections::BTreeSet;

use axum::Router;
use harness::user::{Anonymous, Reply, SignedIn, password_of};
use harness::{Server, form_of};

/// What a visitor is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// This status.
    Status(u16),
    /// Sent to the sign-in page.
    SignIn,
}
use Expect::{SignIn, Status};

/// A route by its pattern in the router, and what a stranger, somebody else and the owner are answered.
struct Route(&'static str, &'static str, Expect, u16, u16);

/// In this order: what ends something comes last.
const ROUTES: &[Route] = &[
    Route("GET", "/", Status(200), 200, 200),
    Route("GET", "/favicon.ico", Status(0), 0, 0),
    Route("GET", "/robots.txt", Status(200), 200, 200),
    Route("GET", "/assets/{*path}", Status(404), 404, 404),
    Route("GET", "/sign-up", Status(200), 303, 303),
    Route("GET", "/sign-in", Status(200), 303, 303),
    Route("POST", "/sign-up", Status(422), 422, 422),
    Route("POST", "/sign-in", Status(422), 422, 422),
    Route("GET", "/dashboard", SignIn, 200, 200),
    Route("GET", "/hosts", SignIn, 200, 200),
    Route("POST", "/hosts", SignIn, 422, 422),
    Route("GET", "/hosts/{id}", SignIn, 404, 200),
    Route("GET", "/hosts/{id}/token.txt", SignIn, 404, 200),
    Route("POST", "/hosts/{id}/verify", SignIn, 404, 400),
    Route("GET", "/tests", SignIn, 200, 200),
    Route("POST", "/tests", SignIn, 422, 422),
    Route("GET", "/tests/new", SignIn, 200, 200),
    Route("GET", "/tests/import", SignIn, 200, 200),
    Route("POST", "/tests/import", SignIn, 422, 422),
    Route("GET", "/tests/{id}/export", SignIn, 404, 200),
    Route("GET", "/tests/{id}/export.json", SignIn, 404, 200),
    Route("POST", "/tests/{id}/try", SignIn, 404, 200),
    Route("GET", "/tests/{id}", SignIn, 404, 200),
    Route("GET", "/tests/{id}/edit", SignIn, 404, 200),
    Route("POST", "/tests/{id}/edit", SignIn, 404, 422),
    Route("POST", "/tests/{id}/copy", SignIn, 404, 303),
    Route("POST", "/tests/{id}/archive", SignIn, 404, 303),
    Route("POST", "/tests/{id}/unarchive", SignIn, 404, 303),
    Route("GET", "/tests/{id}/trend", SignIn, 404, 200),
    Route("GET", "/tests/{id}/history", SignIn, 404, 200),
    Route("POST", "/tests/{id}/history/{version}/restore", SignIn, 404, 303),
    Route("POST", "/tests/{id}/run", SignIn, 404, 303),
    Route("GET", "/tests/{id}/series", SignIn, 404, 200),
    Route("POST", "/tests/{id}/series", SignIn, 404, 422),
    Route("GET", "/tests/{id}/capacity", SignIn, 404, 200),
    Route("POST", "/tests/{id}/capacity", SignIn, 404, 422),
    Route("GET", "/series/{id}", SignIn, 404, 200),
    Route("GET", "/series/{id}/table.csv", SignIn, 404, 200),
    Route("POST", "/series/{id}/stop", SignIn, 404, 303),
    Route("POST", "/series/{id}/delete", SignIn, 404, 303),
    Route("GET", "/runs", SignIn, 200, 200),
    Route("GET", "/runs/{id}", SignIn, 404, 200),
    Route("GET", "/runs/{id}/events", SignIn, 404, 200),
    Route("GET", "/runs/{id}/result.json", SignIn, 404, 200),
    Route("GET", "/runs/{id}/window.json", SignIn, 404, 200),
    Route("POST", "/runs/{id}/notes", SignIn, 404, 303),
    Route("GET", "/runs/{id}/export/{file}", SignIn, 404, 200),
    Route("GET", "/api/v1/runs/{id}", Status(401), 404, 200),
    Route("GET", "/compare", SignIn, 200, 200),
    Route("POST", "/runs/{id}/stop", SignIn, 404, 303),
    Route("POST", "/runs/{id}/share", SignIn, 404, 303),
    Route("GET", "/r/{token}", Status(200), 200, 200),
    Route("GET", "/r/{token}/events", Status(200), 200, 200),
    Route("GET", "/r/{token}/window.json", Status(200), 200, 200),
    Route("GET", "/r/{token}/result.json", Status(200), 200, 200),
    Route("GET", "/r/{token}/embed", Status(200), 200, 200),
    Route("GET", "/r/{token}/picture.png", Status(200), 200, 200),
    Route("GET", "/r/{token}/export/{file}", Status(200), 200, 200),
    Route("POST", "/runs/{id}/unshare", SignIn, 404, 303),
    Route("GET", "/runs/{id}/delete", SignIn, 404, 200),
    Route("POST", "/runs/{id}/baseline", SignIn, 404, 303),
    Route("POST", "/runs/{id}/unbaseline", SignIn, 404, 303),
    Route("POST", "/runs/{id}/delete", SignIn, 404, 303),
    Route("GET", "/tests/{id}/delete", SignIn, 404, 200),
    Route("POST", "/tests/{id}/delete", SignIn, 404, 303),
    Route("POST", "/hosts/{id}/delete", SignIn, 404, 303),
    Route("POST", "/sign-out", Status(303), 303, 303),
];

/// What anna has.
struct Things {
    host: String,
    test: String,
    /// A former version of the test.
    version: String,
    runs: [String; 2],
    token: String,
    series: String,
}

impl Things {
    async fn make(anna: &SignedIn) -> Things {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        tokio::spawn(async { axum::serve(listener, Router::new().fallback(async || "hello")).await });
        let host = anna.post("/hosts", &[("address", &at)]).await.location();
        let url = format!("http://{at}/");
        let form = [
            ("name", "Secret of anna"),
            ("load", "fixed_count"),
            ("requests", "2"),
            ("clients", "1"),
            ("requests[0].method", "GET"),
            ("requests[0].url", &url),
        ];
        let test = anna.post("/tests", &form).await.location();
        let changed = form.map(|(name, value)| (name, if name == "requests" { "3" } else { value }));
        anna.post(&format!("{test}/edit"), &changed).await.location();
        let history = anna.get(&format!("{test}/history")).await;
        let restore = history.select_attribute("form[action$=\"/restore\"]", &["action"]).remove(0);
        let version = restore.rsplit('/').nth(1).expect("an id").to_owned();
        let mut runs = Vec::new();
        for _ in 0..2 {
            let run = anna.post(&format!("{test}/run"), &[]).await.location();
            anna.wait_for_run(&run).await;
            runs.push(run);
        }
        anna.post(&format!("{}/share", runs[0]), &[]).await.location();
        let shown = anna.get(&runs[0]).await.body;
        let token: String = shown
            .split("/r/")
            .nth(1)
            .expect("a link")
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
            .collect();
        let sizes = [("varies", "clients"), ("how", "list"), ("sizes", "1, 2")];
        let series = anna.post(&format!("{test}/series"), &sizes).await.location();
        anna.wait_for_text(&series, ">Over<").await;
        Things { host, test, version, runs: runs.try_into().unwrap(), token, series }
    }

    /// The route's pattern as an address.
    fn path(&self, pattern: &str) -> String {
        if pattern == "/compare" {
            let ids = self.runs.each_ref().map(|run| run.trim_start_matches("/runs/"));
            return format!("/compare?run={}&run={}", ids[0], ids[1]);
        }
        let whole = if pattern.starts_with("/hosts") {
            &self.host
        } else if pattern.starts_with("/tests") {
            &self.test
        } else if pattern.starts_with("/series") {
            &self.series
        } else {
            &self.runs[0]
        };
        let id = whole.rsplit('/').next().unwrap();
        pattern
            .replace("{id}", id)
            .replace("{version}", &self.version)
            .replace("{token}", &self.token)
            .replace("{file}", "seconds.csv")
            .replace("{*path}", "none.js")
    }
}

async fn ask(visitor: &Anonymous, method: &str, path: &str) -> Reply {
    if method == "GET" { visitor.get(path).await } else { visitor.post(path, &[]).await }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_each_visitor_as_it_should() {
    let server = Server::start().await;
    let (anna, bert, stranger) = (server.sign_up("anna").await, server.sign_up("bert").await, Anonymous::new(&server));
    let things = Things::make(&anna).await;
    for Route(method, pattern, to_stranger, to_other, to_owner) in ROUTES {
        let path = things.path(pattern);
        let reply = ask(&stranger, method, &path).await;
        match to_stranger {
            Status(0) => {}
            Status(status) => assert_eq!(reply.status, *status, "stranger: {method} {path}"),
            SignIn => assert!(reply.location().starts_with("/sign-in"), "stranger: {method} {path}"),
        }
        for (who, visitor, status) in [("bert", &bert, *to_other), ("anna", &anna, *to_owner)] {
            let reply = ask(visitor, method, &path).await;
            if status != 0 {
                assert_eq!(reply.status, status, "{who}: {method} {path}: {}", reply.body);
            }
            if who == "bert" && !pattern.starts_with("/r/") {
                assert!(!reply.body.contains("Secret of anna"), "{method} {path}");
            }
        }
    }
}

/// The patterns in the router's source.
fn routed() -> BTreeSet<String> {
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../server/src/router.rs")).unwrap();
    let patterns = source.split(".route(").skip(1).filter_map(|rest| rest.split('"').nth(1));
    patterns.map(str::to_owned).collect()
}

#[test]
fn no_route_is_left_out() {
    let listed: BTreeSet<String> = ROUTES.iter().map(|route| route.1.to_owned()).collect();
    assert_eq!(listed, routed(), "tests/access.rs lists every route of router.rs");
}

#[tokio::test(flavor = "multi_thread")]
async fn b79_cross_origin_posts_are_refused() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let things = Things::make(&anna).await;
    let evil = "http://evil.example";
    let posts = ROUTES.iter().filter(|route| route.0 == "POST").map(|route| things.path(route.1));
    for path in posts {
        let form = [
            ("email", "anna@people.test"),
            ("password", &*password_of("anna")),
            ("address", "127.0.0.1:1"),
            ("method", "file"),
        ];
        let refused = anna.post_from(evil, &path, &form).await;
        assert_eq!(refused.status, 403, "{path}");
        assert!(refused.body.contains("nothing was changed"), "{path}: {}", refused.body);
        let body = "email=anna@people.test";
        let forged = [
            // What a page can do without asking: a simple request as text, with or without an origin that is hidden.
            anna.request("POST", &path).header("origin", evil).header("content-type", "text/plain").body(body),
            anna.request("POST", &path)
                .header("origin", "null")
                .header("content-type", "application/x-www-form-urlencoded")
                .body(body),
            anna.request("POST", &path)
                .header("sec-fetch-site", "cross-site")
                .header("origin", server.url())
                .body(body),
            anna.request("POST", &path).header("sec-fetch-site", "same-site").body(body),
            anna.request("POST", &path).header("referer", "http://evil.example/").body(body),
            // Evidence of nothing.
            anna.request("POST", &path).form(&form_of(&form)),
        ];
        for request in forged {
            assert_eq!(anna.send(request).await.status, 403, "{path}");
        }
    }
    // Nothing happened: still signed in, everything still there.
    for path in ["/dashboard", &things.host, &things.test, &things.runs[0], &format!("/r/{}", things.token)] {
        assert_eq!(anna.get(path).await.status, 200, "{path}");
    }
    assert_eq!(anna.get("/hosts").await.select_attribute("a[href^=\"/hosts/\"]", &["href"]).len(), 1);
    // The login is covered too: a stranger's browser is not signed in by another page.
    let stranger = Anonymous::new(&server);
    let reply =
        stranger.post_from(evil, "/sign-in", &[("email", &anna.email), ("password", &password_of("anna"))]).await;
    assert_eq!((reply.status, reply.header("set-cookie")), (403, None));
    // The same requests from our own pages work.
    let own = anna.request("POST", &format!("{}/share", things.runs[1])).header("sec-fetch-site", "same-origin");
    assert_eq!(anna.send(own.form(&form_of(&[]))).await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_get_changes_anything() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let things = Things::make(&anna).await;
    for Route(_, pattern, ..) in ROUTES.iter().filter(|route| route.0 == "POST") {
        let reply = anna.get(&things.path(pattern)).await;
        let has_page = ROUTES.iter().any(|route| route.0 == "GET" && route.1 == *pattern);
        assert!(has_page || reply.status == 405, "{pattern}: {}", reply.status);
    }
    for path in ["/dashboard", &things.host, &things.test, &things.runs[0]] {
        assert_eq!(anna.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b78_nobody_gets_anothers_identity_under_load() {
    let server = Server::start().await;
    let (anna, bert, stranger) = (server.sign_up("anna").await, server.sign_up("bert").await, Anonymous::new(&server));
    let things = Things::make(&anna).await;
    let mut asking = Vec::new();
    for n in 0..200 {
        let (who, visitor): (_, Anonymous) = match n % 4 {
            0 | 1 => ("stranger", stranger.clone()),
            2 => ("anna", (*anna).clone()),
            _ => ("bert", (*bert).clone()),
        };
        let path = [&*things.runs[0], "/dashboard", &*things.host, "/"][n / 4 % 4].to_owned();
        asking.push(tokio::spawn(async move { (who, visitor.get(&path).await, path) }));
    }
    for reply in asking {
        let (who, reply, path) = reply.await.unwrap();
        let private = path != "/";
        match who {
            "stranger" if private => assert!(reply.location().starts_with("/sign-in"), "{path}"),
            "bert" if private && path != "/dashboard" => assert_eq!(reply.status, 404, "{path}"),
            _ => assert_eq!(reply.status, 200, "{who}: {path}"),
        }
        for other in ["anna", "bert"].into_iter().filter(|other| *other != who) {
            assert!(!reply.body.contains(&format!("{other}@people.test")), "{who} sees {other} at {path}");
        }
        assert_eq!(reply.header("cache-control"), Some("private, no-store"), "{path}");
    }
}

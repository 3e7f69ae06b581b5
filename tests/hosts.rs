//! Ownership: what proves it, what does not, and what people are told. All on loopback, with proofs asked for.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::io::Write as _;
use std::sync::Arc;

use harness::Server;
use harness::site::{Raw, Site, answer, ok};
use harness::user::{Reply, SignedIn};

/// A server on which loopback needs a proof too.
async fn strict() -> Server {
    Server::start_with(|config| config.require_proof = true).await
}

/// Registers a site; the path of its page, and its token.
async fn register(user: &SignedIn, address: &str) -> (String, String) {
    let page = user.post("/hosts", &[("address", address)]).await.location();
    let shown = user.get(&page).await.body;
    let token: String = shown.split("oleada-").nth(1).expect("a token is shown").chars().take(32).collect();
    assert!(token.chars().all(|c| c.is_ascii_hexdigit()) && token.len() == 32, "{token}");
    (page, token)
}

async fn check(user: &SignedIn, page: &str, method: &str) -> Reply {
    assert_eq!(user.post(&format!("{page}/verify"), &[("method", method)]).await.location(), page);
    user.get(page).await
}

fn is_verified(page: &Reply) -> bool {
    let states = page.select(".badge");
    assert!(!states.is_empty(), "{}", page.body);
    states.iter().any(|state| state == "Verified")
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(body).unwrap();
    packed.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn b46_an_international_host_is_shown_in_both_forms() {
    let server = strict().await;
    let user = server.sign_up("owner").await;
    let page = user.post("/hosts", &[("address", "bücher.test")]).await.location();
    let shown = user.get(&page).await;
    assert_eq!(shown.select("h1"), ["xn--bcher-kva.test:443"]);
    assert_eq!(shown.select("bdi"), ["bücher.test"]);
    assert!(shown.select(".note-box.warn").is_empty(), "{}", shown.body);
    // The same host, typed in its other form.
    let again = user.post("/hosts", &[("address", "xn--bcher-kva.test")]).await;
    assert!(again.body.contains("is among your hosts already"), "{}", again.body);
    // With a Cyrillic а.
    let page = user.post("/hosts", &[("address", "p\u{430}ypal.test")]).await.location();
    let warning = user.get(&page).await.select(".note-box.warn").concat();
    for part in ["p\u{430}ypal.test", "xn--pypal-4ve.test", "several scripts"] {
        assert!(warning.contains(part), "{part} in {warning}");
    }
    let page = user.post("/hosts", &[("address", "plain.test")]).await.location();
    let plain = user.get(&page).await;
    assert!(plain.select("bdi").is_empty() && plain.select(".note-box.warn").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn b82_honest_owners_succeed() {
    let (server, site) = (strict().await, Site::start().await);
    let user = server.sign_up("anna").await;
    let (page, token) = register(&user, &site.at.to_string()).await;
    assert!(!is_verified(&user.get(&page).await));
    let (ours, theirs) = (format!("oleada-{token}"), format!("loaderio-{token}"));
    let packed = answer("200 OK", &["Content-Encoding: gzip"], &gzip(format!("{ours}\n").as_bytes()));
    let html = answer("200 OK", &["Content-Type: text/html; charset=utf-8"], ours.as_bytes());
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nole\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        ours.len() - 3,
        &ours[3..]
    );
    let moved = answer("301 Moved Permanently", &["Location: /kept/there"], b"");
    let variants: Vec<(&str, Vec<(String, Raw)>)> = vec![
        ("as it is", vec![(format!("/{ours}.txt"), ok(&ours))]),
        ("CRLF at the end", vec![(format!("/{ours}.txt"), ok(&format!("{ours}\r\n")))]),
        ("blanks around", vec![(format!("/{ours}.txt"), ok(&format!("  {ours} \n\n")))]),
        ("byte-order mark", vec![(format!("/{ours}.txt"), ok(&format!("\u{feff}{ours}")))]),
        ("gzip, though not asked for", vec![(format!("/{ours}.txt"), packed)]),
        ("as text/html", vec![(format!("/{ours}.html"), html)]),
        ("in chunks", vec![(format!("/{ours}.txt"), chunked.into_bytes())]),
        ("as a folder", vec![(format!("/{ours}/"), ok(&ours))]),
        ("loader.io's name", vec![(format!("/{theirs}.txt"), ok(&theirs))]),
        ("loader.io's name as html", vec![(format!("/{theirs}.html"), ok(&theirs))]),
        ("loader.io's name as a folder", vec![(format!("/{theirs}/"), ok(&theirs))]),
        ("a redirect on the host", vec![(format!("/{ours}.txt"), moved), ("/kept/there".into(), ok(&ours))]),
    ];
    for (name, pages) in variants {
        site.clear();
        // Each must be what proves it: lost before, verified after.
        assert!(!is_verified(&check(&user, &page, "file").await), "{name}: before");
        for (path, raw) in pages {
            site.put(&path, raw);
        }
        let shown = check(&user, &page, "file").await;
        assert!(is_verified(&shown), "{name}: {}", shown.body);
    }
    let heads = site.asked.lock().unwrap().join("").to_lowercase();
    assert!(
        heads.contains("user-agent: oleada-verification/") && heads.contains("accept-encoding: identity"),
        "{heads}"
    );

    // The front page of a site that answers everything, with the tag in its head.
    site.clear();
    *site.otherwise.lock().unwrap() = Some(|_| ok("<!doctype html><title>shop</title><p>Welcome"));
    // A look for another proof takes nothing away from the one that counts; losing that one does.
    assert!(is_verified(&check(&user, &page, "meta").await));
    assert!(!is_verified(&check(&user, &page, "file").await));
    assert!(!is_verified(&check(&user, &page, "meta").await));
    site.put("/", ok(&format!("<!doctype html><html><head><meta name=\"oleada-verification\" content=\"{token}\"><title>x</title></head><body></body></html>")));
    assert!(is_verified(&check(&user, &page, "meta").await));
    // The token file counts there too: a made-up name is answered differently.
    site.put(&format!("/{ours}.txt"), ok(&ours));
    assert!(is_verified(&check(&user, &page, "file").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn b82_an_ipv6_only_host_is_verified() {
    let Ok(site) = Site::start_on("[::1]:0", None).await else {
        eprintln!("skipped: this machine has no IPv6 loopback");
        return;
    };
    let server = strict().await;
    let user = server.sign_up("anna").await;
    let (page, token) = register(&user, &site.at.to_string()).await;
    site.put(&format!("/oleada-{token}.txt"), ok(&format!("oleada-{token}\n")));
    assert!(is_verified(&check(&user, &page, "file").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn b82_a_self_signed_certificate_is_not_accepted_and_said_so() {
    let server = strict().await;
    let user = server.sign_up("anna").await;
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let site = Site::start_on("127.0.0.1:0", Some(Arc::new(tls))).await.unwrap();
    let (page, token) = register(&user, &format!("https://{}", site.at)).await;
    site.put(&format!("/oleada-{token}.txt"), ok(&format!("oleada-{token}")));
    let shown = check(&user, &page, "file").await;
    assert!(!is_verified(&shown));
    assert!(shown.body.contains("ertificate"), "{}", shown.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_proof_is_refused_with_what_was_found() {
    let (server, site, elsewhere) = (strict().await, Site::start().await, Site::start().await);
    let user = server.sign_up("anna").await;
    let (page, token) = register(&user, &site.at.to_string()).await;
    let (path, body) = (format!("/oleada-{token}.txt"), format!("oleada-{token}"));
    elsewhere.put(&path, ok(&body));
    let away = answer("302 Found", &[&format!("Location: http://{}{path}", elsewhere.at)], b"");
    let ring = answer("302 Found", &[&format!("Location: {path}")], b"");
    for (raw, said) in [
        (ok(&format!("{body}x")), "not the token and nothing else"),
        (ok(&format!("<html>{body}</html>")), "not the token and nothing else"),
        (answer("404 Not Found", &[], body.as_bytes()), "status 404"),
        (answer("203 Non-Authoritative Information", &[], body.as_bytes()), "status 203"),
        (away, "another host or port"),
        (ring, "redirects more than 3 times"),
        (answer("200 OK", &["Content-Encoding: gzip"], b"no gzip"), "cannot be unpacked"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort".to_vec(), "could not be read"),
        (b"garbage\r\n\r\n".to_vec(), "no HTTP answer"),
    ] {
        site.clear();
        site.put(&path, raw);
        let shown = check(&user, &page, "file").await;
        assert!(!is_verified(&shown), "{said}");
        assert!(shown.body.contains(said), "{said}: {}", shown.select("main").join(" "));
        assert!(shown.body.contains(&body), "what was expected is shown");
    }
    assert!(elsewhere.asked.lock().unwrap().is_empty(), "a redirect off the host is not followed");

    // What was there is shown as text.
    site.clear();
    site.put(&path, ok("<script>alert(1)</script>\u{202e}\u{0}"));
    let shown = check(&user, &page, "file").await;
    assert!(
        shown.body.contains("&lt;script") && !shown.body.contains("<script>alert") && !shown.body.contains('\u{202e}')
    );

    // Nobody there.
    let (gone, _) = register(&user, "127.0.0.1:1").await;
    let shown = check(&user, &gone, "file").await;
    assert!(!is_verified(&shown) && shown.body.contains("No connection"));
    let shown = check(&user, &gone, "dns").await;
    assert!(shown.body.contains("has no TXT record"), "{}", shown.body);
    assert_eq!(user.post(&format!("{gone}/verify"), &[("method", "magic")]).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_echoes_what_it_is_asked_proves_nothing() {
    let (server, site) = (strict().await, Site::start().await);
    let user = server.sign_up("anna").await;
    let (page, _) = register(&user, &site.at.to_string()).await;
    *site.otherwise.lock().unwrap() =
        Some(|path| ok(path.trim_matches('/').trim_end_matches(".txt").trim_end_matches(".html")));
    let shown = check(&user, &page, "file").await;
    assert!(!is_verified(&shown) && shown.body.contains("made up just now"), "{}", shown.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_that_is_gone_is_lost_and_stops_runs() {
    let (server, site) = (strict().await, Site::start().await);
    let user = server.sign_up("anna").await;
    let (page, token) = register(&user, &site.at.to_string()).await;
    site.put(&format!("/oleada-{token}.txt"), ok(&format!("oleada-{token}")));
    assert!(is_verified(&check(&user, &page, "file").await));
    let url = format!("http://{}/", site.at);
    let form = [
        ("name", "T"),
        ("load", "fixed_count"),
        ("requests", "1"),
        ("clients", "1"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &url),
    ];
    let test = user.post("/tests", &form).await.location();
    site.put("/", ok("hello"));

    let run = user.post(&format!("{test}/run"), &[]).await.location();
    assert!(run.starts_with("/runs/"), "{run}");
    assert!(user.wait_for_run(&run).await.body.contains("Finished"));

    site.clear();
    let asked = site.asked.lock().unwrap().len();
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    let refused = user.wait_for_run(&run).await;
    assert!(
        refused.body.contains("Refused") && refused.body.contains("could not be verified again"),
        "{}",
        refused.body
    );
    let since: Vec<_> = site.asked.lock().unwrap()[asked..].to_vec();
    assert!(
        !since.is_empty() && since.iter().all(|head| head.contains("oleada-verification/")),
        "no load was sent: {since:?}"
    );
    assert!(user.get(&page).await.body.contains("No longer verified"));
    // From now on it is said before a run is queued.
    assert_eq!(user.post(&format!("{test}/run"), &[]).await.location(), test);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_are_added_and_removed_by_their_owner() {
    let server = Server::start().await;
    let (anna, bert) = (server.sign_up("anna").await, server.sign_up("bert").await);
    let page = anna.post("/hosts", &[("address", "127.0.0.1:9911")]).await.location();
    assert!(anna.get(&page).await.body.contains("Trusted by this installation"));
    // Another account may register the same host; the same account may not.
    bert.post("/hosts", &[("address", "http://127.0.0.1:9911/x")]).await.location();
    let again = anna.post("/hosts", &[("address", "https://127.0.0.1:9911")]).await;
    assert_eq!((again.status, again.value_of("address").as_deref()), (422, Some("https://127.0.0.1:9911")));
    for wrong in ["", "ftp://shop.example", "http://", "shop.example:0", "<b>", "169.254.169.254"] {
        let reply = anna.post("/hosts", &[("address", wrong)]).await;
        assert_eq!((reply.status, reply.value_of("address").as_deref()), (422, Some(wrong)), "{wrong}");
        assert_eq!(reply.select("[name=\"address\"][aria-invalid=\"true\"]").len(), 1, "{wrong}");
    }
    assert_eq!(bert.get(&page).await.status, 404);
    assert_eq!(bert.post(&format!("{page}/delete"), &[]).await.status, 404);
    assert_eq!(anna.post(&format!("{page}/delete"), &[]).await.location(), "/hosts");
    assert_eq!(anna.get(&page).await.status, 404);
    assert_eq!(bert.get("/hosts").await.select_attribute("a[href^=\"/hosts/\"]", &["href"]).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_a_run_under_way_stays() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.sign_up("anna").await;
    *site.otherwise.lock().unwrap() = Some(|_| ok("hello"));
    let page = user.post("/hosts", &[("address", &site.at.to_string())]).await.location();
    let url = format!("http://{}/", site.at);
    let form = [
        ("name", "T"),
        ("load", "per_second"),
        ("rate", "5"),
        ("duration_s", "60"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &url),
    ];
    let test = user.post("/tests", &form).await.location();
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    let refused = user.post(&format!("{page}/delete"), &[]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("Stop it first"), "{}", refused.body);
    user.wait_for_text(&run, "Running").await;
    user.post(&format!("{run}/stop"), &[]).await;
    user.wait_for_run(&run).await;
    assert_eq!(user.post(&format!("{page}/delete"), &[]).await.location(), "/hosts");
}

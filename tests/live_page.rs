//! The page of a run under way, after half an hour of seconds: it keeps up, and its memory stays where it was.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use harness::browser::Browser;
use harness::tools::Target;
use harness::user::Anonymous;
use harness::{Server, form_of};
use serde_json::json;
use tokio::net::TcpListener;

/// Half an hour of 200 requests a second.
const SECONDS: u64 = 1800;
const RATE: u64 = 200;
/// How fast its seconds are told here.
const PACE: Duration = Duration::from_millis(15);
/// What the page may have more in its heap at the end than after the first seconds.
const GROWTH_BYTES: u64 = 20_000_000;

/// Stands before the real server and answers for it when a run's events are asked for.
#[derive(Clone)]
struct Relay {
    real: Anonymous,
}

async fn relay(State(relay): State<Relay>, request: Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    if request.uri().path().ends_with("/events") {
        return half_an_hour();
    }
    let reply = relay.real.request("GET", &path).header("accept-encoding", "identity").send().await.unwrap();
    let (status, headers) = (reply.status(), reply.headers().clone());
    let mut answer = (status, Body::from(reply.bytes().await.unwrap())).into_response();
    for name in [CONTENT_TYPE, CONTENT_SECURITY_POLICY] {
        if let Some(value) = headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

/// The seconds of a run, one every [`PACE`]; the stream stays open after the last.
fn half_an_hour() -> Response {
    let state = json!({"state": "running", "elapsed_s": 0, "duration_s": SECONDS});
    let first = format!("event: state\ndata: {state}\n\n");
    let events = stream::unfold(0, move |t| {
        let first = first.clone();
        async move {
            if t == SECONDS {
                std::future::pending::<()>().await;
            }
            wait().await;
            let point = json!({"t": t, "planned": RATE, "sent": RATE, "ok": RATE, "errors": 0, "clients": 4.0, "p50": 5.0 + (t % 7) as f64,
                "p95": 20.0 + (t % 31) as f64, "p99": 40.0 + (t % 53) as f64, "max": 90.0, "bytes_received": 48_000});
            let second = format!("event: second\nid: {t}\ndata: {point}\n\n");
            let text = if t == 0 { first + &second } else { second };
            Some((Ok::<_, Infallible>(text), t + 1))
        }
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

#[expect(clippy::disallowed_methods, reason = "seconds are told one after the other; a millisecond does not matter")]
async fn wait() {
    tokio::time::sleep(PACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b62_a_live_page_keeps_up_for_half_an_hour() {
    let Some(browser) = Browser::start().await.unwrap() else { return };
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;
    user.post("/hosts", &[("address", target.address())]).await;
    let form = form_of(&[
        ("name", "Half an hour"),
        ("load", "per_second"),
        ("rate", "0.1"),
        ("duration_s", &SECONDS.to_string()),
        ("requests[0].method", "GET"),
        ("requests[0].url", &target.url("/")),
        ("timeout_ms", "1000"),
        ("error_threshold", "100"),
        ("action", "run"),
    ]);
    let run = user.post_pairs("/tests", &form).await.location();
    user.wait_for(&run, "load", |page| page.body.contains("Running")).await;
    user.post(&format!("{run}/share"), &[]).await;
    let link = user.get(&run).await.select("#share-link").concat();
    let path = &link[link.find("/r/").unwrap()..];

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let router = Router::new().fallback(relay).with_state(Relay { real: Anonymous::new(&server) });
    tokio::spawn(async move { axum::serve(listener, router).await });

    browser.open(&format!("http://{at}{path}")).await.unwrap();
    browser.wait("html[data-islands=ready]").await.unwrap();
    let sent = "Number([...document.querySelectorAll('.ledger-live dt')].find(d => d.innerText === 'Sent')?.nextElementSibling.innerText.replaceAll(',', ''))";
    let seen = |seconds: u64| format!("return {sent} >= {}", seconds * RATE);
    browser.wait_until("the first minutes", &seen(200)).await.unwrap();
    let before = (
        browser.heap_bytes().await.unwrap(),
        browser.script("return document.querySelectorAll('*').length").await.unwrap(),
    );
    browser.wait_until("half an hour", &seen(SECONDS - 10)).await.unwrap();
    browser.wait_until("the newest second", &seen(SECONDS)).await.unwrap();
    assert_eq!(
        browser.script(&format!("return {sent}")).await.unwrap(),
        json!(SECONDS * RATE),
        "nothing twice, nothing lost"
    );
    let after = (
        browser.heap_bytes().await.unwrap(),
        browser.script("return document.querySelectorAll('*').length").await.unwrap(),
    );
    assert!(after.0 <= before.0 + GROWTH_BYTES, "the heap grew from {} to {} bytes", before.0, after.0);
    let elements = |count: &serde_json::Value| count.as_u64().unwrap();
    assert!(elements(&after.1) <= 2 * elements(&before.1), "{} elements became {}", before.1, after.1);
    println!("heap {} -> {} bytes, elements {} -> {}", before.0, after.0, before.1, after.1);
    user.post(&format!("{run}/stop"), &[]).await;
    browser.close().await.unwrap();
}

//! HTTP/2 against a server that keeps its own log.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::disallowed_methods, reason = "a scripted server may be a millisecond late")]

mod common;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use common::target::{After, Target};
use common::{Done, MS, certs, finish, fixed, get, maintain, run, spec, threads};
use h2::Reason;
use h2::server::SendResponse;
use oleada_engine::net::Options;
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::{HttpVersion, Load, Method, PlanSpec, RequestSpec, Reuse};
use oleada_engine::result::EndReason;
use tokio::io::{AsyncRead, AsyncWrite};

#[derive(Default)]
struct Log {
    requests: Mutex<Vec<Seen>>,
    connections: AtomicU64,
    /// Streams open at once on one connection, at most.
    most_open: AtomicU64,
}

#[derive(Clone, Debug)]
struct Seen {
    method: String,
    uri: String,
    cookie: Option<String>,
    header_names: Vec<String>,
    body: usize,
}

struct Server {
    address: SocketAddr,
    log: Arc<Log>,
}

impl Server {
    fn plain() -> Server {
        Server::new(None)
    }

    fn new(tls: Option<Arc<rustls::ServerConfig>>) -> Server {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let server = Server { address: listener.local_addr().unwrap(), log: Arc::default() };
        let log = server.log.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((tcp, _)) = listener.accept().await {
                    tcp.set_nodelay(true).unwrap();
                    let (tls, log) = (tls.clone(), log.clone());
                    tokio::spawn(async move {
                        log.connections.fetch_add(1, Ordering::SeqCst);
                        match tls {
                            None => serve(tcp, &log).await,
                            Some(config) => {
                                if let Ok(stream) = tokio_rustls::TlsAcceptor::from(config).accept(tcp).await {
                                    serve(stream, &log).await;
                                }
                            }
                        }
                    });
                }
            });
        });
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn https(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    fn seen(&self) -> Vec<Seen> {
        self.log.requests.lock().unwrap().clone()
    }

    fn connections(&self) -> u64 {
        self.log.connections.load(Ordering::SeqCst)
    }
}

async fn serve(io: impl AsyncRead + AsyncWrite + Unpin, log: &Arc<Log>) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(2).initial_window_size(100_000);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(io).await else { return };
    let mut nth = 0;
    let open = Arc::new(AtomicU64::new(0));
    while let Some(Ok((request, respond))) = connection.accept().await {
        nth += 1;
        let path = request.uri().path().to_owned();
        if path == "/die" || path == "/die-second" && nth == 2 {
            note(log, &request, 0);
            return;
        }
        log.most_open.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let (log, open) = (log.clone(), open.clone());
        tokio::spawn(async move {
            answer(request, respond, &log).await;
            open.fetch_sub(1, Ordering::SeqCst);
        });
        if path == "/go-away" {
            connection.graceful_shutdown();
        }
    }
}

fn note(log: &Log, request: &http::Request<h2::RecvStream>, body: usize) -> usize {
    let text = |v: &http::HeaderValue| v.to_str().unwrap().to_owned();
    let mut requests = log.requests.lock().unwrap();
    requests.push(Seen {
        method: request.method().to_string(),
        uri: request.uri().to_string(),
        cookie: request.headers().get("cookie").map(text),
        header_names: request.headers().keys().map(|n| n.as_str().to_owned()).collect(),
        body,
    });
    requests.len()
}

async fn answer(mut request: http::Request<h2::RecvStream>, mut respond: SendResponse<Bytes>, log: &Log) {
    let mut received = 0;
    while let Some(Ok(data)) = request.body_mut().data().await {
        received += data.len();
        request.body_mut().flow_control().release_capacity(data.len()).unwrap();
    }
    let n = note(log, &request, received);
    let path = request.uri().path().to_owned();
    let number = |prefix: &str| path.strip_prefix(prefix).and_then(|rest| rest.parse::<usize>().ok());
    let mut response = http::Response::builder();
    let mut body = Bytes::from_static(b"ok");
    if let Some(length) = number("/bytes/") {
        body = vec![b'x'; length].into();
    } else if let Some(ms) = number("/slow/") {
        tokio::time::sleep(MS * ms as u32).await;
    } else if let Some(status) = number("/status/") {
        response = response.status(status as u16);
    } else if let Some(count) = number("/headers/") {
        for i in 0..count {
            response = response.header(format!("x-{i}"), "y");
        }
    } else if let Some(length) = number("/long/") {
        response = response.header("x", "y".repeat(length));
    } else if path == "/redirect" {
        response = response.status(302).header("location", "/ok").header("set-cookie", "a=1");
    } else if path == "/refuse-odd" && n % 2 == 1 {
        return respond.send_reset(Reason::REFUSED_STREAM);
    } else if path == "/reset" {
        return respond.send_reset(Reason::CANCEL);
    } else if path == "/hints" {
        let hints = http::Response::builder().status(103).header("link", "</x>").body(()).unwrap();
        respond.send_informational(hints).unwrap();
        tokio::time::sleep(50 * MS).await;
    }
    let bodiless = request.method() == http::Method::HEAD;
    let Ok(mut stream) = respond.send_response(response.body(()).unwrap(), bodiless) else { return };
    if bodiless {
        return;
    }
    let _ = stream.send_data(body, path == "/ok");
    if path != "/ok" {
        let mut trailers = http::HeaderMap::new();
        trailers.insert("x-trailer", http::HeaderValue::from_static("1"));
        let _ = stream.send_trailers(trailers);
    }
}

fn http2(plan: PlanSpec) -> PlanSpec {
    PlanSpec { http: HttpVersion::Http2, ..plan }
}

fn kinds(done: &Done) -> Vec<(ErrorKind, u64)> {
    done.totals.errors.rows().iter().map(|r| (r.kind, r.count)).collect()
}

#[test]
fn b51_streams_of_one_connection_per_client() {
    let server = Server::plain();
    let done = run(http2(fixed(200, 5, server.url("/ok"))));
    let counters = done.totals.counters;
    assert_eq!((done.ledger().ok, server.seen().len(), counters.bytes_body), (200, 200, 400));
    assert_eq!((server.connections(), counters.opened, counters.reused, counters.reconnects), (5, 5, 195, 0));
    assert!(server.log.most_open.load(Ordering::SeqCst) <= 2);
    assert!(counters.bytes_sent > 200 * 20 && counters.bytes_received > 200 * 20, "{counters:?}");
    let off = run(PlanSpec { reuse: Reuse::Off, ..http2(fixed(20, 2, server.url("/ok"))) });
    assert_eq!((off.ledger().ok, off.totals.counters.opened, off.totals.counters.reused), (20, 20, 0));
}

#[test]
fn b51_what_is_not_offered_is_said() {
    let plain = Target::normal();
    let done = run(http2(fixed(4, 2, plain.url("/"))));
    assert_eq!((done.ledger().invalid, kinds(&done)), (4, vec![(ErrorKind::NoHttp2, 4)]));
    // Over TLS: an offer without HTTP/2, and none at all.
    for offer in [&["http/1.1"][..], &[]] {
        let tls = certs::offering(certs::self_signed(&["127.0.0.1"]), offer);
        let target = Target::on("127.0.0.1:0", Some(tls), |call| call.ok());
        let plan = PlanSpec { insecure: true, ..fixed(4, 2, format!("https://{}/", target.address)) };
        let done = run(http2(plan.clone()));
        assert_eq!((kinds(&done), target.requests()), (vec![(ErrorKind::NoHttp2, 4)], 0), "{offer:?}");
        // Who asks for the best gets HTTP/1.1, and it is counted as that.
        let counters = run(plan).totals.counters;
        assert_eq!((counters.http11, counters.http2), (4, 0), "{offer:?}");
    }
    let old = Target::new(|call| {
        call.write("HTTP/1.0 200 OK\r\n\r\nok");
        After::Close
    });
    let counters = run(fixed(3, 1, old.url("/"))).totals.counters;
    assert_eq!((counters.http10, counters.http11, counters.http2), (3, 0, 0));
}

#[test]
fn the_best_both_know_is_spoken_over_tls() {
    let tls = certs::offering(certs::self_signed(&["127.0.0.1"]), &["h2", "http/1.1"]);
    let server = Server::new(Some(tls));
    for http in [HttpVersion::Auto, HttpVersion::Http2] {
        let before = server.seen().len();
        let done = run(PlanSpec { insecure: true, http, ..fixed(20, 2, server.https("/ok")) });
        assert_eq!((done.ledger().ok, server.seen().len() - before, done.totals.tls.count()), (20, 20, 2));
        assert_eq!((done.totals.counters.http11, done.totals.counters.http2), (0, 20));
    }
    // Without TLS nothing is agreed upon, and HTTP/1.1 is what everybody knows.
    let target = Target::normal();
    assert_eq!(run(fixed(4, 2, target.url("/"))).ledger().ok, 4);
}

#[test]
fn bodies_are_larger_than_the_windows() {
    let server = Server::plain();
    let done = run(http2(fixed(6, 2, server.url("/bytes/5000000"))));
    assert_eq!((done.ledger().ok, done.totals.counters.bytes_body), (6, 30_000_000));
    assert!(done.totals.counters.bytes_received > 30_000_000);
    let mut post = fixed(6, 2, server.url("/upload"));
    post.requests[0] =
        RequestSpec { method: Method::Post, body: Some("b".repeat(1_000_000)), ..get(server.url("/upload")) };
    let done = run(http2(post));
    assert_eq!((done.ledger().ok, server.connections()), (6, 4));
    assert!(done.totals.counters.bytes_sent > 6_000_000);
    assert!(server.seen()[6..].iter().all(|s| s.body == 1_000_000 && s.method == "POST"));
}

#[test]
fn heads_redirects_and_cookies() {
    let server = Server::plain();
    let urls = [server.url("/redirect"), server.url("/status/503"), server.url("/hints?q=1")];
    let mut plan = spec(Load::FixedCount { requests: 3, clients: 1 }, None, &urls);
    plan.requests[2].headers = vec![("X-Mine".into(), "1".into()), ("Connection".into(), "keep-alive".into())];
    let done = run(http2(plan));
    assert_eq!((done.ledger().ok, done.ledger().status_5xx, done.totals.counters.redirects_followed), (2, 1, 1));
    let seen = server.seen();
    let uris: Vec<&str> = seen.iter().map(|s| s.uri.strip_prefix(&server.url("")).unwrap()).collect();
    assert_eq!(uris, ["/redirect", "/ok", "/status/503", "/hints?q=1"]);
    assert_eq!((seen[0].cookie.as_deref(), seen[3].cookie.as_deref()), (None, Some("a=1")));
    assert_eq!(seen[3].header_names, ["x-mine", "user-agent", "accept", "cookie"]);
    assert_eq!(server.connections(), 1);
    assert!(done.totals.latency.max_us().unwrap() >= 49_000);

    let mut head = fixed(3, 1, server.url("/bytes/100"));
    head.requests[0].method = Method::Head;
    let done = run(http2(head));
    assert_eq!((done.ledger().ok, done.totals.counters.bytes_body), (3, 0));

    for path in ["/headers/300", "/long/100000"] {
        let done = run(http2(fixed(2, 1, server.url(path))));
        assert_eq!(kinds(&done), [(ErrorKind::HeadTooLarge, 2)], "{path}: {:?}", done.totals.errors.rows());
    }
}

#[test]
fn what_was_not_looked_at_is_sent_again_where_that_is_safe() {
    let server = Server::plain();
    let done = run(http2(fixed(10, 1, server.url("/refuse-odd"))));
    assert_eq!((done.ledger().ok, server.seen().len(), done.totals.counters.reconnects), (10, 20, 10));

    let server = Server::plain();
    let mut post = fixed(10, 1, server.url("/refuse-odd"));
    post.requests[0].method = Method::Post;
    let done = run(http2(post));
    assert_eq!((done.ledger().ok, kinds(&done)), (5, vec![(ErrorKind::Reset, 5)]));
    assert_eq!((server.seen().len(), done.totals.counters.reconnects), (10, 0));

    let server = Server::plain();
    let done = run(http2(fixed(10, 1, server.url("/die-second"))));
    assert_eq!((done.ledger().ok, done.totals.counters.reconnects), (10, 9));
    let done = run(http2(fixed(4, 1, server.url("/die"))));
    // Closed with something unread in it, the server's socket may also reset the connection.
    assert_eq!((done.ledger().network, done.totals.counters.opened), (4, 4));
    let done = run(http2(fixed(4, 1, server.url("/reset"))));
    assert_eq!((kinds(&done), done.totals.counters.reconnects), (vec![(ErrorKind::Reset, 4)], 0));
}

#[test]
fn a_connection_that_says_good_bye_is_left() {
    let server = Server::plain();
    let done = run(http2(fixed(30, 3, server.url("/go-away"))));
    assert_eq!((done.ledger().ok, done.totals.errors.rows().len()), (30, 0));
    assert!(server.connections() > 3, "{}", server.connections());
    assert_eq!(done.totals.counters.opened, server.connections());
}

#[test]
fn time_runs_out_and_runs_are_cut_as_with_http1() {
    let server = Server::plain();
    let done = run(PlanSpec { timeout_ms: 100.0, ..http2(fixed(6, 2, server.url("/slow/5000"))) });
    assert_eq!((kinds(&done), server.connections()), (vec![(ErrorKind::Timeout, 6)], 6));
    assert!(done.totals.failed.min_us().unwrap() >= 100_000);
    let idle = run(PlanSpec { idle_timeout_ms: Some(100.0), ..http2(fixed(2, 2, server.url("/slow/5000"))) });
    assert_eq!(kinds(&idle), [(ErrorKind::IdleTimeout, 2)]);

    let running = common::begin(http2(maintain(4, 4, 60.0, server.url("/slow/30000"))), threads(2));
    let begun = std::time::Instant::now();
    while server.seen().len() < 12 && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(5 * MS);
    }
    running.stopper().interrupt();
    let done = finish(running);
    assert_eq!((done.end.end_reason, kinds(&done)), (EndReason::Interrupted, vec![(ErrorKind::Aborted, 4)]));
}

#[test]
fn phases_of_a_first_request() {
    let tls = certs::offering(certs::self_signed(&["127.0.0.1"]), &["h2"]);
    let server = Server::new(Some(tls));
    let plan = PlanSpec { insecure: true, ..http2(fixed(10, 1, server.https("/slow/50"))) };
    let done = common::run_with(plan, Options::default());
    assert_eq!((done.ledger().ok, done.totals.connect.count(), done.totals.tls.count()), (10, 1, 1));
    assert!(done.totals.wait.min_us().unwrap() >= 49_000 && done.totals.service.min_us().unwrap() >= 49_000);
}

//! The same bytes to our reader of replies and to hyper's client, which other people wrote: both must see the same reply.
//!
//! What is not written here, because the two differ on purpose and ours is the wider:
//! - `http/1.1`, HTTP/1.2 to 1.9 and a bare LF after a chunk's size are wrong for hyper. RFC 9112, 2.3 takes a higher minor
//!   version as the highest one knows, and 2.2 lets a recipient take a bare LF as the end of a line.
//! - trailers that are no header lines are wrong for hyper; we count them and do not look inside.
//! - limits: hyper ends a head at about 400 kB, a chunk's size at 64 bits, a length at 20 digits, and all extensions of a
//!   body together at 16 kB; we at 64 kB, 15 digits, 18 digits, and the extension of each chunk at 16 kB. All of these are
//!   beyond what a reply means.
//! - 101 hands hyper's connection over to whoever asked for an upgrade, and nobody did.

use std::cell::Cell;
use std::error::Error;
use std::io;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use oleada_engine::net::http1::response::{AtEof, Reader};
use oleada_engine::plan::limits;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

/// What a client makes of what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A complete reply.
    Complete {
        status: u16,
        body: u64,
        /// It was complete only with the end of the stream.
        by_close: bool,
        /// The connection may carry another request.
        keep_alive: bool,
    },
    /// The stream ended too early.
    Cut,
    /// Not a reply.
    Invalid,
}

fn ours(bytes: &[u8], ends: &[usize], to_head: bool) -> Seen {
    let mut reader = Reader::new();
    reader.start(to_head);
    let mut at = 0;
    for &end in ends {
        let Ok(fed) = reader.feed(&bytes[at..end]) else { return Seen::Invalid };
        at += fed.used;
        if fed.done {
            let keep_alive = reader.head().keep_alive && at == bytes.len();
            return Seen::Complete {
                status: reader.head().status,
                body: reader.body_bytes(),
                by_close: false,
                keep_alive,
            };
        }
    }
    match reader.eof() {
        Err(_) => Seen::Invalid,
        Ok(AtEof::Cut { .. }) => Seen::Cut,
        Ok(AtEof::Complete) => Seen::Complete {
            status: reader.head().status,
            body: reader.body_bytes(),
            by_close: true,
            keep_alive: reader.head().keep_alive,
        },
    }
}

/// Lets every task run that can. Nothing here waits for time or the system, so that so many turns are plenty.
async fn settle(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

/// Reads the request, so that nothing comes back before it was sent.
async fn read_request(server: &mut DuplexStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        assert!(server.read_buf(&mut request).await.expect("memory can be read") > 0);
    }
}

async fn hypers(bytes: &[u8], ends: &[usize], to_head: bool) -> Seen {
    let (client, mut server) = tokio::io::duplex(1 << 20);
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_headers(limits::RESPONSE_HEADERS)
        .handshake::<_, Empty<Bytes>>(TokioIo::new(client))
        .await
        .expect("a handshake sends nothing");
    let connection = tokio::spawn(connection);
    let method = if to_head { http::Method::HEAD } else { http::Method::GET };
    let request = http::Request::builder()
        .method(method)
        .uri("/")
        .header("host", "a.test")
        .body(Empty::new())
        .expect("a good request");
    let exchange = tokio::spawn(async move {
        let reply = sender.send_request(request).await?;
        let status = reply.status().as_u16();
        // Trailers are read too; they are no part of the body.
        let body = reply.into_body().collect().await?.to_bytes().len() as u64;
        // The sender outlives the exchange: dropping it would end the connection.
        Ok::<_, hyper::Error>((status, body, sender))
    });
    read_request(&mut server).await;
    let mut at = 0;
    for &end in ends {
        // After an error nobody reads on.
        if server.write_all(&bytes[at..end]).await.is_err() {
            break;
        }
        settle(3).await;
        at = end;
    }
    settle(20).await;
    let by_close = !exchange.is_finished();
    let keep_alive = !by_close && !connection.is_finished();
    drop(server);
    match exchange.await.expect("no panic") {
        Ok((status, body, _sender)) => Seen::Complete { status, body, by_close, keep_alive },
        Err(error) if is_cut(&error) => Seen::Cut,
        Err(_) => Seen::Invalid,
    }
}

fn is_cut(error: &hyper::Error) -> bool {
    let ended = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    error.is_incomplete_message() || ended.is_some_and(|e| e.kind() == io::ErrorKind::UnexpectedEof)
}

/// A reply as it is written.
#[derive(Clone, Debug)]
struct Written {
    bytes: Vec<u8>,
    /// Both Transfer-Encoding and Content-Length. Hyper may use the connection again; we do not, and RFC 9112, 6.3 says
    /// that the connection ought to be closed: who wrote the reply may have meant the other framing.
    two_framings: bool,
}

impl Seen {
    fn without_keep_alive(mut self) -> Seen {
        if let Seen::Complete { keep_alive, .. } = &mut self {
            *keep_alive = false;
        }
        self
    }
}

fn choice(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(texts).prop_map(str::to_owned)
}

/// Interim replies, none most often.
fn interim() -> impl Strategy<Value = String> {
    let one = choice(&[
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
        "HTTP/1.1 102\r\n\r\n",
        "HTTP/1.1 100 x\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 199 x\r\nTransfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n",
    ]);
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(one, 1..4)].prop_map(|all| all.concat())
}

/// Headers that say nothing of the framing, and `Connection`.
fn headers() -> impl Strategy<Value = String> {
    let one = choice(&[
        "Server: x\r\n",
        "X-Empty:\r\n",
        "X-Empty-Too: \t \r\n",
        "Set-Cookie: a=b; Path=/\r\n",
        "Set-Cookie: c=d\r\n",
        "x-content-length: 7\r\n",
        "!#$%&'*+-.^_`|~: \"odd name\"\r\n",
        "Location: /there\r\n",
        "Date:Wed, 21 Oct 2026 07:28:00 GMT\r\n",
        "Keep-Alive: timeout=5\r\n",
        "Connection: keep-alive\r\n",
        "connection: Keep-Alive, x\r\n",
        "Connection: close\r\n",
        "Connection: x ,CLOSE\r\n",
        "Connection: close, keep-alive\r\n",
        "Connection: keep-alive,close\r\n",
        "Connection: upgrade\r\n",
        "Connection:\r\n",
        "Connection: closed\r\n",
    ]);
    prop_oneof![
        8 => prop::collection::vec(one, 0..4).prop_map(|all| all.concat()),
        1 => (100usize..240).prop_map(|n| "X: y\r\n".repeat(n)),
        1 => (1usize..20_000).prop_map(|n| format!("X-Long: {}\r\n", "z".repeat(n))),
    ]
}

/// Headers of the framing and the body behind them.
fn framed() -> impl Strategy<Value = (String, Vec<u8>, bool)> {
    let known = (
        body(),
        choice(&[
            "Content-Length: {}\r\n",
            "content-length:{}\r\n",
            "Content-Length: {}, {}\r\nCONTENT-LENGTH: 0{}\r\n",
        ]),
    )
        .prop_map(|(body, header)| (header.replace("{}", &body.len().to_string()), body, false));
    // One byte more or less than said: cut, or something left over.
    let wrong = (body(), 0usize..3)
        .prop_map(|(body, n)| (format!("Content-Length: {}\r\n", (body.len() + n).saturating_sub(1)), body, false));
    let bad = (
        choice(&[
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1, 2\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: 0x1\r\n",
            "Content-Length: 1,\r\n",
            "Content-Length: 1 1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999999\r\n",
            "Content-Length : 1\r\n",
            "Bad Name: 1\r\n",
            ": no name\r\n",
            "no colon\r\n",
            "Folded: a\r\n b\r\n",
            "Nul: a\0b\r\n",
            "Bare-Cr: a\rb\r\n",
        ]),
        body(),
    )
        .prop_map(|(header, body)| (header, body, false));
    let chunked = (
        choice(&[
            "Transfer-Encoding: chunked\r\n",
            "transfer-encoding: Chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        ]),
        chunks(),
        prop_oneof![4 => Just(""), 1 => Just("Content-Length: 3\r\n"), 1 => Just("Content-Length: x\r\n")],
    )
        .prop_map(|(header, body, length)| (header + length, body, !length.is_empty()));
    let other = (choice(&["Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked, gzip\r\n"]), body())
        .prop_map(|(header, body)| (header, body, false));
    let close = body().prop_map(|body| (String::new(), body, false));
    prop_oneof![4 => known, 1 => wrong, 2 => bad, 6 => chunked, 1 => other, 2 => close]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..60),
        1 => (0usize..60_000).prop_map(|n| vec![b'x'; n]),
    ]
}

/// A chunked body, spoilt now and then.
fn chunks() -> impl Strategy<Value = Vec<u8>> {
    let extension = || choice(&["", "", "", ";a", ";a=b", ";a=\"b;c\"", " ", "\t ;a", ";", ";\u{e9}"]);
    let size = prop_oneof![Just(0u8), Just(1), Just(2), Just(3)];
    let good = (prop::collection::vec(any::<u8>(), 1..40), size, extension()).prop_map(|(data, how, extension)| {
        let n = data.len();
        let size = match how {
            0 => format!("{n:x}"),
            1 => format!("{n:X}"),
            2 => format!("{n:04x}"),
            _ => format!("{n:015x}"),
        };
        [format!("{size}{extension}\r\n").as_bytes(), &data[..], b"\r\n"].concat()
    });
    let spoilt = prop::sample::select(vec![
        "\r\n",
        "x\r\n",
        "-1\r\n",
        ";a\r\n",
        " 1\r\na\r\n",
        "1 1\r\na\r\n",
        "2\r\na\r\n",
        "1\r\nab\r\n",
        "1\ra\r\n",
        "1\r\na\r1\r\n",
        "1g\r\n",
        "0x1\r\na\r\n",
    ])
    .prop_map(|text| text.as_bytes().to_vec());
    let piece = prop_oneof![30 => good, 1 => spoilt];
    let trailers =
        choice(&["", "", "", "X: y\r\n", "X: y\r\nZ:\r\n", "Content-Length: 5\r\n", "Connection: close\r\n"]);
    let last = (choice(&["0", "000"]), extension(), trailers)
        .prop_map(|(size, extension, trailers)| format!("{size}{extension}\r\n{trailers}\r\n").into_bytes());
    (prop::collection::vec(piece, 0..6), last).prop_map(|(pieces, last)| [pieces.concat(), last].concat())
}

fn written() -> impl Strategy<Value = Written> {
    let status = prop_oneof![
        4 => Just(200u16),
        1 => prop::sample::select(vec![201u16, 204, 205, 206, 301, 302, 304, 400, 404, 500, 503]),
        1 => 200u16..1000,
    ];
    let line =
        (prop_oneof![4 => Just("HTTP/1.1"), 1 => Just("HTTP/1.0")], status, choice(&[" OK", " ", "", " Not \t\u{e9}"]));
    let after = prop_oneof![6 => Just(""), 1 => Just("x"), 1 => Just("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")];
    let blank = prop_oneof![9 => Just(""), 1 => Just("\r\n")];
    // Now and then only the beginning comes.
    let kept = prop_oneof![3 => Just(1.0), 1 => 0.0..1.0f64];
    (interim(), blank, line, headers(), framed(), any::<bool>(), after, kept).prop_map(
        |(interim, blank, (version, status, reason), headers, (framing, body, two_framings), first, after, kept)| {
            // Hyper refuses chunks under HTTP/1.0; we read them and close, which RFC 9112, 6.1 allows and users expect.
            let version = if framing.to_ascii_lowercase().contains("transfer-encoding") { "HTTP/1.1" } else { version };
            let fields = if first { framing + &headers } else { headers + &framing };
            let head = format!("{interim}{blank}{version} {status}{reason}\r\n{fields}\r\n");
            let mut bytes = [head.as_bytes(), &body, after.as_bytes()].concat();
            bytes.truncate((bytes.len() as f64 * kept).ceil() as usize);
            Written { bytes, two_framings }
        },
    )
}

#[test]
fn hyper_sees_the_same() {
    let config = ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() };
    let cuts = prop::collection::vec(any::<prop::sample::Index>(), 0..6);
    let strategy = (written(), cuts, prop::bool::weighted(0.1));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers");
    let kinds = Cell::new([0; 4]);
    let result = TestRunner::new(config).run(&strategy, |(written, cuts, to_head)| {
        let bytes = &written.bytes;
        let mut ends: Vec<usize> = cuts.iter().map(|i| i.index(bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let ours = ours(bytes, &ends, to_head);
        let mut theirs = runtime.block_on(hypers(bytes, &ends, to_head));
        if (ours, theirs) == (Seen::Invalid, Seen::Cut) {
            // Hyper looks at a head that comes in pieces only when its end has come. Ours is the same for every split.
            theirs = runtime.block_on(hypers(bytes, &[bytes.len()], to_head));
        }
        let (ours, theirs) = match written.two_framings {
            true => (ours.without_keep_alive(), theirs.without_keep_alive()),
            false => (ours, theirs),
        };
        let mut seen = kinds.get();
        seen[match ours {
            Seen::Complete { keep_alive: true, .. } => 0,
            Seen::Complete { .. } => 1,
            Seen::Cut => 2,
            Seen::Invalid => 3,
        }] += 1;
        kinds.set(seen);
        prop_assert_eq!(ours, theirs, "{} to HEAD {}, ends {:?}", bytes.escape_ascii(), to_head, ends);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // The mixture has a fair share of each.
    assert!(kinds.get().iter().all(|n| *n > 50), "{kinds:?}");
}

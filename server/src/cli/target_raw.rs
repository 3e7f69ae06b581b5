//! One connection of the practice target, on the bare socket: a library would not let it misbehave.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Largest request head that is read.
const HEAD_BYTES: usize = 64 * 1024;
/// Headers of a request that are read.
const HEADERS: usize = 128;
/// Largest body that is sent (a gigabyte and a bit) and longest wait in ms (ten minutes).
const BODY_BYTES: u64 = 1 << 30;
const WAIT_MS: u64 = 600_000;
/// Distinct paths that are counted apart.
const COUNTED_PATHS: usize = 1000;

/// What the target was asked.
#[derive(Debug, Default)]
pub struct Log {
    requests: AtomicU64,
    paths: Mutex<BTreeMap<String, u64>>,
}

impl Log {
    fn count(&self, path: &str) -> u64 {
        if let Ok(mut paths) = self.paths.lock() {
            let key = if paths.contains_key(path) || paths.len() < COUNTED_PATHS { path } else { "(other)" };
            match paths.get_mut(key) {
                Some(count) => *count += 1,
                None => _ = paths.insert(key.to_owned(), 1),
            }
        }
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    fn json(&self) -> String {
        let paths = self.paths.lock().map(|p| p.clone()).unwrap_or_default();
        serde_json::json!({ "requests": self.requests.load(Ordering::Relaxed), "paths": paths }).to_string()
    }
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "a millisecond more does not matter to a practice target")]
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

struct Asked {
    head: bool,
    path: String,
    /// The request line and headers as they came.
    text: Vec<u8>,
    body: u64,
    close: bool,
    old: bool,
    expects_continue: bool,
    cookie: Option<String>,
}

/// What to do with the connection after a reply.
enum Then {
    KeepAlive,
    Close,
}

/// Serves one connection until either side closes it.
///
/// # Errors
/// What the socket said when the client went away.
pub async fn serve_connection(mut stream: TcpStream, log: &Log) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(1024);
    loop {
        let Some(asked) = read_head(&mut stream, &mut buffer).await? else { return Ok(()) };
        if asked.expects_continue {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        skip_body(&mut stream, &mut buffer, asked.body).await?;
        let number = if asked.path == "/counts" { 0 } else { log.count(&asked.path) };
        let then = answer(&mut stream, &asked, number, log).await?;
        if matches!(then, Then::Close) || asked.close {
            return stream.shutdown().await;
        }
    }
}

async fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Asked>> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(buffer) {
            Ok(httparse::Status::Complete(length)) => {
                let asked = asked(&request, &buffer[..length]);
                buffer.drain(..length);
                return Ok(Some(asked));
            }
            Ok(httparse::Status::Partial) if buffer.len() <= HEAD_BYTES => {
                if stream.read_buf(buffer).await? == 0 {
                    return Ok(None);
                }
            }
            _ => {
                reply(stream, "400 Bad Request", b"not a request that this target can read\n", false, true, "").await?;
                return Ok(None);
            }
        }
    }
}

fn asked(request: &httparse::Request<'_, '_>, text: &[u8]) -> Asked {
    let header = |name: &str| {
        request
            .headers
            .iter()
            .find(|h| h.name.eq_ignore_ascii_case(name))
            .map(|h| String::from_utf8_lossy(h.value).trim().to_owned())
    };
    let connection = header("connection").unwrap_or_default().to_ascii_lowercase();
    let old = request.version == Some(0);
    // A chunked upload is not read: the reply closes the connection.
    let chunked = header("transfer-encoding").is_some();
    Asked {
        head: request.method == Some("HEAD"),
        path: request.path.unwrap_or("/").split('?').next().unwrap_or("/").to_owned(),
        text: text.to_vec(),
        body: header("content-length").and_then(|v| v.parse().ok()).unwrap_or(0),
        close: chunked || connection.contains("close") || old && !connection.contains("keep-alive"),
        old,
        expects_continue: header("expect").is_some_and(|v| v.eq_ignore_ascii_case("100-continue")),
        cookie: header("cookie"),
    }
}

async fn skip_body(stream: &mut TcpStream, buffer: &mut Vec<u8>, mut left: u64) -> io::Result<()> {
    while left > 0 {
        if buffer.is_empty() && stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let taken = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        buffer.drain(..taken);
        left -= taken as u64;
    }
    Ok(())
}

async fn answer(stream: &mut TcpStream, asked: &Asked, number: u64, log: &Log) -> io::Result<Then> {
    let mut parts = asked.path.trim_start_matches('/').split('/');
    let name = parts.next().unwrap_or("");
    let mut figure = |most: u64| parts.next().and_then(|p| p.parse::<u64>().ok()).map(|n| n.min(most));
    let ok = "200 OK";
    match (name, figure(BODY_BYTES)) {
        ("", None) => respond(stream, asked, ok, b"ok", "").await,
        ("delay", Some(ms)) => {
            pause(Duration::from_millis(ms.min(WAIT_MS))).await;
            respond(stream, asked, ok, b"ok", "").await
        }
        ("status", Some(code @ 200..=999)) => respond(stream, asked, &format!("{code} Status"), b"", "").await,
        ("bytes", Some(n)) => stream_body(stream, asked, n).await,
        ("chunked", Some(n)) => chunked(stream, asked, n).await,
        ("drip", Some(n)) => drip(stream, asked, n, figure(WAIT_MS).unwrap_or(0)).await,
        ("flaky", Some(percent)) => {
            // Spread evenly: of any hundred requests in a row exactly `percent` fail.
            let fails = (number + 1) * percent.min(100) / 100 > number * percent.min(100) / 100;
            respond(stream, asked, if fails { "500 Internal Server Error" } else { ok }, b"", "").await
        }
        ("redirect", Some(hops)) => {
            let to = if hops <= 1 { "/".to_owned() } else { format!("/redirect/{}", hops - 1) };
            respond(stream, asked, "302 Found", b"", &format!("Location: {to}\r\n")).await
        }
        ("echo", None) => respond(stream, asked, ok, &asked.text, "").await,
        ("cookie", None) => {
            let body = asked.cookie.clone().unwrap_or_default();
            respond(stream, asked, ok, body.as_bytes(), &format!("Set-Cookie: visit={number}; Path=/\r\n")).await
        }
        ("counts", None) => {
            respond(stream, asked, ok, log.json().as_bytes(), "Content-Type: application/json\r\n").await
        }
        ("close", None) => Ok(Then::Close),
        ("cut", None) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await?;
            Ok(Then::Close)
        }
        ("hold", Some(ms)) => {
            pause(Duration::from_millis(ms.min(WAIT_MS))).await;
            Ok(Then::Close)
        }
        ("garbage", None) => {
            stream.write_all(b"\x00\xffthis is no reply\r\n\r\n").await?;
            Ok(Then::Close)
        }
        ("endless-head", None) => endless_head(stream).await,
        _ => respond(stream, asked, "404 Not Found", b"this target has no such path\n", "").await,
    }
}

async fn respond(stream: &mut TcpStream, asked: &Asked, status: &str, body: &[u8], headers: &str) -> io::Result<Then> {
    let kept = if asked.old && !asked.close { "Connection: keep-alive\r\n" } else { "" };
    reply(stream, status, body, asked.head, asked.close, &format!("{headers}{kept}")).await?;
    Ok(Then::KeepAlive)
}

async fn reply(
    stream: &mut TcpStream,
    status: &str,
    body: &[u8],
    head: bool,
    close: bool,
    headers: &str,
) -> io::Result<()> {
    let mut text = String::with_capacity(128 + headers.len());
    let _ = write!(text, "HTTP/1.1 {status}\r\n{headers}");
    if close {
        text.push_str("Connection: close\r\n");
    }
    // 204 and 304 have no body and no length.
    let bodiless = status.starts_with("204") || status.starts_with("304");
    if bodiless {
        text.push_str("\r\n");
    } else {
        let _ = write!(text, "Content-Length: {}\r\n\r\n", body.len());
    }
    let mut bytes = text.into_bytes();
    if !head && !bodiless {
        bytes.extend_from_slice(body);
    }
    stream.write_all(&bytes).await
}

async fn stream_body(stream: &mut TcpStream, asked: &Asked, n: u64) -> io::Result<Then> {
    let block = [b'x'; 64 * 1024];
    let close = if asked.close { "Connection: close\r\n" } else { "" };
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{close}Content-Length: {n}\r\n\r\n").as_bytes()).await?;
    let mut left = if asked.head { 0 } else { n };
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(block.len()).min(block.len());
        stream.write_all(&block[..part]).await?;
        left -= part as u64;
    }
    Ok(Then::KeepAlive)
}

async fn chunked(stream: &mut TcpStream, asked: &Asked, n: u64) -> io::Result<Then> {
    let close = if asked.close { "Connection: close\r\n" } else { "" };
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{close}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).await?;
    if asked.head {
        return Ok(Then::KeepAlive);
    }
    let mut left = n;
    while left > 0 {
        let part = left.min(16 * 1024) as usize;
        let mut chunk = format!("{part:x};note=1\r\n").into_bytes();
        chunk.resize(chunk.len() + part, b'x');
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk).await?;
        left -= part as u64;
    }
    stream.write_all(b"0\r\nX-End: yes\r\n\r\n").await?;
    Ok(Then::KeepAlive)
}

/// `n` bytes, spread evenly over `ms` milliseconds.
async fn drip(stream: &mut TcpStream, asked: &Asked, n: u64, ms: u64) -> io::Result<Then> {
    let close = if asked.close { "Connection: close\r\n" } else { "" };
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{close}Content-Length: {n}\r\n\r\n").as_bytes()).await?;
    let steps = n.min(1000);
    for step in 0..if asked.head { 0 } else { steps } {
        pause(Duration::from_micros(ms * 1000 / steps)).await;
        let part = n * (step + 1) / steps - n * step / steps;
        stream.write_all(&vec![b'x'; usize::try_from(part).unwrap_or(0)]).await?;
    }
    Ok(Then::KeepAlive)
}

/// A head that does not end: a megabyte of it, then the connection closes.
async fn endless_head(stream: &mut TcpStream) -> io::Result<Then> {
    stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
    for i in 0..20_000 {
        stream.write_all(format!("X-Filler-{i}: abcdefghijklmnopqrstuvwxyz0123456789\r\n").as_bytes()).await?;
    }
    Ok(Then::Close)
}

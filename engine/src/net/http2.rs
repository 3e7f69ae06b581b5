//! HTTP/2: one connection of one client, one stream after the other. The client that owns the connection drives it; there
//! is no task of its own.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use h2::client::{Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::conn::{Around, Complete, Lost, Wire};
use super::dial::{Failure, stream_kind, words};
use super::http1::response::{Head, Reader, Version};
use super::stream::Stream;
use crate::outcome::ErrorKind;
use crate::plan::{Scheme, limits};

/// What a server may send before we say that we have counted it: a window that a fast link does not empty.
const WINDOW: u32 = 1 << 20;
/// Heads up to this size are taken apart, so that one over our own limit can be told from a malformed one.
const MOST_HEAD: u32 = 4 * limits::RESPONSE_HEAD_BYTES as u32;
/// Steps of one connection in a row before others get their turn.
const STEPS_IN_A_ROW: u32 = 32;
/// How a server begins that answers HTTP/1 to everything.
const HTTP1: &[u8; 5] = b"HTTP/";

/// What has passed over a connection since it was last asked, frames and all.
#[derive(Debug, Default)]
struct Meter {
    sent: Cell<u64>,
    received: Cell<u64>,
    /// The peer has ended its side.
    ended: Cell<bool>,
    /// Why reading failed: the library keeps of an error its words at most.
    failed: RefCell<Option<Failure>>,
    beginning: Cell<[u8; 5]>,
    begun: Cell<usize>,
}

impl Meter {
    fn fail(&self, error: &io::Error) {
        let failure = Failure { kind: stream_kind(error), detail: words(error).into() };
        self.failed.borrow_mut().get_or_insert(failure);
    }

    /// The connection has come to its end: why, as far as reading told.
    fn closed(&self) -> Failure {
        let detail = Cow::Borrowed("the connection ended before the reply was complete");
        self.failed.borrow().clone().unwrap_or(Failure { kind: ErrorKind::ClosedEarly, detail })
    }

    fn read(&self, bytes: &[u8]) {
        self.ended.set(bytes.is_empty());
        self.received.set(self.received.get() + bytes.len() as u64);
        let begun = self.begun.get();
        if begun < HTTP1.len() {
            let mut beginning = self.beginning.get();
            let n = bytes.len().min(HTTP1.len() - begun);
            beginning[begun..begun + n].copy_from_slice(&bytes[..n]);
            self.beginning.set(beginning);
            self.begun.set(begun + n);
        }
    }
}

/// A stream whose bytes are counted.
#[derive(Debug)]
struct Metered {
    stream: Stream,
    meter: Rc<Meter>,
    /// The peer has left: nothing that is written reaches it.
    unheard: bool,
}

impl Metered {
    /// A peer that has left may have said why before, as TLS does. The library would not read that after a failed write, so it
    /// is not told: what it writes from now on is lost, and reading comes to an end by itself.
    #[cold]
    fn not_written(&mut self, error: io::Error) -> io::Result<()> {
        self.unheard = matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
        if self.unheard { Ok(()) } else { Err(error) }
    }
}

impl AsyncRead for Metered {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let room = buffer.initialize_unfilled();
        let n = ready!(this.stream.poll_read(cx, room)).inspect_err(|error| this.meter.fail(error))?;
        this.meter.read(&room[..n]);
        buffer.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.unheard {
            return Poll::Ready(Ok(bytes.len()));
        }
        match ready!(this.stream.poll_write(cx, bytes)) {
            Ok(n) => {
                this.meter.sent.set(this.meter.sent.get() + n as u64);
                Poll::Ready(Ok(n))
            }
            Err(error) => Poll::Ready(this.not_written(error).map(|()| bytes.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.unheard {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(ready!(this.stream.poll_flush(cx)).or_else(|error| this.not_written(error)))
    }

    /// Closing is left to the drop: nobody waits for a connection that has done its work.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

/// An HTTP/2 connection.
pub(super) struct Http2 {
    requests: SendRequest<Bytes>,
    connection: Connection<Metered, Bytes>,
    /// The connection has ended and must not be polled again.
    ended: bool,
    meter: Rc<Meter>,
    scheme: Scheme,
}

impl Http2 {
    /// Sends the preface; the server's settings are not waited for.
    pub(super) async fn begin(stream: Stream, scheme: Scheme) -> Result<Http2, Failure> {
        let meter = Rc::new(Meter::default());
        let io = Metered { stream, meter: meter.clone(), unheard: false };
        let begun = h2::client::Builder::new()
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(MOST_HEAD)
            .handshake(io)
            .await;
        match begun {
            Ok((requests, connection)) => Ok(Http2 { requests, connection, ended: false, meter, scheme }),
            Err(error) => Err(failure(&error, &meter)),
        }
    }

    /// Whether the connection takes another stream, as far as is known without waiting.
    pub(super) async fn is_alive(&mut self) -> bool {
        poll_fn(|cx| {
            let ended = self.poll_connection(cx).is_some();
            Poll::Ready(!ended && !matches!(self.requests.poll_ready(cx), Poll::Ready(Err(_))))
        })
        .await
    }

    /// Lets the connection read and write. `Some`: it has ended.
    fn poll_connection(&mut self, cx: &mut Context<'_>) -> Option<Result<(), h2::Error>> {
        if self.ended {
            return Some(Ok(()));
        }
        match Pin::new(&mut self.connection).poll(cx) {
            Poll::Pending => None,
            Poll::Ready(result) => {
                self.ended = true;
                Some(result)
            }
        }
    }

    /// Sends the request that `bytes` say in the words of HTTP/1 and reads the reply.
    pub(super) async fn exchange(
        &mut self,
        around: &Around<'_>,
        bytes: &[u8],
        reader: &mut Reader,
        wire: &mut Wire,
    ) -> Result<Complete, Lost> {
        let now = Instant::now();
        let began = *wire.first_write.get_or_insert(now);
        wire.first_byte = None;
        around.arm(began, now);
        let result = match request(self.scheme, bytes) {
            Some((request, body)) => {
                let mut exchange = Exchange {
                    around,
                    request: Some(request),
                    body: Bytes::copy_from_slice(body),
                    sending: None,
                    stage: Stage::Queued,
                    written: false,
                    heard: self.meter.received.get(),
                    reader,
                    wire: &mut *wire,
                };
                poll_fn(|cx| exchange.poll(self, cx)).await
            }
            None => Err(Lost::of(Failure {
                kind: ErrorKind::LocalLimit,
                detail: Cow::Borrowed("the request cannot be said in HTTP/2"),
            })),
        };
        wire.bytes_sent += self.meter.sent.take();
        wire.bytes_received += self.meter.received.take();
        result
    }
}

enum Stage {
    /// The connection has not taken the request yet.
    Queued,
    Waiting(ResponseFuture),
    Receiving(RecvStream),
}

struct Exchange<'a, 'b> {
    around: &'a Around<'b>,
    request: Option<http::Request<()>>,
    body: Bytes,
    /// Where the rest of the body goes.
    sending: Option<SendStream<Bytes>>,
    stage: Stage,
    /// The request has been handed to the system.
    written: bool,
    /// Bytes received when they were last looked at.
    heard: u64,
    reader: &'a mut Reader,
    wire: &'a mut Wire,
}

/// What a step came to.
enum Step {
    Done(Complete),
    /// Something moved: look again.
    Moved,
    Stuck,
}

impl Exchange<'_, '_> {
    fn poll(&mut self, http2: &mut Http2, cx: &mut Context<'_>) -> Poll<Result<Complete, Lost>> {
        for _ in 0..STEPS_IN_A_ROW {
            let ended = http2.poll_connection(cx);
            self.look_at_the_wire(&http2.meter);
            match self.step(http2, cx) {
                Ok(Step::Done(complete)) => return Poll::Ready(Ok(complete)),
                Ok(Step::Moved) => {}
                Ok(Step::Stuck) => match ended {
                    Some(result) => return Poll::Ready(Err(self.ended(result, &http2.meter))),
                    None => return self.pending(cx),
                },
                Err(error) => return Poll::Ready(Err(self.lost(&error, &http2.meter))),
            }
        }
        cx.waker().wake_by_ref();
        self.pending(cx)
    }

    fn pending(&mut self, cx: &Context<'_>) -> Poll<Result<Complete, Lost>> {
        match self.around.slot.fired() {
            Some(why) => Poll::Ready(Err(Lost::of(Failure::plain(why)))),
            None => {
                self.around.slot.park(cx);
                Poll::Pending
            }
        }
    }

    /// Notes when the request was written and when something was heard.
    fn look_at_the_wire(&mut self, meter: &Meter) {
        let handed = !matches!(self.stage, Stage::Queued) && self.sending.is_none();
        if handed && !self.written {
            self.written = true;
            self.wire.last_write = Some(Instant::now());
        }
        let received = meter.received.get();
        if received != self.heard {
            self.heard = received;
            if self.around.idle_timeout.is_some() {
                let now = Instant::now();
                self.around.arm(self.wire.first_write.unwrap_or(now), now);
            }
        }
    }

    fn step(&mut self, http2: &mut Http2, cx: &mut Context<'_>) -> Result<Step, h2::Error> {
        let sent = self.send_body(cx);
        let moved = match &mut self.stage {
            Stage::Queued => {
                if http2.requests.poll_ready(cx)?.is_pending() {
                    return Ok(Step::Stuck);
                }
                let Some(request) = self.request.take() else { return Ok(Step::Stuck) };
                let (response, mut sending) = http2.requests.send_request(request, self.body.is_empty())?;
                if !self.body.is_empty() {
                    sending.reserve_capacity(self.body.len());
                    self.sending = Some(sending);
                }
                self.stage = Stage::Waiting(response);
                true
            }
            Stage::Waiting(response) => match Pin::new(response).poll(cx)? {
                Poll::Pending => false,
                Poll::Ready(response) => {
                    self.wire.first_byte = Some(Instant::now());
                    let (parts, body) = response.into_parts();
                    if is_too_large(&parts.headers) {
                        return Err(HEAD_TOO_LARGE.into());
                    }
                    self.reader.take_over(head(&parts), || head_text(&parts));
                    self.stage = Stage::Receiving(body);
                    true
                }
            },
            Stage::Receiving(body) => match body.poll_data(cx) {
                Poll::Pending => false,
                Poll::Ready(Some(data)) => {
                    let data = data?;
                    self.reader.take_body(&data);
                    let n = data.len();
                    self.wire.bytes_body += n as u64;
                    body.flow_control().release_capacity(n)?;
                    true
                }
                Poll::Ready(None) => {
                    let at = Instant::now();
                    if body.poll_trailers(cx)?.is_pending() {
                        return Ok(Step::Stuck);
                    }
                    let taken = self.sending.is_none() && !http2.ended;
                    let reusable = taken && !matches!(http2.requests.poll_ready(cx), Poll::Ready(Err(_)));
                    return Ok(Step::Done(Complete { at, reusable }));
                }
            },
        };
        Ok(if moved || sent { Step::Moved } else { Step::Stuck })
    }

    /// Sends as much of the body as the server has room for. True when there was any.
    fn send_body(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(sending) = &mut self.sending else { return false };
        match sending.poll_capacity(cx) {
            Poll::Pending => false,
            Poll::Ready(Some(Ok(room))) if room > 0 => {
                let piece = self.body.split_to(room.min(self.body.len()));
                let last = self.body.is_empty();
                let sent = sending.send_data(piece, last).is_ok();
                if last || !sent {
                    self.sending = None;
                }
                true
            }
            Poll::Ready(Some(Ok(_))) => false,
            // The server wants no more of it; what it has to say about that comes as the reply or as its error.
            Poll::Ready(_) => {
                self.sending = None;
                true
            }
        }
    }

    fn lost(&self, error: &h2::Error, meter: &Meter) -> Lost {
        let untouched = self.wire.first_byte.is_none();
        // Both say that the server has not looked at the request.
        let refused = untouched && error.is_remote() && (error.is_go_away() || refused_stream(error));
        Lost { failure: failure(error, meter), untouched: untouched && ended_by_peer(error), refused }
    }

    fn ended(&self, result: Result<(), h2::Error>, meter: &Meter) -> Lost {
        match result {
            Err(error) => self.lost(&error, meter),
            Ok(()) => Lost { failure: meter.closed(), untouched: self.wire.first_byte.is_none(), refused: false },
        }
    }
}

fn refused_stream(error: &h2::Error) -> bool {
    error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM)
}

/// The connection is gone or going, as against a fault of this one stream.
fn ended_by_peer(error: &h2::Error) -> bool {
    error.is_io() || error.is_go_away() && error.is_remote()
}

/// What an error of the connection or of the stream means.
fn failure(error: &h2::Error, meter: &Meter) -> Failure {
    if meter.beginning.get() == *HTTP1 {
        return Failure { kind: ErrorKind::NoHttp2, detail: Cow::Borrowed("the answer is HTTP/1") };
    }
    if let Some(io) = error.get_io() {
        if meter.ended.get() || meter.failed.borrow().is_some() {
            return meter.closed();
        }
        return Failure { kind: stream_kind(io), detail: words(io).into() };
    }
    let detail: String = error.to_string().chars().take(limits::ERROR_DETAIL_CHARS).collect();
    let kind = match (error.is_remote(), error.reason()) {
        (true, Some(Reason::HTTP_1_1_REQUIRED)) => ErrorKind::NoHttp2,
        (true, _) if error.is_go_away() => ErrorKind::ClosedEarly,
        (true, _) => ErrorKind::Reset,
        (false, Some(HEAD_TOO_LARGE)) => return Failure::plain(ErrorKind::HeadTooLarge),
        (false, _) => ErrorKind::InvalidReply,
    };
    Failure { kind, detail: detail.into() }
}

/// Our own sign for a head over the limits; the library gives it no other meaning on this side.
const HEAD_TOO_LARGE: Reason = Reason::REFUSED_STREAM;

fn is_too_large(headers: &http::HeaderMap) -> bool {
    // Each line counts with what HTTP/1 puts around it.
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    headers.len() > limits::RESPONSE_HEADERS || bytes > limits::RESPONSE_HEAD_BYTES
}

/// The head of a reply, as the rest of the engine knows it.
fn head(parts: &http::response::Parts) -> Head {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Head {
        status: parts.status.as_u16(),
        version: Version::Http2,
        keep_alive: true,
        location: parts.headers.get(http::header::LOCATION).filter(|_| parts.status.is_redirection()).map(text),
        set_cookie: parts.headers.get_all(http::header::SET_COOKIE).iter().map(text).collect(),
    }
}

/// A head in the words of HTTP/1.
fn head_text(parts: &http::response::Parts) -> Vec<u8> {
    let mut text = format!("HTTP/2 {}\r\n", parts.status.as_u16()).into_bytes();
    for (name, value) in &parts.headers {
        text.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    text.extend_from_slice(b"\r\n");
    text
}

/// Headers that speak of an HTTP/1 connection (RFC 9113, 8.2.2).
const OF_THE_CONNECTION: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te"];

/// Says a request written for HTTP/1 as HTTP/2 does: `Host` becomes the authority, what belongs to a connection is left
/// out. `None`: the bytes are not such a request.
fn request(scheme: Scheme, bytes: &[u8]) -> Option<(http::Request<()>, &[u8])> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let (head, body) = (&bytes[..end], &bytes[end + 4..]);
    let mut lines = head.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut words = lines.next()?.split(|b| *b == b' ');
    let (method, path) = (http::Method::from_bytes(words.next()?).ok()?, words.next()?);
    let mut authority = None;
    let mut headers = http::HeaderMap::new();
    for line in lines {
        let colon = line.iter().position(|b| *b == b':')?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"host") {
            authority = Some(http::uri::Authority::try_from(value).ok()?);
        } else if !OF_THE_CONNECTION.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes())) {
            let value = http::HeaderValue::from_bytes(value).ok()?;
            headers.append(http::HeaderName::from_bytes(name).ok()?, value);
        }
    }
    let uri = http::Uri::builder().scheme(scheme.as_str()).authority(authority?).path_and_query(path).build().ok()?;
    let mut request = http::Request::builder().method(method).uri(uri).version(http::Version::HTTP_2).body(()).ok()?;
    *request.headers_mut() = headers;
    Some((request, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_its_words() {
        let bytes = b"POST /a?b=%20 HTTP/1.1\r\nHost: a.test:81\r\nX-B: 1\r\nx-a: \xc3\xbc\r\nConnection: close\r\nCookie: a=1\r\nContent-Length: 4\r\n\r\nb\r\n\r";
        let (request, body) = request(Scheme::Https, bytes).unwrap();
        assert_eq!((request.method().as_str(), body), ("POST", &b"b\r\n\r"[..]));
        assert_eq!(request.uri().to_string(), "https://a.test:81/a?b=%20");
        let names: Vec<&str> = request.headers().keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["x-b", "x-a", "cookie", "content-length"]);
        assert_eq!(request.headers()["x-a"].as_bytes(), "ü".as_bytes());
    }

    #[test]
    fn what_is_no_request_is_none() {
        for bytes in
            [&b""[..], b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", b"GET\r\nHost: a\r\n\r\n"]
        {
            assert!(request(Scheme::Http, bytes).is_none(), "{}", bytes.escape_ascii());
        }
    }
}

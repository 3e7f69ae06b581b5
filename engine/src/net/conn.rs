//! One connection and one exchange on it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

use super::dial::{Failure, stream_kind, words};
use super::http1::response::{AtEof, BadReply, Reader, interim_only};
use super::http2::Http2;
use super::slots::{Slot, Slots};
use super::stream::Stream;
use crate::outcome::ErrorKind;
use crate::plan::{HttpVersion, Method, Scheme};

/// Reads of one connection in a row before others get their turn.
const READS_IN_A_ROW: u32 = 16;

/// How long a body waits for a target that does not say whether it wants it.
const BODY_WAITS: Duration = Duration::from_secs(1);

#[expect(clippy::disallowed_methods, reason = "a wait that nobody measures by the millisecond")]
fn hold() -> Sleep {
    tokio::time::sleep(BODY_WAITS)
}

/// An open connection.
pub(super) struct Conn {
    link: Link,
    /// Has carried a request.
    pub(super) used: bool,
}

/// What is spoken on a connection.
enum Link {
    Http1(Stream),
    Http2(Box<Http2>),
}

/// A request, ready to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    /// Head and body.
    pub(super) bytes: &'a [u8],
    pub(super) method: Method,
    /// The body waits for the target to ask for it.
    pub(super) body_waits: bool,
}

impl Message<'_> {
    /// How much may be written at once.
    fn unasked(&self) -> usize {
        match self.body_waits {
            false => self.bytes.len(),
            true => self.bytes.windows(4).position(|w| w == b"\r\n\r\n").map_or(self.bytes.len(), |at| at + 4),
        }
    }
}

/// What happened on the wire for one request, over all its attempts and redirects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wire {
    pub(super) first_write: Option<Instant>,
    pub(super) last_write: Option<Instant>,
    pub(super) first_byte: Option<Instant>,
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    pub(super) bytes_body: u64,
    /// How long its last connection took to open, in µs: name resolution, connect, TLS; 0 where there was none.
    pub(super) opening_us: [u32; 3],
}

/// What an exchange needs of its surroundings.
pub(super) struct Around<'a> {
    pub(super) slots: &'a Slots,
    pub(super) id: usize,
    pub(super) slot: &'a Slot,
    pub(super) scratch: &'a RefCell<Box<[u8]>>,
    pub(super) timeout: Duration,
    pub(super) idle_timeout: Option<Duration>,
}

impl Around<'_> {
    /// Sets the deadline of an exchange that began at `first_write` and last heard something at `heard`.
    #[inline]
    pub(super) fn arm(&self, first_write: Instant, heard: Instant) {
        let (whole, why) = (first_write + self.timeout, ErrorKind::Timeout);
        match self.idle_timeout.map(|idle| heard + idle).filter(|idle| *idle < whole) {
            Some(idle) => self.slots.arm(self.id, self.slot, idle, ErrorKind::IdleTimeout),
            None => self.slots.arm(self.id, self.slot, whole, why),
        }
    }
}

/// How an exchange ended without a complete reply.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    /// The connection ended before any byte of the reply.
    pub(super) untouched: bool,
    /// The target said that it has not looked at the request (HTTP/2).
    pub(super) refused: bool,
}

impl Lost {
    /// A failure after which nothing is tried again.
    pub(super) fn of(failure: Failure) -> Lost {
        Lost { failure, untouched: false, refused: false }
    }
}

/// A complete reply; its head is in the reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Complete {
    pub(super) at: Instant,
    /// The connection may carry another request.
    pub(super) reusable: bool,
}

impl Conn {
    /// Speaks the version that was asked for and, over TLS, agreed upon. Gives up when `slot` fires.
    pub(super) async fn begin(
        stream: Stream,
        asked: HttpVersion,
        scheme: Scheme,
        slot: &Slot,
    ) -> Result<Conn, Failure> {
        let http2 = match stream.agreed_on_http2() {
            Some(agreed) => agreed,
            // Without TLS nothing is agreed upon: who asks for HTTP/2 knows that the target speaks it.
            None => asked == HttpVersion::Http2,
        };
        let link = match (http2, asked) {
            (false, HttpVersion::Http2) => return Err(Failure::plain(ErrorKind::NoHttp2)),
            (false, _) => Link::Http1(stream),
            (true, _) => {
                let begun = slot.guard(Box::pin(Http2::begin(stream, scheme))).await.map_err(Failure::plain)?;
                Link::Http2(Box::new(begun?))
            }
        };
        Ok(Conn { link, used: false })
    }

    /// Whether HTTP/2 is spoken.
    pub(super) fn is_http2(&self) -> bool {
        matches!(self.link, Link::Http2(_))
    }

    /// Whether an idle connection is still open, as far as is known without asking the system.
    pub(super) async fn is_alive(&mut self, scratch: &RefCell<Box<[u8]>>) -> bool {
        let stream = match &mut self.link {
            Link::Http1(stream) => stream,
            Link::Http2(http2) => return Box::pin(http2.is_alive()).await,
        };
        poll_fn(|cx| {
            let mut scratch = scratch.borrow_mut();
            loop {
                match stream.poll_read(cx, &mut scratch) {
                    Poll::Pending => return Poll::Ready(true),
                    Poll::Ready(Ok(n)) if n > 0 && interim_only(&scratch[..n]).is_some() => {}
                    Poll::Ready(_) => return Poll::Ready(false),
                }
            }
        })
        .await
    }

    /// Writes `message` and reads the reply.
    pub(super) async fn exchange(
        &mut self,
        around: &Around<'_>,
        message: Message<'_>,
        reader: &mut Reader,
        wire: &mut Wire,
    ) -> Result<Complete, Lost> {
        self.used = true;
        let stream = match &mut self.link {
            Link::Http1(stream) => stream,
            Link::Http2(http2) => return Box::pin(http2.exchange(around, message.bytes, reader, wire)).await,
        };
        let mut exchange = Exchange {
            around,
            bytes: message.bytes,
            may_write: message.unasked(),
            hold: message.body_waits.then(|| Box::pin(hold())),
            written: 0,
            flushed: false,
            write_error: None,
            reader,
            wire,
            last_heard: Instant::now(),
        };
        let began = *exchange.wire.first_write.get_or_insert(exchange.last_heard);
        exchange.wire.first_byte = None;
        around.arm(began, exchange.last_heard);
        poll_fn(|cx| exchange.poll(stream, cx)).await
    }
}

struct Exchange<'a, 'b> {
    around: &'a Around<'b>,
    bytes: &'a [u8],
    /// How much of them may be written as yet.
    may_write: usize,
    /// Ends when the body has waited long enough to be asked for.
    hold: Option<Pin<Box<Sleep>>>,
    written: usize,
    flushed: bool,
    write_error: Option<io::Error>,
    reader: &'a mut Reader,
    wire: &'a mut Wire,
    last_heard: Instant,
}

impl Exchange<'_, '_> {
    fn poll(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<Result<Complete, Lost>> {
        if self.hold.is_some() {
            self.poll_hold(cx);
        }
        if !self.flushed && self.write_error.is_none() {
            self.poll_write(stream, cx);
        }
        for _ in 0..READS_IN_A_ROW {
            let scratch = &mut *self.around.scratch.borrow_mut();
            let skippable = self.reader.skippable();
            let read = match skippable {
                0 => stream.poll_read(cx, scratch),
                most => stream.poll_skip(cx, scratch, most),
            };
            let n = match read {
                Poll::Pending => return self.pending(cx),
                Poll::Ready(Ok(0)) => return Poll::Ready(self.at_eof()),
                Poll::Ready(Ok(n)) => n,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.lost(&error))),
            };
            let done = self.took(n, skippable > 0, scratch);
            match done {
                Ok(None) if self.hold.is_some() && self.reader.continued() => {
                    self.let_body_go();
                    self.poll_write(stream, cx);
                }
                Ok(None) => {}
                Ok(Some(complete)) => return Poll::Ready(Ok(complete)),
                Err(lost) => return Poll::Ready(Err(lost)),
            }
        }
        cx.waker().wake_by_ref();
        self.pending(cx)
    }

    fn pending(&mut self, cx: &Context<'_>) -> Poll<Result<Complete, Lost>> {
        match self.around.slot.fired() {
            Some(why) => {
                self.wire.bytes_body += self.reader.body_bytes();
                Poll::Ready(Err(Lost::of(Failure::plain(why))))
            }
            None => {
                self.around.slot.park(cx);
                Poll::Pending
            }
        }
    }

    /// Lets the body go when it has waited long enough.
    #[cold]
    fn poll_hold(&mut self, cx: &mut Context<'_>) {
        if self.hold.as_mut().is_some_and(|hold| hold.as_mut().poll(cx).is_ready()) {
            self.let_body_go();
        }
    }

    #[cold]
    fn let_body_go(&mut self) {
        self.hold = None;
        self.may_write = self.bytes.len();
    }

    fn poll_write(&mut self, stream: &mut Stream, cx: &mut Context<'_>) {
        while self.written < self.may_write {
            match stream.poll_write(cx, &self.bytes[self.written..self.may_write]) {
                Poll::Ready(Ok(n)) => {
                    self.written += n;
                    self.wire.bytes_sent += n as u64;
                }
                Poll::Ready(Err(error)) => return self.write_error = Some(error),
                Poll::Pending => return,
            }
        }
        match stream.poll_flush(cx) {
            // There is a body that waits.
            Poll::Ready(Ok(())) if self.may_write < self.bytes.len() => {}
            Poll::Ready(Ok(())) => {
                self.flushed = true;
                self.wire.last_write = Some(Instant::now());
            }
            Poll::Ready(Err(error)) => self.write_error = Some(error),
            Poll::Pending => {}
        }
    }

    /// Takes over `n` bytes that were read.
    fn took(&mut self, n: usize, skipped: bool, scratch: &[u8]) -> Result<Option<Complete>, Lost> {
        self.wire.bytes_received += n as u64;
        let first = self.wire.first_byte.is_none();
        let mut now = None;
        if first || self.around.idle_timeout.is_some() {
            let at = Instant::now();
            now = Some(at);
            self.last_heard = at;
            self.wire.first_byte.get_or_insert(at);
            if self.around.idle_timeout.is_some() {
                self.around.arm(self.wire.first_write.unwrap_or(at), at);
            }
        }
        let (used, done) = if skipped {
            (n, self.reader.skip(n as u64))
        } else {
            match self.reader.feed(&scratch[..n]) {
                Ok(fed) => (fed.used, fed.done),
                Err(bad) => return Err(self.invalid(bad, if first { &scratch[..n.min(60)] } else { &[] })),
            }
        };
        if !done {
            return Ok(None);
        }
        let clean = used == n || interim_only(&scratch[used..n]).is_some();
        Ok(Some(self.complete(now.unwrap_or_else(Instant::now), clean)))
    }

    fn complete(&mut self, at: Instant, clean: bool) -> Complete {
        self.wire.bytes_body += self.reader.body_bytes();
        Complete { at, reusable: clean && self.flushed && self.reader.head().keep_alive }
    }

    fn at_eof(&mut self) -> Result<Complete, Lost> {
        match self.reader.eof() {
            Ok(AtEof::Complete) => Ok(self.complete(Instant::now(), false)),
            Ok(AtEof::Cut { untouched }) => {
                self.wire.bytes_body += self.reader.body_bytes();
                if let Some(error) = self.write_error.take().filter(|_| untouched) {
                    return Err(self.lost(&error));
                }
                let detail =
                    if untouched { "before the first byte of the reply" } else { "in the middle of the reply" };
                let failure = Failure { kind: ErrorKind::ClosedEarly, detail: Cow::Borrowed(detail) };
                Err(Lost { failure, untouched, refused: false })
            }
            Err(bad) => Err(self.invalid(bad, &[])),
        }
    }

    fn lost(&mut self, error: &io::Error) -> Lost {
        let untouched = !self.reader.touched();
        self.wire.bytes_body += if untouched { 0 } else { self.reader.body_bytes() };
        Lost { failure: Failure { kind: stream_kind(error), detail: words(error).into() }, untouched, refused: false }
    }

    fn invalid(&mut self, bad: BadReply, beginning: &[u8]) -> Lost {
        self.wire.bytes_body += self.reader.body_bytes();
        let failure = match bad {
            BadReply::HeadTooLarge => Failure { kind: ErrorKind::HeadTooLarge, detail: Cow::Borrowed("") },
            BadReply::Invalid(why) if beginning.is_empty() => {
                Failure { kind: ErrorKind::InvalidReply, detail: Cow::Borrowed(why) }
            }
            BadReply::Invalid(why) => {
                let shown: String = String::from_utf8_lossy(beginning).escape_debug().take(100).collect();
                Failure { kind: ErrorKind::InvalidReply, detail: format!("{why}: “{shown}”").into() }
            }
        };
        Lost::of(failure)
    }
}

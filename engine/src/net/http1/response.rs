//! Reads a reply from bytes as they come. Does no input or output; any split of the bytes gives the same answer, and no
//! bytes make it panic. Bodies are counted; only who asks for it gets one kept, up to a limit.

use super::chunked::Chunked;
use super::kept::{Failing, Kept};
use crate::plan::limits;

/// Why a reply is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    /// Not HTTP, or its framing contradicts itself.
    #[error("{0}")]
    Invalid(&'static str),
    /// The head has more bytes or headers than [`limits`] allow.
    #[error("the reply's head is larger than 64 kB or has more than 256 headers")]
    HeadTooLarge,
}

/// How the stream ended the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEof {
    /// The body ended with the stream: the reply is complete.
    Complete,
    /// Cut; whether any byte of the reply had come.
    Cut {
        /// No byte of this reply had come.
        untouched: bool,
    },
}

/// What [`Reader::feed`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Bytes used from the front. Fewer than given only when `done`.
    pub used: usize,
    /// The reply is complete.
    pub done: bool,
}

#[derive(Clone, Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// The HTTP version of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, or a later 1.x.
    #[default]
    Http11,
    /// HTTP/2.
    Http2,
}

/// The head of a reply, as far as the engine cares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Status code, 100–999.
    pub status: u16,
    /// HTTP version.
    pub version: Version,
    /// The connection may carry another request.
    pub keep_alive: bool,
    /// `Location`, of redirects only.
    pub location: Option<String>,
    /// Values of `Set-Cookie`.
    pub set_cookie: Vec<String>,
}

/// State of reading one reply; may be used again after [`Reader::start`].
#[derive(Clone, Debug)]
pub struct Reader {
    state: State,
    to_head: bool,
    /// Start of a head that came in pieces; empty (and without memory) otherwise.
    partial: Vec<u8>,
    touched: bool,
    /// A 100 has come.
    continued: bool,
    body: u64,
    head: Head,
    /// Where head and body are kept, if somebody wants them.
    kept: Option<Box<Kept>>,
    failing: Failing,
}

impl Default for Reader {
    fn default() -> Self {
        Reader::new()
    }
}

impl Reader {
    /// A reader that waits for a reply to anything but HEAD.
    pub fn new() -> Reader {
        Reader {
            state: State::Head,
            to_head: false,
            partial: Vec::new(),
            touched: false,
            continued: false,
            body: 0,
            head: Head::default(),
            kept: None,
            failing: Failing::default(),
        }
    }

    /// From the next reply on, head and body are kept in `kept`; `None`: they are not.
    pub fn keep(&mut self, kept: Option<Box<Kept>>) -> Option<Box<Kept>> {
        std::mem::replace(&mut self.kept, kept)
    }

    /// From the next reply on, the beginning of these is kept, also where nothing else is.
    #[inline]
    pub(crate) fn keep_failing(&mut self, failing: Failing) {
        self.failing = failing;
    }

    #[inline]
    fn has_status(&mut self, status: u16) {
        if self.failing.includes(status) {
            self.kept.get_or_insert_default().at_least(limits::EXAMPLE_BODY_BYTES);
        }
    }

    /// What was kept of this reply.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// A part of the body that was read elsewhere, by HTTP/2.
    pub(crate) fn take_body(&mut self, piece: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.push(piece);
        }
    }

    /// Begins the next reply; `to_head`: it answers a HEAD request and has no body.
    pub fn start(&mut self, to_head: bool) {
        self.state = State::Head;
        self.to_head = to_head;
        self.partial = Vec::new();
        self.touched = false;
        self.continued = false;
        self.body = 0;
        self.head.status = 0;
        self.head.keep_alive = false;
        self.head.location = None;
        self.head.set_cookie.clear();
        if let Some(kept) = &mut self.kept {
            kept.clear();
        }
    }

    /// A head that was read elsewhere, by HTTP/2; this reader has nothing more to read. `text` says the head in the words of
    /// HTTP/1, for those who keep it.
    pub(crate) fn take_over(&mut self, head: Head, text: impl FnOnce() -> Vec<u8>) {
        self.state = State::Done;
        self.touched = true;
        self.has_status(head.status);
        self.head = head;
        if let Some(kept) = &mut self.kept {
            kept.head = text();
        }
    }

    /// Whether the target has asked for the body (100).
    pub(crate) fn continued(&self) -> bool {
        self.continued
    }

    /// The head; meaningful once the reply is complete.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Body bytes so far, without framing.
    pub fn body_bytes(&self) -> u64 {
        self.body
    }

    /// Whether a byte of this reply has come.
    pub fn touched(&self) -> bool {
        self.touched
    }

    /// Bytes of a body of known length that must still come and may be skipped unseen with [`Reader::skip`]; 0 while the body is
    /// kept.
    pub fn skippable(&self) -> u64 {
        match self.state {
            State::Length(left) if self.kept.as_ref().is_none_or(|kept| kept.is_full()) => left,
            _ => 0,
        }
    }

    /// Counts `n` body bytes, at most [`Reader::skippable`], that were not looked at. True when the reply is complete.
    pub fn skip(&mut self, n: u64) -> bool {
        if let State::Length(left) = self.state {
            self.body += n.min(left);
            self.state = if n >= left { State::Done } else { State::Length(left - n) };
        }
        matches!(self.state, State::Done)
    }

    /// Reads `bytes`.
    ///
    /// # Errors
    /// [`BadReply`]; the reader must then not be fed again before [`Reader::start`].
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, BadReply> {
        let mut used = 0;
        self.touched |= !bytes.is_empty();
        loop {
            let rest = &bytes[used..];
            match &mut self.state {
                State::Done => return Ok(Fed { used, done: true }),
                _ if rest.is_empty() => return Ok(Fed { used, done: false }),
                State::Head => match self.feed_head(rest)? {
                    Some(n) => used += n,
                    None => return Ok(Fed { used: bytes.len(), done: false }),
                },
                State::Length(left) => {
                    let n = (*left).min(rest.len() as u64);
                    used += n as usize;
                    if let Some(kept) = &mut self.kept {
                        kept.push(&rest[..n as usize]);
                    }
                    self.skip(n);
                }
                State::Chunked(chunked) => {
                    let (n, body, done) = match &mut self.kept {
                        None => chunked.feed(rest, |_| {})?,
                        Some(kept) => chunked.feed(rest, |piece| kept.push(piece))?,
                    };
                    used += n;
                    self.body += body;
                    if done {
                        self.state = State::Done;
                    }
                }
                State::UntilClose => {
                    used = bytes.len();
                    self.body += rest.len() as u64;
                    if let Some(kept) = &mut self.kept {
                        kept.push(rest);
                    }
                }
            }
        }
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// [`BadReply`] when what came was not the beginning of a reply.
    pub fn eof(&mut self) -> Result<AtEof, BadReply> {
        match self.state {
            State::UntilClose | State::Done => Ok(AtEof::Complete),
            State::Head if !self.partial.is_empty() => {
                let head = std::mem::take(&mut self.partial);
                parse(&head).map(|_| AtEof::Cut { untouched: false })
            }
            _ => Ok(AtEof::Cut { untouched: !self.touched }),
        }
    }

    /// Reads the head from `rest`. `None`: all of it was kept and more is needed.
    fn feed_head(&mut self, rest: &[u8]) -> Result<Option<usize>, BadReply> {
        if self.partial.is_empty() {
            let Some(parsed) = parse(&rest[..rest.len().min(limits::RESPONSE_HEAD_BYTES)])? else {
                return self.hold_back(rest);
            };
            let n = parsed.length;
            self.enter(parsed, rest)?;
            return Ok(Some(n));
        }
        let before = self.partial.len();
        let room = limits::RESPONSE_HEAD_BYTES - before;
        let piece = &rest[..rest.len().min(room)];
        self.partial.extend_from_slice(piece);
        // Parsing from the front at every byte would be quadratic: past the beginning, wait for a line to end.
        let worth = before < 1024 || piece.contains(&b'\n') || self.partial.len() >= limits::RESPONSE_HEAD_BYTES;
        if !worth {
            return Ok(None);
        }
        let whole = std::mem::take(&mut self.partial);
        match parse(&whole)? {
            Some(parsed) => {
                let n = parsed.length - before;
                self.enter(parsed, &whole)?;
                Ok(Some(n))
            }
            None if whole.len() >= limits::RESPONSE_HEAD_BYTES => Err(BadReply::HeadTooLarge),
            None => {
                self.partial = whole;
                Ok(None)
            }
        }
    }

    fn hold_back(&mut self, rest: &[u8]) -> Result<Option<usize>, BadReply> {
        if rest.len() >= limits::RESPONSE_HEAD_BYTES {
            return Err(BadReply::HeadTooLarge);
        }
        self.partial.extend_from_slice(rest);
        Ok(None)
    }

    /// Takes over a complete head and decides how the body ends (RFC 9112, 6.3).
    fn enter(&mut self, parsed: Parsed, bytes: &[u8]) -> Result<(), BadReply> {
        let interim = (100..200).contains(&parsed.status) && parsed.status != 101;
        if interim {
            self.continued |= parsed.status == 100;
            return Ok(());
        }
        let bodiless = self.to_head || matches!(parsed.status, 101 | 204 | 304);
        let mut keep_alive = parsed.keep_alive && parsed.status != 101;
        self.state = if bodiless {
            State::Done
        } else if parsed.chunked {
            // Both framings at once: chunked wins, and nothing more is trusted to this connection.
            keep_alive &= parsed.length_header == Ok(None) && parsed.minor > 0;
            State::Chunked(Chunked::new())
        } else if parsed.other_coding {
            keep_alive = false;
            State::UntilClose
        } else {
            match parsed.length_header? {
                Some(0) => State::Done,
                Some(n) => State::Length(n),
                None => {
                    keep_alive = false;
                    State::UntilClose
                }
            }
        };
        self.has_status(parsed.status);
        if let Some(kept) = &mut self.kept {
            kept.head = bytes[..parsed.length].trim_ascii_start().to_vec();
        }
        self.head.status = parsed.status;
        self.head.version = if parsed.minor > 0 { Version::Http11 } else { Version::Http10 };
        self.head.keep_alive = keep_alive;
        self.head.location = parsed.location.filter(|_| (300..400).contains(&parsed.status));
        self.head.set_cookie = parsed.set_cookie;
        Ok(())
    }
}

/// How many bytes at the front of `bytes` are complete interim replies (1xx); after a reply nothing else may follow
/// unasked. `None`: something else stands there.
pub fn interim_only(mut bytes: &[u8]) -> Option<usize> {
    let mut used = 0;
    while !bytes.is_empty() {
        let parsed = parse(&bytes[..bytes.len().min(limits::RESPONSE_HEAD_BYTES)]).ok().flatten()?;
        if !(100..200).contains(&parsed.status) || parsed.status == 101 {
            return None;
        }
        used += parsed.length;
        bytes = &bytes[parsed.length..];
    }
    Some(used)
}

/// What matters of a complete head.
struct Parsed {
    length: usize,
    minor: u8,
    status: u16,
    keep_alive: bool,
    /// `Connection: close` was said; nothing that follows takes it back (RFC 9112, 9.3).
    close: bool,
    /// Wrong only where the length decides: elsewhere the framing is known whatever it says (RFC 9112, 6.3).
    length_header: Result<Option<u64>, BadReply>,
    chunked: bool,
    other_coding: bool,
    location: Option<String>,
    set_cookie: Vec<String>,
}

/// Parses a head from its first byte. `None`: no end in sight yet, and nothing wrong so far.
fn parse(bytes: &[u8]) -> Result<Option<Parsed>, BadReply> {
    // Some servers end a body with a CRLF too many (RFC 9112, 2.2).
    let blank = bytes.iter().take(4).take_while(|b| matches!(b, b'\r' | b'\n')).count();
    let Some((line, minor, status)) = status_line(&bytes[blank..])? else { return Ok(None) };
    let start = blank + line;
    let mut few = [httparse::EMPTY_HEADER; FEW_HEADERS];
    match httparse::parse_headers(&bytes[start..], &mut few) {
        Err(httparse::Error::TooManyHeaders) => {}
        other => return finish(other, start, minor, status),
    }
    let mut many = vec![httparse::EMPTY_HEADER; limits::RESPONSE_HEADERS];
    finish(httparse::parse_headers(&bytes[start..], &mut many), start, minor, status)
}

/// Headers read on the stack; longer heads are read again with room for all that are allowed.
const FEW_HEADERS: usize = 32;

type Fields<'h, 'b> = httparse::Result<(usize, &'h [httparse::Header<'b>])>;

fn finish(fields: Fields<'_, '_>, start: usize, minor: u8, status: u16) -> Result<Option<Parsed>, BadReply> {
    let (length, headers) = match fields {
        Ok(httparse::Status::Complete(complete)) => complete,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(BadReply::HeadTooLarge),
        Err(_) => return Err(BadReply::Invalid("a header line is malformed")),
    };
    let mut parsed = Parsed {
        length: start + length,
        minor,
        status,
        keep_alive: minor > 0,
        close: false,
        length_header: Ok(None),
        chunked: false,
        other_coding: false,
        location: None,
        set_cookie: Vec::new(),
    };
    for header in headers {
        parsed.field(header);
    }
    Ok(Some(parsed))
}

impl Parsed {
    fn field(&mut self, header: &httparse::Header<'_>) {
        let named = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            8 if named("location") => self.location = Some(String::from_utf8_lossy(header.value).into_owned()),
            10 if named("connection") => {
                for token in tokens(header.value) {
                    if token.eq_ignore_ascii_case(b"close") {
                        self.close = true;
                    } else if token.eq_ignore_ascii_case(b"keep-alive") {
                        self.keep_alive = true;
                    }
                }
                self.keep_alive &= !self.close;
            }
            10 if named("set-cookie") => self.set_cookie.push(String::from_utf8_lossy(header.value).into_owned()),
            14 if named("content-length") => {
                self.length_header = tokens(header.value).fold(self.length_header, |before, token| {
                    let value = number(token).ok_or(BadReply::Invalid("the Content-Length is not a number"))?;
                    match before? {
                        Some(other) if other != value => {
                            Err(BadReply::Invalid("two Content-Length values contradict each other"))
                        }
                        _ => Ok(Some(value)),
                    }
                });
            }
            17 if named("transfer-encoding") => {
                let mut any = false;
                for token in tokens(header.value) {
                    self.chunked = token.eq_ignore_ascii_case(b"chunked");
                    any = true;
                }
                self.other_coding = any && !self.chunked;
            }
            _ => {}
        }
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii)
}

/// Digits only; 18 of them are more than any body.
fn number(token: &[u8]) -> Option<u64> {
    if token.is_empty() || token.len() > 18 || !token.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(token.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}

/// Reads `HTTP/1.x NNN reason`: its length with the line end, x and the status. The reason may be missing, and the case of
/// `HTTP` does not matter. `None`: it goes on.
fn status_line(bytes: &[u8]) -> Result<Option<(usize, u8, u16)>, BadReply> {
    const BAD: BadReply = BadReply::Invalid("the reply does not begin with a status line of HTTP/1");
    let digit = |b: u8| b.is_ascii_digit();
    for (i, &byte) in bytes.iter().enumerate().take(12) {
        let fits = match i {
            0..=4 => byte.eq_ignore_ascii_case(&b"HTTP/"[i]),
            5 => byte == b'1',
            6 => byte == b'.',
            7 => digit(byte),
            8 => byte == b' ',
            9 if byte == b'0' => return Err(BadReply::Invalid("the status is not a number from 100 to 999")),
            _ if digit(byte) => true,
            _ => return Err(BadReply::Invalid("the status is not a number from 100 to 999")),
        };
        if !fits {
            return Err(BAD);
        }
    }
    let Some(&after) = bytes.get(12) else { return Ok(None) };
    if !matches!(after, b' ' | b'\r' | b'\n') {
        return Err(BadReply::Invalid("the status is not a number from 100 to 999"));
    }
    let value = |i: usize| u16::from(bytes[i] - b'0');
    let status = value(9) * 100 + value(10) * 10 + value(11);
    let Some(end) = bytes[12..].iter().position(|b| *b == b'\n') else { return Ok(None) };
    Ok(Some((12 + end + 1, bytes[7] - b'0', status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Reader, Result<Fed, BadReply>) {
        let mut reader = Reader::new();
        let fed = reader.feed(bytes);
        (reader, fed)
    }

    fn complete(bytes: &[u8]) -> (u16, bool, u64) {
        let (reader, fed) = read(bytes);
        assert_eq!(fed, Ok(Fed { used: bytes.len(), done: true }), "{}", bytes.escape_ascii());
        (reader.head().status, reader.head().keep_alive, reader.body_bytes())
    }

    #[test]
    fn framings() {
        assert_eq!(complete(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), (200, true, 2));
        assert_eq!(complete(b"http/1.1 200\r\ncontent-length: 2, 2\r\n\r\nok"), (200, true, 2));
        assert_eq!(complete(b"HTTP/1.1 600 \nContent-Length: 0\n\n"), (600, true, 0));
        assert_eq!(complete(b"HTTP/1.1 204 No Content\r\n\r\n"), (204, true, 0));
        assert_eq!(complete(b"HTTP/1.1 304 x\r\nContent-Length: 50\r\n\r\n"), (304, true, 0));
        assert_eq!(
            complete(b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx"),
            (200, true, 1)
        );
        assert_eq!(complete(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"), (200, false, 1));
        assert_eq!(
            complete(b"HTTP/1.0 200 OK\r\nConnection: close, keep-alive\r\nContent-Length: 1\r\n\r\nx"),
            (200, false, 1)
        );
        assert_eq!(complete(b"HTTP/1.1 304 x\r\nContent-Length: 5, 6\r\n\r\n"), (304, true, 0));
        assert_eq!(complete(b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\nx"), (200, false, 1));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n00A \r\n0123456789\r\n0\r\nX: y\r\n\r\n";
        assert_eq!(complete(chunked), (200, true, 13));
        assert_eq!(
            complete(
                b"HTTP/1.1 103 x\r\nLink: y\r\n\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
            ),
            (200, true, 1)
        );
    }

    #[test]
    fn head_has_no_body_and_what_follows_is_left() {
        let mut reader = Reader::new();
        reader.start(true);
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP";
        assert_eq!(reader.feed(bytes), Ok(Fed { used: bytes.len() - 4, done: true }));
    }

    #[test]
    fn b38_a_body_may_end_with_the_connection() {
        let (mut reader, fed) = read(b"HTTP/1.0 200 OK\r\n\r\n12345");
        assert!(!fed.unwrap().done);
        assert_eq!((reader.eof(), reader.body_bytes(), reader.head().keep_alive), (Ok(AtEof::Complete), 5, false));
        let (mut reader, _) = read(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345");
        assert_eq!(reader.eof(), Ok(AtEof::Cut { untouched: false }));
        assert_eq!(Reader::new().eof(), Ok(AtEof::Cut { untouched: true }));
    }

    #[test]
    fn b71_malformed_replies_are_invalid() {
        for bytes in [
            &b"HTTP/1.1 099 x\r\n\r\n"[..],
            b"HTTP/1.1 20x OK\r\n\r\n",
            b"HTTP/1.1 2000 OK\r\n\r\n",
            b"HTTP/2 200\r\n\r\n",
            b"SSH-2.0-x\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nBad Header: 1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 1\r\na\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
        ] {
            let (_, fed) = read(bytes);
            assert!(matches!(fed, Err(BadReply::Invalid(_))), "{}", bytes.escape_ascii());
        }
        let (mut reader, fed) = read(b"HTT");
        assert!(!fed.unwrap().done);
        assert_eq!(reader.eof(), Ok(AtEof::Cut { untouched: false }));
    }

    #[test]
    fn b58_heads_over_the_limits() {
        let mut many = b"HTTP/1.1 200 OK\r\n".to_vec();
        (0..300).for_each(|i| many.extend(format!("X-{i}: y\r\n").bytes()));
        many.extend(b"Content-Length: 0\r\n\r\n");
        assert_eq!(read(&many).1, Err(BadReply::HeadTooLarge));
        let long = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 80_000], b"\r\n\r\n".to_vec()].concat();
        assert_eq!(read(&long).1, Err(BadReply::HeadTooLarge));
    }

    #[test]
    fn redirects_and_cookies_are_kept() {
        let (reader, _) =
            read(b"HTTP/1.1 302 x\r\nLocation: /a\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(reader.head().location.as_deref(), Some("/a"));
        assert_eq!(reader.head().set_cookie, ["a=1", "b=2"]);
    }

    #[test]
    fn only_interim_replies_may_follow() {
        assert_eq!(interim_only(b"HTTP/1.1 100 Continue\r\n\r\n"), Some(25));
        assert_eq!(interim_only(b"HTTP/1.1 200 OK\r\n\r\n"), None);
        assert_eq!(interim_only(b"HTTP/1.1 100 Cont"), None);
    }
}

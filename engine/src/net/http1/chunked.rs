//! Chunk boundaries; what is between them is counted and handed on.

use super::response::BadReply;

/// Bytes of chunk extensions and of trailers that are read before the reply is called invalid.
const LINE_BYTES: u32 = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Digits of the size; so many seen.
    Size(u8),
    /// White space after the size, before an extension or the end of the line.
    Space,
    /// Anything up to the end of the size line.
    Extension,
    /// LF of the size line.
    SizeLf,
    /// So many bytes of data left.
    Data,
    /// CR after the data.
    DataCr,
    /// LF after the data.
    DataLf,
    /// At the first byte of a trailer line.
    TrailerStart,
    /// Inside a trailer line.
    Trailer,
    /// LF of the empty last line.
    LastLf,
    Done,
}

/// Reader of a chunked body (RFC 9112, 7.1). A bare LF ends a line as CRLF does, but not the data of a chunk: there it would
/// hide a size that is one too large.
#[derive(Clone, Debug)]
pub(super) struct Chunked {
    state: State,
    left: u64,
    line: u32,
}

impl Chunked {
    pub(super) fn new() -> Chunked {
        Chunked { state: State::Size(0), left: 0, line: 0 }
    }

    /// Reads from `bytes`, and hands each piece of body to `take`; returns how many were used, how many of those were body, and
    /// whether the body is complete.
    pub(super) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<(usize, u64, bool), BadReply> {
        let mut at = 0;
        let mut body = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::Data {
                let n = self.left.min((bytes.len() - at) as u64);
                take(&bytes[at..at + n as usize]);
                at += n as usize;
                body += n;
                self.left -= n;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            self.step(bytes[at])?;
            at += 1;
        }
        Ok((at, body, self.state == State::Done))
    }

    fn step(&mut self, byte: u8) -> Result<(), BadReply> {
        self.state = match (self.state, byte) {
            (State::Size(n), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if n == 15 {
                    return Err(BadReply::Invalid("a chunk size has more than 15 digits"));
                }
                self.left = self.left * 16 + u64::from((byte as char).to_digit(16).unwrap_or(0));
                State::Size(n + 1)
            }
            (State::Size(0), _) => return Err(BadReply::Invalid("a chunk size is missing")),
            (State::Size(_) | State::Space | State::Extension, b'\r') => State::SizeLf,
            (State::Size(_) | State::Space | State::Extension | State::SizeLf, b'\n') => self.after_size(),
            (State::Size(_) | State::Space, b';') => self.long(State::Extension)?,
            (State::Size(_) | State::Space, b' ' | b'\t') => self.long(State::Space)?,
            (State::Size(_) | State::Space, _) => return Err(BadReply::Invalid("a chunk size is not hexadecimal")),
            (State::Extension, _) => self.long(State::Extension)?,
            (State::SizeLf, _) => return Err(BadReply::Invalid("a chunk size does not end in CRLF")),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => {
                (self.left, self.line) = (0, 0);
                State::Size(0)
            }
            (State::DataCr | State::DataLf, _) => {
                return Err(BadReply::Invalid("a chunk is longer than its size says"));
            }
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart | State::LastLf, b'\n') => State::Done,
            (State::LastLf, _) => return Err(BadReply::Invalid("the trailers do not end in CRLF")),
            (State::Trailer, b'\n') => State::TrailerStart,
            (State::TrailerStart | State::Trailer, _) => self.long(State::Trailer)?,
            (State::Data | State::Done, _) => self.state,
        };
        Ok(())
    }

    fn after_size(&mut self) -> State {
        self.line = 0;
        if self.left == 0 { State::TrailerStart } else { State::Data }
    }

    fn long(&mut self, next: State) -> Result<State, BadReply> {
        self.line += 1;
        if self.line > LINE_BYTES {
            Err(BadReply::Invalid("chunk extensions or trailers are too long"))
        } else {
            Ok(next)
        }
    }
}

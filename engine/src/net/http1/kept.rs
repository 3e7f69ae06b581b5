//! A reply that somebody wants to look at: its head, and its body up to a limit.

use std::borrow::Cow;
use std::io::Read;

use crate::plan::limits;

/// Head and body of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub(crate) head: Vec<u8>,
    body: Vec<u8>,
    most: usize,
    over: bool,
}

/// Why a body cannot be looked at. The text is a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Over [`limits::READ_BODY_BYTES`], packed or unpacked.
    #[error("the body is larger than 1 MB")]
    TooLarge,
    /// A `Content-Encoding` that we do not know.
    #[error("the body is packed in a way that cannot be undone (Content-Encoding)")]
    Encoding,
    /// What should unpack does not.
    #[error("the body is damaged: it does not unpack")]
    Damaged,
}

/// Of which failing replies the beginning is kept, although nothing else is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failing {
    /// 400–499.
    pub status_4xx: bool,
    /// 500–599.
    pub status_5xx: bool,
    /// 600 and more.
    pub status_other: bool,
}

impl Failing {
    /// Whether a reply with this status is one of them.
    #[inline]
    pub(super) fn includes(self, status: u16) -> bool {
        match status {
            0..400 => false,
            400..500 => self.status_4xx,
            500..600 => self.status_5xx,
            _ => self.status_other,
        }
    }
}

impl Kept {
    /// Keeps at most `most` bytes of a body; 0 = the head only.
    pub fn up_to(most: usize) -> Kept {
        Kept { most, ..Kept::default() }
    }

    /// Makes room for the next reply, of whose body at most `most` bytes are kept.
    pub(crate) fn reset(&mut self, most: usize) {
        self.clear();
        self.most = most;
    }

    pub(super) fn clear(&mut self) {
        self.head.clear();
        self.body.clear();
        self.over = false;
    }

    /// Whether nothing more is kept.
    pub(super) fn is_full(&self) -> bool {
        self.over || self.most == 0
    }

    /// Keeps at least `most` bytes of the body.
    pub(super) fn at_least(&mut self, most: usize) {
        self.most = self.most.max(most);
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        let room = self.most - self.body.len();
        self.body.extend_from_slice(&piece[..piece.len().min(room)]);
        self.over |= piece.len() > room;
    }

    /// The head as it came, with its empty line.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// What was kept of the body, as it came but for the framing.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body was longer than what is kept.
    pub fn is_cut(&self) -> bool {
        self.over
    }

    /// Bytes of memory that it holds.
    pub(crate) fn capacity(&self) -> usize {
        self.head.capacity() + self.body.capacity()
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.head.split(|b| *b == b'\n').skip(1).find_map(|line| {
            let colon = line.iter().position(|b| *b == b':')?;
            let named = line[..colon].eq_ignore_ascii_case(name.as_bytes());
            named.then(|| String::from_utf8_lossy(line[colon + 1..].trim_ascii()))
        })
    }

    /// The whole body, unpacked where it came packed.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn unpacked(&self) -> Result<Cow<'_, [u8]>, Unreadable> {
        if self.over {
            return Err(Unreadable::TooLarge);
        }
        let encoding = self.header("content-encoding").unwrap_or_default();
        let body = &*self.body;
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Cow::Borrowed(body)),
            // A reply that has no body has nothing to unpack either.
            _ if body.is_empty() => Ok(Cow::Borrowed(body)),
            "gzip" | "x-gzip" => unpack(flate2::read::MultiGzDecoder::new(body)),
            // Some servers leave out the wrapping that the name promises.
            "deflate" => match unpack(flate2::read::ZlibDecoder::new(body)) {
                Err(Unreadable::Damaged) => unpack(flate2::read::DeflateDecoder::new(body)),
                other => other,
            },
            _ => Err(Unreadable::Encoding),
        }
    }
}

fn unpack(packed: impl Read) -> Result<Cow<'static, [u8]>, Unreadable> {
    let mut plain = Vec::new();
    packed.take(limits::READ_BODY_BYTES as u64 + 1).read_to_end(&mut plain).map_err(|_| Unreadable::Damaged)?;
    if plain.len() > limits::READ_BODY_BYTES { Err(Unreadable::TooLarge) } else { Ok(Cow::Owned(plain)) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;

    use super::*;

    fn kept(encoding: &str, body: &[u8]) -> Kept {
        let mut kept = Kept::up_to(limits::READ_BODY_BYTES);
        kept.head = format!("HTTP/1.1 200 OK\r\nX: 1\r\ncontent-encoding: {encoding}\r\nX: 2\r\n\r\n").into_bytes();
        kept.push(body);
        kept
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(plain).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn bodies_are_unpacked_within_the_limit() {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(b"plain").unwrap();
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(b"plain").unwrap();
        let (zlib, raw) = (zlib.finish().unwrap(), raw.finish().unwrap());
        for (encoding, body) in
            [("gzip", gzip(b"plain")), ("deflate", zlib), ("Deflate", raw), ("identity", b"plain".to_vec())]
        {
            assert_eq!(kept(encoding, &body).unpacked().as_deref(), Ok(&b"plain"[..]), "{encoding}");
        }
        let bomb = gzip(&vec![0; 50 << 20]);
        assert_eq!(kept("gzip", &bomb).unpacked(), Err(Unreadable::TooLarge));
        assert_eq!(kept("gzip", b"plain").unpacked(), Err(Unreadable::Damaged));
        assert_eq!(kept("br", b"plain").unpacked(), Err(Unreadable::Encoding));
        assert_eq!(kept("br", b"").unpacked().as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn no_more_is_kept_than_was_asked_for() {
        let mut kept = Kept::up_to(5);
        kept.push(b"123");
        assert!(!kept.is_full());
        kept.push(b"456");
        kept.push(b"7");
        assert_eq!((kept.body(), kept.is_cut(), kept.unpacked()), (&b"12345"[..], true, Err(Unreadable::TooLarge)));
        kept.reset(0);
        kept.push(b"1");
        assert_eq!((kept.body(), kept.is_full()), (&b""[..], true));
    }

    #[test]
    fn headers_are_found_by_name() {
        let kept = kept("x", b"");
        assert_eq!((kept.header("x").as_deref(), kept.header("Y")), (Some("1"), None));
    }
}

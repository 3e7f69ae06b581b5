//! However the bytes of a reply are split, the answer is the same; and no bytes make the reader panic.

use oleada_engine::net::http1::kept::Kept;
use oleada_engine::net::http1::response::{AtEof, BadReply, Head, Reader};
use proptest::prelude::*;

/// All that is known after the bytes and then the end of the stream.
#[derive(Debug, PartialEq)]
struct Answer {
    complete: Option<usize>,
    result: Result<Option<AtEof>, BadReply>,
    head: Head,
    body: u64,
    /// What was kept of the body, and the head.
    kept: (Vec<u8>, bool, Vec<u8>),
}

/// Bodies of the tests are often longer.
const KEPT: usize = 12;

fn kept(reader: &Reader) -> (Vec<u8>, bool, Vec<u8>) {
    let kept = reader.kept().expect("it was asked for");
    assert_eq!(
        kept.body().len() as u64,
        reader.body_bytes().min(KEPT as u64),
        "the beginning of the body, without framing"
    );
    (kept.body().to_vec(), kept.is_cut(), kept.head().to_vec())
}

fn read(bytes: &[u8], cuts: &[usize], to_head: bool) -> Answer {
    let mut reader = Reader::new();
    assert!(reader.keep(Some(Box::new(Kept::up_to(KEPT)))).is_none());
    reader.start(to_head);
    let mut ends: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut at = 0;
    for end in ends {
        match reader.feed(&bytes[at..end]) {
            Err(bad) => {
                return Answer {
                    complete: None,
                    result: Err(bad),
                    head: Head::default(),
                    body: 0,
                    kept: Default::default(),
                };
            }
            Ok(fed) if fed.done => {
                let answer = Answer {
                    complete: Some(at + fed.used),
                    result: Ok(None),
                    head: reader.head().clone(),
                    body: reader.body_bytes(),
                    kept: kept(&reader),
                };
                return answer;
            }
            Ok(fed) => assert_eq!(fed.used, end - at),
        }
        at = end;
    }
    let result = reader.eof().map(Some);
    let head = if result.is_ok() { reader.head().clone() } else { Head::default() };
    let body = if result.is_ok() { reader.body_bytes() } else { 0 };
    let kept = if result.is_ok() { kept(&reader) } else { Default::default() };
    Answer { complete: None, result, head, body, kept }
}

/// Replies that are nearly right: parts of good ones in any order, with noise.
fn reply() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Just(b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n".to_vec()),
        Just(b"HTTP/1.0 404\r\n".to_vec()),
        Just(b"http/1.1 302 Found\r\nLocation: /x\r\n".to_vec()),
        Just(b"Content-Length: 7\r\n".to_vec()),
        Just(b"Content-Length: 7, 8\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Connection: close\r\nSet-Cookie: a=b\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"5;x=\"y\"\r\nhello\r\n".to_vec()),
        Just(b"0\r\nTrailer: z\r\n\r\n".to_vec()),
        Just(b"0\r\n\r\n".to_vec()),
        Just(b"payload".to_vec()),
        (1usize..3000).prop_map(|n| [b"X-Long: ".to_vec(), vec![b'x'; n], b"\r\n".to_vec()].concat()),
        (1usize..300).prop_map(|n| b"A: b\r\n".repeat(n)),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_split_gives_the_same_answer(bytes in reply(), cuts in prop::collection::vec(any::<usize>(), 0..30), to_head: bool) {
        prop_assert_eq!(read(&bytes, &cuts, to_head), read(&bytes, &[], to_head));
    }

    #[test]
    fn well_begun_replies_too(rest in reply(), cuts in prop::collection::vec(any::<usize>(), 0..30)) {
        let bytes = [b"HTTP/1.1 200 OK\r\n".to_vec(), rest].concat();
        prop_assert_eq!(read(&bytes, &cuts, false), read(&bytes, &[], false));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes, &[3, 50], false);
    }
}

#[test]
fn bodies_are_kept_without_their_framing_and_up_to_the_limit() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0A \r\n0123456789\r\n0\r\n\r\n";
    let every: Vec<usize> = (0..chunked.len()).collect();
    let head = chunked[..chunked.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4].to_vec();
    assert_eq!(read(chunked, &every, false).kept, (b"hello0123456".to_vec(), true, head));
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!((read(short, &[41], false).kept.0, read(short, &[], false).kept.1), (b"abc".to_vec(), false));
    let close = b"HTTP/1.0 200 OK\r\n\r\nuntil the end";
    assert_eq!(read(close, &[25], false).kept.0, b"until the en");
    // Only what is kept must be seen; without a wish nothing is.
    let mut reader = Reader::new();
    reader.feed(&short[..40]).unwrap();
    assert_eq!((reader.skippable(), reader.kept()), (1, None));
    reader.keep(Some(Box::new(Kept::up_to(KEPT))));
    reader.start(false);
    reader.feed(&short[..40]).unwrap();
    assert_eq!(reader.skippable(), 0);
    reader.keep(Some(Box::new(Kept::up_to(0))));
    reader.start(false);
    reader.feed(&short[..40]).unwrap();
    assert_eq!(reader.skippable(), 1);
}

#[test]
fn byte_by_byte_over_the_limit_is_too_large_and_not_slow() {
    let long = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 70_000], b"\r\n\r\n".to_vec()].concat();
    let every: Vec<usize> = (0..long.len()).collect();
    assert_eq!(read(&long, &every, false).result, Err(BadReply::HeadTooLarge));
    assert_eq!(read(&long, &[], false).result, Err(BadReply::HeadTooLarge));
}

/// Numbers that look random and are the same each time (xorshift64*).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below.max(1)
    }

    /// Changes `bytes` in one place.
    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        const TELLING: &[u8] = b"\r\n :;,0159afF\0\x7f\xff";
        let at = self.roll(bytes.len() + 1);
        let end = (at + self.roll(12)).min(bytes.len());
        match self.roll(6) {
            0 if at < bytes.len() => bytes[at] = TELLING[self.roll(TELLING.len())],
            1 if at < bytes.len() => bytes[at] ^= 1 << self.roll(8),
            2 => bytes.insert(at, TELLING[self.roll(TELLING.len())]),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let from = self.roll(other.len());
                bytes.splice(at..end, other[from..].iter().copied());
            }
        }
    }
}

#[test]
fn twenty_thousand_spoilt_replies() {
    const GOOD: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0A \r\n0123456789\r\n0\r\nX: y\r\n\r\n",
        b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        b"http/1.0 200\r\nConnection: keep-alive\r\nSet-Cookie: a=1\r\ncontent-length: 3, 3\r\n\r\nabc",
        b"HTTP/1.1 204 No Content\nServer: x\n\n",
        b"\r\nHTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nuntil the end",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x00\x01",
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut answers = [0u32; 3];
    for round in 0..20_000 {
        let mut bytes = GOOD[dice.roll(GOOD.len())].to_vec();
        for _ in 0..dice.roll(6) {
            let other = GOOD[dice.roll(GOOD.len())];
            dice.mutate(&mut bytes, other);
        }
        let to_head = dice.roll(8) == 0;
        let whole = read(&bytes, &[], to_head);
        for cuts in [1, 3, 30] {
            let cuts: Vec<usize> = (0..cuts).map(|_| dice.roll(bytes.len() + 1)).collect();
            assert_eq!(read(&bytes, &cuts, to_head), whole, "round {round}: {} at {cuts:?}", bytes.escape_ascii());
        }
        let every: Vec<usize> = (0..bytes.len()).collect();
        assert_eq!(read(&bytes, &every, to_head), whole, "round {round}: {}", bytes.escape_ascii());
        answers[if whole.result.is_err() { 0 } else { 1 + usize::from(whole.complete.is_some()) }] += 1;
    }
    // Wrong, cut or ended by the close, and complete: the mixture has a fair share of each.
    assert!(answers.iter().all(|n| *n > 1_000), "{answers:?}");
}

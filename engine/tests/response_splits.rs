//! However the bytes of a reply are split, the answer is the same; and no bytes make the reader panic.

use oleada_engine::net::http1::response::{AtEof, BadReply, Head, Reader};
use proptest::prelude::*;

/// All that is known after the bytes and then the end of the stream.
#[derive(Debug, PartialEq)]
struct Answer {
    complete: Option<usize>,
    result: Result<Option<AtEof>, BadReply>,
    head: Head,
    body: u64,
}

fn read(bytes: &[u8], cuts: &[usize], to_head: bool) -> Answer {
    let mut reader = Reader::new();
    reader.start(to_head);
    let mut ends: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut at = 0;
    for end in ends {
        match reader.feed(&bytes[at..end]) {
            Err(bad) => return Answer { complete: None, result: Err(bad), head: Head::default(), body: 0 },
            Ok(fed) if fed.done => {
                let answer = Answer {
                    complete: Some(at + fed.used),
                    result: Ok(None),
                    head: reader.head().clone(),
                    body: reader.body_bytes(),
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
    Answer { complete: None, result, head, body }
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
fn byte_by_byte_over_the_limit_is_too_large_and_not_slow() {
    let long = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 70_000], b"\r\n\r\n".to_vec()].concat();
    let every: Vec<usize> = (0..long.len()).collect();
    assert_eq!(read(&long, &every, false).result, Err(BadReply::HeadTooLarge));
    assert_eq!(read(&long, &[], false).result, Err(BadReply::HeadTooLarge));
}

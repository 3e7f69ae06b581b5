//! What proves that a host is somebody's: names, contents, and whether an answer is it. Pure.

use std::io::Read as _;

use scraper::{Html, Selector};

use crate::store::hosts::Method;

/// Most bytes of an answer that are looked at, before and after unpacking.
pub const ANSWER_BYTES: usize = 64 * 1024;
/// Most characters of an answer that are kept to be shown.
const SEEN_CHARS: usize = 200;
/// Whose names are accepted: ours, and those that a move from loader.io leaves behind.
const BRANDS: [&str; 2] = ["oleada", "loaderio"];
/// How far up from a host its TXT record may be; a shorter name than two labels is a registry's.
const PARENTS: usize = 4;

/// A new token: 32 hexadecimal digits, 128 random bits.
pub fn new_token() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// One place where the token file may be, and what it has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path on the host.
    pub path: String,
    /// The whole contents, white space around aside.
    pub body: String,
}

/// The places of the token file, the recommended one first.
pub fn places(token: &str) -> Vec<Place> {
    let of = |brand: &str| {
        let body = format!("{brand}-{token}");
        [".txt", ".html", "/"].map(|end| Place { path: format!("/{body}{end}"), body: body.clone() })
    };
    BRANDS.into_iter().flat_map(of).collect()
}

/// The names at which a TXT record counts: the host itself and its parents. Addresses have none.
pub fn txt_names(host: &str) -> Vec<String> {
    if host.starts_with('[') || host.parse::<std::net::IpAddr>().is_ok() {
        return Vec::new();
    }
    let labels: Vec<&str> = host.trim_end_matches('.').split('.').collect();
    let parents = (1..labels.len().saturating_sub(1)).take(PARENTS).map(|skipped| labels[skipped..].join("."));
    std::iter::once(labels.join(".")).chain(parents).collect()
}

/// Whether a TXT record is the proof.
pub fn is_txt_proof(record: &str, token: &str) -> bool {
    BRANDS.iter().any(|brand| record.trim() == format!("{brand}={token}"))
}

/// The tag that is looked for, as it is written.
pub fn meta_tag(token: &str) -> String {
    format!("<meta name=\"oleada-verification\" content=\"{token}\">")
}

/// Whether the head of a page has the tag. What visitors wrote stands in the body and does not count.
pub fn has_meta_tag(html: &str, token: &str) -> bool {
    let Ok(tag) = Selector::parse("head > meta[name=\"oleada-verification\" i]") else { return false };
    Html::parse_document(html)
        .select(&tag)
        .any(|tag| tag.attr("content").is_some_and(|content| content.trim() == token))
}

/// Whether a body is what was expected, up to what editors and servers add: white space around it and a byte-order mark.
pub fn is_exactly(body: &str, expected: &str) -> bool {
    let around = |c: char| c.is_whitespace() || c == '\u{feff}';
    body.trim_matches(around) == expected
}

/// A body as text, unpacked if the server packed it against our wish.
///
/// # Errors
/// A sentence part, if it cannot be unpacked.
pub fn text_of(body: &[u8], encoding: Option<&str>) -> Result<String, String> {
    let raw = match encoding.unwrap_or("identity").trim().to_ascii_lowercase().as_str() {
        "" | "identity" => body.to_vec(),
        "gzip" | "x-gzip" => {
            let mut plain = Vec::new();
            let unpacked = flate2::read::MultiGzDecoder::new(body).take(ANSWER_BYTES as u64).read_to_end(&mut plain);
            // A body cut at the limit is unpacked as far as it goes.
            if unpacked.is_err() && plain.is_empty() {
                return Err("the answer says it is gzip but cannot be unpacked".into());
            }
            plain
        }
        other => {
            return Err(format!("the answer is packed ({}), although an unpacked one was asked for", inert(other)));
        }
    };
    Ok(String::from_utf8_lossy(&raw).into_owned())
}

/// Foreign text as it may be kept and shown: one line, no control or direction characters, not long.
pub fn inert(text: &str) -> String {
    let visible = |c: char| {
        !c.is_control() && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let clean: String = text
        .chars()
        .take(4 * SEEN_CHARS)
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| visible(*c))
        .collect();
    clean.trim().chars().take(SEEN_CHARS).collect()
}

/// The method that a stored name or a form means.
pub fn method_named(text: &str) -> Option<Method> {
    match text {
        "file" => Some(Method::File),
        "dns" => Some(Method::Dns),
        "meta" => Some(Method::Meta),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn both_names_count_and_ours_comes_first() {
        let paths: Vec<_> = places(TOKEN).into_iter().map(|place| place.path).collect();
        assert_eq!(paths[0], format!("/oleada-{TOKEN}.txt"));
        assert_eq!(paths[5], format!("/loaderio-{TOKEN}/"));
        assert_eq!(paths.len(), 6);
        assert!(is_txt_proof(&format!(" loaderio={TOKEN} "), TOKEN) && is_txt_proof(&format!("oleada={TOKEN}"), TOKEN));
        assert!(!is_txt_proof(&format!("oleada={TOKEN}0"), TOKEN) && !is_txt_proof(TOKEN, TOKEN));
    }

    #[test]
    fn txt_records_count_on_the_host_and_above_but_not_at_the_registry() {
        assert_eq!(txt_names("a.b.shop.example"), ["a.b.shop.example", "b.shop.example", "shop.example"]);
        assert_eq!(txt_names("shop.example"), ["shop.example"]);
        assert_eq!(txt_names("localhost"), ["localhost"]);
        assert_eq!(txt_names("a.b.c.d.e.f.g.shop.example").len(), 1 + PARENTS);
        assert!(txt_names("127.0.0.1").is_empty() && txt_names("[::1]").is_empty());
    }

    #[test]
    fn b82_what_editors_add_is_no_difference() {
        let body = format!("oleada-{TOKEN}");
        for good in [body.clone(), format!("{body}\r\n"), format!("  {body}\t\n\n"), format!("\u{feff}{body}\n")] {
            assert!(is_exactly(&good, &body), "{good:?}");
        }
        for bad in [
            "".to_owned(),
            format!("{body}x"),
            format!("<p>{body}</p>"),
            body.to_uppercase(),
            format!("{body}\n{body}"),
        ] {
            assert!(!is_exactly(&bad, &body), "{bad:?}");
        }
    }

    #[test]
    fn only_a_tag_in_the_head_counts() {
        let tag = meta_tag(TOKEN);
        assert!(has_meta_tag(
            &format!("<!doctype html><html><head><title>x</title>{tag}</head><body></body></html>"),
            TOKEN
        ));
        assert!(has_meta_tag(&format!("<meta content=' {TOKEN} ' name=OLEADA-verification>"), TOKEN));
        assert!(!has_meta_tag(&format!("<html><body><p>Comment: {tag}</p></body></html>"), TOKEN));
        assert!(!has_meta_tag(&format!("<head><!-- {tag} --></head>"), TOKEN));
        assert!(!has_meta_tag(&format!("<head>{}</head>", meta_tag("other")), TOKEN));
    }

    #[test]
    fn packed_answers_are_unpacked_and_bombs_are_cut() {
        let pack = |bytes: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packed.write_all(bytes).unwrap();
            packed.finish().unwrap()
        };
        assert_eq!(text_of(&pack(b"token\n"), Some("GZIP")).unwrap(), "token\n");
        assert_eq!(text_of(&pack(&vec![b'a'; 10_000_000]), Some("gzip")).unwrap().len(), ANSWER_BYTES);
        assert!(text_of(b"token", Some("gzip")).is_err() && text_of(b"token", Some("br")).is_err());
        assert_eq!(text_of(b"to\xffken", None).unwrap(), "to\u{fffd}ken");
    }

    #[test]
    fn foreign_text_is_one_short_line() {
        assert_eq!(inert("a\r\n\u{1b}[31mb\u{202e}\u{0}c"), "a  [31mbc");
        assert_eq!(inert(&"ü".repeat(5000)).chars().count(), SEEN_CHARS);
    }
}

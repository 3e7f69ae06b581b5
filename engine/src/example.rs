//! Failed exchanges as examples: what a person needs to see why requests failed, without what is secret.

use serde::{Deserialize, Serialize};

use crate::outcome::{ErrorKind, Outcome};
use crate::plan::secrets::Mask;
use crate::plan::{Target, limits};
use crate::result::{header_is_shown, parameter_is_secret, shown_url, shown_value};
use crate::trace::Phases;

/// One exchange that failed. Secrets have been taken out of all texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedExample {
    /// Place of the request in the plan's list, from 0.
    pub request: usize,
    /// When it failed, in seconds since the run's first instant.
    pub at_s: f64,
    /// [`failed_kind`].
    pub kind: String,
    /// Status, when a head came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Method as sent.
    pub method: String,
    /// URL as sent, after redirects, without user and password, at most [`limits::EXAMPLE_HEAD_BYTES`] of it.
    pub url: String,
    /// Headers as sent, at most [`limits::EXAMPLE_HEAD_BYTES`] of them; values that may be secret are replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<(String, String)>,
    /// Status line and headers, at most [`limits::EXAMPLE_HEAD_BYTES`] long; values that may be secret are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_head: Option<String>,
    /// The reply's body up to [`limits::EXAMPLE_BODY_BYTES`], where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_start: Option<String>,
    /// From the planned instant in open models, from the write in closed ones, to the end or the failure, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Parts of it; name resolution, connect and TLS only where this request opened a connection.
    #[serde(default)]
    pub phases_ms: Phases,
    /// What the system or the target said, or the condition that did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The stable name of what made an exchange fail: that of its [`ErrorKind`], `status_4xx`, `status_5xx` or `status_other`.
/// `None` for those that did not, and for those that the end of the run cut.
#[inline]
pub fn failed_kind(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Answered(0..400) | Outcome::Failed(ErrorKind::Aborted) => None,
        Outcome::Answered(400..500) => Some("status_4xx"),
        Outcome::Answered(500..600) => Some("status_5xx"),
        Outcome::Answered(_) => Some("status_other"),
        Outcome::Failed(kind) => Some(kind.name()),
    }
}

/// The first failed exchanges in order of time: at most [`limits::FAILED_EXAMPLES`], and at most
/// [`limits::FAILED_EXAMPLES_A_KIND`] of one kind, so that one kind does not push out all others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Examples(Vec<FailedExample>);

impl Examples {
    /// Adds one, which may push out a later one.
    pub fn push(&mut self, example: FailedExample) {
        self.0.push(example);
        self.bound();
    }

    /// Adds all of `other`. In which order many are added makes no difference.
    pub fn add(&mut self, other: &Examples) {
        if !other.0.is_empty() {
            self.0.extend_from_slice(&other.0);
            self.bound();
        }
    }

    fn bound(&mut self) {
        self.0.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let mut kinds: Vec<String> = Vec::new();
        self.0.retain(|example| {
            let before = kinds.iter().filter(|kind| **kind == example.kind).count();
            let stays = before < limits::FAILED_EXAMPLES_A_KIND && kinds.len() < limits::FAILED_EXAMPLES;
            if stays {
                kinds.push(example.kind.clone());
            }
            stays
        });
    }

    /// The examples, earliest first.
    pub fn all(&self) -> &[FailedExample] {
        &self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether they can have been stored by this program.
    pub(crate) fn is_sound(&self) -> bool {
        self.0.len() <= limits::FAILED_EXAMPLES
            && self.0.iter().all(|example| example.at_s.is_finite() && example.request < limits::REQUEST_LIST)
    }
}

/// Headers of replies whose values may be shown. Any other may hold a secret.
const SHOWN_HEADERS: &[&str] = &[
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "cf-ray",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "expires",
    "keep-alive",
    "last-modified",
    "pragma",
    "ratelimit",
    "ratelimit-limit",
    "ratelimit-policy",
    "ratelimit-remaining",
    "ratelimit-reset",
    "retry-after",
    "server",
    "strict-transport-security",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "via",
    "x-cache",
    "x-content-type-options",
    "x-frame-options",
    "x-powered-by",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
];

/// What stands for the value of such a header.
const LEFT_OUT: &str = "…";

/// The head of a reply as it may be shown: the status line, and headers of which only harmless ones keep their values.
pub fn shown_response_head(head: &[u8], mask: &Mask) -> String {
    let text = String::from_utf8_lossy(&head[..head.len().min(limits::EXAMPLE_HEAD_BYTES)]);
    let mut shown = String::new();
    for (n, line) in text.split('\n').map(|line| line.trim_end_matches('\r')).enumerate() {
        if n > 0 && line.is_empty() {
            break;
        }
        let line = match line.split_once(':') {
            _ if n == 0 => mask.apply(line),
            Some((name, value)) if SHOWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => {
                format!("{name}: {}", mask.apply(value.trim()))
            }
            // A name that no header can have is none: it may be the rest of a folded value.
            Some((name, _)) if !name.is_empty() && name.bytes().all(is_token) => format!("{name}: {LEFT_OUT}"),
            _ => LEFT_OUT.to_owned(),
        };
        if n > 0 {
            shown.push('\n');
        }
        shown.push_str(&line);
    }
    cut(shown, limits::EXAMPLE_HEAD_BYTES)
}

/// Letters of a header's name (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The headers of a request as they may be shown, from the bytes that were sent.
pub fn shown_request_headers(head: &[u8], mask: &Mask) -> Vec<(String, String)> {
    let mut room = limits::EXAMPLE_HEAD_BYTES;
    let mut shown = Vec::new();
    for line in head.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii).take_while(|line| !line.is_empty()) {
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = cut(mask.apply(&shown_value(name, value.trim())), limits::EXAMPLE_VALUE_BYTES);
        let Some(left) = room.checked_sub(name.len() + value.len()) else { break };
        room = left;
        shown.push((name.to_owned(), value));
    }
    shown
}

/// A URL as it may be shown, at most [`limits::EXAMPLE_HEAD_BYTES`] of it.
pub fn shown_example_url(target: &Target, mask: &Mask) -> String {
    cut(mask.apply(&shown_url(target)), limits::EXAMPLE_HEAD_BYTES)
}

/// What is secret in a request as it was sent, so that it can be taken out of a reply that repeats it: values of headers that
/// are not shown, cookies, and values of parameters that are not shown.
pub fn sent_secrets(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let pairs = path.split_once('?').map_or("", |(_, query)| query).split('&').filter_map(|pair| pair.split_once('='));
    let mut secrets: Vec<String> =
        pairs.filter(|(name, _)| parameter_is_secret(name)).map(|(_, value)| value.to_owned()).collect();
    for (name, value) in lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("cookie") {
            secrets
                .extend(value.split(';').map(|pair| pair.split_once('=').map_or(pair, |(_, v)| v).trim().to_owned()));
        } else if !header_is_shown(name) {
            secrets.push(value.to_owned());
            // A scheme stands before the credentials (RFC 9110, 11.4).
            secrets.extend(value.split_once(' ').map(|(_, code)| code.to_owned()));
        }
    }
    secrets
}

/// The beginning of a body, as text without what is secret.
pub fn shown_body_start(body: &[u8], mask: &Mask) -> String {
    let text = mask.apply(&String::from_utf8_lossy(&body[..body.len().min(limits::EXAMPLE_BODY_BYTES)]));
    cut(text, limits::EXAMPLE_BODY_BYTES)
}

/// The beginning of a text, ended where a character ends.
fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(kind: &str, at_s: f64) -> FailedExample {
        FailedExample { kind: kind.into(), at_s, ..FailedExample::default() }
    }

    fn names(examples: &Examples) -> Vec<(String, f64)> {
        examples.all().iter().map(|e| (e.kind.clone(), e.at_s)).collect()
    }

    #[test]
    fn the_first_of_each_kind_stay_however_they_are_added() {
        let all: Vec<FailedExample> = (0..60)
            .map(|n| example(["status_4xx", "timeout", "reset", "dns", "io"][(n * n + n / 7) % 5], f64::from(n as u32)))
            .collect();
        let mut forward = Examples::default();
        all.iter().for_each(|e| forward.push(e.clone()));
        let mut backward = Examples::default();
        all.iter().rev().for_each(|e| backward.push(e.clone()));
        let mut halves = [Examples::default(), Examples::default()];
        all.iter().enumerate().for_each(|(n, e)| halves[n % 2].push(e.clone()));
        let [mut merged, other] = halves;
        merged.add(&other);
        assert_eq!(names(&forward), names(&backward));
        assert_eq!(names(&forward), names(&merged));
        assert!(forward.all().len() <= limits::FAILED_EXAMPLES);
        assert!(forward.all().is_sorted_by(|a, b| a.at_s <= b.at_s));
        let mut one = Examples::default();
        (0..20).for_each(|n| one.push(example("reset", f64::from(20 - n))));
        assert_eq!(names(&one), [("reset".into(), 1.0), ("reset".into(), 2.0), ("reset".into(), 3.0)]);
    }

    #[test]
    fn kinds_have_stable_names() {
        let of = |status| failed_kind(Outcome::Answered(status));
        assert_eq!([of(200), of(399), failed_kind(Outcome::Failed(ErrorKind::Aborted))], [None; 3]);
        assert_eq!([of(404), of(503), of(700)], [Some("status_4xx"), Some("status_5xx"), Some("status_other")]);
        assert_eq!(failed_kind(Outcome::Failed(ErrorKind::Assertion)), Some("assertion"));
    }

    #[test]
    fn heads_keep_harmless_values_only() {
        let head = b"HTTP/1.1 401 No\xff\r\nSet-Cookie: sid=s3cret\r\nContent-Type: text/html\r\nProxy-Authenticate: s3cret\r\n\
                     X-Api-Key: s3cret\r\n folded: s3cret\r\n\r\nbody";
        assert_eq!(
            shown_response_head(head, &Mask::default()),
            "HTTP/1.1 401 No\u{fffd}\nSet-Cookie: …\nContent-Type: text/html\nProxy-Authenticate: …\nX-Api-Key: …\n…"
        );
        let long = [b"HTTP/1.1 500 ".to_vec(), "é".repeat(5000).into_bytes()].concat();
        let shown = shown_response_head(&long, &Mask::default());
        assert!(shown.len() <= limits::EXAMPLE_HEAD_BYTES && shown.ends_with('é') | shown.ends_with('\u{fffd}'));
        let sent = b"GET /?a HTTP/1.1\r\nAccept: a:b\r\nToken: s3cret\r\nCookie: s3cret\r\n\r\nX: s3cret";
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        assert_eq!(
            shown_request_headers(sent, &Mask::default()),
            [pair("Accept", "a:b"), pair("Token", "(hidden)"), pair("Cookie", "(hidden)")]
        );
    }
}

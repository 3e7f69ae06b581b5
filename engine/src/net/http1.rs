//! HTTP/1.1: the bytes of a request, built once, and the reader of replies.

mod chunked;
pub mod kept;
pub mod response;

use super::cookies::cookie_line;
use crate::plan::{Method, Request, Target};

/// A request as it goes over the wire.
#[derive(Clone, Debug)]
pub(crate) struct RequestBytes {
    /// Head and body together.
    pub(crate) bytes: Vec<u8>,
    /// Where the line with the plan's own cookies begins, or another may be put in.
    pub(crate) cookies_at: usize,
    /// Where that line ends: before the empty line.
    pub(crate) head_end: usize,
    /// There is a body, and the head asks whether it is wanted (`Expect: 100-continue`).
    pub(crate) body_waits: bool,
}

/// What decides over the headers besides the request itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style<'a> {
    pub(crate) user_agent: &'a str,
    /// Say `Connection: close`.
    pub(crate) close: bool,
    /// The request follows a redirect to another host: credentials stay behind.
    pub(crate) other_host: bool,
    /// The body will be read: ask for it unpacked.
    pub(crate) identity: bool,
}

/// Headers that belong to the host the plan names and are not taken to another one.
const HOST_BOUND: &[&str] = &["host", "authorization", "cookie", "proxy-authorization"];
/// Headers that describe a body.
const BODY_BOUND: &[&str] = &["content-type", "content-encoding", "content-language", "content-location", "expect"];

/// Writes `request` for `target`, sent with `method`; the headers keep their order.
pub(crate) fn request_bytes(request: &Request, target: &Target, method: Method, style: Style<'_>) -> RequestBytes {
    let with_body = method == request.method;
    let left_out = |name: &str| {
        style.other_host && HOST_BOUND.iter().any(|n| n.eq_ignore_ascii_case(name))
            || !with_body && BODY_BOUND.iter().any(|n| n.eq_ignore_ascii_case(name))
    };
    let headers: Vec<&(String, String)> = request.headers.iter().filter(|(name, _)| !left_out(name)).collect();
    let set = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let body = request.body.as_deref().filter(|_| with_body);
    let mut bytes = Vec::with_capacity(256 + target.path.len() + body.map_or(0, <[u8]>::len));
    let mut put = |parts: &[&str]| parts.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
    put(&[method.as_str(), " ", &target.path, " HTTP/1.1\r\n"]);
    if !set("host") {
        put(&["Host: ", &target.authority(), "\r\n"]);
    }
    for (name, value) in &headers {
        put(&[name, ": ", value, "\r\n"]);
    }
    if !set("user-agent") {
        put(&["User-Agent: ", style.user_agent, "\r\n"]);
    }
    if !set("accept") {
        put(&["Accept: */*\r\n"]);
    }
    if style.identity && !set("accept-encoding") {
        put(&["Accept-Encoding: identity\r\n"]);
    }
    if style.close && !set("connection") {
        put(&["Connection: close\r\n"]);
    }
    if body.is_some() || matches!(method, Method::Post | Method::Put | Method::Patch) {
        put(&["Content-Length: ", &body.map_or(0, <[u8]>::len).to_string(), "\r\n"]);
    }
    let cookies_at = bytes.len();
    if !style.other_host
        && let Some(line) = cookie_line(request.cookies.iter().map(|(name, value)| (&**name, &**value)))
    {
        bytes.extend_from_slice(line.as_bytes());
    }
    let head_end = bytes.len();
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.unwrap_or_default());
    let expects = |(name, value): &&(String, String)| {
        name.eq_ignore_ascii_case("expect") && value.trim().eq_ignore_ascii_case("100-continue")
    };
    let body_waits = body.is_some_and(|b| !b.is_empty()) && headers.iter().copied().any(|h| expects(&h));
    RequestBytes { bytes, cookies_at, head_end, body_waits }
}

/// The method after a redirect, as browsers choose it.
pub(crate) fn redirected_method(method: Method, status: u16) -> Method {
    match (status, method) {
        (303, Method::Head) => Method::Head,
        (303, _) => Method::Get,
        (301 | 302, Method::Post) => Method::Get,
        _ => method,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, headers: &[(&str, &str)], body: Option<&str>) -> Request {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Request {
            method,
            target: Target::parse("http://a.test:81/x?y").unwrap(),
            headers,
            cookies: Vec::new(),
            body: body.map(Vec::from),
            filled: None,
            extract: Vec::new(),
            assert: Vec::new(),
            weight: 1,
        }
    }

    fn text(request: &Request, method: Method, style: Style<'_>) -> String {
        String::from_utf8(request_bytes(request, &request.target, method, style).bytes).unwrap()
    }

    const STYLE: Style<'static> = Style { user_agent: "o/1", close: false, other_host: false, identity: false };

    #[test]
    fn defaults_stand_aside_for_the_plan() {
        let plain = request(Method::Get, &[], None);
        assert_eq!(
            text(&plain, Method::Get, STYLE),
            "GET /x?y HTTP/1.1\r\nHost: a.test:81\r\nUser-Agent: o/1\r\nAccept: */*\r\n\r\n"
        );
        let own = request(Method::Get, &[("X", "1"), ("host", "h"), ("USER-AGENT", "me"), ("Accept", "a")], None);
        assert_eq!(
            text(&own, Method::Get, STYLE),
            "GET /x?y HTTP/1.1\r\nX: 1\r\nhost: h\r\nUSER-AGENT: me\r\nAccept: a\r\n\r\n"
        );
    }

    #[test]
    fn cookies_of_the_plan_stay_with_its_host() {
        let mut plain = request(Method::Get, &[("Accept-Encoding", "br")], None);
        plain.cookies = vec![("a".into(), "1".into()), ("b".into(), "2".into())];
        let built = request_bytes(&plain, &plain.target, Method::Get, Style { identity: true, ..STYLE });
        assert_eq!(&built.bytes[built.cookies_at..], b"Cookie: a=1; b=2\r\n\r\n");
        assert_eq!(&built.bytes[built.head_end..], b"\r\n");
        assert!(!String::from_utf8(built.bytes).unwrap().contains("identity"));
        plain.headers.clear();
        let away = text(&plain, Method::Get, Style { other_host: true, identity: true, ..STYLE });
        assert!(!away.contains("Cookie") && away.ends_with("Accept-Encoding: identity\r\n\r\n"), "{away}");
    }

    #[test]
    fn bodies_have_a_length() {
        let post = request(Method::Post, &[], Some("é"));
        assert!(text(&post, Method::Post, STYLE).ends_with("Content-Length: 2\r\n\r\né"));
        let empty = request(Method::Put, &[], None);
        assert!(
            text(&empty, Method::Put, Style { close: true, ..STYLE })
                .ends_with("Connection: close\r\nContent-Length: 0\r\n\r\n")
        );
    }

    #[test]
    fn only_a_body_waits() {
        let waits = |headers: &[(&str, &str)], body| {
            let request = request(Method::Post, headers, body);
            request_bytes(&request, &request.target, Method::Post, STYLE).body_waits
        };
        assert!(waits(&[("X", "1"), ("expect", "100-Continue")], Some("b")));
        assert!(!waits(&[("Expect", "100-continue")], None) && !waits(&[("Expect", "100-continue")], Some("")));
        assert!(!waits(&[("Expect", "else")], Some("b")) && !waits(&[], Some("b")));
    }

    #[test]
    fn redirects_leave_secrets_and_bodies_behind() {
        let post = request(
            Method::Post,
            &[("Authorization", "Basic x"), ("Content-Type", "text/plain"), ("X", "1")],
            Some("b"),
        );
        let away = text(&post, redirected_method(Method::Post, 302), Style { other_host: true, ..STYLE });
        assert_eq!(away, "GET /x?y HTTP/1.1\r\nHost: a.test:81\r\nX: 1\r\nUser-Agent: o/1\r\nAccept: */*\r\n\r\n");
        assert_eq!(redirected_method(Method::Post, 307), Method::Post);
        assert_eq!(redirected_method(Method::Head, 303), Method::Head);
    }
}

//! Same-origin guard: whatever changes something must come from our own pages.
//!
//! Browsers say where a request comes from, in headers that a page cannot forge: `Sec-Fetch-Site`, else `Origin`, else `Referer`.
//! A request that says nothing is refused too: it is either a very old browser's, or a program's that can easily say it.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use url::Url;

use crate::config::is_local_name;
use crate::error::Error;
use crate::state::AppState;

/// The middleware: unsafe methods need same-origin evidence, and on a local installation every request a local name.
pub async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let public = state.config.public_url.as_ref();
    let host = host_of(&request);
    if state.is_local() && !answers_to(host, public) {
        // Otherwise a foreign name that resolves to this machine (DNS rebinding) would be "same origin" with itself.
        return Error::Forbidden(format!(
            "This installation answers only to names of this machine, such as localhost, and to the one given with --public-url; {host:?} is neither."
        ))
        .into_response();
    }
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if safe || is_same_origin(request.headers(), host, public) {
        return next.run(request).await;
    }
    tracing::warn!(method = %request.method(), path = request.uri().path(), "refused a request from another origin");
    Error::Forbidden("This request did not come from a page of this installation, so nothing was changed. Open the page here and try again.".into())
        .into_response()
}

/// Name and port the client asked for: the `Host` header, or HTTP/2's authority.
fn host_of(request: &Request) -> &str {
    let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
    authority.or_else(|| request.headers().get(header::HOST).and_then(|value| value.to_str().ok())).unwrap_or("")
}

/// Whether a local installation may be asked under this name.
fn answers_to(host: &str, public: Option<&Url>) -> bool {
    let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
    let name = url.host_str().unwrap_or("");
    is_local_name(name) || public.and_then(Url::host_str) == Some(name)
}

fn is_same_origin(headers: &HeaderMap, host: &str, public: Option<&Url>) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    if let Some(site) = text("sec-fetch-site") {
        // `none`: the person's own doing, such as a reload of the answer to a form.
        return matches!(site, "same-origin" | "none");
    }
    text("origin").or_else(|| text("referer")).is_some_and(|source| is_here(source, host, public))
}

/// Whether `source` is a URL of this server. Its scheme is not compared with ours: a proxy may have taken TLS off.
fn is_here(source: &str, host: &str, public: Option<&Url>) -> bool {
    let Ok(source) = Url::parse(source) else { return false };
    if !matches!(source.scheme(), "http" | "https") {
        return false;
    }
    if public.is_some_and(|public| public.origin() == source.origin()) {
        return true;
    }
    Url::parse(&format!("{}://{host}/", source.scheme())).is_ok_and(|here| here.origin() == source.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(headers: &[(&'static str, &'static str)], public: Option<&str>) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), header::HeaderValue::from_static(value)));
        is_same_origin(&headers.collect(), "load.example:8080", public.map(|url| Url::parse(url).unwrap()).as_ref())
    }

    #[test]
    fn b79_only_our_own_pages_change_anything() {
        assert!(same(&[("sec-fetch-site", "same-origin")], None));
        assert!(same(&[("sec-fetch-site", "none")], None));
        assert!(!same(&[("sec-fetch-site", "same-site"), ("origin", "http://load.example:8080")], None));
        assert!(!same(&[("sec-fetch-site", "cross-site")], None));
        assert!(same(&[("origin", "http://load.example:8080")], None));
        assert!(same(&[("origin", "HTTP://LOAD.example:8080")], None));
        assert!(same(&[("origin", "https://load.example:8080")], None));
        for other in [
            "http://load.example",
            "http://evil.example:8080",
            "http://load.example:8080.evil.example",
            "null",
            "",
            "file:///load.example:8080",
        ] {
            assert!(!same(&[("origin", other)], None), "{other}");
        }
        assert!(same(&[("referer", "http://load.example:8080/tests/new?x=1")], None));
        assert!(!same(&[("referer", "http://evil.example/http://load.example:8080/")], None));
        assert!(!same(&[], None));
    }

    #[test]
    fn the_public_url_counts_behind_a_proxy() {
        assert!(same(&[("origin", "https://load.example")], Some("https://load.example")));
        assert!(!same(&[("origin", "http://load.example")], Some("https://load.example")));
    }

    #[test]
    fn local_installations_answer_to_local_names_only() {
        for good in ["localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "app.localhost", "127.1.2.3"] {
            assert!(answers_to(good, None), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "evil.example:8080",
            "192.168.0.1:8080",
            "localhost.evil.example",
            "a/b",
            "user@localhost.evil.example",
        ] {
            assert!(!answers_to(bad, None), "{bad}");
        }
        assert!(answers_to("load.test", Some(&Url::parse("http://load.test").unwrap())));
    }
}

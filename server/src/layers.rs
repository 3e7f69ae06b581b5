//! What happens around every request: an id, a nonce, security headers, sizes, panics, and errors in words.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use oleada_app::pages::error::ErrorPage;
use tokio::sync::OnceCell;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::auth::{User, safe_next};
use crate::error::Fault;
use crate::render::Frame;

/// Largest request body in bytes.
pub const BODY_BYTES: usize = 2 * 1024 * 1024;
/// Largest body of a test's form in bytes: its rows of data and its files come along.
pub const TEST_BODY_BYTES: usize = 12 * 1024 * 1024;

/// What belongs to one request. Cheap to clone.
#[derive(Clone)]
pub struct RequestContext(Arc<Parts>);

struct Parts {
    id: Uuid,
    nonce: String,
    user: OnceCell<Option<Arc<User>>>,
}

impl Default for RequestContext {
    fn default() -> RequestContext {
        let nonce: [u8; 16] = rand::random();
        RequestContext(Arc::new(Parts {
            id: Uuid::now_v7(),
            nonce: base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(nonce),
            user: OnceCell::new(),
        }))
    }
}

impl RequestContext {
    /// What to quote when asking for help: in the log, in `x-request-id` and on error pages.
    pub fn id(&self) -> String {
        self.0.id.to_string()
    }

    /// Allows this response's own inline scripts.
    pub fn nonce(&self) -> &str {
        &self.0.nonce
    }

    /// Who is signed in, once known.
    pub(crate) fn user_cell(&self) -> &OnceCell<Option<Arc<User>>> {
        &self.0.user
    }
}

/// In the extensions of a response: pages of others may show it, in a frame or as a picture.
#[derive(Clone, Copy, Debug)]
pub struct ForOthers;

/// Outermost: gives the request its context and a span, and the response its headers.
pub async fn dress(mut request: Request, next: Next) -> Response {
    let context = RequestContext::default();
    request.extensions_mut().insert(context.clone());
    let span =
        tracing::info_span!("request", method = %request.method(), path = request.uri().path(), id = %context.0.id);
    let begun = Instant::now();
    let by_link = request.uri().path().starts_with("/r/");
    async move {
        let mut response = next.run(request).await;
        let for_others = response.extensions().get::<ForOthers>().is_some();
        set_headers(response.headers_mut(), &context, for_others);
        if by_link {
            // Pages say it too, but pictures and tables cannot.
            response.headers_mut().insert("x-robots-tag", HeaderValue::from_static("noindex"));
        }
        tracing::debug!(
            status = response.status().as_u16(),
            duration_us = begun.elapsed().as_micros() as u64,
            "answered"
        );
        response
    }
    .instrument(span)
    .await
}

fn set_headers(headers: &mut HeaderMap, context: &RequestContext, for_others: bool) {
    let (ancestors, resources) = if for_others { ("*", "cross-origin") } else { ("'none'", "same-origin") };
    let policy = format!(
        "default-src 'self'; script-src 'self' 'nonce-{}' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; frame-ancestors {ancestors}; base-uri 'none'; form-action 'self'; object-src 'none'",
        context.nonce()
    );
    let values = [
        (header::CONTENT_SECURITY_POLICY, policy.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), resources),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        (HeaderName::from_static("x-request-id"), &context.id()),
    ];
    for (name, value) in values {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    // Whatever does not say that it may be kept was made for one person.
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    }
}

/// Turns every error response into a page or, under `/api`, into problem+json.
pub async fn errors_in_words(frame: Frame, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let next_after_sign_in = request.uri().path_and_query().map_or(path.clone(), |p| p.as_str().to_owned());
    let (is_api, is_get) = (path.starts_with("/api/"), matches!(*request.method(), Method::GET | Method::HEAD));
    let response = next.run(request).await;
    let status = response.status();
    let fault = response.extensions().get::<Fault>().cloned();
    if !(status.is_client_error() || status.is_server_error()) || (fault.is_none() && is_in_words(response.headers())) {
        return response;
    }
    let mut fault = fault.unwrap_or(Fault { detail: None, sign_in: false });
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        fault.detail =
            Some("What was sent is larger than is accepted: 2 MB, and 12 MB for a test with its data and files. Nothing was changed.".into());
    }
    let kept: Vec<_> = [header::RETRY_AFTER, header::ALLOW]
        .into_iter()
        .filter_map(|name| Some((name.clone(), response.headers().get(name)?.clone())))
        .collect();
    let mut answer = if is_api {
        problem(status, fault.detail.as_deref(), &frame.request_id())
    } else if fault.sign_in {
        to_sign_in(is_get.then_some(next_after_sign_in.as_str()))
    } else {
        error_page(status, fault.detail, frame).await
    };
    answer.headers_mut().extend(kept);
    answer
}

/// Pages and documents of our own say what is wrong already; framework texts do not.
fn is_in_words(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    kind.starts_with("text/html") || kind.starts_with("application/")
}

fn to_sign_in(next: Option<&str>) -> Response {
    let path = match next.and_then(safe_next) {
        Some(next) if next != "/" => {
            let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
            format!("/sign-in?{query}")
        }
        _ => "/sign-in".into(),
    };
    crate::error::see_other(&path)
}

async fn error_page(status: StatusCode, detail: Option<String>, frame: Frame) -> Response {
    let request_id = status.is_server_error().then(|| frame.request_id());
    let page = ErrorPage { status: status.as_u16(), detail, request_id };
    let bare = frame.bare_chrome();
    match frame.show_as(status, |chrome| oleada_app::pages::error::render(chrome, &page)).await {
        Ok(response) => response,
        // The database fails: the page goes without the reader's name.
        Err(_) => (status, axum::response::Html(oleada_app::pages::error::render(&bare, &page))).into_response(),
    }
}

/// An RFC 9457 document.
pub fn problem(status: StatusCode, detail: Option<&str>, request_id: &str) -> Response {
    let mut document = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "request_id": request_id,
    });
    if let Some(detail) = detail {
        document["detail"] = detail.into();
    }
    (status, [(header::CONTENT_TYPE, "application/problem+json")], document.to_string()).into_response()
}

/// What a handler that panics answers. The message is in the log, not on the page.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over")]
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("unknown"), "a handler panicked");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

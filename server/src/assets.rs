//! The browser bundle inside the binary: what `cargo xtask bundle` left in `site/`, with its names and encodings.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;

/// How long a browser may keep a file whose name changes with its contents: a year, the longest that caches honour.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// How long a browser may keep a file that keeps its name: ten minutes, then it asks again with the entity tag.
const A_WHILE: &str = "public, max-age=600";

#[derive(rust_embed::RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../site"]
struct Site;

/// The files of the browser bundle.
pub struct Assets;

impl Assets {
    /// What the bundle holds. Empty in a build without a bundle, so pages then simply name no script and no style.
    pub fn manifest() -> &'static Manifest {
        static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
            Site::get("manifest.json").map_or_else(Manifest::default, |file| Manifest::parse(&file.data))
        });
        &MANIFEST
    }
}

/// The list of the bundle's files by their logical names.
#[derive(Debug, Default)]
pub struct Manifest {
    files: BTreeMap<String, Entry>,
    /// Served path to whether its name carries a hash of its contents.
    served: BTreeMap<String, bool>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    /// Path below `site/`, also below `/assets/`.
    path: String,
    /// Whether the path changes when the contents do.
    immutable: bool,
}

impl Manifest {
    fn parse(json: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Document {
            files: BTreeMap<String, Entry>,
        }
        match serde_json::from_slice::<Document>(json) {
            Ok(document) => Self::of(document.files),
            Err(error) => {
                tracing::error!(%error, "the browser bundle's manifest is unreadable; pages go without scripts and styles");
                Self::default()
            }
        }
    }

    fn of(files: BTreeMap<String, Entry>) -> Self {
        let served = files.values().map(|entry| (entry.path.clone(), entry.immutable)).collect();
        Self { files, served }
    }

    /// The URL path of a file by its logical name ("app.js", "app.wasm", "main.css", "favicon.svg", …), as
    /// `/assets/<name with its hash>`; `None` if the bundle has no such file.
    pub fn path(&self, logical: &str) -> Option<String> {
        self.files.get(logical).map(|entry| format!("/assets/{}", entry.path))
    }

    /// The logical names of all files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

/// Answers `GET /assets/{*path}`: the file in the smallest encoding that the browser takes, 404 for anything that the
/// manifest does not name. Also good for single files outside `/assets/`, such as `/robots.txt`.
pub async fn serve(Path(path): Path<String>, headers: HeaderMap) -> Response {
    respond(Assets::manifest(), &embedded, &path, &headers)
}

/// One stored representation of a file.
struct Stored {
    data: Cow<'static, [u8]>,
    hash: [u8; 32],
}

fn embedded(path: &str) -> Option<Stored> {
    Site::get(path).map(|file| Stored { data: file.data, hash: file.metadata.sha256_hash() })
}

fn respond(manifest: &Manifest, load: &dyn Fn(&str) -> Option<Stored>, path: &str, headers: &HeaderMap) -> Response {
    let Some(&immutable) = manifest.served.get(path) else {
        return plain(StatusCode::NOT_FOUND, "Not found\n");
    };
    let accepted = Accepted::from(headers);
    let chosen = accepted
        .in_order()
        .into_iter()
        .find_map(|encoding| load(&format!("{path}{}", encoding.suffix())).map(|stored| (encoding, stored)))
        // A client that refuses even the plain form gets it all the same: better than an error it cannot act on.
        .or_else(|| load(path).map(|stored| (Encoding::Identity, stored)));
    let Some((encoding, stored)) = chosen else {
        tracing::error!(path, "the manifest names a file that is not in the binary");
        return plain(StatusCode::NOT_FOUND, "Not found\n");
    };

    let tag = entity_tag(&stored.hash);
    let mut response = Response::new(Body::empty());
    let fields = response.headers_mut();
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static(if immutable { FOREVER } else { A_WHILE }));
    fields.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(value) = HeaderValue::from_str(&tag) {
        fields.insert(header::ETAG, value);
    }
    if is_known(headers, &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(path)));
    if let Some(name) = encoding.name() {
        fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    *response.body_mut() = match stored.data {
        Cow::Borrowed(data) => Body::from(Bytes::from_static(data)),
        Cow::Owned(data) => Body::from(data),
    };
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A strong tag: every encoding of a file is stored, and so hashed, on its own.
fn entity_tag(hash: &[u8; 32]) -> String {
    let hex: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

/// Whether `If-None-Match` names this representation (weak comparison, as RFC 9110 asks for on GET).
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|candidate| candidate == "*" || candidate.trim_start_matches("W/") == tag)
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "ico" => "image/x-icon",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
            Self::Identity => "",
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

/// What `Accept-Encoding` says of each encoding, as thousandths; 0 is a refusal.
#[derive(Debug, PartialEq, Eq)]
struct Accepted {
    brotli: u16,
    gzip: u16,
    identity: u16,
}

impl From<&HeaderMap> for Accepted {
    fn from(headers: &HeaderMap) -> Self {
        let mut weights: BTreeMap<String, u16> = BTreeMap::new();
        let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        for item in values.flat_map(|value| value.split(',')) {
            let mut parts = item.split(';').map(str::trim);
            let coding = parts.next().unwrap_or_default().to_ascii_lowercase();
            if coding.is_empty() {
                continue;
            }
            let weight = parts.find_map(quality).unwrap_or(1000);
            weights.insert(coding, weight);
        }
        let any = weights.get("*").copied();
        let of = |names: &[&str], otherwise: u16| {
            names.iter().find_map(|name| weights.get(*name).copied()).or(any).unwrap_or(otherwise)
        };
        Self {
            brotli: of(&["br"], 0),
            gzip: of(&["gzip", "x-gzip"], 0),
            // Not named, the plain form is acceptable but the least wanted.
            identity: of(&["identity"], 1),
        }
    }
}

impl Accepted {
    /// The acceptable encodings, most wanted first; of equals the smaller one first.
    fn in_order(&self) -> Vec<Encoding> {
        let mut all =
            [(self.brotli, Encoding::Brotli), (self.gzip, Encoding::Gzip), (self.identity, Encoding::Identity)];
        all.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        all.into_iter().filter(|(weight, _)| *weight > 0).map(|(_, encoding)| encoding).collect()
    }
}

/// `q=0.8` as 800. A value that is no number counts as a refusal: sending what was perhaps not wanted is the worse fault.
fn quality(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let weight: f32 = value.trim().parse().unwrap_or(0.0);
    // `as` saturates and turns NaN into 0; the clamp keeps it within what RFC 9110 allows.
    Some((weight.clamp(0.0, 1.0) * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    const MANIFEST: &[u8] = br#"{
        "inputs": "x",
        "files": {
            "app.js": {"path": "app.0123.js", "immutable": true, "bytes": 2, "br": 1},
            "app.wasm": {"path": "app_bg.4567.wasm", "immutable": true, "bytes": 2},
            "favicon.svg": {"path": "favicon.svg", "immutable": false, "bytes": 2}
        }
    }"#;

    fn load(path: &str) -> Option<Stored> {
        let (data, first): (&'static [u8], u8) = match path {
            "app.0123.js" => (b"plain js", 1),
            "app.0123.js.br" => (b"brotli js", 2),
            "app.0123.js.gz" => (b"gzip js", 3),
            "app_bg.4567.wasm" => (b"wasm", 4),
            "favicon.svg" => (b"svg", 5),
            "favicon.svg.gz" => (b"svg gz", 6),
            "manifest.json" => (MANIFEST, 7),
            _ => return None,
        };
        let mut hash = [0; 32];
        hash[0] = first;
        Some(Stored { data: Cow::Borrowed(data), hash })
    }

    fn get(path: &str, fields: &[(header::HeaderName, &str)]) -> Response {
        let headers = fields.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        respond(&Manifest::parse(MANIFEST), &load, path, &headers)
    }

    fn field(response: &Response, name: header::HeaderName) -> Option<&str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    async fn body(response: Response) -> Vec<u8> {
        to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()
    }

    fn order(accept: &str) -> Vec<Encoding> {
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accept.parse().unwrap())]);
        Accepted::from(&headers).in_order()
    }

    #[test]
    fn a_logical_name_leads_to_the_hashed_path() {
        let manifest = Manifest::parse(MANIFEST);
        assert_eq!(manifest.path("app.js").as_deref(), Some("/assets/app.0123.js"));
        assert_eq!(manifest.path("app.wasm").as_deref(), Some("/assets/app_bg.4567.wasm"));
        assert_eq!(manifest.path("app.0123.js"), None);
        assert_eq!(manifest.names().collect::<Vec<_>>(), ["app.js", "app.wasm", "favicon.svg"]);
    }

    #[test]
    fn an_unreadable_manifest_is_an_empty_one() {
        assert_eq!(Manifest::parse(b"{").path("app.js"), None);
    }

    #[test]
    fn the_most_wanted_encoding_comes_first_and_refused_ones_never() {
        use Encoding::{Brotli, Gzip, Identity};
        assert_eq!(order("gzip, deflate, br, zstd"), [Brotli, Gzip, Identity]);
        assert_eq!(order("gzip"), [Gzip, Identity]);
        assert_eq!(order("br;q=0, gzip;q=0.5"), [Gzip, Identity]);
        assert_eq!(order("br;q=0.2, gzip;q=0.8"), [Gzip, Brotli, Identity]);
        assert_eq!(order("gzip;q=0.5, identity"), [Identity, Gzip]);
        assert_eq!(order("*"), [Brotli, Gzip, Identity]);
        assert_eq!(order("*;q=0, gzip"), [Gzip]);
        assert_eq!(order("BR ; Q=1.0"), [Brotli, Identity]);
        assert_eq!(order("br;q=nonsense"), [Identity]);
        assert_eq!(order(""), [Identity]);
        assert_eq!(Accepted::from(&HeaderMap::new()).in_order(), [Identity]);
    }

    #[tokio::test]
    async fn a_hashed_file_is_kept_for_good_and_sent_compressed() {
        let response = get("app.0123.js", &[(header::ACCEPT_ENCODING, "gzip, br")]);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(field(&response, header::CONTENT_ENCODING), Some("br"));
        assert_eq!(field(&response, header::CONTENT_TYPE), Some("text/javascript; charset=utf-8"));
        assert_eq!(field(&response, header::CACHE_CONTROL), Some("public, max-age=31536000, immutable"));
        assert_eq!(field(&response, header::VARY), Some("accept-encoding"));
        assert_eq!(body(response).await, b"brotli js");
    }

    #[tokio::test]
    async fn what_has_no_compressed_form_is_sent_as_it_is() {
        let response = get("app_bg.4567.wasm", &[(header::ACCEPT_ENCODING, "br, gzip")]);
        assert_eq!(field(&response, header::CONTENT_ENCODING), None);
        assert_eq!(field(&response, header::CONTENT_TYPE), Some("application/wasm"));
        assert_eq!(body(response).await, b"wasm");
        let response = get("favicon.svg", &[(header::ACCEPT_ENCODING, "br, gzip")]);
        assert_eq!(field(&response, header::CONTENT_ENCODING), Some("gzip"));
        assert_eq!(field(&response, header::CONTENT_TYPE), Some("image/svg+xml"));
        assert_eq!(field(&response, header::CACHE_CONTROL), Some("public, max-age=600"));
    }

    #[tokio::test]
    async fn a_client_that_refuses_everything_gets_the_plain_form() {
        let response = get("app_bg.4567.wasm", &[(header::ACCEPT_ENCODING, "*;q=0")]);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(body(response).await, b"wasm");
    }

    #[tokio::test]
    async fn a_known_tag_is_answered_304_without_a_body() {
        let accept = (header::ACCEPT_ENCODING, "br");
        let tag = field(&get("app.0123.js", std::slice::from_ref(&accept)), header::ETAG).unwrap().to_owned();
        let weak = format!("\"other\", W/{tag}");
        let response = get("app.0123.js", &[accept, (header::IF_NONE_MATCH, weak.as_str())]);
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(field(&response, header::ETAG), Some(tag.as_str()));
        assert_eq!(body(response).await, b"");
        // Another encoding is another representation.
        let response = get("app.0123.js", &[(header::IF_NONE_MATCH, tag.as_str())]);
        assert_eq!(response.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn only_what_the_manifest_names_is_served() {
        for path in ["", "manifest.json", "app.0123.js.br", "app.js", "../Cargo.toml", "nothing"] {
            assert_eq!(get(path, &[]).status(), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[tokio::test]
    async fn every_file_of_this_binary_can_be_fetched() {
        for path in Assets::manifest().served.keys() {
            let response = serve(Path(path.clone()), HeaderMap::new()).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert_ne!(field(&response, header::CONTENT_TYPE), Some("application/octet-stream"), "{path}");
        }
    }
}

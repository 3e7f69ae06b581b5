//! A form as a browser sends it, with files or without.

use axum::extract::multipart::MultipartRejection;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, FromRequest, Multipart, Request};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// An extractor: the fields of a form in their order; names may repeat and follow a pattern.
///
/// A file `x_file` comes as the field `x` with the file's text, and a file `x.body_file` as `x.body_base64` and `x.body_file_name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted(pub Vec<(String, String)>);

impl<S: Send + Sync> FromRequest<S> for Submitted {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Submitted, Response> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("multipart/form-data") {
            let form = Form::<Vec<(String, String)>>::from_request(request, state).await;
            return form.map(|Form(pairs)| Submitted(pairs)).map_err(|e: FormRejection| e.into_response());
        }
        let mut multipart =
            Multipart::from_request(request, state).await.map_err(|e: MultipartRejection| e.into_response())?;
        let mut pairs = Vec::new();
        while let Some(field) = multipart.next_field().await.map_err(|e| e.into_response())? {
            let name = field.name().unwrap_or_default().to_owned();
            let file_name = field.file_name().map(str::to_owned);
            let bytes = field.bytes().await.map_err(|e| e.into_response())?;
            match file_name {
                None => pairs.push((name, String::from_utf8_lossy(&bytes).into_owned())),
                // An input without a file is sent all the same, as an empty one without a name.
                Some(file_name) if file_name.is_empty() && bytes.is_empty() => {}
                Some(file_name) => pairs.extend(file(&name, file_name, &bytes)),
            }
        }
        Ok(Submitted(pairs))
    }
}

fn file(name: &str, file_name: String, bytes: &[u8]) -> Vec<(String, String)> {
    if let Some(row) = name.strip_suffix(".body_file") {
        return vec![
            (format!("{row}.body_base64"), BASE64.encode(bytes)),
            (format!("{row}.body_file_name"), file_name),
        ];
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    name.strip_suffix("_file").map(|field| (field.to_owned(), text)).into_iter().collect()
}

//! What went wrong, in words.

use leptos::prelude::*;

use crate::shell::{Head, document};
use crate::view::Chrome;

/// An error as a page.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    /// HTTP status: 400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503 have words of their own.
    pub status: u16,
    /// More about it in a sentence, if there is anything to say.
    pub detail: Option<String>,
    /// What to quote when asking for help.
    pub request_id: Option<String>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &ErrorPage) -> String {
    let _ = page;
    document(chrome, &Head::private("Error"), || view! { <h1>"Error"</h1> }.into_any())
}

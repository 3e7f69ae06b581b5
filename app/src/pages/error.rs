//! What went wrong, in words.

use leptos::prelude::*;

use crate::shell::{Head, document};
use crate::view::Chrome;

/// An error as a page.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    /// HTTP status: 400, 401, 403, 404, 405, 409, 410, 413, 422, 429, 500, 503 have words of their own.
    pub status: u16,
    /// More about it in a sentence, if there is anything to say.
    pub detail: Option<String>,
    /// What to quote when asking for help.
    pub request_id: Option<String>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &ErrorPage) -> String {
    let (title, text) = words(page.status);
    let (href, way) =
        if chrome.viewer.is_some() { ("/dashboard", "Go to the dashboard") } else { ("/", "Go to the front page") };
    document(chrome, &Head::private(title).class("slim"), || {
        view! {
            <div class="error-page">
                <p class="error-status">{page.status}</p>
                <h1>{title}</h1>
                <p class="lead">{text}</p>
                {page.detail.clone().map(|detail| view! { <p>{detail}</p> })}
                <p><a class="button" href=href>{way}</a></p>
                {page.request_id.clone().map(|id| view! { <p class="muted">"If you ask for help, quote "<code>{id}</code>"."</p> })}
            </div>
        }
        .into_any()
    })
}

/// Title and explanation of a status.
fn words(status: u16) -> (&'static str, &'static str) {
    match status {
        400 => ("That request makes no sense to us", "Something in the address or in what was sent cannot be read."),
        401 => ("Please sign in", "This page is for people who are signed in."),
        403 => ("Not allowed", "You may not see or do this. If you came here by a form on another site, that is why."),
        404 => ("Nothing here", "There is no such page, or it is not yours, or its link was revoked."),
        405 => ("Not that way", "This address does not take that kind of request."),
        409 => {
            ("That does not fit any more", "Something changed in the meantime. Reload the page before and try again.")
        }
        410 => ("Not here any more", "There was something at this address, but it is gone."),
        413 => ("That is too much", "What was sent is larger than we take."),
        422 => ("That could not be used", "Something in what was sent is not valid."),
        429 => ("Too many tries", "Please wait a little, then try again."),
        503 => ("Busy or stopping", "Oleada cannot answer just now. Try again in a moment."),
        s if s >= 500 => ("Something went wrong on our side", "It has been logged. Trying again may help."),
        _ => ("That did not work", "The request could not be answered."),
    }
}

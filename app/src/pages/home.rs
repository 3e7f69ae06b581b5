//! The public front page.

use leptos::prelude::*;

use crate::shell::{Head, document};
use crate::view::Chrome;

/// What the front page shows.
#[derive(Clone, Debug, Default)]
pub struct HomePage {
    /// Nobody has an account yet: the first one will run this installation.
    pub first_account: bool,
    /// Whether people may make accounts themselves.
    pub sign_up_open: bool,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &HomePage) -> String {
    let head = Head { title: "Load testing that tells the truth".into(), ..Head::default() };
    let _ = page;
    document(chrome, &head, || view! { <h1>"Oleada"</h1> }.into_any())
}

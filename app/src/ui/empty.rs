//! What a page says when there is nothing yet: one sentence and the next step as one button.

use leptos::prelude::*;

/// An empty state.
pub fn empty(title: &'static str, text: &'static str, href: &'static str, button: &'static str) -> AnyView {
    view! {
        <div class="empty">
            <svg class="empty-art" viewBox="0 0 160 56" width="160" height="56" aria-hidden="true" focusable="false">
                <path d="M2 44c18 0 22-30 40-30s22 26 40 26s22-18 38-18s20 10 38 10" fill="none" stroke-width="3" stroke-linecap="round" />
                <path d="M2 54h156" fill="none" stroke-width="2" stroke-linecap="round" stroke-dasharray="2 6" />
            </svg>
            <h2>{title}</h2>
            <p>{text}</p>
            <a class="button" href=href>{button}</a>
        </div>
    }
    .into_any()
}

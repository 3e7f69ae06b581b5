//! Moments: UTC as written by the server, turned into the reader's zone by the page's script.

use leptos::prelude::*;

use crate::format::Utc;

/// A moment from unix milliseconds.
pub fn moment(unix_ms: i64) -> AnyView {
    let at = Utc::from_unix_ms(unix_ms);
    view! { <time datetime=at.iso()>{at.words()}</time> }.into_any()
}

/// A moment in a list, to the minute.
pub fn moment_short(unix_ms: i64) -> AnyView {
    let at = Utc::from_unix_ms(unix_ms);
    view! { <time datetime=at.iso() data-short="">{at.short()}</time> }.into_any()
}

/// A moment that may not have come.
pub fn maybe_moment(unix_ms: Option<i64>) -> AnyView {
    unix_ms.map_or_else(|| "–".into_any(), moment)
}

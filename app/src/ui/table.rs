//! Tables that scroll in their own box on narrow screens.

use leptos::prelude::*;

/// Wraps a table; `label` names the region for those who reach it by keyboard.
pub fn scroll(label: impl Into<String>, table: AnyView) -> AnyView {
    view! { <div class="table-box" role="region" tabindex="0" aria-label=label.into()>{table}</div> }.into_any()
}

/// Rows of a term and what it is.
pub fn facts(rows: Vec<(&'static str, AnyView)>) -> AnyView {
    let rows = rows.into_iter().map(|(term, what)| view! { <div><dt>{term}</dt><dd>{what}</dd></div> }).collect_view();
    view! { <dl class="facts">{rows}</dl> }.into_any()
}

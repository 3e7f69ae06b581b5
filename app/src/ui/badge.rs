//! States as word, shape and colour.

use leptos::prelude::*;

use crate::view::{HostState, RunState, SeriesState, state_shape};

fn badge(class: &'static str, word: String, title: &'static str) -> AnyView {
    view! {
        <span class=format!("badge {class}") title=title>
            <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
                <path d=state_shape(class) />
            </svg>
            {word}
        </span>
    }
    .into_any()
}

/// A run's state; the place in the queue is part of the word.
pub fn run_badge(state: RunState, position: Option<u32>) -> AnyView {
    let word = match position {
        Some(n) if state == RunState::Queued => format!("Queued, number {n}"),
        _ => state.label().to_owned(),
    };
    badge(state.class(), word, state.explanation())
}

/// A series' state.
pub fn series_badge(state: SeriesState) -> AnyView {
    let title = match state {
        SeriesState::Running => "Its runs are made one after the other.",
        SeriesState::Over => "No further run is made.",
        SeriesState::Stopped => "A person ended it; the runs that were left are not made.",
    };
    badge(state.class(), state.label().to_owned(), title)
}

/// A host's state.
pub fn host_badge(state: HostState) -> AnyView {
    let title = match state {
        HostState::Unverified => "Prove that the host is yours before you test it.",
        HostState::Verified => "You have proved that the host is yours; it is checked again before every run.",
        HostState::Lost => "The proof was not found at the last check.",
        HostState::Trusted => "A local or private address: this installation needs no proof for it.",
    };
    badge(state.class(), state.label().to_owned(), title)
}

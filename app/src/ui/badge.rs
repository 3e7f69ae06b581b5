//! States as word, shape and colour.

use leptos::prelude::*;

use crate::view::{HostState, RunState};

/// The shape of a state, so that it can be told without colour: ring, half, dot, tick, square, cross, bolt.
fn shape(class: &str) -> &'static str {
    match class {
        "queued" | "verifying" => "M8 2.5a5.500 5.500 0 1 0 0 11a5.500 5.500 0 1 0 0-11",
        "starting" | "draining" => "M8 2.500v11a5.500 5.500 0 1 0 0-11zM8 2.500a5.500 5.500 0 1 1 0 11",
        "running" => "M4.500 2.500l9 5.500l-9 5.500z",
        "finished" => "M3 8.500l3.500 3.500l6.500-8",
        "stopped" => "M3.500 3.500h9v9h-9z",
        "interrupted" => "M9 1.500l-5 7.500h3.500l-1 5.500l5.500-8h-3.500z",
        _ => "M4 4l8 8M12 4l-8 8",
    }
}

fn badge(class: &'static str, word: String, title: &'static str) -> AnyView {
    view! {
        <span class=format!("badge {class}") title=title>
            <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
                <path d=shape(class) />
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

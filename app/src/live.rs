//! What `/runs/{id}/events` sends: the names and JSON of its server-sent events, shared by server and island.
//!
//! | event | data | id |
//! |---|---|---|
//! | `second` | a [`Point`](oleada_engine::result::Point) | its `t` |
//! | `state` | a [`StateEvent`] | – |
//! | `done` | `over`: the report can be loaded (browsers drop events without data) | – |
//!
//! The island's first request says in `?after=<t>` which second it has already; when the browser connects again by itself,
//! `Last-Event-ID` says the same. Seconds that come twice are dropped.

use serde::{Deserialize, Serialize};

use crate::view::RunState;

/// Name of the event that carries one second.
pub const SECOND: &str = "second";
/// Name of the event that tells the state; sent at once on connecting and on every change.
pub const STATE: &str = "state";
/// Name of the last event.
pub const DONE: &str = "done";

/// Where the run is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateEvent {
    /// State.
    pub state: RunState,
    /// Place in the queue from 1, while queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// Seconds since load began; 0 before that.
    #[serde(default)]
    pub elapsed_s: f64,
    /// Planned length in seconds; absent for a fixed count without a time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Why the run ended, as in the result document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
}

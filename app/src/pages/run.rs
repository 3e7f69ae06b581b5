//! One run: live while it is under way, its report afterwards; for its owner, or for anybody who has the link.

use leptos::prelude::*;
use oleada_engine::result::{PlanDoc, Point, ResultDoc};

use crate::shell::{Head, document};
use crate::view::{Chrome, RunRow, RunState};

/// Who looks at a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner, with all controls.
    Owner {
        /// Path of the public link, such as `/r/{token}`, if there is one.
        share_path: Option<String>,
        /// The same with scheme and host, for copying.
        share_url: Option<String>,
    },
    /// Anybody who has the link.
    Public {
        /// The link's token.
        token: String,
    },
}

/// `GET /runs/{id}` and `GET /r/{token}`.
#[derive(Clone, Debug)]
pub struct RunPage {
    /// Id of the run; never shown on public pages.
    pub id: String,
    /// The test it belongs to; `None` once that was deleted.
    pub test_id: Option<String>,
    /// The test's name when the run was made.
    pub test_name: String,
    /// Where it is.
    pub state: RunState,
    /// Place in the queue from 1, while queued.
    pub position: Option<u32>,
    /// Why it was refused or interrupted, in a sentence.
    pub state_detail: Option<String>,
    /// When it was asked for, unix milliseconds.
    pub created_at: i64,
    /// When load began, unix milliseconds.
    pub started_at: Option<i64>,
    /// When it was over, unix milliseconds.
    pub finished_at: Option<i64>,
    /// Seconds of load so far.
    pub elapsed_s: f64,
    /// The plan as it may be shown: `PlanDoc::of` leaves secrets out.
    pub plan: PlanDoc,
    /// The seconds so far, in order; all of them once it is over.
    pub points: Vec<Point>,
    /// The result, once it is over and anything was measured.
    pub result: Option<ResultDoc>,
    /// Who looks.
    pub access: Access,
    /// Earlier runs of the same test to compare with, newest first; empty on public pages.
    pub siblings: Vec<RunRow>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &RunPage) -> String {
    document(chrome, &Head::private(page.test_name.clone()), || view! { <h1>{page.test_name.clone()}</h1> }.into_any())
}

//! Two to eight runs side by side.

use leptos::prelude::*;
use oleada_engine::result::{PlanDoc, Point, ResultDoc};

use crate::shell::{Head, document};
use crate::view::{Chrome, RunRow, RunState};

/// One run to compare.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Id.
    pub id: String,
    /// The test's name.
    pub test_name: String,
    /// Where it is; runs that are not over are shown as far as they are.
    pub state: RunState,
    /// When load began, unix milliseconds.
    pub started_at: Option<i64>,
    /// What ran.
    pub plan: PlanDoc,
    /// Its result, if anything was measured.
    pub result: Option<ResultDoc>,
    /// Its seconds.
    pub points: Vec<Point>,
}

/// `GET /compare?run=a&run=b`.
#[derive(Clone, Debug, Default)]
pub struct ComparePage {
    /// The runs in the order asked for; the first is what the others are compared with. Fewer than two shows the chooser alone.
    pub runs: Vec<ComparedRun>,
    /// Latest runs to choose from.
    pub candidates: Vec<RunRow>,
    /// What was wrong with the choice, in a sentence (unknown run, more than eight).
    pub problem: Option<String>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &ComparePage) -> String {
    let _ = page;
    document(chrome, &Head::private("Compare runs"), || view! { <h1>"Compare runs"</h1> }.into_any())
}

//! The islands: all that reaches the browser. Each draws the same on the server, so a page is complete before (and without) them.

pub mod chart_view;
pub mod live_report;
pub mod load_preview;
pub mod run_chart;

pub use live_report::LiveReport;
pub use load_preview::LoadPreview;
pub use run_chart::{Choosing, RunChart};

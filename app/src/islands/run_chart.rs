//! A finished chart.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::chart::Chart;

/// Whether a part of the run can be chosen on its chart, and which is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choosing {
    /// Choosing leads to this page with `?from=…&to=…`.
    pub possible: bool,
    /// The seconds that are shown now, the last not included.
    pub chosen: Option<(u32, u32)>,
}

/// A chart whose data does not change any more.
#[island]
pub fn RunChart(
    /// What it shows.
    chart: Chart,
    /// Choosing a part of the run.
    #[prop(optional)]
    choosing: Option<Choosing>,
) -> impl IntoView {
    let chart = RwSignal::new(chart);
    super::chart_view::choosable(chart.into(), choosing.unwrap_or_default())
}

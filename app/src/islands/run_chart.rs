//! A finished chart.

use leptos::prelude::*;

use crate::chart::Chart;

/// A chart whose data does not change any more.
#[island]
pub fn RunChart(
    /// What it shows.
    chart: Chart,
) -> impl IntoView {
    let chart = RwSignal::new(chart);
    super::chart_view::figure(chart.into())
}

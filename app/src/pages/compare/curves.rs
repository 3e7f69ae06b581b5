//! The runs' seconds over each other: along time, or along load.

use leptos::prelude::*;
use oleada_engine::result::Point;

use super::{Align, ComparePage, name};
use crate::chart::by_load::{ByLoad, LoadOf};
use crate::chart::report;
use crate::islands::RunChart;
use crate::ui::chart::still;

/// Samples of a line; eight runs over each other need fewer.
const COLUMNS: usize = 450;

type Pick = fn(&Point) -> Option<f64>;

const TIMES: [(&str, &str, Pick); 3] = [
    ("c-p50", "Median response time (p50)", |p| p.p50),
    ("c-p95", "95th percentile (p95)", |p| p.p95),
    ("c-p99", "99th percentile (p99)", |p| p.p99),
];

/// The charts, and the choice of what they go along.
pub(super) fn curves(page: &ComparePage) -> AnyView {
    let named: Vec<(String, &[Point])> =
        page.runs.iter().enumerate().map(|(i, r)| (name(i, r), r.points.as_slice())).collect();
    if named.iter().all(|(_, points)| points.is_empty()) {
        return view! { <p class="muted">"None of these runs has any seconds to draw."</p> }.into_any();
    }
    let link = |align, words: &'static str| {
        let current = (page.align == align).then_some("true");
        let href = format!("{}#curves-title", page.href(0..page.runs.len(), align));
        view! { <a class="button quiet small" href=href aria-current=current>{words}</a> }
    };
    let charts = match page.align {
        Align::Time => along_time(page, &named),
        Align::Load => along_load(page, &named),
    };
    view! {
        <nav class="align no-print" aria-label="What the charts go along">
            {link(Align::Time, "By time")}
            {link(Align::Load, "By load")}
        </nav>
        {charts}
    }
    .into_any()
}

fn along_time(page: &ComparePage, named: &[(String, &[Point])]) -> AnyView {
    let stretch = page.runs.iter().map(|run| run.stretch).max().unwrap_or(1);
    let chart = |id: &str, title: &str, unit: &str, pick: Pick| {
        let mut chart = report::overlay(id, title, unit, named, pick);
        if stretch > 1 {
            // No line breaks between neighbours of two stretches.
            chart.step_s = f64::from(stretch) * 2.0;
        }
        chart.thinned(COLUMNS)
    };
    view! {
        <p class="muted">"Every run begins at 0:00, whenever it was started."</p>
        {TIMES.map(|(id, title, pick)| view! { <RunChart chart=chart(id, title, "ms", pick) /> }).collect_view()}
        <RunChart chart=chart("c-clients", "Clients", "", |p| Some(p.clients)) />
    }
    .into_any()
}

/// In open loads the plan says how much is asked for; elsewhere the clients do.
fn along_load(page: &ComparePage, named: &[(String, &[Point])]) -> AnyView {
    let load = if page.runs.iter().all(|run| run.plan.load.is_open()) { LoadOf::Planned } else { LoadOf::Clients };
    let charts = TIMES.map(|(id, title, pick)| still(ByLoad::of(id, title, "ms", named, load, pick).still()));
    let rate = ByLoad::of("c-rate", "Requests answered ok in that second", "", named, load, |p| Some(p.ok as f64));
    view! {
        <p class="muted">"A mark is a second of a run: how slow it was at that load."</p>
        {charts.collect_view()}
        {still(rate.still())}
    }
    .into_any()
}

//! A report as a small frame in pages of others: headline figures, the chart, a link. No script, no form.

use leptos::prelude::*;

use super::run::{RunPage, summary};
use crate::chart::{Viewport, svg};
use crate::shell::{Head, frame};
use crate::ui::badge::run_badge;
use crate::ui::words;
use crate::view::Chrome;

/// Samples a line may have per column of a drawing.
const COLUMNS: usize = 900;

/// `GET /r/{token}/embed`. `url` is the report's address with scheme and host.
pub fn render(chrome: &Chrome, page: &RunPage, url: &str) -> String {
    let head = Head { title: page.test_name.clone(), private: true, refresh_s: None, ..Head::default() };
    frame(chrome, &head, || {
        view! {
            <header class="embed-head">
                <h1 class="break"><a href=url.to_owned() target="_top">{page.test_name.clone()}</a></h1>
                {run_badge(page.state, page.position)}
            </header>
            <p class="muted">{words::plan_sentence(&page.plan)}{page.result.as_ref().map(|result| format!("; {}", summary::limit(result)))}</p>
            {page.result.as_ref().map(|result| {
                let figures = summary::figures(result)
                    .into_iter()
                    .map(|(label, value)| view! { <div class="figure"><dt>{label}</dt><dd>{value}</dd></div> })
                    .collect_view();
                view! { <dl class="figures">{figures}</dl> }
            })}
            {chart(page)}
            <p class="embed-foot"><a href=url.to_owned() target="_top">"Full report"</a>" – made with Oleada"</p>
        }
        .into_any()
    })
}

fn chart(page: &RunPage) -> AnyView {
    let chart = summary::chart("embed", page).thinned(COLUMNS);
    if chart.moments().is_empty() {
        return ().into_any();
    }
    let hidden = chart.initially_hidden();
    let draw = |base: Viewport, height: f64, suffix: &str| {
        svg::write(&chart.scene(&Viewport { height, hidden: hidden.clone(), ..base }), suffix)
    };
    let (wide, narrow) = (draw(Viewport::wide(), 270.0, "w"), draw(Viewport::narrow(), 220.0, "n"));
    let legend = chart
        .series
        .iter()
        .zip(&hidden)
        .filter(|(_, hidden)| !**hidden)
        .map(|(series, _)| view! { <span class=format!("legend {}", series.class)><span class="swatch"></span><span>{series.label.clone()}</span></span> })
        .collect_view();
    view! {
        <div class="legend-row">{legend}</div>
        <div class="chart-stage">
            <div class="drawing wide" inner_html=wide></div>
            <div class="drawing narrow" inner_html=narrow></div>
        </div>
    }
    .into_any()
}

/// The same frame where there is nothing to show.
pub fn render_gone(chrome: &Chrome, sentence: &str) -> String {
    let head = Head { title: "Load test report".into(), private: true, ..Head::default() };
    frame(chrome, &head, || {
        view! {
            <h1>"This report is not here any more"</h1>
            <p>{sentence.to_owned()}</p>
        }
        .into_any()
    })
}

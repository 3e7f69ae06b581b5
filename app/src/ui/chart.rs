//! Charts that need no script.

use leptos::prelude::*;

use crate::chart::plane::Still;

/// Draws a chart that does not move.
pub fn still(chart: Still) -> AnyView {
    let legend = chart.legend.into_iter().map(|(class, mark, words)| {
        view! { <span class=format!("legend {class}")><span inner_html=mark></span><span class="name">{words}</span></span> }
    });
    let legend = legend.collect_view();
    let [wide, over_wide] = chart.wide;
    let [narrow, over_narrow] = chart.narrow;
    view! {
        <figure class="chart">
            <div class="chart-head"><figcaption>{chart.title}</figcaption></div>
            <div class="legend-row">{legend}</div>
            <div class="chart-stage still">
                <div class="drawing wide" inner_html=wide></div>
                <div class="over wide" inner_html=over_wide></div>
                <div class="drawing narrow" inner_html=narrow></div>
                <div class="over narrow" inner_html=over_narrow></div>
            </div>
            <p class="chart-says">{chart.says}</p>
        </figure>
    }
    .into_any()
}

//! The panel of downloads, for the owner and on public pages.

use leptos::prelude::*;

use super::RunPage;

/// A download: its file name below `/export/`, and what it is.
pub struct Download {
    /// File name, such as `seconds.csv`.
    pub file: &'static str,
    /// What it holds, in words.
    pub words: &'static str,
}

/// Every download, in the order they are offered.
pub const DOWNLOADS: &[Download] = &[
    Download { file: "result.json", words: "all figures, with every second" },
    Download { file: "seconds.csv", words: "one row a second, for spreadsheets" },
    Download { file: "errors.csv", words: "what failed, and how often" },
    Download { file: "percentiles.csv", words: "response times from 0 to 100 %, as ab -e writes them" },
    Download { file: "requests.tsv", words: "for gnuplot, in the columns of ab -g" },
    Download { file: "latency.hlog", words: "HdrHistogram interval log, exact response times of every second" },
    Download { file: "junit.xml", words: "limits as test cases, for a build server" },
    Download { file: "response-times.svg", words: "chart of response times, as a drawing" },
    Download { file: "response-times.png", words: "the same as a picture" },
    Download { file: "throughput.svg", words: "chart of requests per second, as a drawing" },
    Download { file: "throughput.png", words: "the same as a picture" },
];

/// Draws the panel; nothing before there is a result.
pub(super) fn panel(page: &RunPage) -> AnyView {
    if page.result.is_none() {
        return ().into_any();
    }
    let path = page.path();
    let rows = DOWNLOADS
        .iter()
        .map(|Download { file, words }| {
            view! { <li><a href=format!("{path}/export/{file}") download="">{*file}</a><span class="muted">" – "{*words}</span></li> }
        })
        .collect_view();
    view! {
        <section class="no-print" aria-labelledby="export-title">
            <h2 id="export-title">"Downloads"</h2>
            <ul class="downloads plain">{rows}</ul>
            <p class="muted">"To keep it on paper or as a PDF, print this page."</p>
        </section>
    }
    .into_any()
}

//! The public front page.

use leptos::prelude::*;
use oleada_engine::result::Point;

use crate::chart::overview::Facts;
use crate::chart::report::{self, Timing};
use crate::chart::{Viewport, svg};
use crate::shell::{Head, document};
use crate::view::Chrome;

/// What the front page shows.
#[derive(Clone, Debug, Default)]
pub struct HomePage {
    /// Nobody has an account yet: the first one will run this installation.
    pub first_account: bool,
    /// Whether people may make accounts themselves.
    pub sign_up_open: bool,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &HomePage) -> String {
    let head = Head {
        title: "Load testing that tells the truth".into(),
        description: "Open, self-hosted load testing: prove a host is yours, define a test in a form, watch it live, share and compare the reports.".into(),
        private: false,
        class: "home",
        ..Head::default()
    };
    document(chrome, &head, || body(page))
}

fn body(page: &HomePage) -> AnyView {
    let (href, label) = match (page.first_account, page.sign_up_open) {
        (true, _) => ("/sign-up", "Set up this installation"),
        (false, true) => ("/sign-up", "Start testing"),
        (false, false) => ("/sign-in", "Sign in"),
    };
    view! {
        <section class="hero">
            <div class="hero-text">
                <h1>"Know how much your site can take"</h1>
                <p class="lead">
                    "Oleada sends real traffic at a pace you choose, shows response times and clients while it happens, and gives every planned request an account of what became of it."
                </p>
                <p class="hero-actions">
                    <a class="button large" href=href>{label}</a>
                    {(page.sign_up_open || page.first_account).then(|| view! { <a class="button quiet large" href="/sign-in">"Sign in"</a> })}
                </p>
            </div>
            <figure class="hero-chart chart">
                <div class="chart-head"><figcaption>"Response time and clients"</figcaption><span class="tag">"Example data"</span></div>
                {example()}
            </figure>
        </section>
        <section class="steps" aria-labelledby="steps-title">
            <h2 id="steps-title">"From nothing to a report in three minutes"</h2>
            <ol>
                <li><h3>"Prove the host is yours"</h3><p>"Put a small file, a DNS record or a meta tag where we can see it. It is checked again before every run, so nobody else can point load at you."</p></li>
                <li><h3>"Say how much"</h3><p>"So many clients over the test, so many each second, a number held at once, or a fixed count of requests. A preview shows what will happen."</p></li>
                <li><h3>"Watch, share, compare"</h3><p>"Percentiles second by second while it runs; afterwards a report you can send as a link and lay beside the next one."</p></li>
            </ol>
        </section>
        <section class="claims" aria-labelledby="claims-title">
            <h2 id="claims-title">"Numbers you can argue with"</h2>
            <ul>
                <li><strong>"Nothing is lost."</strong>" Planned is sent plus dropped, and everything sent ends as answered, failed or cut. The sums are on the report."</li>
                <li><strong>"Waiting counts."</strong>" Where clients arrive by the clock, a response time runs from the moment planned, not from when a free connection was found."</li>
                <li><strong>"Percentiles are exact ranks."</strong>" They are never averaged and never interpolated; where there is no value there is a dash."</li>
                <li><strong>"The generator confesses."</strong>" If the machine that made the load was the limit, the report says so on top."</li>
            </ul>
        </section>
    }
    .into_any()
}

/// Invented, and labelled so: a site that copes until about forty clients.
fn example() -> AnyView {
    let points: Vec<Point> = (0..60u32)
        .map(|t| {
            let answers = !(44..46).contains(&t);
            let x = f64::from(t);
            let wave = (x * 0.9).sin() * 3.0 + (x * 2.3).sin() * 2.0;
            let strain = if t > 38 { (x - 38.0).powf(1.45) * 3.2 } else { 0.0 };
            let p50 = 22.0 + wave + strain * 0.35;
            let p95 = 41.0 + wave * 1.7 + strain;
            Point {
                t,
                sent: 400,
                ok: if t > 46 { 385 } else { 400 },
                errors: if t > 46 { u64::from(t % 3) * 9 + 4 } else { 0 },
                clients: (1.0 + x * 0.85).round(),
                p50: answers.then_some(p50),
                p95: answers.then_some(p95),
                p99: answers.then_some(p95 + 18.0 + wave.abs() * 2.0 + strain * 0.6),
                max: answers.then_some(p95 + 60.0),
                ..Point::default()
            }
        })
        .collect();
    let mut chart = report::response_times("example", &points, Timing::live(1, None), &Facts::of(&points, 1));
    chart.title = "Example: response time and clients".into();
    let hidden = chart.series.iter().map(|s| s.class == "s-max").collect();
    let wide = Viewport { width: 620.0, height: 330.0, hidden, ..Viewport::wide() };
    view! {
        <div class="drawing" inner_html=svg::write(&chart.scene(&wide), "e")></div>
        <ul class="legend-row plain" aria-hidden="true">
            <li class="legend s-p50"><span class="swatch"></span>"p50"</li>
            <li class="legend s-p95"><span class="swatch"></span>"p95"</li>
            <li class="legend s-p99"><span class="swatch"></span>"p99"</li>
            <li class="legend s-clients"><span class="swatch"></span>"Clients"</li>
            <li class="legend s-errors"><span class="swatch"></span>"Errors"</li>
        </ul>
    }
    .into_any()
}

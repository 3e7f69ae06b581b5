//! A series of runs, or the search for a capacity: how far it is, its table, and its figures against the size.

use leptos::prelude::*;
use oleada_engine::capacity::{Answer, Found};
use oleada_engine::limit::LimitSpec;
use oleada_engine::plan::{Load, Reuse, limits};
use oleada_engine::result::PlanDoc;
use oleada_engine::series::{How, Place, SeriesSpec, Varies};
use oleada_engine::verdict::LimitedBy;

use crate::chart::Viewport;
use crate::chart::xy::{Sign, Xy, XyLine, XyPoint};
use crate::format;
use crate::shell::{Head, document};
use crate::ui::badge::{run_badge, series_badge};
use crate::ui::runs::limits_word;
use crate::ui::table::{facts, scroll};
use crate::ui::time::{maybe_moment, moment};
use crate::ui::words;
use crate::view::{Chrome, Figures, RunRow, SeriesState};

/// One place of a series, with the run that was made for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRun {
    /// The place.
    pub place: Place,
    /// Its latest run; `None` where none was made.
    pub run: Option<RunRow>,
    /// What limited it.
    pub limited_by: Option<LimitedBy>,
    /// What it said of the limits; `None` until it is over, or if it was interrupted.
    pub answer: Option<Answer>,
}

/// `GET /series/{id}`.
#[derive(Clone, Debug)]
pub struct SeriesPage {
    /// Id.
    pub id: String,
    /// The test; `None` once that was deleted.
    pub test_id: Option<String>,
    /// The test's name when the series was asked for.
    pub test_name: String,
    /// What varies, and how.
    pub spec: SeriesSpec,
    /// The plan as it may be shown, with the size it has in the test.
    pub plan: PlanDoc,
    /// Where it is.
    pub state: SeriesState,
    /// A sentence, where it ended before its end.
    pub detail: Option<String>,
    /// Every place so far known, in order.
    pub runs: Vec<SeriesRun>,
    /// What a search found.
    pub found: Option<Found>,
    /// When the pause before the next run is over, unix milliseconds; `None` outside of a pause.
    pub waits_until: Option<i64>,
    /// When it was asked for, unix milliseconds.
    pub created_at: i64,
    /// When it was over, unix milliseconds.
    pub ended_at: Option<i64>,
}

/// Seconds after which a page under way loads itself again.
const RELOAD_S: u32 = 4;

/// What a number of sizes is called: `1 client`, `850 requests per second`.
pub fn size_words(size: f64, varies: Varies, plan: &PlanDoc) -> String {
    let one = if size == 1.0 { "client" } else { "clients" };
    let unit = match varies {
        Varies::Requests if size == 1.0 => "request".to_owned(),
        Varies::Requests => "requests".to_owned(),
        Varies::Rate if plan.requests.len() == 1 || plan.order.is_some() => "requests per second".to_owned(),
        Varies::Rate => "clients per second".to_owned(),
        Varies::Clients if matches!(plan.load, Load::PerTest { .. }) => format!("{one} per test"),
        Varies::Clients => format!("{one} at once"),
    };
    format!("{} {unit}", format::number(size))
}

/// What varies, as a column's or axis' title.
pub fn varies_label(varies: Varies, load: Load) -> &'static str {
    match varies {
        Varies::Requests => "Requests",
        Varies::Rate => "Clients per second",
        Varies::Clients if matches!(load, Load::PerTest { .. }) => "Clients per test",
        Varies::Clients => "Clients at once",
    }
}

/// What a series is, in a list: `Clients at once: 10, 20, 50` or `Capacity for p95≤300ms`.
pub fn what(spec: &SeriesSpec, load: Load) -> String {
    match &spec.how {
        How::Sizes { sizes, both_reuses } => {
            let list: Vec<String> = sizes.iter().map(|s| format::number(*s)).collect();
            let twice = if *both_reuses { ", with and without keep-alive" } else { "" };
            format!("{}: {}{twice}", varies_label(spec.varies, load), list.join(", "))
        }
        How::Capacity { limits, .. } => format!("Capacity for {}", kept_words(limits)),
    }
}

/// `p95≤300ms and errors≤1%`.
fn kept_words(limits: &[LimitSpec]) -> String {
    let one = |limit: &LimitSpec| match limit.request {
        Some(n) => format!("{} for request {}", limit.condition.kept_words(), n + 1),
        None => limit.condition.kept_words(),
    };
    limits.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// What a search found, in a sentence, and its class.
fn found_sentence(page: &SeriesPage, limits: &[LimitSpec]) -> Option<(&'static str, String)> {
    let (kept, size) = (kept_words(limits), |size: f64| size_words(size, page.spec.varies, &page.plan));
    Some(match page.found? {
        Found::Capacity { size: most, broken_at: Some(broken) } => (
            "good",
            format!(
                "The target keeps {kept} up to {} (confirmed). At {} it did not.",
                size(most),
                format::number(broken)
            ),
        ),
        Found::Capacity { size: most, broken_at: None } => (
            "good",
            format!(
                "The target keeps {kept} up to at least {} (confirmed), the most that this search may try.",
                size(most)
            ),
        ),
        Found::Nothing { size: least } => (
            "bad",
            format!("Even the smallest size, {}, breaks a limit: the target does not keep {kept}.", size(least)),
        ),
        Found::Generator { kept: Some(most), at } => (
            "warn",
            format!(
                "The target keeps {kept} up to at least {}: at {} the generator was the limit, so the search ended there.",
                size(most),
                format::number(at)
            ),
        ),
        Found::Generator { kept: None, at } => (
            "warn",
            format!(
                "Nothing can be said about the target: at {}, the smallest size, the generator was the limit already.",
                size(at)
            ),
        ),
    })
}

/// The first of several runs, spread evenly, as many as fit side by side: the address of their comparison.
fn compare_href(runs: &[SeriesRun]) -> Option<(usize, String)> {
    let ids: Vec<&str> =
        runs.iter().filter_map(|r| r.run.as_ref()).filter(|r| r.figures.is_some()).map(|r| &*r.id).collect();
    let (fewest, most) = limits::COMPARED_RUNS;
    if ids.len() < fewest {
        return None;
    }
    let shown = ids.len().min(most);
    let pick = |n: usize| ids[n * (ids.len() - 1) / (shown - 1)];
    let pairs: Vec<String> = (0..shown).map(|n| format!("run={}", pick(n))).collect();
    Some((shown, format!("/compare?{}", pairs.join("&"))))
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &SeriesPage) -> String {
    let capacity = matches!(page.spec.how, How::Capacity { .. });
    let kind = if capacity { "Capacity of" } else { "Series of" };
    let running = page.state == SeriesState::Running;
    let head = Head { reload_s: running.then_some(RELOAD_S), ..Head::private(format!("{kind} {}", page.test_name)) };
    document(chrome, &head.class("wide"), || {
        view! {
            {crumbs(page)}
            <div class="page-head">
                <div>
                    <h1 class="break">{format!("{kind} {}", page.test_name)}</h1>
                    <p class="run-line">{series_badge(page.state)} <span>{what(&page.spec, page.plan.load)}</span></p>
                </div>
                {actions(page)}
            </div>
            {progress(page)}
            {summary(page)}
            {page.detail.clone().map(|text| view! { <div class="note-box warn"><p>{text}</p></div> })}
            {plots(page)}
            <section aria-labelledby="runs-title">
                <h2 id="runs-title">{if capacity { "Steps" } else { "Runs" }}</h2>
                {table(page)}
            </section>
            {settings(page)}
            {(!running).then(|| view! {
                <section class="danger no-print">
                    <h2>"Delete this series"</h2>
                    <p>"Its runs and their reports stay."</p>
                    <form method="post" action=format!("/series/{}/delete", page.id) data-confirm="Delete this series? Its runs stay.">
                        <button class="button danger" type="submit">"Delete series"</button>
                    </form>
                </section>
            })}
        }
        .into_any()
    })
}

fn crumbs(page: &SeriesPage) -> AnyView {
    let test = page
        .test_id
        .as_ref()
        .map(|id| view! { " / "<a class="break" href=format!("/tests/{id}")>{page.test_name.clone()}</a> });
    view! { <p class="crumbs"><a href="/tests">"Tests"</a>{test}</p> }.into_any()
}

fn actions(page: &SeriesPage) -> AnyView {
    let path = format!("/series/{}", page.id);
    let compare = compare_href(&page.runs).map(|(count, href)| {
        let words = if count < page.runs.len() {
            format!("Compare {count} of its runs")
        } else {
            "Compare its runs".to_owned()
        };
        view! { <a class="button quiet" href=href>{words}</a> }
    });
    let again = if matches!(page.spec.how, How::Capacity { .. }) { "capacity" } else { "series" };
    view! {
        <div class="actions no-print">
            {if page.state == SeriesState::Running {
                view! { <form method="post" action=format!("{path}/stop")><button class="button danger" type="submit">"Stop the series"</button></form> }.into_any()
            } else {
                page.test_id.as_ref().map(|id| view! { <a class="button" href=format!("/tests/{id}/{again}")>"Another one"</a> }).into_any()
            }}
            {compare}
            <a class="button quiet" href=format!("{path}/table.csv")>"CSV"</a>
        </div>
    }
    .into_any()
}

fn progress(page: &SeriesPage) -> Option<AnyView> {
    if page.state != SeriesState::Running {
        return None;
    }
    let over = page.runs.iter().filter(|r| r.run.as_ref().is_some_and(|run| run.state.is_over())).count() as u64;
    let all = page.runs.len() as u64;
    let now = page.runs.iter().filter_map(|r| Some((r.place, r.run.as_ref()?))).find(|(_, run)| !run.state.is_over());
    let doing = match (now, page.waits_until) {
        (Some((place, run)), _) => {
            let size = size_words(place.size, page.spec.varies, &page.plan);
            view! { "Now: "<a href=format!("/runs/{}", run.id)>{size}</a>", "{run.state.label().to_lowercase()}"." }
                .into_any()
        }
        (None, Some(until)) => view! { "Pause until "{moment(until)}"." }.into_any(),
        (None, None) => "The next run is about to be queued.".into_any(),
    };
    let words = match page.spec.how {
        How::Sizes { .. } => format!("{} of {} are over. ", format::count(over), format::plural(all, "run", "runs")),
        How::Capacity { .. } => format!("{} so far. ", format::plural(over, "run", "runs")),
    };
    let bar = matches!(page.spec.how, How::Sizes { .. }).then(|| {
        view! { <progress class="progress" value=over.to_string() max=all.to_string() aria-label="Runs that are over"></progress> }
    });
    Some(view! { <div class="live-state" role="status"><p class="state-line">{words}<span>{doing}</span></p>{bar}</div> }.into_any())
}

/// What came of it, on top.
fn summary(page: &SeriesPage) -> AnyView {
    let How::Capacity { limits, .. } = &page.spec.how else { return ().into_any() };
    let (class, text) = match found_sentence(page, limits) {
        Some(found) => found,
        None if page.state == SeriesState::Running => return ().into_any(),
        None => ("warn", "The search ended before it found anything.".to_owned()),
    };
    view! { <div class=format!("note-box {class}") role="status"><p><strong>{text}</strong></p></div> }.into_any()
}

/// A figure of a run.
type Pick = fn(&Figures) -> Option<f64>;

fn line(page: &SeriesPage, label: &str, class: &'static str, reuse: Option<Reuse>, pick: Pick) -> XyLine {
    let search = matches!(page.spec.how, How::Capacity { .. });
    let points = page.runs.iter().filter(|r| r.place.reuse == reuse).filter_map(|r| {
        let sign = match r.answer? {
            _ if !search => Sign::Dot,
            Answer::Kept => Sign::Kept,
            Answer::Broken => Sign::Broken,
            Answer::Generator => Sign::Open,
        };
        let y = pick(r.run.as_ref()?.figures.as_ref()?)?;
        Some(XyPoint { x: r.place.size, y, sign })
    });
    XyLine { label: label.to_owned(), class, points: points.collect() }
}

fn plots(page: &SeriesPage) -> AnyView {
    let (rate, p50, p95): (Pick, Pick, Pick) = (|f| f.requests_per_second, |f| f.p50, |f| f.p95);
    let both = matches!(page.spec.how, How::Sizes { both_reuses: true, .. });
    let (on, off) = (Some(Reuse::Client), Some(Reuse::Off));
    let (rates, times) = if both {
        (
            vec![
                line(page, "Keep-alive", "r-0", on, rate),
                line(page, "New connection for every request", "r-1", off, rate),
            ],
            vec![
                line(page, "p50, keep-alive", "r-0", on, p50),
                line(page, "p95, keep-alive", "r-2", on, p95),
                line(page, "p50, new connections", "r-1", off, p50),
                line(page, "p95, new connections", "r-4", off, p95),
            ],
        )
    } else {
        (
            vec![line(page, "Requests per second", "s-ok", None, rate)],
            vec![line(page, "p50", "s-p50", None, p50), line(page, "p95", "s-p95", None, p95)],
        )
    };
    let bottom = varies_label(page.spec.varies, page.plan.load).to_owned();
    let rates = Xy {
        id: "series-rate",
        title: "Requests per second by size".to_owned(),
        bottom: bottom.clone(),
        left: "Answered requests per second".to_owned(),
        unit: "requests per second",
        lines: rates,
    };
    let times = Xy {
        id: "series-time",
        title: "Response time by size".to_owned(),
        bottom,
        left: "Response time in ms".to_owned(),
        unit: "ms",
        lines: times,
    };
    if rates.is_empty() {
        return view! { <p class="muted">"The first figures come when the first run is over."</p> }.into_any();
    }
    let search = matches!(page.spec.how, How::Capacity { .. });
    view! { <div class="columns">{figure(&rates, search)}{figure(&times, search)}</div> }.into_any()
}

fn figure(xy: &Xy, search: bool) -> AnyView {
    let legend = xy.lines.iter().map(|line| {
        view! { <span class=format!("legend {}", line.class)><span class="swatch"></span><span class="name">{line.label.clone()}</span></span> }
    });
    let signs = search.then(|| {
        view! {
            <span class="legend xy-kept"><span class="sign">"●"</span>"limits kept"</span>
            <span class="legend xy-broken"><span class="sign">"✕"</span>"limit broken"</span>
            <span class="legend xy-open"><span class="sign">"△"</span>"generator was the limit"</span>
        }
    });
    view! {
        <figure class="chart">
            <div class="chart-head"><figcaption>{xy.title.clone()}</figcaption></div>
            <div class="legend-row">{legend.collect_view()}{signs}</div>
            <div class="chart-stage">
                <div class="drawing wide" inner_html=xy.svg(&Viewport::wide(), "w")></div>
                <div class="drawing narrow" inner_html=xy.svg(&Viewport::narrow(), "n")></div>
            </div>
            <p class="chart-says">{xy.description()}</p>
        </figure>
    }
    .into_any()
}

fn limited_words(by: Option<LimitedBy>) -> &'static str {
    match by {
        Some(LimitedBy::None) => "nothing",
        Some(LimitedBy::Target) => "the target",
        Some(LimitedBy::Generator) => "the generator",
        Some(LimitedBy::Plan) => "the plan",
        None => format::NONE,
    }
}

fn table(page: &SeriesPage) -> AnyView {
    let both = matches!(page.spec.how, How::Sizes { both_reuses: true, .. });
    let search = matches!(page.spec.how, How::Capacity { .. });
    if page.runs.is_empty() {
        return view! { <p class="muted">"No run was made."</p> }.into_any();
    }
    let rows = page.runs.iter().map(|r| row(page, r, both, search)).collect_view();
    let table = view! {
        <table class="data series">
            <caption class="visually-hidden">"The runs of this series"</caption>
            <thead>
                <tr>
                    <th scope="col" class="num">{varies_label(page.spec.varies, page.plan.load)}</th>
                    {both.then(|| view! { <th scope="col">"Connections"</th> })}
                    {search.then(|| view! { <th scope="col">"Why"</th> })}
                    <th scope="col">"State"</th>
                    <th scope="col" class="num">"Requests/s"</th>
                    <th scope="col" class="num">"p50, ms"</th>
                    <th scope="col" class="num">"p95, ms"</th>
                    <th scope="col" class="num">"p99, ms"</th>
                    <th scope="col" class="num">"Errors"</th>
                    <th scope="col">"Limited by"</th>
                    <th scope="col">"Report"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    };
    scroll("The runs of this series", table.into_any())
}

fn row(page: &SeriesPage, r: &SeriesRun, both: bool, search: bool) -> AnyView {
    let run = r.run.as_ref();
    let Figures { requests_per_second, p50, p95, p99, error_rate } = run.and_then(|r| r.figures).unwrap_or_default();
    let state = match run {
        Some(run) => view! { {run_badge(run.state, run.position)}{limits_word(run.passed)} }.into_any(),
        None if page.state == SeriesState::Running => view! { <span class="muted">"waits for its turn"</span> }.into_any(),
        None => view! { <span class="muted">"not run: the series was "{if page.state == SeriesState::Stopped { "stopped" } else { "ended" }}</span> }.into_any(),
    };
    let size = format::number(r.place.size);
    let label = format!("Report of the run at {size}");
    view! {
        <tr>
            <th scope="row" class="num">{size}</th>
            {both.then(|| view! { <td>{if r.place.reuse == Some(Reuse::Off) { "new each time" } else { "kept alive" }}</td> })}
            {search.then(|| view! { <td>{if r.place.confirms { "confirms" } else { "step" }}</td> })}
            <td>{state}</td>
            <td class="num">{format::maybe(requests_per_second)}</td>
            <td class="num">{format::maybe(p50)}</td>
            <td class="num">{format::maybe(p95)}</td>
            <td class="num">{format::maybe(p99)}</td>
            <td class="num">{format::percent(error_rate)}</td>
            <td>{limited_words(r.limited_by)}</td>
            <td>{run.map(|run| view! { <a href=format!("/runs/{}", run.id) aria-label=label>"Report"</a> })}</td>
        </tr>
    }
    .into_any()
}

fn settings(page: &SeriesPage) -> AnyView {
    let text = |text: String| text.into_any();
    let mut rows = vec![
        ("Test", text(format!("{}, requesting {}", words::plan_sentence(&page.plan), words::targets(&page.plan)))),
        ("Varies", text(varies_label(page.spec.varies, page.plan.load).to_owned())),
    ];
    if let How::Capacity { search, limits, run_s, confirm_s } = &page.spec.how {
        let length = |s: Option<f64>| s.map_or_else(|| "as the test says".to_owned(), format::duration_s);
        rows.push(("Has to keep", text(kept_words(limits))));
        rows.push(("Searched", text(format!("from {} to {}", format::number(search.from), format::number(search.to)))));
        rows.push(("Precision", text(format!("{} %", format::number(search.precision * 100.0)))));
        rows.push(("Length of a run", text(length(*run_s))));
        rows.push(("Confirming run", text(length(confirm_s.or(*run_s)))));
    }
    if page.spec.pause_s > 0.0 {
        rows.push(("Pause", text(format!("{} between two runs", format::duration_s(page.spec.pause_s)))));
    }
    rows.push(("Asked for", moment(page.created_at)));
    rows.push(("Ended", maybe_moment(page.ended_at)));
    view! { <section aria-labelledby="settings-title"><h2 id="settings-title">"Settings"</h2>{facts(rows)}</section> }
        .into_any()
}

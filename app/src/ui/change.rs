//! What can be said of changes between two runs, in words.

use leptos::prelude::*;
use oleada_engine::significance::{Change, FEWEST_SAMPLES, FEWEST_SECONDS, Figure, Finding, Shortage};

use super::time::moment;
use crate::format;

/// A run and how it differs from the baseline of its test.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// Id of the baseline.
    pub baseline_id: String,
    /// When the baseline began, unix milliseconds.
    pub at: i64,
    /// Id of the run that is compared with it.
    pub run_id: String,
    /// How it differs; `None` if one of them has measured nothing.
    pub changes: Option<[Change; 5]>,
}

impl Against {
    /// The comparison of the two.
    pub fn href(&self) -> String {
        format!("/compare?run={}&run={}", self.baseline_id, self.run_id)
    }
}

/// The name of a figure inside a sentence.
pub fn figure_name(figure: Figure) -> &'static str {
    match figure {
        Figure::RequestsPerSecond => "requests per second",
        Figure::P50 => "p50",
        Figure::P95 => "p95",
        Figure::P99 => "p99",
        Figure::ErrorShare => "error share",
    }
}

/// Which way a change goes, in the words of its figure.
fn direction(figure: Figure, up: bool) -> &'static str {
    match (figure, up) {
        (Figure::P50 | Figure::P95 | Figure::P99, true) => "slower",
        (Figure::P50 | Figure::P95 | Figure::P99, false) => "faster",
        (_, true) => "higher",
        (_, false) => "lower",
    }
}

/// Whether it is good news.
pub fn is_better(change: &Change) -> bool {
    let up = change.difference.unwrap_or(0.0) > 0.0;
    up == (change.figure == Figure::RequestsPerSecond)
}

/// A difference in the figure's own unit, without a sign.
fn amount(figure: Figure, value: f64) -> String {
    match figure {
        Figure::RequestsPerSecond => format!("{} per second", format::number(value.abs())),
        Figure::ErrorShare => format!("{} points", format::number(value.abs() * 100.0)),
        _ => format::ms(Some(value.abs())),
    }
}

/// How large a change is and what the noise leaves open: `12 % (8–16 %)`. Shares of errors differ by points.
fn size(change: &Change) -> String {
    let percent = |share: f64| format::number(share.abs() * 100.0);
    let range = |[low, high]: [f64; 2], show: &dyn Fn(f64) -> String, unit: &str| {
        let (low, high) = if low < 0.0 && high <= 0.0 { (high, low) } else { (low, high) };
        let (low, high) = (show(low), show(high));
        if low == high { String::new() } else { format!(" ({low}–{high}{unit})") }
    };
    match (change.relative, change.relative_interval, change.difference) {
        (Some(relative), Some(ends), _) if change.figure != Figure::ErrorShare => {
            format!("{} %{}", percent(relative), range(ends, &percent, " %"))
        }
        (_, _, Some(difference)) => {
            let show: &dyn Fn(f64) -> String = match change.figure {
                Figure::ErrorShare => &percent,
                _ => &|value: f64| format::number(value.abs()),
            };
            let ends = change.interval.map_or_else(String::new, |ends| range(ends, show, ""));
            format!("{}{ends}", amount(change.figure, difference))
        }
        _ => String::new(),
    }
}

/// What noise leaves open around no change: `−3 to +5 %`.
fn open_range(change: &Change) -> String {
    let signed = |value: f64, text: String| match value {
        v if v < 0.0 => format!("−{text}"),
        v if v > 0.0 => format!("+{text}"),
        _ => text,
    };
    let percent = |v: f64| signed(v, format::number(v.abs() * 100.0));
    match (change.figure, change.relative_interval, change.interval) {
        (Figure::ErrorShare, _, Some([low, high])) => format!(" ({} to {} points)", percent(low), percent(high)),
        (_, Some([low, high]), _) => format!(" ({} to {} %)", percent(low), percent(high)),
        _ => String::new(),
    }
}

/// What can be said of one figure, without naming it or a full stop: `12 % slower (8–16 %)`.
pub fn words(change: &Change) -> String {
    let up = change.difference.unwrap_or(0.0) > 0.0;
    let told = || {
        let size = size(change);
        let (much, open) = size.split_once(" (").map_or((&*size, String::new()), |(m, o)| (m, format!(" ({o}")));
        format!("{much} {}{open}", direction(change.figure, up))
    };
    match change.finding {
        Finding::NoData => "no data".to_owned(),
        Finding::Same => "no difference".to_owned(),
        Finding::TooLittle(shortage) => format!("too little data to tell: {}", shortage_words(shortage)),
        Finding::NoEvidence => format!("no evidence of change{}", open_range(change)),
        Finding::Slight => format!("{}, too little to matter", told()),
        Finding::Changed => told(),
    }
}

fn shortage_words(shortage: Shortage) -> String {
    match shortage {
        Shortage::Seconds => format!("less than {FEWEST_SECONDS} seconds with answers"),
        Shortage::Samples => "too few answers for this percentile".to_owned(),
        Shortage::Errors => format!("fewer than {FEWEST_SAMPLES} errors"),
    }
}

/// All figures in as few parts as possible: what changed first, then what did not.
pub fn summary(changes: &[Change; 5]) -> Vec<String> {
    let changed = changes.iter().filter(|c| matches!(c.finding, Finding::Changed | Finding::Slight));
    let mut parts: Vec<String> = changed.map(|c| format!("{} {}", figure_name(c.figure), words(c))).collect();
    let mut rest: Vec<(String, Vec<&'static str>)> = Vec::new();
    for change in changes {
        let say = match change.finding {
            Finding::Changed | Finding::Slight => continue,
            Finding::NoEvidence => "no evidence of change".to_owned(),
            _ => words(change),
        };
        match rest.iter_mut().find(|(words, _)| *words == say) {
            Some((_, names)) => names.push(figure_name(change.figure)),
            None => rest.push((say, vec![figure_name(change.figure)])),
        }
    }
    parts.extend(rest.into_iter().map(|(say, names)| format!("{}: {say}", names.join(", "))));
    parts
}

/// The mark of a baseline in lists.
pub fn baseline_tag() -> AnyView {
    view! { <span class="tag baseline" title="The other runs of this test are compared with this one.">"baseline"</span> }
        .into_any()
}

/// One line for the top of a report: p95 beside the baseline, leading to the panel.
pub fn against_line(against: &Against) -> AnyView {
    let p95 = against.changes.as_ref().and_then(|changes| changes.iter().find(|change| change.figure == Figure::P95));
    let said = p95.map(|change| format!(": p95 {}", words(change)));
    view! { <p class="run-line"><span><a href="#baseline-title">"Compared with the baseline"</a>{said}</span></p> }
        .into_any()
}

/// A panel: `what` ("This run", "The latest run") beside the baseline.
pub fn against(what: &'static str, against: &Against) -> AnyView {
    let parts = against.changes.as_ref().map(|changes| {
        let rows = changes.iter().map(|change| {
            let class = match change.finding {
                Finding::Changed if is_better(change) => "diff better",
                Finding::Changed => "diff worse",
                _ => "diff",
            };
            let mut name = figure_name(change.figure).to_owned();
            if let Some(first) = name.get_mut(..1).filter(|_| change.figure.quantile().is_none()) {
                first.make_ascii_uppercase();
            }
            view! { <li><strong>{name}</strong>" "<span class=class>{words(change)}</span></li> }
        });
        view! { <ul class="changes findings">{rows.collect_view()}</ul> }
    });
    view! {
        <section class="panel" aria-labelledby="baseline-title">
            <h2 id="baseline-title">"Compared with the baseline"</h2>
            <p>{what}" beside the baseline of "{moment(against.at)}":"</p>
            {match parts {
                Some(list) => list.into_any(),
                None => view! { <p class="muted">"One of them has measured nothing."</p> }.into_any(),
            }}
            <p class="no-print"><a href=against.href()>"Compare the two runs"</a></p>
        </section>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(figure: Figure, finding: Finding, of: [f64; 2], interval: Option<[f64; 2]>) -> Change {
        let [first, second] = of;
        let relative = Some(second / first - 1.0).filter(|r| r.is_finite());
        Change {
            figure,
            finding,
            difference: Some(second - first),
            relative,
            interval,
            relative_interval: interval.filter(|_| first != 0.0).map(|ends| ends.map(|end| end / first)),
        }
    }

    #[test]
    fn every_finding_has_words() {
        for (change, expected) in [
            (change(Figure::P95, Finding::Changed, [100.0, 112.0], Some([8.0, 16.0])), "12 % slower (8–16 %)"),
            (change(Figure::P50, Finding::Changed, [100.0, 80.0], Some([-25.0, -15.0])), "20 % faster (15–25 %)"),
            (
                change(Figure::P50, Finding::NoEvidence, [100.0, 101.0], Some([-3.0, 5.0])),
                "no evidence of change (−3 to +5 %)",
            ),
            (
                change(Figure::P50, Finding::Slight, [100.0, 100.4], Some([0.2, 0.6])),
                "0.4 % slower (0.2–0.6 %), too little to matter",
            ),
            (change(Figure::RequestsPerSecond, Finding::Changed, [50.0, 0.0], Some([-50.0, -50.0])), "100 % lower"),
            (
                change(Figure::RequestsPerSecond, Finding::Changed, [0.0, 50.0], Some([49.0, 51.0])),
                "50 per second higher (49–51)",
            ),
            (
                change(Figure::ErrorShare, Finding::Changed, [0.0, 0.021], Some([0.012, 0.03])),
                "2.1 points higher (1.2–3)",
            ),
            (
                change(Figure::ErrorShare, Finding::NoEvidence, [0.02, 0.021], Some([-0.01, 0.03])),
                "no evidence of change (−1 to +3 points)",
            ),
            (change(Figure::P99, Finding::Same, [1.0, 1.0], None), "no difference"),
            (
                change(Figure::P99, Finding::TooLittle(Shortage::Seconds), [1.0, 2.0], None),
                "too little data to tell: less than 10 seconds with answers",
            ),
        ] {
            assert_eq!(words(&change), expected);
        }
    }

    #[test]
    fn a_summary_names_changes_first_and_joins_the_rest() {
        let same = |figure| change(figure, Finding::NoEvidence, [100.0, 101.0], Some([-3.0, 5.0]));
        let changes = [
            change(Figure::RequestsPerSecond, Finding::Same, [1.0, 1.0], None),
            same(Figure::P50),
            change(Figure::P95, Finding::Changed, [100.0, 112.0], Some([8.0, 16.0])),
            same(Figure::P99),
            change(Figure::ErrorShare, Finding::Same, [0.0, 0.0], None),
        ];
        assert_eq!(
            summary(&changes),
            [
                "p95 12 % slower (8–16 %)",
                "requests per second, error share: no difference",
                "p50, p99: no evidence of change"
            ]
        );
        assert!(is_better(&change(Figure::RequestsPerSecond, Finding::Changed, [1.0, 2.0], None)));
        assert!(!is_better(&changes[2]));
    }
}

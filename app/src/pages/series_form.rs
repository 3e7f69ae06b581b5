//! The forms that begin a series of runs, and the search for a capacity.

use leptos::prelude::*;
use oleada_engine::plan::{Load, limits};
use oleada_engine::result::PlanDoc;
use oleada_engine::series::Varies;
use serde::Deserialize;

use super::series::varies_label;
use crate::format;
use crate::shell::{Head, document};
use crate::ui::form::{Field, bound_hint, check_box, error_summary, select, text_area};
use crate::ui::words;
use crate::view::{Chrome, FieldError};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Sizes that are listed.
    Sizes,
    /// Sizes that a search asks for.
    Capacity,
}

/// The form as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SeriesForm {
    /// What varies: the name of a [`Varies`].
    pub varies: String,
    /// `list`, `even` or `doubling`.
    pub how: String,
    /// Sizes, separated by commas or blanks.
    pub sizes: String,
    /// The smallest size.
    pub from: String,
    /// The largest size.
    pub to: String,
    /// How many sizes, at even distances.
    pub steps: String,
    /// Seconds between runs.
    pub pause_s: String,
    /// `on`: each size with and without keep-alive.
    pub both_reuses: String,
    /// Limits, one a line.
    pub limits: String,
    /// Precision of a search in percent.
    pub precision: String,
    /// Length of a run in seconds; empty = as the test says.
    pub run_s: String,
    /// Length of the confirming run in seconds; empty = as the others.
    pub confirm_s: String,
}

impl SeriesForm {
    /// What a form begins with: sizes around the test's own, and the test's limits.
    pub fn suggested(kind: SeriesKind, plan: &PlanDoc) -> SeriesForm {
        let varies = Varies::choices(plan.load).first().copied().unwrap_or_default();
        let (size, bound) = (varies.size_of(plan.load), varies.bound(plan.load));
        let fit = |size: f64| {
            let size = if varies.is_whole() { size.round() } else { size };
            size.clamp(bound.min, bound.max)
        };
        let text = |size: f64| size.to_string();
        let mut sizes: Vec<f64> = [0.25, 0.5, 1.0, 2.0, 4.0].iter().map(|factor| fit(size * factor)).collect();
        sizes.dedup();
        let (from, to) = match kind {
            SeriesKind::Sizes => (fit(size / 4.0), fit(size * 4.0)),
            SeriesKind::Capacity => (fit(size / 10.0), fit(size * 100.0)),
        };
        let own = plan.limits.iter().filter(|limit| limit.request.is_none()).map(|limit| limit.condition.to_string());
        SeriesForm {
            varies: varies.to_string(),
            how: "list".to_owned(),
            sizes: sizes.into_iter().map(text).collect::<Vec<_>>().join(", "),
            from: text(from),
            to: text(to),
            steps: "5".to_owned(),
            pause_s: "0".to_owned(),
            both_reuses: String::new(),
            limits: own.collect::<Vec<_>>().join("\n"),
            precision: text(limits::PRECISION.default),
            run_s: String::new(),
            confirm_s: String::new(),
        }
    }
}

/// `GET /tests/{id}/series` and `GET /tests/{id}/capacity`.
#[derive(Clone, Debug)]
pub struct SeriesFormPage {
    /// Which of the two.
    pub kind: SeriesKind,
    /// Id of the test.
    pub test_id: String,
    /// Its name.
    pub test_name: String,
    /// What it does.
    pub plan: PlanDoc,
    /// The form.
    pub form: SeriesForm,
    /// What is wrong with it.
    pub errors: Vec<FieldError>,
    /// Why there is no form, in a sentence.
    pub refusal: Option<String>,
}

fn label(field: &str) -> String {
    let words = match field {
        "varies" => "What varies",
        "how" => "Sizes are given",
        "sizes" => "Sizes",
        "from" => "From",
        "to" => "To",
        "steps" => "How many",
        "pause_s" => "Pause between runs",
        "limits" => "Limits",
        "precision" => "Precision",
        "run_s" => "Length of a run",
        "confirm_s" => "Length of the confirming run",
        _ => "",
    };
    words.to_owned()
}

/// Draws the form.
pub fn render(chrome: &Chrome, page: &SeriesFormPage) -> String {
    let (title, lead, action, button) = match page.kind {
        SeriesKind::Sizes => (
            "Run as a series",
            "The same test at several sizes, one run after the other. Each is a run with its own report; the series shows them in one table and draws requests per second and response time against the size.",
            "series",
            "Start the series",
        ),
        SeriesKind::Capacity => (
            "Find the capacity",
            "The largest load that keeps your limits: sizes are doubled until a limit is broken, then the gap is halved until it is small, and what was found is confirmed by one more run. It ends when the generator, not the target, is the limit.",
            "capacity",
            "Start the search",
        ),
    };
    let path = format!("/tests/{}", page.test_id);
    document(chrome, &Head::private(format!("{title}: {}", page.test_name)), || {
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a class="break" href=path.clone()>{page.test_name.clone()}</a></p>
            {error_summary(&page.errors, label)}
            <h1>{title}</h1>
            <p class="lead">{lead}</p>
            <p class="muted">"The test as it is: "{words::plan_sentence(&page.plan)}", requesting "<span class="break">{words::targets(&page.plan)}</span>"."</p>
            {match &page.refusal {
                Some(why) => view! { <div class="note-box warn"><p>{why.clone()}</p></div> }.into_any(),
                None => view! {
                    <form method="post" action=format!("{path}/{action}") class="series-form stack panel">
                        {match page.kind {
                            SeriesKind::Sizes => sizes_fields(page),
                            SeriesKind::Capacity => capacity_fields(page),
                        }}
                        {number(page, "pause_s", "Pause between runs", &page.form.pause_s, "seconds", "Lets the target settle. ".to_owned() + &bound_hint(limits::SERIES_PAUSE_S))}
                        <p class="form-actions">
                            <button class="button" type="submit">{button}</button>
                            <a class="cancel" href=path.clone()>"Cancel"</a>
                        </p>
                    </form>
                }
                .into_any(),
            }}
        }
        .into_any()
    })
}

fn number(page: &SeriesFormPage, name: &str, label: &str, value: &str, unit: &str, hint: String) -> AnyView {
    Field { name, label, hint, unit, value, inputmode: "decimal", width: "narrow", ..Field::default() }
        .view(&page.errors)
}

/// What varies: a choice, or a word where there is none.
fn varies(page: &SeriesFormPage) -> AnyView {
    let choices = match page.kind {
        SeriesKind::Sizes => Varies::choices(page.plan.load),
        SeriesKind::Capacity => &Varies::choices(page.plan.load)[..1],
    };
    let note = match page.plan.load {
        Load::Maintain { .. } => Some("Each run keeps the same number of clients from its beginning to its end."),
        _ => None,
    };
    if let [only] = choices {
        return view! {
            <input type="hidden" name="varies" value=only.as_str() />
            <p>"What varies: "<strong>{varies_label(*only, page.plan.load).to_lowercase()}</strong>". "{note}</p>
        }
        .into_any();
    }
    let options: Vec<(&'static str, &'static str)> =
        choices.iter().map(|v| (v.as_str(), varies_label(*v, page.plan.load))).collect();
    select("varies", "What varies", "", &options, &page.form.varies, &page.errors)
}

/// The bounds of sizes, of all that may vary.
fn bounds(page: &SeriesFormPage) -> String {
    let each = Varies::choices(page.plan.load).iter().map(|varies| bound_hint(varies.bound(page.plan.load)));
    each.collect::<Vec<_>>().join(" ")
}

const HOW: &[(&str, &str)] =
    &[("list", "As a list"), ("even", "From, to, at even distances"), ("doubling", "From, to, doubled each time")];

fn sizes_fields(page: &SeriesFormPage) -> AnyView {
    let form = &page.form;
    let (fewest, most) = limits::SERIES_SIZES;
    let list = Field {
        name: "sizes",
        label: "Sizes",
        hint: format!("{fewest} to {most}, such as 10, 20, 50, 100. {}", bounds(page)),
        value: &form.sizes,
        ..Field::default()
    };
    view! {
        {varies(page)}
        {select("how", "Sizes are given", "", HOW, &form.how, &page.errors)}
        <div class="for-list">{list.view(&page.errors)}</div>
        <div class="for-range field-row">
            {number(page, "from", "From", &form.from, "", String::new())}
            {number(page, "to", "To", &form.to, "", String::new())}
            <div class="for-even">{number(page, "steps", "How many", &form.steps, "sizes", String::new())}</div>
        </div>
        {check_box("both_reuses", "Each size twice: with keep-alive and without", "Two lines in the drawings: connections kept alive within a client, and a new connection for every request.", form.both_reuses == "on")}
    }
    .into_any()
}

fn capacity_fields(page: &SeriesFormPage) -> AnyView {
    let form = &page.form;
    let of_requests = page.plan.limits.iter().filter(|limit| limit.request.is_some()).count() as u64;
    let hint = "Conditions under which a run has failed, one a line, such as p95>300ms or errors>1%. They take the place of the test's own.";
    let timed = page.plan.duration_s.is_some() && !matches!(page.plan.load, Load::FixedCount { .. });
    view! {
        {varies(page)}
        {text_area("limits", "Limits", hint, 3, &form.limits, &page.errors)}
        {(of_requests > 0).then(|| view! { <p class="muted">{format!("The test's {} of single requests count too.", format::plural(of_requests, "limit", "limits"))}</p> })}
        <div class="field-row">
            {number(page, "from", "From", &form.from, "", "The smallest size, tried first.".to_owned())}
            {number(page, "to", "To", &form.to, "", format!("The largest that may be tried. {}", bounds(page)))}
            {number(page, "precision", "Precision", &form.precision, "%", format!("The gap at which the search ends. {}", bound_hint(limits::PRECISION)))}
        </div>
        {timed.then(|| view! {
            <div class="field-row">
                {number(page, "run_s", "Length of a run", &form.run_s, "seconds", "Empty: as long as the test.".to_owned())}
                {number(page, "confirm_s", "Length of the confirming run", &form.confirm_s, "seconds", "Empty: as long as the others.".to_owned())}
            </div>
        })}
    }
    .into_any()
}

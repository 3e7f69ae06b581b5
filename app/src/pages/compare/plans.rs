//! What differs between the plans of the runs.

use leptos::prelude::*;

use super::{ComparePage, ComparedRun, head, key};
use crate::format;
use crate::ui::table::scroll;
use crate::ui::words;

fn rows_of(run: &ComparedRun) -> Vec<(&'static str, String)> {
    let mut rows = words::plan_rows(&run.plan);
    let requests: Vec<String> = run.plan.requests.iter().map(|q| format!("{} {}", q.method, q.url)).collect();
    rows.insert(1, ("Requests", requests.join(", ")));
    rows
}

fn value(rows: &[(&'static str, String)], label: &str) -> String {
    rows.iter().find(|(l, _)| *l == label).map_or_else(|| format::NONE.to_owned(), |(_, v)| v.clone())
}

/// Labels of the settings that are not the same in all runs.
pub(super) fn differing(runs: &[ComparedRun]) -> Vec<&'static str> {
    let all: Vec<_> = runs.iter().map(rows_of).collect();
    let mut labels: Vec<&'static str> = Vec::new();
    for (label, _) in all.iter().flatten() {
        if !labels.contains(label) {
            labels.push(label);
        }
    }
    let Some(first) = all.first() else { return Vec::new() };
    labels.retain(|label| all.iter().any(|rows| value(rows, label) != value(first, label)));
    labels
}

/// A table of the settings that differ, and the changes in sentences.
pub(super) fn plans(page: &ComparePage) -> AnyView {
    let runs = &page.runs;
    let differing = differing(runs);
    let sentences = sentences(runs);
    if differing.is_empty() {
        let nothing = runs.iter().all(|run| run.plan_changes.is_empty());
        return view! { {nothing.then(|| view! { <p>"Nothing: all runs had the same plan."</p> })}{sentences} }
            .into_any();
    }
    let all: Vec<_> = runs.iter().map(rows_of).collect();
    let rows = differing
        .into_iter()
        .map(|label| {
            let cells = all.iter().map(|rows| view! { <td class="break">{value(rows, label)}</td> }).collect_view();
            view! { <tr><th scope="row">{label}</th>{cells}</tr> }
        })
        .collect_view();
    let table = view! {
        <table class="data compare-plans">
            <caption class="visually-hidden">"Settings that differ"</caption>
            {head(page, false)}
            <tbody>{rows}</tbody>
        </table>
    };
    view! { {scroll("Settings that differ", table.into_any())}{sentences} }.into_any()
}

/// What was changed, where there is more to say than the table can: requests, headers, secrets.
fn sentences(runs: &[ComparedRun]) -> AnyView {
    let of_run = |(i, run): (usize, &ComparedRun)| {
        let changes =
            run.plan_changes.iter().map(|text| view! { <li class="break">{text.clone()}</li> }).collect_view();
        view! { <li><p>"From "{key(0)}" to "{key(i)}":"</p><ul class="changes">{changes}</ul></li> }
    };
    let rows: Vec<_> = runs.iter().enumerate().filter(|(_, run)| !run.plan_changes.is_empty()).map(of_run).collect();
    if rows.is_empty() {
        return ().into_any();
    }
    view! {
        <details class="explain-details">
            <summary>"Every change"</summary>
            <ul class="plain findings-list">{rows}</ul>
        </details>
    }
    .into_any()
}

//! What keeps runs from being compared like with like.

use std::collections::BTreeSet;

use leptos::prelude::*;
use oleada_engine::verdict::LimitedBy;

use super::plans::differing;
use super::{ComparedRun, letter};
use crate::format;
use crate::ui::words;
use crate::view::RunState;

/// A warning that lists it; nothing if the runs are alike.
pub(super) fn banner(runs: &[ComparedRun]) -> AnyView {
    let sentences = warnings(runs);
    if sentences.is_empty() {
        return ().into_any();
    }
    let rows = sentences.into_iter().map(|text| view! { <li class="break">{text}</li> }).collect_view();
    view! {
        <div class="note-box warn" role="note" aria-label="These runs are not alike">
            <p><strong>"These runs are not alike."</strong>" Their figures differ also for these reasons:"</p>
            <ul>{rows}</ul>
        </div>
    }
    .into_any()
}

/// The letters of the runs with each value: `A, C: nginx; B: Apache`. `None` if all have the same.
fn by_value(runs: &[ComparedRun], value: impl Fn(&ComparedRun) -> Option<String>) -> Option<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        let Some(value) = value(run) else { continue };
        match groups.iter_mut().find(|(v, _)| *v == value) {
            Some((_, letters)) => letters.push(letter(i).to_string()),
            None => groups.push((value, vec![letter(i).to_string()])),
        }
    }
    let parts = groups.iter().map(|(value, letters)| format!("{}: {value}", letters.join(", ")));
    (groups.len() > 1).then(|| parts.collect::<Vec<_>>().join("; "))
}

/// Scheme, host and port of each request, once each.
fn hosts(run: &ComparedRun) -> String {
    let origin = |url: &str| {
        let end = url.find("://").map_or(0, |at| at + 3);
        let rest = url.get(end..).unwrap_or_default();
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        format!("{}{host}", url.get(..end).unwrap_or_default())
    };
    let all: BTreeSet<String> = run.plan.requests.iter().map(|request| origin(&request.url)).collect();
    all.into_iter().collect::<Vec<_>>().join(" and ")
}

/// Settings that have a sentence of their own here.
const TOLD: [&str; 2] = ["Load", "Stages"];

fn warnings(runs: &[ComparedRun]) -> Vec<String> {
    let mut list = Vec::new();
    let mut told =
        |words: &str, values: Option<String>| list.extend(values.map(|values| format!("{words}: {values}.")));
    let tests = by_value(runs, |run| Some(run.test_id.clone().unwrap_or_else(|| run.test_name.clone())));
    if tests.is_some() {
        let named = by_value(runs, |run| Some(format!("“{}”", run.test_name)));
        told("Different tests", named.or(Some("of the same name".to_owned())));
    }
    told("Different hosts", by_value(runs, |run| Some(hosts(run))));
    told("Different load types", by_value(runs, |run| Some(run.plan.load.label().to_owned())));
    told("Different loads", by_value(runs, |run| Some(words::plan_sentence(&run.plan))));
    if lengths_differ(runs) {
        let length = |run: &ComparedRun| run.result.as_ref().map(|r| format::duration_s(r.duration_s.round()));
        told("Different lengths", by_value(runs, length));
    }
    let other: Vec<&str> = differing(runs).into_iter().filter(|label| !TOLD.contains(label)).collect();
    told("Other settings that differ, see below", (!other.is_empty()).then(|| other.join(", ")));
    told(
        "Different numbers of generator threads",
        by_value(runs, |r| Some(r.result.as_ref()?.generator.threads.to_string())),
    );
    told("Measured by different versions", by_value(runs, |r| Some(r.result.as_ref()?.tool.clone())));
    for (i, run) in runs.iter().enumerate() {
        let limited = run.result.as_ref().is_some_and(|r| r.verdict.limited_by == LimitedBy::Generator);
        if limited {
            list.push(format!(
                "{} was limited by the machine that made the load: its target may be better than it looks.",
                letter(i)
            ));
        }
        match run.state {
            RunState::Finished => {}
            state if state.is_over() => {
                list.push(format!("{} did not come to its planned end: {}.", letter(i), state.label()))
            }
            _ => list.push(format!("{} is not over yet; it is shown as far as it is.", letter(i))),
        }
    }
    list
}

/// By more than a request that was still under way at the end explains.
fn lengths_differ(runs: &[ComparedRun]) -> bool {
    let lengths = || runs.iter().filter_map(|run| run.result.as_ref()).map(|r| r.duration_s);
    let (shortest, longest) = (lengths().fold(f64::INFINITY, f64::min), lengths().fold(0.0, f64::max));
    longest > shortest * 1.05 + 0.5
}

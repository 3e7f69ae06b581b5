//! The list of all runs.

use axum::extract::{Query, State};
use axum::response::Response;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use oleada_app::pages::run_list::{self as page, LIMITS_KEPT, RUN_STATES, RunFilter, RunListPage};
use oleada_engine::plan::limits;
use serde::Deserialize;

use crate::auth::CurrentUser;
use crate::error::Result;
use crate::render::Frame;
use crate::runs;
use crate::state::AppState;
use crate::store::history::{Beside, WantedRuns};
use crate::store::runs::RunRow;
use crate::store::{PlanId, RunId, Timestamp, UserId};

/// Tests offered to choose from, the latest run first.
const TESTS: i64 = 200;

/// What the list is asked for. Whatever is not understood counts as not asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    q: String,
    test: String,
    host: String,
    state: String,
    limits: String,
    from: String,
    to: String,
    older: String,
    newer: String,
}

/// `GET /runs`.
///
/// # Errors
/// If the database fails.
pub async fn list(
    State(state): State<AppState>,
    user: CurrentUser,
    Query(query): Query<ListQuery>,
    frame: Frame,
) -> Result<Response> {
    let (filter, wanted, problem) = asked_for(&query);
    let found = turn_to(&state, user.id, &wanted, &query).await?;
    let page = RunListPage {
        runs: runs::list(&state, &found.runs).await?,
        tests: tests(&state, user.id, wanted.plan).await?,
        hosts: hosts(&state, user.id, wanted.host.as_deref()).await?,
        filter,
        older: found.older,
        newer: found.newer,
        problem,
    };
    frame.show(|chrome| page::render(chrome, &page)).await
}

/// Without control characters, which stand in no name and which Postgres takes in no text.
fn bounded(text: &str, most: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(most).collect()
}

/// The filter as it is shown again, as it is looked for, and a sentence about a day that cannot be read.
fn asked_for(query: &ListQuery) -> (RunFilter, WantedRuns, Option<String>) {
    let known =
        |value: &str, of: &'static [(&str, &str)]| of.iter().map(|(v, _)| *v).find(|v| *v == value).unwrap_or("");
    let plan: Option<PlanId> = query.test.parse().ok();
    let filter = RunFilter {
        q: bounded(&query.q, limits::SEARCH_CHARS),
        test: plan.map_or_else(String::new, |id| id.to_string()),
        host: bounded(&query.host, limits::URL_BYTES.min(300)),
        state: known(&query.state, RUN_STATES).to_owned(),
        limits: known(&query.limits, LIMITS_KEPT).to_owned(),
        from: bounded(&query.from, 10),
        to: bounded(&query.to, 10),
    };
    let (from, to) = (day(&filter.from), day(&filter.to));
    let unread =
        [(&filter.from, from), (&filter.to, to)].into_iter().find(|(text, day)| !text.is_empty() && day.is_none());
    let problem = unread.map(|(text, _)| format!("“{text}” is not a day; write it as 2026-12-01."));
    let words = filter.q.to_lowercase().split_whitespace().take(limits::SEARCH_WORDS).map(str::to_owned).collect();
    let wanted = WantedRuns {
        plan,
        host: (!filter.host.is_empty()).then(|| filter.host.to_lowercase()),
        words,
        state: known(&query.state, RUN_STATES),
        passed: known(&query.limits, LIMITS_KEPT),
        from: from.and_then(begins),
        until: to.and_then(|day| day.tomorrow().ok()).and_then(begins),
    };
    (filter, wanted, problem)
}

/// `2026-12-01`, and nothing else.
fn day(text: &str) -> Option<Date> {
    text.parse().ok().filter(|day: &Date| day.to_string() == text)
}

/// When a day begins in UTC.
fn begins(day: Date) -> Option<Timestamp> {
    Some(Timestamp(TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?.as_millisecond()))
}

struct Found {
    runs: Vec<RunRow>,
    older: Option<String>,
    newer: Option<String>,
}

/// One page, from the place that is asked for. One run more than fits tells whether there are others.
async fn turn_to(state: &AppState, owner: UserId, wanted: &WantedRuns, query: &ListQuery) -> Result<Found> {
    let most = limits::RUNS_A_PAGE;
    let limit = most as i64 + 1;
    if let Some(place) = place(&query.newer) {
        let mut runs = state.db.newer_runs(owner, wanted, place, limit).await?;
        let more = runs.len() > most;
        if more {
            runs.remove(0);
        }
        let (first, last) = (runs.first().map(words), runs.last().map(words));
        // What lies on the other side is the page that led here.
        return Ok(Found { older: last.or(Some(query.newer.clone())), newer: first.filter(|_| more), runs });
    }
    let place = place(&query.older);
    let mut runs = state.db.older_runs(owner, wanted, place, limit).await?;
    let more = runs.len() > most;
    runs.truncate(most);
    let (first, last) = (runs.first().map(words), runs.last().map(words));
    let newer = place.map(|_| first.unwrap_or_else(|| query.older.clone()));
    Ok(Found { older: last.filter(|_| more), newer, runs })
}

/// The place of a run, as it stands in an address: its moment and its id.
fn words(run: &RunRow) -> String {
    format!("{}.{}", run.queued_at.0, run.id)
}

fn place(text: &str) -> Option<Beside> {
    let (at, id) = text.split_once('.')?;
    let id: RunId = id.parse().ok()?;
    Some(Beside { at: Timestamp(at.parse().ok()?), id })
}

/// Tests to choose from: the latest run first, and the chosen one whatever its place.
async fn tests(state: &AppState, owner: UserId, chosen: Option<PlanId>) -> Result<Vec<(String, String)>> {
    let mut tests = state.db.plan_names(owner, TESTS).await?;
    if let Some(id) = chosen.filter(|id| !tests.iter().any(|(known, _)| known == id))
        && let Some(row) = state.db.plan(owner, id).await?
    {
        tests.insert(0, (row.id, row.name));
    }
    Ok(tests.into_iter().map(|(id, name)| (id.to_string(), name)).collect())
}

/// Hosts to choose from: those that are registered, and the chosen one.
async fn hosts(state: &AppState, owner: UserId, chosen: Option<&str>) -> Result<Vec<String>> {
    let rows = state.db.hosts(owner).await?;
    let mut hosts: Vec<String> = rows.iter().filter_map(crate::hosts::at).map(|at| at.to_string()).collect();
    if let Some(host) = chosen.filter(|host| !hosts.iter().any(|known| known == host)) {
        hosts.push(host.to_owned());
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_not_asked_for() {
        let query = ListQuery {
            q: " Kasse\0 Berlin ".into(),
            test: "x".into(),
            state: "' or 1=1".into(),
            limits: "no".into(),
            from: "2026-12-01".into(),
            to: "2026-12-01".into(),
            ..ListQuery::default()
        };
        let (filter, wanted, problem) = asked_for(&query);
        assert_eq!((filter.q.as_str(), filter.test.as_str(), filter.state.as_str()), ("Kasse Berlin", "", ""));
        assert_eq!((wanted.state, wanted.passed, wanted.words.len(), problem), ("", "no", 2, None));
        assert_eq!(
            (wanted.from, wanted.until),
            (Some(Timestamp(1_796_083_200_000)), Some(Timestamp(1_796_169_600_000)))
        );
        let (_, wanted, problem) =
            asked_for(&ListQuery { from: "tomorrow".into(), to: "2026-2-1".into(), ..ListQuery::default() });
        assert_eq!((wanted.from, wanted.until), (None, None));
        assert!(problem.is_some_and(|text| text.contains("tomorrow")));
    }

    #[test]
    fn places_are_read_as_they_are_written() {
        let id = RunId::new();
        assert_eq!(place(&format!("12.{id}")), Some(Beside { at: Timestamp(12), id }));
        for bad in ["", "12", "x.y", "12.nonsense", &format!(".{id}")] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }
}

//! Lists of runs.

use leptos::prelude::*;

use super::badge::run_badge;
use super::table::scroll;
use super::time::moment_short;
use crate::format;
use crate::view::{Figures, RunRow};

/// A table of runs. With `choose`, each has a box to tick and the whole is a form that leads to the comparison; `with_test`
/// adds the test's name above its start.
pub fn run_table(caption: &'static str, runs: &[RunRow], choose: bool, with_test: bool) -> AnyView {
    let choose = choose && runs.len() > 1;
    let rows = runs.iter().map(|run| row(run, choose, with_test)).collect_view();
    let table = view! {
        <table class="data runs">
            <caption class="visually-hidden">{caption}</caption>
            <thead>
                <tr>
                    {choose.then(|| view! { <th scope="col"><span class="visually-hidden">"Compare"</span></th> })}
                    <th scope="col">{if with_test { "Test and start" } else { "Start" }}</th>
                    <th scope="col">"State"</th>
                    <th scope="col" class="num">"Requests/s"</th>
                    <th scope="col" class="num">"p50, ms"</th>
                    <th scope="col" class="num">"p95, ms"</th>
                    <th scope="col" class="num">"p99, ms"</th>
                    <th scope="col" class="num">"Errors"</th>
                    <th scope="col" class="num">"Length"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any();
    let table = scroll(caption, table);
    if !choose {
        return table;
    }
    view! {
        <form method="get" action="/compare" class="choose">
            {table}
            <p class="form-actions">
                <button class="button quiet" type="submit">"Compare ticked runs"</button>
                <span class="hint">"Tick two to eight runs; the first ticked is what the others are compared with."</span>
            </p>
        </form>
    }
    .into_any()
}

fn row(run: &RunRow, choose: bool, with_test: bool) -> AnyView {
    let Figures { requests_per_second, p50, p95, p99, error_rate } = run.figures.unwrap_or_default();
    let at = run.started_at.unwrap_or(run.created_at);
    let href = format!("/runs/{}", run.id);
    let label = format!("Compare the run of {}", format::Utc::from_unix_ms(at).words());
    view! {
        <tr>
            {choose.then(|| view! { <td class="tick-cell"><input type="checkbox" name="run" value=run.id.clone() aria-label=label /></td> })}
            {if with_test {
                view! { <th scope="row"><a href=href>{run.test_name.clone()}</a><span class="sub when">{moment_short(at)}</span></th> }.into_any()
            } else {
                view! { <th scope="row" class="when"><a href=href>{moment_short(at)}</a></th> }.into_any()
            }}
            <td>{run_badge(run.state, run.position)}</td>
            <td class="num">{format::maybe(requests_per_second)}</td>
            <td class="num">{format::maybe(p50)}</td>
            <td class="num">{format::maybe(p95)}</td>
            <td class="num">{format::maybe(p99)}</td>
            <td class="num">{format::percent(error_rate)}</td>
            <td class="num">{run.duration_s.map_or_else(|| format::NONE.to_owned(), format::duration_s)}</td>
        </tr>
    }
    .into_any()
}

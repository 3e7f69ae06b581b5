//! What became of every planned request: as a flow of bars, each inside the one above, and as a table.

use leptos::prelude::*;
use oleada_engine::window::Ledger;

use crate::format;
use crate::ui::table::scroll;

/// Name, explanation and count of each outcome, in the ledger's order.
pub fn outcomes(ledger: &Ledger) -> [(&'static str, &'static str, u64, &'static str); 9] {
    [
        ("Answered ok", "status below 400", ledger.ok, "ok"),
        ("Client errors", "status 4xx", ledger.status_4xx, "warn"),
        ("Server errors", "status 5xx", ledger.status_5xx, "bad"),
        ("Other statuses", "600 and above", ledger.status_other, "warn"),
        ("Timed out", "no complete reply in time", ledger.timeout, "bad"),
        ("Network failures", "connection not made or lost", ledger.network, "bad"),
        ("Invalid replies", "not HTTP", ledger.invalid, "bad"),
        ("Generator's limits", "never charged to the target", ledger.local, "warn"),
        ("Cut at the end", "still in flight when the run ended", ledger.aborted, "cut"),
    ]
}

/// Units across the whole flow.
const WIDTH: f64 = 1000.0;
/// Units of the thinnest part: what is not zero can be seen.
const THINNEST: f64 = 6.0;

/// Where each part of `counts` stands within `from` and `from + width`; parts that are zero have no width.
fn parts(counts: &[u64], from: f64, width: f64) -> Vec<(f64, f64)> {
    let all: u64 = counts.iter().sum();
    if all == 0 {
        return counts.iter().map(|_| (from, 0.0)).collect();
    }
    let mut widths: Vec<f64> =
        counts.iter().map(|n| if *n == 0 { 0.0 } else { (*n as f64 / all as f64 * width).max(THINNEST) }).collect();
    // What the thinnest were given is taken from the widest.
    let over = widths.iter().sum::<f64>() - width;
    if let Some(widest) = widths.iter_mut().max_by(|a, b| a.total_cmp(b)) {
        *widest = (*widest - over).max(THINNEST);
    }
    let mut at = from;
    widths
        .into_iter()
        .map(|width| {
            let place = (at, width);
            at += width;
            place
        })
        .collect()
}

fn share(n: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| n as f64 / of as f64)
}

fn bar(class: &str, (from, width): (f64, f64)) -> AnyView {
    let class = format!("flow-part {class}");
    // A little ground shows between neighbours.
    let width = (width - 2.0).max(0.0);
    view! { <rect class=class x=format!("{from:.1}") y="0" width=format!("{width:.1}") height="24" /> }.into_any()
}

fn bars(all: Vec<AnyView>) -> AnyView {
    view! {
        <svg class="flow-bars" viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true" focusable="false">{all}</svg>
    }
    .into_any()
}

/// The whole section.
pub(super) fn ledger(ledger: &Ledger) -> AnyView {
    let ends = outcomes(ledger);
    let halves = parts(&[ledger.sent, ledger.dropped], 0.0, WIDTH);
    let counts: Vec<u64> = ends.iter().map(|(_, _, n, _)| *n).collect();
    let places = parts(&counts, halves[0].0, halves[0].1);
    let ended = ends.iter().zip(&places).filter(|((_, _, n, _), _)| *n > 0);
    let last = ended.clone().map(|((.., tone), place)| bar(tone, *place)).collect();
    let names = ended.map(|((name, _, n, tone), _)| {
        let text = format!("{name} {} ({})", format::count(*n), format::percent(share(*n, ledger.sent)));
        view! { <li><span class=format!("flow-key {tone}") aria-hidden="true"></span>{text}</li> }
    });
    let sent = vec![bar("sent", halves[0]), bar("dropped", halves[1])];
    view! {
        <div class="flow">
            <ol class="flow-rows plain">
                <li>
                    <p><strong>"Planned "{format::count(ledger.planned)}</strong></p>
                    {bars(vec![bar("planned", (0.0, if ledger.planned > 0 { WIDTH } else { 0.0 }))])}
                </li>
                <li>
                    <p>
                        <strong>"Sent "{format::count(ledger.sent)}</strong>" "<span class="muted">"("{format::percent(share(ledger.sent, ledger.planned))}" of the plan)"</span>
                        {(ledger.dropped > 0).then(|| view! { <span class="flow-side">"Dropped "{format::count(ledger.dropped)}" – planned, but never sent"</span> })}
                    </p>
                    {bars(sent)}
                </li>
                <li>
                    <p class="visually-hidden">"How those that were sent ended:"</p>
                    {bars(last)}
                    <ul class="flow-keys plain">{names.collect_view()}</ul>
                </li>
            </ol>
            {table(ledger)}
        </div>
    }
    .into_any()
}

fn table(ledger: &Ledger) -> AnyView {
    let rows = outcomes(ledger)
        .into_iter()
        .map(|(name, note, n, tone)| {
            let part = share(n, ledger.sent);
            view! {
                <tr class=if n == 0 { "zero" } else { "" }>
                    <th scope="row">{name}<span class="sub">{note}</span></th>
                    <td class="bar-cell">{(n > 0).then(|| meter(part.unwrap_or(0.0), tone))}</td>
                    <td class="num">{format::count(n)}</td>
                    <td class="num">{format::percent(part)}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data outcomes">
            <caption class="visually-hidden">"Outcomes of what was sent"</caption>
            <thead><tr><th scope="col">"Outcome"</th><th scope="col"><span class="visually-hidden">"Share as a bar"</span></th><th scope="col" class="num">"Requests"</th><th scope="col" class="num">"Share"</th></tr></thead>
            <tbody>{rows}</tbody>
            <tfoot><tr><th scope="row">"Sent"</th><td></td><td class="num">{format::count(ledger.sent)}</td><td class="num">{format::percent(share(ledger.sent, ledger.sent))}</td></tr></tfoot>
        </table>
    };
    scroll("Outcomes of what was sent", table.into_any())
}

/// A bar of a share; whatever is not zero can be seen.
pub(super) fn meter(share: f64, tone: &'static str) -> AnyView {
    let width = if share > 0.0 { (share * 100.0).clamp(1.0, 100.0) } else { 0.0 };
    view! {
        <svg class=format!("meter {tone}") viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
            <rect class="meter-ground" width="100" height="8" rx="1" />
            <rect class="meter-fill" width=format!("{width:.2}") height="8" rx="1" />
        </svg>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_side_by_side_and_the_smallest_is_seen() {
        let places = parts(&[999_999, 0, 1], 100.0, 500.0);
        assert_eq!(places[1].1, 0.0);
        assert!(
            (places[2].1 - THINNEST).abs() < 1e-9 && (places[2].0 + places[2].1 - 600.0).abs() < 1e-6,
            "{places:?}"
        );
        assert_eq!(parts(&[0, 0], 0.0, 10.0), [(0.0, 0.0), (0.0, 0.0)]);
    }
}

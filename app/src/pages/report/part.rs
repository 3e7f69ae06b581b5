//! A part of the run: exact figures of the seconds that the reader chose, beside those of the whole.

use leptos::prelude::*;
use oleada_engine::range::RangeDoc;
use oleada_engine::result::{Percentiles, ResultDoc};

use crate::format;
use crate::ui::form::Field;
use crate::ui::table::scroll;
use crate::view::FieldError;

/// What was asked for in the address, and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// `from` as typed.
    pub from: String,
    /// `to` as typed.
    pub to: String,
    /// What is wrong with either.
    pub errors: Vec<FieldError>,
    /// The figures; `None` when nothing, or nothing sensible, was asked for.
    pub figures: Option<RangeDoc>,
}

/// The section on top of a report; nothing when no part was asked for.
pub(super) fn section(part: &Part, result: &ResultDoc, path: &str) -> AnyView {
    if part.errors.is_empty() && part.figures.is_none() {
        return ().into_any();
    }
    let figures = part.figures.as_ref().map(|figures| {
        view! {
            <p>{words(figures, result.duration_s)}</p>
            <div class="columns">
                {scroll("Times of this part and of the whole run", times(figures, result))}
                {scroll("Counts of this part and of the whole run", counts(figures, result))}
            </div>
            {super::times::mean_above_p95(&figures.latency_ms).map(|text| view! { <p class="muted">{text}</p> })}
        }
    });
    let title = part.figures.as_ref().map_or_else(
        || "A part of the run".to_owned(),
        |f| format!("Seconds {} to {}", format::count(f.from.into()), format::count(f.to.into())),
    );
    view! {
        <section class="panel part" aria-labelledby="part-title">
            <h2 id="part-title">{title}</h2>
            {figures}
            {form(part, path)}
            <p class="no-print"><a href=path.to_owned()>"Back to the whole run"</a></p>
        </section>
    }
    .into_any()
}

/// Which seconds, how many, and what is not in them.
fn words(f: &RangeDoc, run_s: f64) -> String {
    let mut text = format!(
        "From {} up to, but not including, {}: {}",
        format::clock(f.from),
        format::clock(f.to),
        format::duration_s(f.duration_s)
    );
    if f64::from(f.to) > run_s {
        text.push_str(", for the run ended within its last second");
    }
    text.push_str(". Requests count where they ended; what was sent counts where it was sent.");
    let whole = f.to - f.from;
    if f.seconds_recorded < whole {
        let missing = u64::from(whole - f.seconds_recorded);
        text.push_str(&format!(" Of {} nothing is recorded.", format::plural(missing, "second", "seconds")));
    }
    text
}

fn times(f: &RangeDoc, result: &ResultDoc) -> AnyView {
    let columns: [&Percentiles; 4] = [&f.latency_ms, &result.latency_ms, &f.service_ms, &result.service_ms];
    let rows = f.latency_ms.rows().into_iter().enumerate().map(|(n, (name, _))| {
        let cells = columns.iter().map(|column| {
            let value = column.rows().get(n).and_then(|(_, value)| *value);
            view! { <td class="num">{format::maybe(value)}</td> }
        });
        view! { <tr><th scope="row">{if name == "max" { "Largest" } else { name }}</th>{cells.collect_view()}</tr> }
    });
    let counts = columns.iter().map(|p| view! { <td class="num">{format::count(p.count)}</td> }).collect_view();
    view! {
        <table class="data part-times">
            <caption>"Times in milliseconds"</caption>
            <thead>
                <tr><td></td><th scope="colgroup" colspan="2" class="num">"Response time"</th><th scope="colgroup" colspan="2" class="num">"Service time"</th></tr>
                <tr><th scope="col"><span class="visually-hidden">"Figure"</span></th><th scope="col" class="num">"This part"</th><th scope="col" class="num">"Whole run"</th><th scope="col" class="num">"This part"</th><th scope="col" class="num">"Whole run"</th></tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
            <tfoot><tr><th scope="row">"Requests"</th>{counts}</tr></tfoot>
        </table>
    }
    .into_any()
}

fn counts(f: &RangeDoc, result: &ResultDoc) -> AnyView {
    let ended = |n: u64, rate: f64| format::percent((n > 0).then_some(rate));
    let row = |name: &'static str, here: String, whole: String| {
        view! { <tr><th scope="row">{name}</th><td class="num">{here}</td><td class="num">{whole}</td></tr> }.into_any()
    };
    let (l, w) = (&f.ledger, &result.ledger);
    let mut rows = vec![
        row("Answered per second", format::maybe(f.requests_per_second), format::maybe(result.requests_per_second)),
        row("Errors", ended(l.finished(), f.error_rate), ended(w.finished(), result.error_rate)),
    ];
    for (name, here, whole) in [
        ("Planned", l.planned, w.planned),
        ("Sent", l.sent, w.sent),
        ("Dropped", l.dropped, w.dropped),
        ("Answered ok", l.ok, w.ok),
        ("Client errors (4xx)", l.status_4xx, w.status_4xx),
        ("Server errors (5xx)", l.status_5xx, w.status_5xx),
        ("Other statuses", l.status_other, w.status_other),
        ("Timed out", l.timeout, w.timeout),
        ("Network failures", l.network, w.network),
        ("Invalid replies", l.invalid, w.invalid),
        ("Generator's limits", l.local, w.local),
        ("Cut at the end", l.aborted, w.aborted),
        ("Peak clients", f.peak_clients, result.peak_clients),
    ] {
        // What never happened needs no row.
        if whole > 0 || ["Planned", "Sent", "Answered ok"].contains(&name) {
            rows.push(row(name, format::count(here), format::count(whole)));
        }
    }
    rows.push(row("Received", format::bytes(f.bytes.received), format::bytes(result.bytes.received)));
    rows.push(row("Bytes sent", format::bytes(f.bytes.sent), format::bytes(result.bytes.sent)));
    view! {
        <table class="data part-figures">
            <caption>"Counts"</caption>
            <thead><tr><th scope="col">"Figure"</th><th scope="col" class="num">"This part"</th><th scope="col" class="num">"Whole run"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

/// Asks for a part; works without a script. Its answer is an address that can be passed on.
pub(super) fn form(part: &Part, path: &str) -> AnyView {
    let field = |name: &'static str, label: &'static str, value: &str, hint: &str| {
        Field { name, label, value, hint: hint.to_owned(), inputmode: "numeric", width: "narrow", ..Field::default() }
            .view(&part.errors)
    };
    view! {
        <form method="get" action=path.to_owned() class="part-form no-print">
            {field("from", "From second", &part.from, "The first second")}
            {field("to", "To second", &part.to, "Not included; empty: to the end")}
            <button class="button quiet" type="submit">"Show exact figures"</button>
        </form>
    }
    .into_any()
}

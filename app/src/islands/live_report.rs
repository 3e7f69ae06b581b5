//! A run under way: its state, figures, chart and ledger, second by second.

use leptos::prelude::*;
use oleada_engine::result::Point;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};

use crate::chart::Chart;
use crate::chart::overview::Facts;
use crate::chart::report::{self, Timing};
use crate::chart::timeline::Timeline;
use crate::format;
use crate::live::{self, StateEvent};
use crate::view::{RunState, state_shape};

/// Seconds without news after which a running page says that it is stale.
const STALE_AFTER_S: u32 = 4;
/// Samples a drawn line may have per column of the widest drawing.
const COLUMNS: usize = 900;

/// The live part of a run's page.
#[island]
pub fn LiveReport(
    /// Path of the events.
    events: String,
    /// The seconds so far.
    timeline: Timeline,
    /// State when the page was made.
    state: StateEvent,
) -> impl IntoView {
    let live = Live {
        timeline: RwSignal::new(timeline),
        state: RwSignal::new(state),
        quiet_s: RwSignal::new(0),
        lost: RwSignal::new(false),
    };
    Effect::new(move || live.listen(&events));
    let chart = Memo::new(move |_| live.chart());
    let rates = Memo::new(move |_| live.rates());
    view! {
        <div class="live">
            <div class="live-state">
                <p class="state-line">
                    <span role="status" class=move || format!("badge {}", live.state.with(|s| s.state.class()))>
                        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
                            <path d=move || live.state.with(|s| state_shape(s.state.class())) />
                        </svg>
                        {move || live.state.with(|s| s.state.label())}
                    </span>
                    <span>{move || live.sentence()}</span>
                </p>
                <progress class="progress" max="1000" value=move || live.progress().to_string() aria-label="Progress"></progress>
                <p class="stale" role="status">{move || live.news()}</p>
            </div>
            <dl class="figures">
                {figure("Requests/s", "answered ok, last second", Signal::derive(move || live.last(|p| format::count(p.ok))))}
                {figure("p50", "ms, last second", Signal::derive(move || live.last(|p| format::maybe(p.p50))))}
                {figure("p95", "ms, last second", Signal::derive(move || live.last(|p| format::maybe(p.p95))))}
                {figure("p99", "ms, last second", Signal::derive(move || live.last(|p| format::maybe(p.p99))))}
                {figure("Errors", "of all finished so far", Signal::derive(move || live.error_share()))}
                {figure("Clients", "open now, on average", Signal::derive(move || live.last(|p| format::number(p.clients.round()))))}
            </dl>
            {super::chart_view::figure(chart.into())}
            {super::chart_view::figure(rates.into())}
            <section class="ledger-live">
                <h2>"So far"</h2>
                <dl class="facts">
                    {fact("Planned until now", Signal::derive(move || live.sum(|p| p.planned)))}
                    {fact("Sent", Signal::derive(move || live.sum(|p| p.sent)))}
                    {fact("Answered ok", Signal::derive(move || live.sum(|p| p.ok)))}
                    {fact("Errors", Signal::derive(move || live.sum(|p| p.errors)))}
                    {fact("In flight", Signal::derive(move || live.in_flight()))}
                    {fact("Received", Signal::derive(move || format::bytes(live.total(|p| p.bytes_received))))}
                </dl>
            </section>
        </div>
    }
}

/// One type for all of them, so that the bundle holds their code once.
fn figure(label: &'static str, note: &'static str, value: Signal<String>) -> AnyView {
    view! { <div class="figure"><dt>{label}</dt><dd>{value}</dd><dd class="note">{note}</dd></div> }.into_any()
}

fn fact(label: &'static str, value: Signal<String>) -> AnyView {
    view! { <div><dt>{label}</dt><dd>{value}</dd></div> }.into_any()
}

/// What is known of the run.
#[derive(Clone, Copy)]
struct Live {
    timeline: RwSignal<Timeline>,
    state: RwSignal<StateEvent>,
    /// Seconds since anything was heard.
    quiet_s: RwSignal<u32>,
    /// The connection is broken; the browser is trying again.
    lost: RwSignal<bool>,
}

impl Live {
    fn chart(&self) -> Chart {
        let planned = self.state.with(|s| s.duration_s);
        self.timeline.with(|t| {
            let facts = Facts::of(t.rows(), t.step());
            report::response_times("live-times", t.rows(), Timing::live(t.step(), planned), &facts).thinned(COLUMNS)
        })
    }

    fn rates(&self) -> Chart {
        let planned = self.state.with(|s| s.duration_s);
        self.timeline.with(|t| {
            let facts = Facts::of(t.rows(), t.step());
            report::throughput("live-rate", t.rows(), Timing::live(t.step(), planned), &facts).thinned(COLUMNS)
        })
    }

    /// A value of the latest second; of joined seconds there is none.
    fn last(&self, read: impl Fn(&Point) -> String) -> String {
        self.timeline.with(|t| match t.rows().last() {
            Some(p) if t.step() == 1 => read(p),
            Some(p) => {
                let n = u64::from(t.step());
                read(&Point { ok: p.ok / n, ..*p })
            }
            None => format::NONE.to_owned(),
        })
    }

    fn total(&self, pick: fn(&Point) -> u64) -> u64 {
        self.timeline.with(|t| t.rows().iter().map(pick).sum())
    }

    fn sum(&self, pick: fn(&Point) -> u64) -> String {
        format::count(self.total(pick))
    }

    fn in_flight(&self) -> String {
        format::count(self.total(|p| p.sent).saturating_sub(self.total(|p| p.ok + p.errors)))
    }

    fn error_share(&self) -> String {
        let (ok, errors) = (self.total(|p| p.ok), self.total(|p| p.errors));
        format::percent((ok + errors > 0).then(|| errors as f64 / (ok + errors) as f64))
    }

    fn elapsed_s(&self) -> f64 {
        let seen = self.timeline.with(|t| t.last_t().map_or(0.0, |t| f64::from(t) + 1.0));
        self.state.with(|s| s.elapsed_s).max(seen)
    }

    fn progress(&self) -> u32 {
        let state = self.state.get();
        match (state.state, state.duration_s) {
            (RunState::Running, Some(d)) if d > 0.0 => (self.elapsed_s() / d * 1000.0).clamp(0.0, 1000.0) as u32,
            (RunState::Draining, _) => 1000,
            _ => 0,
        }
    }

    fn sentence(&self) -> String {
        let state = self.state.get();
        match (state.state, state.position, state.duration_s) {
            (RunState::Queued, Some(1), _) => "Next in line. It starts by itself.".to_owned(),
            (RunState::Queued, Some(n), _) => format!("Number {n} in line. It starts by itself."),
            (RunState::Running, _, Some(d)) => {
                let left = (d - self.elapsed_s()).max(0.0).round();
                format!(
                    "{} of {}, {} left",
                    format::duration_s(self.elapsed_s().floor().min(d)),
                    format::duration_s(d),
                    format::duration_s(left)
                )
            }
            (RunState::Running, _, None) => format!("For {}", format::duration_s(self.elapsed_s().floor())),
            _ => state.state.explanation().to_owned(),
        }
    }

    fn news(&self) -> String {
        let running = self.state.with(|s| matches!(s.state, RunState::Running | RunState::Draining));
        let quiet = self.quiet_s.get();
        if self.lost.get() {
            format!("Connection lost, trying again. What you see is {quiet} s old.")
        } else if running && quiet > STALE_AFTER_S {
            format!("No news for {quiet} s. What you see is that old.")
        } else {
            String::new()
        }
    }

    /// Connects; the browser connects again by itself and says where it was.
    fn listen(self, path: &str) {
        let url = match self.timeline.with_untracked(Timeline::last_t) {
            Some(t) => format!("{path}?after={t}"),
            None => path.to_owned(),
        };
        let Ok(source) = EventSource::new(&url) else {
            self.lost.set(true);
            return;
        };
        on(&source, live::SECOND, move |data| {
            if let Ok(point) = serde_json::from_str::<Point>(&data) {
                self.heard();
                self.timeline.update(|t| t.push(point));
            }
        });
        on(&source, live::STATE, move |data| {
            if let Ok(state) = serde_json::from_str::<StateEvent>(&data) {
                self.heard();
                self.state.set(state);
            }
        });
        let closing = source.clone();
        on(&source, live::DONE, move |_| {
            closing.close();
            // The page at this address is the report now.
            let _ = window().location().reload();
        });
        on(&source, "open", move |_| self.lost.set(false));
        on(&source, "error", move |_| self.lost.set(true));
        set_interval(move || self.quiet_s.update(|s| *s += 1), std::time::Duration::from_secs(1));
    }

    fn heard(&self) {
        self.quiet_s.set(0);
        if self.lost.get_untracked() {
            self.lost.set(false);
        }
    }
}

/// Listens for one kind of event as long as the page lives.
fn on(source: &EventSource, name: &str, act: impl Fn(String) + 'static) {
    let listener = Closure::<dyn Fn(web_sys::Event)>::new(move |event: web_sys::Event| {
        let data = event.dyn_ref::<MessageEvent>().and_then(|m| m.data().as_string()).unwrap_or_default();
        act(data);
    });
    let _ = source.add_event_listener_with_callback(name, listener.as_ref().unchecked_ref());
    listener.forget();
}

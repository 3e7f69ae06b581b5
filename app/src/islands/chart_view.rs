//! A chart that can be read closely: legend that switches series, logarithmic axis, crosshair by pointer and arrow keys; and a
//! part of the run can be chosen by dragging, or by the arrow keys with Shift and then Enter.
//!
//! Part of several islands; the drawing itself is text from [`crate::chart`], replaced as a whole.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::run_chart::Choosing;
use crate::chart::{Chart, Mark, Side, Viewport, svg};
use crate::format;

/// What the reader chose.
#[derive(Clone, Copy)]
struct View {
    chart: Signal<Chart>,
    /// Series the reader switched, by index; the others follow the chart.
    switched: RwSignal<Vec<Option<bool>>>,
    log: RwSignal<bool>,
    moment: RwSignal<Option<f64>>,
    choosing: Choosing,
    /// Seconds chosen, the last not included.
    chosen: RwSignal<Option<(u32, u32)>>,
    /// Where choosing began.
    anchor: RwSignal<Option<f64>>,
    /// By pointer.
    dragging: RwSignal<bool>,
}

impl View {
    /// From where choosing began to the crosshair.
    fn choose_until_here(&self) {
        let (Some(a), Some(b)) = (self.anchor.get_untracked(), self.moment.get_untracked()) else { return };
        self.chosen.set(Some((a.min(b).max(0.0) as u32, a.max(b).max(0.0) as u32 + 1)));
    }

    /// Back to what the page shows.
    fn forget_choice(&self) {
        self.anchor.set(None);
        self.dragging.set(false);
        if self.chosen.get_untracked() != self.choosing.chosen {
            self.chosen.set(self.choosing.chosen);
        }
    }

    /// Opens the page of the chosen part: an address of its own, which Back leads away from.
    fn show_choice(&self) {
        let chosen = self.chosen.get_untracked().filter(|chosen| Some(*chosen) != self.choosing.chosen);
        if let Some((from, to)) = chosen {
            let _ = window().location().set_search(&format!("?from={from}&to={to}"));
        }
    }

    fn press(&self, event: &PointerEvent) {
        self.point_at(event);
        if self.choosing.possible && event.button() == 0 {
            self.anchor.set(self.moment.get_untracked());
            self.dragging.set(true);
            // So that a drag may leave the chart at its ends.
            if let Some(stage) = event.current_target().and_then(|t| t.dyn_into::<web_sys::Element>().ok()) {
                let _ = stage.set_pointer_capture(event.pointer_id());
            }
        }
    }

    fn drag(&self, event: &PointerEvent) {
        self.point_at(event);
        if self.dragging.get_untracked() && self.anchor.get_untracked() != self.moment.get_untracked() {
            self.choose_until_here();
        }
    }

    fn release(&self) {
        if self.dragging.get_untracked() {
            self.dragging.set(false);
            self.show_choice();
        }
    }

    /// What is chosen, and how it is shown.
    fn choice(&self) -> String {
        match self.chosen.get().filter(|chosen| Some(*chosen) != self.choosing.chosen) {
            Some((from, to)) => format!(
                "Chosen: {} until before {}. Enter shows its exact figures, Escape gives it up.",
                format::clock(from),
                format::clock(to)
            ),
            None => "For exact figures of a part of the run, drag across it, or move with the arrow keys, hold Shift to extend, and press Enter.".to_owned(),
        }
    }

    fn is_hidden(&self, index: usize) -> bool {
        let chosen = self.switched.with(|s| s.get(index).copied().flatten());
        chosen.unwrap_or_else(|| self.chart.with(|c| c.series.get(index).is_some_and(|s| s.hidden)))
    }

    fn viewport(&self, narrow: bool) -> Viewport {
        let count = self.chart.with(|c| c.series.len());
        let base = if narrow { Viewport::narrow() } else { Viewport::wide() };
        Viewport { log: self.log.get(), hidden: (0..count).map(|i| self.is_hidden(i)).collect(), ..base }
    }

    fn drawing(&self, narrow: bool) -> String {
        let viewport = self.viewport(narrow);
        self.chart.with(|c| svg::write(&c.scene(&viewport), if narrow { "n" } else { "w" }))
    }

    fn overlay(&self, narrow: bool) -> String {
        let (moment, chosen) = (self.moment.get(), self.chosen.get());
        if moment.is_none() && chosen.is_none() {
            return String::new();
        }
        let viewport = self.viewport(narrow);
        self.chart.with(|c| {
            let scene = c.scene(&viewport);
            let Some(moment) = moment else { return svg::overlay(&scene, chosen, None) };
            let lines = c.series.iter().enumerate().filter(|(i, s)| viewport.shows(*i) && s.mark != Mark::Lane);
            let marks: Vec<(String, f64)> = lines
                .filter_map(|(_, s)| {
                    let scale = if s.side == Side::Left { scene.left } else { scene.right };
                    Some((s.class.clone(), scale.place(s.at(moment, c.step_s * 0.75)?)))
                })
                .collect();
            svg::overlay(&scene, chosen, Some((moment, &marks)))
        })
    }

    /// The value of a series at the crosshair.
    fn value(&self, index: usize) -> String {
        let Some(moment) = self.moment.get() else { return String::new() };
        self.chart
            .with(|c| c.series.get(index).map_or_else(String::new, |s| value_text(s.at(moment, c.step_s * 0.75), s)))
    }

    /// All values at the crosshair, in words.
    fn reading(&self) -> String {
        let Some(moment) = self.moment.get() else { return "Arrow keys move through time".to_owned() };
        self.chart.with(|c| {
            let parts: Vec<String> = c
                .series
                .iter()
                .map(|s| format!("{} {}", s.label, value_text(s.at(moment, c.step_s * 0.75), s)))
                .collect();
            format!("{}: {}", format::clock(moment.max(0.0) as u32), parts.join(", "))
        })
    }

    fn point_at(&self, event: &PointerEvent) {
        let Some(stage) = event.current_target().and_then(|t| t.dyn_into::<web_sys::Element>().ok()) else { return };
        let rect = stage.get_bounding_client_rect();
        if rect.width() <= 0.0 {
            return;
        }
        let viewport = untrack(|| self.viewport(rect.width() < Viewport::BREAK));
        let x = (f64::from(event.client_x()) - rect.left()) / rect.width() * viewport.width;
        let nearest = self.chart.with_untracked(|c| {
            let wanted = c.scene(&viewport).time.value(x);
            c.moments().into_iter().min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs()))
        });
        if self.moment.get_untracked() != nearest {
            self.moment.set(nearest);
        }
    }

    fn step(&self, event: &KeyboardEvent) {
        let moments = self.chart.with_untracked(Chart::moments);
        let Some(last) = moments.len().checked_sub(1) else { return };
        let now = self.moment.get_untracked().map(|m| moments.partition_point(|x| *x < m).min(last));
        let far = (last / 10).max(1);
        let next = match (event.key().as_str(), now) {
            ("Enter", _) if self.choosing.possible => {
                event.prevent_default();
                self.show_choice();
                return;
            }
            ("Escape", _) => {
                self.forget_choice();
                None
            }
            ("Home", _) | ("ArrowRight" | "ArrowUp" | "PageUp", None) => Some(0),
            ("End", _) | ("ArrowLeft" | "ArrowDown" | "PageDown", None) => Some(last),
            ("ArrowLeft" | "ArrowDown", Some(i)) => Some(i.saturating_sub(1)),
            ("ArrowRight" | "ArrowUp", Some(i)) => Some((i + 1).min(last)),
            ("PageDown", Some(i)) => Some(i.saturating_sub(far)),
            ("PageUp", Some(i)) => Some((i + far).min(last)),
            _ => return,
        };
        event.prevent_default();
        let before = self.moment.get_untracked();
        self.moment.set(next.and_then(|i| moments.get(i).copied()));
        if !self.choosing.possible || next.is_none() {
            return;
        }
        if event.shift_key() {
            if self.anchor.get_untracked().is_none() {
                self.anchor.set(before.or(self.moment.get_untracked()));
            }
            self.choose_until_here();
        } else {
            self.forget_choice();
        }
    }
}

fn value_text(value: Option<f64>, series: &crate::chart::Series) -> String {
    match (series.mark, value) {
        (Mark::Lane, share) => format::percent(Some(share.unwrap_or(0.0))),
        (_, value) if series.unit.is_empty() => format::maybe(value),
        (_, Some(value)) => format!("{} {}", format::number(value), series.unit),
        (_, None) => format::NONE.to_owned(),
    }
}

/// The figure: title, legend, drawing, sentence.
pub fn figure(chart: Signal<Chart>) -> AnyView {
    choosable(chart, Choosing::default())
}

/// The same, on which a part of the run may be chosen.
pub fn choosable(chart: Signal<Chart>, choosing: Choosing) -> AnyView {
    let count = chart.with_untracked(|c| c.series.len());
    let view = View {
        chart,
        switched: RwSignal::new(vec![None; count]),
        log: RwSignal::new(false),
        moment: RwSignal::new(None),
        choosing,
        chosen: RwSignal::new(choosing.chosen),
        anchor: RwSignal::new(None),
        dragging: RwSignal::new(false),
    };
    // Only a chart that can be moved through says so; the server's stays a picture.
    let awake = RwSignal::new(false);
    Effect::new(move || awake.set(true));
    let legend = (0..count).map(|i| legend_button(view, i)).collect_view();
    view! {
        <figure class="chart">
            <div class="chart-head">
                <figcaption>{move || chart.with(|c| c.title.clone())}</figcaption>
                <button type="button" class="toggle live-only" aria-pressed=move || view.log.get().to_string() on:click=move |_| view.log.update(|l| *l = !*l)>
                    "Log scale"
                </button>
            </div>
            <div class="legend-row">{legend}</div>
            <div
                class="chart-stage"
                tabindex=move || awake.get().then_some("0")
                role=move || awake.get().then_some("slider")
                aria-label=move || awake.get().then_some("Moment of the run")
                aria-valuemin=move || awake.get().then_some("0")
                aria-valuemax=move || awake.get().then(|| chart.with(|c| format!("{:.0}", c.end_s)))
                aria-valuenow=move || awake.get().then(|| format!("{:.0}", view.moment.get().unwrap_or(0.0)))
                aria-valuetext=move || awake.get().then(|| view.reading())
                on:pointermove=move |e| view.drag(&e)
                on:pointerdown=move |e| view.press(&e)
                on:pointerup=move |_| view.release()
                on:pointercancel=move |_| view.forget_choice()
                on:pointerleave=move |_| if !view.dragging.get_untracked() { view.moment.set(None) }
                on:keydown=move |e| view.step(&e)
                on:blur=move |_| {
                    view.moment.set(None);
                    view.forget_choice();
                }
            >
                <div class="drawing wide" inner_html=move || view.drawing(false)></div>
                <div class="over wide" inner_html=move || view.overlay(false)></div>
                <div class="drawing narrow" inner_html=move || view.drawing(true)></div>
                <div class="over narrow" inner_html=move || view.overlay(true)></div>
            </div>
            <p class="chart-says">{move || chart.with(|c| c.description.clone())}</p>
            {choosing.possible.then(|| view! { <p class="chart-says live-only" role="status">{move || view.choice()}</p> })}
        </figure>
    }
    .into_any()
}

fn legend_button(view: View, index: usize) -> impl IntoView {
    let (label, class) = view
        .chart
        .with_untracked(|c| c.series.get(index).map(|s| (s.label.clone(), s.class.clone())).unwrap_or_default());
    view! {
        <button
            type="button"
            class=format!("legend {class}")
            aria-pressed=move || (!view.is_hidden(index)).to_string()
            on:click=move |_| {
                let hide = !untrack(|| view.is_hidden(index));
                view.switched.update(|s| if let Some(entry) = s.get_mut(index) { *entry = Some(hide) });
            }
        >
            <span class="swatch"></span>
            <span class="name">{label}</span>
            <span class="value">{move || view.value(index)}</span>
        </button>
    }
}

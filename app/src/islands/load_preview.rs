//! The preview of a test's load, redrawn while its form is filled in.

use leptos::prelude::*;
use oleada_engine::plan::limits;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::FormData;

use crate::chart::{Viewport, svg};
use crate::preview::{LoadInput, preview};

/// The preview; `input` is what the form holds when the page is made.
#[island]
pub fn LoadPreview(
    /// The fields as typed.
    input: LoadInput,
) -> impl IntoView {
    let input = RwSignal::new(input);
    Effect::new(move || follow(input));
    let shown = Memo::new(move |_| input.with(preview));
    view! {
        <aside class="preview" aria-live="polite">
            <h2>"What this test will do"</h2>
            <p class="preview-headline">{move || shown.with(|p| p.headline.clone())}</p>
            <p class="preview-detail">{move || shown.with(|p| p.detail.clone())}</p>
            <div class="drawing" inner_html=move || shown.with(|p| p.chart.as_ref().map_or_else(String::new, |c| svg::write(&c.scene(&viewport()), "p")))></div>
        </aside>
    }
}

fn viewport() -> Viewport {
    Viewport { width: 380.0, height: 200.0, ..Viewport::narrow() }
}

/// Reads the form now (the browser may have put back what was typed before) and whenever something is typed.
fn follow(input: RwSignal<LoadInput>) {
    read(input);
    let listener = Closure::<dyn Fn()>::new(move || read(input));
    let _ = document().add_event_listener_with_callback("input", listener.as_ref().unchecked_ref());
    listener.forget();
}

fn read(input: RwSignal<LoadInput>) {
    let form = document().query_selector("form.test-form").ok().flatten();
    let Some(form) = form.and_then(|e| e.dyn_into::<web_sys::HtmlFormElement>().ok()) else { return };
    let Ok(form) = FormData::new_with_form(&form) else { return };
    let there = |name: &str| form.get(name).as_string();
    let field = |name: &str| there(name).unwrap_or_default();
    let stages = (0..limits::STAGES).map_while(|i| there(&format!("stages[{i}].to")).map(|to| (i, to)));
    let requests = (0..limits::REQUEST_LIST).take_while(|i| form.has(&format!("requests[{i}].url"))).count().max(1);
    let now = LoadInput {
        load: field("load"),
        per_test: field("per_test"),
        rate: field("rate"),
        from: field("from"),
        to: field("to"),
        request_count: field("requests"),
        clients: field("clients"),
        duration_s: field("duration_s"),
        stages: stages.map(|(i, to)| [field(&format!("stages[{i}].duration_s")), to]).collect(),
        think: [field("think_least_ms"), field("think_most_ms")],
        pacing: [field("pacing_least_ms"), field("pacing_most_ms")],
        warm_up_s: field("warm_up_s"),
        rows: if field("order") == "weighted" { 1 } else { requests as u64 },
    };
    if input.with_untracked(|before| *before != now) {
        input.set(now);
    }
}

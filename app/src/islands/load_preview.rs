//! The preview of a test's load, redrawn while its form is filled in.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

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
    let field = |id: &str| {
        let element = document().get_element_by_id(id).and_then(|e| e.dyn_into::<web_sys::HtmlInputElement>().ok());
        element.map(|e| e.value()).unwrap_or_default()
    };
    let chosen = document()
        .query_selector("input[name=load]:checked")
        .ok()
        .flatten()
        .and_then(|e| e.dyn_into::<web_sys::HtmlInputElement>().ok());
    let rows = document().query_selector_all(".request-row").map_or(1, |rows| u64::from(rows.length()).max(1));
    let now = LoadInput {
        load: chosen.map(|e| e.value()).unwrap_or_default(),
        per_test: field("f-per-test"),
        rate: field("f-rate"),
        from: field("f-from"),
        to: field("f-to"),
        request_count: field("f-requests"),
        clients: field("f-clients"),
        duration_s: field("f-duration-s"),
        rows,
    };
    if input.with_untracked(|before| *before != now) {
        input.set(now);
    }
}

//! The pages of Oleada: plain data in, HTML out.
//!
//! With the feature `ssr` (the server) each module of [`pages`] has a struct of everything its page shows and a `render`
//! function; nothing here loads, saves or waits. With the feature `hydrate` (the browser bundle, wasm) only the [`islands`]
//! are alive: the few parts of a page that move. Charts are laid out and drawn by the same code on both sides.
// A page's type nests as deep as its elements.
#![recursion_limit = "256"]

pub mod chart;
pub mod format;
pub mod islands;
pub mod live;
pub mod plan_form;
pub mod preview;
pub mod view;

#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod shell;
#[cfg(feature = "ssr")]
pub mod ui;

pub use view::{AssetPaths, Chrome, Flash, FlashKind, Viewer};

/// Called once by the page when the browser bundle has been loaded; the islands follow, one exported function each.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_islands();
}

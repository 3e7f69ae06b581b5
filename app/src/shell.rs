//! The document around a page: head, navigation, flash message, foot; scripts only where the page has islands.
//!
//! Written as text with everything variable escaped: it is the same on every page, and no view is alive here.

use std::fmt::Write as _;

use leptos::prelude::*;

use crate::format::escape;
use crate::view::{AssetPaths, Chrome, FlashKind};

/// Small behaviours of plain pages: theme switch, times in the reader's zone, copying. About two kilobytes, no dependency.
const PAGE_JS: &str = include_str!("shell/page.js");
/// Loads the bundle and wakes every island, parents before children.
const ISLANDS_JS: &str = include_str!("shell/islands.js");

/// What previews of a link to a page show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// Address of the page, with scheme and host.
    pub url: String,
    /// Address of the picture, with scheme and host.
    pub picture: String,
    /// Width and height of the picture in pixels.
    pub size: (u32, u32),
}

/// What the head says of a page.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// Title, without the product's name.
    pub title: String,
    /// For search engines and link previews; empty = none.
    pub description: String,
    /// Keep it out of search engines; true for everything behind a sign-in and for shared reports.
    pub private: bool,
    /// For previews of links to it; `None` = none.
    pub preview: Option<Preview>,
    /// Class of `<main>`, for the width of its column.
    pub class: &'static str,
    /// Load the page again after so many seconds where there is no script.
    pub refresh_s: Option<u32>,
    /// Load the page again after so many seconds, with scripts or without: for pages under way that no island makes live.
    pub reload_s: Option<u32>,
}

impl Head {
    /// A page of the application.
    pub fn private(title: impl Into<String>) -> Head {
        Head { title: title.into(), private: true, ..Head::default() }
    }

    /// Gives `<main>` a class.
    pub fn class(mut self, class: &'static str) -> Head {
        self.class = class;
        self
    }
}

/// Draws a view once, without anything reactive left behind.
pub(crate) fn to_html(view: impl FnOnce() -> AnyView) -> String {
    let owner = Owner::new_root(Some(std::sync::Arc::new(hydration_context::SsrSharedContext::new_islands())));
    let html = owner.with(|| view().to_html());
    owner.unset_with_forced_cleanup();
    html
}

/// The whole document.
pub(crate) fn document(chrome: &Chrome, head: &Head, body: impl FnOnce() -> AnyView) -> String {
    let main = to_html(body);
    let mut out = String::with_capacity(main.len() + 8192);
    write_head(&mut out, chrome, head);
    out.push_str("<body>\n<a class=\"skip\" href=\"#main\">Skip to content</a>\n");
    write_header(&mut out, chrome);
    let _ = write!(out, "<main id=\"main\" class=\"{}\" tabindex=\"-1\">", escape(head.class));
    write_flash(&mut out, chrome);
    out.push_str(&main);
    out.push_str("</main>\n");
    write_footer(&mut out, chrome);
    write_scripts(&mut out, chrome, main.contains("<leptos-island"));
    out.push_str("</body>\n</html>\n");
    out
}

/// A document without navigation, footer and scripts, to be shown inside pages of others.
pub(crate) fn frame(chrome: &Chrome, head: &Head, body: impl FnOnce() -> AnyView) -> String {
    let main = to_html(body);
    let mut out = String::with_capacity(main.len() + 2048);
    let bare = Chrome { assets: AssetPaths { js: None, wasm: None, ..chrome.assets.clone() }, ..Chrome::default() };
    write_head(&mut out, &bare, head);
    let _ = writeln!(out, "<body class=\"embed\">\n<main>{main}</main>\n</body>\n</html>");
    out
}

fn write_head(out: &mut String, chrome: &Chrome, head: &Head) {
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} – Oleada</title>\n",
        escape(&head.title)
    );
    if !head.description.is_empty() {
        let _ = writeln!(out, "<meta name=\"description\" content=\"{}\">", escape(&head.description));
    }
    if let Some(Preview { url, picture, size: (width, height) }) = &head.preview {
        let (title, url, picture) = (escape(&head.title), escape(url), escape(picture));
        let description = escape(&head.description);
        let _ = writeln!(
            out,
            "<meta property=\"og:type\" content=\"website\">\n<meta property=\"og:site_name\" content=\"Oleada\">\n\
             <meta property=\"og:title\" content=\"{title}\">\n<meta property=\"og:description\" content=\"{description}\">\n\
             <meta property=\"og:url\" content=\"{url}\">\n<meta property=\"og:image\" content=\"{picture}\">\n\
             <meta property=\"og:image:type\" content=\"image/png\">\n<meta property=\"og:image:width\" content=\"{width}\">\n\
             <meta property=\"og:image:height\" content=\"{height}\">\n<meta property=\"og:image:alt\" content=\"{description}\">\n\
             <meta name=\"twitter:card\" content=\"summary_large_image\">"
        );
    }
    if head.private {
        out.push_str("<meta name=\"robots\" content=\"noindex\">\n");
    }
    if let Some(seconds) = head.refresh_s {
        let _ = writeln!(out, "<noscript><meta http-equiv=\"refresh\" content=\"{seconds}\"></noscript>");
    }
    if let Some(seconds) = head.reload_s {
        let _ = writeln!(out, "<meta http-equiv=\"refresh\" content=\"{seconds}\">");
    }
    let AssetPaths { css, print_css, js, wasm: _, favicon } = &chrome.assets;
    if js.is_some() {
        // Before the style sheet, so that a stored theme is there at the first paint.
        let _ = writeln!(out, "<script nonce=\"{}\">{PAGE_JS}</script>", escape(&chrome.nonce));
    }
    if !css.is_empty() {
        let _ = writeln!(out, "<link rel=\"stylesheet\" href=\"{}\">", escape(css));
    }
    if let Some(print) = print_css {
        let _ = writeln!(out, "<link rel=\"stylesheet\" media=\"print\" href=\"{}\">", escape(print));
    }
    if !favicon.is_empty() {
        let _ = writeln!(out, "<link rel=\"icon\" type=\"image/svg+xml\" href=\"{}\">", escape(favicon));
    }
    out.push_str("</head>\n");
}

/// The mark: a wave running through three bars.
const LOGO: &str = "<svg class=\"logo\" viewBox=\"0 0 32 32\" width=\"28\" height=\"28\" aria-hidden=\"true\" focusable=\"false\">\
     <rect class=\"logo-ground\" width=\"32\" height=\"32\" rx=\"8\"/>\
     <path class=\"logo-wave\" d=\"M4 21c3.5 0 4.5-9 8-9s4.5 8 8 8 4.5-5 8-5\" fill=\"none\" stroke-width=\"3\" stroke-linecap=\"round\"/></svg>";

fn write_header(out: &mut String, chrome: &Chrome) {
    let home = if chrome.viewer.is_some() { "/dashboard" } else { "/" };
    let _ = write!(
        out,
        "<header class=\"site-header\"><div class=\"site-bar\"><a class=\"brand\" href=\"{home}\">{LOGO}<span>Oleada</span></a>"
    );
    if let Some(viewer) = &chrome.viewer {
        out.push_str("<nav class=\"site-nav\" aria-label=\"Main\"><ul>");
        for (href, label) in SECTIONS {
            let current = if is_under(&chrome.path, href) { " aria-current=\"page\"" } else { "" };
            let _ = write!(out, "<li><a href=\"{href}\"{current}>{label}</a></li>");
        }
        out.push_str("</ul></nav><div class=\"site-end\">");
        write_theme_switch(out, chrome);
        let operator = if viewer.is_operator { " <span class=\"tag\">operator</span>" } else { "" };
        let _ = write!(
            out,
            "<span class=\"who\" title=\"Signed in as {0}\"><span class=\"who-name\">{0}</span>{operator}</span>\
             <form method=\"post\" action=\"/sign-out\"><button class=\"link\" type=\"submit\">Sign out</button></form></div>",
            escape(&viewer.email)
        );
    } else {
        out.push_str("<div class=\"site-end\">");
        write_theme_switch(out, chrome);
        if chrome.path != "/sign-in" {
            out.push_str("<a class=\"button quiet small\" href=\"/sign-in\">Sign in</a>");
        }
        out.push_str("</div>");
    }
    out.push_str("</div></header>\n");
}

/// Hidden until the script shows it: without a script the system's choice stands.
fn write_theme_switch(out: &mut String, chrome: &Chrome) {
    if chrome.assets.js.is_some() {
        out.push_str(
            "<button class=\"icon-button\" type=\"button\" data-theme-switch hidden aria-label=\"Switch between light and dark\" title=\"Light or dark\">\
             <svg viewBox=\"0 0 20 20\" width=\"20\" height=\"20\" aria-hidden=\"true\" focusable=\"false\"><circle cx=\"10\" cy=\"10\" r=\"7.25\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"/>\
             <path d=\"M10 3a7 7 0 0 1 0 14z\" fill=\"currentColor\"/></svg></button>",
        );
    }
}

/// The navigation.
const SECTIONS: [(&str, &str); 5] =
    [("/dashboard", "Dashboard"), ("/hosts", "Hosts"), ("/tests", "Tests"), ("/runs", "Runs"), ("/compare", "Compare")];

/// Series belong to tests in the navigation.
fn is_under(path: &str, section: &str) -> bool {
    let path = if path.starts_with("/series/") { "/tests" } else { path };
    path == section || path.strip_prefix(section).is_some_and(|rest| rest.starts_with('/'))
}

fn write_flash(out: &mut String, chrome: &Chrome) {
    let Some(flash) = &chrome.flash else { return };
    let (class, word, role) = match flash.kind {
        FlashKind::Success => ("success", "Done", "status"),
        FlashKind::Notice => ("notice", "Note", "status"),
        FlashKind::Failure => ("failure", "Problem", "alert"),
    };
    let _ = write!(
        out,
        "<div class=\"flash {class}\" role=\"{role}\"><strong>{word}</strong> {}</div>",
        escape(&flash.text)
    );
}

fn write_footer(out: &mut String, chrome: &Chrome) {
    out.push_str(
        "<footer class=\"site-footer\"><div class=\"site-bar\"><p>Oleada, open and self-hosted load testing.</p>",
    );
    if let Some(note) = &chrome.mode_note {
        let _ = write!(out, "<p class=\"mode-note\">{}</p>", escape(note));
    }
    out.push_str("</div></footer>\n");
}

fn write_scripts(out: &mut String, chrome: &Chrome, has_islands: bool) {
    let (Some(js), Some(wasm), true) = (&chrome.assets.js, &chrome.assets.wasm, has_islands) else { return };
    let _ = writeln!(
        out,
        "<script type=\"module\" nonce=\"{}\" data-js=\"{}\" data-wasm=\"{}\" id=\"islands\">{ISLANDS_JS}</script>",
        escape(&chrome.nonce),
        escape(js),
        escape(wasm)
    );
}

//! Tests from elsewhere and to elsewhere: the import page, and a test in the forms that other tools read.

use leptos::prelude::*;

use crate::shell::{Head, document};
use crate::ui::form::{error_summary, file, text_area};
use crate::view::{Chrome, FieldError};

/// `GET /tests/import`, and the answer (422) to its `POST` with a fault.
#[derive(Clone, Debug, Default)]
pub struct ImportPage {
    /// As pasted.
    pub text: String,
    /// Faults; `field` is `text`.
    pub errors: Vec<FieldError>,
}

/// A test as it is taken elsewhere.
#[derive(Clone, Debug, Default)]
pub struct ExportPage {
    /// Id of the test.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Our own form, without secrets.
    pub json: String,
    /// The command line.
    pub command: String,
    /// What the command line cannot say.
    pub command_lacks: Vec<String>,
    /// The body that creates the test at loader.io.
    pub loaderio: String,
    /// What loader.io does not have.
    pub loaderio_lacks: Vec<String>,
}

/// Draws the import page.
pub fn render_import(chrome: &Chrome, page: &ImportPage) -> String {
    document(chrome, &Head::private("Import a test"), || {
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a></p>
            {error_summary(&page.errors, |_| "What to import:".to_owned())}
            <h1>"Import a test"</h1>
            <p>"What you paste becomes a new test. Nothing is requested yet: look at it first, then run it."</p>
            <form method="post" action="/tests/import" enctype="multipart/form-data" class="stack" autocomplete="off">
                {text_area(
                    "text",
                    "Paste it here",
                    "A curl command (in the browser's developer tools: Copy as cURL), an ab command line, the text of a HAR file or an OpenAPI document, a loader.io test as JSON, or a test exported from Oleada.",
                    12,
                    &page.text,
                    &page.errors,
                )}
                {file("text_file", "Or choose a file", "OpenAPI (JSON or YAML) up to 4 MB; HAR or JSON up to 12 MB.", &[])}
                <p class="form-actions">
                    <button class="button" type="submit">"Import"</button>
                    <a class="cancel" href="/tests">"Cancel"</a>
                </p>
            </form>
        }
        .into_any()
    })
}

/// Draws the export page.
pub fn render_export(chrome: &Chrome, page: &ExportPage) -> String {
    let path = format!("/tests/{}", page.id);
    document(chrome, &Head::private(format!("Take {} elsewhere", page.name)), || {
        view! {
            <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a class="break" href=path.clone()>{page.name.clone()}</a></p>
            <h1 class="break">{format!("Take “{}” elsewhere", page.name)}</h1>
            <p>"Passwords, tokens, cookies and the values of secret headers are left out of everything on this page."</p>
            <section>
                <h2>"As a file"</h2>
                <p>"Importing it, here or in another Oleada, gives the same test again."</p>
                <p><a class="button" href=format!("{path}/export.json") download="">"Download JSON"</a></p>
                {code("The test as JSON", &page.json)}
            </section>
            <section>
                <h2>"From the terminal"</h2>
                <p>"The same load without the web application, in CI for example. It ends with an exit code that says whether the limits held."</p>
                {code("The command", &page.command)}
                {lacks("The command cannot say:", &page.command_lacks)}
            </section>
            <section>
                <h2>"For loader.io"</h2>
                <p>"The body of a request to its API that creates a test."</p>
                {code("The test for loader.io", &page.loaderio)}
                {lacks("loader.io does not have:", &page.loaderio_lacks)}
            </section>
        }
        .into_any()
    })
}

fn code(label: &'static str, text: &str) -> AnyView {
    view! { <pre class="code" tabindex="0" role="region" aria-label=label><code>{text.to_owned()}</code></pre> }
        .into_any()
}

fn lacks(intro: &'static str, sentences: &[String]) -> Option<AnyView> {
    let items = sentences.iter().map(|sentence| view! { <li class="break">{sentence.clone()}</li> }).collect_view();
    (!sentences.is_empty()).then(|| view! { <p>{intro}</p><ul class="plain">{items}</ul> }.into_any())
}

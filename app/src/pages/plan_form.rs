//! Creating and editing a test.

use leptos::prelude::*;
use oleada_engine::plan::limits;

use crate::islands::LoadPreview;
use crate::plan_form::{PlanForm, RequestForm};
use crate::preview::LoadInput;
use crate::shell::{Head, document};
use crate::ui::form::{Field, bound_hint, error_summary, field_id, message, select, text_area};
use crate::view::{Chrome, FieldError};

/// `GET /tests/new`, `GET /tests/{id}/edit`, and the answers (422) to their `POST`s with faults, or (200) to their buttons
/// that add and remove requests.
#[derive(Clone, Debug)]
pub struct TestFormPage {
    /// The test being edited; `None` for a new one.
    pub id: Option<String>,
    /// As typed.
    pub form: PlanForm,
    /// Faults; `field` as in [`crate::plan_form`].
    pub errors: Vec<FieldError>,
    /// Addresses of hosts that may be tested, to suggest.
    pub hosts: Vec<String>,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &TestFormPage) -> String {
    let title = page.id.as_ref().map_or_else(|| "New test".to_owned(), |_| format!("Edit {}", page.form.name));
    let errors = shown_errors(&page.errors);
    document(chrome, &Head::private(title.clone()).class("wide"), || {
        let action = page.id.as_ref().map_or_else(|| "/tests".to_owned(), |id| format!("/tests/{id}/edit"));
        view! {
            {page.id.as_ref().map(|id| view! { <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a href=format!("/tests/{id}")>{page.form.name.clone()}</a></p> })}
            {error_summary(&errors, label)}
            <h1 class="break">{title}</h1>
            <form method="post" action=action class="test-form" autocomplete="off">
                // Return in a field presses the first button of a form.
                <button class="visually-hidden" type="submit" name="action" value="save" tabindex="-1" aria-hidden="true">"Save"</button>
                <div class="form-main">
                    {basics(page, &errors)}
                    {requests(page, &action, &errors)}
                    {load(&page.form, &errors)}
                    {advanced(&page.form, &errors)}
                    <p class="form-actions">
                        <button class="button" type="submit" name="action" value="run">"Save and run"</button>
                        <button class="button quiet" type="submit" name="action" value="save">"Save"</button>
                        <a class="cancel" href=page.id.as_ref().map_or_else(|| "/tests".to_owned(), |id| format!("/tests/{id}"))>"Cancel"</a>
                    </p>
                </div>
                <div class="form-side"><LoadPreview input=LoadInput::of(&page.form) /></div>
            </form>
            <datalist id="known-hosts">{page.hosts.iter().map(|h| view! { <option value=format!("http://{h}/")></option> }).collect_view()}</datalist>
        }
        .into_any()
    })
}

/// A plan's own fields that the form calls otherwise.
fn shown_errors(errors: &[FieldError]) -> Vec<FieldError> {
    let renamed = |field: &str| {
        field.strip_suffix(".basic_auth").map_or_else(|| field.to_owned(), |row| format!("{row}.auth_user"))
    };
    errors.iter().map(|e| FieldError { field: renamed(&e.field), message: e.message.clone() }).collect()
}

/// The words for a field in the list of errors.
fn label(field: &str) -> String {
    if let Some((index, part)) = field.strip_prefix("requests[").and_then(|rest| rest.split_once("].")) {
        let number = index.parse::<usize>().map_or(1, |i| i + 1);
        let part = match part {
            "method" => "method",
            "url" => "address",
            "headers" => "headers",
            "body" => "body",
            "auth_user" => "user name",
            "auth_password" => "password",
            other => other,
        };
        return format!("Request {number}: {part}");
    }
    match field {
        "name" => "Name",
        "notes" => "Notes",
        "load" => "Type of load",
        "per_test" => "Clients",
        "rate" => "Clients per second",
        "from" => "Clients at the start",
        "to" => "Clients at the end",
        "requests" => "Requests",
        "clients" => "Clients at once",
        "duration_s" => "Duration",
        "timeout_ms" => "Timeout",
        "idle_timeout_ms" => "Idle timeout",
        "error_threshold" => "Error threshold",
        "reuse" => "Connections",
        "http" => "HTTP version",
        "end" => "At the end",
        "redirects" => "Redirects",
        "max_clients" => "Most clients",
        "warm_up_s" => "Warm-up",
        "max_rate_missed" => "Missed rate",
        other => other,
    }
    .to_owned()
}

fn basics(page: &TestFormPage, errors: &[FieldError]) -> AnyView {
    let hint = format!("So that you find it again. Up to {} characters.", limits::NAME_CHARS);
    Field {
        name: "name",
        label: "Name",
        hint,
        value: &page.form.name,
        placeholder: "Front page, evening peak",
        ..Field::default()
    }
    .view(errors)
}

fn requests(page: &TestFormPage, action: &str, errors: &[FieldError]) -> AnyView {
    let many = page.form.requests.len() > 1;
    let rows =
        page.form.requests.iter().enumerate().map(|(i, row)| request(i, row, many, action, errors)).collect_view();
    let next = format!("{action}#{}", field_id(&format!("requests[{}].url", page.form.requests.len())));
    let full = page.form.requests.len() >= limits::REQUEST_LIST;
    view! {
        <fieldset class="requests">
            <legend>"What each client requests"</legend>
            <p class="hint">{if many { "Every client makes these requests one after the other." } else { "Every client makes this request. Add more to make it walk through several pages." }}</p>
            {rows}
            {(!full).then(|| view! { <button class="button quiet small" type="submit" name="action" value="add-request" formaction=next>"Add another request"</button> })}
        </fieldset>
    }
    .into_any()
}

const METHODS: &[(&str, &str)] = &[
    ("GET", "GET"),
    ("HEAD", "HEAD"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("OPTIONS", "OPTIONS"),
];

fn request(index: usize, row: &RequestForm, many: bool, action: &str, errors: &[FieldError]) -> AnyView {
    let name = |part: &str| format!("requests[{index}].{part}");
    let (method, url, headers, body, user, password) =
        (name("method"), name("url"), name("headers"), name("body"), name("auth_user"), name("auth_password"));
    let more_used = !(row.headers.is_empty() && row.body.is_empty() && row.auth_user.is_empty())
        || [&headers, &body, &user, &password].iter().any(|n| message(errors, n).is_some());
    let kept = if row.has_stored_password {
        "Kept as it is unless you type a new one."
    } else {
        "Sent as typed; not shown again."
    };
    let remove = many.then(|| {
        let back = format!("{action}#{}", field_id(&format!("requests[{}].url", index.saturating_sub(1))));
        view! {
            <button class="link" type="submit" name="action" value=format!("remove-request-{index}") formaction=back aria-label=format!("Remove request {}", index + 1)>"Remove"</button>
        }
    });
    view! {
        <div class="request-row" role="group" aria-label=format!("Request {}", index + 1)>
            {many.then(|| view! { <div class="request-head"><strong>{format!("Request {}", index + 1)}</strong>{remove}</div> })}
            <div class="request-line">
                {select(&method, "Method", "", METHODS, &row.method, errors)}
                {Field {
                    name: &url, label: "Address", value: &row.url, inputmode: "url", list: "known-hosts", placeholder: "http://shop.example/",
                    hint: "The whole address, with http:// or https://.".to_owned(), ..Field::default()
                }.view(errors)}
            </div>
            <details open=more_used>
                <summary>"Headers, body and sign-in"</summary>
                {text_area(&headers, "Headers", "One a line: Accept-Language: en", 3, &row.headers, errors)}
                {text_area(&body, "Body", "Sent as it is, up to 1 MB. Say what it is with a Content-Type header.", 4, &row.body, errors)}
                <div class="field-row">
                    {Field { name: &user, label: "User name", hint: "For basic authentication; empty for none.".to_owned(), value: &row.auth_user, ..Field::default() }.view(errors)}
                    {Field { name: &password, label: "Password", hint: kept.to_owned(), value: &row.auth_password, kind: "password", autocomplete: "new-password", ..Field::default() }.view(errors)}
                </div>
            </details>
            {row.stored.map(|i| view! { <input type="hidden" name=name("stored") value=i.to_string() /> })}
        </div>
    }
    .into_any()
}

/// Value, words, one line, and a drawing in a box of 96 by 40.
const LOADS: &[(&str, &str, &str, &str)] = &[
    (
        "per_test",
        "Clients per test",
        "So many clients in all, spread evenly over the time.",
        "M6 34V26M18 34V26M30 34V26M42 34V26M54 34V26M66 34V26M78 34V26M90 34V26",
    ),
    (
        "per_second",
        "Clients per second",
        "A steady rate, however slow the target gets.",
        "M4 14H92M4 34V14M15 34V14M26 34V14M37 34V14M48 34V14M59 34V14M70 34V14M81 34V14M92 34V14",
    ),
    ("maintain", "Maintain client load", "A number of clients at once, from one level to another.", "M4 34L92 8"),
    (
        "fixed_count",
        "Fixed count",
        "So many requests, as fast as so many clients can.",
        "M4 9h12M20 9h16M40 9h10M54 9h14M72 9h12M4 18h18M26 18h10M40 18h16M60 18h10M4 27h10M18 27h14M36 27h18M58 27h16",
    ),
];

fn load(form: &PlanForm, errors: &[FieldError]) -> AnyView {
    let cards = LOADS
        .iter()
        .map(|(value, words, line, drawing)| {
            let id = format!("f-load-{}", value.replace('_', "-"));
            let label_for = id.clone();
            view! {
                <label class="load-card" for=label_for>
                    <input type="radio" name="load" id=id value=*value checked=form.load == *value />
                    <svg viewBox="0 0 96 40" width="96" height="40" aria-hidden="true" focusable="false"><path class="card-ground" d="M2 36H94" /><path class="card-line" d=*drawing /></svg>
                    <span class="card-name">{*words}</span>
                    <span class="card-text">{*line}</span>
                </label>
            }
        })
        .collect_view();
    let error = message(errors, "load").map(str::to_owned);
    view! {
        <fieldset class="load" id="f-load">
            <legend>"How many clients"</legend>
            <p class="hint">"A client is one simulated user: it makes the requests above in order, with connections and cookies of its own."</p>
            {error.map(|text| view! { <p class="field-error">"Type of load "{text}</p> })}
            <div class="load-cards">{cards}</div>
            <div class="load-fields for-per-test">
                {number("per_test", "Clients", limits::PER_TEST, "How many start over the whole test.", &form.per_test, errors)}
            </div>
            <div class="load-fields for-per-second">
                {number("rate", "Clients per second", limits::RATE, "Fractions are fine: 0.2 is one every five seconds.", &form.rate, errors)}
            </div>
            <div class="load-fields for-maintain">
                {number("from", "Clients at the start", limits::FROM, "", &form.from, errors)}
                {number("to", "Clients at the end", limits::TO, "The same as at the start for a steady load.", &form.to, errors)}
            </div>
            <div class="load-fields for-fixed-count">
                {number("requests", "Requests", limits::REQUESTS, "In all.", &form.request_count, errors)}
                {number("clients", "Clients at once", limits::CLIENTS, "", &form.clients, errors)}
            </div>
            <div class="load-duration">
                {number("duration_s", "Duration", limits::DURATION_S, "60 is a good start. A fixed count may leave it empty: it then ends with its last request.", &form.duration_s, errors)}
            </div>
        </fieldset>
    }
    .into_any()
}

fn number(name: &str, label: &str, bound: limits::Bound, hint: &str, value: &str, errors: &[FieldError]) -> AnyView {
    let hint = if hint.is_empty() { bound_hint(bound) } else { format!("{hint} {}", bound_hint(bound)) };
    Field { name, label, hint, unit: bound.unit, value, inputmode: "decimal", width: "narrow", ..Field::default() }
        .view(errors)
}

const ADVANCED: &[&str] = &[
    "timeout_ms",
    "idle_timeout_ms",
    "error_threshold",
    "reuse",
    "end",
    "redirects",
    "max_clients",
    "warm_up_s",
    "max_rate_missed",
    "http",
    "min_tls",
    "insecure",
    "notes",
];

fn advanced(form: &PlanForm, errors: &[FieldError]) -> AnyView {
    let open = errors.iter().any(|e| ADVANCED.contains(&e.field.as_str()));
    view! {
        <details class="advanced" open=open>
            <summary>"Advanced settings"</summary>
            <div class="field-grid">
                {number("timeout_ms", "Timeout", limits::TIMEOUT_MS, "For the whole exchange, first byte sent to last byte received.", &form.timeout_ms, errors)}
                {number("idle_timeout_ms", "Idle timeout", limits::IDLE_TIMEOUT_MS, "Longest silence of the target; empty for none.", &form.idle_timeout_ms, errors)}
                {number("error_threshold", "Error threshold", limits::ERROR_THRESHOLD, "Share of errors at which the run ends; 100 is never.", &form.error_threshold, errors)}
                {number("max_rate_missed", "Missed rate", limits::MAX_RATE_MISSED, "End when more of the planned rate than this is missed; empty for never.", &form.max_rate_missed, errors)}
                {number("max_clients", "Most clients", limits::MAX_CLIENTS, "When clients arrive by the clock: so many at once, more have to wait. Empty for 10,000.", &form.max_clients, errors)}
                {number("warm_up_s", "Warm-up", limits::WARM_UP_S, "Load before the result begins, left out of it.", &form.warm_up_s, errors)}
                {select("reuse", "Connections", "What happens after a reply.", &[("client", "Keep alive within a client"), ("off", "New connection for every request")], &form.reuse, errors)}
                {select("http", "HTTP version", "", &[("auto", "Best that both sides know"), ("1.1", "HTTP/1.1 only"), ("2", "HTTP/2 only")], &form.http, errors)}
                {select("min_tls", "Lowest TLS version", "For https addresses.", &[("1.2", "TLS 1.2"), ("1.3", "TLS 1.3")], &form.min_tls, errors)}
                {select("redirects", "Redirects", "Only ever to hosts that may be tested.", &[("follow", "Follow"), ("off", "Do not follow")], &form.redirects, errors)}
                {select("end", "At the end", "Requests in flight when the time is up.", &[("drain", "May finish until their timeout"), ("abort", "Are cut and counted so")], &form.end, errors)}
            </div>
            <div class="field check">
                <input type="checkbox" id="f-insecure" name="insecure" value="on" checked=form.insecure />
                <label for="f-insecure">"Accept any certificate"</label>
                <p class="hint">"For a target with a self-signed certificate."</p>
            </div>
            {text_area("notes", "Notes", "Shown with the test, for you and your colleagues.", 3, &form.notes, errors)}
        </details>
    }
    .into_any()
}

//! Creating and editing a test.

use leptos::prelude::*;
use oleada_engine::plan::limits::{self, Bound};

use crate::format;
use crate::islands::LoadPreview;
use crate::plan_form::{AssertForm, Edit, ExtractForm, List, Pattern, PlanForm, RequestForm};
use crate::preview::LoadInput;
use crate::shell::{Head, document};
use crate::ui::form::{
    Field, bound_hint, check_box, choice, error_summary, field_id, file, json_area, message, select, text_area,
};
use crate::view::{Chrome, FieldError};

/// `GET /tests/new`, `GET /tests/{id}/edit`, and the answers (422) to their `POST`s with faults, or (200) to their buttons
/// that change rows.
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

/// What every part of the form needs.
struct Form<'a> {
    form: &'a PlanForm,
    errors: &'a [FieldError],
    /// Where the form is sent.
    action: &'a str,
}

/// Draws the page.
pub fn render(chrome: &Chrome, page: &TestFormPage) -> String {
    let title = page.id.as_ref().map_or_else(|| "New test".to_owned(), |_| format!("Edit {}", page.form.name));
    let errors = shown_errors(&page.errors);
    document(chrome, &Head::private(title.clone()).class("wide"), || {
        let action = page.id.as_ref().map_or_else(|| "/tests".to_owned(), |id| format!("/tests/{id}/edit"));
        let form = Form { form: &page.form, errors: &errors, action: &action };
        view! {
            {page.id.as_ref().map(|id| view! { <p class="crumbs"><a href="/tests">"Tests"</a>" / "<a href=format!("/tests/{id}")>{page.form.name.clone()}</a></p> })}
            {error_summary(&errors, label)}
            <h1 class="break">{title}</h1>
            <form method="post" action=action.clone() enctype="multipart/form-data" class="test-form" autocomplete="off">
                // Return in a field presses the first button of a form.
                <button class="visually-hidden" type="submit" name="action" value="save" tabindex="-1" aria-hidden="true">"Save"</button>
                {(page.id.is_none() && !page.form.form_id.is_empty()).then(|| view! { <input type="hidden" name="form_id" value=page.form.form_id.clone() /> })}
                <div class="form-main">
                    {form.basics()}
                    {form.requests()}
                    {form.load()}
                    {form.pauses()}
                    {form.data()}
                    {form.limits()}
                    {form.advanced()}
                    <p class="form-actions">
                        <button class="button" type="submit" name="action" value="run">"Save and run"</button>
                        <button class="button quiet" type="submit" name="action" value="save">"Save"</button>
                        <a class="cancel" href=page.id.as_ref().map_or_else(|| "/tests".to_owned(), |id| format!("/tests/{id}"))>"Cancel"</a>
                    </p>
                </div>
                <div class="form-side"><LoadPreview input=LoadInput::of(&page.form) /></div>
                <p class="visually-hidden" role="status" id="form-status"></p>
            </form>
            <datalist id="known-hosts">{page.hosts.iter().map(|h| view! { <option value=format!("http://{h}/")></option> }).collect_view()}</datalist>
            <datalist id="media-types">{MEDIA_TYPES.iter().map(|t| view! { <option value=*t></option> }).collect_view()}</datalist>
        }
        .into_any()
    })
}

const MEDIA_TYPES: &[&str] =
    &["application/json", "application/xml", "text/plain; charset=utf-8", "application/octet-stream", "image/png"];

/// A plan's own fields that the form calls otherwise.
fn shown_errors(errors: &[FieldError]) -> Vec<FieldError> {
    let renamed = |field: &str| match field {
        "think" => "think_least_ms".to_owned(),
        "pacing" => "pacing_least_ms".to_owned(),
        _ => match field.rsplit_once('.') {
            Some((row, "basic_auth")) => format!("{row}.auth_user"),
            Some((row, "body_base64")) => format!("{row}.body_file"),
            _ => field.to_owned(),
        },
    };
    errors.iter().map(|e| FieldError { field: renamed(&e.field), message: e.message.clone() }).collect()
}

/// `requests[2].url` → (2, `url`).
fn row<'a>(field: &'a str, list: &str) -> Option<(usize, &'a str)> {
    let (index, part) = field.strip_prefix(list)?.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, part.trim_start_matches('.')))
}

/// The words for a field in the list of errors.
fn label(field: &str) -> String {
    if let Some((i, part)) = row(field, "requests") {
        return format!("Request {}: {}", i + 1, request_label(part));
    }
    if let Some((i, part)) = row(field, "stages") {
        let part = if part == "to" { "value at the end" } else { "length" };
        return format!("Stage {}: {part}", i + 1);
    }
    if let Some((i, part)) = row(field, "limits") {
        let part = if part == "request" { "request" } else { "condition" };
        return format!("Limit {}: {part}", i + 1);
    }
    match field {
        "name" => "Name",
        "notes" => "Notes",
        "tags" => "Tags",
        "load" => "Type of load",
        "per_test" => "Clients",
        "rate" => "Clients per second",
        "from" => "Clients at the start",
        "to" => "Clients at the end",
        "requests" => "Requests",
        "request_list" => "The list of requests",
        "clients" => "Clients at once",
        "duration_s" => "Duration",
        "stages" => "Stages",
        "order" => "Order",
        "think_least_ms" => "Pause after a reply",
        "think_most_ms" => "Longest pause after a reply",
        "pacing_least_ms" => "Time for the list",
        "pacing_most_ms" => "Longest time for the list",
        "data" => "Data",
        "data_url" => "Address of the data",
        "data_order" => "Next row",
        "data_at_end" => "After the last row",
        "assertion_failure" => "A failed condition",
        "limits" => "Limits",
        "timeout_ms" => "Timeout",
        "idle_timeout_ms" => "Idle timeout",
        "error_threshold" => "Error threshold",
        "reuse" => "Connections",
        "http" => "HTTP version",
        "min_tls" => "Lowest TLS version",
        "end" => "At the end",
        "redirects" => "Redirects",
        "max_clients" => "Most clients",
        "warm_up_s" => "Warm-up",
        "max_rate_missed" => "Missed rate",
        other => other,
    }
    .to_owned()
}

fn request_label(part: &str) -> String {
    if let Some((i, part)) = row(part, "extract") {
        return format!("variable {}: {}", i + 1, if part == "what" { "what to look for" } else { part });
    }
    if let Some((i, part)) = row(part, "assert") {
        return format!("condition {}: {}", i + 1, if part == "what" { "name or path" } else { part });
    }
    match part {
        "url" => "address",
        "query" => "parameters",
        "auth_user" => "user name",
        "auth_password" => "password",
        "auth" => "sign-in",
        "bearer" => "token",
        "body_mode" => "kind of body",
        "form" => "form fields",
        "body_file" => "file",
        "content_type" => "type of the body",
        "extract" => "variables",
        "assert" => "conditions",
        other => other,
    }
    .to_owned()
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

const SOURCES: &[(&str, &str)] = &[
    ("json", "JSON in the body"),
    ("header", "Header"),
    ("cookie", "Cookie"),
    ("regex", "Body, by regular expression"),
    ("css", "HTML, by selector"),
    ("status", "Status"),
];

const SUBJECTS: &[(&str, &str)] = &[
    ("status", "Status"),
    ("time", "Time in ms"),
    ("body", "Body"),
    ("json", "JSON in the body"),
    ("header", "Header"),
];

const RELATIONS: &[(&str, &str)] = &[
    ("equals", "is"),
    ("differs", "is not"),
    ("contains", "contains"),
    ("lacks", "does not contain"),
    ("matches", "matches (regular expression)"),
    ("below", "is below"),
    ("above", "is above"),
    ("exists", "is there"),
];

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
        "A rate, however slow the target gets; steady or in stages.",
        "M4 14H92M4 34V14M15 34V14M26 34V14M37 34V14M48 34V14M59 34V14M70 34V14M81 34V14M92 34V14",
    ),
    (
        "maintain",
        "Maintain client load",
        "A number of clients at once, from one level to another or in stages.",
        "M4 34L92 8",
    ),
    (
        "fixed_count",
        "Fixed count",
        "So many requests, as fast as so many clients can.",
        "M4 9h12M20 9h16M40 9h10M54 9h14M72 9h12M4 18h18M26 18h10M40 18h16M60 18h10M4 27h10M18 27h14M36 27h18M58 27h16",
    ),
];

const PATTERNS: &[(Pattern, &str, &str)] = &[
    (Pattern::Ramp, "Up, hold, down", "M3 17L9 4H19L25 17"),
    (Pattern::Spike, "Spike", "M3 15H11L13 3H16L18 15H25"),
    (Pattern::Steps, "Steps", "M3 16H9V11H15V7H20V3H25"),
];

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
    "tags",
];

/// Lines with something in them.
fn lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

/// `Headers (2)`.
fn counted(words: &str, n: usize) -> String {
    if n == 0 { words.to_owned() } else { format!("{words} ({})", format::count(n as u64)) }
}

fn number(name: &str, label: &str, bound: Bound, hint: &str, value: &str, errors: &[FieldError]) -> AnyView {
    let hint = if hint.is_empty() { bound_hint(bound) } else { format!("{hint} {}", bound_hint(bound)) };
    Field { name, label, hint, unit: bound.unit, value, inputmode: "decimal", width: "narrow", ..Field::default() }
        .view(errors)
}

/// The field that is reached first in a row of this list.
fn first_of(list: List) -> &'static str {
    match list {
        List::Requests => "url",
        List::Stages => "duration_s",
        List::Limits => "text",
        List::Extract(_) => "name",
        List::Assert(_) => "on",
    }
}

fn row_id(list: List, index: usize) -> String {
    field_id(&format!("{}[{index}].{}", list.field(), first_of(list)))
}

fn add_id(list: List) -> String {
    format!("add-{}", field_id(&list.field()))
}

/// A folded part of a request.
struct Group {
    open: bool,
    view: AnyView,
}

/// What is in use first, so that the rest stands together in a line.
fn in_use_first(groups: [Group; 8]) -> AnyView {
    let (open, folded): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(|group| group.open);
    open.into_iter().chain(folded).map(|group| group.view).collect_view().into_any()
}

impl Form<'_> {
    /// Whether a field whose name begins so is faulty.
    fn faulty(&self, prefixes: &[&str]) -> bool {
        self.errors.iter().any(|e| prefixes.iter().any(|p| e.field.starts_with(p)))
    }

    /// The message of a list as a whole, which stands at its head.
    fn list_error(&self, name: &str, label: &str) -> AnyView {
        let text = message(self.errors, name).map(|text| format!("{label} {text}."));
        text.map(|text| view! { <p class="field-error">{text}</p> }).into_any()
    }

    /// A button that changes rows: a submit button, which the page's script answers without a reload. `to` is the id of what has
    /// the focus afterwards, `said` what a screen reader then says.
    fn edit(
        &self,
        edit: Edit,
        class: &'static str,
        words: &'static str,
        aria: Option<String>,
        to: &str,
        said: String,
    ) -> AnyView {
        let id = match edit {
            Edit::Add(list) => Some(add_id(list)),
            _ => None,
        };
        view! {
            <button class=class type="submit" id=id name="action" value=edit.to_string() formaction=format!("{}#{to}", self.action) formnovalidate=true aria-label=aria data-edit=said>{words}</button>
        }
        .into_any()
    }

    fn add(&self, list: List, n: usize, words: &'static str, what: &str) -> AnyView {
        if n >= list.most() {
            let text = format!("{} is the most there can be.", list.most());
            return view! { <p class="hint">{text}</p> }.into_any();
        }
        let said = format!("{what} {} was added.", n + 1);
        self.edit(Edit::Add(list), "button quiet small", words, None, &row_id(list, n), said)
    }

    /// The buttons of row `i` of `n`.
    fn row_buttons(&self, list: List, i: usize, n: usize, what: &str) -> AnyView {
        let number = i + 1;
        let lower = what.to_lowercase();
        let aria = |verb: &str| Some(format!("{verb} {lower} {number}"));
        let least = usize::from(list == List::Requests);
        let after = if n == 1 { add_id(list) } else { row_id(list, i.saturating_sub(1)) };
        view! {
            <div class="row-buttons">
                {(i > 0).then(|| self.edit(Edit::Up(list, i), "row-button", "↑", aria("Move up:"), &row_id(list, i - 1), format!("{what} {number} is number {i} now.")))}
                {(i + 1 < n).then(|| self.edit(Edit::Down(list, i), "row-button", "↓", aria("Move down:"), &row_id(list, i + 1), format!("{what} {number} is number {} now.", number + 1)))}
                {(list == List::Requests && n < list.most()).then(|| self.edit(Edit::Copy(list, i), "row-button", "Copy", aria("Copy"), &row_id(list, i + 1), format!("{what} {number} was copied.")))}
                {(n > least).then(|| self.edit(Edit::Remove(list, i), "row-button", "Remove", aria("Remove"), &after, format!("{what} {number} was removed.")))}
            </div>
        }
        .into_any()
    }

    fn basics(&self) -> AnyView {
        let hint = format!("So that you find it again. Up to {} characters.", limits::NAME_CHARS);
        Field {
            name: "name",
            label: "Name",
            hint,
            value: &self.form.name,
            placeholder: "Front page, evening peak",
            ..Field::default()
        }
        .view(self.errors)
    }

    fn requests(&self) -> AnyView {
        let n = self.form.requests.len();
        let rows = self.form.requests.iter().enumerate().map(|(i, row)| self.request(i, row)).collect_view();
        let order = if n > 1 {
            let options = &[("list", "All of them, in this order"), ("weighted", "One at a time, drawn by weight")];
            select("order", "What a client does", "", options, &self.form.order, self.errors)
        } else {
            view! { <input type="hidden" name="order" value=self.form.order.clone() /> }.into_any()
        };
        let hint = if n > 1 {
            "A client goes on when the request before is answered."
        } else {
            "Every client makes this request. Add more to make it walk through several pages."
        };
        view! {
            <fieldset class="requests" id="f-request-list">
                <legend>"What each client requests"</legend>
                <p class="hint">{hint}</p>
                {self.list_error("request_list", "The list")}
                {order}
                {rows}
                {self.add(List::Requests, n, "Add another request", "Request")}
                <details class="help">
                    <summary>"Values that change: {{id}}, {{$uuid}}, %{1:100}"</summary>
                    <ul>
                        <li><code>"{{id}}"</code>" – a variable: taken from an earlier reply of the same client, or from a row of data."</li>
                        <li><code>"{{$uuid}}"</code>", "<code>"{{$now}}"</code>", "<code>"{{$random(8)}}"</code>", "<code>"{{$client}}"</code>", "<code>"{{$iteration}}"</code>" – made anew for each request."</li>
                        <li><code>"%{1:100:2}"</code>", "<code>"%{3, 5, 8}"</code>", "<code>"%{*:1-100}"</code>" – numbers in turn, or any between two."</li>
                    </ul>
                    <p class="hint">"They work in the address after the host, in parameters, headers, cookies, text and form bodies and in tokens."</p>
                </details>
            </fieldset>
        }
        .into_any()
    }

    fn request(&self, index: usize, row: &RequestForm) -> AnyView {
        let (errors, n) = (self.errors, self.form.requests.len());
        let name = |part: &str| format!("requests[{index}].{part}");
        let (method, url, weight) = (name("method"), name("url"), name("weight"));
        let title = if row.name.trim().is_empty() {
            format!("Request {}", index + 1)
        } else {
            format!("Request {}: {}", index + 1, row.name.trim())
        };
        let heavy = message(errors, &weight).is_some();
        let class = if heavy { "weight shown" } else { "weight" };
        view! {
            <div class="request-row" role="group" aria-label=format!("Request {}", index + 1)>
                {(n > 1).then(|| view! { <div class="request-head"><strong class="break">{title}</strong>{self.row_buttons(List::Requests, index, n, "Request")}</div> })}
                <div class="request-line">
                    {select(&method, "Method", "", METHODS, &row.method, errors)}
                    {Field {
                        name: &url, label: "Address", value: &row.url, inputmode: "url", list: "known-hosts", placeholder: "http://shop.example/",
                        hint: "The whole address, with http:// or https://.".to_owned(), ..Field::default()
                    }.view(errors)}
                </div>
                {(n > 1 || heavy).then(|| view! { <div class=class>{number(&weight, "Weight", limits::WEIGHT, "Twice the weight is drawn twice as often.", &row.weight, errors)}</div> })}
                <div class="groups">{in_use_first([
                    self.group(index, "name", "Name", 0, !row.name.trim().is_empty(), || {
                        Field { name: &name("name"), label: "Name", hint: "What the report calls it; else its method and address.".to_owned(), value: &row.name, placeholder: "Log in", ..Field::default() }.view(errors)
                    }),
                    self.group(index, "query", "Parameters", lines(&row.query), false, || {
                        text_area(&name("query"), "Parameters", "Added to the address and escaped, one a line: page=2. \\n stands for a line break.", 3, &row.query, errors)
                    }),
                    self.group(index, "headers", "Headers", lines(&row.headers), false, || {
                        text_area(&name("headers"), "Headers", "One a line: Accept-Language: en", 3, &row.headers, errors)
                    }),
                    self.group(index, "cookies", "Cookies", lines(&row.cookies), false, || {
                        text_area(&name("cookies"), "Cookies", "One a line: theme=dark. Cookies that the target sets are sent back by themselves.", 2, &row.cookies, errors)
                    }),
                    self.body(index, row),
                    self.sign_in(index, row),
                    self.extracts(index, row),
                    self.asserts(index, row),
                ])}</div>
                {row.stored.map(|i| view! { <input type="hidden" name=name("stored") value=i.to_string() /> })}
            </div>
        }
        .into_any()
    }

    /// A folded part of a request; open where it is used or faulty.
    fn group(
        &self,
        index: usize,
        part: &str,
        words: &str,
        n: usize,
        used: bool,
        inside: impl FnOnce() -> AnyView,
    ) -> Group {
        let field = format!("requests[{index}].{part}");
        let open = used || n > 0 || self.faulty(&[&field]);
        // Its only label says what the summary says.
        let class = if matches!(part, "name" | "query" | "headers" | "cookies") { "group lone" } else { "group" };
        let view = view! {
            <details class=class id=format!("{}-group", field_id(&field)) open=open>
                <summary>{counted(words, n)}</summary>
                <div class="group-body">{inside()}</div>
            </details>
        };
        Group { open, view: view.into_any() }
    }

    fn body(&self, index: usize, row: &RequestForm) -> Group {
        let errors = self.errors;
        let name = |part: &str| format!("requests[{index}].{part}");
        let (body, mode, form, content_type, body_file) =
            (name("body"), name("body_mode"), name("form"), name("content_type"), name("body_file"));
        let kind = row.body_kind();
        let used = kind != "none" || self.faulty(&[&form, &content_type]);
        let words = match kind {
            "text" => "Body: text".to_owned(),
            "form" => counted("Body: form", lines(&row.form)),
            "file" => "Body: file".to_owned(),
            _ => "Body".to_owned(),
        };
        let kept = match (&*row.body_base64, row.stored_file_bytes) {
            ("", None) => None,
            ("", Some(bytes)) => Some(format!("A file of {} is kept unless you choose another.", format::bytes(bytes))),
            (text, _) => {
                let bytes = format::bytes((text.trim_end_matches('=').len() as u64) * 3 / 4);
                Some(format!("“{}” ({bytes}) was uploaded and is stored when you save.", row.body_file_name))
            }
        };
        let modes = &[("none", "No body"), ("text", "Text, such as JSON"), ("form", "Form fields"), ("file", "A file")];
        self.group(index, "body", &words, 0, used, || {
            view! {
                <div class="body-kind">
                    {select(&mode, "Kind of body", "", modes, kind, errors)}
                    <div class="for-typed">
                        {Field { name: &content_type, label: "Type", hint: "Sent as Content-Type, such as application/json.".to_owned(), value: &row.content_type, list: "media-types", ..Field::default() }.view(errors)}
                    </div>
                    <div class="for-text">
                        {json_area(&body, "Body", "Sent as it is, up to 1 MB.", 5, &row.body, errors)}
                    </div>
                    <div class="for-form">
                        {text_area(&form, "Form fields", "Sent as a browser sends a form, one a line: user=ann. \\n stands for a line break.", 4, &row.form, errors)}
                    </div>
                    <div class="for-file">
                        {kept.map(|text| view! { <p class="note good">{text}</p> })}
                        {(!row.body_base64.is_empty()).then(|| view! {
                            <input type="hidden" name=name("body_base64") value=row.body_base64.clone() />
                            <input type="hidden" name=name("body_file_name") value=row.body_file_name.clone() />
                        })}
                        {file(&body_file, "File", "Up to 1 MB, sent byte for byte.", errors)}
                    </div>
                </div>
            }
            .into_any()
        })
    }

    fn sign_in(&self, index: usize, row: &RequestForm) -> Group {
        let errors = self.errors;
        let name = |part: &str| format!("requests[{index}].{part}");
        let kind = row.auth_kind();
        let words = match kind {
            "basic" => "Sign-in: password",
            "bearer" => "Sign-in: token",
            _ => "Sign-in",
        };
        let kept =
            |stored: bool| if stored { "Kept unless you type a new one." } else { "Sent as typed; not shown again." };
        let kinds =
            &[("none", "No sign-in"), ("basic", "User name and password (basic)"), ("bearer", "Token (bearer)")];
        let used = kind != "none" || self.faulty(&[&name("bearer")]);
        self.group(index, "auth", words, 0, used, || {
            view! {
                <div class="auth-kind">
                    {select(&name("auth"), "Sign-in", "", kinds, kind, errors)}
                    <div class="for-basic field-row">
                        {Field { name: &name("auth_user"), label: "User name", value: &row.auth_user, ..Field::default() }.view(errors)}
                        {Field { name: &name("auth_password"), label: "Password", hint: kept(row.has_stored_password).to_owned(), value: &row.auth_password, kind: "password", autocomplete: "new-password", ..Field::default() }.view(errors)}
                    </div>
                    <div class="for-bearer">
                        {Field { name: &name("bearer"), label: "Token", hint: format!("{} A variable such as {{{{token}}}} works too.", kept(row.has_stored_bearer && row.bearer.is_empty())), value: &row.bearer, kind: if row.bearer.starts_with("{{") { "" } else { "password" }, autocomplete: "new-password", ..Field::default() }.view(errors)}
                    </div>
                </div>
            }
            .into_any()
        })
    }

    fn extracts(&self, index: usize, row: &RequestForm) -> Group {
        let (list, n) = (List::Extract(index), row.extract.len());
        let one = |(i, extract): (usize, &ExtractForm)| {
            let name = |part: &str| format!("{}[{i}].{part}", list.field());
            view! {
                <div class="row extract" role="group" aria-label=format!("Variable {}", i + 1)>
                    {Field { name: &name("name"), label: "Variable", value: &extract.name, placeholder: "token", ..Field::default() }.view(self.errors)}
                    {select(&name("from"), "From", "", SOURCES, &extract.from, self.errors)}
                    {Field { name: &name("what"), label: "What", value: &extract.what, placeholder: "$.user.token", ..Field::default() }.view(self.errors)}
                    {Field { name: &name("attribute"), label: "Attribute", value: &extract.attribute, placeholder: "only HTML", ..Field::default() }.view(self.errors)}
                    {self.row_buttons(list, i, n, "Variable")}
                </div>
            }
        };
        let rows = row.extract.iter().enumerate().map(one).collect_view();
        self.group(index, "extract", "Variables", n, false, || {
            view! {
                <p class="hint">"Keep a value of the reply for the later requests of the same client, where {{name}} stands for it. What: the name of a header or cookie, a path such as $.items[0].id, a regular expression with a group, or a selector such as input[name=csrf]."</p>
                {self.list_error(&list.field(), "The list")}
                <div class="rows" id=field_id(&list.field())>{rows}</div>
                {self.add(list, n, "Add a variable", "Variable")}
            }
            .into_any()
        })
    }

    fn asserts(&self, index: usize, row: &RequestForm) -> Group {
        let (list, n) = (List::Assert(index), row.assert.len());
        let one = |(i, assert): (usize, &AssertForm)| {
            let name = |part: &str| format!("{}[{i}].{part}", list.field());
            view! {
                <div class="row assert" role="group" aria-label=format!("Condition {}", i + 1)>
                    {select(&name("on"), "Look at", "", SUBJECTS, &assert.on, self.errors)}
                    {Field { name: &name("what"), label: "Name or path", value: &assert.what, placeholder: "header or JSON", ..Field::default() }.view(self.errors)}
                    {select(&name("is"), "Comparison", "", RELATIONS, &assert.is, self.errors)}
                    {Field { name: &name("value"), label: "Value", value: &assert.value, placeholder: "200", ..Field::default() }.view(self.errors)}
                    {self.row_buttons(list, i, n, "Condition")}
                </div>
            }
        };
        let rows = row.assert.iter().enumerate().map(one).collect_view();
        self.group(index, "assert", "Conditions", n, false, || {
            view! {
                <p class="hint">"What a good reply looks like: status is 200, header Content-Type contains json, JSON $.ok is true, time is below 500."</p>
                {self.list_error(&list.field(), "The list")}
                <div class="rows" id=field_id(&list.field())>{rows}</div>
                {self.add(list, n, "Add a condition", "Condition")}
            }
            .into_any()
        })
    }

    fn load(&self) -> AnyView {
        let (form, errors) = (self.form, self.errors);
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
        let staged = !form.stages.is_empty();
        let rate = if staged { Bound { min: 0.0, ..limits::RATE } } else { limits::RATE };
        view! {
            <fieldset class=if staged { "load staged" } else { "load" } id="f-load">
                <legend>"How many clients"</legend>
                <p class="hint">"A client is one simulated user: it makes the requests above, with connections and cookies of its own."</p>
                {error.map(|text| view! { <p class="field-error">"Type of load "{text}</p> })}
                <div class="load-cards">{cards}</div>
                <div class="load-fields for-per-test">
                    {number("per_test", "Clients", limits::PER_TEST, "How many start over the whole test.", &form.per_test, errors)}
                </div>
                <div class="load-fields for-per-second">
                    {number("rate", if staged { "Clients per second at the start" } else { "Clients per second" }, rate, "Fractions are fine: 0.2 is one every five seconds.", &form.rate, errors)}
                </div>
                <div class="load-fields for-maintain">
                    {number("from", "Clients at the start", limits::FROM, "", &form.from, errors)}
                    <div class="unless-staged">{number("to", "Clients at the end", limits::TO, "The same as at the start for a steady load.", &form.to, errors)}</div>
                </div>
                <div class="load-fields for-fixed-count">
                    {number("requests", "Requests", limits::REQUESTS, "In all.", &form.request_count, errors)}
                    {number("clients", "Clients at once", limits::CLIENTS, "", &form.clients, errors)}
                </div>
                <div class="load-duration">
                    {number("duration_s", "Duration", limits::DURATION_S, "60 is a good start. A fixed count may leave it empty: it then ends with its last request.", &form.duration_s, errors)}
                </div>
                {self.stages()}
            </fieldset>
        }
        .into_any()
    }

    fn stages(&self) -> AnyView {
        let (list, n) = (List::Stages, self.form.stages.len());
        let rows = self
            .form
            .stages
            .iter()
            .enumerate()
            .map(|(i, stage)| {
                let name = |part: &str| format!("stages[{i}].{part}");
                let field = |part: &str, label: &'static str, unit: &'static str, value: &str| {
                    Field { name: &name(part), label, unit, value, inputmode: "decimal", ..Field::default() }
                        .view(self.errors)
                };
                view! {
                    <div class="row stage" role="group" aria-label=format!("Stage {}", i + 1)>
                        {field("duration_s", "Length", "s", &stage.duration_s)}
                        {field("to", "To", "", &stage.to)}
                        {self.row_buttons(list, i, n, "Stage")}
                    </div>
                }
            })
            .collect_view();
        let patterns = PATTERNS
            .iter()
            .map(|(pattern, words, drawing)| {
                let said = format!("The stages are filled in: {words}.");
                view! {
                    <button class="pattern" type="submit" name="action" value=Edit::Pattern(*pattern).to_string() formaction=format!("{}#{}", self.action, row_id(list, 0)) formnovalidate=true data-edit=said>
                        <svg viewBox="0 0 28 20" width="28" height="20" aria-hidden="true" focusable="false"><path class="card-line" d=*drawing /></svg>
                        <span>{*words}</span>
                    </button>
                }
            })
            .collect_view();
        let open = n > 0 || self.faulty(&["stages"]);
        view! {
            <details class="stages" open=open id="f-stages-group">
                <summary>{counted("Stages", n)}</summary>
                <p class="hint">"The load goes on from its start: in each stage straight to a new value. A length of 0 is a step. The stages then decide how long the test is."</p>
                {self.list_error("stages", "Stages")}
                <div class="patterns" role="group" aria-label="Fill in stages"><span class="muted">"Fill in:"</span>{patterns}</div>
                <div class="rows" id="f-stages">{rows}</div>
                {self.add(list, n, "Add a stage", "Stage")}
            </details>
        }
        .into_any()
    }

    fn pauses(&self) -> AnyView {
        let form = self.form;
        let open = form.think.iter().any(|t| !t.is_empty())
            || form.pacing.iter().any(|t| !t.is_empty())
            || self.faulty(&["think", "pacing"]);
        let least = |text: &str, bound: Bound| format!("{text} {}", bound_hint(bound));
        let field = |name: &str, label: &str, hint: String, value: &str| {
            Field { name, label, hint, unit: "ms", value, inputmode: "decimal", width: "narrow", ..Field::default() }
                .view(self.errors)
        };
        let most = || "Empty for always the same; else any time between the two.".to_owned();
        view! {
            <details class="advanced" open=open id="f-pauses-group">
                <summary>"Pauses"</summary>
                <fieldset class="plain-fieldset">
                    <legend>"After each reply"</legend>
                    <div class="field-grid">
                        {field("think_least_ms", "Pause", least("As people take to read. Empty for none.", limits::PAUSE_MS), &form.think[0])}
                        {field("think_most_ms", "At most", most(), &form.think[1])}
                    </div>
                </fieldset>
                <fieldset class="plain-fieldset">
                    <legend>"From one beginning of the list to the next"</legend>
                    <p class="hint">"For maintained loads and fixed counts: a client that is done earlier waits. Not read for other types of load."</p>
                    <div class="field-grid">
                        {field("pacing_least_ms", "Time", least("Empty for none.", limits::PAUSE_MS), &form.pacing[0])}
                        {field("pacing_most_ms", "At most", most(), &form.pacing[1])}
                    </div>
                </fieldset>
            </details>
        }
        .into_any()
    }

    fn data(&self) -> AnyView {
        let form = self.form;
        let used = !form.data.trim().is_empty() || form.data_stored.is_some();
        let csv = !form.data.trim_start().starts_with(['[', '{']);
        let typed = if csv { lines(&form.data).saturating_sub(1) } else { 0 };
        let kept = form.data_stored.as_ref().filter(|_| form.data_kept && form.data.trim().is_empty());
        let rows = kept.map_or(typed, |stored| stored.rows);
        let stored = form.data_stored.as_ref().map(|stored| {
            let label = format!(
                "Keep the {} ({})",
                format::plural(stored.rows as u64, "stored row", "stored rows"),
                stored.columns.join(", ")
            );
            check_box(
                "data_kept",
                &label,
                "They are too many to be shown here. Other rows given below take their place.",
                form.data_kept,
            )
        });
        let orders = &[
            ("in_order", "One after the other"),
            ("random", "Any"),
            ("unique", "One for each client, for as long as it lives"),
        ];
        let ends = &[
            ("again", "The first comes again"),
            ("stop", "The run ends"),
            ("missing", "Requests that want one are not sent"),
        ];
        view! {
            <details class="advanced" open=used || self.faulty(&["data", "data_url"]) id="f-data-group">
                <summary>{counted("Rows of data", rows)}</summary>
                <p class="hint">"Values for variables, such as users and passwords: a client takes a row each time it begins the list."</p>
                {stored}
                {text_area("data", "Data", "CSV with a line of names (user,pin), a JSON array of objects, or loader.io's payload formats. Up to 100,000 rows and 4 MB.", 6, &form.data, self.errors)}
                {file("data_file", "Or a file", "CSV or JSON; it replaces what stands above.", self.errors)}
                {Field {
                    name: "data_url",
                    label: "Or an address",
                    hint: "Such a file on the web; it is fetched once, now or when you save, and replaces what stands above.".into(),
                    value: &form.data_url,
                    kind: "url",
                    inputmode: "url",
                    ..Field::default()
                }
                .view(self.errors)}
                {self.edit(Edit::FetchData, "button quiet small", "Fetch the rows", None, "f-data", "The rows were fetched.".into())}
                <div class="field-grid">
                    {select("data_order", "Next row", "", orders, &form.data_order, self.errors)}
                    {select("data_at_end", "After the last row", "", ends, &form.data_at_end, self.errors)}
                </div>
            </details>
        }
        .into_any()
    }

    fn limits(&self) -> AnyView {
        let (form, list, n) = (self.form, List::Limits, self.form.limits.len());
        let about: Vec<(String, String)> = std::iter::once((String::new(), "All requests".to_owned()))
            .chain(form.requests.iter().enumerate().map(|(i, r)| {
                let name = if r.name.trim().is_empty() { r.url.trim() } else { r.name.trim() };
                let short: String = name.chars().take(60).collect();
                (i.to_string(), format!("{}: {short}", i + 1))
            }))
            .collect();
        let rows = form
            .limits
            .iter()
            .enumerate()
            .map(|(i, limit)| {
                let name = |part: &str| format!("limits[{i}].{part}");
                view! {
                    <div class="row limit" role="group" aria-label=format!("Limit {}", i + 1)>
                        {Field { name: &name("text"), label: "Failed when", value: &limit.text, placeholder: "p95>300ms", ..Field::default() }.view(self.errors)}
                        {choice(&name("request"), "Of", "", about.clone(), &limit.request, self.errors)}
                        {check_box(&name("stop"), "End the run at once", "", limit.stop)}
                        {self.row_buttons(list, i, n, "Limit")}
                    </div>
                }
            })
            .collect_view();
        let failures = &[("note", "Count it beside the outcome"), ("error", "Count the request as an error")];
        let open = n > 0 || form.assertion_failure == "error" || self.faulty(&["limits", "assertion_failure"]);
        view! {
            <details class="advanced" open=open id="f-limits-group">
                <summary>{counted("Pass or fail", n)}</summary>
                <p class="hint">"When has a run failed? p95>300ms, max>2s, errors>1%, rps<500. Names: min, mean, p50 to p99.9, max, errors, rps."</p>
                {self.list_error("limits", "Limits")}
                <div class="rows" id="f-limits">{rows}</div>
                {self.add(list, n, "Add a limit", "Limit")}
                {select("assertion_failure", "A failed condition on a reply", "", failures, &form.assertion_failure, self.errors)}
            </details>
        }
        .into_any()
    }

    fn advanced(&self) -> AnyView {
        let (form, errors) = (self.form, self.errors);
        let open = errors.iter().any(|e| ADVANCED.contains(&e.field.as_str()));
        view! {
            <details class="advanced" open=open id="f-advanced-group">
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
                {check_box("insecure", "Accept any certificate", "For a target with a self-signed certificate.", form.insecure)}
                {Field { name: "tags", label: "Tags", hint: "Words to find it by, with commas between them.".to_owned(), value: &form.tags, placeholder: "shop, evening", ..Field::default() }.view(errors)}
                {text_area("notes", "Notes", "Shown with the test, for you and your colleagues.", 3, &form.notes, errors)}
            </details>
        }
        .into_any()
    }
}

//! The test form as it was typed: every field a string, nothing judged. The one place where its field names stand.
//!
//! | field | value |
//! |---|---|
//! | `name`, `notes` | text |
//! | `tags` | words with commas between them |
//! | `load` | `per_test`, `per_second`, `maintain` or `fixed_count` |
//! | `per_test` | clients over the test (`load=per_test`) |
//! | `rate` | clients per second (`load=per_second`) |
//! | `from`, `to` | clients at start and end (`load=maintain`) |
//! | `requests`, `clients` | requests in all and clients at once (`load=fixed_count`) |
//! | `duration_s` | seconds; may be empty for a fixed count; not read where there are stages |
//! | `stages[i].duration_s`, `.to` | how a rate or a maintained load goes on |
//! | `order` | `list` or `weighted` |
//! | `think_least_ms`, `think_most_ms`, `pacing_least_ms`, `pacing_most_ms` | pauses; without the second always the first; both empty = none |
//! | `requests[i].method`, `.url`, `.name`, `.weight` | one request |
//! | `requests[i].query`, `.cookies` | one `name=value` a line; a stored secret is `(hidden)`, as with headers |
//! | `requests[i].headers` | one `Name: value` a line; a stored value that may not be shown is `(hidden)` and is kept while it says so |
//! | `requests[i].body_mode` | `none`, `text`, `form` or `file`; absent = what is filled in |
//! | `requests[i].body`, `.form`, `.content_type` | text; one `name=value` a line; media type |
//! | `requests[i].body_file` | a file; comes back as `body_base64` and `body_file_name` until it is stored |
//! | `requests[i].auth` | `none`, `basic` or `bearer`; absent = what is filled in |
//! | `requests[i].auth_user`, `.auth_password`, `.bearer` | basic authentication, bearer token |
//! | `requests[i].extract[j].name`, `.from`, `.what`, `.attribute` | a variable from the reply |
//! | `requests[i].assert[j].on`, `.what`, `.is`, `.value` | a condition on the reply |
//! | `requests[i].stored` | which request of the stored test this row was (from 0): its secrets and its file are kept while none are given |
//! | `data`, `data_order`, `data_at_end` | rows as CSV or JSON, which comes next, what happens after the last |
//! | `data_file` | a file; comes back as `data` |
//! | `data_url` | where such a file lies: fetched when the test is saved, and by the button `fetch:data` |
//! | `data_kept` | `on` = rows of the stored test stay, where there are none in `data` |
//! | `assertion_failure` | `note` or `error` |
//! | `limits[i].text`, `.request`, `.stop` | a condition such as `p95>300ms`, the request it is about (from 0, empty = all), `on` |
//! | `timeout_ms`, `idle_timeout_ms`, `error_threshold`, `max_clients`, `warm_up_s`, `max_rate_missed` | numbers; empty = default or off |
//! | `reuse`, `http`, `min_tls`, `end`, `redirects` | names as in the plan |
//! | `insecure` | `on` when any certificate is accepted |
//! | `action` | `save`, `run` (save and run), or an [`Edit`]: `add:requests`, `remove:stages:2`, `up:requests:1`, `pattern:spike`, … |
//!
//! Errors come back as `FieldError`s whose `field` is one of these names.

use std::str::FromStr;

use oleada_engine::plan::scenario::{Assertion, DataSpec, Extract, Pause};
use oleada_engine::plan::template::{Part, Template};
use oleada_engine::plan::{Load, PlanSpec, RequestSpec, limits};
use oleada_engine::result::{HIDDEN, header_is_shown, parameter_is_secret};

/// A variable from the reply, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractForm {
    /// Name.
    pub name: String,
    /// Where from.
    pub from: String,
    /// Header, path, expression or selector.
    pub what: String,
    /// Attribute; empty = text.
    pub attribute: String,
}

/// A condition on the reply, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssertForm {
    /// What is looked at.
    pub on: String,
    /// Header or path.
    pub what: String,
    /// Comparison.
    pub is: String,
    /// Compared with.
    pub value: String,
}

/// A stage, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageForm {
    /// Length in seconds.
    pub duration_s: String,
    /// Value at its end.
    pub to: String,
}

/// A pass/fail limit, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitForm {
    /// Condition.
    pub text: String,
    /// Index of the request; empty = all.
    pub request: String,
    /// Ends the run.
    pub stop: bool,
}

/// One request as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestForm {
    /// Method name.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// What people call it.
    pub name: String,
    /// Weight.
    pub weight: String,
    /// Parameters, `name=value` a line.
    pub query: String,
    /// `Name: value`, one a line.
    pub headers: String,
    /// Cookies, `name=value` a line.
    pub cookies: String,
    /// Kind of body.
    pub body_mode: String,
    /// Body text.
    pub body: String,
    /// Form fields, `name=value` a line.
    pub form: String,
    /// Media type of the body.
    pub content_type: String,
    /// A file that was given and is not stored yet.
    pub body_base64: String,
    /// That file's name.
    pub body_file_name: String,
    /// Kind of sign-in.
    pub auth: String,
    /// User for basic authentication.
    pub auth_user: String,
    /// Password as typed now; a stored one is never sent to the browser.
    pub auth_password: String,
    /// Bearer token as typed now; a stored one is never sent to the browser, unless it is a variable.
    pub bearer: String,
    /// Variables from the reply.
    pub extract: Vec<ExtractForm>,
    /// Conditions on the reply.
    pub assert: Vec<AssertForm>,
    /// Index of the stored request this row came from, whose secrets and file are kept while none are given.
    pub stored: Option<usize>,
    /// Whether that stored request has a password (only decides what the hint says).
    pub has_stored_password: bool,
    /// Whether that stored request has a bearer token.
    pub has_stored_bearer: bool,
    /// Size of that stored request's file.
    pub stored_file_bytes: Option<u64>,
}

/// The whole form as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanForm {
    /// What tells this form from others, so that a new test is made once however often the form is sent; empty = it has none.
    pub form_id: String,
    /// Name of the test.
    pub name: String,
    /// Notes.
    pub notes: String,
    /// Tags with commas between them.
    pub tags: String,
    /// Type of load.
    pub load: String,
    /// Clients over the test.
    pub per_test: String,
    /// Clients per second.
    pub rate: String,
    /// Clients at the start.
    pub from: String,
    /// Clients at the end.
    pub to: String,
    /// Requests in all (field `requests`).
    pub request_count: String,
    /// Clients at once.
    pub clients: String,
    /// Length in seconds.
    pub duration_s: String,
    /// How the load goes on.
    pub stages: Vec<StageForm>,
    /// Request list.
    pub requests: Vec<RequestForm>,
    /// Order of the requests.
    pub order: String,
    /// Shortest and longest pause between a reply and the next request, in ms.
    pub think: [String; 2],
    /// Shortest and longest time between two beginnings of the list, in ms.
    pub pacing: [String; 2],
    /// Rows of values, CSV or JSON.
    pub data: String,
    /// Which row comes next.
    pub data_order: String,
    /// What happens after the last.
    pub data_at_end: String,
    /// Where rows lie.
    pub data_url: String,
    /// The stored rows stay, unless others are given.
    pub data_kept: bool,
    /// The stored rows, where they are too long to be shown.
    pub data_stored: Option<StoredData>,
    /// What a failed condition means.
    pub assertion_failure: String,
    /// Pass/fail limits.
    pub limits: Vec<LimitForm>,
    /// Timeout in ms.
    pub timeout_ms: String,
    /// Idle timeout in ms; empty = off.
    pub idle_timeout_ms: String,
    /// Error threshold in percent.
    pub error_threshold: String,
    /// Connection reuse.
    pub reuse: String,
    /// HTTP version.
    pub http: String,
    /// Lowest TLS version.
    pub min_tls: String,
    /// Any certificate is accepted.
    pub insecure: bool,
    /// At the end.
    pub end: String,
    /// Redirects.
    pub redirects: String,
    /// Cap on clients; empty = default.
    pub max_clients: String,
    /// Warm-up in seconds.
    pub warm_up_s: String,
    /// Share of the rate that may be missed in percent; empty = never stop.
    pub max_rate_missed: String,
}

/// Rows of data that are stored and not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredData {
    /// How many.
    pub rows: usize,
    /// Names of the variables.
    pub columns: Vec<String>,
}

impl StoredData {
    /// The rows of a stored test, if they are longer than a form shows them.
    fn of(stored: &PlanSpec) -> Option<StoredData> {
        let data = stored.data.as_ref()?;
        let bytes: usize = data.rows.iter().flatten().map(|value| value.len() + 1).sum();
        (bytes > limits::DATA_SHOWN_BYTES).then(|| StoredData { rows: data.rows.len(), columns: data.columns.clone() })
    }
}

/// What the pressed button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormAction {
    /// Save the test.
    Save,
    /// Save it and run it.
    Run,
    /// Show the form again with something changed.
    Edit(Edit),
}

/// A list of rows in the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The requests.
    Requests,
    /// The stages.
    Stages,
    /// The limits.
    Limits,
    /// The variables of a request.
    Extract(usize),
    /// The conditions of a request.
    Assert(usize),
}

/// A change of the form that a button makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// One more row at the end.
    Add(List),
    /// The same row once more, after it.
    Copy(List, usize),
    /// Without this row.
    Remove(List, usize),
    /// This row before the one before it.
    Up(List, usize),
    /// This row after the next.
    Down(List, usize),
    /// Stages that are often wanted.
    Pattern(Pattern),
    /// With the rows of data from the address that was given.
    FetchData,
}

/// Stages that are often wanted, of the height and length that the form names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Up, level, down.
    Ramp,
    /// Little, for a moment much, little.
    Spike,
    /// Five levels.
    Steps,
}

impl List {
    /// The name in the form's fields, such as `requests[0].extract`.
    pub fn field(self) -> String {
        match self {
            List::Requests => "requests".to_owned(),
            List::Stages => "stages".to_owned(),
            List::Limits => "limits".to_owned(),
            List::Extract(i) => format!("requests[{i}].extract"),
            List::Assert(i) => format!("requests[{i}].assert"),
        }
    }

    /// The most rows it may have.
    pub fn most(self) -> usize {
        match self {
            List::Requests => limits::REQUEST_LIST,
            List::Stages => limits::STAGES,
            List::Limits => limits::LIMITS,
            List::Extract(_) => limits::EXTRACTS,
            List::Assert(_) => limits::ASSERTIONS,
        }
    }

    fn parse(text: &str) -> Option<List> {
        Some(match text {
            "requests" => List::Requests,
            "stages" => List::Stages,
            "limits" => List::Limits,
            _ => match row(text, "requests", limits::REQUEST_LIST)? {
                (i, "extract") => List::Extract(i),
                (i, "assert") => List::Assert(i),
                _ => return None,
            },
        })
    }
}

impl std::fmt::Display for Edit {
    /// The value of its button.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Edit::Add(list) => write!(f, "add:{}", list.field()),
            Edit::Copy(list, i) => write!(f, "copy:{}:{i}", list.field()),
            Edit::Remove(list, i) => write!(f, "remove:{}:{i}", list.field()),
            Edit::Up(list, i) => write!(f, "up:{}:{i}", list.field()),
            Edit::Down(list, i) => write!(f, "down:{}:{i}", list.field()),
            Edit::Pattern(Pattern::Ramp) => f.write_str("pattern:ramp"),
            Edit::Pattern(Pattern::Spike) => f.write_str("pattern:spike"),
            Edit::Pattern(Pattern::Steps) => f.write_str("pattern:steps"),
            Edit::FetchData => f.write_str("fetch:data"),
        }
    }
}

impl FromStr for Edit {
    type Err = ();

    fn from_str(text: &str) -> Result<Edit, ()> {
        let mut parts = text.split(':');
        let verb = parts.next().unwrap_or_default();
        let what = parts.next().ok_or(())?;
        if verb == "pattern" {
            return match what {
                "ramp" => Ok(Edit::Pattern(Pattern::Ramp)),
                "spike" => Ok(Edit::Pattern(Pattern::Spike)),
                "steps" => Ok(Edit::Pattern(Pattern::Steps)),
                _ => Err(()),
            };
        }
        if verb == "fetch" {
            return if what == "data" { Ok(Edit::FetchData) } else { Err(()) };
        }
        let list = List::parse(what).ok_or(())?;
        if verb == "add" {
            return Ok(Edit::Add(list));
        }
        let index: usize = parts.next().and_then(|i| i.parse().ok()).filter(|i| *i <= list.most()).ok_or(())?;
        match verb {
            "copy" => Ok(Edit::Copy(list, index)),
            "remove" => Ok(Edit::Remove(list, index)),
            "up" => Ok(Edit::Up(list, index)),
            "down" => Ok(Edit::Down(list, index)),
            _ => Err(()),
        }
    }
}

impl Default for PlanForm {
    fn default() -> Self {
        PlanForm::from_spec("", "", &PlanSpec { requests: vec![RequestSpec::default()], ..PlanSpec::default() })
    }
}

impl PlanForm {
    /// A new test that asks for this address.
    pub fn for_url(url: &str) -> PlanForm {
        let mut form = PlanForm::default();
        if let Some(first) = form.requests.first_mut() {
            first.url = url.to_owned();
        }
        form
    }

    /// The form of a stored test. Fields of the types it does not use hold their defaults.
    pub fn from_spec(name: &str, notes: &str, spec: &PlanSpec) -> PlanForm {
        let (order, at_end) = spec.data.as_ref().map(|data| (data.order, data.at_end)).unwrap_or_default();
        let data_stored = StoredData::of(spec);
        let mut form = PlanForm {
            form_id: String::new(),
            name: name.to_owned(),
            notes: notes.to_owned(),
            tags: String::new(),
            load: load_name(spec.load).to_owned(),
            per_test: plain(limits::PER_TEST.default),
            rate: plain(limits::RATE.default),
            from: plain(limits::FROM.default),
            to: plain(limits::TO.default),
            request_count: plain(limits::REQUESTS.default),
            clients: plain(limits::CLIENTS.default),
            duration_s: spec.duration_s.map(plain).unwrap_or_default(),
            stages: spec
                .stages
                .iter()
                .map(|stage| StageForm { duration_s: plain(stage.duration_s), to: plain(stage.to) })
                .collect(),
            requests: spec.requests.iter().enumerate().map(|(i, r)| request_form(i, r)).collect(),
            order: spec.order.to_string(),
            think: pause_form(spec.think),
            pacing: pause_form(spec.pacing),
            data: spec.data.as_ref().filter(|_| data_stored.is_none()).map(data_text).unwrap_or_default(),
            data_order: order.to_string(),
            data_at_end: at_end.to_string(),
            data_url: String::new(),
            data_kept: data_stored.is_some(),
            data_stored,
            assertion_failure: spec.assertion_failure.to_string(),
            limits: spec
                .limits
                .iter()
                .map(|limit| LimitForm {
                    text: limit.condition.to_string(),
                    request: limit.request.map(|i| i.to_string()).unwrap_or_default(),
                    stop: limit.stop,
                })
                .collect(),
            timeout_ms: plain(spec.timeout_ms),
            idle_timeout_ms: spec.idle_timeout_ms.map(plain).unwrap_or_default(),
            error_threshold: plain(spec.error_threshold),
            reuse: spec.reuse.to_string(),
            http: spec.http.to_string(),
            min_tls: spec.min_tls.to_string(),
            insecure: spec.insecure,
            end: spec.end.to_string(),
            redirects: spec.redirects.to_string(),
            max_clients: spec.max_clients.map(|n| n.to_string()).unwrap_or_default(),
            warm_up_s: plain(spec.warm_up_s),
            max_rate_missed: spec.max_rate_missed.map(plain).unwrap_or_default(),
        };
        match spec.load {
            Load::FixedCount { requests, clients } => {
                form.request_count = requests.to_string();
                form.clients = clients.to_string();
            }
            Load::PerTest { clients } => form.per_test = clients.to_string(),
            Load::PerSecond { rate } => form.rate = plain(rate),
            Load::Maintain { from, to } => {
                form.from = from.to_string();
                form.to = to.to_string();
            }
        }
        form
    }

    /// The form as a browser sent it, and which button was pressed. Unknown fields are ignored; rows keep their order.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> (PlanForm, FormAction) {
        let mut form = PlanForm { requests: Vec::new(), insecure: false, ..PlanForm::default() };
        let mut action = FormAction::Save;
        for (name, value) in pairs {
            if name == "action" {
                action = match value.parse() {
                    Ok(edit) => FormAction::Edit(edit),
                    Err(()) if value == "run" => FormAction::Run,
                    Err(()) => FormAction::Save,
                };
            } else if let Some((i, part)) = row(&name, "requests", limits::REQUEST_LIST) {
                at(&mut form.requests, i).set(part, value);
            } else if let Some((i, part)) = row(&name, "stages", limits::STAGES) {
                let stage = at(&mut form.stages, i);
                match part {
                    "duration_s" => stage.duration_s = value,
                    "to" => stage.to = value,
                    _ => {}
                }
            } else if let Some((i, part)) = row(&name, "limits", limits::LIMITS) {
                let limit = at(&mut form.limits, i);
                match part {
                    "text" => limit.text = value,
                    "request" => limit.request = value,
                    "stop" => limit.stop = value == "on",
                    _ => {}
                }
            } else {
                form.set(&name, value);
            }
        }
        (form, action)
    }

    /// Does what a button asks. The last request stays, and no list grows beyond its bound.
    pub fn apply(&mut self, edit: Edit) {
        let requests = self.requests.len();
        match edit {
            Edit::Pattern(pattern) => self.fill_stages(pattern),
            // Whoever can reach the address puts the rows in.
            Edit::FetchData => {}
            Edit::Remove(List::Requests, _) if requests == 1 => {}
            Edit::Add(List::Requests) => change(&mut self.requests, edit, RequestForm::new),
            Edit::Copy(list, i) | Edit::Remove(list, i) | Edit::Up(list, i) | Edit::Down(list, i)
                if list == List::Requests =>
            {
                change(&mut self.requests, edit, RequestForm::new);
                for limit in &mut self.limits {
                    if let Ok(before) = limit.request.parse::<usize>() {
                        limit.request = moved(edit, i, before, requests);
                    }
                }
            }
            Edit::Add(list) | Edit::Copy(list, _) | Edit::Remove(list, _) | Edit::Up(list, _) | Edit::Down(list, _) => {
                match list {
                    List::Requests => {}
                    List::Stages => change(&mut self.stages, edit, StageForm::default),
                    List::Limits => change(&mut self.limits, edit, LimitForm::default),
                    List::Extract(i) => {
                        if let Some(request) = self.requests.get_mut(i) {
                            change(&mut request.extract, edit, ExtractForm::new);
                        }
                    }
                    List::Assert(i) => {
                        if let Some(request) = self.requests.get_mut(i) {
                            change(&mut request.assert, edit, AssertForm::new);
                        }
                    }
                }
            }
        }
    }

    /// Takes out rows in which nothing was typed; requests stay.
    pub fn drop_blank_rows(&mut self) {
        let blank = |texts: &[&String]| texts.iter().all(|text| text.trim().is_empty());
        self.stages.retain(|stage| !blank(&[&stage.duration_s, &stage.to]));
        self.limits.retain(|limit| !blank(&[&limit.text]));
        for request in &mut self.requests {
            request.extract.retain(|row| !blank(&[&row.name, &row.what, &row.attribute]));
            request.assert.retain(|row| row.is == "exists" || !blank(&[&row.what, &row.value]));
        }
    }

    /// Marks what is stored and not shown (secrets, files, long data), so that the form can say that it is kept.
    pub fn mark_stored(&mut self, stored: &PlanSpec) {
        self.data_stored = StoredData::of(stored);
        for row in &mut self.requests {
            let before = row.stored.and_then(|i| stored.requests.get(i));
            row.has_stored_password = before.is_some_and(|r| r.basic_auth.is_some());
            row.has_stored_bearer = before.is_some_and(|r| r.bearer.is_some());
            row.stored_file_bytes = before.and_then(|r| r.body_base64.as_deref()).map(decoded_bytes);
        }
    }

    /// Whether the stages belong to the chosen type of load.
    pub fn is_staged(&self) -> bool {
        !self.stages.is_empty() && matches!(self.load.as_str(), "per_second" | "maintain")
    }

    /// Whether the chosen type of load is a closed model, which pacing goes with.
    pub fn is_closed(&self) -> bool {
        matches!(self.load.as_str(), "maintain" | "fixed_count")
    }

    /// Stages as high and as long as the form says; what it says of neither is as in a new test.
    fn fill_stages(&mut self, pattern: Pattern) {
        let clients = self.load == "maintain";
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        let (bound, start, end) =
            if clients { (limits::TO, &self.from, Some(&self.to)) } else { (limits::RATE, &self.rate, None) };
        let ends = self.stages.iter().map(|stage| &stage.to).chain(end).chain([start]);
        let peak = ends.filter_map(|text| number(text)).fold(0.0, f64::max);
        let peak = if peak > 0.0 { peak.min(bound.max) } else { bound.default };
        let lengths: f64 = self.stages.iter().filter_map(|stage| number(&stage.duration_s)).sum();
        let length =
            if lengths > 0.0 { lengths } else { number(&self.duration_s).unwrap_or(limits::DURATION_S.default) };
        let length = length.min(limits::DURATION_S.max);
        // Clients are whole, and at least one of them is there.
        let level = |share: f64| if clients { (peak * share).round().max(1.0) } else { rounded(peak * share) };
        let (first, stages): (f64, Vec<(f64, f64)>) = match pattern {
            Pattern::Ramp => (0.0, vec![(0.2, level(1.0)), (0.6, level(1.0)), (0.2, 0.0)]),
            Pattern::Spike => {
                let (low, high) = (level(0.2), level(1.0));
                (low, vec![(0.4, low), (0.05, high), (0.1, high), (0.05, low), (0.4, low)])
            }
            Pattern::Steps => {
                let step = |n: u8| level(f64::from(n) / 5.0);
                let rest = (2..=5).flat_map(|n| [(0.0, step(n)), (0.2, step(n))]);
                (step(1), std::iter::once((0.2, step(1))).chain(rest).collect())
            }
        };
        if clients {
            self.from = plain(first);
        } else {
            self.rate = plain(first);
        }
        if !matches!(self.load.as_str(), "per_second" | "maintain") {
            self.load = "per_second".to_owned();
        }
        self.stages = stages
            .into_iter()
            .map(|(share, to)| StageForm { duration_s: plain(rounded(share * length)), to: plain(to) })
            .collect();
    }

    fn set(&mut self, name: &str, value: String) {
        let field = match name {
            "name" => &mut self.name,
            "notes" => &mut self.notes,
            "form_id" => &mut self.form_id,
            "tags" => &mut self.tags,
            "load" => &mut self.load,
            "per_test" => &mut self.per_test,
            "rate" => &mut self.rate,
            "from" => &mut self.from,
            "to" => &mut self.to,
            "requests" => &mut self.request_count,
            "clients" => &mut self.clients,
            "duration_s" => &mut self.duration_s,
            "order" => &mut self.order,
            "think_least_ms" => &mut self.think[0],
            "think_most_ms" => &mut self.think[1],
            "pacing_least_ms" => &mut self.pacing[0],
            "pacing_most_ms" => &mut self.pacing[1],
            "data" => &mut self.data,
            "data_order" => &mut self.data_order,
            "data_at_end" => &mut self.data_at_end,
            "data_url" => &mut self.data_url,
            "data_kept" => {
                self.data_kept = value == "on";
                return;
            }
            "assertion_failure" => &mut self.assertion_failure,
            "timeout_ms" => &mut self.timeout_ms,
            "idle_timeout_ms" => &mut self.idle_timeout_ms,
            "error_threshold" => &mut self.error_threshold,
            "reuse" => &mut self.reuse,
            "http" => &mut self.http,
            "min_tls" => &mut self.min_tls,
            "end" => &mut self.end,
            "redirects" => &mut self.redirects,
            "max_clients" => &mut self.max_clients,
            "warm_up_s" => &mut self.warm_up_s,
            "max_rate_missed" => &mut self.max_rate_missed,
            "insecure" => {
                self.insecure = value == "on";
                return;
            }
            _ => return,
        };
        *field = value;
    }
}

/// The row with this number; what is missing before it is empty.
fn at<T: Clone + Default>(rows: &mut Vec<T>, index: usize) -> &mut T {
    if rows.len() <= index {
        rows.resize(index + 1, T::default());
    }
    &mut rows[index]
}

fn change<T: Clone>(rows: &mut Vec<T>, edit: Edit, new: impl Fn() -> T) {
    let n = rows.len();
    match edit {
        Edit::Add(list) if n < list.most() => rows.push(new()),
        Edit::Copy(list, i) if i < n && n < list.most() => rows.insert(i + 1, rows[i].clone()),
        Edit::Remove(_, i) if i < n => drop(rows.remove(i)),
        Edit::Up(_, i) if i > 0 && i < n => rows.swap(i, i - 1),
        Edit::Down(_, i) if i + 1 < n => rows.swap(i, i + 1),
        _ => {}
    }
}

/// The number of what was request `before` of `n` when this was done to request `i`.
fn moved(edit: Edit, i: usize, before: usize, n: usize) -> String {
    let after = match edit {
        // Not silently about all requests: whoever removed it decides.
        Edit::Remove(..) if before == i => return "removed".to_owned(),
        Edit::Remove(..) if before > i => before - 1,
        Edit::Copy(list, _) if before > i && n < list.most() => before + 1,
        Edit::Up(..) if i > 0 && before == i => i - 1,
        Edit::Up(..) if i > 0 && before == i - 1 => i,
        Edit::Down(..) if i + 1 < n && before == i => i + 1,
        Edit::Down(..) if i + 1 < n && before == i + 1 => i,
        _ => before,
    };
    after.to_string()
}

impl RequestForm {
    /// An empty row.
    pub fn new() -> RequestForm {
        RequestForm {
            method: "GET".to_owned(),
            weight: "1".to_owned(),
            body_mode: "none".to_owned(),
            auth: "none".to_owned(),
            ..RequestForm::default()
        }
    }

    /// The kind of body: as chosen, else as filled in.
    pub fn body_kind(&self) -> &str {
        match (self.body_mode.as_str(), self.body.is_empty(), self.form.trim().is_empty()) {
            ("", false, _) => "text",
            ("", true, false) => "form",
            ("", true, true) if !self.body_base64.is_empty() => "file",
            ("", true, true) => "none",
            (mode, ..) => mode,
        }
    }

    /// The kind of sign-in: as chosen, else as filled in.
    pub fn auth_kind(&self) -> &str {
        let basic = !self.auth_user.trim().is_empty() || !self.auth_password.is_empty();
        match (self.auth.as_str(), basic, self.bearer.is_empty()) {
            ("", true, _) => "basic",
            ("", false, false) => "bearer",
            ("", false, true) => "none",
            (kind, ..) => kind,
        }
    }

    fn set(&mut self, part: &str, value: String) {
        if let Some((i, part)) = row(part, "extract", limits::EXTRACTS) {
            let row = at(&mut self.extract, i);
            match part {
                "name" => row.name = value,
                "from" => row.from = value,
                "what" => row.what = value,
                "attribute" => row.attribute = value,
                _ => {}
            }
            return;
        }
        if let Some((i, part)) = row(part, "assert", limits::ASSERTIONS) {
            let row = at(&mut self.assert, i);
            match part {
                "on" => row.on = value,
                "what" => row.what = value,
                "is" => row.is = value,
                "value" => row.value = value,
                _ => {}
            }
            return;
        }
        match part {
            "method" => self.method = value,
            "url" => self.url = value,
            "name" => self.name = value,
            "weight" => self.weight = value,
            "query" => self.query = value,
            "headers" => self.headers = value,
            "cookies" => self.cookies = value,
            "body_mode" => self.body_mode = value,
            "body" => self.body = value,
            "form" => self.form = value,
            "content_type" => self.content_type = value,
            "body_base64" => self.body_base64 = value,
            "body_file_name" => self.body_file_name = value,
            "auth" => self.auth = value,
            "auth_user" => self.auth_user = value,
            "auth_password" => self.auth_password = value,
            "bearer" => self.bearer = value,
            "stored" => self.stored = value.parse().ok(),
            _ => {}
        }
    }
}

impl ExtractForm {
    fn new() -> ExtractForm {
        ExtractForm { from: "json".to_owned(), ..ExtractForm::default() }
    }
}

impl AssertForm {
    fn new() -> AssertForm {
        AssertForm { on: "status".to_owned(), is: "equals".to_owned(), ..AssertForm::default() }
    }
}

/// The value of the field `load`.
pub fn load_name(load: Load) -> &'static str {
    match load {
        Load::FixedCount { .. } => "fixed_count",
        Load::PerTest { .. } => "per_test",
        Load::PerSecond { .. } => "per_second",
        Load::Maintain { .. } => "maintain",
    }
}

fn request_form(index: usize, spec: &RequestSpec) -> RequestForm {
    let mode = match spec {
        RequestSpec { body: Some(_), .. } => "text",
        RequestSpec { body_base64: Some(_), .. } => "file",
        RequestSpec { form, .. } if !form.is_empty() => "form",
        _ => "none",
    };
    let auth = match spec {
        RequestSpec { basic_auth: Some(_), .. } => "basic",
        RequestSpec { bearer: Some(_), .. } => "bearer",
        _ => "none",
    };
    RequestForm {
        method: spec.method.to_string(),
        url: spec.url.clone(),
        name: spec.name.clone().unwrap_or_default(),
        weight: spec.weight.to_string(),
        query: shown_pairs(&spec.query, parameter_is_secret),
        headers: hidden(&spec.headers, |name| !header_is_shown(name))
            .iter()
            .map(|(n, v)| format!("{n}: {v}"))
            .collect::<Vec<_>>()
            .join("\n"),
        cookies: shown_pairs(&spec.cookies, |_| true),
        body_mode: mode.to_owned(),
        body: spec.body.clone().unwrap_or_default(),
        form: shown_pairs(&spec.form, parameter_is_secret),
        content_type: spec.content_type.clone().unwrap_or_default(),
        body_base64: String::new(),
        body_file_name: String::new(),
        auth: auth.to_owned(),
        auth_user: spec.basic_auth.as_ref().map(|c| c.user.clone()).unwrap_or_default(),
        auth_password: String::new(),
        bearer: spec.bearer.clone().filter(|token| is_only_places(token)).unwrap_or_default(),
        extract: spec.extract.iter().map(extract_form).collect(),
        assert: spec.assert.iter().map(assert_form).collect(),
        stored: Some(index),
        has_stored_password: spec.basic_auth.is_some(),
        has_stored_bearer: spec.bearer.is_some(),
        stored_file_bytes: spec.body_base64.as_deref().map(decoded_bytes),
    }
}

fn extract_form(spec: &Extract) -> ExtractForm {
    ExtractForm {
        name: spec.name.clone(),
        from: spec.from.to_string(),
        what: spec.what.clone(),
        attribute: spec.attribute.clone().unwrap_or_default(),
    }
}

fn assert_form(spec: &Assertion) -> AssertForm {
    AssertForm { on: spec.on.to_string(), what: spec.what.clone(), is: spec.is.to_string(), value: spec.value.clone() }
}

fn pause_form(pause: Option<Pause>) -> [String; 2] {
    match pause {
        None => Default::default(),
        Some(pause) if pause.least_ms == pause.most_ms => [plain(pause.least_ms), String::new()],
        Some(pause) => [plain(pause.least_ms), plain(pause.most_ms)],
    }
}

/// The pairs with [`HIDDEN`] in place of what is secret.
fn hidden(pairs: &[(String, String)], is_secret: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let shown = |(name, value): &(String, String)| {
        let secret = is_secret(name) && !value.is_empty() && !is_only_places(value);
        (name.clone(), if secret { HIDDEN.to_owned() } else { value.clone() })
    };
    pairs.iter().map(shown).collect()
}

fn shown_pairs(pairs: &[(String, String)], is_secret: impl Fn(&str) -> bool) -> String {
    pairs_text(&hidden(pairs, is_secret))
}

/// A token that comes from somewhere else is no secret itself.
fn is_only_places(token: &str) -> bool {
    Template::parse(token)
        .is_ok_and(|t| !t.parts().is_empty() && t.parts().iter().all(|part| !matches!(part, Part::Text(_))))
}

/// Bytes that so much base64 stands for.
fn decoded_bytes(base64: &str) -> u64 {
    (base64.trim_end_matches('=').len() as u64) * 3 / 4
}

/// Pairs as lines of `name=value`. `\n` stands for a line break, `\=` for an equals sign in a name, `\\` for a backslash.
pub fn pairs_text(pairs: &[(String, String)]) -> String {
    let written = |text: &str| text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
    let lines = pairs.iter().map(|(name, value)| format!("{}={}", written(name).replace('=', "\\="), written(value)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads what [`pairs_text`] writes; a backslash before anything else is one. `None` for a line without an equals sign.
pub fn parse_pairs(text: &str) -> Option<Vec<(String, String)>> {
    text.lines().filter(|line| !line.trim().is_empty()).map(parse_pair).collect()
}

fn parse_pair(line: &str) -> Option<(String, String)> {
    let (mut name, mut value) = (None, String::new());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(&next @ ('\\' | '='))) => {
                chars.next();
                value.push(next);
            }
            ('\\', Some('n' | 'r')) => value.push(if chars.next() == Some('n') { '\n' } else { '\r' }),
            ('=', _) if name.is_none() => name = Some(std::mem::take(&mut value)),
            _ => value.push(c),
        }
    }
    Some((name?, value))
}

/// Rows as CSV with a line of names.
pub fn data_text(data: &DataSpec) -> String {
    let mut text = String::new();
    for row in std::iter::once(&data.columns).chain(&data.rows) {
        for (n, value) in row.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            let quoted =
                value.contains([',', '"', '\n', '\r']) || value.trim() != value || row.len() == 1 && value.is_empty();
            if quoted {
                text.push('"');
                text.push_str(&value.replace('"', "\"\""));
                text.push('"');
            } else {
                text.push_str(value);
            }
        }
        text.push('\n');
    }
    text
}

/// `requests[2].url` → (2, `url`). Indexes beyond the longest allowed list (and one more, so that it is refused in words) are ignored.
fn row<'a>(name: &'a str, list: &str, most: usize) -> Option<(usize, &'a str)> {
    let (index, part) = name.strip_prefix(list)?.strip_prefix('[')?.split_once("].")?;
    let index = index.parse().ok().filter(|i| *i <= most)?;
    Some((index, part))
}

fn plain(value: f64) -> String {
    format!("{value}")
}

/// With at most three decimals.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn what_was_typed_is_kept_as_it_was() {
        let (form, action) = PlanForm::from_pairs(pairs(&[
            ("name", " x "),
            ("load", "nonsense"),
            ("rate", "ten"),
            ("requests", "1e3"),
            ("requests[1].url", "b"),
            ("requests[0].url", "a"),
            ("requests[0].stored", "4"),
            ("requests[0].extract[1].name", "id"),
            ("requests[999999999].url", "c"),
            ("stages[0].to", "many"),
            ("limits[0].stop", "on"),
            ("insecure", "on"),
            ("action", "remove:requests:1"),
        ]));
        assert_eq!(
            (form.name.as_str(), form.load.as_str(), form.rate.as_str(), form.request_count.as_str()),
            (" x ", "nonsense", "ten", "1e3")
        );
        assert_eq!(form.requests.iter().map(|r| r.url.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((form.requests[0].stored, form.requests[0].extract.len()), (Some(4), 2));
        assert_eq!((form.stages[0].to.as_str(), form.limits[0].stop, form.insecure), ("many", true, true));
        assert_eq!(action, FormAction::Edit(Edit::Remove(List::Requests, 1)));
        assert_eq!(form.min_tls, "1.2", "what is not sent has its default");
    }

    #[test]
    fn buttons_say_what_they_do() {
        for edit in [
            Edit::Add(List::Assert(3)),
            Edit::Remove(List::Extract(0), 2),
            Edit::Up(List::Stages, 1),
            Edit::Down(List::Limits, 0),
            Edit::Copy(List::Requests, 7),
            Edit::Pattern(Pattern::Steps),
        ] {
            assert_eq!(edit.to_string().parse(), Ok(edit));
        }
        for bad in ["", "save", "add", "add:nothing", "remove:stages", "up:stages:x", "remove:stages:99", "pattern:x"] {
            assert!(bad.parse::<Edit>().is_err(), "{bad}");
        }
    }

    #[test]
    fn rows_come_and_go_but_one_request_stays() {
        let mut form = PlanForm::for_url("http://a.test/");
        form.apply(Edit::Add(List::Requests));
        assert_eq!(form.requests.len(), 2);
        form.apply(Edit::Remove(List::Requests, 0));
        form.apply(Edit::Remove(List::Requests, 0));
        assert_eq!((form.requests.len(), form.requests[0].url.as_str()), (1, ""));
        for _ in 0..=limits::ASSERTIONS {
            form.apply(Edit::Add(List::Assert(0)));
        }
        form.apply(Edit::Add(List::Assert(9)));
        assert_eq!(form.requests[0].assert.len(), limits::ASSERTIONS);
        form.drop_blank_rows();
        assert!(form.requests[0].assert.is_empty());
    }

    #[test]
    fn a_limit_follows_its_request() {
        let mut form = PlanForm::default();
        for name in ["b", "c"] {
            form.apply(Edit::Add(List::Requests));
            form.requests.last_mut().unwrap().name = name.into();
        }
        form.limits =
            ["", "2", "1"].map(|request| LimitForm { request: request.into(), ..LimitForm::default() }).into();
        let about = |form: &PlanForm| form.limits.iter().map(|l| l.request.clone()).collect::<Vec<_>>();
        form.apply(Edit::Up(List::Requests, 2));
        assert_eq!((form.requests[1].name.as_str(), about(&form)), ("c", vec!["".into(), "1".into(), "2".into()]));
        form.apply(Edit::Copy(List::Requests, 0));
        assert_eq!(about(&form), ["", "2", "3"]);
        form.apply(Edit::Remove(List::Requests, 2));
        assert_eq!(about(&form), ["", "removed", "2"]);
    }

    #[test]
    fn patterns_have_the_height_and_length_of_the_form() {
        let stages = |form: &PlanForm| {
            form.stages
                .iter()
                .map(|s| (s.duration_s.parse().unwrap(), s.to.parse().unwrap()))
                .collect::<Vec<(f64, f64)>>()
        };
        let mut form =
            PlanForm { load: "maintain".into(), to: "30".into(), duration_s: "100".into(), ..PlanForm::default() };
        form.apply(Edit::Pattern(Pattern::Ramp));
        assert_eq!((form.from.as_str(), stages(&form)), ("0", vec![(20.0, 30.0), (60.0, 30.0), (20.0, 0.0)]));
        form.apply(Edit::Pattern(Pattern::Spike));
        assert_eq!((form.from.as_str(), stages(&form)[1], stages(&form)[4]), ("6", (5.0, 30.0), (40.0, 6.0)));
        form.apply(Edit::Pattern(Pattern::Steps));
        assert_eq!((form.from.as_str(), stages(&form)[0], stages(&form)[8]), ("6", (20.0, 6.0), (20.0, 30.0)));
        let mut rate =
            PlanForm { load: "per_test".into(), rate: "x".into(), duration_s: "".into(), ..PlanForm::default() };
        rate.apply(Edit::Pattern(Pattern::Ramp));
        assert_eq!((rate.load.as_str(), rate.rate.as_str(), stages(&rate)[0]), ("per_second", "0", (12.0, 10.0)));
    }

    #[test]
    fn pairs_and_rows_are_written_so_that_they_can_be_read_again() {
        let list = pairs(&[("a=b", "c=d"), ("", "x\ny\\n"), (" s ", " \\q"), ("e", "")]);
        assert_eq!(parse_pairs(&pairs_text(&list)), Some(list));
        assert_eq!(parse_pairs("a=b\r\n\n  \nc=\\d"), Some(pairs(&[("a", "b"), ("c", "\\d")])));
        assert_eq!(parse_pairs("a"), None);
        let text = |columns: &[&str], row: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            data_text(&DataSpec { columns: owned(columns), rows: vec![owned(row)], ..DataSpec::default() })
        };
        assert_eq!(text(&["a", "b"], &["x,\"y\"", " z"]), "a,b\n\"x,\"\"y\"\"\",\" z\"\n");
        assert_eq!(text(&["a"], &[""]), "a\n\"\"\n");
    }

    #[test]
    fn stored_secrets_do_not_reach_the_form() {
        let mut spec = PlanSpec {
            requests: vec![RequestSpec { url: "http://a.test/".into(), ..RequestSpec::default() }; 3],
            ..PlanSpec::default()
        };
        spec.requests[0].basic_auth =
            Some(oleada_engine::plan::Credentials { user: "u".into(), password: "geheim".into() });
        spec.requests[1].bearer = Some("geheim-token".into());
        spec.requests[2].bearer = Some("{{token}}".into());
        spec.requests[0].headers = pairs(&[("X-Token", "geheim"), ("X-Csrf", "{{token}}")]);
        spec.requests[0].cookies = pairs(&[("sid", "geheim"), ("id", "{{id}}")]);
        spec.requests[0].query = pairs(&[("api_key", "geheim"), ("page", "1")]);
        spec.requests[0].form = pairs(&[("password", "geheim"), ("user", "ann")]);
        let form = PlanForm::from_spec("t", "", &spec);
        assert!(!format!("{form:?}").contains("geheim"));
        assert_eq!(form.requests[0].cookies, "sid=(hidden)\nid={{id}}");
        assert_eq!(form.requests[0].headers, "X-Token: (hidden)\nX-Csrf: {{token}}");
        assert!(form.requests[0].has_stored_password && form.requests[1].has_stored_bearer);
        assert_eq!((form.requests[1].auth_kind(), form.requests[2].bearer.as_str()), ("bearer", "{{token}}"));
    }
}

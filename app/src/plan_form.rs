//! The test form as it was typed: every field a string, nothing judged. The one place where its field names stand.
//!
//! | field | value |
//! |---|---|
//! | `name`, `notes` | text |
//! | `load` | `per_test`, `per_second`, `maintain` or `fixed_count` |
//! | `per_test` | clients over the test (`load=per_test`) |
//! | `rate` | clients per second (`load=per_second`) |
//! | `from`, `to` | clients at start and end (`load=maintain`) |
//! | `requests`, `clients` | requests in all and clients at once (`load=fixed_count`) |
//! | `duration_s` | seconds; may be empty for a fixed count |
//! | `requests[i].method`, `.url`, `.headers`, `.body` | one request; headers one `Name: value` a line |
//! | `requests[i].auth_user`, `requests[i].auth_password` | basic authentication; both empty = none |
//! | `requests[i].stored` | which request of the stored test this row was (from 0): its password is kept while `auth_password` is empty |
//! | `timeout_ms`, `idle_timeout_ms`, `error_threshold`, `max_clients`, `warm_up_s`, `max_rate_missed` | numbers; empty = default or off |
//! | `reuse`, `http`, `min_tls`, `end`, `redirects` | names as in the plan |
//! | `insecure` | `on` when any certificate is accepted |
//! | `action` | `save`, `run` (save and run), `add-request`, or `remove-request-i` |
//!
//! Errors come back as `FieldError`s whose `field` is one of these names; a plan's own `requests[i].basic_auth` is shown at
//! the user name.

use oleada_engine::plan::{Load, PlanSpec, RequestSpec, limits};

/// One request as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestForm {
    /// Method name.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// `Name: value`, one a line.
    pub headers: String,
    /// Body text.
    pub body: String,
    /// User for basic authentication.
    pub auth_user: String,
    /// Password as typed now; a stored one is never sent to the browser.
    pub auth_password: String,
    /// Index of the stored request this row came from, whose password is kept while `auth_password` is empty.
    pub stored: Option<usize>,
    /// Whether that stored request has a password (only decides what the hint says).
    pub has_stored_password: bool,
}

/// The whole form as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanForm {
    /// Name of the test.
    pub name: String,
    /// Notes.
    pub notes: String,
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
    /// Request list.
    pub requests: Vec<RequestForm>,
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

/// What the pressed button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormAction {
    /// Save the test.
    Save,
    /// Save it and run it.
    Run,
    /// Show the form again with one more request.
    AddRequest,
    /// Show the form again without this request.
    RemoveRequest(usize),
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
        let mut form = PlanForm {
            name: name.to_owned(),
            notes: notes.to_owned(),
            load: load_name(spec.load).to_owned(),
            per_test: plain(limits::PER_TEST.default),
            rate: plain(limits::RATE.default),
            from: plain(limits::FROM.default),
            to: plain(limits::TO.default),
            request_count: plain(limits::REQUESTS.default),
            clients: plain(limits::CLIENTS.default),
            duration_s: spec.duration_s.map(plain).unwrap_or_default(),
            requests: spec.requests.iter().enumerate().map(|(i, r)| request_form(i, r)).collect(),
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
                action = parse_action(&value);
            } else if let Some((index, part)) = row_field(&name) {
                if form.requests.len() <= index {
                    form.requests.resize(index + 1, RequestForm::default());
                }
                form.requests[index].set(part, value);
            } else {
                form.set(&name, value);
            }
        }
        (form, action)
    }

    /// Does what `add-request` and `remove-request-i` ask; the last row stays.
    pub fn apply(&mut self, action: FormAction) {
        match action {
            FormAction::AddRequest if self.requests.len() < limits::REQUEST_LIST => {
                self.requests.push(RequestForm::new())
            }
            FormAction::RemoveRequest(i) if i < self.requests.len() && self.requests.len() > 1 => {
                self.requests.remove(i);
            }
            _ => {}
        }
    }

    /// Marks the rows whose stored request has a password, so that the form can say that it is kept.
    pub fn mark_stored_passwords(&mut self, stored: &PlanSpec) {
        for row in &mut self.requests {
            row.has_stored_password =
                row.stored.and_then(|i| stored.requests.get(i)).is_some_and(|r| r.basic_auth.is_some());
        }
    }

    fn set(&mut self, name: &str, value: String) {
        let field = match name {
            "name" => &mut self.name,
            "notes" => &mut self.notes,
            "load" => &mut self.load,
            "per_test" => &mut self.per_test,
            "rate" => &mut self.rate,
            "from" => &mut self.from,
            "to" => &mut self.to,
            "requests" => &mut self.request_count,
            "clients" => &mut self.clients,
            "duration_s" => &mut self.duration_s,
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

impl RequestForm {
    /// An empty row.
    pub fn new() -> RequestForm {
        RequestForm { method: "GET".to_owned(), ..RequestForm::default() }
    }

    fn set(&mut self, part: &str, value: String) {
        match part {
            "method" => self.method = value,
            "url" => self.url = value,
            "headers" => self.headers = value,
            "body" => self.body = value,
            "auth_user" => self.auth_user = value,
            "auth_password" => self.auth_password = value,
            "stored" => self.stored = value.parse().ok(),
            _ => {}
        }
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
    RequestForm {
        method: spec.method.to_string(),
        url: spec.url.clone(),
        headers: spec.headers.iter().map(|(n, v)| format!("{n}: {v}")).collect::<Vec<_>>().join("\n"),
        body: spec.body.clone().unwrap_or_default(),
        auth_user: spec.basic_auth.as_ref().map(|c| c.user.clone()).unwrap_or_default(),
        auth_password: String::new(),
        stored: Some(index),
        has_stored_password: spec.basic_auth.is_some(),
    }
}

fn parse_action(value: &str) -> FormAction {
    match value {
        "run" => FormAction::Run,
        "add-request" => FormAction::AddRequest,
        _ => value
            .strip_prefix("remove-request-")
            .and_then(|i| i.parse().ok())
            .map_or(FormAction::Save, FormAction::RemoveRequest),
    }
}

/// `requests[2].url` → (2, `url`). Indexes beyond the longest allowed list (and one more, so that it is refused in words) are ignored.
fn row_field(name: &str) -> Option<(usize, &str)> {
    let (index, part) = name.strip_prefix("requests[")?.split_once("].")?;
    let index = index.parse().ok().filter(|i| *i <= limits::REQUEST_LIST)?;
    Some((index, part))
}

fn plain(value: f64) -> String {
    format!("{value}")
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
            ("requests[999999999].url", "c"),
            ("insecure", "on"),
            ("action", "remove-request-1"),
        ]));
        assert_eq!(
            (form.name.as_str(), form.load.as_str(), form.rate.as_str(), form.request_count.as_str()),
            (" x ", "nonsense", "ten", "1e3")
        );
        assert_eq!(form.requests.iter().map(|r| r.url.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((form.requests[0].stored, form.insecure, action), (Some(4), true, FormAction::RemoveRequest(1)));
        assert_eq!(form.min_tls, "1.2", "what is not sent has its default");
    }

    #[test]
    fn rows_come_and_go_but_one_stays() {
        let mut form = PlanForm::for_url("http://a.test/");
        form.apply(FormAction::AddRequest);
        assert_eq!(form.requests.len(), 2);
        form.apply(FormAction::RemoveRequest(0));
        form.apply(FormAction::RemoveRequest(0));
        assert_eq!((form.requests.len(), form.requests[0].url.as_str()), (1, ""));
    }

    #[test]
    fn stored_secrets_do_not_reach_the_form() {
        let mut spec = PlanSpec {
            requests: vec![RequestSpec { url: "http://a.test/".into(), ..RequestSpec::default() }],
            ..PlanSpec::default()
        };
        spec.requests[0].basic_auth =
            Some(oleada_engine::plan::Credentials { user: "u".into(), password: "geheim".into() });
        let form = PlanForm::from_spec("t", "", &spec);
        assert!(!format!("{form:?}").contains("geheim"));
        assert!(form.requests[0].has_stored_password);
    }
}

//! String forms to plans: everything that was typed is judged here, once, and each fault is told at its field.

use oleada_app::plan_form::{AssertForm, ExtractForm, PlanForm, RequestForm, parse_pairs};
use oleada_engine::limit::LimitSpec;
use oleada_engine::plan::limits::{self, Bound};
use oleada_engine::plan::scenario::{Assertion, DataSpec, Extract, Pause, Subject};
use oleada_engine::plan::{Credentials, FieldError, Load, Plan, PlanSpec, RequestSpec, Stage, Target};
use oleada_engine::result::{HIDDEN, header_is_shown, parameter_is_secret, shown_url};
use oleada_import::Payload;
use oleada_import::secrets::without_user;

/// A test as it may be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTest {
    /// Name; never empty.
    pub name: String,
    /// Notes; may be empty.
    pub notes: String,
    /// Tags, in lower case, each once.
    pub tags: Vec<String>,
    /// What it does.
    pub plan: Plan,
    /// What was changed while it was read, a sentence each; not stored.
    pub told: Vec<String>,
}

/// Reads the form. `stored` is the test being edited, whose passwords, tokens and files are kept where none are given.
///
/// # Errors
/// Every fault, one message a field, `field` as in [`oleada_app::plan_form`].
pub fn read(form: &PlanForm, stored: Option<&PlanSpec>) -> Result<NewTest, Vec<FieldError>> {
    let mut reader = Reader { errors: Vec::new() };
    let mut spec = reader.spec(form, stored);
    let mut told = Vec::new();
    if let Some(mut data) = reader.data(form, stored) {
        told = std::mem::take(&mut data.left_out);
        told.extend(data.apply(&mut spec));
    }
    let name = reader.name(form);
    if form.notes.chars().count() > limits::NOTES_CHARS {
        reader.add("notes", "must be at most 10,000 characters");
    }
    if form.notes.contains('\0') {
        reader.add("notes", "must not have a NUL character");
    }
    let tags = reader.tags(&form.tags);
    let plan = match Plan::try_from(spec) {
        Ok(plan) => Some(plan),
        Err(errors) => {
            for error in errors.0 {
                // The form has a field of this name, which is judged by the reader.
                let field = if error.field == "requests" { "request_list" } else { &error.field };
                reader.add(field, &error.message);
            }
            None
        }
    };
    match plan.filter(|_| reader.errors.is_empty()) {
        Some(plan) => Ok(NewTest { name, notes: form.notes.trim().to_owned(), tags, plan, told }),
        None => Err(reader.errors),
    }
}

struct Reader {
    errors: Vec<FieldError>,
}

impl Reader {
    /// One message a field: the first one found is the most basic.
    fn add(&mut self, field: &str, message: &str) {
        if !self.errors.iter().any(|e| e.field == field) {
            self.errors.push(FieldError { field: field.to_owned(), message: message.to_owned() });
        }
    }

    fn name(&mut self, form: &PlanForm) -> String {
        let name = form.name.trim();
        if name.chars().count() > limits::NAME_CHARS || name.chars().any(char::is_control) {
            self.add("name", "must be at most 200 characters without line breaks");
        }
        if !name.is_empty() {
            return name.to_owned();
        }
        let url = form.requests.first().map(|r| r.url.trim()).unwrap_or_default();
        let shown = Target::parse(url).map(|t| shown_url(&t)).unwrap_or_default();
        shown.chars().take(limits::NAME_CHARS).collect()
    }

    /// Words between commas, in lower case and each once.
    fn tags(&mut self, text: &str) -> Vec<String> {
        let mut tags: Vec<String> = Vec::new();
        for tag in text.split(',') {
            let tag = tag.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            if tag.chars().count() > limits::TAG_CHARS || tag.chars().any(char::is_control) {
                self.add("tags", &format!("must have at most {} characters each", limits::TAG_CHARS));
            } else if !tag.is_empty() && !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        if tags.len() > limits::TAGS {
            self.add("tags", &format!("must be at most {}", limits::TAGS));
        }
        tags
    }

    /// The stored value of a header, cookie or parameter whose value was not shown: of several of one name, the one at the same
    /// place among them.
    fn kept_value(
        &mut self,
        field: &str,
        name: &str,
        before: &[(String, String)],
        stored: Option<&Vec<(String, String)>>,
    ) -> String {
        let same = |list: &[(String, String)]| -> Vec<String> {
            list.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.clone()).collect()
        };
        let kept = stored.and_then(|list| same(list).into_iter().nth(same(before).len()));
        kept.unwrap_or_else(|| {
            self.add(field, &format!("has “{HIDDEN}” for {name}, which has no stored value: type the value"));
            String::new()
        })
    }

    /// A number inside its bound. What is typed wrong is told here; the default stands in so that the rest can be judged.
    fn number(&mut self, bound: Bound, text: &str) -> f64 {
        self.number_at(bound.field, bound, text)
    }

    fn number_at(&mut self, field: &str, bound: Bound, text: &str) -> f64 {
        match ungrouped(text.trim()).parse::<f64>() {
            Ok(value) if bound.contains(value) => value,
            Ok(_) => {
                self.add(field, &bound.sentence());
                bound.default
            }
            Err(_) if text.trim().is_empty() => {
                self.add(field, "is needed");
                bound.default
            }
            Err(_) => {
                self.add(field, &format!("must be a number; it {}", bound.sentence()));
                bound.default
            }
        }
    }

    fn whole(&mut self, bound: Bound, text: &str) -> u64 {
        self.whole_at(bound.field, bound, text)
    }

    fn whole_at(&mut self, field: &str, bound: Bound, text: &str) -> u64 {
        let value = self.number_at(field, bound, text);
        if value.fract() != 0.0 {
            self.add(field, "must be a whole number");
        }
        value as u64
    }

    fn optional(&mut self, bound: Bound, text: &str) -> Option<f64> {
        (!text.trim().is_empty()).then(|| self.number(bound, text))
    }

    fn choice<T: std::str::FromStr<Err = String> + Default>(&mut self, field: &str, text: &str) -> T {
        text.parse().unwrap_or_else(|message: String| {
            self.add(field, &message);
            T::default()
        })
    }

    fn load(&mut self, form: &PlanForm) -> Load {
        match form.load.as_str() {
            "per_test" => Load::PerTest { clients: self.whole(limits::PER_TEST, &form.per_test) },
            "per_second" => {
                // Stages may begin with nobody.
                let least = if form.is_staged() { 0.0 } else { limits::RATE.min };
                Load::PerSecond { rate: self.number(Bound { min: least, ..limits::RATE }, &form.rate) }
            }
            "maintain" => {
                let from = self.whole(limits::FROM, &form.from) as u32;
                // The last stage says where it ends.
                let to = if form.is_staged() { from } else { self.whole(limits::TO, &form.to) as u32 };
                Load::Maintain { from, to }
            }
            "fixed_count" => Load::FixedCount {
                requests: self.whole(limits::REQUESTS, &form.request_count),
                clients: self.whole(limits::CLIENTS, &form.clients) as u32,
            },
            _ => {
                self.add("load", "must be one of the four types of load");
                PlanSpec::default().load
            }
        }
    }

    fn spec(&mut self, form: &PlanForm, stored: Option<&PlanSpec>) -> PlanSpec {
        let load = self.load(form);
        let duration_s = match load {
            Load::FixedCount { .. } => self.optional(limits::DURATION_S, &form.duration_s),
            _ if form.is_staged() => None,
            _ => Some(self.number(limits::DURATION_S, &form.duration_s)),
        };
        PlanSpec {
            load,
            duration_s,
            stages: self.stages(form),
            order: self.choice("order", &form.order),
            think: self.pause(["think_least_ms", "think_most_ms"], &form.think),
            pacing: if form.is_closed() {
                self.pause(["pacing_least_ms", "pacing_most_ms"], &form.pacing)
            } else {
                None
            },
            data: None,
            assertion_failure: self.choice("assertion_failure", &form.assertion_failure),
            limits: self.limits(form),
            requests: form.requests.iter().enumerate().map(|(i, r)| self.request(i, r, stored)).collect(),
            timeout_ms: self.number(limits::TIMEOUT_MS, &form.timeout_ms),
            idle_timeout_ms: self.optional(limits::IDLE_TIMEOUT_MS, &form.idle_timeout_ms),
            error_threshold: self.number(limits::ERROR_THRESHOLD, &form.error_threshold),
            reuse: self.choice("reuse", &form.reuse),
            http: self.choice("http", &form.http),
            insecure: form.insecure,
            min_tls: self.choice("min_tls", &form.min_tls),
            end: self.choice("end", &form.end),
            redirects: self.choice("redirects", &form.redirects),
            max_clients: self.optional(limits::MAX_CLIENTS, &form.max_clients).map(|n| n as u32),
            warm_up_s: self.optional(limits::WARM_UP_S, &form.warm_up_s).unwrap_or(0.0),
            max_rate_missed: self.optional(limits::MAX_RATE_MISSED, &form.max_rate_missed),
        }
    }

    fn stages(&mut self, form: &PlanForm) -> Vec<Stage> {
        if !form.is_staged() {
            return Vec::new();
        }
        let length = Bound { min: 0.0, ..limits::DURATION_S };
        let to = if form.load == "maintain" { limits::TO } else { Bound { min: 0.0, ..limits::RATE } };
        let one = |(i, stage): (usize, &oleada_app::plan_form::StageForm)| Stage {
            duration_s: self.number_at(&format!("stages[{i}].duration_s"), length, &stage.duration_s),
            to: self.number_at(&format!("stages[{i}].to"), to, &stage.to),
        };
        form.stages.iter().enumerate().map(one).collect()
    }

    fn pause(&mut self, [least_field, most_field]: [&str; 2], [least, most]: &[String; 2]) -> Option<Pause> {
        if least.trim().is_empty() && most.trim().is_empty() {
            return None;
        }
        let least_ms = self.number_at(least_field, limits::PAUSE_MS, least);
        if most.trim().is_empty() {
            return Some(Pause { least_ms, most_ms: least_ms });
        }
        let most_ms = self.number_at(most_field, limits::PAUSE_MS, most);
        if self.errors.iter().any(|e| e.field == least_field || e.field == most_field) {
            return None;
        }
        Some(Pause { least_ms, most_ms })
    }

    /// The rows that were typed, else those of the stored test if they are to stay.
    fn data(&mut self, form: &PlanForm, stored: Option<&PlanSpec>) -> Option<Payload> {
        let order = self.choice("data_order", &form.data_order);
        let at_end = self.choice("data_at_end", &form.data_at_end);
        let mut payload = if form.data.trim().is_empty() {
            let data = stored.and_then(|s| s.data.clone()).filter(|_| form.data_kept)?;
            Payload { data, ..Payload::default() }
        } else if form.data.contains(char::REPLACEMENT_CHARACTER) {
            self.add("data", "holds characters that are not UTF-8: save the file as UTF-8");
            return None;
        } else {
            // Browsers send line breaks in text as CR LF, also those inside quotes.
            match oleada_import::payload::read(&form.data.replace("\r\n", "\n")) {
                Ok(payload) => payload,
                Err(error) => {
                    self.add("data", &format!("cannot be read: {error}"));
                    return None;
                }
            }
        };
        payload.data = DataSpec { order, at_end, ..payload.data };
        Some(payload)
    }

    fn limits(&mut self, form: &PlanForm) -> Vec<LimitSpec> {
        let mut limits = Vec::new();
        for (i, limit) in form.limits.iter().enumerate() {
            let request = match limit.request.as_str() {
                "" => None,
                index => {
                    let index = index.parse().ok().filter(|i| *i < form.requests.len());
                    if index.is_none() {
                        self.add(&format!("limits[{i}].request"), "must be one of the test's requests");
                    }
                    index
                }
            };
            match limit.text.parse() {
                Ok(condition) => limits.push(LimitSpec { condition, request, stop: limit.stop }),
                Err(_) => self.add(
                    &format!("limits[{i}].text"),
                    "must be a condition such as p95>300ms, max>2s, errors>1% or rps<500",
                ),
            }
        }
        limits
    }

    fn request(&mut self, index: usize, form: &RequestForm, stored: Option<&PlanSpec>) -> RequestSpec {
        let field = |part: &str| format!("requests[{index}].{part}");
        let method = self.choice(&field("method"), &form.method);
        let before = stored.and_then(|s| s.requests.get(form.stored?));
        let mut headers = Vec::new();
        for line in form.headers.lines().filter(|l| !l.trim().is_empty()) {
            match line.split_once(':') {
                Some((name, value)) if value.trim() == HIDDEN && !header_is_shown(name.trim()) => {
                    let value = self.kept_value(&field("headers"), name.trim(), &headers, before.map(|r| &r.headers));
                    headers.push((name.trim().to_owned(), value));
                }
                Some((name, value)) => headers.push((name.trim().to_owned(), value.trim().to_owned())),
                None => self.add(&field("headers"), "must have one “Name: value” a line"),
            }
        }
        let kept = before.and_then(|r| r.basic_auth.as_ref());
        let user = form.auth_user.trim();
        let basic_auth = match (user.is_empty(), form.auth_password.is_empty()) {
            (true, true) => None,
            (true, false) => {
                self.add(&field("auth_user"), "is needed with a password");
                None
            }
            (false, true) => {
                let password = kept.map(|c| c.password.clone()).unwrap_or_default();
                Some(Credentials { user: user.to_owned(), password })
            }
            (false, false) => Some(Credentials { user: user.to_owned(), password: form.auth_password.clone() }),
        };
        let bearer = if !form.bearer.trim().is_empty() {
            Some(form.bearer.trim().to_owned())
        } else {
            before.and_then(|r| r.bearer.clone())
        };
        let (basic_auth, bearer) = match form.auth_kind() {
            "basic" => {
                if user.is_empty() {
                    self.add(&field("auth_user"), "is needed for this kind of sign-in");
                }
                (basic_auth, None)
            }
            "bearer" => {
                if bearer.is_none() {
                    self.add(&field("bearer"), "is needed for this kind of sign-in");
                }
                (None, bearer)
            }
            "none" => (None, None),
            _ => {
                self.add(&field("auth"), "must be one of: none, basic, bearer");
                (None, None)
            }
        };
        // A password in the address would be shown with it each time: it is kept as one that is not.
        let mut url = form.url.trim().to_owned();
        let in_url = Target::parse(&url).ok().and_then(|target| target.credentials).filter(|c| !c.user.contains(':'));
        let basic_auth = match in_url.filter(|c| basic_auth.is_none() && bearer.is_none() && !c.password.is_empty()) {
            Some(credentials) => {
                url = without_user(&url);
                Some(credentials)
            }
            None => basic_auth,
        };
        let mut spec = RequestSpec {
            method,
            url,
            name: Some(form.name.trim().to_owned()).filter(|name| !name.is_empty()),
            weight: if form.weight.trim().is_empty() {
                limits::WEIGHT.default as u32
            } else {
                self.whole_at(&field("weight"), limits::WEIGHT, &form.weight) as u32
            },
            query: self.pairs(&field("query"), &form.query, before.map(|r| &r.query), parameter_is_secret),
            headers,
            cookies: self.cookies(&field("cookies"), &form.cookies, before),
            content_type: Some(form.content_type.trim().to_owned()).filter(|kind| !kind.is_empty()),
            basic_auth,
            bearer,
            extract: form.extract.iter().enumerate().map(|(i, e)| self.extract(&field("extract"), i, e)).collect(),
            assert: form.assert.iter().enumerate().map(|(i, a)| self.assertion(&field("assert"), i, a)).collect(),
            ..RequestSpec::default()
        };
        match form.body_kind() {
            "none" => spec.content_type = None,
            // Chosen and empty is a body of no bytes.
            "text" => spec.body = Some(body(&form.body)),
            "form" => {
                spec.form = self.pairs(&field("form"), &form.form, before.map(|r| &r.form), parameter_is_secret);
                // What was typed for another kind of body is not this one's type.
                spec.content_type = before.filter(|r| !r.form.is_empty()).and_then(|r| r.content_type.clone());
            }
            "file" => {
                spec.body_base64 = match form.body_base64.as_str() {
                    "" => before.and_then(|r| r.body_base64.clone()),
                    text => Some(text.to_owned()),
                };
                if spec.body_base64.is_none() {
                    self.add(&field("body_file"), "is needed: choose one, or another kind of body");
                }
            }
            _ => self.add(&field("body_mode"), "must be one of: none, text, form, file"),
        }
        spec
    }

    /// One pair a line; a value that was not shown is taken from what is stored.
    fn pairs(
        &mut self,
        field: &str,
        text: &str,
        stored: Option<&Vec<(String, String)>>,
        is_secret: fn(&str) -> bool,
    ) -> Vec<(String, String)> {
        let Some(typed) = parse_pairs(text) else {
            self.add(field, "must have one “name=value” a line");
            return Vec::new();
        };
        let mut pairs = Vec::with_capacity(typed.len());
        for (name, mut value) in typed {
            if value.trim() == HIDDEN && is_secret(&name) {
                value = self.kept_value(field, name.trim(), &pairs, stored);
            }
            pairs.push((name, value));
        }
        pairs
    }

    fn cookies(&mut self, field: &str, text: &str, stored: Option<&RequestSpec>) -> Vec<(String, String)> {
        let trimmed = |(name, value): (String, String)| (name.trim().to_owned(), value.trim().to_owned());
        self.pairs(field, text, stored.map(|r| &r.cookies), |_| true).into_iter().map(trimmed).collect()
    }

    fn extract(&mut self, list: &str, i: usize, form: &ExtractForm) -> Extract {
        let from = self.choice(&format!("{list}[{i}].from"), &form.from);
        let attribute = form.attribute.trim();
        Extract {
            name: form.name.trim().to_owned(),
            from,
            what: form.what.trim().to_owned(),
            attribute: (!attribute.is_empty()).then(|| attribute.to_owned()),
        }
    }

    fn assertion(&mut self, list: &str, i: usize, form: &AssertForm) -> Assertion {
        let on = self.choice(&format!("{list}[{i}].on"), &form.on);
        let is = self.choice(&format!("{list}[{i}].is"), &form.is);
        // Numbers may have blanks around them; in other text they may be meant.
        let value = if matches!(on, Subject::Status | Subject::Time) { form.value.trim() } else { &form.value };
        Assertion { on, what: form.what.trim().to_owned(), is, value: value.to_owned() }
    }
}

/// Takes the commas out of `10,000`, as our own pages write it. Any other comma stays, and is no number: in `2,5` it could
/// mean two things.
fn ungrouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let groups: Vec<&str> = whole.split(',').collect();
    let grouped = groups.len() > 1
        && (1..=3).contains(&groups[0].len())
        && groups[1..].iter().all(|g| g.len() == 3)
        && groups.iter().all(|g| g.bytes().all(|b| b.is_ascii_digit()));
    if grouped { groups.concat() + rest } else { text.to_owned() }
}

/// Browsers send line breaks in forms as CR LF; a body is stored as it was typed, with LF.
fn body(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> PlanForm {
        PlanForm::for_url("http://127.0.0.1:9900/")
    }

    fn fields(form: &PlanForm) -> Vec<String> {
        read(form, None).unwrap_err().into_iter().map(|e| e.field).collect()
    }

    #[test]
    fn a_form_with_every_field_wrong_names_each_field_once() {
        let bad = || "x".to_owned();
        let mut form = PlanForm {
            name: "n".repeat(201),
            notes: "n".repeat(10_001),
            load: "per_second".into(),
            rate: bad(),
            duration_s: bad(),
            timeout_ms: "0".into(),
            idle_timeout_ms: "0".into(),
            error_threshold: "101".into(),
            reuse: bad(),
            http: bad(),
            min_tls: bad(),
            end: bad(),
            redirects: bad(),
            max_clients: "0".into(),
            warm_up_s: "-1".into(),
            max_rate_missed: bad(),
            ..good()
        };
        form.requests[0] = RequestForm {
            method: "BREW".into(),
            url: "nope".into(),
            headers: "no colon".into(),
            auth_password: "p".into(),
            ..RequestForm::default()
        };
        let mut found = fields(&form);
        found.sort();
        let mut expected = vec![
            "name",
            "notes",
            "rate",
            "duration_s",
            "timeout_ms",
            "idle_timeout_ms",
            "error_threshold",
            "reuse",
            "http",
            "min_tls",
            "end",
            "redirects",
            "max_clients",
            "warm_up_s",
            "max_rate_missed",
            "requests[0].method",
            "requests[0].url",
            "requests[0].headers",
            "requests[0].auth_user",
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn counts_must_be_whole_and_types_known() {
        assert_eq!(fields(&PlanForm { load: "per_test".into(), per_test: "2.5".into(), ..good() }), ["per_test"]);
        assert_eq!(
            fields(&PlanForm { load: "maintain".into(), from: "-1".into(), to: "".into(), ..good() }),
            ["from", "to"]
        );
        assert_eq!(
            fields(&PlanForm {
                load: "fixed_count".into(),
                request_count: "1e99".into(),
                clients: "NaN".into(),
                ..good()
            }),
            ["requests", "clients"]
        );
        assert_eq!(fields(&PlanForm { load: "all".into(), ..good() }), ["load"]);
    }

    #[test]
    fn thousands_may_be_grouped_but_a_comma_is_never_a_point() {
        let load = |text: &str| read(&PlanForm { load: "per_test".into(), per_test: text.into(), ..good() }, None);
        assert_eq!(load("10,000").unwrap().plan.load(), Load::PerTest { clients: 10_000 });
        for bad in ["2,5", "1,00", "1,0000", ",000", "1,,000"] {
            assert!(load(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_test_without_a_name_is_called_after_its_address_without_secrets() {
        let mut form = good();
        form.name = "  ".into();
        form.requests[0].url = "http://u:secret@127.0.0.1:9900/x".into();
        assert_eq!(read(&form, None).unwrap().name, "http://127.0.0.1:9900/x");
    }

    /// Fields as the browser sends them, over a form that is good.
    fn form_with(pairs: &[(&str, &str)]) -> PlanForm {
        let base =
            [("load", "per_test"), ("per_test", "5"), ("duration_s", "1"), ("requests[0].url", "http://a.test/")];
        let base = base.into_iter().chain([("requests[0].method", "GET")]);
        let pairs = base.chain(pairs.iter().copied()).map(|(n, v)| (n.to_owned(), v.to_owned()));
        PlanForm::from_pairs(pairs).0
    }

    /// Puts a value into a plan's JSON at a pointer, making what is missing on the way.
    fn json_with(path: &str, value: serde_json::Value, load: &serde_json::Value) -> serde_json::Value {
        let mut plan = serde_json::json!({
            "load": load, "duration_s": 1, "requests": [{ "url": "http://a.test/" }],
        });
        let mut at = &mut plan;
        for part in path.split('/') {
            at = match part.parse::<usize>() {
                Ok(index) => {
                    if at.is_null() {
                        *at = serde_json::json!([]);
                    }
                    let list = at.as_array_mut().unwrap();
                    list.resize(list.len().max(index + 1), serde_json::Value::Null);
                    &mut list[index]
                }
                Err(_) => &mut at[part],
            };
        }
        *at = value;
        plan
    }

    #[test]
    fn every_bounded_field_is_refused_beyond_its_bound_in_the_form_and_in_json() {
        use serde_json::{Value, json};
        let long = |n: usize| "x".repeat(n);
        let (per_test, rate) = (json!({"type": "per_test", "clients": 5}), json!({"type": "per_second", "rate": 5}));
        let maintain = json!({"type": "maintain", "from": 1, "to": 5});
        let fixed = json!({"type": "fixed_count", "requests": 5, "clients": 1});
        let lines = |n: usize, line: &str| vec![line; n].join("\n");
        let pairs = |n: usize| Value::Array(vec![json!(["a", "b"]); n]);
        // The load, the fields of the form, where it stands in JSON and what, the field that is named (and how the form calls it), and
        // the sentence.
        type Row<'a> = (&'a Value, Vec<(&'a str, String)>, &'a str, Value, &'a str, String);
        let bound = |bound: Bound| bound.sentence();
        let least = |bound: Bound, min: f64| Bound { min, ..bound }.sentence();
        let text = |n: f64| format!("{n}");
        let mut rows: Vec<Row<'_>> = vec![
            (
                &per_test,
                vec![("per_test", "1e10".into())],
                "load/clients",
                json!(10_000_000_000_u64),
                "per_test",
                bound(limits::PER_TEST),
            ),
            (
                &rate,
                vec![("load", "per_second".into()), ("rate", "1e7".into())],
                "load/rate",
                json!(1e7),
                "rate",
                bound(limits::RATE),
            ),
            (
                &maintain,
                vec![("load", "maintain".into()), ("from", "100001".into())],
                "load/from",
                json!(100_001),
                "from",
                bound(limits::FROM),
            ),
            (
                &maintain,
                vec![("load", "maintain".into()), ("to", "100001".into())],
                "load/to",
                json!(100_001),
                "to",
                bound(limits::TO),
            ),
            (
                &fixed,
                vec![("load", "fixed_count".into()), ("requests", "1e10".into())],
                "load/requests",
                json!(10_000_000_000_u64),
                "requests",
                bound(limits::REQUESTS),
            ),
            (
                &fixed,
                vec![("load", "fixed_count".into()), ("clients", "100001".into())],
                "load/clients",
                json!(100_001),
                "clients",
                bound(limits::CLIENTS),
            ),
            (
                &rate,
                vec![
                    ("load", "per_second".into()),
                    ("stages[0].duration_s", "86401".into()),
                    ("stages[0].to", "1".into()),
                ],
                "stages/0",
                json!({"duration_s": 86_401, "to": 1}),
                "stages[0].duration_s",
                least(limits::DURATION_S, 0.0),
            ),
            (
                &rate,
                vec![
                    ("load", "per_second".into()),
                    ("stages[0].duration_s", "1".into()),
                    ("stages[0].to", "1e7".into()),
                ],
                "stages/0",
                json!({"duration_s": 1, "to": 1e7}),
                "stages[0].to",
                least(limits::RATE, 0.0),
            ),
            (
                &per_test,
                vec![("think_least_ms", "3600001".into())],
                "think",
                json!({"least_ms": 3_600_001, "most_ms": 3_600_001}),
                "think",
                bound(limits::PAUSE_MS),
            ),
            (
                &maintain,
                vec![("load", "maintain".into()), ("pacing_least_ms", "3600001".into())],
                "pacing",
                json!({"least_ms": 3_600_001, "most_ms": 3_600_001}),
                "pacing",
                bound(limits::PAUSE_MS),
            ),
            (
                &per_test,
                vec![("requests[0].weight", "1000001".into())],
                "requests/0/weight",
                json!(1_000_001),
                "requests[0].weight",
                bound(limits::WEIGHT),
            ),
            (
                &per_test,
                vec![("requests[0].name", long(limits::NAME_CHARS + 1))],
                "requests/0/name",
                json!(long(limits::NAME_CHARS + 1)),
                "requests[0].name",
                "must be at most 200 characters".into(),
            ),
            (
                &per_test,
                vec![("requests[0].url", format!("http://a.test/{}", long(limits::URL_BYTES)))],
                "requests/0/url",
                json!(format!("http://a.test/{}", long(limits::URL_BYTES))),
                "requests[0].url",
                "8".into(),
            ),
            (
                &per_test,
                vec![("requests[0].headers", lines(limits::HEADERS + 1, "A: b"))],
                "requests/0/headers",
                pairs(limits::HEADERS + 1),
                "requests[0].headers",
                "may hold at most 100 headers".into(),
            ),
            (
                &per_test,
                vec![("requests[0].query", lines(limits::HEADERS + 1, "a=b"))],
                "requests/0/query",
                pairs(limits::HEADERS + 1),
                "requests[0].query",
                "may hold at most 100 parameters".into(),
            ),
            (
                &per_test,
                vec![("requests[0].cookies", lines(limits::HEADERS + 1, "a=b"))],
                "requests/0/cookies",
                pairs(limits::HEADERS + 1),
                "requests[0].cookies",
                "may hold at most 100 cookies".into(),
            ),
            (
                &per_test,
                vec![("requests[0].form", lines(limits::HEADERS + 1, "a=b"))],
                "requests/0/form",
                pairs(limits::HEADERS + 1),
                "requests[0].form",
                "may hold at most 100 fields".into(),
            ),
            (
                &per_test,
                vec![("requests[0].body", long(limits::BODY_BYTES + 1))],
                "requests/0/body",
                json!(long(limits::BODY_BYTES + 1)),
                "requests[0].body",
                "is larger than 1 MB".into(),
            ),
            (
                &per_test,
                vec![("requests[0].body_base64", "AAAA".repeat(limits::BODY_BYTES / 3 + 2))],
                "requests/0/body_base64",
                json!("AAAA".repeat(limits::BODY_BYTES / 3 + 2)),
                "requests[0].body_base64",
                "is larger than 1 MB".into(),
            ),
            (
                &per_test,
                vec![("requests[0].auth_user", long(limits::CREDENTIAL_BYTES + 1))],
                "requests/0/basic_auth",
                json!({"user": long(limits::CREDENTIAL_BYTES + 1), "password": ""}),
                "requests[0].basic_auth",
                "must be at most 1,024 bytes".into(),
            ),
            (
                &per_test,
                vec![
                    ("requests[0].extract[0].name", long(limits::VARIABLE_NAME_BYTES + 1)),
                    ("requests[0].extract[0].from", "header".into()),
                    ("requests[0].extract[0].what", "x".into()),
                ],
                "requests/0/extract/0",
                json!({"name": long(limits::VARIABLE_NAME_BYTES + 1), "what": "x"}),
                "requests[0].extract[0].name",
                "has a name that cannot be a variable".into(),
            ),
            (
                &per_test,
                vec![
                    ("requests[0].extract[0].name", "x".into()),
                    ("requests[0].extract[0].from", "header".into()),
                    ("requests[0].extract[0].what", long(limits::EXPRESSION_BYTES + 1)),
                ],
                "requests/0/extract/0",
                json!({"name": "x", "what": long(limits::EXPRESSION_BYTES + 1)}),
                "requests[0].extract[0].what",
                "longer than 2000 bytes".into(),
            ),
            (
                &per_test,
                vec![
                    ("requests[0].assert[0].on", "body".into()),
                    ("requests[0].assert[0].is", "contains".into()),
                    ("requests[0].assert[0].value", long(limits::EXPRESSION_BYTES + 1)),
                ],
                "requests/0/assert/0",
                json!({"on": "body", "is": "contains", "value": long(limits::EXPRESSION_BYTES + 1)}),
                "requests[0].assert[0].value",
                "longer than 2000 bytes".into(),
            ),
            (
                &per_test,
                vec![("data", format!("a\n{}", lines(limits::DATA_ROWS + 1, "1")))],
                "data",
                json!({"columns": ["a"], "rows": vec![["1"]; limits::DATA_ROWS + 1]}),
                "data",
                "must have 1 to 100000 rows".into(),
            ),
            (
                &per_test,
                vec![(
                    "data",
                    format!(
                        "{}\n{}",
                        (0..=limits::DATA_COLUMNS).map(|n| format!("c{n}")).collect::<Vec<_>>().join(","),
                        vec!["1"; limits::DATA_COLUMNS + 1].join(",")
                    ),
                )],
                "data",
                json!({"columns": (0..=limits::DATA_COLUMNS).map(|n| format!("c{n}")).collect::<Vec<_>>(), "rows": [["1"]]}),
                "data",
                "must have 1 to 50 columns".into(),
            ),
            (
                &per_test,
                vec![("limits[0].text", "p95>1ms".into()), ("limits[0].request", "7".into())],
                "limits/0",
                json!({"condition": "p95>1ms", "request": 7}),
                "limits[0].request",
                "must be one of the test's requests".into(),
            ),
        ];
        for (name, of) in [
            ("timeout_ms", limits::TIMEOUT_MS),
            ("idle_timeout_ms", limits::IDLE_TIMEOUT_MS),
            ("error_threshold", limits::ERROR_THRESHOLD),
            ("warm_up_s", limits::WARM_UP_S),
            ("max_rate_missed", limits::MAX_RATE_MISSED),
            ("max_clients", limits::MAX_CLIENTS),
            ("duration_s", limits::DURATION_S),
        ] {
            let over = of.max + 1.0;
            let number = if name == "max_clients" { json!(over as u64) } else { json!(over) };
            rows.push((&per_test, vec![(name, text(over))], name, number, name, bound(of)));
        }
        for (list, row, most) in [
            ("stages", json!({"duration_s": 1, "to": 1}), limits::STAGES),
            ("limits", json!({"condition": "p95>1ms"}), limits::LIMITS),
            ("requests", json!({"url": "http://a.test/"}), limits::REQUEST_LIST),
            ("requests[0].extract", json!({"name": "x", "what": "y"}), limits::EXTRACTS),
            ("requests[0].assert", json!({"on": "status", "is": "equals", "value": "200"}), limits::ASSERTIONS),
        ] {
            let many = Value::Array(vec![row.clone(); most + 1]);
            let path = list.replace("[0].", "/0/");
            let load = if list == "stages" { &rate } else { &per_test };
            let plan = json_with(&path, many, load);
            let spec: PlanSpec = serde_json::from_value(plan).unwrap();
            let said = Plan::try_from(spec.clone()).unwrap_err().0;
            assert!(said.iter().any(|e| e.field == list && e.message.contains(&most.to_string())), "{list}: {said:?}");
            let shown = read(&PlanForm::from_spec("t", "", &spec), None).unwrap_err();
            let form_field = if list == "requests" { "request_list" } else { list };
            assert!(shown.iter().any(|e| e.field == form_field), "{list}: {shown:?}");
        }
        let renamed = |field: &str| {
            field
                .replace(".basic_auth", ".auth_user")
                .replace(".body_base64", ".body_file")
                .replace("think", "think_least_ms")
                .replace("pacing", "pacing_least_ms")
        };
        for (load, pairs, path, value, field, sentence) in rows {
            let shown: Vec<_> = pairs.iter().map(|(n, v)| (*n, v.as_str())).collect();
            let form = form_with(&shown);
            let errors = read(&form, None).unwrap_err();
            let page = oleada_app::pages::plan_form::TestFormPage { id: None, form, errors, hosts: Vec::new() };
            let html = oleada_app::pages::plan_form::render(&oleada_app::Chrome::default(), &page);
            let page = scraper::Html::parse_document(&html);
            let id = oleada_app::ui::form::field_id(&renamed(field));
            let beside = page.select(&scraper::Selector::parse(&format!("#{id}-error")).unwrap()).next();
            let said: String =
                beside.unwrap_or_else(|| panic!("{field}: nothing beside it: {:?}", errors_of(&page))).text().collect();
            assert!(said.contains(&sentence), "{field}: {said}");
            let spec: PlanSpec = serde_json::from_value(json_with(path, value, load)).unwrap();
            let said = Plan::try_from(spec).unwrap_err().0;
            assert!(said.iter().any(|e| e.field == field && e.message.contains(&sentence)), "{field}: {said:?}");
        }
    }

    fn errors_of(page: &scraper::Html) -> Vec<String> {
        let all = scraper::Selector::parse(".field-error, .error-summary li").unwrap();
        page.select(&all).map(|e| e.text().collect()).collect()
    }

    #[test]
    fn a_plan_with_everything_comes_through_the_form_unchanged() {
        let plan = Plan::try_from(
            serde_json::from_value::<PlanSpec>(serde_json::json!({
                "load": { "type": "maintain", "from": 0, "to": 0 }, "duration_s": null,
                "stages": [{ "duration_s": 1, "to": 4 }, { "duration_s": 0.5, "to": 0 }],
                "order": "weighted", "think": { "least_ms": 5, "most_ms": 9 }, "pacing": { "least_ms": 20, "most_ms": 20 },
                "data": { "columns": ["user", "pin"], "rows": [["a,b", " 1\n\"2\""], ["", ""]], "order": "unique", "at_end": "stop" },
                "assertion_failure": "error", "warm_up_s": 2,
                "limits": [{ "condition": "p95>300ms" }, { "condition": "errors>1%", "request": 1, "stop": true }],
                "requests": [
                    { "method": "POST", "url": "http://a.test/{{user}}", "name": "Log in", "weight": 3,
                      "query": [["q=1", "a\nb\\"]], "headers": [["X-Id", "{{$uuid}}"]], "cookies": [["c", "d"]],
                      "body": "{}", "content_type": "application/json", "basic_auth": { "user": "u", "password": "geheim" },
                      "extract": [{ "name": "t", "from": "css", "what": "input", "attribute": "value" }],
                      "assert": [{ "on": "header", "what": "X", "is": "exists" }, { "on": "time", "is": "below", "value": "5" }] },
                    { "url": "http://a.test/", "body_base64": "AP8=", "bearer": "geheim" },
                    { "method": "POST", "url": "http://a.test/", "form": [["a", "b"]], "bearer": "{{t}}" },
                ],
            }))
            .unwrap(),
        )
        .unwrap();
        let mut form = PlanForm::from_spec("t", "", plan.spec());
        assert_eq!(read(&form, Some(plan.spec())).map(|test| test.plan), Ok(plan.clone()));
        // Secrets and files follow their rows.
        form.apply("up:requests:1".parse().unwrap());
        let moved = read(&form, Some(plan.spec())).unwrap().plan;
        assert_eq!(moved.spec().requests[0], plan.spec().requests[1]);
        assert_eq!(moved.spec().limits[1].request, Some(0));
        // Another kind of sign-in forgets what was stored.
        form.requests[0].auth = "none".into();
        assert_eq!(read(&form, Some(plan.spec())).unwrap().plan.spec().requests[0].bearer, None);
    }

    #[test]
    fn what_belongs_to_another_choice_is_not_read() {
        let form = form_with(&[
            ("stages[0].to", "x"),
            ("pacing_least_ms", "x"),
            ("requests[0].body_mode", "none"),
            ("requests[0].body", "b"),
            ("requests[0].auth", "none"),
            ("requests[0].auth_user", "u"),
        ]);
        let spec = PlanSpec::from(read(&form, None).unwrap().plan);
        assert_eq!((spec.stages.len(), spec.pacing, &spec.requests[0].body), (0, None, &None));
        assert_eq!(spec.requests[0].basic_auth, None);
        let wanting = form_with(&[
            ("requests[0].body_mode", "file"),
            ("requests[0].auth", "bearer"),
            ("think_most_ms", "5"),
            ("limits[0].text", "p94"),
            ("requests[0].query", "page"),
        ]);
        let mut found = fields(&wanting);
        found.sort();
        assert_eq!(
            found,
            ["limits[0].text", "requests[0].bearer", "requests[0].body_file", "requests[0].query", "think_least_ms"]
        );
    }

    #[test]
    fn tags_are_trimmed_lowered_and_bounded() {
        let tags = |text: &str| read(&PlanForm { tags: text.into(), ..good() }, None).map(|test| test.tags);
        assert_eq!(tags(" Shop,evening  peak ,, SHOP,Über").unwrap(), ["shop", "evening peak", "über"]);
        assert_eq!(tags("").unwrap(), Vec::<String>::new());
        assert_eq!(tags(&"x".repeat(40)).unwrap().len(), 1);
        assert_eq!(tags(&"x".repeat(41)).unwrap_err()[0].field, "tags");
        let many = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
        assert_eq!(tags(&many(20)).unwrap().len(), 20);
        assert_eq!(tags(&many(21)).unwrap_err()[0].field, "tags");
    }

    #[test]
    fn what_is_not_shown_of_headers_is_kept_until_another_is_typed() {
        let mut form = good();
        form.requests[0].headers = "X-Token: one\nx-token: two\nAccept: a".into();
        let stored = read(&form, None).unwrap().plan;
        let mut again = PlanForm::from_spec("t", "", stored.spec());
        assert_eq!(again.requests[0].headers, "X-Token: (hidden)\nx-token: (hidden)\nAccept: a");
        assert_eq!(read(&again, Some(stored.spec())).unwrap().plan, stored);
        again.requests[0].headers = "X-Token: (hidden)\nx-token: new".into();
        let changed = read(&again, Some(stored.spec())).unwrap().plan;
        let values: Vec<_> = changed.spec().requests[0].headers.iter().map(|(_, v)| v.as_str()).collect();
        assert_eq!(values, ["one", "new"]);
        again.requests[0].headers = "X-Other: (hidden)".into();
        assert_eq!(read(&again, Some(stored.spec())).unwrap_err()[0].field, "requests[0].headers");
    }

    #[test]
    fn a_password_in_the_address_becomes_one_that_is_not_shown() {
        let mut form = good();
        form.requests[0].url = "http://anna:p%40ss@127.0.0.1:9900/a@b".into();
        let plan = read(&form, None).unwrap().plan;
        let request = &plan.spec().requests[0];
        assert_eq!(request.url, "http://127.0.0.1:9900/a@b");
        let credentials = request.basic_auth.as_ref().unwrap();
        assert_eq!((credentials.user.as_str(), credentials.password.as_str()), ("anna", "p@ss"));
    }

    #[test]
    fn a_stored_password_is_kept_until_another_is_typed() {
        let mut form = good();
        form.requests[0].auth = "basic".into();
        form.requests[0].auth_user = "u".into();
        form.requests[0].auth_password = "first".into();
        let stored = read(&form, None).unwrap().plan;
        let mut again = PlanForm::from_spec("t", "", stored.spec());
        assert_eq!(read(&again, Some(stored.spec())).unwrap().plan, stored);
        again.requests[0].auth_password = "second".into();
        let changed = read(&again, Some(stored.spec())).unwrap().plan;
        assert_eq!(changed.spec().requests[0].basic_auth.as_ref().unwrap().password, "second");
    }
}

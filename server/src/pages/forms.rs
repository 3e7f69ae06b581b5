//! String forms to plans: everything that was typed is judged here, once, and each fault is told at its field.

use oleada_app::plan_form::{AssertForm, ExtractForm, PlanForm, RequestForm, parse_pairs};
use oleada_engine::limit::LimitSpec;
use oleada_engine::plan::limits::{self, Bound};
use oleada_engine::plan::scenario::{Assertion, DataSpec, Extract, Pause, Subject};
use oleada_engine::plan::{Credentials, FieldError, Load, Plan, PlanSpec, RequestSpec, Stage, Target};
use oleada_engine::result::shown_url;

use super::rows;

/// A test as it may be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTest {
    /// Name; never empty.
    pub name: String,
    /// Notes; may be empty.
    pub notes: String,
    /// What it does.
    pub plan: Plan,
}

/// Reads the form. `stored` is the test being edited, whose passwords, tokens and files are kept where none are given.
///
/// # Errors
/// Every fault, one message a field, `field` as in [`oleada_app::plan_form`].
pub fn read(form: &PlanForm, stored: Option<&PlanSpec>) -> Result<NewTest, Vec<FieldError>> {
    let mut reader = Reader { errors: Vec::new() };
    let spec = reader.spec(form, stored);
    let name = reader.name(form);
    if form.notes.chars().count() > limits::NOTES_CHARS {
        reader.add("notes", "must be at most 10,000 characters");
    }
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
        Some(plan) => Ok(NewTest { name, notes: form.notes.trim().to_owned(), plan }),
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
            data: self.data(form),
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

    fn data(&mut self, form: &PlanForm) -> Option<DataSpec> {
        let order = self.choice("data_order", &form.data_order);
        let at_end = self.choice("data_at_end", &form.data_at_end);
        if form.data.trim().is_empty() {
            return None;
        }
        match rows::parse(&form.data) {
            Ok((columns, rows)) => Some(DataSpec { columns, rows, order, at_end }),
            Err(message) => {
                self.add("data", &message);
                None
            }
        }
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
        let mut headers = Vec::new();
        for line in form.headers.lines().filter(|l| !l.trim().is_empty()) {
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.trim().to_owned(), value.trim().to_owned())),
                None => self.add(&field("headers"), "must have one “Name: value” a line"),
            }
        }
        let kept = stored.and_then(|s| s.requests.get(form.stored?)).and_then(|r| r.basic_auth.as_ref());
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
        let before = stored.and_then(|s| s.requests.get(form.stored?));
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
        let mut spec = RequestSpec {
            method,
            url: form.url.trim().to_owned(),
            name: Some(form.name.trim().to_owned()).filter(|name| !name.is_empty()),
            weight: if form.weight.trim().is_empty() {
                limits::WEIGHT.default as u32
            } else {
                self.whole_at(&field("weight"), limits::WEIGHT, &form.weight) as u32
            },
            query: self.pairs(&field("query"), &form.query),
            headers,
            cookies: self.cookies(&field("cookies"), &form.cookies),
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
                spec.form = self.pairs(&field("form"), &form.form);
                spec.content_type = None;
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

    fn pairs(&mut self, field: &str, text: &str) -> Vec<(String, String)> {
        parse_pairs(text).unwrap_or_else(|| {
            self.add(field, "must have one “name=value” a line");
            Vec::new()
        })
    }

    fn cookies(&mut self, field: &str, text: &str) -> Vec<(String, String)> {
        let trimmed = |(name, value): (String, String)| (name.trim().to_owned(), value.trim().to_owned());
        self.pairs(field, text).into_iter().map(trimmed).collect()
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

    #[test]
    fn a_stored_password_is_kept_until_another_is_typed() {
        let mut form = good();
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

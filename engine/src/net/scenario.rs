//! What is done with a reply: values are taken from it, conditions are judged. Compiled once, before a run.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::time::SystemTime;

use regex::{Regex, RegexBuilder};
use scraper::{Html, Selector};
use serde_json::Value;
use serde_json_path::JsonPath;

use super::cookies::Jar;
use super::fill::{Fault, Variables};
use super::http1::kept::Kept;
use crate::plan::scenario::{Assertion, AssertionFailure, Extract, Relation, Source, Subject};
use crate::plan::{FieldError, Plan, PlanErrors, Target, limits};

/// Memory of one compiled regular expression, and of what it needs while it runs.
const REGEX_BYTES: usize = 1 << 20;
/// Characters shown of what was found.
const SHOWN: usize = 80;

/// What is done with the replies to one request.
#[derive(Debug)]
pub(super) struct Step {
    extracts: Vec<Extractor>,
    conditions: Vec<Condition>,
    /// Conditions of the requests before this one.
    pub(super) before: usize,
    /// Bytes of the body that are kept: all that may be, or none but the head.
    pub(super) keeps: Option<usize>,
}

#[derive(Debug)]
struct Extractor {
    variable: usize,
    name: String,
    from: From,
}

#[derive(Debug)]
enum From {
    Header(String),
    Status,
    Cookie(String),
    Json(JsonPath),
    Regex(Regex),
    Css(Box<Selector>, Option<String>),
}

#[derive(Debug)]
struct Condition {
    words: String,
    on: On,
    is: Relation,
    value: String,
    number: Option<f64>,
    regex: Option<Regex>,
}

#[derive(Debug)]
enum On {
    Status,
    Header(String),
    Body,
    Json(JsonPath),
    Time,
}

/// Compiles what is done with the replies to each request; `None` where it is nothing.
///
/// # Errors
/// Every expression that cannot be read.
pub(super) fn compile(plan: &Plan, variables: &mut Variables) -> Result<Vec<Option<Step>>, PlanErrors> {
    let mut errors = Vec::new();
    let mut before = 0;
    let mut steps = Vec::new();
    for (n, request) in plan.requests().iter().enumerate() {
        let mut add = |field: &str, message: String| {
            errors.push(FieldError { field: format!("requests[{n}].{field}"), message });
        };
        let mut step = Step { extracts: Vec::new(), conditions: Vec::new(), before, keeps: None };
        for extract in &request.extract {
            match From::new(extract) {
                Ok(from) => {
                    let (variable, name) = (variables.number(&extract.name), extract.name.clone());
                    step.extracts.push(Extractor { variable, name, from });
                }
                Err(message) => add("extract", message),
            }
        }
        for assertion in &request.assert {
            match Condition::new(assertion) {
                Ok(condition) => step.conditions.push(condition),
                Err(message) => add("assert", message),
            }
        }
        before += request.assert.len();
        step.keeps = step.keeps();
        steps.push((!step.extracts.is_empty() || !step.conditions.is_empty()).then_some(step));
    }
    if errors.is_empty() { Ok(steps) } else { Err(PlanErrors(errors)) }
}

fn regex(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build().map_err(|error| {
        // The last line says what is wrong, those above draw where.
        let words = error.to_string();
        let why = words.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("has a regular expression that cannot be read: “{}”: {why}", shown(text))
    })
}

fn json_path(text: &str) -> Result<JsonPath, String> {
    JsonPath::parse(text).map_err(|error| {
        let why = shown(error.message());
        format!("has a JSON path that cannot be read, such as $.items[0].id: “{}”: {why}", shown(text))
    })
}

impl From {
    fn new(extract: &Extract) -> Result<From, String> {
        let what = extract.what.trim();
        Ok(match extract.from {
            Source::Header => From::Header(what.to_owned()),
            Source::Status => From::Status,
            Source::Cookie => From::Cookie(what.to_owned()),
            Source::Json => From::Json(json_path(what)?),
            // Blanks may matter in an expression.
            Source::Regex => From::Regex(regex(&extract.what)?),
            Source::Css => {
                let selector = Selector::parse(what)
                    .map_err(|_| format!("has a CSS selector that cannot be read: “{}”", shown(what)))?;
                From::Css(Box::new(selector), extract.attribute.clone())
            }
        })
    }

    fn value(&self, reply: &Reply<'_>) -> Result<String, Fault> {
        let found = match self {
            From::Header(name) => reply.kept.and_then(|kept| kept.header(name)).map(Cow::into_owned),
            From::Status => Some(reply.status.to_string()),
            From::Cookie(name) => reply.jar.value(reply.target, name, SystemTime::now()).map(str::to_owned),
            From::Json(path) => path.query(reply.json()?).first().map(|value| json_text(value).into_owned()),
            From::Regex(regex) => regex
                .captures(reply.text()?)
                .and_then(|all| all.get(1).or_else(|| all.get(0)))
                .map(|found| found.as_str().to_owned()),
            From::Css(selector, attribute) => {
                let element = reply.html()?.select(selector).next();
                element.and_then(|element| match attribute {
                    Some(name) => element.value().attr(name).map(str::to_owned),
                    None => Some(element.text().collect::<String>().trim().to_owned()),
                })
            }
        };
        match found {
            None => Err(Fault::NotFound),
            Some(value) if value.len() > limits::VARIABLE_BYTES => Err(Fault::TooLong),
            Some(value) => Ok(value),
        }
    }
}

/// A reply with what is worked out about it once.
pub(super) struct Reply<'a> {
    pub(super) status: u16,
    pub(super) kept: Option<&'a Kept>,
    pub(super) jar: &'a Jar,
    pub(super) target: &'a Target,
    /// First byte written to last byte read.
    pub(super) time_ms: f64,
    text: OnceCell<Result<String, Fault>>,
    json: OnceCell<Result<Value, Fault>>,
    html: OnceCell<Html>,
}

impl<'a> Reply<'a> {
    pub(super) fn new(
        status: u16,
        kept: Option<&'a Kept>,
        jar: &'a Jar,
        target: &'a Target,
        time_ms: f64,
    ) -> Reply<'a> {
        let (text, json, html) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Reply { status, kept, jar, target, time_ms, text, json, html }
    }

    fn text(&self) -> Result<&str, Fault> {
        let text = self.text.get_or_init(|| {
            let body = self.kept.map_or(Ok(Cow::Borrowed(&[][..])), Kept::unpacked).map_err(Fault::Unreadable)?;
            Ok(String::from_utf8_lossy(&body).trim_start_matches('\u{feff}').to_owned())
        });
        text.as_deref().map_err(|fault| *fault)
    }

    fn json(&self) -> Result<&Value, Fault> {
        let json = self.json.get_or_init(|| serde_json::from_str(self.text()?).map_err(|_| Fault::NotJson));
        json.as_ref().map_err(|fault| *fault)
    }

    fn html(&self) -> Result<&Html, Fault> {
        let text = self.text()?;
        Ok(self.html.get_or_init(|| Html::parse_document(text)))
    }
}

/// A JSON value as text: strings without their quotes, everything else as it is written.
fn json_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// What came out of one reply.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The variables' numbers with their values.
    pub(super) values: Vec<(usize, Result<Box<str>, Fault>)>,
    /// For each condition: nothing when it holds, else what was found.
    pub(super) conditions: Vec<Option<String>>,
}

impl Step {
    fn keeps(&self) -> Option<usize> {
        let body = self.extracts.iter().any(|e| matches!(e.from, From::Json(_) | From::Regex(_) | From::Css(..)))
            || self.conditions.iter().any(|c| matches!(c.on, On::Body | On::Json(_)));
        let head = self.extracts.iter().any(|e| matches!(e.from, From::Header(_)))
            || self.conditions.iter().any(|c| matches!(c.on, On::Header(_)));
        (body || head).then_some(if body { limits::READ_BODY_BYTES } else { 0 })
    }

    /// Whether a condition that does not hold makes the request a failure.
    pub(super) fn fails(&self, plan: &Plan) -> bool {
        !self.conditions.is_empty() && plan.spec().assertion_failure == AssertionFailure::Error
    }

    pub(super) fn wants_body(&self) -> bool {
        self.keeps.is_some_and(|most| most > 0)
    }

    /// The variables it sets: number and name.
    pub(super) fn variables(&self) -> impl Iterator<Item = (usize, &str)> {
        self.extracts.iter().map(|extract| (extract.variable, &*extract.name))
    }

    pub(super) fn evaluate(&self, reply: &Reply<'_>) -> Findings {
        let values = self.extracts.iter().map(|e| (e.variable, e.from.value(reply).map(String::into_boxed_str)));
        Findings { values: values.collect(), conditions: self.conditions.iter().map(|c| c.judge(reply)).collect() }
    }

    /// The condition and what was found instead.
    pub(super) fn sentence(&self, condition: usize, found: &str) -> String {
        format!("{}: {found}", shown(&self.conditions[condition].words))
    }

    /// The conditions in words.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(|condition| &*condition.words)
    }
}

impl Condition {
    fn new(assertion: &Assertion) -> Result<Condition, String> {
        let on = match assertion.on {
            Subject::Status => On::Status,
            Subject::Header => On::Header(assertion.what.trim().to_owned()),
            Subject::Body => On::Body,
            Subject::Json => On::Json(json_path(assertion.what.trim())?),
            Subject::Time => On::Time,
        };
        let regex = if assertion.is == Relation::Matches { Some(regex(&assertion.value)?) } else { None };
        Ok(Condition {
            words: assertion.to_string(),
            on,
            is: assertion.is,
            value: assertion.value.clone(),
            number: assertion.value.trim().parse().ok().filter(|n: &f64| n.is_finite()),
            regex,
        })
    }

    /// Nothing when it holds, else what was found.
    fn judge(&self, reply: &Reply<'_>) -> Option<String> {
        let found = match self.found(reply) {
            Ok(found) => found,
            Err(fault) => return Some(fault.to_string()),
        };
        let Some((text, numeric)) = found else {
            // What is not there is not equal to anything and holds no text.
            let holds = matches!(self.is, Relation::Differs | Relation::Lacks);
            return (!holds).then(|| "there is none".to_owned());
        };
        let number = || text.trim().parse::<f64>().ok();
        let same = || match (self.number.filter(|_| numeric), number()) {
            (Some(wanted), Some(found)) => wanted == found,
            _ => *text == self.value,
        };
        let compared =
            |holds: fn(f64, f64) -> bool| number().zip(self.number).is_some_and(|(found, wanted)| holds(found, wanted));
        let holds = match self.is {
            Relation::Equals => same(),
            Relation::Differs => !same(),
            Relation::Contains => text.contains(&self.value),
            Relation::Lacks => !text.contains(&self.value),
            Relation::Matches => self.regex.as_ref().is_some_and(|regex| regex.is_match(&text)),
            Relation::Below => compared(|found, wanted| found < wanted),
            Relation::Above => compared(|found, wanted| found > wanted),
            Relation::Exists => true,
        };
        (!holds).then(|| match self.on {
            On::Time => format!("found {text} ms"),
            _ => format!("found “{}”", shown(&text)),
        })
    }

    /// The text it looks at, and whether that is compared as a number; `None`: it is not there.
    fn found<'a>(&self, reply: &'a Reply<'_>) -> Result<Option<(Cow<'a, str>, bool)>, Fault> {
        Ok(match &self.on {
            On::Status => Some((Cow::Owned(reply.status.to_string()), true)),
            On::Header(name) => reply.kept.and_then(|kept| kept.header(name)).map(|value| (value, false)),
            On::Body => Some(reply.text()?).filter(|text| !text.is_empty()).map(|text| (Cow::Borrowed(text), false)),
            On::Json(path) => path.query(reply.json()?).first().map(|value| (json_text(value), value.is_number())),
            On::Time => Some((Cow::Owned(format!("{:.3}", reply.time_ms)), true)),
        })
    }
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    let beginning: String = text.chars().take(SHOWN).flat_map(char::escape_debug).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() { beginning + "…" } else { beginning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanSpec, RequestSpec};

    fn plan(request: RequestSpec) -> Plan {
        let request = RequestSpec { url: "http://a.test/x".into(), ..request };
        Plan::try_from(PlanSpec { requests: vec![request.clone(), request], ..Default::default() }).unwrap()
    }

    fn extract(from: Source, what: &str, attribute: Option<&str>) -> Extract {
        Extract { name: "v".into(), from, what: what.into(), attribute: attribute.map(Into::into) }
    }

    fn assertion(on: Subject, what: &str, is: Relation, value: &str) -> Assertion {
        Assertion { on, what: what.into(), is, value: value.into() }
    }

    fn kept(head: &str, body: &str) -> Kept {
        let mut reader = super::super::http1::response::Reader::new();
        reader.keep(Some(Box::new(Kept::up_to(limits::READ_BODY_BYTES))));
        reader.start(false);
        let bytes = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
        assert!(reader.feed(bytes.as_bytes()).unwrap().done);
        *reader.keep(None).unwrap()
    }

    fn findings(request: RequestSpec, kept: &Kept) -> Findings {
        let plan = plan(request);
        let steps = compile(&plan, &mut Variables::of(&plan)).unwrap();
        let (target, mut jar) = (Target::parse("http://a.test/x").unwrap(), Jar::default());
        jar.set(&target, "sid=s3", SystemTime::now());
        steps[0].as_ref().unwrap().evaluate(&Reply::new(404, Some(kept), &jar, &target, 12.5))
    }

    fn value(extract: Extract, kept: &Kept) -> Result<String, Fault> {
        let found = findings(RequestSpec { extract: vec![extract], ..Default::default() }, kept);
        found.values[0].1.clone().map(String::from)
    }

    #[test]
    fn every_source() {
        let html = kept("X-Id: 7\r\n", "<form><input name=csrf value='a&amp;b'><p> two\n</p></form>");
        let json = kept("", r#"{"items":[{"id":5,"name":"a\"b","on":true,"none":null,"sub":{"x":[1]}}]}"#);
        for (from, what, attribute, kept, expected) in [
            (Source::Header, "x-id", None, &html, Ok("7")),
            (Source::Header, "X-Other", None, &html, Err(Fault::NotFound)),
            (Source::Status, "", None, &html, Ok("404")),
            (Source::Cookie, "sid", None, &html, Ok("s3")),
            (Source::Cookie, "other", None, &html, Err(Fault::NotFound)),
            (Source::Css, "input[name=csrf]", Some("value"), &html, Ok("a&b")),
            (Source::Css, "input[name=csrf]", Some("id"), &html, Err(Fault::NotFound)),
            (Source::Css, "form > p", None, &html, Ok("two")),
            (Source::Css, "form > b", None, &html, Err(Fault::NotFound)),
            (Source::Regex, "value='([^']*)'", None, &html, Ok("a&amp;b")),
            (Source::Regex, "<p>", None, &html, Ok("<p>")),
            (Source::Regex, "nothing", None, &html, Err(Fault::NotFound)),
            (Source::Json, "$.items[0].id", None, &html, Err(Fault::NotJson)),
            (Source::Json, "$.items[0].id", None, &json, Ok("5")),
            (Source::Json, "$..name", None, &json, Ok("a\"b")),
            (Source::Json, "$.items[?@.id==5].on", None, &json, Ok("true")),
            (Source::Json, "$.items[0].none", None, &json, Ok("null")),
            (Source::Json, "$.items[0].sub", None, &json, Ok(r#"{"x":[1]}"#)),
            (Source::Json, "$.items[9]", None, &json, Err(Fault::NotFound)),
        ] {
            let found = value(extract(from, what, attribute), kept);
            assert_eq!(found.as_deref(), expected.as_ref().map(|text| &**text), "{from} {what}");
        }
        let long = kept("", &"x".repeat(limits::VARIABLE_BYTES + 1));
        assert_eq!(value(extract(Source::Regex, "x+", None), &long), Err(Fault::TooLong));
    }

    #[test]
    fn every_condition() {
        let reply = kept("X-A: text/json\r\n", r#"{"n":5,"s":"5.0"}"#);
        let empty = kept("", "");
        use Relation::{Above, Below, Contains, Differs, Equals, Exists, Lacks, Matches};
        use Subject::{Body, Header, Json, Status, Time};
        for (on, what, is, wanted, found) in [
            (Status, "", Equals, "404", None),
            (Status, "", Equals, "200", Some("found “404”")),
            (Status, "", Differs, "404.0", Some("found “404”")),
            (Status, "", Below, "405", None),
            (Status, "", Above, "404", Some("found “404”")),
            (Header, "x-a", Contains, "json", None),
            (Header, "x-a", Lacks, "json", Some("found “text/json”")),
            (Header, "x-b", Lacks, "json", None),
            (Header, "x-b", Differs, "json", None),
            (Header, "x-b", Exists, "", Some("there is none")),
            (Header, "x-a", Exists, "", None),
            (Body, "", Matches, r#""n":\d"#, None),
            (Body, "", Matches, "^n", Some("found “{\\\"n\\\":5,\\\"s\\\":\\\"5.0\\\"}”")),
            (Json, "$.n", Equals, "5.0", None),
            (Json, "$.s", Equals, "5", Some("found “5.0”")),
            (Json, "$.s", Above, "4.5", None),
            (Json, "$.x", Equals, "5", Some("there is none")),
            (Time, "", Below, "12.6", None),
            (Time, "", Below, "12.5", Some("found 12.500 ms")),
        ] {
            let request = RequestSpec { assert: vec![assertion(on, what, is, wanted)], ..Default::default() };
            assert_eq!(findings(request, &reply).conditions[0].as_deref(), found, "{on} {what} {is} {wanted}");
        }
        let bodies = RequestSpec {
            assert: vec![assertion(Body, "", Exists, ""), assertion(Json, "$.x", Differs, "1")],
            ..Default::default()
        };
        let judged = findings(bodies, &empty).conditions;
        assert_eq!(judged, [Some("there is none".to_owned()), Some("the body is not JSON".to_owned())]);
    }

    #[test]
    fn expressions_that_cannot_be_read_are_told() {
        let request = RequestSpec {
            extract: vec![
                extract(Source::Json, "items[", None),
                extract(Source::Regex, "(", None),
                extract(Source::Css, "a[", None),
                extract(Source::Regex, r"\w{1000}{1000}", None),
            ],
            assert: vec![assertion(Subject::Body, "", Relation::Matches, "[")],
            ..Default::default()
        };
        let plan = plan(request);
        let PlanErrors(errors) = compile(&plan, &mut Variables::of(&plan)).unwrap_err();
        assert_eq!(errors.len(), 10);
        let fields: Vec<&str> = errors[..5].iter().map(|e| &*e.field).collect();
        assert_eq!(fields, [[&"requests[0].extract"; 4].map(|f| *f).as_slice(), &["requests[0].assert"]].concat());
        for (error, words) in errors.iter().zip(["JSON path", "unclosed group", "CSS selector", "size", "“[”"]) {
            assert!(error.message.contains(words) && !error.message.contains('\n'), "{error:?}");
        }
    }

    #[test]
    fn only_what_looks_at_bodies_keeps_them() {
        let keeps = |request: RequestSpec| {
            let plan = plan(request);
            let steps = compile(&plan, &mut Variables::of(&plan)).unwrap();
            steps[1].as_ref().map(|step| (step.keeps, step.before))
        };
        let with = |from| RequestSpec { extract: vec![extract(from, "$", None)], ..Default::default() };
        assert_eq!(keeps(RequestSpec::default()), None);
        assert_eq!(keeps(with(Source::Status)), Some((None, 0)));
        assert_eq!(keeps(with(Source::Cookie)), Some((None, 0)));
        assert_eq!(keeps(with(Source::Header)), Some((Some(0), 0)));
        assert_eq!(keeps(with(Source::Json)), Some((Some(limits::READ_BODY_BYTES), 0)));
        let time = assertion(Subject::Time, "", Relation::Below, "5");
        let body = assertion(Subject::Body, "", Relation::Exists, "");
        let asserting = |assert| RequestSpec { assert, ..Default::default() };
        assert_eq!(keeps(asserting(vec![time.clone()])), Some((None, 1)));
        assert_eq!(keeps(asserting(vec![time, body])), Some((Some(limits::READ_BODY_BYTES), 2)));
    }
}

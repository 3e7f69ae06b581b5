//! One request of the list: as written, and as it can be sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::scenario::{Assertion, Extract};
use super::template::{Part, Template};
use super::{Check, Credentials, Method, Target, TargetError, limits};

/// One request as written. Its URL (after the host), headers, parameters, text body, bearer token and cookies may hold
/// places to fill in (see [`super::template`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestSpec {
    /// Method.
    pub method: Method,
    /// Absolute URL.
    pub url: String,
    /// What people call it; absent = method and URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How often it is drawn in comparison with the others, where requests are drawn.
    #[serde(skip_serializing_if = "is_one")]
    pub weight: u32,
    /// Parameters that are added to the URL's query, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<(String, String)>,
    /// Headers in order; names may repeat.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Cookies that are sent besides those the target sets; a cookie that it sets wins over one of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cookies: Vec<(String, String)>,
    /// Body text, sent as it is with a `Content-Length`. At most one of `body`, `body_base64` and `form`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Body of any bytes, such as a file's; nothing is filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// Body of form fields, sent as `application/x-www-form-urlencoded`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub form: Vec<(String, String)>,
    /// The body's type; a `Content-Type` among the headers wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Basic authentication; wins over user and password in the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<Credentials>,
    /// Bearer token (RFC 6750).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer: Option<String>,
    /// Variables that get their values from the reply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extract: Vec<Extract>,
    /// Conditions that the reply must meet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assert: Vec<Assertion>,
}

fn is_one(weight: &u32) -> bool {
    *weight == 1
}

impl Default for RequestSpec {
    fn default() -> Self {
        RequestSpec {
            method: Method::default(),
            url: String::new(),
            name: None,
            weight: 1,
            query: Vec::new(),
            headers: Vec::new(),
            cookies: Vec::new(),
            body: None,
            body_base64: None,
            form: Vec::new(),
            content_type: None,
            basic_auth: None,
            bearer: None,
            extract: Vec::new(),
            assert: Vec::new(),
        }
    }
}

/// How a value is written where it is put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// As it is.
    None,
    /// In a path: it may bring further segments and a query of its own, but nothing that ends the request line.
    Path,
    /// As one value of a query or form: everything but letters, digits and `-._~` is escaped.
    Component,
}

/// Text with places, each written in its way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern(pub Vec<(Part, Escape)>);

impl Pattern {
    /// Every place written in the same way.
    pub fn of(template: &Template, escape: Escape) -> Pattern {
        Pattern(template.parts().iter().map(|part| (part.clone(), escape)).collect())
    }

    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some((Part::Text(last), _)) => last.push_str(text),
            _ => self.0.push((Part::Text(text.to_owned()), Escape::None)),
        }
    }

    /// Whether nothing is to be filled in.
    pub fn is_plain(&self) -> bool {
        self.0.iter().all(|(part, _)| matches!(part, Part::Text(_)))
    }

    /// The text, if nothing is to be filled in.
    fn plain(&self) -> Option<String> {
        let texts = self.0.iter().map(|(part, _)| match part {
            Part::Text(text) => Some(&**text),
            _ => None,
        });
        texts.collect()
    }

    /// `name=value&…`, escaped.
    fn push_pairs(&mut self, pairs: &[(Template, Template)]) {
        for (n, (name, value)) in pairs.iter().enumerate() {
            if n > 0 {
                self.text("&");
            }
            self.push_component(name);
            self.text("=");
            self.push_component(value);
        }
    }

    fn push_component(&mut self, template: &Template) {
        for part in template.parts() {
            match part {
                Part::Text(text) => self.text(&escaped(text, Escape::Component)),
                place => self.0.push((place.clone(), Escape::Component)),
            }
        }
    }
}

/// A value as it is written in its place.
pub fn escaped(text: &str, escape: Escape) -> String {
    use std::fmt::Write as _;
    let stays = |byte: u8| match escape {
        Escape::None => true,
        Escape::Component => byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
        Escape::Path => byte.is_ascii_graphic() && !b"\"<>`{}#\\^|".contains(&byte),
    };
    if text.bytes().all(stays) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if stays(byte) {
            out.push(byte as char);
        } else {
            // Writing to a String does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A request that can be sent: its URL is parsed, its headers are clean.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// Where to. Places in the path stand as they were written; what is sent there is `filled`.
    pub target: Target,
    /// Headers as given, with those that follow from body and credentials.
    pub headers: Vec<(String, String)>,
    /// Cookies sent besides the client's own.
    pub cookies: Vec<(String, String)>,
    /// Body bytes.
    pub body: Option<Vec<u8>>,
    /// What is filled in anew each time; `None` where every request is the same.
    pub filled: Option<Box<Filled>>,
    /// Variables taken from the reply.
    pub extract: Vec<Extract>,
    /// Conditions on the reply.
    pub assert: Vec<Assertion>,
    /// How often it is drawn.
    pub weight: u32,
}

/// The parts of a request with places to fill in; the counterparts of [`Request`]'s fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Path and query.
    pub path: Pattern,
    /// Values of the headers, in order.
    pub headers: Vec<Pattern>,
    /// Values of the cookies, in order.
    pub cookies: Vec<Pattern>,
    /// Body.
    pub body: Option<Pattern>,
}

impl Filled {
    /// The variables it needs, each once.
    pub fn variables(&self) -> Vec<&str> {
        let patterns = std::iter::once(&self.path).chain(&self.headers).chain(&self.cookies).chain(&self.body);
        let mut names: Vec<&str> = Vec::new();
        for (part, _) in patterns.flat_map(|pattern| &pattern.0) {
            if let Part::Variable(name) = part
                && !names.contains(&&**name)
            {
                names.push(name);
            }
        }
        names
    }
}

impl Check {
    pub(super) fn request(&mut self, index: usize, spec: &RequestSpec) -> Option<Request> {
        let before = self.0.len();
        let field = |name: &str| format!("requests[{index}].{name}");
        let mut template = |name: &str, text: &str| -> Template {
            Template::parse(text).unwrap_or_else(|error| {
                self.add(field(name), error.to_string());
                Template::default()
            })
        };
        let pairs = |list: &[(String, String)], name: &str, template: &mut dyn FnMut(&str, &str) -> Template| {
            list.iter().map(|(k, v)| (template(name, k), template(name, v))).collect::<Vec<_>>()
        };
        let query = pairs(&spec.query, "query", &mut template);
        let form = pairs(&spec.form, "form", &mut template);
        let body = spec.body.as_deref().map(|body| template("body", body));
        let target = self.target(field("url"), &spec.url, &query);
        self.sizes(index, spec);

        let mut headers = spec.headers.clone();
        let has = |headers: &[(String, String)], name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let kind = match (&spec.content_type, form.is_empty()) {
            (Some(kind), _) => Some(kind.clone()),
            (None, false) => Some("application/x-www-form-urlencoded".to_owned()),
            (None, true) => None,
        };
        if let Some(kind) = kind.filter(|_| !has(&headers, "content-type")) {
            headers.push(("Content-Type".to_owned(), kind));
        }
        let given = spec.basic_auth.clone().or_else(|| target.as_ref().and_then(|(t, _)| t.credentials.clone()));
        if let Some(credentials) = given {
            self.credentials(field("basic_auth"), &credentials, spec.basic_auth.is_some());
            headers.push(("Authorization".to_owned(), credentials.authorization()));
        }
        if let Some(token) = &spec.bearer {
            if spec.basic_auth.is_some() {
                self.add(field("bearer"), "cannot go together with basic authentication");
            }
            headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        for (name, value) in &headers {
            if let Err(message) = check_header(name, value) {
                self.add(field("headers"), message);
            }
        }
        for (name, value) in &spec.cookies {
            if check_header(name, value).is_err() || value.contains(';') {
                self.add(field("cookies"), format!("has a cookie that cannot be sent: “{}”", name.escape_debug()));
            }
        }
        let mut patterns = |name: &str, list: &[(String, String)]| -> Vec<Pattern> {
            let parsed = list.iter().map(|(_, value)| {
                Template::parse(value).unwrap_or_else(|error| {
                    self.add(field(name), error.to_string());
                    Template::default()
                })
            });
            parsed.map(|template| Pattern::of(&template, Escape::None)).collect()
        };
        let header_patterns = patterns("headers", &headers);
        let cookie_patterns = patterns("cookies", &spec.cookies);
        let bytes = spec.body_base64.as_ref().map(|text| {
            BASE64.decode(text).unwrap_or_else(|_| {
                self.add(field("body_base64"), "is not base64");
                Vec::new()
            })
        });
        self.extracts(&field("extract"), &spec.extract);
        self.assertions(&field("assert"), &spec.assert);
        if self.0.len() > before {
            return None;
        }
        let (target, path) = target?;
        let body_pattern = match (body, form.is_empty()) {
            (Some(template), _) => Some(Pattern::of(&template, Escape::None)),
            (None, false) => {
                let mut pattern = Pattern::default();
                pattern.push_pairs(&form);
                Some(pattern)
            }
            (None, true) => None,
        };
        let filled = Filled { path, headers: header_patterns, cookies: cookie_patterns, body: body_pattern };
        let plain_body = filled.body.as_ref().and_then(Pattern::plain).map(String::into_bytes);
        let same = filled.path.is_plain()
            && filled.headers.iter().chain(&filled.cookies).chain(&filled.body).all(Pattern::is_plain);
        Some(Request {
            method: spec.method,
            target,
            headers,
            cookies: spec.cookies.clone(),
            body: bytes.or(plain_body).or_else(|| filled.body.is_some().then(Vec::new)),
            filled: (!same).then(|| Box::new(filled)),
            extract: spec.extract.clone(),
            assert: spec.assert.clone(),
            weight: spec.weight,
        })
    }

    /// The address with what is added to its query, and the same as a pattern.
    fn target(&mut self, field: String, url: &str, query: &[(Template, Template)]) -> Option<(Target, Pattern)> {
        let template = match Template::parse(url) {
            Ok(template) => template,
            Err(error) => {
                self.add(field, error.to_string());
                return None;
            }
        };
        // The URL is read with a word in each place that it holds nowhere else, so that what stands around the places is
        // escaped as browsers do.
        let mut word = "oleadaplace".to_owned();
        while url.contains(&word) {
            word.push('x');
        }
        let places: Vec<&Part> = template.parts().iter().filter(|part| !matches!(part, Part::Text(_))).collect();
        let mut text = String::new();
        let mut n = 0;
        for part in template.parts() {
            match part {
                Part::Text(plain) => text.push_str(plain),
                _ => {
                    text.push_str(&format!("{word}{n:03}"));
                    n += 1;
                }
            }
        }
        let mut target = match Target::parse(&text) {
            Ok(target) => target,
            Err(error) => {
                // What is wrong is said of what was written.
                let error = Target::parse(url).err().unwrap_or(error);
                self.add(field, error.to_string());
                return None;
            }
        };
        let outside = |text: &str| text.contains(&word);
        let in_user = target.credentials.as_ref().is_some_and(|c| outside(&c.user) || outside(&c.password));
        if outside(&target.at.to_string()) || in_user {
            self.add(field, "may have places to fill in after the host only");
            return None;
        }
        let mut pattern = Pattern::default();
        let mut rest = &*target.path;
        let mut escape = Escape::Path;
        while let Some(at) = rest.find(&*word) {
            let (before, after) = rest.split_at(at);
            if before.contains('?') {
                escape = Escape::Component;
            }
            pattern.text(before);
            let (number, after) = after[word.len()..].split_at(3);
            if let Some(part) = number.parse().ok().and_then(|n: usize| places.get(n)) {
                pattern.0.push(((*part).clone(), escape));
            }
            rest = after;
        }
        pattern.text(rest);
        if !query.is_empty() {
            pattern.text(if target.path.contains('?') { "&" } else { "?" });
            pattern.push_pairs(query);
        }
        target.path = match pattern.plain() {
            Some(path) => path,
            // For people: what is sent comes from the pattern.
            None => pattern.0.iter().map(|(part, _)| part.to_string()).collect(),
        };
        if target.path.len() > limits::URL_BYTES {
            self.add(field, TargetError::TooLong.to_string());
            return None;
        }
        Some((target, pattern))
    }

    fn sizes(&mut self, index: usize, spec: &RequestSpec) {
        let field = |name: &str| format!("requests[{index}].{name}");
        for (name, list, what) in [
            ("headers", &spec.headers, "headers"),
            ("query", &spec.query, "parameters"),
            ("form", &spec.form, "fields"),
            ("cookies", &spec.cookies, "cookies"),
        ] {
            if list.len() > limits::HEADERS {
                self.add(field(name), format!("may hold at most {} {what}", limits::HEADERS));
            }
        }
        let form: usize = spec.form.iter().map(|(name, value)| name.len() + value.len()).sum();
        for (name, length, most) in [
            ("body", spec.body.as_ref().map_or(0, String::len), limits::BODY_BYTES),
            ("form", form, limits::BODY_BYTES),
            ("body_base64", spec.body_base64.as_ref().map_or(0, String::len), limits::BODY_BYTES.div_ceil(3) * 4),
        ] {
            if length > most {
                self.add(field(name), "is larger than 1 MB");
            }
        }
        let bodies = [spec.body.is_some(), spec.body_base64.is_some(), !spec.form.is_empty()];
        if bodies.into_iter().filter(|there| *there).count() > 1 {
            self.add(field("body"), "cannot go together with another body: choose text, a file or form fields");
        }
        if spec.name.as_ref().is_some_and(|n| n.chars().count() > limits::NAME_CHARS || n.chars().any(char::is_control))
        {
            self.add(field("name"), format!("must be at most {} characters without line breaks", limits::NAME_CHARS));
        }
        if !limits::WEIGHT.contains(f64::from(spec.weight)) {
            self.add(field("weight"), limits::WEIGHT.sentence());
        }
    }

    fn credentials(&mut self, field: String, credentials: &Credentials, typed: bool) {
        let both = [&credentials.user, &credentials.password];
        if both.iter().any(|t| t.len() > limits::CREDENTIAL_BYTES || t.chars().any(char::is_control))
            || credentials.user.contains(':') && typed
        {
            self.add(field, "must be at most 1,024 bytes without control characters, and no colon in the user name");
        }
    }
}

/// A header name is a token (RFC 9110, 5.6.2); a value has no control characters but tab; framing is ours.
fn check_header(name: &str, value: &str) -> Result<(), String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(format!(
            "has a name that is not allowed: “{}”",
            name.chars().take(40).collect::<String>().escape_debug()
        ));
    }
    if name.len() + value.len() > limits::HEADER_BYTES {
        return Err(format!("has a header longer than {} bytes: “{name}”", limits::HEADER_BYTES));
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(format!("has a line break or control character in the value of “{name}”"));
    }
    if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!("may not set “{name}”: it follows from the body"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, PlanSpec};
    use super::*;

    fn spec(url: &str) -> RequestSpec {
        RequestSpec { url: url.into(), ..Default::default() }
    }

    fn read(spec: RequestSpec) -> Result<Request, Vec<String>> {
        match Plan::try_from(PlanSpec { requests: vec![spec], ..Default::default() }) {
            Ok(plan) => Ok(plan.requests()[0].clone()),
            Err(errors) => Err(errors.0.into_iter().map(|e| e.field).collect()),
        }
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    #[test]
    fn places_in_an_address_stand_where_they_were_written() {
        let request = read(spec("http://a.test/é {{x}}/{{ y }}?q={{z}}&n=%{1:3}#f")).unwrap();
        assert_eq!(request.target.path, "/%C3%A9%20{{x}}/{{y}}?q={{z}}&n=%{1:3}");
        let escapes: Vec<Escape> =
            request.filled.unwrap().path.0.iter().filter(|(p, _)| !matches!(p, Part::Text(_))).map(|p| p.1).collect();
        assert_eq!(escapes, [Escape::Path, Escape::Path, Escape::Component, Escape::Component]);
        for bad in
            ["http://{{host}}/", "http://a{{x}}.test/", "http://a.test:{{p}}/", "http://{{u}}:x@a.test/", "{{all}}"]
        {
            assert_eq!(read(spec(bad)).unwrap_err(), ["requests[0].url"], "{bad}");
        }
        assert!(read(spec("http://a.test/oleadaplace000/{{x}}")).unwrap().target.path.ends_with("/{{x}}"));
        assert!(read(spec("http://a.test/{\"a\":{{}}}")).unwrap().filled.is_none());
    }

    #[test]
    fn parameters_are_escaped() {
        let mut one = spec("http://a.test/x?a=1");
        one.query = vec![pair("b c", "d&e"), pair("v", "{{v}}=")];
        let request = read(one).unwrap();
        assert_eq!(request.target.path, "/x?a=1&b%20c=d%26e&v={{v}}%3D");
        let mut two = spec("http://a.test/x");
        two.form = vec![pair("user", "ann é"), pair("pin", "1+1")];
        let request = read(two).unwrap();
        assert_eq!(request.body.as_deref(), Some(&b"user=ann%20%C3%A9&pin=1%2B1"[..]));
        assert_eq!(request.headers, [pair("Content-Type", "application/x-www-form-urlencoded")]);
        assert!(request.filled.is_none());
    }

    #[test]
    fn values_are_written_for_their_place() {
        let value = "a b/ü?x=1&\"\r\n";
        assert_eq!(escaped(value, Escape::Component), "a%20b%2F%C3%BC%3Fx%3D1%26%22%0D%0A");
        assert_eq!(escaped(value, Escape::Path), "a%20b/%C3%BC?x=1&%22%0D%0A");
        assert_eq!(escaped(value, Escape::None), value);
    }

    #[test]
    fn bodies_types_and_tokens_become_headers() {
        let mut one = spec("http://a.test/");
        one.body_base64 = Some("AP8=".into());
        one.content_type = Some("image/png".into());
        one.bearer = Some("{{token}}".into());
        let request = read(one.clone()).unwrap();
        assert_eq!(request.body.as_deref(), Some(&[0u8, 255][..]));
        assert_eq!(request.headers, [pair("Content-Type", "image/png"), pair("Authorization", "Bearer {{token}}")]);
        assert_eq!(request.filled.unwrap().variables(), ["token"]);
        one.headers = vec![pair("content-type", "x/y")];
        assert_eq!(read(one.clone()).unwrap().headers[0], pair("content-type", "x/y"));
        one.body = Some("b".into());
        one.body_base64 = Some("?".into());
        one.basic_auth = Some(Credentials { user: "u".into(), password: "p".into() });
        let fields = read(one).unwrap_err();
        assert_eq!(fields, ["requests[0].body", "requests[0].bearer", "requests[0].body_base64"]);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_where_it_stands() {
        let refused = |change: &dyn Fn(&mut RequestSpec)| {
            let mut one = spec("http://a.test/");
            change(&mut one);
            read(one).unwrap_err()
        };
        assert_eq!(refused(&|r| r.cookies = vec![pair("a", "b;c")]), ["requests[0].cookies"]);
        assert_eq!(refused(&|r| r.weight = 0), ["requests[0].weight"]);
        assert_eq!(refused(&|r| r.name = Some("a\nb".into())), ["requests[0].name"]);
        assert_eq!(refused(&|r| r.body = Some("{{$nope}}".into())), ["requests[0].body"]);
        assert_eq!(refused(&|r| r.form = vec![pair("a", "%{x}")]), ["requests[0].form"]);
        assert_eq!(refused(&|r| r.headers = vec![pair("A", "%{x}")]), ["requests[0].headers"]);
        assert_eq!(refused(&|r| r.query = vec![pair("a", "b"); limits::HEADERS + 1]), ["requests[0].query"]);
        assert_eq!(refused(&|r| r.bearer = Some("a\r\nb".into())), ["requests[0].headers"]);
    }
}

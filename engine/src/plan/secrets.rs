//! Which texts of a plan are secrets: the one list that storing, comparing and copying go by. What pages show of a plan is
//! decided by the same rules, in [`crate::result`].

use std::ops::Range;

use super::request::{Escape, escaped};
use super::template::Template;
use super::{Plan, PlanSpec};
use crate::result::{header_is_shown, parameter_is_secret};

/// Visits every secret of a plan: where it stands, in words such as “the password of request 2”, and the text itself, which
/// may be replaced. Passwords, bearer tokens, cookies, and values of headers, parameters and form fields that are not shown;
/// passwords and parameters also where they stand in addresses.
pub fn each_secret(spec: &mut PlanSpec, mut visit: impl FnMut(String, &mut String)) {
    for (index, request) in spec.requests.iter_mut().enumerate() {
        let of = format!("of request {}", index + 1);
        if let Some(credentials) = &mut request.basic_auth {
            visit(format!("the password {of}"), &mut credentials.password);
        }
        if let Some(token) = &mut request.bearer {
            visit(format!("the bearer token {of}"), token);
        }
        for (name, value) in &mut request.cookies {
            visit(format!("the cookie {name} {of}"), value);
        }
        for (name, value) in request.headers.iter_mut().filter(|(name, _)| !header_is_shown(name)) {
            visit(format!("the header {name} {of}"), value);
        }
        for (name, value) in request.query.iter_mut().filter(|(name, _)| parameter_is_secret(name)) {
            visit(format!("the parameter {name} {of}"), value);
        }
        for (name, value) in request.form.iter_mut().filter(|(name, _)| parameter_is_secret(name)) {
            visit(format!("the form field {name} {of}"), value);
        }
        // From the end, so that what is left to do keeps its place.
        for (range, name) in url_parameters(&request.url).into_iter().rev().filter(|(_, n)| parameter_is_secret(n)) {
            let mut value = request.url[range.clone()].to_owned();
            visit(format!("the parameter {name} in the address {of}"), &mut value);
            request.url.replace_range(range, &value);
        }
        if let Some(range) = url_password(&request.url) {
            let mut password = request.url[range.clone()].to_owned();
            visit(format!("the password in the address {of}"), &mut password);
            request.url.replace_range(range, &password);
        }
    }
}

/// Where the password stands in `http://user:password@host/`; `None` if there is none or it is empty.
fn url_password(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + 3;
    let end = url[start..].find(['/', '?', '#', '\\']).map_or(url.len(), |n| start + n);
    let at = start + url[start..end].rfind('@')?;
    let colon = start + url[start..at].find(':')?;
    (colon + 1 < at).then_some(colon + 1..at)
}

/// Where the values of an address's parameters stand, with their names as written.
fn url_parameters(url: &str) -> Vec<(Range<usize>, String)> {
    let end = url.find('#').unwrap_or(url.len());
    let Some(mut at) = url[..end].find('?').map(|question| question + 1) else { return Vec::new() };
    let mut found = Vec::new();
    for pair in url[at..end].split('&') {
        if let Some((name, value)) = pair.split_once('=').filter(|(_, value)| !value.is_empty()) {
            let start = at + name.len() + 1;
            found.push((start..start + value.len(), name.to_owned()));
        }
        at += pair.len() + 1;
    }
    found
}

/// Shortest text that is masked where it appears: shorter ones would hide half of what is shown.
const LEAST_MASKED: usize = 4;

/// What stands in the place of a secret.
pub const MASK: &str = "••••";

/// Takes secrets out of texts, wherever they appear in them.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    /// The longest first: a shorter one may be part of it.
    texts: Vec<String>,
}

impl Mask {
    /// The secrets of a plan as they stand on the wire. What comes from elsewhere, such as an extracted token, is none.
    pub fn of(plan: &Plan) -> Mask {
        let mut mask = Mask::default();
        let mut spec = PlanSpec { requests: plan.spec().requests.clone(), ..PlanSpec::default() };
        each_secret(&mut spec, |_, text| {
            // What is filled in stands elsewhere.
            if Template::parse(text).is_ok_and(|template| template.is_plain()) {
                mask.also(text);
            }
        });
        let written = plan.spec().requests.iter().filter_map(|request| request.basic_auth.as_ref());
        for credentials in written.chain(plan.requests().iter().filter_map(|r| r.target.credentials.as_ref())) {
            mask.also(&credentials.password);
            let value = credentials.authorization();
            mask.also(value.split_once(' ').map_or(&value, |(_, code)| code));
        }
        mask.sort();
        mask
    }

    /// The same with more secrets, such as a client's values.
    #[must_use]
    pub fn with<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Mask {
        let mut mask = self.clone();
        texts.into_iter().for_each(|text| mask.also(text));
        mask.sort();
        mask
    }

    fn also(&mut self, text: &str) {
        if text.len() < LEAST_MASKED {
            return;
        }
        self.texts.push(text.to_owned());
        self.texts.extend([Escape::Component, Escape::Path].map(|escape| escaped(text, escape)));
    }

    fn sort(&mut self) {
        self.texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.texts.dedup();
    }

    /// `text` without the secrets.
    pub fn apply(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.texts {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), MASK);
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Credentials, RequestSpec};

    #[test]
    fn secrets_are_masked_wherever_they_appear() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let request = RequestSpec {
            url: "http://ann:se/cret@127.0.0.1/".replace("se/cret", "se%2Fcret"),
            headers: vec![pair("X-Token", "s3cret s"), pair("X-Csrf-Token", "{{csrf}}"), pair("X-Short", "abc")],
            ..RequestSpec::default()
        };
        let plan = Plan::try_from(PlanSpec { requests: vec![request], ..PlanSpec::default() }).unwrap();
        let mask = Mask::of(&plan);
        assert_eq!(mask.apply("a s3cret s, s3cret%20s, abc, {{csrf}}, tok"), "a ••••, ••••, abc, {{csrf}}, tok");
        assert_eq!(mask.apply("Basic YW5uOnNlL2NyZXQ= for se/cret"), "Basic •••• for ••••");
        assert_eq!(mask.with(["tokens"]).apply("tokens, s3cret s"), "••••, ••••");
    }

    #[test]
    fn every_secret_is_visited_and_nothing_else() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let request = RequestSpec {
            url: "http://u:s1@127.0.0.1/x?a=b@c:d&token=s8&page=2&secret=s9#token=x".into(),
            query: vec![pair("page", "1"), pair("api_key", "s2")],
            headers: vec![pair("Accept", "text/html"), pair("PRIVATE-TOKEN", "s3")],
            cookies: vec![pair("sid", "s4")],
            form: vec![pair("colour", "red"), pair("password", "s7")],
            basic_auth: Some(Credentials { user: "u".into(), password: "s5".into() }),
            bearer: Some("s6".into()),
            ..RequestSpec::default()
        };
        let plain = RequestSpec { url: "http://u@127.0.0.1/@:".into(), ..RequestSpec::default() };
        let mut spec = PlanSpec { requests: vec![plain, request], ..PlanSpec::default() };
        let mut found = Vec::new();
        each_secret(&mut spec, |place, text| {
            found.push(format!("{place}: {text}"));
            *text = "gone".into();
        });
        found.sort();
        assert_eq!(
            found,
            [
                "the bearer token of request 2: s6",
                "the cookie sid of request 2: s4",
                "the form field password of request 2: s7",
                "the header PRIVATE-TOKEN of request 2: s3",
                "the parameter api_key of request 2: s2",
                "the parameter secret in the address of request 2: s9",
                "the parameter token in the address of request 2: s8",
                "the password in the address of request 2: s1",
                "the password of request 2: s5",
            ]
        );
        let json = serde_json::to_string(&spec).unwrap();
        assert!((1..=9).all(|n| !json.contains(&format!("s{n}"))), "{json}");
        assert_eq!(spec.requests[1].url, "http://u:gone@127.0.0.1/x?a=b@c:d&token=gone&page=2&secret=gone#token=x");
        assert_eq!(spec.requests[0].url, "http://u@127.0.0.1/@:");
    }
}

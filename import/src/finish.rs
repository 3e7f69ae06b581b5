//! The last step of every import: what the engine would refuse is left out, one thing at a time, and told.

use base64::Engine as _;
use oleada_engine::plan::limits::{self, Bound};
use oleada_engine::plan::template::{Part, Template};
use oleada_engine::plan::{Plan, PlanSpec, RequestSpec, Target};
use oleada_engine::result::shown_url;

use crate::{ImportError, Imported, shown};

/// Sentences of one import at most.
const SENTENCES: usize = 100;

/// Makes `imported` a test that can run.
pub(crate) fn finish(mut imported: Imported) -> Result<Imported, ImportError> {
    let written = std::mem::take(&mut imported.plan.requests);
    let surplus = written.len().saturating_sub(limits::REQUEST_LIST);
    let mut told = Vec::new();
    for (n, request) in written.into_iter().take(limits::REQUEST_LIST).enumerate() {
        imported.plan.requests.extend(fit(request, n + 1, &mut told));
    }
    if surplus > 0 {
        told.push(format!("A test holds at most {} requests: {surplus} more are left out.", limits::REQUEST_LIST));
    }
    if imported.plan.requests.is_empty() {
        let why = told.into_iter().chain(imported.left_out).next().unwrap_or("It names no address.".to_owned());
        return Err(ImportError::Broken(format!("Nothing of it can be requested. {why}")));
    }
    imported.left_out.append(&mut told);
    let plan = match Plan::try_from(imported.plan.clone()) {
        Ok(plan) => plan,
        Err(errors) => return Err(ImportError::Broken(format!("The test cannot run as it is described: {errors}."))),
    };
    if imported.data_url.is_none() {
        for name in without_source(&plan) {
            imported.left_out.push(format!(
                "Nothing gives {{{{{name}}}}} a value yet: write one in its place, add data with a column of this name, or take it from an earlier reply."
            ));
        }
    }
    imported.name = imported.name.and_then(|name| one_line(&name, limits::NAME_CHARS));
    imported.notes = imported.notes.map(|notes| notes.chars().take(limits::NOTES_CHARS).collect());
    imported.tags = imported.tags.iter().filter_map(|tag| one_line(tag, limits::NAME_CHARS)).take(50).collect();
    let more = imported.left_out.len().saturating_sub(SENTENCES);
    if more > 0 {
        imported.left_out.truncate(SENTENCES);
        imported.left_out.push(format!("And {more} more."));
    }
    Ok(imported)
}

/// The variables that no data and no earlier request sets.
fn without_source(plan: &Plan) -> Vec<String> {
    let columns = plan.spec().data.iter().flat_map(|data| data.columns.iter().map(String::as_str));
    let taken = plan.requests().iter().flat_map(|request| request.extract.iter().map(|e| &*e.name));
    let set: Vec<&str> = columns.chain(taken).collect();
    let mut missing: Vec<String> = Vec::new();
    for name in plan.requests().iter().filter_map(|r| r.filled.as_deref()).flat_map(|filled| filled.variables()) {
        if !set.contains(&name) && !missing.iter().any(|m| m == name) {
            missing.push(name.to_owned());
        }
    }
    missing
}

/// A name: one line, no control characters, not too long; `None` if nothing remains.
pub(crate) fn one_line(text: &str, most: usize) -> Option<String> {
    let words = text.split(|c: char| c.is_control() || c == ' ').filter(|word| !word.is_empty());
    let line: String = words.collect::<Vec<_>>().join(" ").chars().take(most).collect();
    (!line.is_empty()).then_some(line)
}

/// A value inside its bound; a sentence tells of a change.
pub(crate) fn inside(bound: Bound, value: f64, what: &str, left_out: &mut Vec<String>) -> f64 {
    if bound.contains(value) {
        return value;
    }
    let used = if value.is_nan() { bound.default } else { value.clamp(bound.min, bound.max) };
    left_out.push(format!("{what} {}: {used} is used instead of {value}.", bound.sentence()));
    used
}

/// Cookies of a `Cookie` header; `None` if it is written otherwise.
pub(crate) fn cookies(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| part.split_once('='))
        .map(|pair| pair.filter(|(name, _)| !name.is_empty()).map(|(n, v)| (n.trim().to_owned(), v.trim().to_owned())))
        .collect()
}

/// Headers that have a field of their own move there: cookies, a bearer token, the type of a body.
pub(crate) fn sort_headers(request: &mut RequestSpec) {
    let mut rest = Vec::new();
    let named =
        |headers: &[(String, String)], name: &str| headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).count();
    let (types, tokens) = (named(&request.headers, "content-type"), named(&request.headers, "authorization"));
    for (name, value) in std::mem::take(&mut request.headers) {
        match &*name.to_ascii_lowercase() {
            "cookie" => match cookies(&value) {
                Some(mut list) => request.cookies.append(&mut list),
                None => rest.push((name, value)),
            },
            "content-type" if types == 1 => request.content_type = Some(value),
            "authorization" if tokens == 1 && request.basic_auth.is_none() && request.bearer.is_none() => {
                match value.split_once(' ') {
                    Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() => {
                        request.bearer = Some(token.trim().to_owned());
                    }
                    _ => rest.push((name, value)),
                }
            }
            _ => rest.push((name, value)),
        }
    }
    request.headers = rest;
}

/// How sentences call a request; never with its password.
pub(crate) fn label(request: &RequestSpec, number: usize) -> String {
    match Target::parse(&request.url) {
        Ok(target) => format!("Request {number} ({} {})", request.method, shown(&shown_url(&target))),
        Err(_) => format!("Request {number}"),
    }
}

/// What the engine says of a request that has nothing but what `change` gives it.
fn fault(change: impl FnOnce(&mut RequestSpec)) -> Option<String> {
    let mut request = RequestSpec { url: "http://a.test/".to_owned(), ..RequestSpec::default() };
    change(&mut request);
    let errors = Plan::try_from(PlanSpec { requests: vec![request], ..PlanSpec::default() }).err()?;
    errors.0.into_iter().next().map(|error| error.message)
}

/// Only those of a list that can be sent.
fn keep<T>(
    list: &mut Vec<T>,
    most: usize,
    told: &mut Vec<String>,
    what: &str,
    mut bad: impl FnMut(&T) -> Option<String>,
) {
    list.retain(|item| match bad(item) {
        Some(why) => {
            told.push(format!("{what} is left out: it {why}."));
            false
        }
        None => true,
    });
    if list.len() > most {
        told.push(format!("{what}: there may be at most {most}; the last {} are left out.", list.len() - most));
        list.truncate(most);
    }
}

type Pairs = Vec<(String, String)>;

fn fit(mut request: RequestSpec, number: usize, told: &mut Vec<String>) -> Option<RequestSpec> {
    request.url = literal(&request.url);
    let label = label(&request, number);
    if let Some(why) = fault(|r| r.url.clone_from(&request.url)) {
        told.push(format!("{label} is left out: its address {why}."));
        return None;
    }
    let mut pairs = |list: &mut Pairs, what: &str, field: fn(&mut RequestSpec) -> &mut Pairs| {
        keep(list, limits::HEADERS, told, &format!("{label}: a {what}"), |pair| fault(|r| field(r).push(pair.clone())));
    };
    pairs(&mut request.headers, "header", |r| &mut r.headers);
    pairs(&mut request.cookies, "cookie", |r| &mut r.cookies);
    pairs(&mut request.query, "parameter", |r| &mut r.query);
    pairs(&mut request.form, "form field", |r| &mut r.form);
    keep(&mut request.extract, limits::EXTRACTS, told, &format!("{label}: a variable"), |extract| {
        fault(|r| r.extract.push(extract.clone()))
    });
    // Only text that is no template at all has to go as bytes, in which nothing is filled in.
    if let Some(body) = request.body.take_if(|body| Template::parse(body).is_err()) {
        request.body_base64 = Some(base64::engine::general_purpose::STANDARD.encode(body));
    }
    let mut option = |gone: bool, what: &str, why: Option<String>| {
        if let Some(why) = why.filter(|_| gone) {
            told.push(format!("{label}: its {what} is left out: it {why}."));
            return true;
        }
        false
    };
    let bad = fault(|r| r.body.clone_from(&request.body));
    if option(request.body.is_some(), "body", bad) {
        request.body = None;
    }
    let bad = fault(|r| r.body_base64.clone_from(&request.body_base64));
    if option(request.body_base64.is_some(), "body", bad) {
        request.body_base64 = None;
    }
    let bad = fault(|r| r.content_type.clone_from(&request.content_type));
    if option(request.content_type.is_some(), "content type", bad) {
        request.content_type = None;
    }
    let bad = fault(|r| r.basic_auth.clone_from(&request.basic_auth));
    if option(request.basic_auth.is_some(), "basic authentication", bad) {
        request.basic_auth = None;
    }
    let bad = fault(|r| r.bearer.clone_from(&request.bearer));
    if option(request.bearer.is_some(), "bearer token", bad) {
        request.bearer = None;
    }
    request.name = request.name.as_deref().and_then(|name| one_line(name, limits::NAME_CHARS));
    request.weight = request.weight.max(1);
    if let Some(why) = fault(|r| *r = request.clone()) {
        told.push(format!("{label} is left out: it {why}."));
        return None;
    }
    Some(request)
}

/// An address in which what only looks like a place to fill in is escaped; places stay.
fn literal(url: &str) -> String {
    let mut url = url.to_owned();
    // Each turn escapes one brace.
    for _ in 0..limits::TEMPLATE_PLACES {
        if Template::parse(&url).is_ok() {
            return url;
        }
        let at = ["%{", "{{$"].iter().flat_map(|mark| url.match_indices(mark)).map(|(at, _)| at).filter(|at| {
            let inside = &url[*at..];
            inside.find('}').is_some_and(|end| {
                let end = (end + 2).min(inside.len());
                let end = if inside.is_char_boundary(end) { end } else { end - 1 };
                Template::parse(&inside[..end]).is_err()
            })
        });
        let Some(at) = at.min() else { return url };
        let brace = at + url[at..].find('{').unwrap_or(0);
        url.replace_range(brace..=brace, "%7B");
    }
    url
}

/// Whether a text has nothing but places to fill in, beside one word such as “Bearer”.
pub(crate) fn only_places(text: &str) -> bool {
    let Ok(template) = Template::parse(text) else { return false };
    let word = |t: &str| t.trim().is_empty() || t.ends_with(' ') && t.trim().chars().all(|c| c.is_ascii_alphabetic());
    template.parts().iter().enumerate().all(|(n, part)| match part {
        Part::Text(text) => n == 0 && word(text),
        _ => true,
    }) && !template.is_plain()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_engine::plan::scenario::{Extract, Source};

    fn one(change: impl FnOnce(&mut RequestSpec)) -> Imported {
        let mut request = RequestSpec { url: "http://u:secret@a.test/x".into(), ..RequestSpec::default() };
        change(&mut request);
        finish(Imported { plan: PlanSpec { requests: vec![request], ..Default::default() }, ..Default::default() })
            .unwrap()
    }

    #[test]
    fn what_cannot_be_sent_is_left_out_and_told_without_secrets() {
        let imported = one(|r| {
            r.headers =
                vec![("A".into(), "b\r\nc".into()), ("Content-Length".into(), "3".into()), ("B".into(), "".into())];
            r.cookies = vec![("a".into(), "b;c".into())];
            r.query = vec![("q".into(), "%{x}".into()), ("q".into(), "1".into())];
            r.extract = vec![Extract { name: "1x".into(), from: Source::Header, what: "A".into(), attribute: None }];
            r.name = Some("a\nb".into());
        });
        let request = &imported.plan.requests[0];
        assert_eq!(request.headers, [("B".to_owned(), String::new())]);
        assert_eq!(request.query, [("q".to_owned(), "1".to_owned())]);
        assert!(request.cookies.is_empty() && request.extract.is_empty());
        assert_eq!(request.name.as_deref(), Some("a b"));
        assert_eq!(imported.left_out.len(), 5);
        assert!(imported.left_out[0].starts_with("Request 1 (GET http://a.test/x): a header is left out: it has"));
        assert!(!imported.left_out.iter().any(|s| s.contains("secret")));
    }

    #[test]
    fn text_that_looks_like_a_place_is_sent_as_it_stands() {
        let imported = one(|r| r.body = Some("log %{User-agent}i".into()));
        assert_eq!(imported.plan.requests[0].body, None);
        assert_eq!(imported.plan.requests[0].body_base64.as_deref(), Some("bG9nICV7VXNlci1hZ2VudH1p"));
        let imported = one(|r| r.url = "http://a.test/%{x}/{{$nope}}/{{$uuid}}/{{id}}?a=%{1:3}&b=%{y}".into());
        let url = &imported.plan.requests[0].url;
        assert_eq!(url, "http://a.test/%%7Bx}/%7B{$nope}}/{{$uuid}}/{{id}}?a=%{1:3}&b=%%7By}");
        assert_eq!(imported.left_out.len(), 1);
        assert!(imported.left_out[0].contains("{{id}}"));
    }

    #[test]
    fn only_places_are_no_secret() {
        for (text, is) in
            [("{{a}}", true), ("Bearer {{a}}", true), ("Bearer abc", false), ("x{{a}}", false), ("", false)]
        {
            assert_eq!(only_places(text), is, "{text}");
        }
    }

    #[test]
    fn cookies_are_pairs() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(cookies("a=b; c==d ;e=").unwrap(), [pair("a", "b"), pair("c", "=d"), pair("e", "")]);
        assert_eq!(cookies("a; b=c"), None);
    }
}

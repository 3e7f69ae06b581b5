//! What is different between two plans, in sentences. No secret is ever written: of those it is said only that they changed.
//!
//! It goes by the plan's serialised form, so a field that this module does not know is told too: its text is then not shown.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::scenario::{DataSpec, Pause};
use super::{Load, PlanSpec, RequestSpec, Stage, Target};
use crate::result::{header_is_shown, parameter_is_secret, shown_url};

/// Known fields of a plan in the order of the form: name, words, unit.
const PLAN_FIELDS: &[(&str, &str, &str)] = &[
    ("order", "Order of the requests", ""),
    ("assertion_failure", "A failed condition is", ""),
    ("timeout_ms", "Timeout", " ms"),
    ("idle_timeout_ms", "Idle timeout", " ms"),
    ("error_threshold", "Error threshold", " %"),
    ("reuse", "Reuse of connections", ""),
    ("http", "HTTP version", ""),
    ("insecure", "Any certificate is accepted", ""),
    ("min_tls", "Lowest TLS version", ""),
    ("end", "At the end", ""),
    ("redirects", "Redirects", ""),
    ("max_clients", "Most clients", ""),
    ("warm_up_s", "Warm-up", " s"),
    ("max_rate_missed", "Missed rate at which the run ends", " %"),
];

/// Fields of a plan that have sentences of their own.
const PLAN_SPECIAL: &[&str] = &["load", "duration_s", "stages", "requests", "think", "pacing", "data"];

/// Known fields of a request.
const REQUEST_FIELDS: &[(&str, &str, &str)] = &[
    ("name", "name", ""),
    ("method", "method", ""),
    ("weight", "weight", ""),
    ("content_type", "type of the body", ""),
];

/// Fields of a request that have sentences of their own.
const REQUEST_SPECIAL: &[&str] =
    &["url", "query", "headers", "cookies", "body", "body_base64", "form", "basic_auth", "bearer", "extract", "assert"];

/// What is different in `after`, one sentence a change; empty if they are the same.
pub fn changes(before: &PlanSpec, after: &PlanSpec) -> Vec<String> {
    let mut list = Vec::new();
    let mut told = |label: &str, old: String, new: String| {
        if old != new {
            list.push(format!("{label}: {old} → {new}"));
        }
    };
    told("Load", load_text(before.load), load_text(after.load));
    let seconds = |length: Option<f64>| length.map_or_else(|| "until the last request".to_owned(), |s| number(s, " s"));
    told("Duration", seconds(before.duration_s), seconds(after.duration_s));
    told("Stages", stages_text(&before.stages), stages_text(&after.stages));
    told("Time to think", pause_text(before.think), pause_text(after.think));
    told("Pacing", pause_text(before.pacing), pause_text(after.pacing));
    if before.data != after.data {
        list.push(data_change(before.data.as_ref(), after.data.as_ref()));
    }
    fields(&object(before), &object(after), PLAN_FIELDS, PLAN_SPECIAL, &mut list);
    requests(&before.requests, &after.requests, &mut list);
    list
}

fn object(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The fields that are told one by one: those that are known with their values, others by their names.
fn fields(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    known: &[(&str, &str, &str)],
    special: &[&str],
    list: &mut Vec<String>,
) {
    let (before, after) = (|name: &str| old.get(name), |name: &str| new.get(name));
    for &(name, label, unit) in known.iter().filter(|(name, ..)| before(name) != after(name)) {
        list.push(format!("{label}: {} → {}", shown(before(name), unit), shown(after(name), unit)));
    }
    let mut others: Vec<&String> = old.keys().chain(new.keys()).collect();
    others.sort();
    others.dedup();
    for name in others {
        let is_known = known.iter().any(|(known, ..)| known == name) || special.contains(&&**name);
        if !is_known && before(name) != after(name) {
            let label = name.replace('_', " ");
            match (before(name), after(name)) {
                // A text may be a secret, whatever it is called.
                (Some(Value::Bool(_) | Value::Number(_)), Some(Value::Bool(_) | Value::Number(_))) => {
                    list.push(format!("{label}: {} → {}", shown(before(name), ""), shown(after(name), "")));
                }
                _ => list.push(format!("{label} changed")),
            }
        }
    }
}

fn shown(value: Option<&Value>, unit: &str) -> String {
    match value {
        None | Some(Value::Null) => "not set".to_owned(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::Number(n)) => number(n.as_f64().unwrap_or(0.0), unit),
        Some(Value::String(text)) => quoted(text),
        Some(other) => other.to_string(),
    }
}

/// A text that a person wrote, so short that it fits into a sentence.
fn quoted(text: &str) -> String {
    const MOST: usize = 120;
    let short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() { format!("“{short}…”") } else { format!("“{short}”") }
}

/// Digits in groups of three.
fn number(value: f64, unit: &str) -> String {
    let text = value.to_string();
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(c);
    }
    format!("{grouped}{fraction}{unit}")
}

fn load_text(load: Load) -> String {
    let clients = |n: f64| number(n, if n == 1.0 { " client" } else { " clients" });
    match load {
        Load::FixedCount { requests, clients: n } => {
            let what = if requests == 1 { " request" } else { " requests" };
            format!("{} by {} at once", number(requests as f64, what), clients(f64::from(n)))
        }
        Load::PerTest { clients: n } => format!("{} per test", clients(n as f64)),
        Load::PerSecond { rate } => format!("{} per second", clients(rate)),
        Load::Maintain { from, to } => {
            format!("{} to {} at once", number(f64::from(from), ""), clients(f64::from(to)))
        }
    }
}

fn stages_text(stages: &[Stage]) -> String {
    if stages.is_empty() {
        return "none".to_owned();
    }
    let one = |s: &Stage| format!("to {} in {}", number(s.to, ""), number(s.duration_s, " s"));
    stages.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn pause_text(pause: Option<Pause>) -> String {
    match pause {
        None => "none".to_owned(),
        Some(p) if p.least_ms == p.most_ms => number(p.least_ms, " ms"),
        Some(p) => format!("{} to {}", number(p.least_ms, ""), number(p.most_ms, " ms")),
    }
}

/// Rows may hold people's passwords: only their shape is told.
fn data_change(before: Option<&DataSpec>, after: Option<&DataSpec>) -> String {
    let shape = |data: Option<&DataSpec>| {
        data.map_or_else(
            || "none".to_owned(),
            |d| format!("{} rows of {}", number(d.rows.len() as f64, ""), quoted(&d.columns.join(", "))),
        )
    };
    let (old, new) = (shape(before), shape(after));
    if old == new { "Data: values or their order changed".to_owned() } else { format!("Data: {old} → {new}") }
}

/// Method and address, as they may be shown.
fn title(request: &RequestSpec) -> String {
    let address = Target::parse(&request.url).map_or_else(|_| "an address".to_owned(), |target| shown_url(&target));
    match &request.name {
        Some(name) => format!("{} ({} {address})", quoted(name), request.method),
        None => format!("{} {address}", request.method),
    }
}

/// Requests that stayed are found by name, method and address, in order; what stands between them was changed, added or
/// removed.
fn requests(before: &[RequestSpec], after: &[RequestSpec], list: &mut Vec<String>) {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    let mut from = (0, 0);
    for (i, j) in common(before, after).into_iter().chain([(before.len(), after.len())]) {
        let (old, new) = (&before[from.0..i], &after[from.1..j]);
        for (n, (o, w)) in old.iter().zip(new).enumerate() {
            request(from.1 + n, o, w, list);
        }
        removed.extend(old.iter().skip(new.len()));
        added.extend(new.iter().skip(old.len()).enumerate().map(|(n, w)| (from.1 + old.len() + n, w)));
        if let (Some(o), Some(w)) = (before.get(i), after.get(j)) {
            request(j, o, w, list);
        }
        from = (i + 1, j + 1);
    }
    for (at, new) in added {
        if let Some(same) = removed.iter().position(|old| *old == new) {
            removed.remove(same);
            list.push(format!("Request moved to place {}: {}", at + 1, title(new)));
        } else {
            list.push(format!("Request {} added: {}", at + 1, title(new)));
        }
    }
    list.extend(removed.into_iter().map(|old| format!("Request removed: {}", title(old))));
}

/// A longest common subsequence, as pairs of indexes.
fn common(before: &[RequestSpec], after: &[RequestSpec]) -> Vec<(usize, usize)> {
    let same = |i: usize, j: usize| {
        let (a, b): (&RequestSpec, &RequestSpec) = (&before[i], &after[j]);
        a.method == b.method && a.url == b.url && a.name == b.name
    };
    let mut length = vec![vec![0_u32; after.len() + 1]; before.len() + 1];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            length[i][j] = if same(i, j) { length[i + 1][j + 1] + 1 } else { length[i + 1][j].max(length[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < before.len() && j < after.len() {
        if same(i, j) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if length[i + 1][j] >= length[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

fn request(index: usize, old: &RequestSpec, new: &RequestSpec, list: &mut Vec<String>) {
    if old == new {
        return;
    }
    let mut own = Vec::new();
    let address = |r: &RequestSpec| Target::parse(&r.url).map_or_else(|_| "?".to_owned(), |t| shown_url(&t));
    if address(old) != address(new) {
        own.push(format!("address: {} → {}", address(old), address(new)));
    } else if old.url != new.url {
        own.push("address: a part that is not shown changed".to_owned());
    }
    fields(&object(old), &object(new), REQUEST_FIELDS, REQUEST_SPECIAL, &mut own);
    pairs("parameter", &old.query, &new.query, |name| !parameter_is_secret(name), &mut own);
    pairs("header", &old.headers, &new.headers, header_is_shown, &mut own);
    pairs("cookie", &old.cookies, &new.cookies, |_| false, &mut own);
    pairs("form field", &old.form, &new.form, |_| false, &mut own);
    body(old, new, &mut own);
    match (&old.basic_auth, &new.basic_auth) {
        (None, Some(_)) => own.push("basic authentication added".to_owned()),
        (Some(_), None) => own.push("basic authentication removed".to_owned()),
        (Some(a), Some(b)) => {
            own.extend((a.user != b.user).then(|| "user name changed".to_owned()));
            own.extend((a.password != b.password).then(|| "password changed".to_owned()));
        }
        (None, None) => {}
    }
    match (&old.bearer, &new.bearer) {
        (None, Some(_)) => own.push("bearer token added".to_owned()),
        (Some(_), None) => own.push("bearer token removed".to_owned()),
        (a, b) if a != b => own.push("bearer token changed".to_owned()),
        _ => {}
    }
    if old.extract != new.extract {
        let names = |r: &RequestSpec| names(r.extract.iter().map(|e| &*e.name));
        own.push(told_or_changed("values taken from the reply", &names(old), &names(new)));
    }
    if old.assert != new.assert {
        let words: fn(&RequestSpec) -> Vec<String> = |r| r.assert.iter().map(ToString::to_string).collect();
        let (before, after) = (words(old), words(new));
        own.extend(after.iter().filter(|w| !before.contains(w)).map(|w| format!("condition added: {}", quoted(w))));
        own.extend(before.iter().filter(|w| !after.contains(w)).map(|w| format!("condition removed: {}", quoted(w))));
    }
    let before = format!("Request {} ({})", index + 1, title(new));
    list.extend(own.into_iter().map(|change| format!("{before}: {change}")));
}

fn names<'a>(list: impl Iterator<Item = &'a str>) -> String {
    let all = list.collect::<Vec<_>>().join(", ");
    if all.is_empty() { "none".to_owned() } else { quoted(&all) }
}

fn told_or_changed(label: &str, old: &str, new: &str) -> String {
    if old == new { format!("{label} changed") } else { format!("{label}: {old} → {new}") }
}

/// Bodies may hold anything, so only their sizes are told.
fn body(old: &RequestSpec, new: &RequestSpec, list: &mut Vec<String>) {
    let same = old.body == new.body && old.body_base64 == new.body_base64;
    if same {
        return;
    }
    let size = |r: &RequestSpec| match (&r.body, &r.body_base64) {
        (Some(text), _) => number(text.len() as f64, " bytes"),
        (None, Some(text)) => number((text.trim_end_matches('=').len() * 3 / 4) as f64, " bytes"),
        (None, None) => "none".to_owned(),
    };
    list.push(told_or_changed("body", &size(old), &size(new)));
}

/// Pairs by name; values only where they may be shown.
fn pairs(
    what: &str,
    old: &[(String, String)],
    new: &[(String, String)],
    is_shown: impl Fn(&str) -> bool,
    list: &mut Vec<String>,
) {
    if old == new {
        return;
    }
    let mut by_name: BTreeMap<String, (&str, Vec<&str>, Vec<&str>)> = BTreeMap::new();
    let key = |name: &str| if what == "header" { name.to_ascii_lowercase() } else { name.to_owned() };
    for (name, value) in old {
        by_name.entry(key(name)).or_insert((name, vec![], vec![])).1.push(value);
    }
    for (name, value) in new {
        by_name.entry(key(name)).or_insert((name, vec![], vec![])).2.push(value);
    }
    let before = list.len();
    for (name, was, is) in by_name.into_values().filter(|(_, was, is)| was != is) {
        let values = |list: &[&str]| quoted(&list.join(", "));
        let named = format!("{what} {}", quoted(name));
        list.push(match (was.is_empty(), is.is_empty(), is_shown(name)) {
            (true, _, true) => format!("{named} added: {}", values(&is)),
            (true, _, false) => format!("{named} added"),
            (_, true, _) => format!("{named} removed"),
            (_, _, true) => format!("{named}: {} → {}", values(&was), values(&is)),
            (_, _, false) => format!("{named}: its value changed, which is not shown"),
        });
    }
    if list.len() == before {
        list.push(format!("{what}s stand in another order or are spelled otherwise"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::scenario::{Assertion, Extract, Relation, Subject};
    use crate::plan::{Credentials, Reuse};

    fn get(url: &str) -> RequestSpec {
        RequestSpec { url: url.into(), ..RequestSpec::default() }
    }

    fn spec(requests: Vec<RequestSpec>) -> PlanSpec {
        PlanSpec { requests, ..PlanSpec::default() }
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn equal_plans_have_no_changes() {
        let plan = spec(vec![get("http://a.test/"), get("http://a.test/")]);
        assert_eq!(changes(&plan, &plan), Vec::<String>::new());
    }

    #[test]
    fn settings_are_told_with_both_values() {
        let before = spec(vec![get("http://a.test/")]);
        let after = PlanSpec {
            load: Load::PerSecond { rate: 2.5 },
            duration_s: Some(90.0),
            stages: vec![Stage { duration_s: 10.0, to: 5.0 }],
            think: Some(Pause { least_ms: 500.0, most_ms: 1000.0 }),
            timeout_ms: 5000.0,
            idle_timeout_ms: Some(1000.0),
            reuse: Reuse::Off,
            insecure: true,
            max_clients: Some(1000),
            ..before.clone()
        };
        assert_eq!(
            changes(&before, &after),
            [
                "Load: 250 clients per test → 2.5 clients per second",
                "Duration: 60 s → 90 s",
                "Stages: none → to 5 in 10 s",
                "Time to think: none → 500 to 1,000 ms",
                "Timeout: 10,000 ms → 5,000 ms",
                "Idle timeout: not set → 1,000 ms",
                "Reuse of connections: “client” → “off”",
                "Any certificate is accepted: no → yes",
                "Most clients: not set → 1,000",
            ]
        );
    }

    #[test]
    fn requests_are_added_removed_changed_and_moved() {
        let (a, b, c) = (get("http://a.test/a"), get("http://a.test/b"), get("http://a.test/c"));
        let told = |x: &[&RequestSpec], y: &[&RequestSpec]| {
            let list = |r: &[&RequestSpec]| spec(r.iter().map(|r| (*r).clone()).collect());
            changes(&list(x), &list(y))
        };
        assert_eq!(told(&[&a], &[&a, &b]), ["Request 2 added: GET http://a.test/b"]);
        assert_eq!(told(&[&a, &b, &c], &[&a, &c]), ["Request removed: GET http://a.test/b"]);
        assert_eq!(told(&[&a, &b], &[&b, &a]), ["Request moved to place 2: GET http://a.test/a"]);
        assert_eq!(
            told(&[&a, &b], &[&a, &c]),
            ["Request 2 (GET http://a.test/c): address: http://a.test/b → http://a.test/c"]
        );
    }

    #[test]
    fn no_secret_is_ever_written() {
        let old = RequestSpec {
            url: "http://u:geheim1@a.test/?token=geheim2".into(),
            query: vec![pair("api_key", "geheim3"), pair("page", "1")],
            headers: vec![pair("PRIVATE-TOKEN", "geheim4"), pair("Accept", "text/html")],
            cookies: vec![pair("sid", "geheim5")],
            body: Some("geheim6".into()),
            form: vec![pair("password", "geheim7")],
            basic_auth: Some(Credentials { user: "u".into(), password: "geheim8".into() }),
            bearer: Some("geheim9".into()),
            ..RequestSpec::default()
        };
        let mut new = old.clone();
        new.url = "http://u:geheimA@a.test/?token=geheimB".into();
        new.query = vec![pair("api_key", "geheimC"), pair("page", "2")];
        new.headers =
            vec![pair("private-token", "geheimD"), pair("Accept", "application/json"), pair("X-Key", "geheimE")];
        new.cookies = vec![pair("sid", "geheimF")];
        new.body = Some("geheimGG".into());
        new.form = vec![pair("password", "geheimH")];
        new.basic_auth = Some(Credentials { user: "u".into(), password: "geheimI".into() });
        new.bearer = Some("geheimJ".into());
        let list = changes(&spec(vec![old.clone()]), &spec(vec![new]));
        assert!(!list.concat().contains("geheim"), "{list:#?}");
        let own: Vec<_> = list.iter().filter_map(|s| s.split_once("): ").map(|(_, own)| own)).collect();
        assert_eq!(
            own,
            [
                "address: a part that is not shown changed",
                "parameter “api_key”: its value changed, which is not shown",
                "parameter “page”: “1” → “2”",
                "header “Accept”: “text/html” → “application/json”",
                "header “PRIVATE-TOKEN”: its value changed, which is not shown",
                "header “X-Key” added",
                "cookie “sid”: its value changed, which is not shown",
                "form field “password”: its value changed, which is not shown",
                "body: 7 bytes → 8 bytes",
                "password changed",
                "bearer token changed",
            ]
        );
        // Also when a whole request comes or goes.
        let list = changes(&spec(vec![get("http://a.test/")]), &spec(vec![get("http://a.test/"), old]));
        assert!(list.len() == 1 && !list[0].contains("geheim"), "{list:?}");
    }

    #[test]
    fn conditions_and_values_taken_are_told() {
        let mut new = get("http://a.test/");
        new.extract = vec![Extract { name: "id".into(), ..Extract::default() }];
        new.assert =
            vec![Assertion { on: Subject::Status, is: Relation::Equals, value: "200".into(), ..Assertion::default() }];
        assert_eq!(
            changes(&spec(vec![get("http://a.test/")]), &spec(vec![new])),
            [
                "Request 1 (GET http://a.test/): values taken from the reply: none → “id”",
                "Request 1 (GET http://a.test/): condition added: “status equals 200”",
            ]
        );
    }

    #[test]
    fn a_field_that_is_not_known_is_told_without_its_text() {
        let map = |json: &str| serde_json::from_str::<Map<String, Value>>(json).unwrap();
        let mut list = Vec::new();
        let (old, new) = (map(r#"{"new_key":"geheim","new_number":1}"#), map(r#"{"new_key":"other","new_number":2}"#));
        fields(&old, &new, PLAN_FIELDS, PLAN_SPECIAL, &mut list);
        assert_eq!(list, ["new key changed", "new number: 1 → 2"]);
    }

    /// Changes one field after the other, so that a new one cannot be listed as special and then be forgotten.
    #[test]
    fn every_field_that_changes_is_told() {
        let full: PlanSpec = serde_json::from_str(
            r#"{"load":{"type":"per_second","rate":3},"duration_s":9,"stages":[{"duration_s":9,"to":1}],"order":"weighted",
            "think":{"least_ms":1,"most_ms":1},"pacing":{"least_ms":1,"most_ms":1},"data":{"columns":["a"],"rows":[["1"]]},
            "requests":[{"method":"POST","url":"http://b.test/","name":"n","weight":2,"query":[["a","b"]],"headers":[["a","b"]],
            "cookies":[["a","b"]],"body":"x","body_base64":"eA==","form":[["a","b"]],"content_type":"t","basic_auth":{"user":"u","password":"p"},
            "bearer":"t","extract":[{"name":"x"}],"assert":[{"value":"1"}]}]}"#,
        )
        .unwrap();
        let plain = spec(vec![get("http://a.test/")]);
        for name in object(&full).keys().filter(|name| object(&plain).get(*name) != object(&full).get(*name)) {
            let mut one = object(&plain);
            one.insert(name.clone(), object(&full)[name].clone());
            let one: PlanSpec = serde_json::from_value(Value::Object(one)).unwrap();
            assert!(!changes(&plain, &one).is_empty(), "{name}");
        }
        for (name, value) in object(&full.requests[0]) {
            let mut one = object(&plain.requests[0]);
            one.insert(name.clone(), value);
            let one: RequestSpec = serde_json::from_value(Value::Object(one)).unwrap();
            assert!(!changes(&plain, &spec(vec![one])).is_empty(), "requests.{name}");
        }
    }
}

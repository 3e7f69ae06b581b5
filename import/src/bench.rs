//! A plan as an `oleada bench` command.

use oleada_engine::plan::request::{Escape, escaped};
use oleada_engine::plan::scenario::Order;
use oleada_engine::plan::template::{Part, Template};
use oleada_engine::plan::{
    AtEnd, HttpVersion, Load, Method, PlanSpec, Redirects, RequestSpec, Reuse, TlsVersion, limits,
};

use crate::{curl, shell};

/// A command for POSIX shells that does what the plan says, and a sentence for each thing that has no option. It holds passwords and
/// tokens as they are: see [`crate::secrets::strip`]. A plan goes without loss by `oleada bench --plan FILE`.
pub fn to_bench_command(plan: &PlanSpec) -> (String, Vec<String>) {
    let mut words = vec!["oleada bench".to_owned()];
    let mut told = Vec::new();
    load(plan, &mut words);
    ends(plan, &mut words);
    requests(plan, &mut words, &mut told);
    // What ends a run, or is about one request, has no option.
    let (plain, special): (Vec<_>, Vec<_>) = plan.limits.iter().partition(|l| l.request.is_none() && !l.stop);
    words.splice(1..1, plain.iter().map(|l| format!("--fail-if {}", shell::quote(&l.condition.to_string()))));
    for (there, what) in [
        (!special.is_empty(), "A limit on one request, or one that ends the run,"),
        (plan.order != Order::List, "The drawing of requests by weight"),
        (plan.think.is_some(), "The think time"),
        (plan.pacing.is_some(), "The pacing"),
        (plan.data.is_some(), "The data"),
        (plan.requests.iter().any(|r| !r.extract.is_empty()), "What is taken from replies"),
        (plan.requests.iter().any(|r| !r.assert.is_empty()), "The conditions on replies"),
    ] {
        if there {
            told.push(format!("{what} cannot be said on the command line: export the test, and use --plan."));
        }
    }
    (words.join(" "), told)
}

fn load(plan: &PlanSpec, words: &mut Vec<String>) {
    match plan.load {
        Load::FixedCount { requests, clients } => words.push(format!("-n {requests} -c {clients}")),
        Load::PerTest { clients } => words.push(format!("--per-test {clients}")),
        Load::PerSecond { rate } => words.push(format!("--per-second {rate}")),
        Load::Maintain { from, to } if from == to && plan.stages.is_empty() => words.push(format!("--maintain {from}")),
        Load::Maintain { from, to } => words.push(format!("--maintain {from}..{to}")),
    }
    for stage in &plan.stages {
        words.push(format!("--stage {}:{}", time(stage.duration_s), stage.to));
    }
    if let Some(seconds) = plan.duration_s.filter(|_| plan.stages.is_empty()) {
        words.push(format!("--duration {}", time(seconds)));
    }
    if plan.warm_up_s != 0.0 {
        words.push(format!("--warm-up {}", time(plan.warm_up_s)));
    }
    words.extend(plan.max_clients.map(|most| format!("--max-clients {most}")));
}

fn ends(plan: &PlanSpec, words: &mut Vec<String>) {
    if plan.timeout_ms != limits::TIMEOUT_MS.default {
        words.push(format!("--timeout {}ms", plan.timeout_ms));
    }
    words.extend(plan.idle_timeout_ms.map(|ms| format!("--idle-timeout {ms}ms")));
    if plan.error_threshold != limits::ERROR_THRESHOLD.default {
        words.push(format!("--error-threshold {}", plan.error_threshold));
    }
    words.extend(plan.max_rate_missed.map(|share| format!("--max-rate-missed {share}")));
    if plan.end != AtEnd::default() {
        words.push(format!("--end {}", plan.end));
    }
    if plan.reuse != Reuse::default() {
        words.push(format!("--reuse {}", plan.reuse));
    }
    if plan.http != HttpVersion::default() {
        words.push(format!("--http {}", plan.http));
    }
    if plan.insecure {
        words.push("--insecure".to_owned());
    }
    if plan.min_tls != TlsVersion::default() {
        words.push(format!("--min-tls {}", plan.min_tls));
    }
    if plan.redirects != Redirects::default() {
        words.push(format!("--redirects {}", plan.redirects));
    }
}

/// Options hold for every request, so only what all have in common can be said.
fn requests(plan: &PlanSpec, words: &mut Vec<String>, told: &mut Vec<String>) {
    let written: Vec<Sent> = plan.requests.iter().map(|r| sent(r, told)).collect();
    let Some(((headers, body), first)) = written.first().zip(plan.requests.first()) else { return };
    let all = |same: &dyn Fn(&RequestSpec) -> bool| plan.requests.iter().all(same);
    if first.method != Method::default() && all(&|r| r.method == first.method) {
        words.push(format!("--method {}", first.method));
    } else if !all(&|r| r.method == first.method) {
        told.push("Methods cannot differ on the command line: GET is used for all requests.".to_owned());
    }
    if written.iter().all(|(h, _)| h == headers) {
        words.extend(headers.iter().map(|(name, value)| format!("-H {}", shell::quote(&format!("{name}: {value}")))));
    } else {
        let common = |h: &&(String, String)| written.iter().all(|(list, _)| list.contains(h));
        words.extend(headers.iter().filter(common).map(|(n, v)| format!("-H {}", shell::quote(&format!("{n}: {v}")))));
        told.push("Headers that not all requests have are left out.".to_owned());
    }
    if written.iter().all(|(_, b)| b == body) {
        words.extend(body.as_ref().map(|body| format!("--body {}", shell::quote(body))));
    } else {
        told.push("Bodies cannot differ on the command line, and are left out.".to_owned());
    }
    if all(&|r| r.basic_auth == first.basic_auth) {
        let pair = first.basic_auth.as_ref().map(|c| format!("{}:{}", c.user, c.password));
        words.extend(pair.map(|pair| format!("--basic-auth {}", shell::quote(&pair))));
    } else {
        told.push("Users cannot differ on the command line, and are left out.".to_owned());
    }
    words.extend(plan.requests.iter().map(|request| shell::quote(&full_url(request))));
}

/// All headers of a request, and its body as text.
type Sent = (Vec<(String, String)>, Option<String>);

fn sent(request: &RequestSpec, told: &mut Vec<String>) -> Sent {
    let mut headers = request.headers.clone();
    let mut body = request.body.clone();
    let mut kind = request.content_type.clone();
    if !request.form.is_empty() {
        body = form_text(request);
        kind.get_or_insert_with(|| "application/x-www-form-urlencoded".to_owned());
        if body.is_none() {
            told.push("A form with places to fill in is left out: use --plan.".to_owned());
        }
    }
    if request.body_base64.is_some() {
        told.push("A body from a file is left out: name the file by --body @FILE, or use --plan.".to_owned());
    }
    if body.take_if(|body| body.starts_with('@') || body.contains('\0')).is_some() {
        told.push("A body that begins with @ or holds a NUL is left out: use --plan.".to_owned());
    }
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.extend(kind.map(|kind| ("Content-Type".to_owned(), kind)));
    }
    headers.extend(request.bearer.as_ref().map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))));
    headers.extend(cookie_header(request));
    (headers, body)
}

pub(crate) fn cookie_header(request: &RequestSpec) -> Option<(String, String)> {
    let pairs: Vec<String> = request.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!pairs.is_empty()).then(|| ("Cookie".to_owned(), pairs.join("; ")))
}

/// A form as the engine sends it; `None` with places, whose values would not be escaped in a text.
pub(crate) fn form_text(request: &RequestSpec) -> Option<String> {
    let plain = |text: &str| Template::parse(text).is_ok_and(|template| template.is_plain());
    let write = |text: &str| escaped(text, Escape::Component);
    let pairs = request
        .form
        .iter()
        .map(|(name, value)| (plain(name) && plain(value)).then(|| format!("{}={}", write(name), write(value))));
    Some(pairs.collect::<Option<Vec<_>>>()?.join("&"))
}

/// The address with the parameters that are added to it.
pub(crate) fn full_url(request: &RequestSpec) -> String {
    let write = |text: &str| match Template::parse(text) {
        Ok(template) => {
            let parts = template.parts().iter().map(|part| match part {
                Part::Text(text) => escaped(text, Escape::Component),
                place => place.to_string(),
            });
            parts.collect()
        }
        Err(_) => escaped(text, Escape::Component),
    };
    let pairs: Vec<String> =
        request.query.iter().map(|(name, value)| format!("{}={}", write(name), write(value))).collect();
    curl::absolute(&request.url, &pairs)
}

/// A time as the command line reads it.
fn time(seconds: f64) -> String {
    if seconds.fract() == 0.0 { format!("{seconds}s") } else { format!("{}ms", seconds * 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_engine::limit::LimitSpec;
    use oleada_engine::plan::{Credentials, Stage};

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    #[test]
    fn every_option_is_written_where_it_is_no_default() {
        let request = RequestSpec {
            method: Method::Post,
            url: "https://a.test/x?a=1".into(),
            query: vec![pair("b c", "{{v}}&"), pair("d", "")],
            headers: vec![pair("X", "it's \"q\"")],
            cookies: vec![pair("s", "1"), pair("t", "2")],
            form: vec![pair("u", "é x")],
            basic_auth: Some(Credentials { user: "u".into(), password: "p w".into() }),
            ..RequestSpec::default()
        };
        let plan = PlanSpec {
            load: Load::Maintain { from: 0, to: 9 },
            stages: vec![Stage { duration_s: 1.5, to: 5.0 }, Stage { duration_s: 10.0, to: 9.0 }],
            duration_s: None,
            timeout_ms: 2500.0,
            idle_timeout_ms: Some(100.0),
            error_threshold: 100.0,
            reuse: Reuse::Off,
            http: HttpVersion::Http2,
            insecure: true,
            min_tls: TlsVersion::Tls13,
            end: AtEnd::Abort,
            redirects: Redirects::Off,
            max_clients: Some(7),
            warm_up_s: 2.0,
            max_rate_missed: Some(5.0),
            limits: vec![LimitSpec { condition: "p95>300ms".parse().unwrap(), request: None, stop: false }],
            requests: vec![request],
            ..PlanSpec::default()
        };
        let (command, told) = to_bench_command(&plan);
        assert!(told.is_empty(), "{told:?}");
        assert_eq!(
            command,
            "oleada bench --fail-if 'p95>300ms' --maintain 0..9 --stage 1500ms:5 --stage 10s:9 --warm-up 2s --max-clients 7 --timeout 2500ms \
             --idle-timeout 100ms --error-threshold 100 --max-rate-missed 5 --end abort --reuse off --http 2 --insecure \
             --min-tls 1.3 --redirects off --method POST -H 'X: it'\\''s \"q\"' -H 'Content-Type: application/x-www-form-urlencoded' \
             -H 'Cookie: s=1; t=2' --body u=%C3%A9%20x --basic-auth 'u:p w' 'https://a.test/x?a=1&b%20c={{v}}%26&d='"
        );
    }

    #[test]
    fn what_has_no_option_is_told() {
        let a = RequestSpec {
            url: "http://a.test/".into(),
            headers: vec![pair("A", "b"), pair("C", "d")],
            ..Default::default()
        };
        let b = RequestSpec {
            url: "http://b.test/".into(),
            method: Method::Put,
            headers: vec![pair("C", "d")],
            body: Some("x".into()),
            ..Default::default()
        };
        let limits = vec![LimitSpec { condition: "errors>1%".parse().unwrap(), request: Some(1), stop: false }];
        let plan = PlanSpec { requests: vec![a.clone(), b], order: Order::Weighted, limits, ..Default::default() };
        let (command, told) = to_bench_command(&plan);
        assert_eq!(command, "oleada bench --per-test 250 --duration 60s -H 'C: d' http://a.test/ http://b.test/");
        assert_eq!(told.len(), 5);
        let file = RequestSpec { body_base64: Some("AA==".into()), ..a.clone() };
        let at = RequestSpec { body: Some("@x".into()), ..a };
        for request in [file, at] {
            let plan = PlanSpec { requests: vec![request], ..Default::default() };
            assert_eq!(to_bench_command(&plan).1.len(), 1);
        }
    }
}

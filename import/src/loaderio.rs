//! loader.io's test objects, as its API takes and gives them.

use oleada_engine::plan::scenario::{Extract, Order, Source};
use oleada_engine::plan::{Credentials, Load, Method, PlanSpec, RequestSpec, limits};
use serde_json::{Map, Value, json};

use crate::bench::{cookie_header, form_text, full_url};
use crate::doc::Doc;
use crate::finish::{finish, inside, sort_headers};
use crate::own::Exported;
use crate::{ImportError, Imported, checked, shown};

/// loader.io bounds only the time without data; here a whole exchange has a bound too, at least this.
const EXCHANGE_MS: f64 = 60_000.0;

/// Reads a test object in JSON, or as a form such as `test_type=cycling&urls[]=http://…&urls[][request_type]=POST`.
///
/// # Errors
/// [`ImportError`] where it is none, or nothing of it can be requested.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let text = checked(text)?;
    from_doc(&if is_form(text) { from_form(text) } else { Doc::json(text)? })
}

/// Whether a text looks like a form with a list of urls.
pub(crate) fn is_form(text: &str) -> bool {
    !text.starts_with(['{', '[']) && !text.contains(char::is_whitespace) && text.contains('=') && {
        let keys = || text.split('&').filter_map(|pair| pair.split('=').next());
        keys().any(|key| ["urls[]", "urls%5B%5D", "urls%5b%5d"].iter().any(|start| key.starts_with(start)))
    }
}

/// The fields of a form: `urls[]` begins the next element, `urls[][field]` and `urls[][field][name]` belong to it.
fn from_form(text: &str) -> Doc {
    let (mut fields, mut tags) = (Vec::new(), Vec::new());
    let mut urls: Vec<Vec<(String, Doc)>> = Vec::new();
    for (key, value) in url::form_urlencoded::parse(text.as_bytes()) {
        let parts: Vec<&str> = key.split('[').map(|part| part.trim_end_matches(']')).collect();
        let value = Doc::Text(value.into_owned());
        match parts[..] {
            ["urls", ""] => urls.push(vec![("url".to_owned(), value)]),
            ["urls", "", field] => {
                match urls.last_mut().filter(|element| !element.iter().any(|(name, _)| name == field)) {
                    Some(element) => element.push((field.to_owned(), value)),
                    None => urls.push(vec![(field.to_owned(), value)]),
                }
            }
            ["urls", "", field, name] => {
                let Some(element) = urls.last_mut() else { continue };
                match element.last_mut() {
                    Some((last, Doc::Map(map))) if last == field => map.push((name.to_owned(), value)),
                    _ => element.push((field.to_owned(), Doc::Map(vec![(name.to_owned(), value)]))),
                }
            }
            ["tag_names", ""] => tags.push(value),
            [field] => fields.push((field.to_owned(), value)),
            _ => {}
        }
    }
    fields.push(("tag_names".to_owned(), Doc::List(tags)));
    fields.push(("urls".to_owned(), Doc::List(urls.into_iter().map(Doc::Map).collect())));
    Doc::Map(fields)
}

pub(crate) fn from_doc(doc: &Doc) -> Result<Imported, ImportError> {
    let urls = doc.get("urls").map(Doc::list).unwrap_or_default();
    if urls.is_empty() {
        return Err(ImportError::broken("This is no loader.io test: it has no list of urls."));
    }
    let mut told = Vec::new();
    let number = |key: &str| doc.get(key).and_then(Doc::number);
    let kind = doc.text_of("test_type").unwrap_or("non-cycling");
    let total = number("total").unwrap_or(limits::PER_TEST.default).trunc();
    let what = "The number of clients";
    let load = match &*kind.trim().to_ascii_lowercase().replace([' ', '_'], "-") {
        "per-test" | "non-cycling" | "clients-per-test" => {
            Load::PerTest { clients: inside(limits::PER_TEST, total, what, &mut told) as u64 }
        }
        "per-second" | "clients-per-second" => Load::PerSecond { rate: inside(limits::RATE, total, what, &mut told) },
        "maintain-load" | "cycling" | "maintain-client-load" => {
            let from = inside(limits::FROM, number("initial").unwrap_or(0.0).trunc(), what, &mut told) as u32;
            let to = inside(limits::TO, total, what, &mut told) as u32;
            // Nobody at all is no load.
            Load::Maintain { from, to: if from == 0 { to.max(1) } else { to } }
        }
        _ => {
            return Err(ImportError::Broken(format!(
                "The test type “{}” is not known: it must be per-test, per-second or maintain-load.",
                shown(kind)
            )));
        }
    };
    let duration = number("duration").unwrap_or(limits::DURATION_S.default);
    let duration_s = Some(inside(limits::DURATION_S, duration, "The duration", &mut told));
    let idle = number("timeout").unwrap_or(limits::IDLE_TIMEOUT_MS.default);
    let idle = inside(limits::IDLE_TIMEOUT_MS, idle, "The timeout", &mut told);
    told.push(format!(
        "loader.io's timeout is a time without data, and is taken as such; a whole exchange may take {} s here.",
        idle.max(EXCHANGE_MS) / 1000.0
    ));
    let threshold = number("error_threshold").unwrap_or(limits::ERROR_THRESHOLD.default);
    let error_threshold = inside(limits::ERROR_THRESHOLD, threshold, "The error threshold", &mut told);
    for (key, what) in [
        ("scheduled_at", "The time it is planned for"),
        ("callback", "The address that is told of the end"),
        ("callback_email", "The e-mail address that is told of the end"),
    ] {
        if doc.text_of(key).is_some() {
            told.push(format!("{what} ({key}) is left out: it belongs to a run, not to the test."));
        }
    }
    let mut data_url: Option<String> = None;
    let mut requests = Vec::new();
    for (n, url) in urls.iter().enumerate() {
        requests.extend(request(url, n + 1, &mut told));
        match (url.text_of("payload_file_url"), &data_url) {
            (Some(file), None) => {
                told.push(format!(
                    "The data in “{}” are not here yet: they are fetched when you ask for it.",
                    shown(file)
                ));
                data_url = Some(file.to_owned());
            }
            (Some(file), Some(first)) if first != file => {
                told.push(format!("The data in “{}” are left out: a test has one set of data.", shown(file)));
            }
            _ => {}
        }
    }
    let tags = ["tag_names", "tags"].iter().find_map(|key| doc.get(key)).map(Doc::list).unwrap_or_default();
    finish(Imported {
        name: doc.text_of("name").map(str::to_owned),
        notes: doc.text_of("notes").map(str::to_owned),
        tags: tags.iter().filter_map(Doc::word).collect(),
        plan: PlanSpec {
            load,
            duration_s,
            requests,
            timeout_ms: idle.max(EXCHANGE_MS),
            idle_timeout_ms: Some(idle),
            error_threshold,
            ..PlanSpec::default()
        },
        data_url,
        left_out: told,
    })
}

fn request(doc: &Doc, number: usize, told: &mut Vec<String>) -> Option<RequestSpec> {
    // An address alone is written without braces in some clients.
    let Some(url) = doc.str().or_else(|| doc.text_of("url")) else {
        told.push(format!("Request {number} is left out: it has no address."));
        return None;
    };
    let written = doc.text_of("request_type").unwrap_or("GET");
    let Ok(method) = written.to_ascii_uppercase().parse() else {
        told.push(format!("Request {number} is left out: the method “{}” is not known.", shown(written)));
        return None;
    };
    let pairs = |key: &str| doc.get(key).map(Doc::pairs).unwrap_or_default();
    let mut request = RequestSpec { method, url: url.to_owned(), headers: pairs("headers"), ..RequestSpec::default() };
    let user =
        ["authentication", "credentials"].iter().find_map(|key| doc.get(key)).filter(|user| !user.map().is_empty());
    if let Some(user) = user {
        let kind = user.text_of("type").unwrap_or("basic");
        if kind.eq_ignore_ascii_case("basic") {
            let part = |key: &str| user.get(key).and_then(Doc::word).unwrap_or_default();
            let credentials = Credentials { user: part("login"), password: part("password") };
            request.basic_auth = Some(credentials).filter(|c| !c.user.is_empty() || !c.password.is_empty());
        } else if !kind.eq_ignore_ascii_case("none") {
            told.push(format!("Request {number}: authentication “{}” is left out: it is not basic.", shown(kind)));
        }
    }
    sort_headers(&mut request);
    request.body = ["raw_post_body", "post_body"].iter().find_map(|key| doc.text_of(key)).map(str::to_owned);
    let params = pairs("request_params");
    if matches!(method, Method::Get | Method::Head | Method::Options) {
        request.query = params;
    } else if request.body.is_none() {
        request.form = params;
    } else if !params.is_empty() {
        told.push(format!("Request {number}: its parameters are left out: it has a raw body."));
    }
    for variable in doc.get("variables").map(Doc::list).unwrap_or_default() {
        let source = variable.text_of("source").unwrap_or("header");
        let name = variable.text_of("name").unwrap_or_default();
        if source.eq_ignore_ascii_case("header") {
            let what = variable.text_of("property").unwrap_or_default().to_owned();
            request.extract.push(Extract { name: name.to_owned(), from: Source::Header, what, attribute: None });
        } else {
            told.push(format!(
                "Request {number}: the variable “{}” is left out: its source “{}” is not known.",
                shown(name),
                shown(source)
            ));
        }
    }
    Some(request)
}

/// A test as loader.io's API takes it (`POST /v2/tests`), and a sentence for each thing that it cannot say. It holds passwords and
/// tokens as they are: see [`crate::secrets::strip`].
pub fn to_loaderio(test: &Exported) -> (Value, Vec<String>) {
    let plan = &test.plan;
    let mut told = Vec::new();
    let length = plan.stages.iter().map(|stage| stage.duration_s).sum::<f64>();
    let length = if plan.stages.is_empty() { plan.duration_s.unwrap_or(limits::DURATION_S.default) } else { length };
    let whole = |value: f64, what: &str, told: &mut Vec<String>| {
        if value.fract() != 0.0 {
            told.push(format!("{what} is {} instead of {value}: loader.io takes whole numbers.", value.ceil()));
        }
        value.ceil() as u64
    };
    let duration = whole(length, "The duration in seconds", &mut told);
    let (kind, initial, total) = match plan.load {
        Load::FixedCount { requests, .. } => {
            let clients = requests.div_ceil(plan.requests.len().max(1) as u64);
            told.push(format!(
                "loader.io knows no fixed count: {clients} clients in {duration} s are written instead."
            ));
            ("per-test", 0, clients)
        }
        Load::PerTest { clients } => ("per-test", 0, clients),
        Load::PerSecond { rate } => ("per-second", 0, whole(rate, "The number of clients per second", &mut told)),
        Load::Maintain { from, to } => {
            ("maintain-load", from, plan.stages.last().map_or(u64::from(to), |s| s.to as u64))
        }
    };
    if total < 15 {
        told.push("loader.io asks for at least 15 clients.".to_owned());
    }
    if plan.idle_timeout_ms.is_none() {
        told.push(
            "The timeout of a whole exchange is written as loader.io's: the longest time without data.".to_owned(),
        );
    }
    let scenario = |has: bool, what: &str| has.then(|| format!("{what} is left out: loader.io has no counterpart."));
    told.extend(scenario(!plan.stages.is_empty(), "The course of the load in stages"));
    told.extend(scenario(plan.order != Order::List, "The drawing of requests by weight"));
    told.extend(scenario(plan.think.is_some() || plan.pacing.is_some(), "What clients pause"));
    told.extend(scenario(plan.warm_up_s > 0.0, "The warm-up"));
    told.extend(scenario(!plan.limits.is_empty(), "What the run must hold (its limits)"));
    if plan.data.is_some() {
        told.push("The data are left out: loader.io fetches them from an address (payload_file_url).".to_owned());
    }
    let urls: Vec<Value> = plan.requests.iter().enumerate().map(|(n, r)| url(r, n + 1, &mut told)).collect();
    let mut object = json!({
        "test_type": kind,
        "total": total,
        "initial": initial,
        "duration": duration,
        "timeout": plan.idle_timeout_ms.unwrap_or(plan.timeout_ms).ceil() as u64,
        "error_threshold": plan.error_threshold.ceil() as u64,
        "urls": urls,
    });
    for (key, text) in [("name", &test.name), ("notes", &test.notes)] {
        if let Some(text) = text {
            object[key] = json!(text);
        }
    }
    if !test.tags.is_empty() {
        object["tag_names"] = json!(test.tags);
    }
    (object, told)
}

fn url(request: &RequestSpec, number: usize, told: &mut Vec<String>) -> Value {
    let mut headers = request.headers.clone();
    headers.extend(request.content_type.clone().map(|kind| ("Content-Type".to_owned(), kind)));
    headers.extend(request.bearer.as_ref().map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))));
    headers.extend(cookie_header(request));
    let mut tell = |has: bool, what: &str| {
        if has {
            told.push(format!("Request {number}: {what} left out: loader.io has no counterpart."));
        }
    };
    let in_map = |pairs: &[(String, String)]| {
        let map: Map<String, Value> = pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        (map.len() == pairs.len()).then_some(map)
    };
    let once = in_map(&headers);
    tell(once.is_none(), "headers that come twice are");
    tell(!request.assert.is_empty(), "its conditions are");
    tell(request.body_base64.is_some(), "its body, which is no text, is");
    tell(matches!(request.method, Method::Head | Method::Options), "its method may be refused; nothing is");
    tell(request.extract.iter().any(|e| e.from != Source::Header), "variables from other places than headers are");
    let with_form = !matches!(request.method, Method::Get | Method::Head | Method::Options);
    let form = in_map(&request.form).filter(|_| with_form);
    let encoded = if form.is_none() { form_text(request) } else { None };
    tell(form.is_none() && encoded.is_none(), "its form is");
    let mut headers = once.unwrap_or_else(|| headers.into_iter().map(|(name, value)| (name, json!(value))).collect());
    let mut body = request.body.clone();
    if let Some(text) = encoded.filter(|_| !request.form.is_empty()) {
        headers.entry("Content-Type").or_insert_with(|| json!("application/x-www-form-urlencoded"));
        body = Some(text);
    }
    let variables = request.extract.iter().filter(|e| e.from == Source::Header);
    let variables: Vec<Value> =
        variables.map(|e| json!({"name": e.name, "property": e.what, "source": "header"})).collect();
    let mut object = json!({"url": full_url(request), "request_type": request.method.as_str(), "headers": headers});
    if let Some(form) = form.filter(|form| !form.is_empty()) {
        object["request_params"] = Value::Object(form);
    }
    if let Some(body) = body {
        object["raw_post_body"] = json!(body);
    }
    if let Some(user) = &request.basic_auth {
        object["authentication"] = json!({"login": user.user, "password": user.password, "type": "basic"});
    }
    if !variables.is_empty() {
        object["variables"] = json!(variables);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_engine::plan::Stage;
    use oleada_engine::plan::scenario::DataSpec;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    const SAMPLE: &str = r#"{"name":"Front “page”","notes":"2 vCPU\nx","tag_names":["a","b"],"test_type":"maintain-load","initial":"1000",
      "total":10000,"duration":60,"timeout":50000,"error_threshold":90,"callback":"http://c.test/","scheduled_at":null,"urls":[
      {"url":"http://web.example/login/%{1:9}","request_type":"post","headers":{"accept-encoding":"gzip","X":"1","x":"2",
       "Authorization":"Bearer {{t}}"},"request_params":[{"key":"user","value":"{{user}}"},{"key":"pin","value":1}],
       "authentication":{"login":"ann","password":"p:w","type":"basic"},"payload_file_url":"http://web.example/p.json",
       "variables":[{"name":"csrf","property":"X-CSRF","source":"header"},{"name":"b","property":"x","source":"body"}]},
      {"url":"http://web.example/","request_params":{"q":"a b","e":""},"authentication":{},"raw_post_body":null},
      {"url":"http://web.example/raw","request_type":"PUT","raw_post_body":"{\"t\":\"{{csrf}}\"}","credentials":{"login":"l","password":"p"}}
      ]}"#;

    #[test]
    fn all_fields_are_taken() {
        let imported = import(SAMPLE).unwrap();
        assert_eq!(imported.name.as_deref(), Some("Front “page”"));
        assert_eq!(imported.notes.as_deref(), Some("2 vCPU\nx"));
        assert_eq!(imported.tags, ["a", "b"]);
        assert_eq!(imported.data_url.as_deref(), Some("http://web.example/p.json"));
        let plan = &imported.plan;
        assert_eq!(plan.load, Load::Maintain { from: 1000, to: 10_000 });
        assert_eq!((plan.duration_s, plan.idle_timeout_ms, plan.timeout_ms), (Some(60.0), Some(50_000.0), 60_000.0));
        assert_eq!(plan.error_threshold, 90.0);
        let [login, front, raw] = &plan.requests[..] else { panic!("{plan:?}") };
        assert_eq!((login.method, &*login.url), (Method::Post, "http://web.example/login/%{1:9}"));
        // Basic authentication and a header that says otherwise: both are sent, as they were there.
        assert_eq!(login.headers[..3], [pair("accept-encoding", "gzip"), pair("X", "1"), pair("x", "2")]);
        assert_eq!(login.form, [pair("user", "{{user}}"), pair("pin", "1")]);
        assert_eq!(login.basic_auth, Some(Credentials { user: "ann".into(), password: "p:w".into() }));
        assert_eq!((&*login.extract[0].name, &*login.extract[0].what), ("csrf", "X-CSRF"));
        assert_eq!((front.method, &front.query), (Method::Get, &vec![pair("q", "a b"), pair("e", "")]));
        assert_eq!(front.basic_auth, None);
        assert_eq!((raw.method, raw.body.as_deref()), (Method::Put, Some("{\"t\":\"{{csrf}}\"}")));
        assert_eq!(raw.basic_auth.as_ref().unwrap().user, "l");
        let told = imported.left_out.join("\n");
        for part in ["time without data", "callback", "p.json", "“b”"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(imported.left_out.len(), 4);
    }

    #[test]
    fn test_types_have_many_spellings() {
        for (written, load) in [
            ("Non-Cycling", Load::PerTest { clients: 25 }),
            ("per-test", Load::PerTest { clients: 25 }),
            ("Clients per test", Load::PerTest { clients: 25 }),
            ("Clients per second", Load::PerSecond { rate: 25.0 }),
            ("per-second", Load::PerSecond { rate: 25.0 }),
            ("Cycling", Load::Maintain { from: 0, to: 25 }),
            ("Maintain client load", Load::Maintain { from: 0, to: 25 }),
        ] {
            let text = format!(r#"{{"test_type":"{written}","total":25,"urls":[{{"url":"http://a.test/"}}]}}"#);
            assert_eq!(crate::detect_and_import(&text).unwrap().plan.load, load, "{written}");
        }
        for bad in ["{\"urls\":[]}", "{\"urls\":[{}]}", "{\"test_type\":\"x\",\"urls\":[{\"url\":\"http://a.test/\"}]}"]
        {
            assert!(import(bad).is_err(), "{bad}");
        }
        let odd = r#"{"test_type":"cycling","total":-3,"duration":0,"timeout":0,"error_threshold":0,"urls":["http://a.test/"]}"#;
        let imported = import(odd).unwrap();
        assert_eq!(imported.plan.load, Load::Maintain { from: 0, to: 1 });
        assert_eq!(imported.left_out.len(), 5);
    }

    #[test]
    fn a_form_is_read_as_clients_send_it() {
        let text = "test_type=cycling&total=20&initial=5&duration=30&name=a+b&tag_names[]=x&urls[]=http%3A%2F%2Fa.test%2F1\
            &urls[][request_type]=POST&urls[][request_params][p]=%C3%A9&urls[][request_params][q]=2&urls%5B%5D=http://a.test/2";
        let imported = crate::detect_and_import(text).unwrap();
        let plan = &imported.plan;
        assert_eq!((plan.load, plan.duration_s), (Load::Maintain { from: 5, to: 20 }, Some(30.0)));
        assert_eq!((imported.name.as_deref(), &imported.tags[..]), (Some("a b"), &["x".to_owned()][..]));
        assert_eq!((plan.requests[0].method, &*plan.requests[0].url), (Method::Post, "http://a.test/1"));
        assert_eq!(plan.requests[0].form, [pair("p", "é"), pair("q", "2")]);
        assert_eq!((plan.requests[1].method, &*plan.requests[1].url), (Method::Get, "http://a.test/2"));
    }

    #[test]
    fn what_was_imported_is_exported_the_same() {
        let first = import(SAMPLE).unwrap();
        let test = |imported: &Imported| Exported {
            name: imported.name.clone(),
            notes: imported.notes.clone(),
            tags: imported.tags.clone(),
            plan: imported.plan.clone(),
        };
        let (object, told) = to_loaderio(&test(&first));
        assert_eq!(told, [""; 0]);
        let second = crate::detect_and_import(&object.to_string()).unwrap();
        let (again, _) = to_loaderio(&test(&second));
        assert_eq!(object, again);
        assert_eq!((second.plan.load, second.tags), (first.plan.load, first.tags));
        assert_eq!(second.plan.requests[0].form.len(), 2);
        assert_eq!(object["urls"][1]["url"], "http://web.example/?q=a%20b&e=");
    }

    #[test]
    fn what_loaderio_cannot_say_is_told() {
        let request = RequestSpec {
            url: "http://a.test/".into(),
            form: vec![pair("a", "1"), pair("a", "ü")],
            body_base64: None,
            headers: vec![pair("A", "1"), pair("A", "2")],
            ..RequestSpec::default()
        };
        let plan = PlanSpec {
            load: Load::PerSecond { rate: 0.5 },
            stages: vec![Stage { duration_s: 1.5, to: 1.0 }],
            data: Some(DataSpec::default()),
            requests: vec![request],
            order: Order::Weighted,
            ..PlanSpec::default()
        };
        let (object, told) = to_loaderio(&Exported { plan, ..Exported::default() });
        assert_eq!(object["urls"][0]["raw_post_body"], "a=1&a=%C3%BC");
        assert_eq!((object["duration"].as_u64(), object["total"].as_u64()), (Some(2), Some(1)));
        assert_eq!(told.len(), 8, "{told:#?}");
    }
}

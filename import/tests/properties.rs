//! What holds for any plan and any text.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use oleada_engine::limit::LimitSpec;
use oleada_engine::plan::scenario::{
    Assertion, AssertionFailure, DataSpec, Extract, Order, Pause, Relation, RowOrder, RowsOut, Source, Subject,
};
use oleada_engine::plan::{
    AtEnd, Credentials, HttpVersion, Load, Method, Plan, PlanSpec, Redirects, RequestSpec, Reuse, Stage, TlsVersion,
};
use oleada_import::secrets::Secrets;
use oleada_import::{
    Exported, Imported, ab, curl, detect_and_import, har, loaderio, openapi, own, payload, shell, to_json,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

type Pairs = Vec<(String, String)>;

/// Text with what is awkward in shells, JSON, CSV and templates.
fn text() -> impl Strategy<Value = String> {
    let awkward = [
        "'", "\"", "\\", "\n", "\r", "é", "😀", "$x", "`", "!", "#", "&", ";", "=", "%41", "{", "}", "{{v}}", "@", " ",
        "\u{1}", "^",
    ];
    vec(prop_oneof![select(awkward.to_vec()).prop_map(str::to_owned), "[a-z0-9]{1,4}"], 0..12)
        .prop_map(|parts| parts.concat())
}

fn line() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.replace(char::is_control, "").trim().to_owned())
}

fn pairs(name: &'static str, value: BoxedStrategy<String>) -> impl Strategy<Value = Pairs> {
    vec((name, value), 0..4)
}

fn request() -> impl Strategy<Value = RequestSpec> {
    let body = prop_oneof![
        Just((None, None, Vec::new())),
        text().prop_map(|body| (Some(body), None, Vec::new())),
        select(vec!["", "AA==", "AP8="]).prop_map(|body| (None, Some(body.to_owned()), Vec::new())),
        pairs("[a-z{ }]{1,5}", line().boxed()).prop_map(|form| (None, None, form)),
    ];
    let user = prop_oneof![
        Just((None, None)),
        line().prop_map(|password| (Some(Credentials { user: "ann".to_owned(), password }), None)),
        "[a-z.{}]{1,9}".prop_map(|token| (None, Some(token))),
    ];
    (
        (
            select(Method::ALL.to_vec()),
            "https?://(u:p@)?[a-z]{1,9}\\.test(:[1-9][0-9]{1,3})?(/[a-z%A-F0-9é{}]{0,6}){0,3}(\\?[a-z=&+%']{0,9})?",
        ),
        (of("[a-zé ]{1,9}"), 1u32..9, pairs("[a-zé&]{0,5}", line().boxed())),
        (
            pairs("X-[A-Za-z0-9-]{1,8}", line().boxed()),
            pairs("[a-z]{1,5}", line().prop_map(|v| v.replace(';', "")).boxed()),
        ),
        body,
        (of("[a-z]{1,6}/[a-z]{1,6}"), user),
        (
            vec(("[a-z]{1,8}", select(Source::ALL.to_vec()), "[a-z$.]{1,9}", of("[a-z]{1,4}")), 0..2),
            vec(("[a-z$.]{1,9}", "[a-z]{1,9}"), 0..2),
        ),
    )
        .prop_map(
            |(
                (method, url),
                (name, weight, query),
                (headers, cookies),
                (body, body_base64, form),
                (content_type, (basic_auth, bearer)),
                (extract, assert),
            )| {
                RequestSpec {
                    method,
                    url,
                    name,
                    weight,
                    query,
                    headers,
                    cookies,
                    body,
                    body_base64,
                    form,
                    content_type,
                    basic_auth,
                    bearer,
                    extract: extract
                        .into_iter()
                        .map(|(name, from, what, attribute)| Extract { name, from, what, attribute })
                        .collect(),
                    assert: assert
                        .into_iter()
                        .map(|(what, value)| Assertion { on: Subject::Json, what, is: Relation::Contains, value })
                        .collect(),
                }
            },
        )
}

fn load() -> impl Strategy<Value = (Load, Vec<Stage>)> {
    let stages = vec((0.1f64..99.0, 1u32..99), 0..3).prop_map(|list| {
        list.into_iter().map(|(duration_s, to)| Stage { duration_s, to: f64::from(to) }).collect::<Vec<_>>()
    });
    prop_oneof![
        (1u64..1_000_000_000, 1u32..9999)
            .prop_map(|(requests, clients)| (Load::FixedCount { requests, clients }, vec![])),
        (1u64..1_000_000_000).prop_map(|clients| (Load::PerTest { clients }, vec![])),
        (0.001f64..1e6, stages.clone()).prop_map(|(rate, stages)| (Load::PerSecond { rate }, stages)),
        (0u32..99, 1u32..99, stages).prop_map(|(from, to, stages)| (Load::Maintain { from, to }, stages)),
    ]
}

fn plan() -> impl Strategy<Value = PlanSpec> {
    let data = (text(), text(), select(RowOrder::ALL.to_vec()), select(RowsOut::ALL.to_vec())).prop_map(
        |(a, b, order, at_end)| DataSpec {
            columns: vec!["v".into(), "w".into()],
            rows: vec![vec![a, b.clone()], vec![b, String::new()]],
            order,
            at_end,
        },
    );
    (
        load(),
        vec(request(), 1..4),
        (0.1f64..86_400.0, 1.0f64..1e6, of(1.0f64..1e6), 0.1f64..100.0, 0.0f64..3600.0),
        (any::<bool>(), any::<bool>(), any::<bool>(), select(HttpVersion::ALL.to_vec()), any::<bool>()),
        (of(1u32..99_999), of(0.1f64..100.0), of(0.0f64..999.0), of(data)),
        (select(Order::ALL.to_vec()), select(AssertionFailure::ALL.to_vec())),
    )
        .prop_map(
            |(
                (load, stages),
                requests,
                (duration, timeout_ms, idle_timeout_ms, error_threshold, warm_up_s),
                (off, insecure, abort, http, follow),
                (max_clients, max_rate_missed, think, data),
                (order, assertion_failure),
            )| PlanSpec {
                load,
                duration_s: stages.is_empty().then_some(duration),
                stages,
                requests,
                order,
                think: think.map(|ms| Pause { least_ms: ms, most_ms: ms * 2.0 }),
                pacing: None,
                data,
                assertion_failure,
                timeout_ms,
                idle_timeout_ms,
                error_threshold,
                reuse: if off { Reuse::Off } else { Reuse::Client },
                http,
                insecure,
                limits: (0..usize::from(abort))
                    .map(|n| LimitSpec { condition: "p99.9>1.5s".parse().unwrap(), request: Some(n), stop: insecure })
                    .collect(),
                min_tls: if insecure { TlsVersion::Tls13 } else { TlsVersion::Tls12 },
                end: if abort { AtEnd::Abort } else { AtEnd::Drain },
                redirects: if follow { Redirects::Follow } else { Redirects::Off },
                max_clients,
                warm_up_s,
                max_rate_missed,
            },
        )
        .prop_filter("runs", |plan| Plan::try_from(plan.clone()).is_ok())
}

fn fails_or_runs(result: Result<Imported, oleada_import::ImportError>) {
    match result {
        Ok(imported) => {
            Plan::try_from(imported.plan).expect("what is imported can run");
            assert!(
                imported.left_out.iter().all(|sentence| sentence.ends_with('.') && !sentence.contains('\n')),
                "{:?}",
                imported.left_out
            );
        }
        Err(error) => assert!(error.to_string().ends_with('.'), "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_test_exported_with_its_secrets_is_the_same_again(plan in plan(), name in of(line()), notes in of(text()), tags in vec(line(), 0..3)) {
        let test = Exported { name, notes, tags, plan };
        let imported = detect_and_import(&to_json(&test, Secrets::Include)).unwrap();
        prop_assert_eq!(&imported.left_out, &Vec::<String>::new());
        prop_assert_eq!((imported.name, imported.notes, imported.tags, imported.plan), (test.name, test.notes, test.tags, test.plan));
    }

    #[test]
    fn a_test_exported_without_its_secrets_still_runs(plan in plan()) {
        let test = Exported { plan, ..Exported::default() };
        let imported = detect_and_import(&to_json(&test, Secrets::LeaveOut)).unwrap();
        prop_assert_eq!(imported.plan.requests.len(), test.plan.requests.len());
        prop_assert!(imported.plan.requests.iter().all(|r| r.basic_auth.as_ref().is_none_or(|c| c.password.is_empty())));
    }

    #[test]
    fn a_plan_written_as_json_is_the_same_again(plan in plan()) {
        let imported = own::import(&serde_json::to_string(&plan).unwrap()).unwrap();
        prop_assert_eq!(imported.plan, plan);
    }

    #[test]
    fn a_request_written_for_curl_is_the_same_again(mut request in request()) {
        // These have no place in the command, or come back in another field.
        request.form.clear();
        request.query.clear();
        request.extract.clear();
        request.assert.clear();
        (request.name, request.weight, request.body_base64) = (None, 1, None);
        if request.body.is_none() {
            request.content_type = None;
        }
        // Blanks around a cookie's value are no part of it, in a command as in a header.
        request.cookies.iter_mut().for_each(|(_, value)| *value = value.trim().to_owned());
        let one = PlanSpec { requests: vec![request.clone()], ..PlanSpec::default() };
        prop_assume!(Plan::try_from(one).is_ok());
        let command = curl::to_command(&request).unwrap();
        let imported = curl::import(&command).unwrap();
        prop_assert_eq!(&imported.plan.requests, &vec![request], "{}", command);
    }

    #[test]
    fn a_quoted_text_is_one_word(text in text()) {
        prop_assert_eq!(shell::commands(&shell::quote(&text)).unwrap().commands, vec![vec![text]]);
    }

    #[test]
    fn rows_written_as_csv_are_the_same_again(rows in vec((text(), text()), 1..9), separator in select(vec![',', ';', '\t'])) {
        let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut file = format!("a{separator}b\n");
        for (a, b) in &rows {
            file.push_str(&format!("{}{separator}{}\r\n", cell(a), cell(b)));
        }
        let read = payload(&file).unwrap();
        prop_assert_eq!(read.data.rows, rows.into_iter().map(|(a, b)| vec![a, b]).collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_text_makes_an_importer_panic(any in "\\PC{0,80}", text in text()) {
        for text in [&any, &text] {
            fails_or_runs(detect_and_import(text));
            for (start, end) in [("", ""), ("curl http://a.test/ ", ""), ("curl ^\"http://a.test/^\" ", ""), ("curl http://a.test/ -d '", "'"), ("curl 'http://a.test/", "'")] {
                fails_or_runs(curl::import(&format!("{start}{text}{end}")));
            }
            fails_or_runs(ab::import(&format!("ab {text} http://a.test/")));
            fails_or_runs(har::import(text, har::Assets::Take));
            fails_or_runs(openapi::import(text));
            fails_or_runs(openapi::import(&format!("openapi: 3.0.0\npaths:\n  /x:\n    get: {text}\n")));
            fails_or_runs(loaderio::import(text));
            fails_or_runs(loaderio::import(&format!("total={text}&urls[]=http://a.test/&urls[][{text}]={text}&urls[][headers][{text}]=a")));
            fails_or_runs(own::import(text));
            let _ = payload(text);
        }
    }

    #[test]
    fn no_value_in_its_place_makes_an_importer_panic(
        value in prop_oneof![Just(serde_json::json!(null)), text().prop_map(Into::into), any::<f64>().prop_map(Into::into), any::<i64>().prop_map(Into::into),
            Just(serde_json::json!([])), Just(serde_json::json!({})), Just(serde_json::json!([{"name": "a", "value": [1]}])), Just(serde_json::json!(true))],
        other in text(),
    ) {
        let url = "http://a.test/{x}";
        for key in ["test_type", "total", "initial", "duration", "timeout", "error_threshold", "name", "notes", "tag_names", "callback"] {
            let mut test = serde_json::json!({"urls": [{"url": url}]});
            test[key] = value.clone();
            fails_or_runs(loaderio::import(&test.to_string()));
        }
        for key in ["url", "request_type", "headers", "request_params", "raw_post_body", "authentication", "variables", "payload_file_url"] {
            let mut test = serde_json::json!({"urls": [{"url": url, "request_type": "POST"}]});
            test["urls"][0][key] = value.clone();
            fails_or_runs(loaderio::import(&test.to_string()));
        }
        for key in ["method", "url", "headers", "cookies", "postData"] {
            let mut request = serde_json::json!({"method": "POST", "url": url, "postData": {"mimeType": &other, "text": value, "params": [{"name": &other, "value": value}]}});
            request[key] = value.clone();
            fails_or_runs(har::import(&serde_json::json!({"log": {"entries": [{"request": request}]}}).to_string(), har::Assets::LeaveOut));
        }
        for key in ["type", "properties", "items", "allOf", "enum", "example", "$ref", "format", "minimum", "minLength"] {
            let mut schema = serde_json::json!({"type": "object", "properties": {"a": {"type": "array"}}});
            schema[key] = value.clone();
            let document = serde_json::json!({"openapi": "3.0.0", "servers": [{"url": &other}], "paths": {&format!("/{other}"): {"post": {
                "parameters": [{"name": &other, "in": "path", "schema": &schema}, {"name": "q", "in": "query", "required": true, "schema": &schema}],
                "requestBody": {"content": {"application/json": {"schema": &schema}}}}}}});
            fails_or_runs(openapi::import(&document.to_string()));
        }
    }
}

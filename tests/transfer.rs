//! Tests that come from elsewhere, go elsewhere, and are tried once.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use harness::Server;
use harness::site::{Site, answer, ok};
use harness::tools::Target;
use harness::user::Reply;
use serde_json::{Value, json};

/// `/tests/{id}/edit` → `/tests/{id}`.
fn test_of(reply: &Reply) -> String {
    let location = reply.location();
    location.strip_suffix("/edit").unwrap_or_else(|| panic!("{} {location}: {}", reply.status, reply.body)).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pasted_command_becomes_a_test_that_can_be_tried() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    anna.post("/hosts", &[("address", target.address())]).await;
    let command = format!(
        "curl '{}' -H 'X-Shop: a b' -H 'X-Api-Key: s3cret-key' -u 'ann:geheim99' --data-raw $'{{\"it\\'s\": 1}}' --output x",
        target.url("/bytes/20")
    );
    let reply = anna.post("/tests/import", &[("text", &command)]).await;
    let test = test_of(&reply);
    assert_eq!(target.count("/bytes/20").unwrap(), 0, "importing requests nothing");
    let form = anna.get(&format!("{test}/edit")).await;
    assert_eq!(form.value_of("requests[0].url"), Some(target.url("/bytes/20")));
    assert!(form.body.contains("X-Shop: (hidden)") && form.body.contains("X-Api-Key: (hidden)"));
    assert!(!form.body.contains("geheim99") && !form.body.contains("s3cret-key"));

    let tried = anna.post(&format!("{test}/try"), &[]).await;
    assert_eq!(tried.status, 200, "{}", tried.body);
    let code: String = tried.select("pre code").join("\n");
    assert!(code.contains("POST /bytes/20 HTTP/1.1") && code.contains("X-Shop: a b"), "{code}");
    assert!(code.contains("HTTP/1.1 200") && code.contains(r#"{"it's": 1}"#), "{code}");
    for secret in ["geheim99", "YW5uOmdlaGVpbTk5", "s3cret-key"] {
        assert!(!tried.body.contains(secret), "{secret}");
    }
    assert_eq!(target.count("/bytes/20").unwrap(), 1, "one client, once");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_test_is_the_same_again_without_its_secrets() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let plan = r#"{"oleada_test": 1, "name": "Shop <b>", "notes": "evening", "tags": ["shop"], "plan": {
        "load": {"type": "per_second", "rate": 0}, "stages": [{"duration_s": 2, "to": 5}, {"duration_s": 1, "to": 0}],
        "requests": [{"method": "POST", "url": "http://127.0.0.1:9/{{user}}", "form": [["a b", "{{user}}&"]],
                      "extract": [{"name": "id", "from": "json", "what": "$.id"}],
                      "assert": [{"on": "status", "is": "equals", "value": "200"}], "bearer": "geheim-token"}],
        "data": {"columns": ["user"], "rows": [["ann"], ["bob"]]}, "think": {"least_ms": 5, "most_ms": 9},
        "limits": [{"condition": "p95>300ms"}]}}"#;
    let test = test_of(&anna.post("/tests/import", &[("text", plan)]).await);
    let json = anna.get(&format!("{test}/export.json")).await.body;
    assert!(!json.contains("geheim-token") && json.contains("the bearer token of request 1"), "{json}");
    let page = anna.get(&format!("{test}/export")).await;
    assert!(!page.body.contains("geheim-token"));
    // The text of an element comes with its white space joined.
    assert_eq!(page.select("pre code")[0], json.split_whitespace().collect::<Vec<_>>().join(" "));
    assert!(page.select("pre code")[1].starts_with("oleada bench "), "{:?}", page.select("pre code"));

    let again = test_of(&anna.post("/tests/import", &[("text", &json)]).await);
    let without = |text: &str| -> serde_json::Value {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        value.as_object_mut().unwrap().remove("secrets_left_out");
        value
    };
    let second = anna.get(&format!("{again}/export.json")).await.body;
    assert_eq!(without(&second), without(&json));
    assert_eq!(without(&json)["plan"]["stages"][0]["to"], 5.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_comes_back_with_a_sentence() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    for (text, word) in
        [("", "paste"), ("wget x", "curl"), ("{\"openapi\": 3", "JSON"), ("curl 'http://a.test", "quot")]
    {
        let reply = anna.post("/tests/import", &[("text", text)]).await;
        let summary = reply.select(".error-summary li").join(" ");
        assert_eq!(reply.status, 422, "{text}");
        assert!(summary.to_lowercase().contains(&word.to_lowercase()), "{text}: {summary}");
        assert_eq!(reply.select("textarea[name=text]").join("").trim(), text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_tells_what_goes_wrong() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    anna.post("/hosts", &[("address", target.address())]).await;
    let plan = serde_json::json!({
        "load": {"type": "per_test", "clients": 1}, "duration_s": 1,
        "requests": [
            {"url": target.url("/status/404"), "assert": [{"on": "status", "is": "equals", "value": "200"}],
             "extract": [{"name": "id", "from": "json", "what": "$.id"}]},
            {"url": format!("{}{{{{id}}}}", target.url("/bytes/"))},
        ],
    });
    let test = test_of(&anna.post("/tests/import", &[("text", &plan.to_string())]).await);
    let page = anna.post(&format!("{test}/try"), &[]).await;
    let text = page.select("main").join(" ");
    for words in ["status 404", "fails", "not found", "Not sent", "id"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(page.select(".trial-step").len(), 2);
    // A host that is not the account's is not tried.
    let foreign = anna.post("/tests/import", &[("text", "curl https://example.test/")]).await;
    let foreign = test_of(&foreign);
    assert_eq!(anna.post(&format!("{foreign}/try"), &[]).await.location(), foreign);
}

/// The plan of a test, as its export has it.
async fn plan_of(user: &harness::user::SignedIn, test: &str) -> Value {
    user.json(&format!("{test}/export.json")).await["plan"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_an_imported_test_are_fetched_from_their_address() {
    let (server, site) = (Server::start().await, Site::start().await);
    let anna = server.sign_up("anna").await;
    site.put("/moved", answer("302 Found", &["Location: /data.json"], b""));
    site.put("/data.json", ok(r#"{"keys":["user name","pin"],"values":[["ann",1],["bob",2]]}"#));
    let import = |path: &str| {
        let test = json!({"test_type": "cycling", "urls": [{"url": format!("http://{}/a", site.at),
            "payload_file_url": format!("http://{}{path}", site.at)}], "duration": 5, "initial": 1, "total": 2, "timeout": 1000});
        test.to_string()
    };
    let test = test_of(&anna.post("/tests/import", &[("text", &import("/moved"))]).await);
    let told = anna.get(&format!("{test}/edit")).await.select(".flash").join(" ");
    assert!(told.contains("“user name” is called {{user_name}}"), "{told}");
    let plan = plan_of(&anna, &test).await;
    assert_eq!(plan["data"]["columns"], json!(["user_name", "pin"]));
    assert_eq!(plan["data"]["rows"], json!([["ann", "1"], ["bob", "2"]]));
    assert_eq!(plan["requests"][0]["query"], json!([["user name", "{{user_name}}"], ["pin", "{{pin}}"]]));

    // What cannot be had is told, and the rest is there.
    let test = test_of(&anna.post("/tests/import", &[("text", &import("/none"))]).await);
    let told = anna.get(&format!("{test}/edit")).await.select(".flash").join(" ");
    assert!(told.contains("could not be fetched") && told.contains("status 404"), "{told}");
    assert_eq!(plan_of(&anna, &test).await.get("data").filter(|data| !data.is_null()), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_fetches_rows_from_an_address() {
    let (server, site) = (Server::start().await, Site::start().await);
    let anna = server.sign_up("anna").await;
    let at = |path: &str| format!("http://{}{path}", site.at);
    let form = anna.get("/tests/new").await;
    assert_eq!(form.select("button[value='fetch:data']").len(), 1);
    let fields = |url: &str, action: &str| {
        [
            ("name", "rows"),
            ("load", "per_test"),
            ("per_test", "1"),
            ("duration_s", "1"),
            ("timeout_ms", "1000"),
            ("error_threshold", "50"),
            ("requests[0].method", "GET"),
            ("requests[0].url", "http://127.0.0.1:9/{{user}}"),
            ("data_url", url),
            ("action", action),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    site.put("/rows.csv", ok("user,pin\r\nann,1\r\n\"b,o\",2\r\n"));
    // The button shows the rows; nothing is stored yet.
    let shown = anna.post_pairs("/tests", &fields(&at("/rows.csv"), "fetch:data")).await;
    assert_eq!(shown.status, 200, "{}", shown.select(".error-summary li").join(" "));
    assert!(shown.select("textarea[name=data]").join("").contains("ann,1"));
    assert_eq!(shown.value_of("data_url").as_deref(), Some(""));
    // Saving fetches by itself.
    let test = anna.post_pairs("/tests", &fields(&at("/rows.csv"), "save")).await.location();
    assert_eq!(plan_of(&anna, &test).await["data"]["rows"], json!([["ann", "1"], ["b,o", "2"]]));

    site.put("/loop", answer("302 Found", &["Location: /loop"], b""));
    site.put("/latin1", answer("200 OK", &[], b"user\n\xe9\n"));
    site.put("/packed", answer("200 OK", &["Content-Encoding: gzip"], b"user\nann\n"));
    site.put("/large", answer("200 OK", &[], &vec![b'x'; 8_000_001]));
    site.put("/page", ok("{\"a\": 1}"));
    for (url, said, field) in [
        (at("/none"), "status 404", "data_url"),
        (at("/loop"), "redirects more than 3 times", "data_url"),
        (at("/latin1"), "UTF-8", "data_url"),
        (at("/packed"), "packed", "data_url"),
        (at("/large"), "larger than 8 MB", "data_url"),
        ("not an address".to_owned(), "address", "data_url"),
        // Of a machine's own metadata service, which no installation dials unasked.
        ("http://169.254.169.254/rows.csv".to_owned(), "169.254.169.254", "data_url"),
        (at("/page"), "cannot be read", "data"),
    ] {
        let reply = anna.post_pairs("/tests", &fields(&url, "save")).await;
        assert_eq!(reply.status, 422, "{url}");
        let text = reply.select(&format!("#f-{}-error", field.replace('_', "-"))).join(" ");
        assert!(text.contains(said), "{url}: {text} {:?}", reply.select(".error-summary li"));
    }
    let nothing = anna.post_pairs("/tests", &fields("", "fetch:data")).await;
    assert!(nothing.select("#f-data-url-error").join(" ").contains("is needed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_data_stay_on_the_server_until_others_are_given() {
    let server = Server::start().await;
    let anna = server.sign_up("anna").await;
    let rows: Vec<Value> = (0..5000).map(|n| json!([format!("user-{n}")])).collect();
    let plan = json!({
        "load": {"type": "per_test", "clients": 1}, "duration_s": 1,
        "requests": [{"url": "http://127.0.0.1:9/{{user}}"}], "data": {"columns": ["user"], "rows": rows},
    });
    let test = test_of(&anna.post("/tests/import", &[("text", &plan.to_string())]).await);
    let form = anna.get(&format!("{test}/edit")).await;
    assert!(!form.body.contains("user-1234") && form.body.contains("Keep the 5,000 stored rows (user)"));
    let fields = |more: &[(&'static str, &'static str)]| {
        let all = [
            ("load", "per_test"),
            ("per_test", "2"),
            ("duration_s", "1"),
            ("timeout_ms", "1000"),
            ("error_threshold", "50"),
        ];
        let url = [
            ("requests[0].method", "GET"),
            ("requests[0].url", "http://127.0.0.1:9/{{user}}"),
            ("requests[0].stored", "0"),
        ];
        let pairs = all.iter().chain(&url).chain(more);
        pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let count = async || plan_of(&anna, &test).await["data"]["rows"].as_array().map_or(0, Vec::len);
    let edit = format!("{test}/edit");
    // A row is added to the form meanwhile: the rows are kept, and said to be.
    let again = anna.post_pairs(&edit, &fields(&[("data_kept", "on"), ("action", "add:limits")])).await;
    assert!(again.body.contains("Keep the 5,000 stored rows"), "{}", again.status);
    assert_eq!(anna.post_pairs(&edit, &fields(&[("data_kept", "on")])).await.status, 303);
    assert_eq!(count().await, 5000);
    anna.post_pairs(&edit, &fields(&[("data_kept", "on"), ("data", "user\nann\n")])).await;
    assert_eq!(count().await, 1);
}

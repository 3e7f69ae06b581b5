//! Tests that come from elsewhere, go elsewhere, and are tried once.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use harness::Server;
use harness::tools::Target;
use harness::user::Reply;

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
    assert!(!json.contains("geheim-token") && json.contains("requests[0].bearer"), "{json}");
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

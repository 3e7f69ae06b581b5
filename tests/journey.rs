//! The main job over plain HTTP, without a script: from signing up to comparing two runs of a test.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use harness::tools::Target;
use harness::user::{Anonymous, SignedIn};
use harness::{Server, form_of};

/// A test form as the browser would send it for a short run.
pub fn short_test(url: &str) -> Vec<(String, String)> {
    form_of(&[
        ("name", "Front page"),
        ("load", "per_second"),
        ("rate", "20"),
        ("duration_s", "2"),
        ("requests[0].method", "GET"),
        ("requests[0].url", url),
        ("timeout_ms", "10000"),
        ("error_threshold", "50"),
        ("reuse", "client"),
        ("http", "auto"),
        ("end", "drain"),
        ("redirects", "follow"),
    ])
}

async fn run_once(user: &SignedIn, test: &str) -> String {
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    user.wait_for_run(&run).await;
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn from_sign_up_to_comparing_two_runs_without_a_script() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let user = server.sign_up("anna").await;

    // A host: loopback is trusted by a local installation.
    let host = user.post("/hosts", &[("address", target.address())]).await.location();
    let page = user.get(&host).await;
    assert!(page.body.contains("Trusted by this installation"), "{}", page.body);

    // A test, from its form.
    let form = user.get("/tests/new").await;
    for name in ["load", "rate", "duration_s", "requests[0].url", "timeout_ms"] {
        assert!(!form.select(&format!("[name=\"{name}\"]")).is_empty(), "{name}");
    }
    let test = user.post_pairs("/tests", &short_test(&target.url("/delay/5"))).await.location();
    assert!(user.get(&test).await.body.contains("Front page"));

    // Two runs, a report, a link for a colleague.
    let (first, second) = (run_once(&user, &test).await, run_once(&user, &test).await);
    let report = user.get(&second).await;
    assert!(report.body.contains("Finished"), "{}", report.body);
    assert!(!report.select("svg").is_empty());
    let document = user.json(&format!("{second}/result.json?seconds=1")).await;
    assert_eq!((document["ledger"]["planned"].as_u64(), document["ledger"]["ok"].as_u64()), (Some(40), Some(40)));
    assert_eq!(document["seconds"].as_array().unwrap().iter().map(|s| s["ok"].as_u64().unwrap()).sum::<u64>(), 40);
    assert_eq!(target.count("/delay/5").unwrap(), 80);

    user.post(&format!("{second}/share"), &[]).await.location();
    let shared =
        user.get(&second).await.select_attribute("a[href^=\"/r/\"], input[value*=\"/r/\"]", &["href", "value"]);
    let link = shared.first().and_then(|l| l.find("/r/").map(|at| l[at..].to_owned())).expect("a public link");
    let colleague = Anonymous::new(&server);
    let public = colleague.get(&link).await;
    assert_eq!(public.status, 200);
    assert!(
        public.body.contains("Front page")
            && !public.body.contains(&second)
            && public.select("form[action*=\"/stop\"]").is_empty()
    );
    assert_eq!(colleague.json(&format!("{link}/result.json")).await["ledger"], document["ledger"]);

    // Side by side.
    let ids: Vec<&str> = [&first, &second].iter().map(|r| r.trim_start_matches("/runs/")).collect();
    let compared = user.get(&format!("/compare?run={}&run={}", ids[0], ids[1])).await;
    assert_eq!(compared.status, 200);
    for word in ["p50", "p95", "p99", "Requests per second"] {
        assert!(compared.body.contains(word), "{word}");
    }

    // The link is revoked.
    user.post(&format!("{second}/unshare"), &[]).await.location();
    assert_eq!(colleague.get(&link).await.status, 410);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_with_every_field_wrong_comes_back_with_every_value_and_one_message_a_field() {
    let server = Server::start().await;
    let user = server.sign_up("anna").await;
    let wrong = form_of(&[
        ("name", &"n".repeat(201)),
        ("notes", "</textarea><script>alert(1)</script>"),
        ("load", "per_second"),
        ("rate", "ten"),
        ("duration_s", "0"),
        ("requests[0].method", "GET"),
        ("requests[0].url", "nonsense\"><b>"),
        ("requests[0].headers", "no colon"),
        ("timeout_ms", "0"),
        ("idle_timeout_ms", "-1"),
        ("error_threshold", "101"),
        ("reuse", "client"),
        ("http", "auto"),
        ("end", "drain"),
        ("redirects", "follow"),
        ("max_clients", "0"),
        ("warm_up_s", "x"),
        ("max_rate_missed", "0"),
    ]);
    let reply = user.post_pairs("/tests", &wrong).await;
    assert_eq!(reply.status, 422);
    assert!(!reply.body.contains("<script>alert"), "user text is inert");
    for (name, value) in &wrong {
        if matches!(name.as_str(), "load" | "requests[0].method" | "reuse" | "http" | "end" | "redirects") {
            continue;
        }
        let kept = reply.value_of(name);
        assert_eq!(kept.as_deref(), Some(value.as_str()), "{name}");
    }
    for field in [
        "name",
        "rate",
        "duration_s",
        "requests[0].url",
        "requests[0].headers",
        "timeout_ms",
        "idle_timeout_ms",
        "error_threshold",
        "max_clients",
        "warm_up_s",
        "max_rate_missed",
    ] {
        let control = reply.select(&format!("[name=\"{field}\"][aria-invalid=\"true\"]"));
        assert_eq!(control.len(), 1, "{field}");
    }
    assert!(user.get("/tests").await.select("a[href^=\"/tests/0\"]").is_empty(), "nothing was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_grows_and_shrinks_without_a_script() {
    let server = Server::start().await;
    let user = server.sign_up("anna").await;
    let mut form = short_test("http://127.0.0.1:9900/");
    form.push(("action".into(), "add:requests".into()));
    let reply = user.post_pairs("/tests", &form).await;
    assert_eq!((reply.status, reply.value_of("requests[0].url").as_deref()), (200, Some("http://127.0.0.1:9900/")));
    assert_eq!(reply.value_of("requests[1].url").as_deref(), Some(""));
    form.pop();
    form.push(("action".into(), "remove:requests:0".into()));
    assert_eq!(
        user.post_pairs("/tests", &form).await.value_of("requests[0].url").as_deref(),
        Some("http://127.0.0.1:9900/")
    );
    // Every list, and nothing of it is stored.
    form.pop();
    form.push(("requests[0].extract[0].name".into(), "half typ".into()));
    for (action, field) in [
        ("add:stages", "stages[0].to"),
        ("add:limits", "limits[0].text"),
        ("add:requests[0].extract", "requests[0].extract[1].name"),
        ("add:requests[0].assert", "requests[0].assert[0].value"),
        ("pattern:spike", "stages[4].to"),
    ] {
        form.push(("action".into(), action.into()));
        let reply = user.post_pairs("/tests", &form).await;
        assert_eq!((reply.status, reply.select(&format!("[name=\"{field}\"]")).len()), (200, 1), "{action}");
        assert_eq!(reply.value_of("requests[0].extract[0].name").as_deref(), Some("half typ"), "{action}");
        form.pop();
    }
    assert!(user.get("/tests").await.select("a[href^=\"/tests/0\"]").is_empty(), "nothing was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_along_without_a_script() {
    let server = Server::start().await;
    let user = server.sign_up("anna").await;
    let boundary = "b0undary";
    let part = |name: &str, file: Option<&str>, value: &str| {
        let file = file.map(|f| format!("; filename=\"{f}\"")).unwrap_or_default();
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n")
    };
    let send = async |path: &str, fields: &[(String, String)], files: &[(&str, &str, &str)]| {
        let mut body: String = fields.iter().map(|(name, value)| part(name, None, value)).collect();
        body.extend(files.iter().map(|(name, file, value)| part(name, Some(file), value)));
        body.push_str(&format!("--{boundary}--\r\n"));
        let kind = format!("multipart/form-data; boundary={boundary}");
        user.send(user.request("POST", path).header("origin", server.url()).header("content-type", kind).body(body))
            .await
    };
    let mut form = short_test("http://127.0.0.1:9900/{{user}}");
    form.push(("requests[0].body_mode".into(), "file".into()));
    let files = [
        ("requests[0].body_file", "a.bin", "\u{1}bytes"),
        ("data_file", "users.csv", "user,pin\nann,1\n"),
        ("x", "", ""),
    ];
    // A button sends the files too, and the form keeps them.
    form.push(("action".into(), "add:limits".into()));
    let again = send("/tests", &form, &files).await;
    assert_eq!((again.status, again.value_of("requests[0].body_base64").as_deref()), (200, Some("AWJ5dGVz")));
    assert_eq!(again.value_of("data").as_deref(), Some("user,pin\nann,1\n"));
    form.pop();
    let test = send("/tests", &form, &files).await.location();
    let page = user.get(&test).await;
    assert!(page.body.contains("1 row of user, pin") && page.body.contains("body of 6 B"), "{}", page.body);
    // A stored file is not sent back, and stays until another comes.
    let edit = user.get(&format!("{test}/edit")).await;
    assert!(!edit.body.contains("AWJ5dGVz") && edit.body.contains("is kept unless you choose another"));
    form.push(("requests[0].stored".into(), "0".into()));
    assert_eq!(send(&format!("{test}/edit"), &form, &[]).await.location(), test);
    assert!(user.get(&test).await.body.contains("body of 6 B"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_is_edited_copied_and_deleted() {
    let server = Server::start().await;
    let user = server.sign_up("anna").await;
    let test = user.post_pairs("/tests", &short_test("http://127.0.0.1:9900/")).await.location();
    let mut changed = short_test("http://127.0.0.1:9900/");
    changed[0].1 = "Renamed".into();
    assert_eq!(user.post_pairs(&format!("{test}/edit"), &changed).await.location(), test);
    assert!(user.get(&test).await.body.contains("Renamed"));
    let copy = user.post(&format!("{test}/copy"), &[]).await.location();
    assert!(user.get(&copy).await.body.contains("Copy of Renamed"));
    user.post(&format!("{test}/delete"), &[]).await.location();
    assert_eq!(user.get(&test).await.status, 404);
    assert_eq!(user.post(&format!("{test}/delete"), &[]).await.status, 404);
    // Without a registered host nothing runs, and the page says what to do.
    let foreign = user.post_pairs("/tests", &short_test("http://shop.example/")).await.location();
    assert_eq!(user.post(&format!("{foreign}/run"), &[]).await.location(), foreign);
    assert!(user.get(&foreign).await.body.contains("register and verify"));
}

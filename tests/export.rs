//! Reports as files: the same figures in each, and texts that stay texts.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::collections::BTreeMap;

use axum::Router;
use axum::response::Redirect;
use base64::Engine as _;
use harness::tools::{Target, artefacts};
use harness::user::{Anonymous, Reply, SignedIn};
use harness::{Server, form_of};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

/// A formula, a quote, a comma, an element, an entity, and what looks like a path.
const HOSTILE: &str = "=HYPERLINK(\"http://x\",\"y\"),\"a\" <script>alert(1)</script>&nbsp;'../é";

/// Makes and runs a test whose every second request fails.
async fn run_once(user: &SignedIn, target: &Target, changes: &[(&str, &str)]) -> String {
    user.post("/hosts", &[("address", target.address())]).await;
    let (ok, missing) = (target.url("/delay/3"), target.url("/status/404"));
    let mut form = form_of(&[
        ("name", "Front page"),
        ("load", "fixed_count"),
        ("requests", "120"),
        ("clients", "4"),
        ("timeout_ms", "10000"),
        ("error_threshold", "100"),
        ("limits[0].text", "p95>10s"),
        ("limits[1].text", "errors>1%"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &ok),
        ("requests[1].method", "GET"),
        ("requests[1].url", &missing),
    ]);
    for (name, value) in changes {
        form.retain(|(known, _)| known != name);
        form.extend(form_of(&[(name, value)]));
    }
    let test = user.post_pairs("/tests", &form).await.location();
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    user.wait_for_run(&run).await;
    run
}

async fn export(visitor: &Anonymous, at: &str, file: &str) -> Reply {
    let reply = visitor.get(&format!("{at}/export/{file}")).await;
    assert_eq!(reply.status, 200, "{file}: {}", reply.body);
    assert_eq!(reply.header("cache-control"), Some("private, no-store"), "{file}");
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{file}");
    assert_eq!(reply.header("x-robots-tag").is_some(), at.starts_with("/r/"), "{file}");
    reply
}

fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new().terminator(csv::Terminator::CRLF).from_reader(csv.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_page_and_document_has_the_same_figures() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    let run = run_once(&anna, &target, &[]).await;
    anna.post(&format!("{run}/share"), &[]).await.location();
    let page = anna.get(&run).await;
    let link = page.select_attribute("a[href^=\"/r/\"]", &["href"]).remove(0);
    let reader = Anonymous::new(&server);
    let doc = anna.json(&format!("{run}/result.json?seconds=1")).await;
    assert_eq!(doc["ledger"]["sent"], 120);
    assert_eq!(anna.json(&run.replace("/runs/", "/api/v1/runs/")).await["latency_ms"], doc["latency_ms"]);
    for (visitor, at) in [(&*anna, &run), (&reader, &link)] {
        let exported: Value = serde_json::from_str(&export(visitor, at, "result.json").await.body).unwrap();
        assert_eq!(exported, doc, "{at}");
        compare_seconds(&export(visitor, at, "seconds.csv").await.body, &doc);
        compare_errors(&export(visitor, at, "errors.csv").await.body, &doc);
        compare_log(&export(visitor, at, "latency.hlog").await.body, &doc);
        compare_percentiles(&export(visitor, at, "percentiles.csv").await.body, &doc);
        compare_requests(&export(visitor, at, "requests.tsv").await.body, &doc);
        compare_junit(&export(visitor, at, "junit.xml").await.body, &doc);
        // What people read: about three digits of the same.
        let shown = visitor.get(at).await;
        for (css, value) in [("p95", &doc["latency_ms"]["p95"]), ("p99", &doc["latency_ms"]["p99"])] {
            let figures = shown.select(".figures .figure");
            let figure = figures.iter().find(|figure| figure.starts_with(css)).unwrap();
            let read = figure[css.len()..].trim().split(' ').next().unwrap().parse::<f64>().unwrap();
            let exact = value.as_f64().unwrap();
            assert!((read - exact).abs() <= exact * 0.01 + 0.0005, "{css}: {read} and {exact}");
        }
    }
}

fn number(doc: &Value, path: &str) -> f64 {
    doc.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {doc}"))
}

fn compare_seconds(csv: &str, doc: &Value) {
    let rows = rows(csv);
    let sum = |name: &str| rows.iter().map(|row| row[name].parse::<u64>().unwrap()).sum::<u64>() as f64;
    let ledger = |name: &str| number(doc, &format!("/ledger/{name}"));
    assert_eq!([sum("planned"), sum("sent"), sum("ok")], [ledger("planned"), ledger("sent"), ledger("ok")]);
    assert_eq!(sum("errors"), ledger("sent") - ledger("ok"));
    assert_eq!(sum("bytes_received"), number(doc, "/bytes/received"));
    let rate = (sum("ok") + sum("errors")) / number(doc, "/duration_s");
    let told = number(doc, "/requests_per_second");
    // The length is told in whole ms.
    assert!((rate - told).abs() <= told * 0.02, "{rate} and {told}");
    let most = rows.iter().filter_map(|row| row["max_ms"].parse::<f64>().ok()).fold(0.0, f64::max);
    assert_eq!(most, number(doc, "/latency_ms/max"));
    let first = &rows[0];
    assert_eq!((first["test"].as_str(), first["second"].as_str()), ("Front page", "0"));
    assert_eq!(Value::from(first["time_utc"].as_str()), doc["started_at"]);
    assert!(rows.iter().all(|row| row["time_utc"].ends_with('Z')));
    assert_eq!(first["p50_ms"].parse::<f64>().unwrap(), number(doc, "/seconds/0/p50"));
}

fn compare_errors(csv: &str, doc: &Value) {
    let rows = rows(csv);
    let sum: u64 = rows.iter().map(|row| row["count"].parse::<u64>().unwrap()).sum();
    assert_eq!(sum as f64, number(doc, "/ledger/sent") - number(doc, "/ledger/ok"));
    assert_eq!((rows[0]["kind"].as_str(), rows[0]["detail"].as_str()), ("status", "404"));
}

fn compare_log(log: &str, doc: &Value) {
    let mut all = Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
    let mut intervals = 0;
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let bytes = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
            all.add(Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]).unwrap()).unwrap();
            intervals += 1;
        }
    }
    assert!(intervals >= 1 && intervals <= doc["seconds"].as_array().unwrap().len());
    assert_eq!(all.len() as f64, number(doc, "/latency_ms/count"));
    for (quantile, name) in [(0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (1.0, "max")] {
        let (logged, exact) =
            (all.value_at_quantile(quantile) as f64 / 1000.0, number(doc, &format!("/latency_ms/{name}")));
        assert!((logged - exact).abs() <= exact * 0.001 + 0.001, "{name}: {logged} and {exact}");
    }
}

fn compare_percentiles(csv: &str, doc: &Value) {
    assert!(csv.starts_with("Percentage served,Time in ms\r\n"), "{csv}");
    let rows: Vec<(u32, f64)> = csv
        .lines()
        .skip(1)
        .map(|row| row.split_once(',').unwrap())
        .map(|(percent, ms)| (percent.parse().unwrap(), ms.parse().unwrap()))
        .collect();
    assert_eq!(rows.iter().map(|(percent, _)| *percent).collect::<Vec<_>>(), (0..=100).collect::<Vec<_>>());
    for (percent, name) in [(0, "min"), (50, "p50"), (66, "p66"), (95, "p95"), (99, "p99"), (100, "max")] {
        assert_eq!(rows[percent].1, number(doc, &format!("/latency_ms/{name}")), "{name}");
    }
    assert!(rows.windows(2).all(|pair| pair[0].1 <= pair[1].1));
}

fn compare_requests(tsv: &str, doc: &Value) {
    let mut lines = tsv.lines();
    assert_eq!(lines.next(), Some("starttime\tseconds\tctime\tdtime\tttime\twait"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 6), "{tsv}");
    assert_eq!(rows.len() as f64, number(doc, "/latency_ms/count"));
    let most = rows.iter().map(|row| row[4].parse::<f64>().unwrap()).fold(0.0, f64::max);
    assert!((most - number(doc, "/latency_ms/max")).abs() <= 0.501, "{most}");
    assert!(rows.windows(2).all(|pair| pair[0][1] <= pair[1][1]), "in the order of time");
}

fn compare_junit(xml: &str, doc: &Value) {
    let document = roxmltree::Document::parse(xml).unwrap();
    let property = |name: &str| {
        let found =
            document.descendants().find(|node| node.attribute("name") == Some(name) && node.has_tag_name("property"));
        found
            .and_then(|node| node.attribute("value"))
            .unwrap_or_else(|| panic!("{name} in {xml}"))
            .parse::<f64>()
            .unwrap()
    };
    for name in ["p50", "p95", "p99", "max", "min", "mean"] {
        assert_eq!(property(&format!("{name}_ms")), number(doc, &format!("/latency_ms/{name}")), "{name}");
    }
    assert_eq!(property("requests_per_second"), number(doc, "/requests_per_second"));
    assert_eq!(property("error_rate"), number(doc, "/error_rate"));
    assert_eq!(property("sent"), number(doc, "/ledger/sent"));
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!(
        (suite.attribute("name"), suite.attribute("tests"), suite.attribute("failures")),
        (Some("Front page"), Some("4"), Some("1"))
    );
    let cases: Vec<(&str, bool)> = suite
        .children()
        .filter(|node| node.has_tag_name("testcase"))
        .map(|case| (case.attribute("name").unwrap(), case.children().any(|node| node.has_tag_name("failure"))))
        .collect();
    assert_eq!(
        cases,
        [
            ("not p95>10s", false),
            ("not errors>1%", true),
            ("every request is accounted for", false),
            ("the run came to its planned end", false),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_have_types_and_names_and_wait_for_the_end() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    let run = run_once(&anna, &target, &[("name", HOSTILE)]).await;
    let day = &anna.json(&format!("{run}/result.json")).await["started_at"].as_str().unwrap()[..10].to_owned();
    let offered: Vec<String> = anna.get(&run).await.select_attribute(".downloads a", &["href"]);
    assert_eq!(offered.len(), 11, "{offered:?}");
    for (file, kind) in [
        ("result.json", "application/json"),
        ("seconds.csv", "text/csv"),
        ("errors.csv", "text/csv"),
        ("percentiles.csv", "text/csv"),
        ("requests.tsv", "text/tab-separated-values"),
        ("latency.hlog", "text/plain"),
        ("junit.xml", "application/xml"),
        ("response-times.svg", "image/svg+xml"),
        ("response-times.png", "image/png"),
        ("throughput.svg", "image/svg+xml"),
        ("throughput.png", "image/png"),
    ] {
        assert!(offered.contains(&format!("{run}/export/{file}")), "{file} is offered");
        let reply = export(&anna, &run, file).await;
        assert!(reply.header("content-type").unwrap().starts_with(kind), "{file}");
        let name = format!("oleada-hyperlink-http-x-y-a-script-alert-1-script-nbsp-{day}-{file}");
        assert_eq!(reply.header("content-disposition"), Some(&*format!("attachment; filename=\"{name}\"")), "{file}");
    }
    for file in ["", "nothing", "seconds.CSV", "%2e%2e", "seconds.csv/x"] {
        assert_eq!(anna.get(&format!("{run}/export/{file}")).await.status, 404, "{file}");
    }
    let test = anna.get(&run).await.select_attribute("form[action$=\"/run\"]", &["action"]).remove(0);
    let edit = test.replace("/run", "/edit");
    let form = [
        ("name", "Long"),
        ("load", "per_second"),
        ("rate", "10"),
        ("duration_s", "600"),
        ("requests[0].method", "GET"),
        ("requests[0].url", &target.url("/")),
    ];
    anna.post(&edit, &form).await.location();
    let long = anna.post(&test, &[]).await.location();
    anna.wait_for_text(&long, "Running").await;
    let early = anna.get(&format!("{long}/export/seconds.csv")).await;
    assert_eq!(early.status, 409);
    assert!(early.body.contains("when it is over"), "{}", early.body);
    anna.post(&format!("{long}/stop"), &[]).await;
    anna.wait_for_run(&long).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b66_hostile_texts_stay_texts_in_every_file_and_frame() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    // Redirects to a foreign host, whose name stands in what failed.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let odd = listener.local_addr().unwrap().to_string();
    let away = || async { Redirect::temporary("http://elsewhere.test/%3Cscript%3E'\"") };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(away)).await });
    anna.post("/hosts", &[("address", &odd)]).await;
    let url = format!("http://{odd}/?q=<script>alert(1)</script>&'\"=1");
    let changes = [
        ("name", HOSTILE),
        ("notes", HOSTILE),
        ("requests[0].name", HOSTILE),
        ("requests[0].url", &*url),
        ("requests[0].headers", "X-<script>: <script>alert(1)</script>"),
        ("limits[1].request", "0"),
    ];
    // A header name of such signs is refused; that is told, and the rest goes.
    let refused =
        anna.post_pairs("/tests", &form_of(&[("name", HOSTILE), ("requests[0].headers", "X-<script>: 1")])).await;
    assert_eq!(refused.status, 422);
    let kept: Vec<_> = changes.iter().copied().filter(|(name, _)| !name.ends_with("headers")).collect();
    let run = run_once(&anna, &target, &kept).await;
    anna.post(&format!("{run}/share"), &[]).await.location();
    let link = anna.get(&run).await.select_attribute("a[href^=\"/r/\"]", &["href"]).remove(0);
    let reader = Anonymous::new(&server);

    let seconds = rows(&export(&reader, &link, "seconds.csv").await.body);
    let errors = rows(&export(&reader, &link, "errors.csv").await.body);
    assert!(!seconds.is_empty() && !errors.is_empty());
    for row in seconds.iter().chain(&errors) {
        assert_eq!(row["test"], format!("'{HOSTILE}"), "the text, and no formula");
    }
    let doc: Value = serde_json::from_str(&export(&reader, &link, "result.json").await.body).unwrap();
    assert_eq!(doc["plan"]["requests"][0]["name"], HOSTILE, "JSON holds the exact text");
    let junit = export(&reader, &link, "junit.xml").await.body;
    let junit = roxmltree::Document::parse(&junit).unwrap();
    let suite = junit.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!(suite.attribute("name"), Some(HOSTILE));
    assert!(suite.children().any(|case| case.attribute("name") == Some(&*format!("not errors>1% for {HOSTILE}"))));
    for file in ["response-times.svg", "throughput.svg"] {
        let svg = export(&reader, &link, file).await.body;
        let svg = roxmltree::Document::parse(&svg).unwrap();
        let elements = ["svg", "style", "rect", "text", "g", "title", "desc", "path", "line", "circle"];
        for node in svg.descendants().filter(roxmltree::Node::is_element) {
            assert!(elements.contains(&node.tag_name().name()), "{file}: {node:?}");
            assert!(node.attributes().all(|a| !a.name().starts_with("on") && a.name() != "href"), "{file}: {node:?}");
        }
        assert!(svg.descendants().any(|node| node.text().is_some_and(|text| text.starts_with("=HYPERLINK("))));
    }
    for below in ["", "/embed"] {
        let page = reader.get(&format!("{link}{below}")).await;
        assert_eq!(page.status, 200);
        assert!(page.select("script").iter().all(|script| !script.contains("alert(1)")), "{below}");
        assert_eq!(
            page.select("h1"),
            [HOSTILE.split_whitespace().collect::<Vec<_>>().join(" ")],
            "{below}: exactly once escaped"
        );
        assert!(!page.body.contains("<script>alert") && !page.body.contains("&amp;amp;"), "{below}");
    }
    let title = reader.get(&link).await.select_attribute("meta[property=\"og:title\"]", &["content"]);
    assert_eq!(title, [HOSTILE]);
    assert_eq!(reader.get(&format!("{link}/picture.png")).await.status, 200);
}

fn size_of(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

async fn bytes_of(visitor: &Anonymous, path: &str) -> (reqwest::header::HeaderMap, Vec<u8>) {
    let response = visitor.request("GET", path).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200, "{path}");
    (response.headers().clone(), response.bytes().await.unwrap().to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn links_have_a_preview_and_a_frame_and_other_pages_have_neither() {
    let (server, target) = (Server::start().await, Target::start().unwrap());
    let anna = server.sign_up("anna").await;
    let run = run_once(&anna, &target, &[("load", "per_second"), ("rate", "20"), ("duration_s", "3")]).await;
    anna.post(&format!("{run}/share"), &[]).await.location();
    let own = anna.get(&run).await;
    let link = own.select_attribute("a[href^=\"/r/\"]", &["href"]).remove(0);
    let reader = Anonymous::new(&server);
    let meta = |page: &Reply, name: &str| page.select_attribute(&format!("meta[property=\"og:{name}\"]"), &["content"]);
    for name in ["title", "description", "image", "url"] {
        assert!(meta(&own, name).is_empty(), "the owner's page has no preview");
    }
    let page = reader.get(&link).await;
    assert_eq!(meta(&page, "title"), ["Front page"]);
    assert_eq!(meta(&page, "url"), [format!("{}{link}", server.url())]);
    let says = meta(&page, "description").remove(0);
    let parts: Vec<&str> = says.split(", ").collect();
    assert!(parts.len() == 4 && parts[0].starts_with("p95 ") && parts[0].ends_with(" ms"), "{says}");
    assert!(
        parts[1].ends_with(" requests/s") && parts[2].ends_with(" % errors") && parts[3].starts_with("limited by"),
        "{says}"
    );
    assert_eq!(meta(&page, "image"), [format!("{}{link}/picture.png", server.url())]);
    assert!(reader.get("/robots.txt").await.body.contains("Allow: /r/"));
    assert_eq!(page.select_attribute("meta[name=\"robots\"]", &["content"]), ["noindex"]);

    let (headers, png) = bytes_of(&reader, &format!("{link}/picture.png")).await;
    assert_eq!(size_of(&png), (1200, 630));
    assert_eq!(headers["content-type"], "image/png");
    assert_eq!(headers["cross-origin-resource-policy"], "cross-origin");
    std::fs::write(artefacts().join("link-preview.png"), &png).unwrap();
    assert_eq!(bytes_of(&reader, &format!("{link}/picture.png")).await.1, png, "kept");
    let (_, chart) = bytes_of(&reader, &format!("{link}/export/response-times.png")).await;
    assert_eq!(size_of(&chart), (2016, 984));
    std::fs::write(artefacts().join("chart-export.png"), &chart).unwrap();
    // Words are drawn: a picture without them is a good deal smaller.
    assert!(png.len() > 20_000, "{}", png.len());

    let frame = reader.get(&format!("{link}/embed")).await;
    let policy = |reply: &Reply| reply.header("content-security-policy").unwrap().to_owned();
    assert!(policy(&frame).contains("frame-ancestors *;"), "{}", policy(&frame));
    assert!(frame.select("script, form, nav").is_empty() && frame.select("svg").len() >= 2);
    assert_eq!(frame.select_attribute("h1 a", &["href"]), [format!("{}{link}", server.url())]);
    assert_eq!(frame.select("dl.figures dt"), ["Requests/s", "p50", "p95", "p99", "Errors"]);
    for path in [&*link, "/", "/sign-in", &format!("{link}/export/seconds.csv"), &format!("{link}/result.json")] {
        assert!(policy(&reader.get(path).await).contains("frame-ancestors 'none';"), "{path}");
    }
    let snippet = own.select("#embed-snippet").remove(0);
    assert!(snippet.starts_with(&format!("<iframe src=\"{}{link}/embed\" ", server.url())), "{snippet}");

    anna.post(&format!("{run}/unshare"), &[]).await.location();
    let gone = reader.get(&format!("{link}/embed")).await;
    assert_eq!(gone.status, 410);
    assert!(policy(&gone).contains("frame-ancestors *;") && gone.body.contains("revoked"), "{}", gone.body);
    assert_eq!(reader.get(&format!("{link}/picture.png")).await.status, 410, "also when it was kept");
}

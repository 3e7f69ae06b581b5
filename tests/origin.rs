//! The comparison that this project comes from: web servers side by side under a growing number of clients, and ab's series.
//!
//! In the test suite it runs small; `cargo xtask origin` runs it in full and writes the table.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fmt::Write as _;
use std::process::Command;

use harness::tools::{artefacts, asked_for, tool};
use harness::user::SignedIn;
use harness::webserver::{Kind, LARGE, Logged, SMALL, WebServer};
use harness::{Server, form_of};
use serde_json::Value;

/// How large the comparison is.
struct Size {
    from: &'static str,
    to: &'static str,
    seconds: &'static str,
    counts: [u64; 2],
    servers: &'static [Kind],
}

const SMALL_SIZE: Size =
    Size { from: "100", to: "1000", seconds: "5", counts: [1_000, 10_000], servers: &[Kind::Nginx, Kind::Apache] };
const FULL_SIZE: Size =
    Size { from: "1000", to: "10000", seconds: "60", counts: [1_000, 100_000], servers: &Kind::ALL };

/// One finished run of ours.
struct Measured {
    run: String,
    doc: Value,
}

impl Measured {
    fn count(&self, column: &str) -> u64 {
        self.doc["ledger"][column].as_u64().unwrap()
    }

    fn ms(&self, name: &str) -> String {
        self.doc["latency_ms"][name].as_f64().map_or("–".into(), |v| format!("{v:.3}"))
    }

    fn rate(&self) -> f64 {
        self.doc["requests_per_second"].as_f64().unwrap_or(0.0)
    }

    /// Requests whose fate the server may see differently: we gave up on them.
    fn given_up(&self) -> u64 {
        ["timeout", "network", "aborted"].iter().map(|c| self.count(c)).sum()
    }
}

async fn measure(user: &SignedIn, name: &str, load: &[(&str, &str)], url: &str, reuse: &str) -> Measured {
    let mut form = form_of(load);
    form.extend(form_of(&[
        ("name", name),
        ("requests[0].method", "GET"),
        ("requests[0].url", url),
        ("timeout_ms", "10000"),
        ("error_threshold", "90"),
        ("reuse", reuse),
        ("http", "auto"),
        ("end", "drain"),
        ("redirects", "off"),
    ]));
    let test = user.post_pairs("/tests", &form).await.location();
    let run = user.post(&format!("{test}/run"), &[]).await.location();
    user.wait_for_run(&run).await;
    let doc = user.json(&format!("{run}/result.json?seconds=1")).await;
    assert_closed(&doc);
    Measured { run, doc }
}

fn assert_closed(doc: &Value) {
    let l = |name: &str| doc["ledger"][name].as_u64().unwrap_or_else(|| panic!("{name} in {doc}"));
    let outcomes =
        ["ok", "status_4xx", "status_5xx", "status_other", "timeout", "network", "invalid", "local", "aborted"];
    assert_eq!(l("planned"), l("sent") + l("dropped"), "{doc}");
    assert_eq!(l("sent"), outcomes.map(l).iter().sum::<u64>(), "{doc}");
}

/// Complete answers in the server's log must be our ok ones: exactly, unless we gave up on some, which the server may have
/// finished writing all the same.
fn compare_with_log(measured: &Measured, log: &[Logged], path: &str, body: usize) {
    let complete = log.iter().filter(|l| l.status == 200 && l.path == path && l.body == body).count() as u64;
    let (ok, given_up) = (measured.count("ok"), measured.given_up());
    assert!(complete >= ok && complete <= ok + given_up, "log {complete}, ok {ok}, given up {given_up}");
    assert_eq!(measured.count("invalid") + measured.count("local"), 0, "{}", measured.doc["errors"]);
    if given_up == 0 {
        assert_eq!(log.len() as u64, measured.count("sent"), "every request is in the log");
    }
}

/// Debian's ab against the same page: its requests per second.
fn ab(program: &std::path::Path, url: &str, n: u64, keep_alive: bool) -> f64 {
    let mut command = Command::new(program);
    command.args(["-q", "-n", &n.to_string(), "-c", "10"]);
    if keep_alive {
        command.arg("-k");
    }
    let output = command.arg(url).output().expect("ab starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let figure = |label: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(label)).unwrap_or_else(|| panic!("{label} in {text}"));
        line.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(figure("Complete requests:"), n as f64, "{text}");
    assert_eq!(figure("Failed requests:"), 0.0, "{text}");
    figure("Requests per second:")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_founding_comparison() {
    let full = asked_for("OLEADA_ORIGIN", "full");
    let size = if full { FULL_SIZE } else { SMALL_SIZE };
    let Some(ab_program) = tool("OLEADA_TEST_AB") else { return };
    let server = Server::start().await;
    let user = server.sign_up("anna").await;
    let mut table = String::from(
        "| server | page | load | requests/s | min ms | mean ms | p50 ms | p95 ms | p99 ms | max ms | errors | sent | dropped |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut series = String::from(
        "| server | n | keep-alive | Oleada requests/s | ab requests/s | ratio |\n|---|---|---|---|---|---|\n",
    );
    let mut columns: [Vec<String>; 2] = Default::default();
    for kind in size.servers {
        let Some(web) = WebServer::start(*kind).unwrap() else { continue };
        user.post("/hosts", &[("address", &web.address())]).await;
        for (page, bytes, runs) in [("small.html", SMALL, 0), ("large.html", LARGE, 1)] {
            let load = [("load", "maintain"), ("from", size.from), ("to", size.to), ("duration_s", size.seconds)];
            let name = format!("{} {page}", kind.name());
            let measured = measure(&user, &name, &load, &web.url(page), "client").await;
            compare_with_log(&measured, &web.take_log().unwrap(), &format!("/{page}"), bytes);
            row(&mut table, *kind, page, &format!("{}→{} clients", size.from, size.to), &measured);
            columns[runs].push(measured.run.trim_start_matches("/runs/").to_owned());
        }
        for n in size.counts {
            for keep_alive in [true, false] {
                let load =
                    [("load", "fixed_count"), ("requests", &n.to_string()), ("clients", "10"), ("duration_s", "")];
                let reuse = if keep_alive { "client" } else { "off" };
                let name = format!("{} n={n} {reuse}", kind.name());
                let measured = measure(&user, &name, &load, &web.url("small.html"), reuse).await;
                assert_eq!((measured.count("ok"), measured.count("sent")), (n, n), "{}", measured.doc);
                let log = web.take_log().unwrap();
                compare_with_log(&measured, &log, "/small.html", SMALL);
                assert_eq!(log.len() as u64, n);
                row(&mut table, *kind, "small.html", &format!("n={n} c=10 reuse {reuse}"), &measured);
                let theirs = ab(&ab_program, &web.url("small.html"), n, keep_alive);
                web.take_log().unwrap();
                let ratio = measured.rate() / theirs;
                let on = if keep_alive { "on" } else { "off" };
                let _ = writeln!(
                    series,
                    "| {} | {n} | {on} | {:.0} | {theirs:.0} | {ratio:.2} |",
                    kind.name(),
                    measured.rate()
                );
            }
        }
    }
    for (name, runs) in [("612 bytes", &columns[0]), ("2 MB", &columns[1])] {
        compare_page(&user, name, runs, size.servers).await;
    }
    println!("{table}\n{series}");
    std::fs::write(artefacts().join("origin.md"), format!("{table}\n{series}")).unwrap();
}

fn row(table: &mut String, kind: Kind, page: &str, load: &str, m: &Measured) {
    let _ = writeln!(
        table,
        "| {} | {page} | {load} | {:.1} | {} | {} | {} | {} | {} | {} | {:.2} % | {} | {} |",
        kind.name(),
        m.rate(),
        m.ms("min"),
        m.ms("mean"),
        m.ms("p50"),
        m.ms("p95"),
        m.ms("p99"),
        m.ms("max"),
        m.doc["error_rate"].as_f64().unwrap_or(0.0) * 100.0,
        m.count("sent"),
        m.count("dropped"),
    );
}

/// The compare page shows both servers with every figure that the comparison is about.
async fn compare_page(user: &SignedIn, name: &str, runs: &[String], servers: &[Kind]) {
    if runs.len() < 2 {
        return;
    }
    let query: Vec<String> = runs.iter().map(|r| format!("run={r}")).collect();
    let page = user.get(&format!("/compare?{}", query.join("&"))).await;
    assert_eq!(page.status, 200);
    for kind in &servers[..runs.len()] {
        assert!(page.body.contains(kind.name()), "{name}: {} is named", kind.name());
    }
    let rows = page.select("tr");
    for label in ["Requests per second", "Mean", "Smallest", "Largest", "p50", "p95", "p99", "Error share"] {
        let row = rows.iter().find(|r| r.to_lowercase().starts_with(&label.to_lowercase()));
        let row = row.unwrap_or_else(|| panic!("{name}: {label} in {rows:?}"));
        assert!(row.chars().any(|c| c.is_ascii_digit()), "{name}: {row}");
    }
}

//! `oleada bench` and `oleada target` as a script sees them: documents, counts, exit codes.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use harness::tools::{Target, oleada, run_oleada, temp_dir};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use serde_json::{Value, json};

fn bench(arguments: &[&str]) -> (i32, Value, String) {
    let all: Vec<&str> = ["bench", "--json"].iter().chain(arguments).copied().collect();
    let output = run_oleada(&all);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {errors}"));
    (output.status.code().unwrap(), document, errors)
}

/// planned = sent + dropped, sent = sum of outcomes, and everything else in the document agrees with it.
fn assert_closed(doc: &Value) {
    let l = |name: &str| doc["ledger"][name].as_u64().unwrap_or_else(|| panic!("{name}"));
    assert_eq!(l("planned"), l("sent") + l("dropped"), "{doc}");
    let answered: u64 = ["ok", "status_4xx", "status_5xx", "status_other"].map(l).iter().sum();
    let failed: u64 = ["timeout", "network", "invalid", "local", "aborted"].map(l).iter().sum();
    assert_eq!(l("sent"), answered + failed, "{doc}");
    assert_eq!(doc["latency_ms"]["count"].as_u64(), Some(answered), "{doc}");
    let by_status: u64 = doc["statuses"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!(by_status, answered, "{doc}");
    if let Some(seconds) = doc["seconds"].as_array() {
        let sum = |name: &str| seconds.iter().map(|s| s[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!([sum("planned"), sum("sent"), sum("ok")], [l("planned"), l("sent"), l("ok")], "{doc}");
        assert_eq!(sum("errors"), l("sent") - l("ok"), "{doc}");
        assert_eq!(sum("bytes_received"), doc["bytes"]["received"].as_u64().unwrap(), "{doc}");
    }
    assert!(!doc.to_string().contains("NaN"));
}

#[test]
fn a_fixed_count_is_exact_and_the_document_is_whole() {
    let target = Target::start().unwrap();
    let (code, doc, _) = bench(&["--requests", "503", "--clients", "10", "--seconds", &target.url("/")]);
    assert_eq!(code, 0, "{doc}");
    assert_closed(&doc);
    assert_eq!(doc["ledger"]["ok"], 503);
    assert_eq!(target.count("/").unwrap(), 503);
    assert_eq!((doc["version"].as_u64(), doc["end_reason"].as_str()), (Some(1), Some("completed")));
    assert_eq!(doc["bytes"]["body"], 2 * 503);
    assert_eq!(doc["connections"]["opened"].as_u64().unwrap() + doc["connections"]["reused"].as_u64().unwrap(), 503);
    assert_eq!(doc["plan"]["load"], serde_json::json!({"type": "fixed_count", "requests": 503, "clients": 10}));
    assert!(doc["started_at"].as_str().unwrap().ends_with('Z'));
    for name in [
        "tool",
        "duration_s",
        "requests_per_second",
        "error_rate",
        "service_ms",
        "failed_ms",
        "phases_ms",
        "lateness_ms",
        "redirects",
        "errors",
        "in_flight_at_end_ms",
        "requests",
        "verdict",
        "generator",
    ] {
        assert!(doc.get(name).is_some(), "{name}");
    }
    for name in ["min", "mean", "stddev", "p50", "p66", "p75", "p80", "p90", "p95", "p98", "p99", "p99_9", "max"] {
        assert!(doc["latency_ms"][name].is_f64(), "{name}");
        assert!(doc["failed_ms"][name].is_null(), "{name}");
    }
}

#[test]
fn open_loads_send_what_they_plan() {
    let target = Target::start().unwrap();
    let (code, doc, _) = bench(&["--per-second", "50", "--duration", "2s", "--seconds", &target.url("/")]);
    assert_eq!(code, 0, "{doc}");
    assert_closed(&doc);
    assert_eq!((doc["ledger"]["planned"].as_u64(), doc["seconds"][0]["planned"].as_u64()), (Some(100), Some(50)));
    let (_, doc, _) = bench(&["--per-test", "7", "--duration", "1s", &target.url("/x"), &target.url("/bytes/10")]);
    assert_closed(&doc);
    assert_eq!(
        (doc["ledger"]["planned"].as_u64(), doc["requests"][0]["ledger"]["status_4xx"].as_u64()),
        (Some(14), Some(7))
    );
    assert_eq!(target.count("/bytes/10").unwrap(), 7);
}

#[test]
fn a_maintained_load_keeps_its_clients() {
    let target = Target::start().unwrap();
    let (code, doc, _) = bench(&["--maintain", "3", "--duration", "2s", "--seconds", &target.url("/delay/20")]);
    assert_eq!(code, 0, "{doc}");
    assert_closed(&doc);
    assert_eq!(doc["peak_clients"], 3);
    assert_eq!(target.count("/delay/20").unwrap(), doc["ledger"]["sent"].as_u64().unwrap());
}

#[test]
fn the_end_cuts_also_while_arrivals_wait_for_a_free_client() {
    let target = Target::start().unwrap();
    let (code, doc, _) = bench(&[
        "--per-second",
        "20",
        "--max-clients",
        "3",
        "--duration",
        "1s",
        "--end",
        "abort",
        "--timeout",
        "30s",
        "--error-threshold",
        "100",
        &target.url("/hold/60000"),
    ]);
    assert_closed(&doc);
    let l = |name: &str| doc["ledger"][name].as_u64().unwrap();
    assert_eq!((code, l("planned"), l("sent"), l("aborted"), l("dropped")), (1, 20, 3, 3, 17), "{doc}");
    assert!(doc["duration_s"].as_f64().unwrap() < 15.0, "{doc}");
    assert_eq!(doc["in_flight_at_end_ms"].as_array().unwrap().len(), 3);
}

#[test]
fn every_way_a_target_fails_is_an_outcome() {
    let target = Target::start().unwrap();
    for (path, column, kind) in [
        ("/close", "network", "closed_early"),
        ("/cut", "network", "closed_early"),
        ("/hold/5000", "timeout", "timeout"),
        ("/garbage", "invalid", "invalid_reply"),
        ("/endless-head", "invalid", "head_too_large"),
        ("/status/503", "status_5xx", ""),
        ("/status/999", "status_other", ""),
    ] {
        let url = target.url(path);
        let (code, doc, errors) =
            bench(&["--requests", "4", "--clients", "2", "--timeout", "300ms", "--error-threshold", "100", &url]);
        assert_closed(&doc);
        assert_eq!(doc["ledger"][column], 4, "{path}: {doc}");
        if kind.is_empty() {
            assert_eq!(code, 0, "{path}: {errors}");
        } else {
            assert_eq!((code, doc["errors"][0]["kind"].as_str()), (1, Some(kind)), "{path}: {doc}");
            assert!(
                doc["latency_ms"]["p50"].is_null() && errors.contains("nothing that was sent was answered"),
                "{path}"
            );
        }
    }
    // Nobody listens on a port that was just given back.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, doc, _) = bench(&["--requests", "3", "--clients", "1", &format!("http://{free}/")]);
    assert_eq!(
        (code, doc["ledger"]["network"].as_u64(), doc["errors"][0]["kind"].as_str()),
        (1, Some(3), Some("connect_refused"))
    );
    assert_eq!(doc["verdict"]["limited_by"], "target");
}

#[test]
fn exit_codes_tell_what_happened() {
    let target = Target::start().unwrap();
    let url = target.url("/delay/30");
    let code = |arguments: &[&str]| {
        let all: Vec<&str> = ["bench", "-q"].iter().chain(arguments).copied().collect();
        let output = run_oleada(&all);
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(code(&["-n", "5", "-c", "1", "--fail-if", "p50>10s", &url]).0, 0);
    let (broken, said) = code(&["-n", "5", "-c", "1", "--fail-if", "p50>1ms", &url]);
    assert!(broken == 1 && said.contains("p50>1ms"), "{said}");
    assert_eq!(
        code(&["-n", "500", "-c", "5", "--error-threshold", "10", "--duration", "5s", &target.url("/status/500")]).0,
        1
    );
    for usage in [
        &["-n", "0", &url][..],
        &["--timeout", "0s", &url],
        &["no-address"],
        &[],
        &["--fail-if", "p95=3", &url],
        &["-n", "3", "--per-second", "3", &url],
        &["--reuse", "maybe", &url],
    ] {
        let (code, said) = code(usage);
        assert!(code == 2 && !said.is_empty(), "{usage:?}: {code} {said}");
    }
    for refused in ["http://no-such-name.invalid/", "http://169.254.169.254/latest/"] {
        let (code, said) = code(&["-n", "1", "-c", "1", refused]);
        assert!(code == 3 && said.contains("cannot start"), "{refused}: {code} {said}");
    }
}

#[test]
fn redirects_cookies_bodies_and_credentials_reach_the_target() {
    let target = Target::start().unwrap();
    let (_, doc, _) = bench(&["-n", "2", "-c", "1", &target.url("/redirect/3")]);
    assert_closed(&doc);
    assert_eq!((doc["ledger"]["ok"].as_u64(), doc["redirects"]["followed"].as_u64()), (Some(2), Some(6)));
    let (_, doc, _) = bench(&["-n", "1", "-c", "1", "--redirects", "off", &target.url("/redirect/3")]);
    assert_eq!((doc["statuses"]["302"].as_u64(), doc["redirects"]["followed"].as_u64()), (Some(1), Some(0)));

    let with_password = target.url("/echo").replace("http://", "http://u:p%40@");
    let arguments = ["-n", "1", "-c", "1", "-m", "POST", "-H", "X-One: 1", "--body", "hello", &with_password];
    let (code, doc, errors) = bench(&arguments);
    assert_eq!(code, 0, "{errors}");
    let printed = doc.to_string() + &errors;
    assert!(!printed.contains("p@") && !printed.contains("p%40") && !printed.contains("dTpwQA"), "{printed}");
    assert_eq!(doc["plan"]["requests"][0]["basic_auth"], true);
}

#[test]
fn a_test_in_a_file_runs_as_it_was_exported() {
    let target = Target::start().unwrap();
    let file = temp_dir("plan").join("test.json");
    let path = file.to_str().unwrap();
    let plan = json!({"load": {"type": "fixed_count", "requests": 7, "clients": 1}, "duration_s": null, "requests": [
        {"url": target.url("/echo"), "method": "POST", "form": [["a", "{{$uuid}}"]], "extract": [], "colour": "red"},
        {"url": target.url("/status/204")}]});
    let exported = json!({"oleada_test": 1, "name": "x", "plan": plan, "secrets_left_out": ["requests[0].bearer"]});
    for (document, warnings) in [(&exported, 2), (&plan, 1)] {
        std::fs::write(&file, document.to_string()).unwrap();
        let (code, doc, said) = bench(&["-q", "--plan", path]);
        assert_eq!(code, 0, "{said}");
        assert_closed(&doc);
        assert_eq!(["200", "204"].map(|status| doc["statuses"][status].as_u64()), [Some(4), Some(3)], "{doc}");
        assert_eq!(said.matches("warning: ").count(), warnings, "{said}");
    }
    for (content, arguments, word) in [
        (plan.to_string(), vec!["--requests", "3"], "--requests"),
        (plan.to_string(), vec!["http://127.0.0.1/"], "URL"),
        ("{".to_owned(), vec![], "no test"),
        (json!({"load": {"type": "per_test", "clients": 0}}).to_string(), vec![], "per_test"),
    ] {
        std::fs::write(&file, content).unwrap();
        let all: Vec<&str> = ["bench", "--plan", path].into_iter().chain(arguments).collect();
        let output = run_oleada(&all);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(word), "{word}: {said}");
    }
}

#[test]
fn stages_change_the_rate() {
    let target = Target::start().unwrap();
    // From nobody to 20 a second within one second, then that for one more: 10 and 20 clients.
    let (code, doc, said) =
        bench(&["-q", "--per-second", "0", "--stage", "1s:20", "--stage", "1s:20", &target.url("/")]);
    assert_eq!(code, 0, "{said}");
    assert_closed(&doc);
    assert_eq!(doc["ledger"]["planned"], 30);
    let output = run_oleada(&["bench", "--stage", "1s:5", "--duration", "3s", &target.url("/")]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_report_as_text_names_the_ledger_and_the_verdict() {
    let target = Target::start().unwrap();
    let output = run_oleada(&["bench", "-n", "20", "-c", "2", "--fail-if", "errors>1%", &target.url("/")]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in
        ["Planned 20 = sent 20 + dropped 0", "Sent 20 = ok 20", "200 × 20", "p99.9", "Verdict", "errors>1%: held"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!String::from_utf8(output.stderr).unwrap().contains("Planned"));
}

/// An authority, and a server that answers over these versions of TLS and serves only that authority's clients, if there is one.
struct Authority(Issuer<'static, KeyPair>, CertificateDer<'static>);

impl Authority {
    fn new() -> Authority {
        let (key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::new(Vec::new()).unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).unwrap().der().clone();
        Authority(Issuer::new(params, key), own)
    }

    fn certificate(&self) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    fn serve(&self, versions: &[&'static SupportedProtocolVersion], demanding: bool) -> SocketAddr {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (certificate, key) = self.certificate();
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions).unwrap();
        let builder = if demanding {
            let mut roots = RootCertStore::empty();
            roots.add(self.1.clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let config = Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for tcp in listener.incoming().map_while(Result::ok) {
                let tls = rustls::ServerConnection::new(config.clone()).unwrap();
                std::thread::spawn(move || {
                    let mut stream = rustls::StreamOwned::new(tls, tcp);
                    let mut buffer = [0; 4096];
                    // A request of these tests comes in one piece.
                    while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
                        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                        if stream.write_all(reply).and_then(|()| stream.flush()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        address
    }
}

#[test]
fn a_client_certificate_comes_from_files() {
    let authority = Authority::new();
    let at = format!("https://{}/", authority.serve(rustls::DEFAULT_VERSIONS, true));
    let ((certificate, key), (_, other_key), folder) =
        (authority.certificate(), authority.certificate(), temp_dir("client"));
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let (cert, key_text) = (file("cert.pem", &certificate.pem()), key.serialize_pem());
    let (key, other) = (file("key.pem", &key_text), file("other.pem", &other_key.serialize_pem()));
    let run = ["-n", "5", "-c", "1", "--insecure", "--client-cert", &cert];
    let (code, doc, errors) = bench(&[&run[..], &["--client-key", &key, &at]].concat());
    assert_eq!((code, doc["ledger"]["ok"].as_u64()), (0, Some(5)), "{doc} {errors}");
    assert_eq!((&doc["protocols"], &doc["tls_versions"]), (&json!({"http/1.1": 5}), &json!({"TLS 1.3": 1})));
    let secret = key_text.lines().nth(1).unwrap();
    assert!(!(doc.to_string() + &errors).contains(secret));

    let (code, doc, _) = bench(&["-n", "5", "-c", "1", "--insecure", "--error-threshold", "100", &at]);
    assert_eq!((code, doc["ledger"]["network"].as_u64()), (1, Some(5)), "{doc}");
    assert_eq!(doc["errors"][0]["kind"], "tls_client_certificate", "{doc}");

    let large = file("large.pem", &"x".repeat(300_000));
    let missing = folder.join("missing.pem").into_os_string().into_string().unwrap();
    for (key, words) in [
        (None, "--client-key"),
        (Some(&other), "do not belong together"),
        (Some(&cert), "client key cannot be read"),
        (Some(&large), "at most 256 kB"),
        (Some(&missing), "cannot read"),
    ] {
        let key = key.map_or(vec![], |key| vec!["--client-key", key.as_str()]);
        let output = run_oleada(&[&["bench"], &run[..], &key, &[at.as_str()]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(words), "{words}: {said}");
        assert!(!said.contains(secret) && !said.contains(other_key.serialize_pem().lines().nth(1).unwrap()), "{said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn b51_the_report_says_what_was_spoken() {
    let authority = Authority::new();
    let old = format!("https://{}/", authority.serve(&[&rustls::version::TLS12], false));
    let text = |arguments: &[&str]| {
        let output = run_oleada(&[&["bench", "-q", "-n", "4", "-c", "2", "--insecure"], arguments].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let said = text(&[&old]);
    for part in [
        "Certificates were not checked",
        "HTTP             ran over HTTP/1.1: the target does not offer HTTP/2",
        "TLS              2 connections with TLS 1.2",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let said = text(&["--http", "1.1", &old]);
    assert!(said.contains("ran over HTTP/1.1\n"), "{said}");
    let refused = text(&["--http", "2", &old]);
    assert!(refused.contains("no_http2 × 4") && !refused.contains("ran over"), "{refused}");
    let (code, doc, _) = bench(&["-n", "4", "-c", "1", "--insecure", "--min-tls", "1.3", &old]);
    assert_eq!((code, doc["errors"][0]["kind"].as_str()), (1, Some("tls_protocol")), "{doc}");
    assert_eq!((&doc["plan"]["min_tls"], &doc["protocols"]), (&json!("1.3"), &json!({})));
}

#[test]
fn b46_a_name_that_looks_like_another_is_pointed_out() {
    let target = Target::start().unwrap();
    let port = target.address().rsplit(':').next().unwrap().to_owned();
    // With a Cyrillic а.
    let warned = |host: &str, ascii: &str| {
        let resolve = format!("{ascii}:{port}:127.0.0.1");
        let url = format!("http://{host}:{port}/");
        let (code, doc, said) = bench(&["-q", "-n", "2", "-c", "1", "--resolve", &resolve, &url, &url]);
        assert_eq!((code, doc["ledger"]["ok"].as_u64()), (0, Some(2)), "{doc} {said}");
        said
    };
    let said = warned("p\u{430}ypal.test", "xn--pypal-4ve.test");
    assert!(said.contains("p\u{430}ypal.test (xn--pypal-4ve.test)"), "{said}");
    assert_eq!(said.matches("warning:").count(), 1, "{said}");
    assert!(!warned("bücher.test", "xn--bcher-kva.test").contains("warning"));
}

#[test]
fn a_signal_stops_the_run_and_the_report_still_comes() {
    let target = Target::start().unwrap();
    let child = std::process::Command::new(oleada())
        .args(["bench", "-q", "--json", "--per-second", "50", "--duration", "60s", &target.url("/")])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while target.count("/").unwrap() < 10 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let asked = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let output = child.wait_with_output().unwrap();
    let doc: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_closed(&doc);
    assert_eq!((output.status.code(), doc["end_reason"].as_str()), (Some(1), Some("stopped")));
    assert!(doc["ledger"]["planned"].as_u64().unwrap() < 3000);
}

#[test]
fn help_is_the_manual() {
    for command in [&["--help"][..], &["serve", "--help"], &["bench", "--help"], &["target", "--help"]] {
        let output = run_oleada(command);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout.len() > 300, "{command:?}");
    }
    assert!(oleada().exists());
}

/// Answers every question about addresses with 127.0.0.1, but for `nope.test`, which does not exist.
fn name_server() -> std::net::SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut packet = [0; 1500];
        while let Ok((n, from)) = socket.recv_from(&mut packet) {
            // The question ends with the first zero byte of the name, then type and class.
            let Some(name) = packet[12..n].iter().position(|b| *b == 0) else { continue };
            let end = 12 + name + 5;
            let (nope, a) = (packet[12..end].starts_with(b"\x04nope"), packet[end - 3] == 1);
            let mut reply = packet[..end].to_vec();
            (reply[2], reply[3]) = (0x81, if nope { 0x83 } else { 0x80 });
            reply[4..12].copy_from_slice(&[0, 1, 0, u8::from(a && !nope), 0, 0, 0, 0]);
            if a && !nope {
                reply.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            }
            let _ = socket.send_to(&reply, from);
        }
    });
    address
}

#[test]
fn b52_the_run_asks_the_name_server_it_is_told_to() {
    let (target, server) = (Target::start().unwrap(), name_server().to_string());
    let (_, port) = target.address().rsplit_once(':').unwrap();
    let url = format!("http://shop.test:{port}/");
    let (code, doc, errors) = bench(&["--requests", "20", "--clients", "2", "--dns-server", &server, &url]);
    assert_eq!((code, doc["ledger"]["ok"].as_u64()), (0, Some(20)), "{errors}");
    assert_eq!(doc["addresses"], serde_json::json!([{"address": format!("127.0.0.1:{port}"), "connections": 2}]));
    assert_closed(&doc);
    let url = format!("http://nope.test:{port}/");
    let output = run_oleada(&["bench", "--dns-server", &server, &url]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("nope.test") && errors.contains("no such name"), "{errors}");
    let output = run_oleada(&["bench", "--dns-server", "dns.test", &url]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `oleada` where a process may open only so many files.
fn with_few_files(files: u32, arguments: &[&str]) -> std::process::Output {
    std::process::Command::new("sh")
        .args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")])
        .arg(oleada())
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn b86_running_out_of_descriptors_is_the_generators_fault() {
    let target = Target::start().unwrap();
    // Clients that are known beforehand: refused before anything is sent.
    for (files, arguments) in [
        (80, ["--requests", "1000", "--clients", "100"]),
        (80, ["--maintain", "100", "--duration", "1s"]),
        (40, ["--per-second", "10", "--duration", "1s"]),
        (7, ["--per-second", "10", "--duration", "1s"]),
    ] {
        let output = with_few_files(files, &[&["bench"], &arguments[..], &[&target.url("/few")]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), errors.contains("ulimit -n")), (Some(3), true), "{errors}");
    }
    assert_eq!(target.count("/few").unwrap(), 0);
    // How many clients an open model has at once shows only in the run.
    let url = target.url("/delay/1500");
    let arguments = ["bench", "--json", "--per-second", "200", "--duration", "1s", "--error-threshold", "100", &url];
    let output = with_few_files(80, &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    let doc: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {errors}"));
    assert_closed(&doc);
    let local = doc["ledger"]["local"].as_u64().unwrap();
    assert!(local > 50 && doc["ledger"]["network"] == 0, "{doc}");
    assert_eq!(doc["errors"][0]["kind"], "no_descriptors", "{doc}");
    assert_eq!(doc["verdict"]["limited_by"], "generator", "{doc}");
}

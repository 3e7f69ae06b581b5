//! What a handshake can come to, each with its own name; and which server name is asked for.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::certs::{self, Authority};
use common::target::Target;
use common::{MS, fixed, per_second, run, run_with};
use oleada_engine::net::Options;
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::{PlanSpec, Reuse};
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Notes the names asked for, and takes its time.
#[derive(Debug)]
struct Watching {
    inner: Arc<dyn ResolvesServerCert>,
    delay: Duration,
    names: Arc<Mutex<Vec<Option<String>>>>,
}

impl ResolvesServerCert for Watching {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.names.lock().unwrap().push(hello.server_name().map(str::to_owned));
        std::thread::sleep(self.delay);
        self.inner.resolve(hello)
    }
}

struct Watched {
    target: Target,
    names: Arc<Mutex<Vec<Option<String>>>>,
}

fn watched(mut config: ServerConfig, delay: Duration, reply: Duration) -> Watched {
    let names = Arc::default();
    let inner = config.cert_resolver.clone();
    config.cert_resolver = Arc::new(Watching { inner, delay, names: Arc::clone(&names) });
    let target = Target::on("127.0.0.1:0", Some(Arc::new(config)), move |call| {
        std::thread::sleep(reply);
        call.ok()
    });
    Watched { target, names }
}

/// A port that answers whatever comes with these bytes.
fn answering(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4000]);
            let _ = stream.write_all(bytes);
            // Whoever does not like the answer closes first.
            let _ = stream.read(&mut [0; 4000]);
        }
    });
    address
}

/// Runs `strict_run` in a process of its own, because whom it trusts comes from its environment. What became of it.
fn strict(pem: &std::path::Path, name: &str, port: u16) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "strict_run", "--nocapture"])
        .env("SSL_CERT_FILE", pem)
        .env("OLEADA_TEST_AT", format!("{name}:{port}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|l| l.split_once("OUTCOME ").map(|(_, said)| said.to_owned()));
    line.unwrap_or_else(|| panic!("{text}"))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a message to the process that a test starts")]
fn strict_run() {
    // Does its work when another test runs it in a process of its own.
    let Ok(at) = std::env::var("OLEADA_TEST_AT") else { return };
    let options = Options { resolve: vec![format!("{at}:127.0.0.1").parse().unwrap()], ..Options::default() };
    let done = run_with(fixed(5, 1, format!("https://{at}/")), options);
    let kinds: Vec<String> =
        done.totals.errors.rows().iter().map(|r| format!(" {} {}", r.count, r.kind.name())).collect();
    println!("\nOUTCOME {} ok{}", done.ledger().ok, kinds.concat());
}

#[test]
fn b49_every_fault_of_a_certificate_has_its_name() {
    let authority = Authority::new("trusted");
    let pem = std::env::temp_dir().join(format!("oleada-test-{}.pem", std::process::id()));
    std::fs::write(&pem, &authority.pem).unwrap();
    let expired = |p: &mut rcgen::CertificateParams| p.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let future = |p: &mut rcgen::CertificateParams| p.not_before = rcgen::date_time_ymd(2900, 1, 1);
    let cases = [
        ("5 ok", authority.server(&["a.test"], |_| {})),
        ("0 ok 5 tls_expired", authority.server(&["a.test"], expired)),
        ("0 ok 5 tls_expired", authority.server(&["a.test"], future)),
        ("0 ok 5 tls_wrong_name", authority.server(&["b.test"], |_| {})),
        ("0 ok 5 tls_unknown_issuer", certs::self_signed(&["a.test"])),
        ("0 ok 5 tls_unknown_issuer", Authority::new("unknown").server(&["a.test"], |_| {})),
    ];
    for (outcome, config) in cases {
        let server = watched(config, Duration::ZERO, Duration::ZERO);
        assert_eq!(strict(&pem, "a.test", server.target.address.port()), outcome);
        let names = server.names.lock().unwrap().clone();
        assert!(!names.is_empty() && names.iter().all(|n| n.as_deref() == Some("a.test")), "{names:?}");
        // Who does not look is served all the same.
        let lenient = PlanSpec { insecure: true, ..fixed(5, 1, format!("https://{}/", server.target.address)) };
        assert_eq!(run(lenient).ledger().ok, 5);
        assert_eq!(server.names.lock().unwrap().last(), Some(&None), "an address is no server name");
    }
    std::fs::remove_file(&pem).unwrap();
}

#[test]
fn b49_ports_that_speak_something_else() {
    // ServerHello of TLS 1.0 with TLS_RSA_WITH_AES_128_CBC_SHA.
    const TLS_1_0: &[u8] = b"\x16\x03\x01\x00\x2a\x02\x00\x00\x26\x03\x01\
        0123456789abcdef0123456789abcdef\x00\x00\x2f\x00";
    for (bytes, kind) in [
        (TLS_1_0, ErrorKind::TlsProtocol),
        (b"\x15\x03\x01\x00\x02\x02\x46", ErrorKind::TlsProtocol),
        (b"\x15\x03\x03\x00\x02\x02\x28", ErrorKind::TlsProtocol),
        (b"\x15\x03\x03\x00\x02\x02\x50", ErrorKind::Tls),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ErrorKind::NotTls),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ErrorKind::NotTls),
    ] {
        let at = answering(bytes);
        for insecure in [false, true] {
            let done = run(PlanSpec { insecure, ..fixed(3, 1, format!("https://{at}/")) });
            let kinds: Vec<_> = done.totals.errors.rows().iter().map(|r| (r.kind, r.count)).collect();
            assert_eq!(kinds, [(kind, 3)], "{}", bytes.escape_ascii());
        }
    }
}

#[test]
fn b87_a_handshake_is_a_phase_and_no_service() {
    let server = || watched(certs::self_signed(&["127.0.0.1"]), 100 * MS, 100 * MS);
    let ms = |us: Option<u64>| us.unwrap() as f64 / 1000.0;
    for (reuse, handshakes) in [(Reuse::Off, 6), (Reuse::Client, 1)] {
        let server = server();
        let url = format!("https://{}/", server.target.address);
        let done = run(PlanSpec { insecure: true, reuse, ..fixed(6, 1, url) });
        let totals = &done.totals;
        assert_eq!((done.ledger().ok, totals.tls.count(), totals.connect.count()), (6, handshakes, handshakes));
        assert!(ms(totals.tls.min_us()) >= 99.9 && ms(totals.connect.percentile_us(50_000)) < 99.0);
        assert!(ms(totals.wait.min_us()) >= 99.0 && ms(totals.service.min_us()) >= 99.9);
        // Neither holds the handshake; a busy machine may delay some.
        assert!(ms(totals.service.percentile_us(50_000)) < 195.0, "{}", ms(totals.service.percentile_us(50_000)));
        assert!(done.end.duration >= (600 + 100 * handshakes as u32) * MS);
    }
    // By the clock, what a visitor waits for begins with the plan: connecting is in it.
    let server = server();
    let done = run(PlanSpec { insecure: true, ..per_second(4.0, 1.0, format!("https://{}/", server.target.address)) });
    assert_eq!((done.ledger().ok, done.totals.tls.count()), (4, 4));
    assert!(ms(done.totals.latency.min_us()) >= 199.9 && ms(done.totals.service.min_us()) >= 99.9);
}

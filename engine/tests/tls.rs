//! What a handshake can come to, each with its own name; and which server name is asked for.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::certs::{self, Authority};
use common::target::Target;
use common::{Done, MS, fixed, per_second, run, run_with};
use oleada_engine::net::{ClientIdentity, IdentityError, Options};
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::{HttpVersion, PlanSpec, Reuse, TlsVersion, limits};
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};

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

/// Five requests by one client, to whom any certificate is good.
fn five(address: SocketAddr) -> PlanSpec {
    PlanSpec { insecure: true, ..fixed(5, 1, format!("https://{address}/")) }
}

fn kinds(done: &Done) -> Vec<(ErrorKind, u64)> {
    done.totals.errors.rows().iter().map(|r| (r.kind, r.count)).collect()
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
    // What a server says that knows TLS 1.0 only: a fatal alert, protocol_version.
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
            assert_eq!(kinds(&done), [(kind, 3)], "{}", bytes.escape_ascii());
        }
    }
}

#[test]
fn b49_no_version_below_the_lowest_is_spoken() {
    for (offered, least, version) in [
        (&[&TLS12, &TLS13][..], TlsVersion::Tls12, 3),
        (&[&TLS12, &TLS13], TlsVersion::Tls13, 3),
        (&[&TLS12], TlsVersion::Tls12, 2),
        (&[&TLS13], TlsVersion::Tls13, 3),
    ] {
        let tls = Arc::new(certs::self_signed_with(&["127.0.0.1"], offered));
        let target = Target::on("127.0.0.1:0", Some(tls), |call| call.ok());
        let done = run(PlanSpec { min_tls: least, ..five(target.address) });
        let spoken = (done.totals.counters.tls12, done.totals.counters.tls13);
        assert_eq!((done.ledger().ok, spoken), (5, if version == 2 { (1, 0) } else { (0, 1) }), "{offered:?} {least}");
    }
    let old = Arc::new(certs::self_signed_with(&["127.0.0.1"], &[&TLS12]));
    let old = Target::on("127.0.0.1:0", Some(old), |call| call.ok());
    // ServerHello of TLS 1.2 with TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: a server that does not ask what may be.
    let deaf = answering(
        b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03\
        0123456789abcdef0123456789abcdef\x00\xc0\x2f\x00",
    );
    for address in [old.address, deaf] {
        let done = run(PlanSpec { min_tls: TlsVersion::Tls13, ..five(address) });
        assert_eq!(kinds(&done), [(ErrorKind::TlsProtocol, 5)], "{address}");
    }
    assert_eq!(old.requests(), 0);
}

fn identity(pem: &(String, String)) -> ClientIdentity {
    ClientIdentity::from_pem(pem.0.as_bytes(), pem.1.as_bytes()).unwrap()
}

#[test]
fn a_client_certificate_is_shown_to_who_asks_for_it() {
    let (authority, other) = (Authority::new("clients"), Authority::new("other"));
    let (known, unknown) = (identity(&authority.client()), identity(&other.client()));
    let with = |identity: Option<&ClientIdentity>| Options { client_identity: identity.cloned(), ..Options::default() };
    for version in [&TLS12, &TLS13] {
        let tls = Arc::new(authority.demanding_server(&[version]));
        let target = Target::on("127.0.0.1:0", Some(tls), |call| call.ok());
        let plan = || PlanSpec { reuse: Reuse::Off, ..five(target.address) };
        assert_eq!(run_with(plan(), with(Some(&known))).ledger().ok, 5);
        for refused in [None, Some(&unknown)] {
            let done = run_with(plan(), with(refused));
            assert_eq!(kinds(&done), [(ErrorKind::TlsClientCertificate, 5)], "{version:?} {refused:?}");
        }
        assert_eq!(target.requests(), 5);
    }
    // Over HTTP/2 the alert of TLS 1.3 comes after the handshake as well.
    let tls = certs::offering(authority.demanding_server(&[&TLS13]), &["h2"]);
    let target = Target::on("127.0.0.1:0", Some(tls), |call| call.ok());
    for http in [HttpVersion::Auto, HttpVersion::Http2] {
        let done = run(PlanSpec { http, ..five(target.address) });
        assert_eq!(kinds(&done), [(ErrorKind::TlsClientCertificate, 5)], "{http} {:?}", done.totals.errors);
    }
    // Who does not ask is not bothered.
    let target = Target::on("127.0.0.1:0", Some(Arc::new(certs::self_signed(&["127.0.0.1"]))), |call| call.ok());
    assert_eq!(run_with(five(target.address), with(Some(&known))).ledger().ok, 5);
}

/// Makes the alert certificate_required of TLS 1.2 what many servers say instead: handshake_failure.
struct Terse(TcpStream);

impl Read for Terse {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Terse {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut bytes = bytes.to_vec();
        if bytes == [21, 3, 3, 0, 2, 2, 116] {
            bytes[6] = 40;
        }
        self.0.write_all(&bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_failed_handshake_after_the_question_is_about_the_client_certificate() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = Arc::new(Authority::new("clients").demanding_server(&[&TLS12]));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = Terse(stream);
            let mut tls = rustls::ServerConnection::new(config.clone()).unwrap();
            while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
            let _ = stream.read(&mut [0; 100]);
        }
    });
    let done = run(five(address));
    assert_eq!(kinds(&done), [(ErrorKind::TlsClientCertificate, 5)]);
    assert!(done.totals.errors.rows()[0].detail.contains("HandshakeFailure"), "{:?}", done.totals.errors);
}

#[test]
fn what_is_no_client_identity_is_refused_in_words_and_its_key_is_never_shown() {
    let authority = Authority::new("clients");
    let ((cert, key), (_, other_key)) = (authority.client(), authority.client());
    let body = |pem: &str| pem.lines().nth(1).unwrap().to_owned();
    let damaged = |pem: &str| pem.replace(&body(pem), "####");
    let locked = key.replace("PRIVATE", "ENCRYPTED PRIVATE");
    let nonsense = "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n";
    let no_certificate = cert.replace(&body(&cert), "MAMCAQA=");
    let large = "x".repeat(limits::PEM_BYTES + 1);
    for (cert, key, fault) in [
        ("", &key[..], IdentityError::NoCertificate),
        (&key, &key, IdentityError::NoCertificate),
        (&damaged(&cert), &key, IdentityError::BadCertificate),
        (&no_certificate, &key, IdentityError::BadCertificate),
        (&cert, "", IdentityError::NoKey),
        (&cert, &cert, IdentityError::NoKey),
        (&cert, &damaged(&key), IdentityError::NoKey),
        (&cert, nonsense, IdentityError::BadKey),
        (&cert, &locked, IdentityError::LockedKey),
        (&cert, &other_key, IdentityError::Mismatch),
        (&large, &key, IdentityError::TooLarge),
        (&cert, &large, IdentityError::TooLarge),
    ] {
        let refused = ClientIdentity::from_pem(cert.as_bytes(), key.as_bytes()).unwrap_err();
        assert_eq!(refused, fault);
        assert!(refused.to_string().ends_with('.'), "{refused}");
    }
    // A chain in one file, and a key with other sections around it.
    let chain = format!("{cert}{}", authority.pem);
    let identity = ClientIdentity::from_pem(chain.as_bytes(), format!("{cert}{key}").as_bytes()).unwrap();
    let options = Options { client_identity: Some(identity), ..Options::default() };
    let shown = format!("{options:?}");
    assert!(shown.contains("ClientIdentity(hidden)") && !shown.contains(&body(&key)), "{shown}");
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
        // The total does: of every request without keep-alive, of the first with it.
        let least = if reuse == Reuse::Off { 199.9 } else { 99.9 };
        assert!(ms(totals.total.min_us()) >= least && ms(totals.total.max_us()) >= 199.9);
        assert!(done.end.duration >= (600 + 100 * handshakes as u32) * MS);
    }
    // By the clock, what a visitor waits for begins with the plan: connecting is in it.
    let server = server();
    let done = run(PlanSpec { insecure: true, ..per_second(4.0, 1.0, format!("https://{}/", server.target.address)) });
    assert_eq!((done.ledger().ok, done.totals.tls.count()), (4, 4));
    assert!(ms(done.totals.latency.min_us()) >= 199.9 && ms(done.totals.service.min_us()) >= 99.9);
}

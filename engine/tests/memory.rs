//! What a run holds in memory does not grow with what passes through it. One test, because it looks at the whole process.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use common::{begin, fixed, per_second, run, threads};
use oleada_engine::net::Event;
use oleada_engine::result::EndReason;

const BODY: u64 = 100_000_000;
const PIECE: usize = 50_000;

/// Memory in use in MB; `None` where the system does not say.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap() * 1024.0 / 1e6)
}

/// A target that keeps nothing: `/big` has a large body, everything else two bytes.
fn target() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut request = [0; 4000];
                while let Ok(n) = stream.read(&mut request) {
                    let sent = match &request[..n] {
                        [] => return,
                        big if big.starts_with(b"GET /big") => big_body(&mut stream),
                        _ => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
                    };
                    if sent.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn big_body(stream: &mut std::net::TcpStream) -> std::io::Result<()> {
    stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").as_bytes())?;
    (0..BODY / PIECE as u64).try_for_each(|_| stream.write_all(&[b'x'; PIECE]))
}

#[test]
fn memory_stays_flat() {
    let at = target();
    // b55: bodies are counted and not kept.
    run(fixed(100, 4, format!("http://{at}/")));
    let before = resident();
    let bodies = run(fixed(4, 4, format!("http://{at}/big")));
    assert_eq!((bodies.ledger().ok, bodies.totals.counters.bytes_body), (4, 4 * BODY));
    let grown = |before: Option<f64>| resident().zip(before).map_or(0.0, |(now, before)| now - before);
    assert!(grown(before) < 50.0, "{} MB", grown(before));
    assert!(bodies.end.max_rss_mb.zip(before).is_none_or(|(most, before)| most - before < 50.0), "{:?}", bodies.end);

    // b56: nothing is kept of a request either, nor of one that is only planned.
    run(fixed(50_000, 64, format!("http://{at}/")));
    let before = resident();
    let many = run(fixed(200_000, 64, format!("http://{at}/")));
    assert_eq!(many.ledger().ok, 200_000);
    assert!(grown(before) < 20.0, "{} MB", grown(before));

    let before = resident();
    let started = Instant::now();
    let mut plan = per_second(50_000.0, 86_400.0, format!("http://{at}/"));
    plan.max_clients = Some(50);
    let mut running = begin(plan, threads(2));
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    let Some(Event::Second(first)) = running.next_blocking() else { panic!("a second has passed") };
    assert!(first.ledger.planned > 0);
    assert!(grown(before) < 20.0, "{} MB", grown(before));
    let stopped = Instant::now();
    running.stopper().stop();
    let mut reason = None;
    while let Some(event) = running.next_blocking() {
        if let Event::Finished(end) = event {
            reason = Some(end.end_reason);
        }
    }
    assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());
    assert_eq!(reason, Some(EndReason::Stopped));
}

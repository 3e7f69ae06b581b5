//! What a run holds in memory does not grow with what passes through it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::{begin, fixed, per_second, run, threads};
use oleada_engine::net::Event;
use oleada_engine::plan::scenario::{Assertion, Relation, Subject};
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

/// The tests look at the whole process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// MB more than before.
fn grown(before: Option<f64>) -> f64 {
    resident().zip(before).map_or(0.0, |(now, before)| now - before)
}

#[test]
fn b55_bodies_are_counted_and_not_kept() {
    let (_alone, at) = (alone(), target());
    run(fixed(100, 4, format!("http://{at}/")));
    let before = resident();
    let over = AtomicBool::new(false);
    let (bodies, most) = std::thread::scope(|scope| {
        let most = scope.spawn(|| {
            let (mut most, begun) = (0f64, Instant::now());
            while !over.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(60) {
                most = most.max(grown(before));
                std::thread::sleep(Duration::from_millis(2));
            }
            most
        });
        let bodies = run(fixed(4, 4, format!("http://{at}/big")));
        over.store(true, Ordering::SeqCst);
        (bodies, most.join().unwrap())
    });
    assert_eq!((bodies.ledger().ok, bodies.totals.counters.bytes_body), (4, 4 * BODY));
    assert!(most < 50.0, "{most} MB");
}

#[test]
fn bodies_that_are_read_are_kept_up_to_the_limit_only() {
    let (_alone, at) = (alone(), target());
    run(fixed(100, 4, format!("http://{at}/")));
    let before = resident();
    let mut reading = fixed(4, 4, format!("http://{at}/big"));
    reading.requests[0].assert = vec![Assertion { on: Subject::Body, is: Relation::Exists, ..Assertion::default() }];
    let read = run(reading);
    assert_eq!((read.ledger().ok, read.totals.counters.bytes_body), (4, 4 * BODY));
    assert_eq!(read.totals.assertion_failures.rows()[0].detail, "body exists: the body is larger than 1 MB");
    assert!(grown(before) < 50.0, "{} MB", grown(before));
}

#[test]
fn b56_memory_does_not_grow_with_the_number_of_requests() {
    let (_alone, at) = (alone(), target());
    run(fixed(50_000, 64, format!("http://{at}/")));
    let before = resident();
    let many = run(fixed(200_000, 64, format!("http://{at}/")));
    assert_eq!(many.ledger().ok, 200_000);
    assert!(grown(before) < 20.0, "{} MB", grown(before));
}

#[test]
fn b56_a_huge_plan_takes_no_memory_in_advance_and_can_be_stopped() {
    let (_alone, at) = (alone(), target());
    run(fixed(100, 50, format!("http://{at}/")));
    let before = resident();
    let started = Instant::now();
    let mut plan = per_second(50_000.0, 86_400.0, format!("http://{at}/"));
    plan.max_clients = Some(50);
    let mut running = begin(plan, threads(2));
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert!(grown(before) < 10.0, "{} MB", grown(before));
    let Some(Event::Second(first)) = running.next_blocking() else { panic!("a second has passed") };
    assert_eq!(first.ledger.planned, 50_000);
    assert!(grown(before) < 20.0, "{} MB", grown(before));
    let stopped = Instant::now();
    running.stopper().stop();
    let mut ledger = first.ledger;
    let mut reason = None;
    while let Some(event) = running.next_blocking() {
        match event {
            Event::Second(window) => ledger.add(&window.ledger),
            Event::Finished(end) => reason = Some(end.end_reason),
        }
    }
    assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());
    assert_eq!(reason, Some(EndReason::Stopped));
    assert!(ledger.is_closed() && ledger.sent > 0 && ledger.planned < 500_000, "{ledger:?}");
}

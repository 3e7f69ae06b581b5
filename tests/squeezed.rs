//! The generator on a machine that gives it a tenth of a core. A program of its own, so that nothing else is measured at the same
//! time.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use harness::PATIENCE;
use harness::tools::{Target, oleada};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Of every 100 ms the program may run for 10.
const STOPPED: Duration = Duration::from_millis(90);
const RUNS: Duration = Duration::from_millis(10);

struct Squeezed(Child);

impl Squeezed {
    fn signal(&self, signal: Signal) {
        // One that has just ended needs none.
        let _ = kill_process(Pid::from_child(&self.0), signal);
    }
}

impl Drop for Squeezed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The document of `oleada bench` under these conditions.
fn squeezed_bench(arguments: &[&str]) -> Value {
    let child = Command::new(oleada())
        .args(["bench", "--json", "--quiet", "--error-threshold", "100", "--threads", "1"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut bench = Squeezed(child);
    let begun = Instant::now();
    while bench.0.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < PATIENCE, "it never ends");
        bench.signal(Signal::STOP);
        std::thread::sleep(STOPPED);
        bench.signal(Signal::CONT);
        std::thread::sleep(RUNS);
    }
    let mut text = String::new();
    bench.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn assert_accuses_itself(doc: &Value) {
    assert_eq!(doc["verdict"]["limited_by"], "generator", "{doc}");
    let reasons = doc["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|r| r.as_str().unwrap().contains("did not let the generator's threads run")), "{doc}");
    let l = |name: &str| doc["ledger"][name].as_u64().unwrap();
    let parts = ["ok", "status_4xx", "status_5xx", "status_other", "timeout", "network", "invalid", "local", "aborted"];
    assert_eq!(l("planned"), l("sent") + l("dropped"), "{doc}");
    assert_eq!(l("sent"), parts.map(l).iter().sum::<u64>(), "{doc}");
    assert!(l("ok") > 0, "{doc}");
}

#[test]
fn b86_a_generator_squeezed_into_a_tenth_of_a_core_accuses_itself() {
    let target = Target::start().unwrap();
    let open = squeezed_bench(&["--per-second", "200", "--duration", "3s", &target.url("/")]);
    assert_accuses_itself(&open);
    assert_eq!(open["ledger"]["planned"], 600);
    assert!(open["verdict"]["reasons"][0].as_str().unwrap().contains("left late"), "{open}");
    // A closed model has no planned instants to be late for, and a quick target.
    assert_accuses_itself(&squeezed_bench(&["--clients", "4", "--duration", "3s", &target.url("/")]));
}

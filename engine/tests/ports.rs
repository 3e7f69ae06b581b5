//! A generator without free local ports. The test makes itself a network namespace with a few ports and runs there, so the
//! machine keeps its own.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use std::process::Command;

use common::target::{After, Target};
use common::{MS, document, maintain, run_with, threads};
use oleada_engine::plan::{PlanSpec, Reuse};
use oleada_engine::verdict::LimitedBy;

const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
const FEW: &str = "40000 40019";
const NAME: &str = "a_generator_without_free_ports_accuses_itself";
/// Said in the namespace before the test begins there.
const READY: &str = "the namespace is ready";

#[test]
fn a_generator_without_free_ports_accuses_itself() {
    let range = std::fs::read_to_string(RANGE).unwrap();
    if range.split_whitespace().eq(FEW.split(' ')) {
        return with_few_ports();
    }
    let script = format!("ip link set lo up && echo '{FEW}' > {RANGE} && echo '{READY}' && exec \"$0\" --exact {NAME}");
    // As root, or as one who may make a namespace of users.
    let tries = ["-n", "-rn"].map(|flags| {
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", &script]).arg(std::env::current_exe().unwrap());
        (flags, command)
    });
    let mut said = String::new();
    for (flags, mut command) in tries {
        let Ok(output) = command.output() else { continue };
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        if text.contains(READY) {
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        said += &format!("unshare {flags}: {text}");
    }
    #[expect(clippy::disallowed_methods, reason = "that is how it says that nothing may be left out")]
    let everything = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    assert!(!everything, "no network namespace can be made here: {said}");
    eprintln!("skipped: no network namespace can be made here: {said}");
}

fn with_few_ports() {
    const PORTS: usize = 20;
    let target = Target::new(|call| {
        call.wait(100 * MS);
        call.ok();
        After::Close
    });
    let plan = PlanSpec { reuse: Reuse::Off, ..maintain(60, 60, 2.0, target.url("/")) };
    let done = run_with(plan.clone(), threads(2));
    let ledger = done.ledger();
    assert!(ledger.ok > 0 && ledger.local > 0, "{ledger:?}");
    assert_eq!(ledger.ok + ledger.local + ledger.aborted, ledger.sent, "never charged to the target: {ledger:?}");
    assert!(
        done.totals.errors.rows().iter().all(|row| row.kind.name() == "no_ports"),
        "{:?}",
        done.totals.errors.rows()
    );
    assert_eq!(ledger.error_rate(), 0.0, "the error threshold does not count it");
    assert_eq!(done.totals.counters.opened, ledger.ok + ledger.aborted);
    assert!(done.totals.peak_clients as usize > PORTS);
    let document = document(plan, &done);
    assert_eq!(document.verdict.limited_by, LimitedBy::Generator);
    assert!(document.verdict.reasons[0].contains("limits of the generator itself"), "{:?}", document.verdict.reasons);
    assert_eq!(document.failed_examples[0].kind, "no_ports");
}

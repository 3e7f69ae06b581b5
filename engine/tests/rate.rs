//! Every arrival of an open model is sent. A program of its own, so that no other test delays it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use common::target::Target;
use common::{per_second, run_with, threads};

/// Times that a run is looked at again: other work on the machine may hold a thread for longer than the 10 ms that a late one has.
const LOOKS: u32 = 6;

#[test]
fn an_arrival_due_just_before_the_end_is_sent() {
    let target = Target::normal();
    // The sixth is due 5 µs before the end: no system wakes a thread that exactly.
    let whole = (0..LOOKS).any(|_| {
        let before = target.requests();
        let ledger = run_with(per_second(10.0, 0.500_005, target.url("/")), threads(1)).ledger();
        assert_eq!((ledger.planned, ledger.sent), (6, target.requests() - before));
        ledger.dropped == 0
    });
    assert!(whole);
}

#[test]
fn five_thousand_a_second_are_five_thousand_a_second() {
    let whole = (0..LOOKS).any(|_| {
        let target = Target::normal();
        let done = run_with(per_second(5000.0, 2.0, target.url("/")), threads(2));
        let ledger = done.ledger();
        assert_eq!((ledger.planned, ledger.sent, ledger.ok), (10_000, target.requests(), target.requests()));
        assert!(done.seconds[..2].iter().all(|w| w.ledger.planned == 5000));
        if ledger.dropped > 0 {
            println!("{} dropped; looking again", ledger.dropped);
        }
        ledger.dropped == 0
    });
    assert!(whole);
}

//! The terminal's side of the program: arguments to plans, results to text or JSON.

pub mod bench;
mod bench_report;
pub mod target;
mod target_raw;
pub mod units;

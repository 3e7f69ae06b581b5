//! The load engine of Oleada.
//!
//! The core (no features) is pure: plans, arrivals, histograms, windows, results. It does no input or output and reads
//! no clock, and it compiles to WebAssembly. With the feature `net` comes the generator itself: [`net::start`] runs a
//! [`plan::Plan`] on threads of its own and yields one [`window::Window`] a second.
//!
//! Promises:
//! - every planned request is accounted for: planned = sent + dropped, sent = sum of the outcomes;
//! - percentiles are nearest-rank over merged histograms, never averaged and never interpolated;
//! - in open models a latency runs from the planned instant, and the service time is kept beside it;
//! - memory does not grow with the number of requests.
#![warn(missing_docs)]

pub mod arrivals;
pub mod capacity;
pub mod distribution;
pub mod example;
pub mod histogram;
pub mod interval_log;
pub mod limit;
#[cfg(feature = "net")]
pub mod net;
pub mod outcome;
pub mod plan;
pub mod range;
pub mod result;
pub mod series;
pub mod significance;
pub mod trace;
pub mod verdict;
pub mod window;

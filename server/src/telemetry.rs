//! The log: one line an event on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts logging with a filter that [`crate::config`] has checked. Does nothing if something logs already.
pub fn init(filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // An error means that a logger is set already, as in tests.
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Colours are for people; in a file they are noise.
    let _ = builder.with_ansi(std::io::stderr().is_terminal()).try_init();
}

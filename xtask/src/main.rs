//! The project's own commands, `cargo xtask …`: they build, start and check Oleada, and set up what a machine lacks.
#![allow(clippy::disallowed_methods, reason = "these commands read the environment: CARGO, PATH, CI")]

mod apt;
mod bench;
mod bundle;
mod exec;
mod files;
mod inputs;
mod origin;
mod postgres;
mod run;
mod say;
mod style;
mod test;
mod toolchain;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build everything and start Oleada; further arguments go to `oleada serve`
    Run {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run all tests with a database, web servers and a browser; what follows `--` goes to `cargo test`
    Test {
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Build the browser bundle into site/
    Bundle(bundle::Options),
    /// Measure nginx, Apache and Yaws with 1,000 to 10,000 clients, the comparison this project comes from
    Origin {
        /// Leave Yaws out (else it is installed where it is missing)
        #[arg(long)]
        without_yaws: bool,
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Measure what a request costs the generator, beside wrk, ab, h2load, oha and hey where they are installed
    Bench(bench::Options),
    /// Run a program on one core and tell what it used
    #[command(hide = true)]
    Measured(bench::Measured),
    /// Leave one self-contained release binary in target/dist/
    Dist,
    /// The whole check, as .ci/run does it
    Ci,
}

fn main() -> ExitCode {
    let result = exec::watch_signals().and_then(|()| match Arguments::parse().command {
        Command::Run { arguments } => run::run(&arguments),
        Command::Test { arguments } => test::test(&arguments),
        Command::Bundle(options) => bundle::bundle(&options).map(|()| ExitCode::SUCCESS),
        Command::Origin { without_yaws, arguments } => origin::origin(!without_yaws, &arguments),
        Command::Bench(options) => bench::bench(&options),
        Command::Measured(options) => bench::measured(&options),
        Command::Dist => run::dist(),
        Command::Ci => run::ci(),
    });
    result.unwrap_or_else(|error| {
        say::error(&error);
        ExitCode::FAILURE
    })
}

//! `cargo xtask bench`: what a finished request costs the generator, beside the same for other generators in the same run.
//!
//! The target is nginx on one core, the generators take turns on another. Processor time is the operating system's
//! account of the whole process, start and end included. All figures are medians over the rounds, with the smallest and
//! largest beside them; what counts are the ratios, because machines and their noise differ.

mod cases;
mod measure;
mod nginx;
mod peers;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::{exec, say};
use cases::Case;
use measure::{Cores, Usage};
pub use measure::{Measured, measured};
use nginx::Nginx;
use peers::{Job, Peer};

/// What to measure, and how often.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Rounds; in each, every generator has its turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Cases whose name contains this, only
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Requests of each turn, as a share of the usual count
    #[arg(long, default_value_t = 1.0, value_name = "SHARE")]
    scale: f64,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    oleada: Option<PathBuf>,
    /// Leave out the long ones: five million requests, and bodies of 1 GB
    #[arg(long)]
    without_soak: bool,
}

/// One turn of one generator.
#[derive(Clone, Copy, Debug)]
struct Turn {
    requests: u64,
    failed: u64,
    usage: Usage,
}

impl Turn {
    /// Processor time for each finished request in µs.
    fn cost(&self) -> f64 {
        (self.usage.user_s + self.usage.system_s) * 1e6 / self.requests.max(1) as f64
    }
}

/// Measures everything and prints the tables.
///
/// # Errors
/// When nginx or the binary is missing, or a generator fails.
pub fn bench(options: &Options) -> Result<ExitCode> {
    if !(options.scale > 0.0 && options.scale <= 10.0) {
        bail!("--scale must be above 0 and at most 10");
    }
    let cores = Cores::choose()?;
    let oleada = match &options.oleada {
        Some(file) => std::path::absolute(file)?,
        None => build()?,
    };
    let nginx = Nginx::start(cores.target)?;
    let peers = peers::found(oleada);
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    say::step("bench", format_args!("{} on core {}, nginx on core {}", names.join(", "), cores.load, cores.target));
    let chosen = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));

    let mut met = true;
    for case in cases::ALL.iter().filter(|case| chosen(case.name)) {
        met &= compare(case, &peers, &nginx, cores, options)?;
    }
    let own = &peers[0];
    if chosen("instructions") {
        instructions(own, &nginx)?;
    }
    if chosen("soak") && !options.without_soak {
        met &= soak(own, &nginx, cores)?;
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build() -> Result<PathBuf> {
    say::step("bench", "compiling oleada for speed (minutes the first time)");
    exec::run(exec::cargo().args(["build", "--release", "--package", "oleada-server", "--bin", "oleada"]))?;
    Ok(exec::target().join("release/oleada"))
}

/// Runs one case over all rounds; prints its table; tells whether its bounds hold.
fn compare(case: &Case, peers: &[Peer], nginx: &Nginx, cores: Cores, options: &Options) -> Result<bool> {
    let requests = ((case.requests as f64 * options.scale) as u64).max(u64::from(case.clients));
    let job = Job {
        url: nginx.url(case.tls, case.path),
        requests,
        clients: case.clients,
        reuse: case.reuse,
        plan: if case.scenario { Some(nginx.scenario(requests, case.clients)?) } else { None },
    };
    let able: Vec<&Peer> = peers.iter().filter(|peer| peer.can(&job)).collect();
    let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); able.len()];
    for round in 0..options.rounds as usize {
        // Everybody is first in some round: caches and clocks favour no one.
        for place in 0..able.len() {
            let at = (place + round) % able.len();
            let peer = able[at];
            if exec::interrupted() {
                bail!("interrupted");
            }
            let turn = peer.turn(&job, cores.load).with_context(|| format!("{} in case {}", peer.name, case.name))?;
            turns[at].push(turn);
        }
    }
    let rows: Vec<table::Row<'_>> =
        able.iter().zip(&turns).map(|(peer, turns)| table::Row::new(peer.name, turns)).collect();
    Ok(table::print(case, &job, &rows))
}

/// Instructions for each request: the difference between a long and a short run, so that the start does not count.
fn instructions(own: &Peer, nginx: &Nginx) -> Result<()> {
    const SHORT: u64 = 2_000;
    const LONG: u64 = 12_000;
    let Some(valgrind) = exec::find("valgrind") else {
        say::step("bench", "no valgrind here, so no instruction counts");
        return Ok(());
    };
    println!("\ninstructions in user space for each request (callgrind; repeatable on a busy machine)");
    for (what, reuse, scenario) in [
        ("keep-alive, 64 clients", true, false),
        ("a connection each, 64 clients", false, false),
        ("values from replies, 64 clients", true, true),
    ] {
        let count = |requests| {
            let plan = if scenario { Some(nginx.scenario(requests, 64)?) } else { None };
            let job = Job { url: nginx.url(false, "/"), requests, clients: 64, reuse, plan };
            measure::instructions(&valgrind, &own.command(&job))
        };
        match count(SHORT).and_then(|short| Ok((short, count(LONG)?))) {
            Ok((short, long)) => println!("  {what:<34} {:>8}", long.saturating_sub(short) / (LONG - SHORT)),
            Err(error) => println!("  {what:<34} not counted: {error:#}"),
        }
    }
    Ok(())
}

/// Memory does not grow with the number of requests or the size of bodies.
fn soak(own: &Peer, nginx: &Nginx, cores: Cores) -> Result<bool> {
    const MOST_GROWTH_MB: f64 = 30.0;
    println!("\npeak memory in MB of long runs (bound: {MOST_GROWTH_MB:.0} MB more than the short one)");
    let mut met = true;
    for (what, path, clients, short, long) in [
        ("1,000,000 and 5,000,000 requests, 64 clients", "/", 64, 1_000_000, 5_000_000),
        ("bodies of 2 MB, and of 1 GB, 4 clients", nginx::GIGABYTE, 4, 16, 16),
    ] {
        let peak = |path: &str, requests| -> Result<f64> {
            let job = Job { url: nginx.url(false, path), requests, clients, reuse: true, plan: None };
            let turn = own.turn(&job, cores.load)?;
            if turn.failed > 0 {
                bail!("{} of {} requests failed", turn.failed, job.requests);
            }
            Ok(turn.usage.peak_mb)
        };
        let first = peak(if path == nginx::GIGABYTE { nginx::MEGABYTES } else { path }, short)?;
        let second = peak(path, long)?;
        let holds = second - first <= MOST_GROWTH_MB;
        met &= holds;
        println!("  {what:<46} {first:>6.1} {second:>6.1}  {}", if holds { "holds" } else { "TOO MUCH" });
    }
    Ok(met)
}

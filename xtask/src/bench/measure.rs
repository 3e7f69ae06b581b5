//! The operating system's account of a process, and where it runs.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};

use crate::exec;

/// Where the last line of a measured command's stderr begins.
const MARK: &str = "measured: ";

/// The cores that the two sides are pinned to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cores {
    pub(super) target: usize,
    pub(super) load: usize,
}

impl Cores {
    /// The first two cores that this process may use.
    pub(super) fn choose() -> Result<Cores> {
        let allowed = sched_getaffinity(None).context("could not read which cores may be used")?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        match (cores.next(), cores.next()) {
            (Some(target), Some(load)) => Ok(Cores { target, load }),
            _ => bail!("two cores are needed: one for the target, one for the generators"),
        }
    }
}

/// What a process used from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    pub(super) wall_s: f64,
    pub(super) peak_mb: f64,
}

/// `cargo xtask measured CORE PROGRAM …`: the process between, so that the account is of one child alone.
#[derive(Debug, clap::Args)]
pub struct Measured {
    core: usize,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

/// Runs the command on its core and writes its account as the last line of stderr.
pub fn measured(options: &Measured) -> Result<ExitCode> {
    pin(options.core)?;
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).context("could not raise the open files")?;
    let [program, arguments @ ..] = &options.command[..] else { bail!("no command") };
    let begun = std::time::Instant::now();
    let status =
        Command::new(program).args(arguments).status().with_context(|| format!("could not start {program}"))?;
    let wall_s = begun.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("could not read the account")?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let account = json!({
        "user_s": seconds(usage.user_time()),
        "system_s": seconds(usage.system_time()),
        "wall_s": wall_s,
        "peak_mb": usage.max_rss() as f64 / 1024.0,
    });
    eprintln!("\n{MARK}{account}");
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Confines this process, and what it starts, to one core.
pub(super) fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("could not move to core {core}"))
}

/// Output of a measured command with its account.
pub(super) struct Run {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) usage: Usage,
}

/// Runs `command` on `core` and reads its account.
pub(super) fn run(command: &[String], core: usize) -> Result<Run> {
    let own = std::env::current_exe().context("could not find this program")?;
    let output = exec::command(own)
        .args(["measured", &core.to_string()])
        .args(command)
        .process_group(0)
        .output()
        .with_context(|| format!("could not start {}", command[0]))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{} failed: {}", command.join(" "), stderr.lines().take(6).collect::<Vec<_>>().join(" | "));
    }
    let account = stderr.lines().rev().find_map(|line| line.strip_prefix(MARK)).context("no account")?;
    let account: Value = serde_json::from_str(account)?;
    let field = |name: &str| account[name].as_f64().with_context(|| format!("no {name}"));
    let usage = Usage {
        user_s: field("user_s")?,
        system_s: field("system_s")?,
        wall_s: field("wall_s")?,
        peak_mb: field("peak_mb")?,
    };
    Ok(Run { stdout: String::from_utf8_lossy(&output.stdout).into_owned(), stderr, usage })
}

/// Instructions in user space over the whole life of a command.
pub(super) fn instructions(valgrind: &Path, command: &[String]) -> Result<u64> {
    let output = exec::command(valgrind)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(command)
        .output()
        .context("could not start valgrind")?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("what was counted ended with {}", output.status);
    }
    collected(&told)
        .with_context(|| format!("valgrind counted nothing: {}", told.lines().last().unwrap_or("it said nothing")))
}

/// The count in callgrind's closing words.
fn collected(told: &str) -> Option<u64> {
    told.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_callgrind_s_words() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 123456\n==7==\n"), Some(123_456));
        assert_eq!(collected("==7== no such thing"), None);
    }

    #[test]
    fn a_core_can_be_chosen_and_taken() {
        let allowed = sched_getaffinity(None).unwrap();
        let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap();
        // Another thread, so that the other tests keep their cores.
        std::thread::spawn(move || {
            pin(core).unwrap();
            let now = sched_getaffinity(None).unwrap();
            assert!(now.is_set(core));
            assert_eq!(now.count(), 1);
        })
        .join()
        .unwrap();
    }
}

//! Other programs: finding them, starting them with a clean environment, and never leaving them behind.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal};

/// How often a child is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);
/// How long a child may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// The number of the last signal that asked this process to end; 0 is none.
static ASKED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// From here on Ctrl-C and its like set a flag that waiting sees, so that every exit passes through the clean-up.
pub fn watch_signals() -> Result<()> {
    let asked = ASKED.get_or_init(Arc::default);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        let number = usize::try_from(signal).context("signals have small numbers")?;
        signal_hook::flag::register_usize(signal, Arc::clone(asked), number).context("could not watch for signals")?;
    }
    Ok(())
}

/// Whether somebody asked this process to end.
pub fn interrupted() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed) != 0)
}

/// The workspace's root folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Whether this is a run where nobody looks on and a skipped check must count as a failed one.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Whether this process may install packages.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Finds a program by name in `PATH`, and where administrators' programs lie, which a user's `PATH` often leaves out.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(extra).map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// Whether a file is there and may be executed.
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// A command without what the outer cargo put into the environment: build scripts (ring's, for one) watch those
/// variables and would build anew each time that cargo is called in another way.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null()).env_remove("LD_LIBRARY_PATH");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"].contains(&&*text)
        {
            command.env_remove(&name);
        }
    }
    command
}

/// The cargo that runs this.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command to its end in a process group of its own and tells how it ended. When this process is asked to end
/// the group is too; what a command leaves running is ended.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.process_group(0).spawn().with_context(|| format!("could not start {name}"))?;
    let group = pid_of(&child)?;
    let status = loop {
        if let Some(status) = child.try_wait().with_context(|| format!("could not wait for {name}"))? {
            break status;
        }
        if interrupted() {
            // Already gone is as good as ended.
            let _ = rustix::process::kill_process_group(group, Signal::TERM);
            end(&mut child, Signal::TERM)?;
            end_group(group, &name);
            bail!("interrupted");
        }
        std::thread::sleep(POLL);
    };
    end_group(group, &name);
    Ok(status)
}

/// Runs a command that has to succeed.
pub fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("{} failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a command quietly; its output is shown only in the error.
pub fn quiet(command: &mut Command) -> Result<String> {
    let output =
        command.output().with_context(|| format!("could not start {}", command.get_program().to_string_lossy()))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let last = told.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        bail!("{} failed: {last}", line(command));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Asks a child to end with the signal, waits, and insists if it does not.
pub fn end(child: &mut Child, signal: Signal) -> Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    let pid = pid_of(child)?;
    rustix::process::kill_process(pid, signal).context("could not signal a child")?;
    let deadline = Instant::now() + GRACE;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// A child's process id.
pub fn pid_of(child: &Child) -> Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a child without a process id")
}

fn end_group(group: Pid, name: &str) {
    if rustix::process::test_kill_process_group(group).is_err() {
        return;
    }
    // A child that is about to end by itself needs no telling.
    std::thread::sleep(POLL * 5);
    for signal in [Signal::TERM, Signal::KILL] {
        if rustix::process::kill_process_group(group, signal).is_err() {
            return;
        }
        crate::say::step("clean-up", format_args!("ending what {name} left running"));
        let deadline = Instant::now() + GRACE;
        while rustix::process::test_kill_process_group(group).is_ok() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
    }
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_and_nothing_else_is() {
        assert!(find("sh").is_some_and(|file| file.ends_with("sh")));
        assert_eq!(find("no-such-program-anywhere"), None);
        assert!(!is_program(Path::new("/etc/passwd")));
    }

    #[test]
    fn what_a_command_leaves_running_is_ended() {
        let folder = std::env::temp_dir().join(format!("xtask-exec-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("pid");
        let script = format!("sleep 600 & echo $! > {}", file.display());
        assert!(status(Command::new("sh").args(["-c", &script])).unwrap().success());
        let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "still running: {stat}");
    }

    #[test]
    fn a_failure_names_the_command_and_its_last_words() {
        let error = quiet(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().ends_with("failed: last"), "{error}");
        assert!(run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string().contains("exit status: 3"));
    }
}

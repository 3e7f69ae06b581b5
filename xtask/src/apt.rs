//! Debian's packages: installs them without letting their services start.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};

use crate::{exec, say};

/// Where Debian's maintainer scripts ask whether they may start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// 101 is "the action is forbidden by policy".
const REFUSAL: &str = "#!/bin/sh\n# Placed by `cargo xtask` while it installs packages, so that no service starts; removed right after.\nexit 101\n";
/// What comes with a service that would start with the machine from then on.
const SERVICES: [(&str, &str); 3] = [("nginx", "nginx"), ("postgresql", "postgresql"), ("yaws", "yaws")];

/// Why packages cannot be installed here, in words for the person who has to do it; `None` if they can.
pub fn obstacle() -> Option<&'static str> {
    if exec::find("apt-get").is_none() {
        Some("this is no Debian or Ubuntu")
    } else if !exec::is_root() {
        Some("installing needs root")
    } else {
        None
    }
}

/// Installs packages. The first call also fetches the lists of what there is.
///
/// # Errors
/// When this is no Debian, not root, a package does not exist or its installation fails. No installed package is ever
/// removed for it.
pub fn install(packages: &[&str]) -> Result<()> {
    if let Some(obstacle) = obstacle() {
        bail!("{obstacle}; do it by hand: apt-get install {}", packages.join(" "));
    }
    static UPDATED: AtomicBool = AtomicBool::new(false);
    let guard = Guard::place(Path::new(POLICY)).context("could not keep services from starting")?;
    if !UPDATED.swap(true, Ordering::Relaxed) {
        say::step("setup", "fetching Debian's package lists (apt-get update)");
        // Old lists may still do; if they do not, the installation says so.
        if let Err(error) = exec::run(apt().args(["-qq", "update"])) {
            say::step("setup", format_args!("{error:#}"));
        }
    }
    say::step("setup", format_args!("installing {} (apt-get install)", packages.join(", ")));
    exec::run(
        apt()
            .args(["-qq", "install", "--yes", "--no-install-recommends", "--no-remove"])
            .args(packages)
            .stdout(std::process::Stdio::null()),
    )?;
    drop(guard);
    for (_, service) in SERVICES.iter().filter(|(package, _)| packages.iter().any(|name| name.starts_with(package))) {
        keep_off(service);
    }
    Ok(())
}

/// Keeps a service that was installed for tests alone from starting with the machine. Nothing depends on it working:
/// in a container there is nothing to switch off.
fn keep_off(service: &str) {
    if exec::find("systemctl").is_some()
        && exec::quiet(exec::command("systemctl").args(["disable", "--quiet", service])).is_ok()
    {
        say::step("setup", format_args!("{service} is installed but will not start by itself"));
    }
}

fn apt() -> Command {
    let mut command = exec::command("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").env("NEEDRESTART_MODE", "l");
    command
}

/// While it lives, maintainer scripts start no service. A policy of the machine's own is left as it is.
struct Guard {
    placed: Option<PathBuf>,
}

impl Guard {
    fn place(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(path) {
            Ok(mut file) => {
                // Made before the write, so that a full disk leaves no half a policy behind.
                let guard = Self { placed: Some(path.to_owned()) };
                file.write_all(REFUSAL.as_bytes())?;
                Ok(guard)
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                // One of ours that a killed process left is ours to remove.
                let ours = std::fs::read_to_string(path).is_ok_and(|text| text == REFUSAL);
                Ok(Self { placed: ours.then(|| path.to_owned()) })
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(path) = &self.placed
            && let Err(error) = std::fs::remove_file(path)
        {
            say::step("setup", format_args!("please remove {}: {error}", path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_guard_refuses_while_it_lives_and_leaves_nothing() {
        let folder = Folder::new("guard");
        let path = folder.0.join("policy-rc.d");
        let guard = Guard::place(&path).unwrap();
        assert!(exec::is_program(&path));
        assert_eq!(Command::new("sh").arg(&path).args(["nginx", "start"]).status().unwrap().code(), Some(101));
        drop(guard);
        assert!(!path.exists());
    }

    #[test]
    fn the_guard_goes_with_a_failure_too() {
        let folder = Folder::new("guard-failure");
        let path = folder.0.join("policy-rc.d");
        let failing = || -> Result<()> {
            let _guard = Guard::place(&path)?;
            bail!("the installation failed")
        };
        assert!(failing().is_err());
        assert!(!path.exists());
    }

    #[test]
    fn a_policy_of_the_machine_is_left_alone_and_a_forgotten_one_of_ours_is_not() {
        let folder = Folder::new("guard-foreign");
        let path = folder.0.join("policy-rc.d");
        std::fs::write(&path, "#!/bin/sh\nexit 0\n").unwrap();
        drop(Guard::place(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "#!/bin/sh\nexit 0\n");
        std::fs::write(&path, REFUSAL).unwrap();
        drop(Guard::place(&path).unwrap());
        assert!(!path.exists());
    }
}

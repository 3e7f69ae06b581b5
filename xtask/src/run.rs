//! `cargo xtask run`, `dist` and `ci`: build for use and start, keep, or check.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::{bundle, exec, say, test};

/// Builds everything and becomes `oleada serve`.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let binary = build()?;
    say::step("run", format_args!("http://{} (Ctrl-C stops it)", address(arguments)));
    // Becoming the server leaves nobody between it and the signals meant for it.
    let error = exec::command(&binary).arg("serve").args(arguments).current_dir(std::env::current_dir()?).exec();
    Err(error).with_context(|| format!("could not start {}", binary.display()))
}

/// Leaves the release binary, which holds all that it needs, in target/dist/.
pub fn dist() -> Result<ExitCode> {
    let binary = build()?;
    let folder = exec::target().join("dist");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("oleada");
    // Copied beside and renamed: a server that runs from the old one is not disturbed.
    let partial = folder.join("oleada.partial");
    let size = std::fs::copy(&binary, &partial).with_context(|| format!("could not copy {}", binary.display()))?;
    std::fs::rename(&partial, &file)?;
    say::step("dist", format_args!("{} is {}", file.display(), say::bytes(usize::try_from(size)?)));
    Ok(ExitCode::SUCCESS)
}

/// Runs the check of every change as it is run for the shared branch, where a skipped check counts as failed.
pub fn ci() -> Result<ExitCode> {
    test::code(exec::status(exec::command("bash").arg(".ci/run").env("CI", "true"))?)
}

fn build() -> Result<PathBuf> {
    bundle::bundle(&bundle::Options::default())?;
    let binary = exec::target().join("release/oleada");
    if !binary.exists() {
        say::step("build", "compiling oleada for use (minutes the first time)");
    }
    exec::run(exec::cargo().args(["build", "--release", "--package", "oleada-server", "--bin", "oleada"]))?;
    Ok(binary)
}

/// Where the server will answer, as `oleada serve` decides it: by argument, by environment, by default.
fn address(arguments: &[String]) -> String {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--listen" {
            return words.next().cloned().unwrap_or_default();
        }
        if let Some(value) = word.strip_prefix("--listen=") {
            return value.to_owned();
        }
    }
    std::env::var("OLEADA_LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_one_asked_for() {
        let of =
            |arguments: &[&str]| address(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["--database", "x", "--listen", "127.0.0.1:1"]), "127.0.0.1:1");
        assert_eq!(of(&["--listen=[::1]:2"]), "[::1]:2");
    }
}

//! `cargo xtask test`: all tests, with the database, web servers and browser that they use.

use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context as _, Result};

use crate::postgres::Postgres;
use crate::{bundle, exec, say, toolchain};

/// Builds everything, starts a PostgreSQL, runs `cargo test` with `arguments`, and passes on how it ended.
pub fn test(arguments: &[String]) -> Result<ExitCode> {
    let tools = toolchain::for_tests(false)?;
    bundle::bundle(&bundle::Options::default())?;
    say::step("test", "compiling (minutes the first time)");
    // One call for the tests and the binary that they start, so that both are built from the same dependencies.
    exec::run(exec::cargo().args(["build", "--workspace", "--lib", "--bins", "--tests"]))?;

    let postgres = tools.postgres.as_deref().map(Postgres::start).transpose()?;
    let mut command = exec::cargo();
    // All of it, so that one look at the output shows everything that is broken.
    command.args(["test", "--no-fail-fast"]);
    if !names_a_package(arguments) {
        command.arg("--workspace");
    }
    command.args(arguments);
    environment(&mut command, "debug", &tools, postgres.as_ref())?;
    say::step("test", "running the tests");
    code(exec::status(&mut command)?)
}

/// Tells tests what is there to test with; what is missing stays unset, and they skip what needs it.
pub fn environment(
    command: &mut Command,
    profile: &str,
    tools: &toolchain::TestTools,
    postgres: Option<&Postgres>,
) -> Result<()> {
    let root = exec::root();
    let artefacts = root.join("artefacts");
    std::fs::create_dir_all(&artefacts).context("could not make artefacts/")?;
    command.env("OLEADA_TEST_ARTEFACTS", artefacts);
    command.env("OLEADA_TEST_BIN", exec::target().join(profile).join("oleada"));
    command.envs(tools.programs.iter().map(|(name, program)| (*name, program)));
    if let Some(postgres) = postgres {
        command.env("OLEADA_TEST_POSTGRES", &postgres.url);
    }
    Ok(())
}

/// How a child ended, as the way this process ends.
pub fn code(status: ExitStatus) -> Result<ExitCode> {
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Whether the arguments before a `--` choose packages themselves.
fn names_a_package(arguments: &[String]) -> bool {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    own.into_iter().any(|argument| {
        argument.starts_with("-p")
            || argument == "--package"
            || argument.starts_with("--package=")
            || argument == "--workspace"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(arguments: &[&str]) -> bool {
        names_a_package(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_package_is_seen_in_every_spelling_but_not_behind_the_dashes() {
        assert!(named(&["-p", "oleada-engine"]));
        assert!(named(&["-poleada-engine"]));
        assert!(named(&["--package=oleada-engine"]));
        assert!(!named(&["--test", "store"]));
        assert!(!named(&["--", "-p"]));
    }
}

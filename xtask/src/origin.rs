//! `cargo xtask origin`: the comparison that this project comes from, in full size.

use std::process::ExitCode;

use anyhow::Result;

use crate::{bundle, exec, say, test, toolchain};

/// Measures the web servers with 1,000 to 10,000 clients and writes the table; some ten minutes.
pub fn origin(with_yaws: bool, arguments: &[String]) -> Result<ExitCode> {
    let tools = toolchain::for_tests(with_yaws)?;
    bundle::bundle(&bundle::Options::default())?;
    say::step("origin", "compiling for speed (minutes the first time)");
    let packages = ["--release", "--package", "oleada-server", "--package", "oleada-tests"];
    exec::run(exec::cargo().arg("build").args(packages).args(["--bin", "oleada", "--test", "origin"]))?;

    let mut command = exec::cargo();
    command
        .arg("test")
        .args(packages)
        .args(["--bin", "oleada", "--test", "origin"])
        .args(["--", "--nocapture", "--test-threads=1"])
        .args(arguments);
    test::environment(&mut command, "release", &tools, None)?;
    command.env("OLEADA_ORIGIN", "full");
    say::step("origin", "measuring; leave the machine alone meanwhile");
    test::code(exec::status(&mut command)?)
}

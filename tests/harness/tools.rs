//! The programs that tests start, and folders that they may fill.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

/// A program of the test environment, named by its variable. Without it the test says that it skips, and under `CI=true` it fails.
#[expect(clippy::disallowed_methods, reason = "the environment is how `cargo xtask test` tells what there is")]
pub fn tool(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "{variable} is not set; run the tests with `cargo xtask test`"
        );
        eprintln!("skipped: {variable} is not set; run the tests with `cargo xtask test`");
    }
    found
}

/// Whether a variable of the test environment has this value.
#[expect(clippy::disallowed_methods, reason = "the environment is how `cargo xtask origin` asks for the full size")]
pub fn asked_for(variable: &str, value: &str) -> bool {
    std::env::var_os(variable).is_some_and(|v| v == value)
}

/// Where pictures and tables are kept.
#[expect(clippy::disallowed_methods, reason = "the environment is how `cargo xtask test` tells where")]
pub fn artefacts() -> PathBuf {
    let folder = std::env::var_os("OLEADA_TEST_ARTEFACTS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../artefacts"), PathBuf::from);
    std::fs::create_dir_all(&folder).expect("artefacts folder");
    folder
}

/// The program `oleada`: named by the environment, or the one built beside this test.
#[expect(clippy::disallowed_methods, reason = "the environment is how `cargo xtask test` tells which")]
pub fn oleada() -> PathBuf {
    if let Some(path) = std::env::var_os("OLEADA_TEST_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("own path");
    let beside = test.ancestors().nth(2).expect("target folder").join("oleada");
    assert!(beside.exists(), "{} is not built; run the tests with `cargo xtask test`", beside.display());
    beside
}

/// A new folder for this test alone.
pub fn temp_dir(name: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("oleada-test-{}-{number}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("temporary folder");
    folder
}

/// Runs `oleada` with arguments to its end.
pub fn run_oleada(arguments: &[&str]) -> Output {
    Command::new(oleada()).args(arguments).stdin(Stdio::null()).output().expect("oleada starts")
}

/// `oleada target` on a free port; ended when dropped.
pub struct Target {
    child: Child,
    address: String,
}

impl Target {
    /// Starts one and waits until it listens.
    ///
    /// # Errors
    /// If it does not say where it listens.
    pub fn start() -> Result<Target> {
        let mut child = Command::new(oleada())
            .args(["target", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("oleada target does not start")?;
        let errors = child.stderr.take().context("no stderr")?;
        let mut line = String::new();
        BufReader::new(errors).read_line(&mut line)?;
        let address = line.trim().rsplit_once("http://").context(line.clone())?.1.to_owned();
        Ok(Target { child, address })
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How often each path was asked for, by the target's own count.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn counts(&self) -> Result<serde_json::Value> {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(&self.address)?;
        stream.write_all(b"GET /counts HTTP/1.1\r\nHost: target\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let body = text.split_once("\r\n\r\n").context("no body")?.1;
        Ok(serde_json::from_str(body)?)
    }

    /// How often one path was asked for.
    ///
    /// # Errors
    /// As [`Target::counts`].
    pub fn count(&self, path: &str) -> Result<u64> {
        Ok(self.counts()?["paths"][path].as_u64().unwrap_or(0))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

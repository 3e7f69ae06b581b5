//! What a fresh machine lacks: finds it, else installs it, and says so; where neither goes, says what is left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::{apt, exec, say};

/// The compilation target of the browser bundle.
pub const WASM: &str = "wasm32-unknown-unknown";
/// Debian's compiler for the web: rustc and cargo new enough for us, the library's source, and the linker.
const DEBIAN_WEB: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_LINKER: &str = "/usr/bin/wasm-ld-19";
/// npm's package of wasm-opt, pinned: another version writes other bytes.
const BINARYEN: &str = "binaryen@132.0.0";
/// npm's package of the accessibility checks, pinned: another version finds other things.
const AXE: &str = "axe-core@4.10.3";

/// Which compiler makes the browser bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// The first one that is there or can be had
    Auto,
    /// The compiler that built this, with its wasm target
    Rustup,
    /// Debian's rustc-web
    Debian,
}

/// A compiler that can make the browser bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WasmCompiler {
    /// The one that builds everything else; it has the target.
    Own,
    /// Debian's, which builds the standard library along.
    Debian,
}

impl WasmCompiler {
    /// `cargo`, set up so that `build --target wasm32-unknown-unknown` works.
    pub fn cargo(self) -> Command {
        match self {
            Self::Own => exec::cargo(),
            Self::Debian => {
                let mut command = exec::command(DEBIAN_CARGO);
                command
                    .env("RUSTC", DEBIAN_RUSTC)
                    // Debian ships no built library for the target; building it asks for a switch that is not stable.
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", DEBIAN_LINKER)
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .env_remove("RUSTDOC");
                command
            }
        }
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "rustc",
            Self::Debian => "Debian's rustc-web",
        }
    }
}

/// Finds or installs a compiler for the browser bundle.
pub fn wasm_compiler(choice: Choice) -> Result<WasmCompiler> {
    if choice != Choice::Debian {
        if own_has_target() {
            return Ok(WasmCompiler::Own);
        }
        if let Some(rustup) = exec::find("rustup") {
            say::step("setup", format_args!("adding the {WASM} target (rustup target add)"));
            match exec::quiet(exec::command(rustup).args(["target", "add", WASM])) {
                Ok(_) if own_has_target() => return Ok(WasmCompiler::Own),
                Ok(_) => say::step("setup", "rustup has the target, but for another compiler than this one"),
                Err(error) => say::step("setup", format_args!("rustup cannot add it here: {error:#}")),
            }
        }
        if choice == Choice::Rustup {
            bail!("the compiler has no {WASM} target and rustup could not add it");
        }
    }
    if !debian_is_there() {
        say::step("setup", "taking Debian's compiler for the browser bundle instead");
        if let Err(error) = apt::install(&DEBIAN_WEB) {
            bail!(
                "no compiler for the browser bundle: {error:#}. Either `rustup target add {WASM}` or Debian's {} will do",
                DEBIAN_WEB.join(", ")
            );
        }
        if !debian_is_there() {
            bail!(
                "{} are installed, but {DEBIAN_RUSTC}, {DEBIAN_LINKER} or the library's source is missing",
                DEBIAN_WEB.join(", ")
            );
        }
    }
    Ok(WasmCompiler::Debian)
}

fn own_has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(folder) = exec::quiet(exec::command(rustc).args(["--print", "target-libdir", "--target", WASM])) else {
        return false;
    };
    let Ok(entries) = std::fs::read_dir(folder.trim()) else {
        return false;
    };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

fn debian_is_there() -> bool {
    [DEBIAN_CARGO, DEBIAN_RUSTC, DEBIAN_LINKER].iter().all(|file| exec::is_program(Path::new(file)))
        && Path::new("/usr/lib/rustlib/src/rust/library/std/Cargo.toml").exists()
}

/// Finds wasm-opt, else installs it with npm into target/tools. Without npm the bundle is only larger.
pub fn wasm_opt() -> Option<PathBuf> {
    let folder = exec::target().join("tools");
    let program = folder.join("node_modules/.bin/wasm-opt");
    if exec::is_program(&program) {
        return Some(program);
    }
    let Some(npm) = exec::find("npm") else {
        say::step("setup", "no npm here, so no wasm-opt: the bundle works, but is two to three times as large");
        return None;
    };
    say::step("setup", format_args!("installing wasm-opt into target/tools (npm install {BINARYEN})"));
    match npm_install(npm, &folder, BINARYEN) {
        Ok(_) if exec::is_program(&program) => Some(program),
        Ok(_) => {
            say::step("setup", "npm installed binaryen, but without a wasm-opt; going on without");
            None
        }
        Err(error) => {
            say::step("setup", format_args!("going on without wasm-opt: {error:#}"));
            None
        }
    }
}

/// Installs one package into a folder of its own: npm removes what it did not install itself.
fn npm_install(npm: PathBuf, folder: &Path, package: &str) -> Result<String> {
    std::fs::create_dir_all(folder)?;
    let mut command = exec::command(npm);
    command
        .args(["install", "--no-save", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--prefix"])
        .arg(folder)
        .arg(package);
    exec::quiet(&mut command)
}

/// The script of the accessibility checks; installed with npm into target/tools where it is missing.
fn axe() -> Option<PathBuf> {
    let folder = exec::target().join("tools/axe");
    let script = folder.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        say::step("setup", format_args!("installing axe into target/tools (npm install {AXE})"));
        if let Err(error) = npm_install(exec::find("npm")?, &folder, AXE) {
            say::step("setup", format_args!("going on without axe: {error:#}"));
        }
    }
    script.exists().then_some(script)
}

/// A program that tests use, and how they learn of it.
struct Tool {
    variable: &'static str,
    names: &'static [&'static str],
    packages: &'static [&'static str],
    /// What is skipped without it.
    purpose: &'static str,
}

const CHROMIUM: Tool = Tool {
    variable: "OLEADA_TEST_CHROMIUM",
    names: &["chromium", "chromium-browser", "google-chrome"],
    packages: &["chromium"],
    purpose: "browser tests",
};
const CHROMEDRIVER: Tool = Tool {
    variable: "OLEADA_TEST_CHROMEDRIVER",
    names: &["chromedriver", "chromium.chromedriver"],
    packages: &["chromium-driver"],
    purpose: "browser tests",
};
const NGINX: Tool = Tool {
    variable: "OLEADA_TEST_NGINX",
    names: &["nginx"],
    packages: &["nginx-light"],
    purpose: "tests against nginx",
};
/// The package with the program and its modules alone: `apache2` would bring a service.
const APACHE: Tool = Tool {
    variable: "OLEADA_TEST_APACHE",
    names: &["apache2", "httpd"],
    packages: &["apache2-bin"],
    purpose: "tests against Apache",
};
const AB: Tool =
    Tool { variable: "OLEADA_TEST_AB", names: &["ab"], packages: &["apache2-utils"], purpose: "comparisons with ab" };
const YAWS: Tool =
    Tool { variable: "OLEADA_TEST_YAWS", names: &["yaws"], packages: &["yaws"], purpose: "the comparison with Yaws" };

/// What tests find on this machine.
pub struct TestTools {
    /// Variables to set for the tests, with the programs and scripts they name.
    pub programs: Vec<(&'static str, PathBuf)>,
    /// The folder with PostgreSQL's `initdb` and `postgres`.
    pub postgres: Option<PathBuf>,
}

/// Finds or installs the programs that the tests use, Yaws only if asked for.
///
/// # Errors
/// With CI=true when one is missing: a check that is skipped there counts as failed.
pub fn for_tests(with_yaws: bool) -> Result<TestTools> {
    let mut tools = vec![CHROMIUM, CHROMEDRIVER, NGINX, APACHE, AB];
    if with_yaws {
        tools.push(YAWS);
    }
    let mut lacking: Vec<&str> =
        tools.iter().filter(|tool| look(tool).is_none()).flat_map(|tool| tool.packages).copied().collect();
    if postgres_programs().is_none() {
        lacking.push("postgresql");
    }
    provide(&lacking);

    let mut missing = Vec::new();
    let mut programs = Vec::new();
    for tool in &tools {
        match look(tool) {
            Some(program) => programs.push((tool.variable, program)),
            None => missing.push(format!("{} (needs {})", tool.purpose, tool.packages.join(", "))),
        }
    }
    match axe() {
        Some(script) => programs.push(("OLEADA_TEST_AXE", script)),
        None => missing.push("checks of accessibility (needs npm)".to_owned()),
    }
    let postgres = postgres_programs();
    if postgres.is_none() {
        missing.push("tests on PostgreSQL (needs postgresql)".to_owned());
    }
    for what in &missing {
        say::step("setup", format_args!("skipping {what}"));
    }
    if exec::is_ci() && !missing.is_empty() {
        bail!("CI=true, and {} of the checks would be skipped", missing.len());
    }
    Ok(TestTools { programs, postgres })
}

/// nginx, installed where it is missing and may be; `None` after saying why it is not there.
pub fn nginx() -> Option<PathBuf> {
    if look(&NGINX).is_none() {
        provide(NGINX.packages);
    }
    look(&NGINX)
}

/// Installs what it can, one package after the other if they do not go together: Ubuntu, say, has no Chromium of its own.
fn provide(packages: &[&str]) {
    if packages.is_empty() {
        return;
    }
    if let Some(obstacle) = apt::obstacle() {
        say::step("setup", format_args!("cannot install {}: {obstacle}", packages.join(", ")));
        return;
    }
    if apt::install(packages).is_ok() || packages.len() == 1 {
        return;
    }
    for package in packages {
        if exec::interrupted() {
            return;
        }
        if let Err(error) = apt::install(&[package]) {
            say::step("setup", format_args!("{error:#}"));
        }
    }
}

fn look(tool: &Tool) -> Option<PathBuf> {
    tool.names.iter().find_map(|name| exec::find(name))
}

/// The folder of PostgreSQL's server programs: by `PATH`, else the newest of Debian's.
fn postgres_programs() -> Option<PathBuf> {
    let complete = |folder: &Path| ["initdb", "postgres"].iter().all(|name| exec::is_program(&folder.join(name)));
    let by_path = exec::find("initdb")
        .and_then(|file| file.canonicalize().ok())
        .and_then(|file| file.parent().map(Path::to_owned));
    by_path.filter(|folder| complete(folder)).or_else(|| newest(Path::new("/usr/lib/postgresql"), complete))
}

fn newest(versions: &Path, complete: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let numbered = std::fs::read_dir(versions).ok()?.flatten().filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path().join("bin")))
    });
    numbered.filter(|(_, folder)| complete(folder)).max_by_key(|(number, _)| *number).map(|(_, folder)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_is_taken_by_number() {
        let versions = std::env::temp_dir().join(format!("xtask-postgres-{}", std::process::id()));
        for version in ["9", "15", "17", "common"] {
            std::fs::create_dir_all(versions.join(version).join("bin")).unwrap();
        }
        let found = newest(&versions, |folder| !folder.starts_with(versions.join("17")));
        assert_eq!(found, Some(versions.join("15/bin")));
        assert_eq!(newest(&versions.join("nowhere"), |_| true), None);
        std::fs::remove_dir_all(&versions).unwrap();
    }

    #[test]
    fn debian_s_compiler_is_called_by_path_and_builds_the_library() {
        let command = WasmCompiler::Debian.cargo();
        assert_eq!(command.get_program(), DEBIAN_CARGO);
        let set = |name: &str| {
            command
                .get_envs()
                .find(|(key, _)| *key == name)
                .and_then(|(_, value)| value)
                .map(|value| value.to_string_lossy().into_owned())
        };
        assert_eq!(set("RUSTC").as_deref(), Some(DEBIAN_RUSTC));
        assert_eq!(set("CARGO_UNSTABLE_BUILD_STD").as_deref(), Some("std,panic_abort"));
        assert_eq!(set("RUSTUP_TOOLCHAIN"), None);
    }
}

//! The browser bundle: what the islands compile to, style sheets and public files, named by content, compressed, in site/.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::files::{self, Bound, Files};
use crate::toolchain::{self, Choice};
use crate::{exec, inputs, say};

/// The cargo profile of the bundle. Tests use the bundle that is shipped, so that what passes is what people get.
const PROFILE: &str = "wasm";
/// What the wasm file may weigh as browsers fetch it, in bytes of brotli. It is most of what a first visit costs.
const WASM_BUDGET: usize = 200_000;
/// What browsers of the last years all have. `--all-features` would let wasm-opt write what they reject.
const WASM_OPT: [&str; 8] = [
    "-Oz",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-reference-types",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-multivalue",
];
/// How `cargo xtask bundle` builds.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Build even if nothing has changed
    #[arg(long)]
    force: bool,
    /// The compiler to take
    #[arg(long, value_enum, default_value_t = Choice::Auto)]
    compiler: Choice,
}

impl Default for Options {
    fn default() -> Self {
        Self { force: false, compiler: Choice::Auto }
    }
}

/// Builds the bundle unless the one in site/ is made from the same sources.
pub fn bundle(options: &Options) -> Result<()> {
    let root = exec::root();
    let site = root.join("site");
    let inputs = inputs::digest(root)?;
    if !options.force && files::is_current(&site, &inputs) {
        return Ok(());
    }
    let started = Instant::now();
    let compiler = toolchain::wasm_compiler(options.compiler)?;
    let wasm_opt = toolchain::wasm_opt();

    say::step(
        "bundle",
        format_args!("compiling the islands for the browser with {} (minutes the first time)", compiler.name()),
    );
    let compiled = compile(compiler)?;
    say::step("bundle", "writing the JavaScript that loads them (wasm-bindgen)");
    let mut bound = bind(&compiled, &exec::target().join("wasm/bound"))?;
    let optimised = if let Some(program) = &wasm_opt {
        say::step("bundle", "making the wasm smaller (wasm-opt)");
        optimise(program, &mut bound, &exec::target().join("wasm"))?;
        true
    } else {
        false
    };

    let mut files = Files::default();
    files.add_bound(bound);
    files.add_styles(&root.join("style"))?;
    files.add_public(&root.join("public"))?;
    // Everybody's build may have changed a source in the meantime: then the next call builds again.
    let written = files.write(&site, &inputs)?;
    for line in &written.report {
        say::step("bundle", line);
    }
    check_budget(written.wasm, optimised)?;
    say::step("bundle", format_args!("ready in site/ after {:.0} s", started.elapsed().as_secs_f64()));
    Ok(())
}

fn compile(compiler: toolchain::WasmCompiler) -> Result<PathBuf> {
    let target = exec::target().join("wasm");
    let mut cargo = compiler.cargo();
    // The crate type is said here and not in the crate: there it would have every build of the server link a second
    // library that nobody uses.
    cargo.args([
        "rustc",
        "--package",
        "oleada-app",
        "--lib",
        "--crate-type",
        "cdylib",
        "--no-default-features",
        "--features",
        "hydrate",
    ]);
    cargo.args(["--profile", PROFILE, "--target", toolchain::WASM, "--target-dir"]).arg(&target);
    exec::run(&mut cargo).context("the browser bundle does not build")?;
    Ok(target.join(toolchain::WASM).join(PROFILE).join("oleada_app.wasm"))
}

fn bind(compiled: &Path, folder: &Path) -> Result<Bound> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let mut bindgen = Bindgen::new();
    bindgen.input_path(compiled).out_name("app").typescript(false);
    // The script finds the wasm beside itself, so that a page has to name the script alone.
    bindgen.omit_default_module_path(false).web(true)?.generate(folder).context("wasm-bindgen failed")?;

    let mut snippets = BTreeMap::new();
    let below = folder.join("snippets");
    if below.is_dir() {
        for file in inputs::files_below(&below)? {
            let name = file.strip_prefix(&below)?.to_string_lossy().into_owned();
            snippets.insert(name, std::fs::read(&file)?);
        }
    }
    Ok(Bound {
        script: std::fs::read_to_string(folder.join("app.js"))?,
        wasm: std::fs::read(folder.join("app_bg.wasm"))?,
        snippets,
    })
}

fn optimise(program: &Path, bound: &mut Bound, folder: &Path) -> Result<()> {
    let (before, after) = (folder.join("before.wasm"), folder.join("after.wasm"));
    std::fs::write(&before, &bound.wasm)?;
    exec::run(exec::command(program).args(WASM_OPT).arg(&before).arg("--output").arg(&after))?;
    bound.wasm = std::fs::read(&after)?;
    Ok(())
}

fn check_budget(wasm: usize, optimised: bool) -> Result<()> {
    if wasm <= WASM_BUDGET {
        return Ok(());
    }
    let told =
        format!("the wasm is {} compressed, more than its budget of {}", say::bytes(wasm), say::bytes(WASM_BUDGET));
    if optimised {
        bail!("{told}: find what made it grow, or raise WASM_BUDGET in xtask/src/bundle.rs and say why");
    }
    say::step("bundle", format_args!("{told}; without wasm-opt that is no fault"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_binds_only_what_was_optimised() {
        assert!(check_budget(WASM_BUDGET, true).is_ok());
        assert!(check_budget(WASM_BUDGET + 1, true).is_err());
        assert!(check_budget(WASM_BUDGET + 1, false).is_ok());
    }
}

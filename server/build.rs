//! Makes sure that the folder of the browser bundle exists, so that the server can be checked and tested without one.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../site");
    std::fs::create_dir_all(&site)?;
    // A file that appears in or leaves the folder must be embedded anew; changed ones are tracked by the compiler.
    println!("cargo::rerun-if-changed={}", site.display());
    // The migrations are embedded too; the compiler tracks the files it has seen, not those that appear.
    println!("cargo::rerun-if-changed={}", site.with_file_name("migrations").display());
    Ok(())
}

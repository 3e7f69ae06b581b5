//! Writes every page with made-up data as HTML files, to look at: `cargo run -p oleada-app --features ssr --example gallery -- DIR`.

#[path = "../tests/fixtures/mod.rs"]
mod fixtures;

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let into = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned()));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::create_dir_all(into.join("style"))?;
    for file in std::fs::read_dir(root.join("style"))? {
        let file = file?;
        std::fs::copy(file.path(), into.join("style").join(file.file_name()))?;
    }
    std::fs::copy(root.join("public/favicon.svg"), into.join("favicon.svg"))?;
    for (name, html) in fixtures::all() {
        std::fs::write(into.join(format!("{name}.html")), html)?;
    }
    Ok(())
}

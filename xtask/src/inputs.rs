//! What the browser bundle is made from, as one digest: nothing is built while it stays the same.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// Files and folders, relative to the root, that decide what the bundle is.
const INPUTS: [&str; 14] = [
    "Cargo.lock",
    "Cargo.toml",
    ".cargo/config.toml",
    "app/Cargo.toml",
    "app/src",
    "engine/Cargo.toml",
    "engine/src",
    "public",
    "style",
    "xtask/Cargo.toml",
    "xtask/src/bundle.rs",
    "xtask/src/files.rs",
    "xtask/src/style.rs",
    "xtask/src/toolchain.rs",
];
/// Parts of the engine that only its feature `net` compiles; the browser never has it.
const NOT_FOR_BROWSERS: [&str; 2] = ["engine/src/net.rs", "engine/src/net"];

/// The digest of everything that the bundle of the workspace at `root` is made from, in hexadecimal.
pub fn digest(root: &Path) -> Result<String> {
    let mut files = Vec::new();
    for input in INPUTS {
        let path = root.join(input);
        if path.exists() {
            files.extend(files_below(&path)?);
        }
    }
    files.retain(|file| !NOT_FOR_BROWSERS.iter().any(|part| file.starts_with(root.join(part))));
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        let contents = std::fs::read(&file).with_context(|| format!("could not read {name}"))?;
        // Lengths go in as well, so that no two lists of files run together to the same bytes.
        for part in [name.as_bytes(), &contents] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    Ok(hex(&digest.finalize()))
}

/// The digest of one file's contents, as short as a file name can take: 16 hexadecimal digits.
pub fn short(contents: &[u8]) -> String {
    hex(&Sha256::digest(contents)[..8])
}

/// All files at or below a path, in no particular order.
pub fn files_below(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| format!("could not list {}", path.display()))? {
        files.extend(files_below(&entry?.path())?);
    }
    Ok(files)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_browser_gets_changes_the_digest() {
        let root = std::env::temp_dir().join(format!("xtask-inputs-{}", std::process::id()));
        let put = |name: &str, text: &str| {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        put("app/src/lib.rs", "a");
        put("engine/src/lib.rs", "b");
        let first = digest(&root).unwrap();
        assert_eq!(first.len(), 64);
        put("engine/src/net.rs", "c");
        put("engine/src/net/worker.rs", "d");
        put("server/src/main.rs", "e");
        assert_eq!(digest(&root).unwrap(), first);
        put("engine/src/network.rs", "f");
        let second = digest(&root).unwrap();
        assert_ne!(second, first);
        put("style/main.css", "g");
        assert_ne!(digest(&root).unwrap(), second);
        std::fs::remove_dir_all(&root).unwrap();
    }
}

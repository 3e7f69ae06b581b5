//! The files of the browser bundle in site/: named by content, compressed, listed in a manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::{inputs, say, style};

/// Endings of files that get smaller by compressing; the rest is compressed already.
const COMPRESSIBLE: [&str; 9] = ["css", "html", "ico", "js", "json", "svg", "txt", "wasm", "webmanifest"];

/// Whether site/ holds the bundle of these inputs, with all of its files.
pub fn is_current(site: &Path, inputs: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(site.join("manifest.json")) else {
        return false;
    };
    let Ok(manifest) = serde_json::from_str::<Value>(&text) else {
        return false;
    };
    let complete = manifest["files"].as_object().is_some_and(|files| {
        files.values().all(|file| {
            file["path"].as_str().is_some_and(|path| {
                let there = |ending: &str| site.join(format!("{path}{ending}")).is_file();
                there("") && (file["br"].is_null() || there(".br")) && (file["gz"].is_null() || there(".gz"))
            })
        })
    });
    complete && manifest["inputs"] == *inputs
}

/// What wasm-bindgen makes: the script, the wasm, and pieces of JavaScript that crates bring, by path.
pub struct Bound {
    pub script: String,
    pub wasm: Vec<u8>,
    pub snippets: BTreeMap<String, Vec<u8>>,
}

/// A file as it will be served.
struct File {
    path: String,
    /// Whether the path changes with the contents.
    immutable: bool,
    contents: Vec<u8>,
}

/// The bundle's files by their logical names.
#[derive(Default)]
pub struct Files(BTreeMap<String, File>);

/// What [`Files::write`] tells.
pub struct Written {
    /// A line for each file with its sizes.
    pub report: Vec<String>,
    /// Bytes of the wasm as browsers fetch it.
    pub wasm: usize,
}

impl Files {
    fn add(&mut self, logical: &str, path: String, immutable: bool, contents: Vec<u8>) {
        self.0.insert(logical.to_owned(), File { path, immutable, contents });
    }

    /// Adds a file under its logical name with the hash of its contents put before the ending: main.css as main.1a2b….css.
    fn add_hashed(&mut self, logical: &str, stem: &str, ending: &str, contents: Vec<u8>) -> String {
        let path = format!("{stem}.{}.{ending}", inputs::short(&contents));
        self.add(logical, path.clone(), true, contents);
        path
    }

    /// Adds what wasm-bindgen made, with references among the files led to their hashed names.
    pub fn add_bound(&mut self, bound: Bound) {
        let Bound { mut script, wasm, snippets } = bound;
        if !snippets.is_empty() {
            // One hash for all, in the folder's name: they import one another by relative paths.
            let all: Vec<u8> =
                snippets.iter().flat_map(|(name, contents)| [name.as_bytes(), contents].concat()).collect();
            let folder = format!("snippets.{}", inputs::short(&all));
            script = script.replace("./snippets/", &format!("./{folder}/"));
            for (name, contents) in snippets {
                self.add(&format!("snippets/{name}"), format!("{folder}/{name}"), true, contents);
            }
        }
        let wasm = self.add_hashed("app.wasm", "app_bg", "wasm", wasm);
        self.add_hashed("app.js", "app", "js", script.replace("app_bg.wasm", &wasm).into_bytes());
    }

    /// Adds the sheets that pages link to: main.css and, for paper, print.css.
    pub fn add_styles(&mut self, folder: &Path) -> Result<()> {
        for stem in ["main", "print"] {
            let file = folder.join(format!("{stem}.css"));
            if file.exists() {
                self.add_hashed(&format!("{stem}.css"), stem, "css", style::read(&file)?.into_bytes());
            }
        }
        Ok(())
    }

    /// Adds files that are known by their names to others, such as robots.txt.
    pub fn add_public(&mut self, folder: &Path) -> Result<()> {
        if !folder.is_dir() {
            return Ok(());
        }
        for file in inputs::files_below(folder)? {
            let name = file.strip_prefix(folder)?.to_string_lossy().into_owned();
            if !name.starts_with('.') {
                self.add(&name, name.clone(), false, std::fs::read(&file)?);
            }
        }
        Ok(())
    }

    /// Writes the files, their compressed forms and the manifest, and removes what is no longer part of the bundle. A file
    /// that is as it should be is not touched, so that the server is not built again for it.
    pub fn write(&self, site: &Path, inputs: &str) -> Result<Written> {
        std::fs::create_dir_all(site)?;
        let mut kept = BTreeSet::from([site.join("manifest.json")]);
        let mut listed = serde_json::Map::new();
        let mut written = Written { report: Vec::new(), wasm: 0 };
        for (logical, file) in &self.0 {
            let Compressed { brotli, gzip } = compressed(&file.path, &file.contents)?;
            let mut put = |ending: &str, contents: &[u8]| {
                let path = site.join(format!("{}{ending}", file.path));
                put_if_different(&path, contents)?;
                kept.insert(path);
                anyhow::Ok(())
            };
            put("", &file.contents)?;
            if let Some(contents) = &brotli {
                put(".br", contents)?;
            }
            if let Some(contents) = &gzip {
                put(".gz", contents)?;
            }
            let size = |form: &Option<Vec<u8>>| form.as_ref().map(Vec::len);
            let fetched = size(&brotli).unwrap_or(file.contents.len());
            if logical == "app.wasm" {
                written.wasm = fetched;
            }
            written.report.push(format!(
                "{:<14} {:>9}, {:>9} compressed",
                logical,
                say::bytes(file.contents.len()),
                say::bytes(fetched)
            ));
            listed.insert(
                logical.clone(),
                json!({"path": file.path, "immutable": file.immutable, "bytes": file.contents.len(), "br": size(&brotli), "gz": size(&gzip)}),
            );
        }
        // Last, and by renaming: a manifest is there only when all that it names is.
        let manifest = format!("{:#}\n", json!({"inputs": inputs, "files": listed}));
        put_if_different(&site.join("manifest.json"), manifest.as_bytes())?;
        for old in inputs::files_below(site)?.into_iter().filter(|file| !kept.contains(file)) {
            std::fs::remove_file(old)?;
        }
        Ok(written)
    }
}

fn put_if_different(path: &Path, contents: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == contents) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    std::fs::write(&partial, contents).with_context(|| format!("could not write {}", path.display()))?;
    std::fs::rename(&partial, path)?;
    Ok(())
}

/// The compressed forms of a file, each only if it is smaller than the file.
#[derive(Default)]
struct Compressed {
    brotli: Option<Vec<u8>>,
    gzip: Option<Vec<u8>>,
}

fn compressed(path: &str, contents: &[u8]) -> Result<Compressed> {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    if !COMPRESSIBLE.contains(&ending) {
        return Ok(Compressed::default());
    }
    let mut brotli = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { size_hint: contents.len(), ..Default::default() };
    brotli::BrotliCompress(&mut &*contents, &mut brotli, &parameters)?;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(contents)?;
    let gzip = gzip.finish()?;
    let smaller = |form: Vec<u8>| Some(form).filter(|form| form.len() < contents.len());
    Ok(Compressed { brotli: smaller(brotli), gzip: smaller(gzip) })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn folder(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("xtask-bundle-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn bound(script: &str) -> Bound {
        let snippets = BTreeMap::from([("a-1/inline0.js".to_owned(), b"export {}".to_vec())]);
        Bound { script: script.to_owned(), wasm: vec![0; 2000], snippets }
    }

    fn written(site: &Path, script: &str) -> Value {
        let mut files = Files::default();
        files.add_bound(bound(script));
        files.add("robots.txt", "robots.txt".to_owned(), false, b"x".to_vec());
        files.write(site, "digest").unwrap();
        serde_json::from_slice(&std::fs::read(site.join("manifest.json")).unwrap()).unwrap()
    }

    #[test]
    fn names_follow_contents_and_references_follow_names() {
        let site = folder("names");
        let manifest = written(&site.0, "import './snippets/a-1/inline0.js'; fetch('app_bg.wasm')");
        let path = |logical: &str| manifest["files"][logical]["path"].as_str().unwrap().to_owned();
        let script = std::fs::read_to_string(site.0.join(path("app.js"))).unwrap();
        assert_eq!(script, format!("import './{}'; fetch('{}')", path("snippets/a-1/inline0.js"), path("app.wasm")));
        assert_eq!(manifest["files"]["robots.txt"]["path"], "robots.txt");
        assert_eq!(manifest["files"]["robots.txt"]["immutable"], false);
        assert_eq!(manifest["files"]["robots.txt"]["br"], Value::Null);
        assert!(manifest["files"]["app.wasm"]["br"].as_u64().unwrap() < 100);
    }

    #[test]
    fn what_is_unchanged_stays_untouched_and_what_is_old_goes() {
        let site = folder("sync");
        let first = written(&site.0, "one");
        let wasm = site.0.join(first["files"]["app.wasm"]["path"].as_str().unwrap());
        let before = wasm.metadata().unwrap().modified().unwrap();
        let second = written(&site.0, "two");
        assert_eq!(wasm.metadata().unwrap().modified().unwrap(), before);
        assert!(!site.0.join(first["files"]["app.js"]["path"].as_str().unwrap()).exists());
        assert!(site.0.join(second["files"]["app.js"]["path"].as_str().unwrap()).exists());
    }

    #[test]
    fn a_bundle_is_current_only_with_its_inputs_and_all_of_its_files() {
        let site = folder("current");
        assert!(!is_current(&site.0, "digest"));
        let manifest = written(&site.0, "one");
        assert!(is_current(&site.0, "digest"));
        assert!(!is_current(&site.0, "another"));
        let wasm = manifest["files"]["app.wasm"]["path"].as_str().unwrap();
        std::fs::remove_file(site.0.join(format!("{wasm}.gz"))).unwrap();
        assert!(!is_current(&site.0, "digest"));
    }
}

//! What fuzzing uses and found, replayed on any compiler: `engine/fuzz/src/lib.rs` says what must hold.

use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
mod checks;

/// Bytes that all files may have together.
const MOST_BYTES: u64 = 200_000;

#[test]
fn every_input_of_every_target_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut bytes = 0;
    let mut failed = Vec::new();
    for (name, check) in checks::ALL {
        let files = std::fs::read_dir(corpus.join(name)).unwrap_or_else(|e| panic!("{name} has no corpus: {e}"));
        let mut inputs: Vec<_> = files.map(|file| file.expect("a file can be listed").path()).collect();
        inputs.sort();
        assert!(inputs.len() >= 10, "{name} has only {} inputs", inputs.len());
        for path in inputs {
            let input = std::fs::read(&path).expect("a file can be read");
            bytes += input.len() as u64;
            if std::panic::catch_unwind(|| check(&input)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "{} inputs break what must hold: {failed:#?}", failed.len());
    assert!(bytes <= MOST_BYTES, "the corpus has {bytes} bytes");
}

#[test]
fn every_folder_and_every_fuzz_target_has_its_check() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let names = |folder: &str| -> Vec<String> {
        let files = std::fs::read_dir(fuzz.join(folder)).expect("the folder is there");
        let mut names: Vec<String> = files
            .map(|f| f.expect("a file can be listed").path())
            .filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        names
    };
    let mut known: Vec<String> = checks::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    known.sort();
    assert_eq!(names("corpus"), known);
    assert_eq!(names("fuzz_targets"), known);
}

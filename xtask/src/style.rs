//! Style sheets: one file each in the end, however many they are written in.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// How deep imports may nest; deeper is a circle.
const DEPTH: usize = 8;

/// Reads a style sheet and puts what it imports from its own folder in place of each `@import "file.css";` line, within
/// `@layer name { … }` where the line says `layer(name)`.
///
/// # Errors
/// When a file is missing, an import says anything else (media, supports, a URL), or imports go in a circle.
pub fn read(file: &Path) -> Result<String> {
    inline(file, DEPTH)
}

fn inline(file: &Path, depth: usize) -> Result<String> {
    let text = std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let mut whole = String::with_capacity(text.len());
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("@import") else {
            whole.push_str(line);
            whole.push('\n');
            continue;
        };
        if depth == 0 {
            bail!("{}: imports go in a circle", file.display());
        }
        let (name, layer) =
            parse(rest).with_context(|| format!("{}: cannot resolve `{}`", file.display(), line.trim()))?;
        let imported = inline(&file.with_file_name(name), depth - 1)?;
        match layer {
            Some(layer) => whole.push_str(&format!("@layer {layer} {{\n{imported}}}\n")),
            None => whole.push_str(&imported),
        }
    }
    Ok(whole)
}

/// `"name.css" layer(base);` as the name and the layer.
fn parse(rest: &str) -> Option<(&str, Option<&str>)> {
    let rest = rest.trim().strip_suffix(';')?.trim();
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let (name, after) = rest[1..].split_once(quote)?;
    let after = after.trim();
    if name.contains("://") || name.is_empty() {
        return None;
    }
    if after.is_empty() {
        return Some((name, None));
    }
    let layer = after.strip_prefix("layer(")?.strip_suffix(')')?;
    Some((name, Some(layer.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_put_in_place() {
        let folder = std::env::temp_dir().join(format!("xtask-style-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("main.css"),
            "@layer a, b;\n@import \"a.css\" layer(a);\n@import 'b.css';\np { color: red }\n",
        )
        .unwrap();
        std::fs::write(folder.join("a.css"), "a { b: c }\n").unwrap();
        std::fs::write(folder.join("b.css"), "d { e: f }\n").unwrap();
        std::fs::write(folder.join("circle.css"), "@import \"circle.css\";\n").unwrap();
        std::fs::write(folder.join("far.css"), "@import \"https://example.org/x.css\";\n").unwrap();
        assert_eq!(
            read(&folder.join("main.css")).unwrap(),
            "@layer a, b;\n@layer a {\na { b: c }\n}\nd { e: f }\np { color: red }\n"
        );
        assert!(read(&folder.join("circle.css")).unwrap_err().to_string().contains("circle"));
        assert!(read(&folder.join("far.css")).unwrap_err().to_string().contains("cannot resolve"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

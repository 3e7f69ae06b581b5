//! Text in, plan out: what other tools call a request or a load test becomes a [`PlanSpec`], and a plan becomes text again.
//!
//! Nothing is read but the argument: a file or an address that a description names is told about, not fetched. What has no
//! counterpart here is never dropped in silence: each thing has its sentence in [`Imported::left_out`]. The plan of an
//! [`Imported`] can run: it is judged by the engine's own rules before it is handed out.
#![warn(missing_docs)]

use oleada_engine::plan::{PlanSpec, limits};

pub mod ab;
pub mod bench;
pub mod curl;
mod doc;
mod finish;
pub mod har;
pub mod loaderio;
pub mod openapi;
pub mod own;
pub mod payload;
pub mod secrets;
pub mod shell;

pub use bench::to_bench_command;
pub use loaderio::to_loaderio;
pub use own::{Exported, to_json};
pub use payload::{Payload, payload};

use doc::Doc;

/// A test that was read from a foreign description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// What the description calls it; at most [`limits::NAME_CHARS`].
    pub name: Option<String>,
    /// Remarks; at most [`limits::NOTES_CHARS`].
    pub notes: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// What it does. It can run.
    pub plan: PlanSpec,
    /// Where its data lies (see [`payload()`]), if the description only names the place.
    pub data_url: Option<String>,
    /// What could not be taken over, and why: one sentence each.
    pub left_out: Vec<String>,
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing but blanks.
    #[error("There is nothing to read: paste a command, or choose a file.")]
    Empty,
    /// Over a bound of [`limits`], in bytes.
    #[error("This is too large: at most {} MB can be read.", .0 >> 20)]
    TooLarge(usize),
    /// None of the kinds.
    #[error(
        "This is nothing that can be read here: it must be a curl or ab command, a HAR file, an OpenAPI or Swagger document, a loader.io test, or a test exported from Oleada."
    )]
    Unknown,
    /// One of the kinds, but broken; a sentence.
    #[error("{0}")]
    Broken(String),
}

impl ImportError {
    fn broken(text: impl Into<String>) -> ImportError {
        ImportError::Broken(text.into())
    }
}

/// Finds out what `text` is, and reads it.
///
/// # Errors
/// [`ImportError`], a sentence, where it is none of the kinds or nothing of it can be requested.
pub fn detect_and_import(text: &str) -> Result<Imported, ImportError> {
    let text = checked(text)?;
    if text.starts_with(['{', '[']) {
        let doc = Doc::json(text)?;
        let has = |key: &str| doc.get(key).is_some();
        return if has(own::MARK) || has("requests") && has("load") {
            own::import(text)
        } else if doc.get("log").is_some_and(|log| log.get("entries").is_some()) {
            har::from_doc(&doc, har::Assets::default())
        } else if has("openapi") || has("swagger") {
            openapi::import(text)
        } else if has("urls") || has("test_type") {
            loaderio::from_doc(&doc)
        } else if doc.get("info").and_then(|info| info.get("_postman_id").or(info.get("schema"))).is_some() {
            Err(ImportError::broken(
                "This is a Postman collection, which cannot be read here: copy its requests as cURL, or export it as OpenAPI.",
            ))
        } else {
            Err(ImportError::Unknown)
        };
    }
    if loaderio::is_form(text) {
        return loaderio::import(text);
    }
    if text
        .lines()
        .any(|line| ["openapi:", "swagger:", "\"openapi\":", "'openapi':"].iter().any(|k| line.starts_with(k)))
    {
        return openapi::import(text);
    }
    let commands = match shell::commands(text) {
        Ok(read) => read.commands,
        Err(error) if ["curl", "ab"].iter().any(|tool| text.split_whitespace().any(|word| word == *tool)) => {
            return Err(error);
        }
        Err(_) => return Err(ImportError::Unknown),
    };
    let calls = |tool: &str| commands.iter().any(|words| shell::is_call(words, tool));
    if calls("curl") {
        curl::import(text)
    } else if calls("ab") {
        ab::import(text)
    } else {
        Err(ImportError::Unknown)
    }
}

/// Without a byte order mark and blanks around, inside the bounds.
fn checked(text: &str) -> Result<&str, ImportError> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.is_empty() {
        return Err(ImportError::Empty);
    }
    if text.len() > limits::IMPORT_BYTES {
        return Err(ImportError::TooLarge(limits::IMPORT_BYTES));
    }
    Ok(text)
}

/// The beginning of a text for a sentence, without control characters.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > 60 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_out() {
        for text in [
            "\u{feff}\n $ curl http://a.test/",
            "cd x; /usr/bin/ab -n 5 http://a.test/",
            r#"{"log":{"entries":[{"request":{"url":"http://a.test/"}}]}}"#,
            "# pets\nopenapi: '3.1.0'\nservers: [{url: http://a.test}]\npaths: {/: {get: {}}}\n",
            r#"{"swagger":"2.0","host":"a.test","schemes":["http"],"paths":{"/":{"get":{}}}}"#,
            r#"{"test_type":"cycling","urls":[{"url":"http://a.test/"}]}"#,
            "test_type=cycling&urls%5B%5D=http://a.test/",
            r#"{"oleada_test":1,"plan":{"requests":[{"url":"http://a.test/"}]}}"#,
            r#"{"load":{"type":"per_test","clients":5},"requests":[{"url":"http://a.test/"}]}"#,
        ] {
            let imported = detect_and_import(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(imported.plan.requests[0].url, "http://a.test/", "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let postman =
            r#"{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},"item":[]}"#;
        for (text, word) in [
            (" \u{feff} ", "nothing to read"),
            ("It's a test", "nothing that can be read"),
            ("[1]", "nothing that can be read"),
            ("{\"a\"", "not valid JSON"),
            ("curl 'http://a.test/", "not closed"),
            (postman, "Postman"),
        ] {
            let error = detect_and_import(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        let large = "x".repeat(limits::IMPORT_BYTES + 1);
        assert_eq!(detect_and_import(&large), Err(ImportError::TooLarge(limits::IMPORT_BYTES)));
    }
}

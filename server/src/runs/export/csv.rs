//! Tables for spreadsheets: RFC 4180, a header row, CR LF, UTF-8, times in UTC, numbers with a point.

use std::borrow::Cow;

use csv::{Terminator, Writer, WriterBuilder};
use oleada_engine::outcome::ErrorKind;
use oleada_engine::result::Point;

use super::Source;
use crate::clock::rfc3339;
use crate::error::Result;

/// A text as a cell that no spreadsheet takes for a formula.
///
/// Such programs run what begins with `=`, `+`, `-`, `@`, a tab or a carriage return; an apostrophe in front makes it a text.
fn cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}").into() } else { text.into() }
}

fn writer() -> Writer<Vec<u8>> {
    WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new())
}

fn finished(writer: Writer<Vec<u8>>) -> Result<Vec<u8>> {
    Ok(writer.into_inner().map_err(|error| anyhow::anyhow!("a table could not be written: {error}"))?)
}

/// One row a second. Counts add up to the ledger.
///
/// # Errors
/// Never, in practice: it is written to memory.
pub fn seconds(source: &Source) -> Result<Vec<u8>> {
    let mut out = writer();
    let head = [
        "test",
        "time_utc",
        "second",
        "planned",
        "sent",
        "ok",
        "errors",
        "clients",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "max_ms",
        "bytes_received",
        "bytes_sent",
    ];
    out.write_record(head).map_err(anyhow::Error::from)?;
    let name = cell(&source.name).into_owned();
    let time = |value: Option<f64>| value.map(|ms| ms.to_string()).unwrap_or_default();
    for Point { t, planned, sent, ok, errors, clients, p50, p95, p99, max, bytes_received, bytes_sent, .. } in
        &source.points
    {
        let row = [
            name.clone(),
            rfc3339(source.started_at + i64::from(*t) * 1000),
            t.to_string(),
            planned.to_string(),
            sent.to_string(),
            ok.to_string(),
            errors.to_string(),
            clients.to_string(),
            time(*p50),
            time(*p95),
            time(*p99),
            time(*max),
            bytes_received.to_string(),
            bytes_sent.to_string(),
        ];
        out.write_record(row).map_err(anyhow::Error::from)?;
    }
    finished(out)
}

/// One row for every kind of failure and every status from 400 up.
///
/// # Errors
/// As [`seconds`].
pub fn errors(source: &Source) -> Result<Vec<u8>> {
    let mut out = writer();
    out.write_record(["test", "kind", "detail", "meaning", "count"]).map_err(anyhow::Error::from)?;
    let name = cell(&source.name).into_owned();
    let failed = |status: &str| status.parse::<u16>().is_ok_and(|status| status >= 400);
    let statuses = source.result.statuses.iter().filter(|(status, _)| failed(status));
    let statuses = statuses.map(|(status, count)| ("status", status.as_str(), "Answered with this status.", *count));
    let errors = source.result.errors.iter().map(|error| {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.name() == error.kind);
        (error.kind.as_str(), error.detail.as_str(), kind.map_or("", |kind| kind.explain()), error.count)
    });
    for (kind, detail, meaning, count) in statuses.chain(errors) {
        let row = [&*name, &*cell(kind), &*cell(detail), meaning, &*count.to_string()];
        out.write_record(row).map_err(anyhow::Error::from)?;
    }
    finished(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b66_texts_come_back_as_they_were_and_formulas_as_texts() {
        let name = "=HYPERLINK(\"http://x\",\"y\"),\"a\"\r\nb";
        let error = "it said \"no\", then\ra lone CR; é";
        let mut out = writer();
        for row in [["test", "detail"], [&*cell(name), &*cell(error)]] {
            out.write_record(row).unwrap();
        }
        let bytes = finished(out).unwrap();
        assert!(bytes.ends_with(b"\r\n"));
        assert_eq!(
            strict(std::str::from_utf8(&bytes).unwrap()),
            [vec!["test".to_owned(), "detail".to_owned()], vec![format!("'{name}"), error.to_owned()],]
        );
        for dangerous in ["=1", "+1", "-1", "@x", "\t=1", "\r=1"] {
            assert_eq!(cell(dangerous), format!("'{dangerous}"));
        }
        assert_eq!((cell(""), cell("a=1"), cell("'=1")), ("".into(), "a=1".into(), "'=1".into()));
    }

    /// RFC 4180 to the letter: rows end with CR LF; a bare CR, LF or quote stands in quoted fields only.
    fn strict(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    assert!(field.is_empty(), "a quote inside a plain field");
                    loop {
                        match chars.next().expect("a closing quote") {
                            '"' if chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
                            '"' => break,
                            other => field.push(other),
                        }
                    }
                    assert!(matches!(chars.peek(), Some(',' | '\r')), "something after a closing quote");
                }
                ',' => row.push(std::mem::take(&mut field)),
                '\r' => {
                    assert_eq!(chars.next(), Some('\n'), "a bare CR in a plain field");
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                '\n' => panic!("a bare LF in a plain field"),
                other => field.push(other),
            }
        }
        assert!(row.is_empty() && field.is_empty(), "the last row ends with CR LF");
        rows
    }
}

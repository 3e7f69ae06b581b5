//! Rows of data from text: CSV with a line of names, or a JSON array of objects.

use oleada_engine::plan::limits;
use serde_json::{Map, Value};

/// Names and rows.
pub type Rows = (Vec<String>, Vec<Vec<String>>);

/// Reads the rows; whether names and sizes are allowed is judged by the plan.
///
/// # Errors
/// A sentence part that follows the field's name.
pub fn parse(text: &str) -> Result<Rows, String> {
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return Err("holds characters that are not UTF-8: save the file as UTF-8".to_owned());
    }
    if text.trim_start().starts_with(['[', '{']) { from_json(text) } else { from_csv(text) }
}

fn from_csv(text: &str) -> Result<Rows, String> {
    // Browsers send line breaks in text as CR LF, also those inside quotes.
    let text = text.replace("\r\n", "\n");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let owned = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let columns =
        reader.headers().map_err(|e| format!("is not CSV: {e}"))?.iter().map(|n| n.trim().to_owned()).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        if rows.len() > limits::DATA_ROWS {
            break;
        }
        rows.push(owned(&record.map_err(|e| format!("is not CSV: {e}"))?));
    }
    Ok((columns, rows))
}

fn from_json(text: &str) -> Result<Rows, String> {
    let objects: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|e| format!("must be a JSON array of objects, one a row: {e}"))?;
    let columns: Vec<String> = objects.first().map(|o| o.keys().cloned().collect()).unwrap_or_default();
    let mut rows = Vec::new();
    for (n, object) in objects.iter().take(limits::DATA_ROWS + 1).enumerate() {
        if let Some(extra) = object.keys().find(|key| !columns.contains(key)) {
            let shown: String = extra.chars().take(40).collect();
            return Err(format!("has “{shown}” in object {}, which the first object has not", n + 1));
        }
        let value = |column: &String| match object.get(column) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Null) => Ok(String::new()),
            Some(other) => Ok(other.to_string()),
            None => Err(format!("has no “{column}” in object {}", n + 1)),
        };
        rows.push(columns.iter().map(value).collect::<Result<_, _>>()?);
    }
    Ok((columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_app::plan_form::data_text;
    use oleada_engine::plan::scenario::DataSpec;

    fn owned(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn csv_and_json_give_the_same_rows() {
        let expected = (owned(&["pin", "user"]), vec![owned(&["1", "ann"]), owned(&["", "b,\n\"b\""])]);
        assert_eq!(parse("pin, user\r\n1,ann\r\n,\"b,\r\n\"\"b\"\"\"\r\n").unwrap(), expected);
        assert_eq!(parse(r#" [{"user":"ann","pin":1},{"pin":null,"user":"b,\n\"b\""}]"#).unwrap(), expected);
    }

    #[test]
    fn what_the_form_writes_can_be_read() {
        let (columns, rows) = (owned(&["a"]), vec![owned(&[""]), owned(&[" x\n"]), owned(&["\""])]);
        let data = DataSpec { columns: columns.clone(), rows: rows.clone(), ..DataSpec::default() };
        assert_eq!(parse(&data_text(&data)).unwrap(), (columns, rows));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("[1]", "must be a JSON array of objects"),
            ("{\"keys\":[]}", "must be a JSON array of objects"),
            ("[{\"a\":1},{\"b\":1}]", "has “b” in object 2"),
            ("[{\"a\":1},{}]", "has no “a” in object 2"),
            ("a\n\u{fffd}", "UTF-8"),
        ] {
            assert!(parse(text).unwrap_err().contains(said), "{text}");
        }
    }
}

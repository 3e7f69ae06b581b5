//! Rows of data: loader.io's payload files, a JSON array of objects, and CSV.

use oleada_engine::plan::scenario::{DataSpec, RowOrder};
use oleada_engine::plan::{Method, Plan, PlanSpec, RequestSpec, limits, template};

use crate::doc::Doc;
use crate::{ImportError, checked, shown};

/// Data that were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload {
    /// The rows; each column is a variable. They are taken in order, so that none is used twice before all were used.
    pub data: DataSpec,
    /// Parameters that every request gets, with the variables that fill them: loader.io's classic form only.
    pub parameters: Vec<(String, String)>,
    /// What was changed or left out: one sentence each.
    pub left_out: Vec<String>,
}

impl Payload {
    /// Puts the data into a plan. The classic form's pairs go to the query of GET, HEAD and OPTIONS requests, and to the form of
    /// others; a sentence comes back for each request that has another body already.
    pub fn apply(self, plan: &mut PlanSpec) -> Vec<String> {
        let mut told = Vec::new();
        for (n, request) in plan.requests.iter_mut().enumerate() {
            if self.parameters.is_empty() {
                break;
            }
            if matches!(request.method, Method::Get | Method::Head | Method::Options) {
                request.query.extend(self.parameters.iter().cloned());
            } else if request.body.is_none() && request.body_base64.is_none() {
                request.form.extend(self.parameters.iter().cloned());
            } else {
                told.push(format!("Request {} has a body of its own: the data's pairs are not added to it.", n + 1));
            }
        }
        plan.data = Some(self.data);
        told
    }
}

/// Reads data: `{"keys", "values"}` (loader.io, classic), `{"version": 1, "variables"}` (loader.io), `[{"name": "value"}, …]`, or CSV
/// whose first line names the columns and whose values are parted by commas, semicolons or tabs. A name that no variable may have
/// is changed, and told.
///
/// # Errors
/// [`ImportError`], a sentence, where it is none of these or over the bounds of [`limits`].
pub fn payload(text: &str) -> Result<Payload, ImportError> {
    let payload = read(text)?;
    // The engine's own rules say what data may be.
    let request = RequestSpec { url: "http://a.test/".to_owned(), ..RequestSpec::default() };
    let plan = PlanSpec { requests: vec![request], data: Some(payload.data.clone()), ..PlanSpec::default() };
    match Plan::try_from(plan) {
        Ok(_) => Ok(payload),
        Err(errors) => Err(ImportError::Broken(format!("These cannot be a test's data: {errors}."))),
    }
}

/// As [`payload`], for a plan that will be judged as a whole: numbers and sizes of rows are not looked at here.
///
/// # Errors
/// [`ImportError`], a sentence, where it is none of the forms.
pub fn read(text: &str) -> Result<Payload, ImportError> {
    let blank = text.trim_start_matches('\u{feff}');
    let start = checked(text)?;
    let (names, rows, classic) = if start.starts_with(['{', '[']) { json(start)? } else { csv(blank)? };
    let mut payload = Payload::default();
    for name in &names {
        let column = variable(name, &payload.data.columns);
        if column != *name {
            payload.left_out.push(format!(
                "The column “{}” is called {{{{{column}}}}}: a name has letters, digits and _ only.",
                shown(name)
            ));
        }
        payload.data.columns.push(column);
    }
    payload.data.rows = rows;
    payload.data.order = RowOrder::InOrder;
    if classic {
        let places = payload.data.columns.iter().map(|column| format!("{{{{{column}}}}}"));
        payload.parameters = names.into_iter().zip(places).collect();
    }
    Ok(payload)
}

/// A variable's name made of any name, other than those that are there.
pub(crate) fn variable(name: &str, taken: &[String]) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut base: String = name.trim().chars().map(letters).take(limits::VARIABLE_NAME_BYTES - 4).collect();
    if name.len() <= limits::VARIABLE_NAME_BYTES && template::is_name(name) {
        name.clone_into(&mut base);
    } else if !base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        base.insert(0, '_');
    }
    let mut unique = base.clone();
    for n in 2..=limits::DATA_COLUMNS + 1 {
        if !taken.contains(&unique) {
            break;
        }
        let short: String = base.chars().take(limits::VARIABLE_NAME_BYTES - 4).collect();
        unique = format!("{short}_{n}");
    }
    unique
}

type Rows = (Vec<String>, Vec<Vec<String>>, bool);

fn json(text: &str) -> Result<Rows, ImportError> {
    let doc = Doc::json(text)?;
    if let Doc::List(items) = &doc {
        return objects(items);
    }
    if let (Some(keys), Some(values)) = (doc.get("keys"), doc.get("values")) {
        let (names, rows) = table(keys, values)?;
        return Ok((names, rows, true));
    }
    let variables = doc.get("variables").map(Doc::list).unwrap_or_default();
    if variables.is_empty() {
        return Err(ImportError::broken(
            "These are no data that can be read: write a list of objects, or “keys” and “values”, or “variables”, as loader.io has them.",
        ));
    }
    let mut groups = Vec::new();
    for group in variables {
        groups.push(table(group.get("names").unwrap_or(&Doc::Null), group.get("values").unwrap_or(&Doc::Null))?);
    }
    // Lists that stand side by side are walked together; a shorter one begins again.
    let longest = groups.iter().map(|(_, rows)| rows.len()).max().unwrap_or_default();
    let cells = groups.iter().map(|(names, _)| names.len()).sum::<usize>().saturating_mul(longest);
    if cells > limits::DATA_ROWS * limits::DATA_COLUMNS || groups.iter().any(|(_, rows)| rows.is_empty()) {
        return Err(ImportError::broken("The variables have no values, or too many."));
    }
    let names = groups.iter().flat_map(|(names, _)| names.iter().cloned()).collect();
    let row = |n: usize| groups.iter().flat_map(|(_, rows)| rows[n % rows.len()].iter().cloned()).collect();
    let size: usize = groups.iter().map(|(_, rows)| weight(rows).saturating_mul(longest.div_ceil(rows.len()))).sum();
    if size > limits::DATA_BYTES {
        return Err(ImportError::broken("The data are larger than 4 MB."));
    }
    Ok((names, (0..longest).map(row).collect(), false))
}

fn weight(rows: &[Vec<String>]) -> usize {
    rows.iter().flatten().map(String::len).sum()
}

fn cell(doc: &Doc) -> String {
    doc.word().or_else(|| (*doc != Doc::Null).then(|| doc.to_json())).unwrap_or_default()
}

fn table(names: &Doc, values: &Doc) -> Result<(Vec<String>, Vec<Vec<String>>), ImportError> {
    let names: Vec<String> = names.list().iter().map(cell).collect();
    let row = |doc: &Doc| match doc {
        Doc::List(cells) => cells.iter().map(cell).collect(),
        // One column may be written without brackets.
        one => vec![cell(one)],
    };
    let rows: Vec<Vec<String>> = values.list().iter().map(row).collect();
    match rows.iter().position(|row| row.len() != names.len()) {
        Some(at) => Err(ImportError::Broken(format!(
            "Row {} has {} values, for {} names.",
            at + 1,
            rows[at].len(),
            names.len()
        ))),
        None => Ok((names, rows)),
    }
}

fn objects(items: &[Doc]) -> Result<Rows, ImportError> {
    let mut names: Vec<String> = Vec::new();
    for item in items {
        if !matches!(item, Doc::Map(_)) {
            return Err(ImportError::broken(
                "Data are a list of objects, such as [{\"user\": \"ann\"}, {\"user\": \"bob\"}].",
            ));
        }
        for (name, _) in item.map() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        if names.len() > limits::DATA_COLUMNS {
            return Err(ImportError::Broken(format!("Data may have at most {} columns.", limits::DATA_COLUMNS)));
        }
    }
    let value = |item: &Doc, name: &String| item.get(name).map(cell).unwrap_or_default();
    let rows = items.iter().map(|item| names.iter().map(|name| value(item, name)).collect()).collect();
    Ok((names, rows, false))
}

fn csv(text: &str) -> Result<Rows, ImportError> {
    let text = text.trim_start_matches(['\n', '\r']);
    let first = text.lines().next().unwrap_or_default();
    // The separator that the first line has most of, outside quotes.
    let count = |separator: char| {
        let mut quoted = false;
        first
            .chars()
            .filter(|c| {
                quoted ^= *c == '"';
                !quoted && *c == separator
            })
            .count()
    };
    let separator = [',', ';', '\t'].into_iter().rev().max_by_key(|separator| count(*separator)).unwrap_or(',');
    let mut reader = csv::ReaderBuilder::new().delimiter(separator as u8).flexible(true).from_reader(text.as_bytes());
    let broken = |e: csv::Error| ImportError::Broken(format!("This is not valid CSV: {e}."));
    let names: Vec<String> = reader.headers().map_err(broken)?.iter().map(|name| name.trim().to_owned()).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let row: Vec<String> = record.map_err(broken)?.iter().map(str::to_owned).collect();
        if row.len() != names.len() {
            return Err(ImportError::Broken(format!(
                "Row {} has {} values, for {} names in the first line.",
                rows.len() + 1,
                row.len(),
                names.len()
            )));
        }
        rows.push(row);
        // One too many, so that it is noticed.
        if rows.len() > limits::DATA_ROWS {
            break;
        }
    }
    Ok((names, rows, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
        let payload = payload(text).unwrap();
        (payload.data.columns, payload.data.rows)
    }

    fn expected() -> (Vec<String>, Vec<Vec<String>>) {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        (row("user", "pin"), vec![row("ann", "1111"), row("bob \"b\", é", "")])
    }

    #[test]
    fn every_form_gives_the_same_rows() {
        for text in [
            r#"{"keys":["user","pin"],"values":[["ann",1111],["bob \"b\", é",null]]}"#,
            r#"{"version":1,"variables":[{"names":["user","pin"],"values":[["ann","1111"],["bob \"b\", é",""]]}]}"#,
            r#"[{"user":"ann","pin":"1111"},{"user":"bob \"b\", é"}]"#,
            "user,pin\nann,1111\n\"bob \"\"b\"\", é\",\n",
            "\u{feff}user;pin\r\nann;1111\r\n\"bob \"\"b\"\", é\";\r\n",
            "user\tpin\nann\t1111\n\"bob \"\"b\"\", é\"\t\n",
        ] {
            assert_eq!(read(text), expected(), "{text}");
        }
    }

    #[test]
    fn lists_of_variables_are_walked_side_by_side() {
        let text = r#"{"version":1,"variables":[{"names":["a"],"values":["1","2","3"]},{"names":["b"],"values":[["x"],["y"]]}]}"#;
        let (columns, rows) = read(text);
        assert_eq!((columns.join(","), rows.concat().join(",")), ("a,b".into(), "1,x,2,y,3,x".into()));
    }

    #[test]
    fn classic_pairs_are_added_to_query_or_form() {
        let data = payload(r#"{"keys":["user name","pin","pin"],"values":[["ann",1,2]]}"#).unwrap();
        assert_eq!(data.data.columns, ["user_name", "pin", "pin_2"]);
        assert_eq!(data.left_out.len(), 2);
        let request = |method, body: Option<&str>| RequestSpec {
            method,
            url: "http://a.test/".into(),
            body: body.map(str::to_owned),
            ..RequestSpec::default()
        };
        let mut plan = PlanSpec {
            requests: vec![request(Method::Get, None), request(Method::Post, None), request(Method::Put, Some("x"))],
            ..PlanSpec::default()
        };
        let told = data.apply(&mut plan);
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let pairs = [pair("user name", "{{user_name}}"), pair("pin", "{{pin}}"), pair("pin", "{{pin_2}}")];
        assert_eq!((&plan.requests[0].query[..], &plan.requests[0].form[..]), (&pairs[..], &[][..]));
        assert_eq!((&plan.requests[1].query[..], &plan.requests[1].form[..]), (&[][..], &pairs[..]));
        assert_eq!(told, ["Request 3 has a body of its own: the data's pairs are not added to it."]);
        assert!(Plan::try_from(plan).is_ok());
        let mut plan = PlanSpec { requests: vec![request(Method::Get, None)], ..PlanSpec::default() };
        payload("a\n1\n").unwrap().apply(&mut plan);
        assert!(plan.requests[0].query.is_empty() && plan.data.is_some());
    }

    #[test]
    fn what_cannot_be_data_is_refused_in_words() {
        for (text, word) in [
            ("", "nothing"),
            ("{}", "no data"),
            ("[1]", "list of objects"),
            ("[]", "1 to 50 columns"),
            ("a,b\n1,2,3\n", "Row 1 has 3"),
            ("a,b\n", "rows"),
            (r#"{"keys":["a"],"values":[["1","2"]]}"#, "Row 1 has 2"),
            (r#"{"variables":[{"names":["a"]}]}"#, "no values"),
            ("{\"keys\"", "JSON"),
        ] {
            let error = payload(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

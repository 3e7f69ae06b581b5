//! What makes a list of requests a scenario: values taken from replies, conditions on them, rows of data, pauses.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Check, limits, template, text_enum};

text_enum! {
    /// Where a value is taken from.
    Source {
        /// A header of the reply; its first value.
        #[default] Header = "header",
        /// The status.
        Status = "status",
        /// The body as JSON, by a path such as `$.items[0].id` (RFC 9535); the first match.
        Json = "json",
        /// The body as text, by a regular expression: its first group, or all of the match without one.
        Regex = "regex",
        /// The body as HTML, by a CSS selector: an attribute of the first match, or its text.
        Css = "css",
        /// A cookie that the client holds for this request's address.
        Cookie = "cookie",
    }
}

/// A variable that gets its value from the reply to a request, for the requests that this client sends later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extract {
    /// The variable's name.
    pub name: String,
    /// Where the value is taken from.
    pub from: Source,
    /// Name of the header or cookie, path, expression or selector; empty for the status.
    pub what: String,
    /// The attribute of the element that a selector finds; absent = its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
}

text_enum! {
    /// What a condition looks at.
    Subject {
        /// The status.
        #[default] Status = "status",
        /// A header of the reply; its first value.
        Header = "header",
        /// The body as text.
        Body = "body",
        /// A value in the body, by JSON path.
        Json = "json",
        /// First byte written to last byte read, in ms.
        Time = "time",
    }
}
text_enum! {
    /// How it is compared.
    Relation {
        /// The same text; for a status and for numbers in JSON the same number.
        #[default] Equals = "equals",
        /// Any other.
        Differs = "differs",
        /// The text is part of it.
        Contains = "contains",
        /// The text is not part of it.
        Lacks = "lacks",
        /// The regular expression matches somewhere in it.
        Matches = "matches",
        /// The number is smaller.
        Below = "below",
        /// The number is larger.
        Above = "above",
        /// It is there, whatever it is.
        Exists = "exists",
    }
}

/// A condition that a reply must meet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Assertion {
    /// What is looked at.
    pub on: Subject,
    /// Name of the header, or JSON path; else empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// The comparison.
    pub is: Relation,
    /// What it is compared with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
}

impl fmt::Display for Assertion {
    /// The condition in words, such as “header Content-Type contains json”.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.on.as_str())?;
        for word in [&*self.what, self.is.as_str(), &*self.value] {
            if !word.is_empty() {
                write!(f, " {word}")?;
            }
        }
        if self.on == Subject::Time && !self.value.is_empty() { f.write_str(" ms") } else { Ok(()) }
    }
}

text_enum! {
    /// What a failed condition means for the request.
    AssertionFailure {
        /// It is counted beside the outcome.
        #[default] Note = "note",
        /// The request counts as an error: its reply is invalid.
        Error = "error",
    }
}
text_enum! {
    /// In which order requests are made.
    Order {
        /// Each client makes all of them, in the order of the list.
        #[default] List = "list",
        /// Each time one is drawn, by weight.
        Weighted = "weighted",
    }
}
text_enum! {
    /// Which row of data comes next.
    RowOrder {
        /// One after the other, over all clients: each is used once before any is used again.
        #[default] InOrder = "in_order",
        /// Any.
        Random = "random",
        /// A client keeps its row for as long as it lives; no two clients at work have the same.
        Unique = "unique",
    }
}
text_enum! {
    /// What happens when every row was used.
    RowsOut {
        /// The first comes again.
        #[default] Again = "again",
        /// The run ends.
        Stop = "stop",
        /// Requests that want a row are not sent, for want of their variables.
        Missing = "missing",
    }
}

/// Rows of values: each column is a variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataSpec {
    /// Names of the variables.
    pub columns: Vec<String>,
    /// Values, each row as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// Which row comes next. A client takes a row each time it begins the list.
    pub order: RowOrder,
    /// When every row was used.
    pub at_end: RowsOut,
}

/// A time between two bounds, drawn evenly; equal bounds = always the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// Shortest, in ms.
    pub least_ms: f64,
    /// Longest, in ms.
    pub most_ms: f64,
}

impl Check {
    pub(super) fn pause(&mut self, field: &str, pause: Option<Pause>) {
        let Some(pause) = pause else { return };
        let bound = limits::Bound { field: "", ..limits::PAUSE_MS };
        if !bound.contains(pause.least_ms) || !bound.contains(pause.most_ms) {
            self.add(field, bound.sentence());
        } else if pause.least_ms > pause.most_ms {
            self.add(field, "must not have a shortest time above its longest");
        }
    }

    pub(super) fn data(&mut self, data: &DataSpec) {
        let names: BTreeSet<&str> = data.columns.iter().map(String::as_str).collect();
        if data.columns.is_empty() || data.columns.len() > limits::DATA_COLUMNS {
            self.add("data", format!("must have 1 to {} columns", limits::DATA_COLUMNS));
        } else if let Some(bad) = data.columns.iter().find(|name| !template::is_name(name)) {
            self.add("data", name_sentence(bad));
        } else if names.len() < data.columns.len() {
            self.add("data", "has two columns of the same name");
        }
        if data.rows.is_empty() || data.rows.len() > limits::DATA_ROWS {
            self.add("data", format!("must have 1 to {} rows", limits::DATA_ROWS));
        }
        if let Some(at) = data.rows.iter().position(|row| row.len() != data.columns.len()) {
            let (has, wants) = (data.rows[at].len(), data.columns.len());
            self.add("data", format!("has {has} values in row {}, for {wants} columns", at + 1));
        }
        if data.rows.iter().flatten().map(String::len).sum::<usize>() > limits::DATA_BYTES {
            self.add("data", "is larger than 4 MB");
        }
    }

    pub(super) fn extracts(&mut self, field: &str, extracts: &[Extract]) {
        if extracts.len() > limits::EXTRACTS {
            self.add(field, format!("may set at most {} variables", limits::EXTRACTS));
        }
        for (i, extract) in extracts.iter().enumerate().take(limits::EXTRACTS) {
            let field = |part: &str| format!("{field}[{i}].{part}");
            if !template::is_name(&extract.name) {
                self.add(field("name"), name_sentence(&extract.name));
            }
            self.expression(&field("what"), &extract.what, extract.from != Source::Status);
            if extract
                .attribute
                .as_ref()
                .is_some_and(|name| name.is_empty() || name.len() > limits::VARIABLE_NAME_BYTES)
            {
                self.add(
                    field("attribute"),
                    format!("has an attribute without a name of 1 to {} bytes", limits::VARIABLE_NAME_BYTES),
                );
            }
        }
    }

    pub(super) fn assertions(&mut self, field: &str, assertions: &[Assertion]) {
        if assertions.len() > limits::ASSERTIONS {
            self.add(field, format!("may hold at most {} conditions", limits::ASSERTIONS));
        }
        for (i, assertion) in assertions.iter().enumerate().take(limits::ASSERTIONS) {
            let (what, value) = (format!("{field}[{i}].what"), format!("{field}[{i}].value"));
            let named = matches!(assertion.on, Subject::Header | Subject::Json);
            self.expression(&what, &assertion.what, named);
            self.expression(&value, &assertion.value, false);
            let number = || assertion.value.trim().parse::<f64>().is_ok_and(f64::is_finite);
            match (assertion.on, assertion.is) {
                (Subject::Time, Relation::Below | Relation::Above) | (_, Relation::Below | Relation::Above)
                    if number() => {}
                (_, Relation::Below | Relation::Above) => {
                    self.add(value, format!("needs a number to compare with: “{assertion}”"));
                }
                (Subject::Time, _) => {
                    self.add(value, format!("can only say that a time is below or above: “{assertion}”"))
                }
                (Subject::Status, Relation::Equals | Relation::Differs) if !number() => {
                    self.add(value, format!("needs a status such as 200 to compare with: “{assertion}”"));
                }
                _ => {}
            }
        }
    }

    fn expression(&mut self, field: &str, text: &str, needed: bool) {
        if text.len() > limits::EXPRESSION_BYTES {
            self.add(field, format!("has an expression longer than {} bytes", limits::EXPRESSION_BYTES));
        } else if needed && text.trim().is_empty() {
            self.add(field, "has an expression that is empty: say what to look for");
        }
    }
}

fn name_sentence(name: &str) -> String {
    let shown: String = name.chars().take(40).collect();
    format!("has a name that cannot be a variable: “{shown}” (letters, digits and _, not beginning with a digit)")
}

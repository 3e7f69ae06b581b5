//! Our own form of a test: JSON that gives exactly the same test again.

use oleada_engine::plan::{Plan, PlanSpec};
use serde::{Deserialize, Serialize};

use crate::secrets::{self, Secrets};
use crate::{ImportError, Imported, checked, shown};

/// The key that marks a file of ours; its value is the version of the form.
pub(crate) const MARK: &str = "oleada_test";
/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;

/// A test as it is exported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exported {
    /// Its name.
    pub name: Option<String>,
    /// Remarks.
    pub notes: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// What it does.
    pub plan: PlanSpec,
}

#[derive(Serialize, Deserialize)]
struct File {
    #[serde(rename = "oleada_test")]
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Where secrets were, so that whoever reads the file is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    secrets_left_out: Vec<String>,
    plan: PlanSpec,
}

/// Writes a test as JSON.
pub fn to_json(test: &Exported, secrets: Secrets) -> String {
    let mut plan = test.plan.clone();
    let secrets_left_out = if secrets == Secrets::LeaveOut { secrets::strip(&mut plan) } else { Vec::new() };
    let Exported { name, notes, tags, plan: _ } = test.clone();
    let file = File { version: VERSION, name, notes, tags, secrets_left_out, plan };
    // Texts, numbers and lists always have a JSON form.
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

/// Reads what [`to_json`] wrote, or a bare [`PlanSpec`].
///
/// # Errors
/// [`ImportError`] where it is something else, of a newer version, or a plan that cannot run.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    #[derive(Deserialize)]
    struct Version {
        #[serde(rename = "oleada_test")]
        version: Option<u32>,
    }
    let text = checked(text)?;
    let Some(version) = read::<Version>(text)?.0.version else {
        let (plan, left_out) = read(text)?;
        return runnable(Imported { plan, left_out, ..Imported::default() });
    };
    if version > VERSION {
        return Err(ImportError::Broken(format!(
            "This test was exported by a newer Oleada (form {version}; up to {VERSION} can be read): update this one first."
        )));
    }
    let (file, unknown): (File, Vec<String>) = read(text)?;
    let missing =
        file.secrets_left_out.iter().map(|at| format!("{} was left out of the file: fill it in again.", shown(at)));
    let left_out = unknown.into_iter().chain(missing).collect();
    runnable(Imported {
        name: file.name,
        notes: file.notes,
        tags: file.tags,
        plan: file.plan,
        data_url: None,
        left_out,
    })
}

/// Reads JSON, with a sentence for each key that is not known.
fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<(T, Vec<String>), ImportError> {
    let mut unknown = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_ignored::deserialize(&mut deserializer, |path| {
        if unknown.len() < 100 {
            unknown.push(format!("“{}” is left out: no such setting is known.", shown(&path.to_string())));
        }
    });
    let value = value.and_then(|value| deserializer.end().map(|()| value));
    value
        .map(|value| (value, unknown))
        .map_err(|e| ImportError::Broken(format!("This is no test as Oleada writes it: {e}.")))
}

fn runnable(imported: Imported) -> Result<Imported, ImportError> {
    match Plan::try_from(imported.plan.clone()) {
        Ok(_) => Ok(imported),
        Err(errors) => Err(ImportError::Broken(format!("The test cannot run as it is written: {errors}."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_engine::plan::{Credentials, RequestSpec};

    fn test() -> Exported {
        let request = RequestSpec {
            url: "https://a.test/é?x=1".into(),
            headers: vec![("X-Token".into(), "t".into()), ("Accept".into(), "\"'\u{1F600}".into())],
            basic_auth: Some(Credentials { user: "ann".into(), password: "p".into() }),
            ..RequestSpec::default()
        };
        Exported {
            name: Some("Front \"page\"".into()),
            notes: Some("a\nb".into()),
            tags: vec!["x".into()],
            plan: PlanSpec { requests: vec![request], timeout_ms: 0.1 + 1.2, ..PlanSpec::default() },
        }
    }

    #[test]
    fn an_export_with_secrets_is_the_same_test_again() {
        let test = test();
        let imported = crate::detect_and_import(&to_json(&test, Secrets::Include)).unwrap();
        assert_eq!(
            imported,
            Imported {
                name: test.name,
                notes: test.notes,
                tags: test.tags,
                plan: test.plan,
                data_url: None,
                left_out: vec![]
            }
        );
    }

    #[test]
    fn an_import_says_which_secrets_are_missing() {
        let imported = import(&to_json(&test(), Secrets::LeaveOut)).unwrap();
        assert_eq!(
            imported.left_out,
            [
                "the password of request 1 was left out of the file: fill it in again.",
                "the header X-Token of request 1 was left out of the file: fill it in again."
            ]
        );
        assert_eq!(imported.plan.requests[0].headers[0], ("X-Token".to_owned(), String::new()));
    }

    #[test]
    fn a_bare_plan_is_read_and_faults_are_told() {
        let plan = r#"{"load":{"type":"per_second","rate":5},"requests":[{"url":"http://a.test/"}],"durations_s":3}"#;
        let imported = crate::detect_and_import(plan).unwrap();
        assert_eq!(imported.plan.requests.len(), 1);
        assert_eq!(imported.left_out, ["“durations_s” is left out: no such setting is known."]);
        for (text, word) in [
            (r#"{"oleada_test":2,"plan":7}"#, "newer"),
            (r#"{"oleada_test":"x"}"#, "no test"),
            (r#"{"oleada_test":1}"#, "missing field"),
            (r#"{"oleada_test":1,"plan":{}}"#, "requests"),
            (r#"{"load":{"type":"per_test","clients":0},"requests":[{"url":"x"}]}"#, "per_test"),
            (r#"{"oleada_test":1,"plan":{}} x"#, "trailing"),
        ] {
            let error = import(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

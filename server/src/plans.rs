//! Tests, called plans in code: saved, changed, copied, archived, deleted; and what they were before.

use oleada_engine::plan::secrets::each_secret;
use oleada_engine::plan::{HostPort, Plan, PlanSpec, diff, limits};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::pages::forms::NewTest;
use crate::secrets::{self, Opened, Vault};
use crate::state::AppState;
use crate::store::plans::{PlanRow, PlanText, VersionRow, joined_tags, split_tags};
use crate::store::{Db, PlanId, Timestamp, UserId, VersionId};

/// Tests of one account.
pub const MOST: i64 = 1000;

/// What a copied test's name begins with.
const COPY: &str = "Copy of ";
/// Stored plans read at once; each may be some megabytes.
const BATCH: i64 = 20;

/// The test, if this account has it.
///
/// # Errors
/// [`Error::NotFound`], also for a text that is no id.
pub async fn find(state: &AppState, owner: UserId, id: &str) -> Result<PlanRow> {
    let id: PlanId = id.parse().map_err(|_| Error::NotFound)?;
    state.db.plan(owner, id).await?.ok_or(Error::NotFound)
}

/// The stored plan, its secrets opened as far as the key opens them.
///
/// # Errors
/// If the stored text is not a plan of this version.
pub fn open(state: &AppState, row: &PlanRow) -> Result<Opened> {
    let of = |error| anyhow::Error::new(error).context(format!("the plan of test {} cannot be read", row.id));
    Ok(state.vault.unseal(&row.spec).map_err(of)?)
}

/// Saves a new test.
///
/// # Errors
/// [`Error::Conflict`] when the account has [`MOST`] of them.
pub async fn add(state: &AppState, owner: UserId, test: &NewTest) -> Result<PlanId> {
    add_from(state, owner, test, None, None).await
}

/// A saved test.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// Its id.
    pub id: PlanId,
    /// Whether the same form had made it before: somebody pressed the button twice.
    pub again: bool,
}

/// Saves a new test that was sent with a form; the same form with the same content makes one test only.
///
/// # Errors
/// As [`add`].
pub async fn add_by_form(state: &AppState, owner: UserId, test: &NewTest, form: &str) -> Result<Added> {
    // Ids are made by us: anything else is no form of ours.
    let form = Some(form).filter(|form| Uuid::parse_str(form).is_ok());
    for _ in 0..2 {
        let made = match form {
            Some(form) => state.db.plan_of_form(owner, form).await?,
            None => None,
        };
        if let Some(row) = &made
            && is_same(state, row, test)
        {
            return Ok(Added { id: row.id, again: true });
        }
        // Sent again with other content, it is another test.
        match add_from(state, owner, test, None, form.filter(|_| made.is_none())).await {
            Ok(id) => return Ok(Added { id, again: false }),
            // In the meantime the other one was made.
            Err(Error::Internal(error)) if is_unique_violation(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Conflict("This form is being saved already. Look at your tests.".into()))
}

fn is_unique_violation(error: &anyhow::Error) -> bool {
    error.downcast_ref::<crate::store::Error>().is_some_and(crate::store::Error::is_unique_violation)
}

fn is_same(state: &AppState, row: &PlanRow, test: &NewTest) -> bool {
    open(state, row).is_ok_and(|opened| opened.plan == test.plan)
        && row.name == test.name
        && row.notes == test.notes
        && row.tags == joined_tags(&test.tags)
}

/// `before` is the stored plan that the test was made from.
async fn add_from(
    state: &AppState,
    owner: UserId,
    test: &NewTest,
    before: Option<&str>,
    form: Option<&str>,
) -> Result<PlanId> {
    if state.db.count_plans(owner).await? >= MOST {
        return Err(Error::Conflict(format!("You have {MOST} tests, the most an account may have. Delete one first.")));
    }
    Ok(state.db.add_plan_by(owner, Stored::of(state, test, before)?.text(), form).await?)
}

/// Saves a changed test; what it was before becomes a former version. Runs that are waiting keep the plan they were asked for
/// with.
///
/// # Errors
/// [`Error::NotFound`] if it is gone.
pub async fn change(state: &AppState, owner: UserId, row: &PlanRow, test: &NewTest) -> Result<()> {
    let clear = secrets::has_clear_text(&row.spec);
    if is_same(state, row, test) && !clear {
        return Ok(());
    }
    write(state, owner, row.id, &Stored::of(state, test, Some(&row.spec))?).await
}

/// Makes a former version the present one; the present one becomes a former one.
///
/// # Errors
/// [`Error::NotFound`] for a version that is not kept any more; if its plan cannot be read by this version of Oleada.
pub async fn restore(state: &AppState, owner: UserId, row: &PlanRow, version: &str) -> Result<()> {
    let id: VersionId = version.parse().map_err(|_| Error::NotFound)?;
    let version = state.db.plan_version(row.id, id).await?.ok_or(Error::NotFound)?;
    let opened = state.vault.unseal(&version.spec).map_err(anyhow::Error::from)?;
    let test = NewTest {
        name: version.name,
        notes: version.notes,
        tags: split_tags(&version.tags),
        plan: opened.plan,
        told: Vec::new(),
    };
    write(state, owner, row.id, &Stored::of(state, &test, Some(&version.spec))?).await
}

async fn write(state: &AppState, owner: UserId, id: PlanId, stored: &Stored<'_>) -> Result<()> {
    let changed = state.db.change_plan(owner, id, stored.text(), limits::VERSIONS as i64).await?;
    if changed { Ok(()) } else { Err(Error::NotFound) }
}

/// A test as it is written into the database.
struct Stored<'a> {
    test: &'a NewTest,
    tags: String,
    spec: String,
    search: String,
}

impl<'a> Stored<'a> {
    /// `before` is the stored plan that the test was made from.
    fn of(state: &AppState, test: &'a NewTest, before: Option<&str>) -> Result<Stored<'a>> {
        let tags = joined_tags(&test.tags);
        let search = search_text(&test.name, &test.notes, &tags, &test.plan);
        Ok(Stored { test, tags, search, spec: state.vault.seal(&test.plan, before)? })
    }

    fn text(&self) -> PlanText<'_> {
        PlanText {
            name: &self.test.name,
            notes: &self.test.notes,
            tags: &self.tags,
            spec: &self.spec,
            search: &self.search,
        }
    }
}

/// Saves a copy of a test.
///
/// # Errors
/// As [`add`].
pub async fn copy(state: &AppState, owner: UserId, row: &PlanRow) -> Result<PlanId> {
    let name: String = COPY.chars().chain(row.name.chars()).take(limits::NAME_CHARS).collect();
    let test = NewTest {
        name,
        notes: row.notes.clone(),
        tags: split_tags(&row.tags),
        plan: open(state, row)?.plan,
        told: Vec::new(),
    };
    add_from(state, owner, &test, Some(&row.spec), None).await
}

/// Archives a test: it leaves the list and cannot be started; its runs stay.
///
/// # Errors
/// [`Error::NotFound`] if it is gone.
pub async fn archive(state: &AppState, owner: UserId, row: &PlanRow) -> Result<()> {
    let since = row.archived_at.unwrap_or_else(Timestamp::now);
    if state.db.archive_plan(owner, row.id, Some(since)).await? { Ok(()) } else { Err(Error::NotFound) }
}

/// Brings an archived test back.
///
/// # Errors
/// [`Error::NotFound`] if it is gone.
pub async fn unarchive(state: &AppState, owner: UserId, row: &PlanRow) -> Result<()> {
    if state.db.archive_plan(owner, row.id, None).await? { Ok(()) } else { Err(Error::NotFound) }
}

/// Deletes a test; its finished runs stay.
///
/// # Errors
/// [`Error::Conflict`] while a run of it waits or is under way.
pub async fn delete(state: &AppState, owner: UserId, row: &PlanRow) -> Result<()> {
    if state.db.delete_plan(owner, row.id).await? {
        return Ok(());
    }
    Err(Error::Conflict(
        "A run of this test is waiting or under way. Stop it first; then the test can be deleted.".into(),
    ))
}

/// The hosts that a test needs.
///
/// # Errors
/// As [`open`].
pub fn hosts_of(state: &AppState, row: &PlanRow) -> Result<Vec<HostPort>> {
    Ok(open(state, row)?.plan.hosts())
}

/// A change of a test: what there was before it, and what it did, in sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The version before the change, which can be restored.
    pub before: VersionRow,
    /// What was changed.
    pub sentences: Vec<String>,
}

/// The changes of a test that are kept, latest first.
///
/// # Errors
/// If the database fails.
pub async fn history(state: &AppState, row: &PlanRow) -> Result<Vec<Change>> {
    let versions = state.db.plan_versions(row.id).await?;
    let mut changes = Vec::with_capacity(versions.len());
    let mut after = (row.name.clone(), row.notes.clone(), row.tags.clone(), state.vault.unseal(&row.spec).ok());
    for before in versions {
        // One at a time: plans can be large.
        let Some(whole) = state.db.plan_version(row.id, before.id).await? else { continue };
        let opened = state.vault.unseal(&whole.spec).ok();
        let mut sentences = text_changes(
            (before.name.as_str(), before.notes.as_str(), before.tags.as_str()),
            (after.0.as_str(), after.1.as_str(), after.2.as_str()),
        );
        match (&opened, &after.3) {
            (Some(old), Some(new)) => sentences.extend(plan_changes(old, new)),
            _ => sentences.push("The plan of that time cannot be read by this version of Oleada.".into()),
        }
        after = (before.name.clone(), before.notes.clone(), before.tags.clone(), opened);
        changes.push(Change { before, sentences });
    }
    Ok(changes)
}

/// Name, notes and tags.
fn text_changes(old: (&str, &str, &str), new: (&str, &str, &str)) -> Vec<String> {
    let mut sentences = Vec::new();
    if old.0 != new.0 {
        sentences.push(format!("Name: “{}” → “{}”", old.0, new.0));
    }
    if old.1 != new.1 {
        sentences.push("Notes changed".to_owned());
    }
    let (before, after) = (split_tags(old.2), split_tags(new.2));
    sentences.extend(after.iter().filter(|tag| !before.contains(tag)).map(|tag| format!("Tag added: {tag}")));
    sentences.extend(before.iter().filter(|tag| !after.contains(tag)).map(|tag| format!("Tag removed: {tag}")));
    sentences
}

/// What is different between two stored plans. Secrets that are lost in both cannot be compared, and count as equal.
pub fn plan_changes(old: &Opened, new: &Opened) -> Vec<String> {
    let comparable = |opened: &Opened, other: &Opened| -> PlanSpec {
        let mut spec = opened.plan.spec().clone();
        each_secret(&mut spec, |place, text| {
            if opened.lost.contains(&place) && other.lost.contains(&place) {
                "lost".clone_into(text);
            }
        });
        spec
    };
    diff::changes(&comparable(old, new), &comparable(new, old))
}

/// What a search looks through: the name first, because lists are sorted by it.
fn search_text(name: &str, notes: &str, tags: &str, plan: &Plan) -> String {
    let mut text = format!("{name}\n{notes}\n{tags}");
    for at in plan.hosts() {
        text.push('\n');
        text.push_str(&at.to_string());
    }
    for unicode in plan.requests().iter().filter_map(|request| request.target.unicode_host()) {
        text.push('\n');
        text.push_str(&unicode);
    }
    text.to_lowercase()
}

/// Makes tests that an older version wrote searchable, and seals their secrets. Quick when there are none.
///
/// # Errors
/// If the database fails.
pub async fn take_over(db: &Db, vault: &Vault) -> Result<()> {
    let mut after = PlanId(Uuid::nil());
    loop {
        let rows = db.unindexed_plans(after, BATCH).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.id;
        for row in &rows {
            let Ok(opened) = vault.unseal(&row.spec) else {
                tracing::warn!(test = %row.id, "the plan of a test cannot be read; it is left as it is");
                continue;
            };
            let search = search_text(&row.name, &row.notes, &row.tags, &opened.plan);
            db.index_plan(row.id, &row.spec, &vault.seal(&opened.plan, Some(&row.spec))?, &search).await?;
        }
    }
}

/// Seals what older versions left as clear text, in tests, former versions and runs; returns how many stored plans it was.
///
/// # Errors
/// If the database fails.
pub async fn seal_all(db: &Db, vault: &Vault) -> Result<u64> {
    let mut sealed = 0;
    for table in [Table::Tests, Table::Versions, Table::Runs] {
        let mut after = Uuid::nil();
        loop {
            let rows = match table {
                Table::Tests => db.plan_specs(after, BATCH).await?,
                Table::Versions => db.version_specs(after, BATCH).await?,
                Table::Runs => db.run_specs(after, BATCH).await?,
            };
            let Some(last) = rows.last() else { break };
            after = last.0;
            for (id, old) in rows.iter().filter(|(_, spec)| secrets::has_clear_text(spec)) {
                // What this version cannot read is not shown either; it is left as it is.
                let Ok(opened) = vault.unseal(old) else { continue };
                let new = vault.seal(&opened.plan, Some(old))?;
                match table {
                    Table::Tests => db.set_plan_spec(*id, old, &new).await?,
                    Table::Versions => db.set_version_spec(*id, old, &new).await?,
                    Table::Runs => db.set_run_spec(*id, old, &new).await?,
                }
                sealed += 1;
            }
        }
    }
    take_over(db, vault).await?;
    Ok(sealed)
}

/// Where plans are stored.
#[derive(Clone, Copy)]
enum Table {
    Tests,
    Versions,
    Runs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::SecretKey;

    fn plan(password: &str) -> Plan {
        serde_json::from_str(&format!(
            r#"{{"requests":[{{"url":"http://xn--bcher-kva.example/","basic_auth":{{"user":"u","password":"{password}"}}}}]}}"#
        ))
        .unwrap()
    }

    #[test]
    fn a_search_finds_name_notes_tags_and_hosts_but_no_secret() {
        let text = search_text("Kasse", "Für Ana", "\nabend\n", &plan("Geheim"));
        assert!(text.starts_with("kasse\n") && text.contains("für ana") && text.contains("\nabend\n"), "{text}");
        assert!(text.contains("xn--bcher-kva.example:80") && text.contains("bücher.example"), "{text}");
        assert!(!text.contains("geheim"));
    }

    #[test]
    fn what_is_lost_in_both_is_not_called_changed() {
        let (right, wrong) = (Vault::new(SecretKey::generate()), Vault::new(SecretKey::generate()));
        let (old, new) = (right.seal(&plan("a"), None).unwrap(), right.seal(&plan("a"), None).unwrap());
        let open = |vault: &Vault, text: &str| vault.unseal(text).unwrap();
        assert!(plan_changes(&open(&right, &old), &open(&right, &new)).is_empty());
        assert!(plan_changes(&open(&wrong, &old), &open(&wrong, &new)).is_empty());
        let typed = wrong.seal(&plan("b"), None).unwrap();
        let changes = plan_changes(&open(&wrong, &old), &open(&wrong, &typed));
        assert!(changes.len() == 1 && changes[0].ends_with("password changed"), "{changes:?}");
    }

    #[test]
    fn names_notes_and_tags_are_told() {
        assert_eq!(
            text_changes(("a", "x", "\none\ntwo\n"), ("b", "y", "\ntwo\nthree\n")),
            ["Name: “a” → “b”", "Notes changed", "Tag added: three", "Tag removed: one"]
        );
    }
}

//! Tests, called plans in code, and their former versions.

use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use super::{Db, PlanId, Result, RunId, Timestamp, UserId, VersionId, reading, statements, transaction, writing};

macro_rules! columns {
    () => {
        "id, name, notes, tags, spec, archived_at, created_at, updated_at, baseline_run_id"
    };
}

/// Which tests a list shows: `$2` is `active`, `archived` or `all`, `$3` a pattern of tags, `$4` to `$8` patterns of words.
macro_rules! wanted {
    () => {
        "
        where owner_id = $1
          and ($2 = 'all' or ($2 = 'archived') = (archived_at is not null))
          and tags like $3 escape '!'
          and coalesce(search, lower(name)) like $4 escape '!'
          and coalesce(search, lower(name)) like $5 escape '!'
          and coalesce(search, lower(name)) like $6 escape '!'
          and coalesce(search, lower(name)) like $7 escape '!'
          and coalesce(search, lower(name)) like $8 escape '!'"
    };
}

macro_rules! listed {
    () => {
        "
        select id, name, tags, spec, archived_at, updated_at,
            (select count(*) from runs where runs.plan_id = plans.id) as runs,
            (select max(queued_at) from runs where runs.plan_id = plans.id) as last_run_at
        from plans"
    };
}

statements! {
    ONE = concat!("
        select ", columns!(), "
        from plans
        where id = $1 and owner_id = $2");
    ALL = concat!("
        select ", columns!(), "
        from plans
        where owner_id = $1
        order by updated_at desc, id desc
        limit $2");
    NAMES = "
        select id, name
        from plans
        where owner_id = $1
        order by (select max(queued_at) from runs where runs.plan_id = plans.id) desc nulls last, id desc
        limit $2";
    COUNT = "
        select count(*)
        from plans
        where owner_id = $1";
    COUNT_ACTIVE = "
        select count(*)
        from plans
        where owner_id = $1 and archived_at is null";
    TAGS = "
        select distinct tags
        from plans
        where owner_id = $1 and tags <> ''";
    COUNT_WANTED = concat!("
        select count(*)
        from plans", wanted!());
    BY_CHANGE = concat!(listed!(), wanted!(), "
        order by updated_at desc, id desc
        limit $9 offset $10");
    BY_NAME = concat!(listed!(), wanted!(), "
        order by coalesce(search, ''), id
        limit $9 offset $10");
    BY_RUN = concat!(listed!(), wanted!(), "
        order by last_run_at desc nulls last, id desc
        limit $9 offset $10");
    ADD = "
        insert into plans (id, owner_id, name, notes, tags, spec, search, created_at, updated_at, form_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)";
    BY_FORM = concat!("
        select ", columns!(), "
        from plans
        where owner_id = $1 and form_id = $2");
    CHANGE = "
        update plans
        set name = $3, notes = $4, tags = $5, spec = $6, search = $7, updated_at = $8
        where id = $1 and owner_id = $2";
    ARCHIVE = "
        update plans
        set archived_at = $3
        where id = $1 and owner_id = $2";
    SET_BASELINE = "
        update plans
        set baseline_run_id = $3
        where id = $1 and owner_id = $2
          and exists (select 1 from runs where id = $3 and plan_id = $1 and state = 'over' and result is not null)";
    UNSET_BASELINE = "
        update plans
        set baseline_run_id = null
        where baseline_run_id = $1 and owner_id = $2";
    DELETE = "
        delete from plans
        where id = $1 and owner_id = $2
          and not exists (
              select 1 from runs
              where plan_id = $1 and state in ('queued', 'verifying', 'running', 'draining')
          )";
    KEEP_VERSION = "
        insert into plan_versions (id, plan_id, changed_by, changed_at, name, notes, tags, spec)
        select $1, id, $3, $4, name, notes, tags, spec
        from plans
        where id = $2 and owner_id = $3";
    FORGET_VERSIONS = "
        delete from plan_versions
        where plan_id = $1 and id not in (
            select id from plan_versions
            where plan_id = $1
            order by changed_at desc, id desc
            limit $2
        )";
    VERSIONS = "
        select v.id, v.plan_id, u.email as changed_by, v.changed_at, v.name, v.notes, v.tags, '' as spec
        from plan_versions as v
        left join users as u on u.id = v.changed_by
        where v.plan_id = $1
        order by v.changed_at desc, v.id desc";
    VERSION = "
        select v.id, v.plan_id, u.email as changed_by, v.changed_at, v.name, v.notes, v.tags, v.spec
        from plan_versions as v
        left join users as u on u.id = v.changed_by
        where v.plan_id = $1 and v.id = $2";
    UNINDEXED = concat!("
        select ", columns!(), "
        from plans
        where search is null and id > $1
        order by id
        limit $2");
    INDEX = "
        update plans
        set spec = $3, search = $4
        where id = $1 and spec = $2";
    SPECS = "
        select id, spec
        from plans
        where id > $1
        order by id
        limit $2";
    SET_SPEC = "
        update plans
        set spec = $3
        where id = $1 and spec = $2";
    VERSION_SPECS = "
        select id, spec
        from plan_versions
        where id > $1
        order by id
        limit $2";
    SET_VERSION_SPEC = "
        update plan_versions
        set spec = $3
        where id = $1 and spec = $2";
}

/// A test as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct PlanRow {
    /// Id.
    pub id: PlanId,
    /// Name.
    pub name: String,
    /// Notes; may be empty.
    pub notes: String,
    /// Tags, as [`joined_tags`] writes them.
    pub tags: String,
    /// The plan as JSON, its secrets sealed.
    pub spec: String,
    /// Since when it is archived.
    pub archived_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The run that the others are compared with.
    pub baseline_run_id: Option<RunId>,
}

/// A test in a list.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ListedPlan {
    /// Id.
    pub id: PlanId,
    /// Name.
    pub name: String,
    /// Tags, as [`joined_tags`] writes them.
    pub tags: String,
    /// The plan as JSON, its secrets sealed.
    pub spec: String,
    /// Since when it is archived.
    pub archived_at: Option<Timestamp>,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// How many runs it has.
    pub runs: i64,
    /// When its latest run was asked for.
    pub last_run_at: Option<Timestamp>,
}

/// What is written of a test.
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'a> {
    /// Name.
    pub name: &'a str,
    /// Notes.
    pub notes: &'a str,
    /// Tags, as [`joined_tags`] writes them.
    pub tags: &'a str,
    /// The plan as JSON, its secrets sealed.
    pub spec: &'a str,
    /// What a search looks through, in lower case; begins with the name, because lists are sorted by it.
    pub search: &'a str,
}

/// A test as it was before a change.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct VersionRow {
    /// Id.
    pub id: VersionId,
    /// Of which test.
    pub plan_id: PlanId,
    /// E-mail address of whoever made the change; `None` once that account is gone.
    pub changed_by: Option<String>,
    /// When it was changed.
    pub changed_at: Timestamp,
    /// Name before.
    pub name: String,
    /// Notes before.
    pub notes: String,
    /// Tags before.
    pub tags: String,
    /// Plan before, its secrets sealed; empty in lists.
    pub spec: String,
}

/// In which order a list stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Latest changed first.
    #[default]
    Changed,
    /// By name.
    Name,
    /// Latest run first; those that never ran last.
    Run,
}

/// Which tests a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// All of these words are in it; in lower case. The statements take five, further ones are ignored.
    pub words: Vec<String>,
    /// It has this tag.
    pub tag: Option<String>,
    /// `None`: archived or not.
    pub archived: Option<bool>,
}

/// Tags as they are stored: one a line, so that one can be looked for as a whole.
pub fn joined_tags(tags: &[String]) -> String {
    if tags.is_empty() { String::new() } else { format!("\n{}\n", tags.join("\n")) }
}

/// Tags as they were before [`joined_tags`].
pub fn split_tags(joined: &str) -> Vec<String> {
    joined.lines().filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

/// A pattern for `like … escape '!'` that finds `text` as it stands.
pub(super) fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if "!%_".contains(c) {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// Words of a search that the statements take.
const WORDS: usize = 5;

struct Patterns {
    archived: &'static str,
    tag: String,
    words: [String; WORDS],
}

impl Patterns {
    fn of(wanted: &Wanted) -> Patterns {
        Patterns {
            archived: wanted.archived.map_or("all", |yes| if yes { "archived" } else { "active" }),
            tag: wanted.tag.as_ref().map_or_else(|| "%".to_owned(), |tag| containing(&format!("\n{tag}\n"))),
            words: std::array::from_fn(|n| wanted.words.get(n).map_or_else(|| "%".to_owned(), |word| containing(word))),
        }
    }
}

/// Binds an owner and patterns: `$1` to `$8`.
macro_rules! with_patterns {
    ($query:expr, $owner:expr, $patterns:expr) => {{
        let [a, b, c, d, e] = &$patterns.words;
        $query.bind($owner).bind($patterns.archived).bind(&$patterns.tag).bind(a).bind(b).bind(c).bind(d).bind(e)
    }};
}

impl Db {
    /// A test of this account.
    pub async fn plan(&self, owner: UserId, id: PlanId) -> Result<Option<PlanRow>> {
        reading!(self, pool => query_as(ONE).bind(id).bind(owner).fetch_optional(pool).await)
    }

    /// All tests of this account, archived ones too, latest changed first.
    pub async fn plans(&self, owner: UserId, limit: i64) -> Result<Vec<PlanRow>> {
        reading!(self, pool => query_as(ALL).bind(owner).bind(limit).fetch_all(pool).await)
    }

    /// Ids and names of the account's tests, archived ones too, the latest run first.
    pub async fn plan_names(&self, owner: UserId, limit: i64) -> Result<Vec<(PlanId, String)>> {
        reading!(self, pool => query_as(NAMES).bind(owner).bind(limit).fetch_all(pool).await)
    }

    /// How many tests this account has, archived ones too.
    pub async fn count_plans(&self, owner: UserId) -> Result<i64> {
        reading!(self, pool => query_scalar(COUNT).bind(owner).fetch_one(pool).await)
    }

    /// How many tests this account has that are not archived.
    pub async fn count_active_plans(&self, owner: UserId) -> Result<i64> {
        reading!(self, pool => query_scalar(COUNT_ACTIVE).bind(owner).fetch_one(pool).await)
    }

    /// The tags of this account's tests, each once, in order.
    pub async fn plan_tags(&self, owner: UserId) -> Result<Vec<String>> {
        let joined: Vec<String> = reading!(self, pool => query_scalar(TAGS).bind(owner).fetch_all(pool).await)?;
        let tags: std::collections::BTreeSet<String> = joined.iter().flat_map(|tags| split_tags(tags)).collect();
        Ok(tags.into_iter().collect())
    }

    /// How many tests of this account are wanted.
    pub async fn count_wanted_plans(&self, owner: UserId, wanted: &Wanted) -> Result<i64> {
        let patterns = Patterns::of(wanted);
        reading!(self, pool => with_patterns!(query_scalar(COUNT_WANTED), owner, patterns).fetch_one(pool).await)
    }

    /// A part of the tests of this account that are wanted.
    pub async fn wanted_plans(
        &self,
        owner: UserId,
        wanted: &Wanted,
        sort: Sort,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<ListedPlan>> {
        let patterns = Patterns::of(wanted);
        let list = match sort {
            Sort::Changed => BY_CHANGE,
            Sort::Name => BY_NAME,
            Sort::Run => BY_RUN,
        };
        reading!(self, pool => {
            with_patterns!(query_as(list), owner, patterns).bind(limit).bind(offset).fetch_all(pool).await
        })
    }

    /// Makes a test.
    pub async fn add_plan(&self, owner: UserId, text: PlanText<'_>) -> Result<PlanId> {
        self.add_plan_by(owner, text, None).await
    }

    /// The test that a form has made.
    pub async fn plan_of_form(&self, owner: UserId, form: &str) -> Result<Option<PlanRow>> {
        reading!(self, pool => query_as(BY_FORM).bind(owner).bind(form).fetch_optional(pool).await)
    }

    /// Makes a test by a form; a uniqueness error if that form has made one already.
    pub async fn add_plan_by(&self, owner: UserId, text: PlanText<'_>, form: Option<&str>) -> Result<PlanId> {
        let id = PlanId::new();
        writing!(self, pool => {
            query(ADD)
                .bind(id)
                .bind(owner)
                .bind(text.name)
                .bind(text.notes)
                .bind(text.tags)
                .bind(text.spec)
                .bind(text.search)
                .bind(Timestamp::now())
                .bind(form)
                .execute(pool)
                .await
                .map(|_| id)
        })
    }

    /// Changes a test and keeps what it was, at most `keep` versions; false if there is none.
    pub async fn change_plan(&self, owner: UserId, id: PlanId, text: PlanText<'_>, keep: i64) -> Result<bool> {
        let now = Timestamp::now();
        transaction!(self, tx => {
            query(KEEP_VERSION).bind(VersionId::new()).bind(id).bind(owner).bind(now).execute(&mut *tx).await?;
            query(FORGET_VERSIONS).bind(id).bind(keep).execute(&mut *tx).await?;
            let done = query(CHANGE)
                .bind(id)
                .bind(owner)
                .bind(text.name)
                .bind(text.notes)
                .bind(text.tags)
                .bind(text.spec)
                .bind(text.search)
                .bind(now)
                .execute(&mut *tx)
                .await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// The former versions of a test, latest first; without their plans, which can hold megabytes of bodies.
    pub async fn plan_versions(&self, id: PlanId) -> Result<Vec<VersionRow>> {
        reading!(self, pool => query_as(VERSIONS).bind(id).fetch_all(pool).await)
    }

    /// A former version of a test, with its plan.
    pub async fn plan_version(&self, id: PlanId, version: VersionId) -> Result<Option<VersionRow>> {
        reading!(self, pool => query_as(VERSION).bind(id).bind(version).fetch_optional(pool).await)
    }

    /// Archives a test, or with `None` brings it back; false if there is none.
    pub async fn archive_plan(&self, owner: UserId, id: PlanId, at: Option<Timestamp>) -> Result<bool> {
        let done = writing!(self, pool => {
            query(ARCHIVE).bind(id).bind(owner).bind(at).execute(pool).await.map(|done| done.rows_affected())
        })?;
        Ok(done == 1)
    }

    /// Marks a run as what the others of its test are compared with; false if it is none of this test that has a result.
    pub async fn set_baseline(&self, owner: UserId, plan: PlanId, run: RunId) -> Result<bool> {
        let done = writing!(self, pool => {
            query(SET_BASELINE).bind(plan).bind(owner).bind(run).execute(pool).await.map(|done| done.rows_affected())
        })?;
        Ok(done == 1)
    }

    /// Takes that mark away; false if the run does not have it.
    pub async fn unset_baseline(&self, owner: UserId, run: RunId) -> Result<bool> {
        let done = writing!(self, pool => {
            query(UNSET_BASELINE).bind(run).bind(owner).execute(pool).await.map(|done| done.rows_affected())
        })?;
        Ok(done == 1)
    }

    /// Deletes a test that has no run under way; its finished runs stay. False if there was nothing to delete or a run is
    /// under way.
    pub async fn delete_plan(&self, owner: UserId, id: PlanId) -> Result<bool> {
        let done = writing!(self, pool => query(DELETE).bind(id).bind(owner).execute(pool).await.map(|done| done.rows_affected()))?;
        Ok(done == 1)
    }

    /// Tests that an older version wrote, which a search does not look through yet; in the order of their ids after `after`.
    pub async fn unindexed_plans(&self, after: PlanId, limit: i64) -> Result<Vec<PlanRow>> {
        reading!(self, pool => query_as(UNINDEXED).bind(after).bind(limit).fetch_all(pool).await)
    }

    /// Writes what a search looks through, and the plan anew, unless the plan was changed in the meantime.
    pub async fn index_plan(&self, id: PlanId, before: &str, spec: &str, search: &str) -> Result<()> {
        writing!(self, pool => {
            query(INDEX).bind(id).bind(before).bind(spec).bind(search).execute(pool).await.map(|_| ())
        })
    }

    /// Stored plans of tests, whoever owns them, in the order of their ids after `after`.
    pub async fn plan_specs(&self, after: Uuid, limit: i64) -> Result<Vec<(Uuid, String)>> {
        reading!(self, pool => query_as(SPECS).bind(after).bind(limit).fetch_all(pool).await)
    }

    /// Writes a stored plan anew, unless it was changed in the meantime.
    pub async fn set_plan_spec(&self, id: Uuid, before: &str, spec: &str) -> Result<()> {
        writing!(self, pool => query(SET_SPEC).bind(id).bind(before).bind(spec).execute(pool).await.map(|_| ()))
    }

    /// Stored plans of former versions, as [`Db::plan_specs`].
    pub async fn version_specs(&self, after: Uuid, limit: i64) -> Result<Vec<(Uuid, String)>> {
        reading!(self, pool => query_as(VERSION_SPECS).bind(after).bind(limit).fetch_all(pool).await)
    }

    /// As [`Db::set_plan_spec`].
    pub async fn set_version_spec(&self, id: Uuid, before: &str, spec: &str) -> Result<()> {
        writing!(self, pool => query(SET_VERSION_SPEC).bind(id).bind(before).bind(spec).execute(pool).await.map(|_| ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_text_as_it_stands() {
        assert_eq!(containing("50%_a!"), "%50!%!_a!!%");
        let patterns = Patterns::of(&Wanted { words: vec!["a".into()], tag: Some("x".into()), archived: Some(false) });
        assert_eq!((patterns.archived, &*patterns.tag, &*patterns.words[0]), ("active", "%\nx\n%", "%a%"));
        assert!(patterns.words[1..].iter().all(|pattern| pattern == "%"));
        assert_eq!(WORDS, oleada_engine::plan::limits::SEARCH_WORDS);
    }

    #[test]
    fn tags_are_joined_and_split() {
        for tags in [vec![], vec!["a".to_owned()], vec!["a b".to_owned(), "c".to_owned()]] {
            assert_eq!(split_tags(&joined_tags(&tags)), tags);
        }
    }
}

//! The list of an account's runs: what it leaves out, and its pages.

use sqlx::query_as;

use super::plans::containing;
use super::runs::{RunRow, list_columns};
use super::{Db, PlanId, Result, RunId, Timestamp, UserId, reading, statements};

/// Which runs a list shows: `$2` a test, `$3` a pattern of hosts, `$4` to `$8` patterns of words, `$9` a state or nothing, `$10`
/// `yes`, `no`, `none` or nothing for the limits, `$11` and `$12` the time from and until.
macro_rules! wanted {
    () => {
        "
        where owner_id = $1
          and (plan_id = $2 or $2 is null)
          and coalesce(hosts, '') like $3 escape '!'
          and coalesce(search, '') like $4 escape '!'
          and coalesce(search, '') like $5 escape '!'
          and coalesce(search, '') like $6 escape '!'
          and coalesce(search, '') like $7 escape '!'
          and coalesce(search, '') like $8 escape '!'
          and $9 in ('', case
              when state = 'refused' then 'refused'
              when state <> 'over' then 'under_way'
              when end_reason = 'completed' then 'finished'
              when end_reason = 'stopped' then 'stopped'
              when end_reason in ('error_threshold', 'limit', 'rate_missed') then 'aborted'
              else 'interrupted' end)
          and $10 in ('', case when passed is null then 'none' when passed then 'yes' else 'no' end)
          and queued_at >= $11 and queued_at < $12"
    };
}

statements! {
    OLDER = concat!("
        select ", list_columns!(), "
        from runs", wanted!(), "
          and (queued_at < $13 or (queued_at = $13 and id < $14))
        order by queued_at desc, id desc
        limit $15");
    NEWER = concat!("
        select ", list_columns!(), "
        from runs", wanted!(), "
          and (queued_at > $13 or (queued_at = $13 and id > $14))
        order by queued_at, id
        limit $15");
}

/// Words of a search that the statements take.
const WORDS: usize = 5;

/// Which runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedRuns {
    /// Of this test.
    pub plan: Option<PlanId>,
    /// That name this host and port, as `HostPort` is written.
    pub host: Option<String>,
    /// Whose name or hosts hold all of these, in lower case; more than five are left out.
    pub words: Vec<String>,
    /// `under_way`, `finished`, `stopped`, `aborted`, `interrupted`, `refused`; empty = any.
    pub state: &'static str,
    /// `yes` (every limit kept), `no`, `none` (no limits, or not judged); empty = any.
    pub passed: &'static str,
    /// Asked for at this moment or later.
    pub from: Option<Timestamp>,
    /// Asked for before this moment.
    pub until: Option<Timestamp>,
}

/// A place between two runs: beside the run with this moment and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// When that run was asked for.
    pub at: Timestamp,
    /// Its id.
    pub id: RunId,
}

macro_rules! with_wanted {
    ($query:expr, $owner:expr, $wanted:expr, $patterns:expr) => {{
        let (host, [a, b, c, d, e]) = $patterns;
        $query
            .bind($owner)
            .bind($wanted.plan)
            .bind(host)
            .bind(a)
            .bind(b)
            .bind(c)
            .bind(d)
            .bind(e)
            .bind($wanted.state)
            .bind($wanted.passed)
            .bind($wanted.from.unwrap_or(Timestamp(i64::MIN)))
            .bind($wanted.until.unwrap_or(Timestamp(i64::MAX)))
    }};
}

impl Db {
    /// Runs older than a place, newest first; `None` = from the newest on.
    pub async fn older_runs(
        &self,
        owner: UserId,
        wanted: &WantedRuns,
        than: Option<Beside>,
        limit: i64,
    ) -> Result<Vec<RunRow>> {
        let patterns = &wanted.patterns();
        let than = than.unwrap_or(Beside { at: Timestamp(i64::MAX), id: RunId(uuid::Uuid::max()) });
        reading!(self, pool => {
            with_wanted!(query_as(OLDER), owner, wanted, patterns).bind(than.at).bind(than.id).bind(limit).fetch_all(pool).await
        })
    }

    /// Runs newer than a place, those nearest to it, newest first.
    pub async fn newer_runs(
        &self,
        owner: UserId,
        wanted: &WantedRuns,
        than: Beside,
        limit: i64,
    ) -> Result<Vec<RunRow>> {
        let patterns = &wanted.patterns();
        let mut runs: Vec<RunRow> = reading!(self, pool => {
            with_wanted!(query_as(NEWER), owner, wanted, patterns).bind(than.at).bind(than.id).bind(limit).fetch_all(pool).await
        })?;
        runs.reverse();
        Ok(runs)
    }
}

impl WantedRuns {
    /// Of the host, and of the words.
    fn patterns(&self) -> (String, [String; WORDS]) {
        let host = self.host.as_ref().map_or_else(|| "%".to_owned(), |host| containing(&format!("\n{host}\n")));
        (host, std::array::from_fn(|n| self.words.get(n).map_or_else(|| "%".to_owned(), |word| containing(word))))
    }
}

//! Reports as files: what one is made from. Each kind has a module.

use std::time::{Duration, SystemTime};

use oleada_engine::histogram::Histogram;
use oleada_engine::result::{Point, ResultDoc};
use oleada_engine::window::Window;

use super::mask::Mask;
use super::{report, result_of, state_of};
use crate::clock::{rfc3339, unix_ms};
use crate::error::{Error, Result};
use crate::state::AppState;
use crate::store::RunId;
use crate::store::runs::RunRow;

pub mod csv;
pub mod junit;
pub mod times;

/// Seconds whose histograms are read at once.
pub const STEP: u32 = 60;

/// A run that is over, as whoever exports it may see it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The run.
    pub id: RunId,
    /// The test's name.
    pub name: String,
    /// When load began, unix milliseconds.
    pub started_at: i64,
    /// Its result.
    pub result: ResultDoc,
    /// Its seconds.
    pub points: Vec<Point>,
}

impl Source {
    /// Reads what exports are made from.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a run that has measured nothing; [`Error::Conflict`] while it is under way.
    pub async fn of(state: &AppState, run: &RunRow, mask: &Mask) -> Result<Source> {
        if !state_of(run).is_over() {
            return Err(Error::Conflict("This run is under way. Its report can be downloaded when it is over.".into()));
        }
        let result = result_of(run).ok_or(Error::NotFound)?;
        let view = report::look(state, run).await?;
        Ok(Source {
            id: run.id,
            name: mask.text(&run.name),
            // As in the document: the row was written a moment before.
            started_at: unix_ms(&result.started_at).unwrap_or(run.started_at.unwrap_or(run.queued_at).0),
            result: mask.result(result)?,
            points: view.points,
        })
    }

    /// When load began.
    pub fn start(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(self.started_at).unwrap_or(0))
    }

    /// The second after the last one.
    pub fn end(&self) -> u32 {
        self.points.last().map_or(0, |point| point.t + 1)
    }

    /// What a download is called: `oleada-front-page-2026-12-01-seconds.csv`; plain ASCII.
    pub fn file_name(&self, file: &str) -> String {
        let day = &rfc3339(self.started_at)[..10];
        format!("oleada-{}-{day}-{file}", slug(&self.name))
    }
}

/// Letters and digits, anything else a dash between them.
fn slug(name: &str) -> String {
    const LONGEST: usize = 60;
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= LONGEST {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "report".to_owned() } else { slug.to_owned() }
}

/// Response times of the seconds [`from`, `to`), in order. Damaged seconds are left out and logged.
///
/// # Errors
/// If the database fails.
pub async fn latencies(state: &AppState, run: RunId, from: u32, to: u32) -> Result<Vec<(u32, Histogram)>> {
    let mut stored = Vec::new();
    state.db.windows(run, from, to, |blob| stored.push(blob.to_vec())).await?;
    let _turn = state.exports.acquire().await.map_err(anyhow::Error::from)?;
    let decode = move || stored.iter().map(|blob| Window::decode_latency(blob)).collect::<Vec<_>>();
    let decoded = tokio::task::spawn_blocking(decode).await.map_err(anyhow::Error::from)?;
    let (mut seconds, mut damaged) = (Vec::<(u32, Histogram)>::with_capacity(decoded.len()), 0);
    for second in decoded {
        match (second, seconds.last_mut()) {
            // Another shard of the same second.
            (Ok((t, times)), Some((last, sum))) if *last == t => sum.add(&times),
            (Ok(second), _) => seconds.push(second),
            (Err(_), _) => damaged += 1,
        }
    }
    if damaged > 0 {
        tracing::error!(%run, damaged, "stored seconds could not be read");
    }
    Ok(seconds)
}

/// The same text without what XML cannot hold.
pub fn xml_text(text: &str) -> String {
    let kept = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let text: String = text.chars().map(|c| if kept(c) && c != '\u{7f}' { c } else { '\u{fffd}' }).collect();
    oleada_app::format::escape(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain() {
        for (name, expected) in [
            ("Front page, evening peak", "front-page-evening-peak"),
            ("../../etc/passwd\r\nX: y", "etc-passwd-x-y"),
            ("ü", "report"),
            ("", "report"),
            (&"long ".repeat(30), "long-long-long-long-long-long-long-long-long-long-long-long"),
        ] {
            assert_eq!(slug(name), expected);
        }
    }

    #[test]
    fn xml_holds_no_control_characters() {
        assert_eq!(xml_text("a\u{0}\u{1b}<b> \u{ffff}é&\""), "a\u{fffd}\u{fffd}&lt;b&gt; \u{fffd}é&amp;&quot;");
    }
}

//! Exact figures of some seconds of a run, merged from the stored windows.

use oleada_app::pages::report::Part;
use oleada_engine::plan::{FieldError, limits};
use oleada_engine::range::RangeDoc;
use oleada_engine::window::{Merge, Window};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::error::Result;
use crate::state::AppState;
use crate::store::RunId;
use crate::store::runs::RunRow;

/// Long merges at once: anybody with a public link can ask for one, and runs under way need the processors.
static MERGING: Semaphore = Semaphore::const_new(1);

/// The seconds asked for, as typed: those from `from` up to, but not including, `to`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    from: String,
    to: String,
}

/// Characters kept of what was typed, to be shown again.
const TYPED: usize = 40;

impl<'de> Deserialize<'de> for Asked {
    /// From a query in which each name may come any number of times; the last counts.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Asked, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?;
        let last = |wanted: &str| {
            let value = pairs.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.trim());
            value.unwrap_or_default().chars().take(TYPED).collect()
        };
        Ok(Asked { from: last("from"), to: last("to") })
    }
}

impl Asked {
    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.from.is_empty() && self.to.is_empty()
    }

    /// The seconds, of a run that ended within second `end − 1`. An empty `from` is the start, an empty `to` the end; what lies
    /// beyond the end is left out.
    ///
    /// # Errors
    /// A sentence about the field that is wrong.
    pub fn seconds(&self, end: u32) -> std::result::Result<(u32, u32), FieldError> {
        let error = |field: &str, message: String| FieldError { field: field.into(), message };
        let whole = |field: &str, text: &str, empty: u32| match text {
            "" => Ok(empty),
            _ if text.bytes().all(|b| b.is_ascii_digit()) => Ok(text.parse().unwrap_or(u32::MAX)),
            _ => Err(error(field, "must be a whole number of seconds, such as 12".into())),
        };
        let from = whole("from", &self.from, 0)?;
        let to = whole("to", &self.to, end)?;
        if from >= end {
            let last = end.saturating_sub(1);
            return Err(error("from", format!("must be at most {last}: the run has no second after that")));
        }
        if to <= from {
            return Err(error("to", "must be greater than the first second".into()));
        }
        let to = to.min(end);
        if to - from > limits::RANGE_SECONDS {
            let most = limits::RANGE_SECONDS;
            return Err(error(
                "to",
                format!("must be at most {} here: a part has at most {most} seconds", from + most),
            ));
        }
        Ok((from, to))
    }
}

/// The part of the page that shows what was asked for. `end` and `run_s` are the number of the run's seconds and its exact length.
///
/// # Errors
/// If the database fails.
pub async fn part(state: &AppState, run: &RunRow, asked: &Asked, run_s: f64) -> Result<Part> {
    let mut part = Part { from: asked.from.clone(), to: asked.to.clone(), ..Part::default() };
    if asked.is_empty() {
        return Ok(part);
    }
    match asked.seconds(end_of(state, run.id, run_s).await?) {
        Ok((from, to)) => part.figures = Some(figures(state, run.id, from, to, run_s).await?),
        Err(error) => part.errors.push(error),
    }
    Ok(part)
}

/// The second before which a run ended, or has come so far. An interrupted run has a last second of no length.
///
/// # Errors
/// If the database fails.
pub async fn end_of(state: &AppState, run: RunId, run_s: f64) -> Result<u32> {
    let stored = state.db.last_second(run).await?.map_or(0, |t| t + 1);
    Ok(stored.max(run_s.ceil() as u32))
}

/// The figures of the seconds [`from`, `to`) of a run that lasted, or has lasted so far, `run_s` seconds.
///
/// # Errors
/// If the database fails.
pub async fn figures(state: &AppState, run: RunId, from: u32, to: u32, run_s: f64) -> Result<RangeDoc> {
    let (totals, seconds) = merged(state, run, from, to).await?;
    Ok(RangeDoc::of(&totals, from, to, seconds, run_s))
}

/// The sum of the stored windows of [`from`, `to`), and how many seconds were there. Some minutes are in memory at a time, and
/// the adding up happens where it holds nothing else up.
///
/// # Errors
/// If the database fails.
pub async fn merged(state: &AppState, run: RunId, from: u32, to: u32) -> Result<(Window, u32)> {
    // Never closed, so there is always a permit to come.
    let _permit = MERGING.acquire().await.map_err(anyhow::Error::from)?;
    let (mut totals, mut seconds) = (Window::default(), std::collections::BTreeSet::new());
    let mut rest = (from, to);
    while let Some((_, blobs)) = state.db.next_windows(run, &mut rest).await? {
        let merging = tokio::task::spawn_blocking(move || {
            let mut damaged = 0;
            for blob in &blobs {
                match Window::decode(blob) {
                    Ok(window) => {
                        seconds.insert(window.t);
                        totals.merge(&window, Merge::OtherSecond);
                    }
                    Err(_) => damaged += 1,
                }
            }
            (totals, seconds, damaged)
        });
        let damaged: u32;
        (totals, seconds, damaged) = merging.await.map_err(anyhow::Error::from)?;
        if damaged > 0 {
            tracing::error!(%run, damaged, "stored seconds could not be read");
        }
    }
    Ok((totals, u32::try_from(seconds.len()).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(from: &str, to: &str) -> Asked {
        Asked { from: from.into(), to: to.into() }
    }

    #[test]
    fn seconds_are_half_open_and_cut_at_the_end() {
        let of = |from, to| asked(from, to).seconds(61);
        assert_eq!(
            [of("12", "40"), of("", "7"), of("5", ""), of("60", "99999999999999999999")],
            [Ok((12, 40)), Ok((0, 7)), Ok((5, 61)), Ok((60, 61))]
        );
        for (from, to, field) in [
            ("61", "", "from"),
            ("99999999999999999999", "", "from"),
            ("40", "12", "to"),
            ("12", "12", "to"),
            ("-1", "5", "from"),
            ("1.5", "", "from"),
            ("1", "ten", "to"),
            ("0", "0", "to"),
        ] {
            assert_eq!(of(from, to).unwrap_err().field, field, "{from} {to}");
        }
        let long = limits::RANGE_SECONDS + 1;
        assert_eq!(asked("", &long.to_string()).seconds(86_400).unwrap_err().field, "to");
        assert_eq!(asked("", "").seconds(0).unwrap_err().field, "from", "a run without a second");
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let read = |query: &str| -> Asked {
            let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            serde_json::from_value(serde_json::json!(pairs)).unwrap()
        };
        assert_eq!(read("from=1&x=2&from=%203&to=9"), asked("3", "9"));
        assert!(read("a=b").is_empty());
    }
}

//! What is kept of a run that is over so that its report need not read all its seconds: its times as histograms, and of a long
//! run the seconds that its charts draw.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use oleada_app::chart::overview::{Overview, WHOLE};
use oleada_engine::distribution::{Distribution, Totals};
use oleada_engine::result::Point;

use super::range;
use crate::error::Result;
use crate::state::AppState;
use crate::store::runs::{Kept, RunRow};

/// Runs from before totals were kept are added up for their page if they are no longer than this.
const ADDED_UP_S: u32 = 3600;
/// Bytes that a stored overview may unpack to; one of a day has about a megabyte.
const MOST: u64 = 16 << 20;

/// What is to be kept of a run with these totals and seconds.
pub fn kept(totals: &Totals, points: &[Point]) -> Kept {
    // The seconds of a short run are as quickly read themselves.
    let overview = (points.len() > WHOLE).then(|| pack(&Overview::of(points))).flatten();
    Kept { totals: Some(totals.encode()), overview }
}

fn pack(overview: &Overview) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(overview).ok()?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&json).ok()?;
    packed.finish().ok()
}

/// `None` for what this version cannot read: then it is made anew of the stored seconds.
fn unpack(packed: &[u8]) -> Option<Overview> {
    let mut json = Vec::new();
    ZlibDecoder::new(packed).take(MOST).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

/// The charts' seconds and the spread of the times of a run that is over.
///
/// # Errors
/// If the database fails.
pub async fn load(state: &AppState, run: &RunRow) -> Result<(Overview, Option<Distribution>)> {
    let kept = state.db.kept_for_report(run.id).await?;
    let overview = overview_of(state, run, &kept).await?;
    let totals = match kept.totals.as_deref().and_then(|bytes| Totals::decode(bytes).ok()) {
        Some(totals) => Some(totals),
        None if overview.facts.end <= ADDED_UP_S => {
            Some(Totals::of(&range::merged(state, run.id, 0, overview.facts.end).await?.0))
        }
        None => None,
    };
    Ok((overview, totals.as_ref().map(Distribution::of)))
}

/// The charts' seconds of a run that is over.
///
/// # Errors
/// If the database fails.
pub async fn overview(state: &AppState, run: &RunRow) -> Result<Overview> {
    overview_of(state, run, &state.db.kept_for_report(run.id).await?).await
}

async fn overview_of(state: &AppState, run: &RunRow, kept: &Kept) -> Result<Overview> {
    if let Some(overview) = kept.overview.as_deref().and_then(unpack) {
        return Ok(overview);
    }
    let points = state.db.points(run.id, -1).await?;
    Ok(tokio::task::spawn_blocking(move || Overview::of(&points)).await.map_err(anyhow::Error::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overview_comes_back_and_damage_is_none() {
        let points: Vec<Point> =
            (0..3000).map(|t| Point { t, p99: Some(f64::from(t) / 7.0), ..Point::default() }).collect();
        let kept = kept(&Totals::default(), &points);
        let packed = kept.overview.unwrap();
        assert_eq!(unpack(&packed), Some(Overview::of(&points)));
        assert!(packed.len() < 100_000, "{} bytes", packed.len());
        assert_eq!(unpack(&packed[..packed.len() / 2]), None);
        assert!(super::kept(&Totals::default(), &points[..60]).overview.is_none());
    }
}

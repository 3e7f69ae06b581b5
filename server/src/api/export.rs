//! Reports as downloads, for the owner and by a public link.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;

use crate::auth::CurrentUser;
use crate::error::{Error, Result};
use crate::pages::runs::own_run;
use crate::runs::export::{self, Source, csv, junit, times};
use crate::runs::mask::Mask;
use crate::runs::picture::{self, Kind};
use crate::runs::share;
use crate::state::AppState;

const CSV: &str = "text/csv; charset=utf-8; header=present";
const PNG: &str = "image/png";
const SVG: &str = "image/svg+xml";
/// Pixels a unit of a drawing: sharp on screens of twice the density.
const SCALE: f32 = 2.0;

/// `GET /runs/{id}/export/{file}`.
///
/// # Errors
/// [`Error::NotFound`] for a run of somebody else, one that has measured nothing, or an unknown file; [`Error::Conflict`]
/// while it is under way.
pub async fn own(
    State(state): State<AppState>,
    user: CurrentUser,
    Path((id, file)): Path<(String, String)>,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    download(&state, Source::of(&state, &run, &Mask::nothing()).await?, &file).await
}

/// `GET /r/{token}/export/{file}`.
///
/// # Errors
/// As [`share::open`] and [`own`].
pub async fn shared(State(state): State<AppState>, Path((token, file)): Path<(String, String)>) -> Result<Response> {
    let shared = share::open(&state, &token).await?;
    download(&state, Source::of(&state, &shared.run, &shared.mask).await?, &file).await
}

async fn download(state: &AppState, source: Source, file: &str) -> Result<Response> {
    let (kind, body) = match file {
        "result.json" => ("application/json", json(&source)?.into()),
        "seconds.csv" => (CSV, csv::seconds(&source)?.into()),
        "errors.csv" => (CSV, csv::errors(&source)?.into()),
        "percentiles.csv" => (CSV, times::percentiles(state, &source).await?.into()),
        "requests.tsv" => ("text/tab-separated-values; charset=utf-8", times::requests(state, &source).await?.into()),
        "latency.hlog" => ("text/plain; charset=utf-8", log(state, &source)),
        "junit.xml" => ("application/xml", junit::document(&source).into()),
        "response-times.svg" => (SVG, picture::chart_file(Kind::Times, &source).into()),
        "throughput.svg" => (SVG, picture::chart_file(Kind::Rates, &source).into()),
        "response-times.png" => {
            (PNG, state.pictures.png(picture::chart_file(Kind::Times, &source), SCALE).await?.into())
        }
        "throughput.png" => (PNG, state.pictures.png(picture::chart_file(Kind::Rates, &source), SCALE).await?.into()),
        _ => return Err(Error::NotFound),
    };
    let name = format!("attachment; filename=\"{}\"", source.file_name(file));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, &*name),
        (header::CACHE_CONTROL, "private, no-store"),
    ];
    Ok((headers, body).into_response())
}

fn json(source: &Source) -> Result<Vec<u8>> {
    let mut document = source.result.clone();
    document.seconds = Some(source.points.clone());
    Ok(serde_json::to_vec(&document).map_err(anyhow::Error::from)?)
}

/// Piece by piece: the log of a day is large.
fn log(state: &AppState, source: &Source) -> Body {
    let begin = (state.clone(), source.clone(), 0);
    Body::from_stream(stream::try_unfold(begin, |(state, source, from)| async move {
        if from > 0 && from >= source.end() {
            return Ok::<_, Error>(None);
        }
        let piece = times::log_piece(&state, &source, from).await.inspect_err(|error| {
            tracing::error!(run = %source.id, %error, "a log was cut short");
        })?;
        Ok(Some((piece, (state, source, from + export::STEP))))
    }))
}

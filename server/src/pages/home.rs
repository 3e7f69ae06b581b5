//! The front page, and two small files that browsers and robots ask for by themselves.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use oleada_app::pages::home::{HomePage, render};

use crate::accounts::is_sign_up_open;
use crate::assets::Assets;
use crate::error::Result;
use crate::render::Frame;
use crate::state::AppState;

/// `GET /`
pub async fn show(State(state): State<AppState>, frame: Frame) -> Result<Response> {
    let page = HomePage { first_account: !state.db.is_set_up().await?, sign_up_open: is_sign_up_open(&state) };
    frame.show(|chrome| render(chrome, &page)).await
}

/// `GET /favicon.ico`: browsers ask for it when a document that is no page is shown.
pub async fn favicon() -> Response {
    Assets::manifest()
        .path("favicon.svg")
        .map_or_else(|| StatusCode::NO_CONTENT.into_response(), |path| Redirect::temporary(&path).into_response())
}

/// `GET /robots.txt`: the front page may be indexed, nothing else. Shared reports may be fetched, for previews of links, and say
/// themselves that they are not to be indexed.
pub async fn robots() -> Response {
    (
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        "User-agent: *\nAllow: /$\nAllow: /assets/\nAllow: /r/\nDisallow: /\n",
    )
        .into_response()
}

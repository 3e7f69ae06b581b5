//! Every route, in one list, and the layers around them. Nothing else names a path to be answered.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRef, FromRequestParts, Path};
use axum::http::request::Parts;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;

use crate::auth::{origin, session};
use crate::config::Proxy;
use crate::error::Error;
use crate::state::AppState;
use crate::{api, assets, layers, pages};

/// The whole application.
pub fn router(state: AppState) -> Router {
    // Outermost first.
    let around = ServiceBuilder::new()
        // Everything that leaves has the headers, whatever answered.
        .layer(from_fn(layers::dress))
        // Not server-sent events, pictures, tiny answers and what is compressed already.
        .layer(CompressionLayer::new())
        // Before whatever asks who is signed in.
        .layer(session::layer(&state.db, &state.config))
        // Around all that can fail; inside the session, because an error page names the reader too.
        .layer(from_fn_with_state(state.clone(), layers::errors_in_words))
        .layer(CatchPanicLayer::custom(layers::panicked))
        // Before anything reads the body.
        .layer(from_fn_with_state(state.clone(), origin::guard));
    // The same limit twice: axum's extractors know theirs, raw bodies only the layer's.
    let limited = |routes: Router<AppState>, bytes: usize| {
        routes.layer(DefaultBodyLimit::max(bytes)).layer(RequestBodyLimitLayer::new(bytes))
    };
    limited(routes().fallback(not_found), layers::BODY_BYTES)
        .merge(limited(test_forms(), layers::TEST_BODY_BYTES))
        .layer(around)
        .with_state(state)
}

/// Forms that bring data and files along.
fn test_forms() -> Router<AppState> {
    Router::new()
        .route("/tests", get(pages::plans::list).post(pages::plans::create))
        .route("/tests/{id}/edit", get(pages::plans::edit).post(pages::plans::update))
        .route("/tests/import", get(pages::transfer::ask).post(pages::transfer::import))
}

fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(pages::home::show))
        .route("/sign-up", get(pages::sign_in::sign_up_form).post(pages::sign_in::sign_up))
        .route("/sign-in", get(pages::sign_in::sign_in_form).post(pages::sign_in::sign_in))
        .route("/sign-out", post(pages::sign_in::sign_out))
        .route("/dashboard", get(pages::dashboard::show))
        .route("/hosts", get(pages::hosts::list).post(pages::hosts::add))
        .route("/hosts/{id}", get(pages::hosts::show))
        .route("/hosts/{id}/verify", post(pages::hosts::verify))
        .route("/hosts/{id}/delete", post(pages::hosts::delete))
        .route("/hosts/{id}/token.txt", get(pages::hosts::token_file))
        .route("/tests/new", get(pages::plans::new))
        .route("/tests/{id}", get(pages::plans::show))
        .route("/tests/{id}/try", post(pages::trial::show))
        .route("/tests/{id}/export", get(pages::transfer::show))
        .route("/tests/{id}/export.json", get(pages::transfer::download))
        .route("/tests/{id}/run", post(pages::plans::run))
        .route("/tests/{id}/copy", post(pages::plans::copy))
        .route("/tests/{id}/archive", post(pages::plans::archive))
        .route("/tests/{id}/unarchive", post(pages::plans::unarchive))
        .route("/tests/{id}/trend", get(pages::trend::show))
        .route("/tests/{id}/history", get(pages::plans::history))
        .route("/tests/{id}/history/{version}/restore", post(pages::plans::restore))
        .route("/tests/{id}/delete", get(pages::plans::ask_delete).post(pages::plans::delete))
        .route("/tests/{id}/series", get(pages::series::ask).post(pages::series::begin))
        .route("/tests/{id}/capacity", get(pages::series::ask_capacity).post(pages::series::begin_capacity))
        .route("/series/{id}", get(pages::series::show))
        .route("/series/{id}/stop", post(pages::series::stop))
        .route("/series/{id}/delete", post(pages::series::delete))
        .route("/series/{id}/table.csv", get(pages::series::table))
        .route("/runs", get(pages::history::list))
        .route("/runs/{id}", get(pages::runs::show))
        .route("/runs/{id}/stop", post(pages::runs::stop))
        .route("/runs/{id}/share", post(pages::runs::share))
        .route("/runs/{id}/unshare", post(pages::runs::unshare))
        .route("/runs/{id}/baseline", post(pages::runs::baseline))
        .route("/runs/{id}/unbaseline", post(pages::runs::unbaseline))
        .route("/runs/{id}/delete", get(pages::runs::ask_delete).post(pages::runs::delete))
        .route("/runs/{id}/events", get(api::live::own))
        .route("/runs/{id}/result.json", get(api::results::own))
        .route("/runs/{id}/window.json", get(api::range::own))
        .route("/runs/{id}/notes", post(pages::runs::note))
        .route("/runs/{id}/export/{file}", get(api::export::own))
        .route("/api/v1/runs/{id}", get(api::results::own))
        .route("/compare", get(pages::compare::show))
        .route("/r/{token}", get(pages::runs::show_shared))
        .route("/r/{token}/events", get(api::live::shared))
        .route("/r/{token}/result.json", get(api::results::shared))
        .route("/r/{token}/window.json", get(api::range::shared))
        .route("/r/{token}/embed", get(pages::runs::embed))
        .route("/r/{token}/picture.png", get(pages::runs::picture))
        .route("/r/{token}/export/{file}", get(api::export::shared))
        .route("/assets/{*path}", get(assets::serve))
        .route("/favicon.ico", get(pages::home::favicon))
        .route("/robots.txt", get(pages::home::robots))
}

async fn not_found() -> Error {
    Error::NotFound
}

/// An extractor: the one parameter of the path as an id. What is no id is answered like an unknown one: 404.
#[derive(Clone, Copy, Debug)]
pub struct Id<T>(pub T);

impl<S, T> FromRequestParts<S> for Id<T>
where
    S: Send + Sync,
    T: FromStr,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id<T>, Error> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| Error::NotFound)?;
        text.parse().map(Id).map_err(|_| Error::NotFound)
    }
}

/// An extractor: the client's address, through the proxy if it is trusted.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub IpAddr);

impl<S> FromRequestParts<S> for ClientAddress
where
    AppState: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ClientAddress, Infallible> {
        let peer =
            parts.extensions.get::<ConnectInfo<SocketAddr>>().map_or(IpAddr::from([0, 0, 0, 0]), |info| info.0.ip());
        let told = (AppState::from_ref(state).config.trust_proxy == Proxy::Yes).then(|| forwarded_for(parts)).flatten();
        Ok(ClientAddress(told.unwrap_or(peer)))
    }
}

/// The last address: the one the proxy itself saw. Those before it are whatever the client wrote.
fn forwarded_for(parts: &Parts) -> Option<IpAddr> {
    let value = parts.headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    value.rsplit(',').next()?.trim().parse().ok()
}

//! From a page's data to a response: who looks, the flash message, the nonce, the assets.

use std::convert::Infallible;
use std::sync::LazyLock;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Response};
use oleada_app::{AssetPaths, Chrome, Flash, FlashKind, Viewer};
use tower_sessions::Session;

use crate::assets::Assets;
use crate::auth;
use crate::error::Result;
use crate::layers::RequestContext;
use crate::state::AppState;

const FLASH: &str = "flash";

/// An extractor: what surrounds the page that a handler shows. Works for everybody, signed in or not.
pub struct Frame {
    state: AppState,
    session: Option<Session>,
    context: RequestContext,
    path: String,
}

impl Frame {
    /// Answers 200 with a page: `frame.show(|chrome| pages::home::render(chrome, &page)).await`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn show(self, page: impl FnOnce(&Chrome) -> String) -> Result<Response> {
        self.show_as(StatusCode::OK, page).await
    }

    /// Answers 422 with the form again.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn show_again(self, page: impl FnOnce(&Chrome) -> String) -> Result<Response> {
        self.show_as(StatusCode::UNPROCESSABLE_ENTITY, page).await
    }

    /// Answers `status` with a page.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn show_as(self, status: StatusCode, page: impl FnOnce(&Chrome) -> String) -> Result<Response> {
        let user = auth::user_of(&self.state, self.session.as_ref(), &self.context).await?;
        let flash = match &self.session {
            // Asking first keeps pages of people without a session from writing one.
            Some(session) if session.get_value(FLASH).await?.is_some() => {
                session.remove::<Flash>(FLASH).await.unwrap_or(None)
            }
            _ => None,
        };
        let chrome = Chrome {
            viewer: user.map(|user| Viewer { email: user.email.clone(), is_operator: user.is_operator }),
            flash,
            ..self.bare_chrome()
        };
        Ok((status, Html(page(&chrome))).into_response())
    }

    /// Without anything that needs the database: for the page that says that the database failed.
    pub fn bare_chrome(&self) -> Chrome {
        Chrome {
            viewer: None,
            flash: None,
            nonce: self.context.nonce().to_owned(),
            assets: asset_paths().clone(),
            path: self.path.clone(),
            mode_note: self
                .state
                .is_local()
                .then(|| "Local mode: only this machine reaches Oleada, and loopback targets are trusted.".to_owned()),
        }
    }

    /// What to quote when asking for help.
    pub fn request_id(&self) -> String {
        self.context.id()
    }
}

impl<S> FromRequestParts<S> for Frame
where
    AppState: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Frame, Infallible> {
        Ok(Frame {
            state: AppState::from_ref(state),
            session: parts.extensions.get::<Session>().cloned(),
            context: parts.extensions.get::<RequestContext>().cloned().unwrap_or_default(),
            path: parts.uri.path().to_owned(),
        })
    }
}

/// Where the browser finds the bundle; without a bundle pages name no script and no style.
fn asset_paths() -> &'static AssetPaths {
    static PATHS: LazyLock<AssetPaths> = LazyLock::new(|| {
        let manifest = Assets::manifest();
        AssetPaths {
            css: manifest.path("main.css").unwrap_or_default(),
            print_css: manifest.path("print.css"),
            js: manifest.path("app.js"),
            wasm: manifest.path("app.wasm"),
            favicon: manifest.path("favicon.svg").unwrap_or_default(),
        }
    });
    &PATHS
}

/// Leaves a message for the next page that this person sees.
///
/// # Errors
/// If the session cannot be loaded.
pub async fn flash(session: &Session, kind: FlashKind, text: impl Into<String>) -> Result<()> {
    session.insert(FLASH, Flash { kind, text: text.into() }).await?;
    Ok(())
}

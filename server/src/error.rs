//! What can go wrong while answering, one variant a meaning. Handlers return it; a layer turns it into a page or, under
//! `/api`, into problem+json, because only there the request is known.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use crate::store;

/// Result of a handler.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request is not answered as asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such thing, or it is somebody else's: nobody learns which.
    #[error("not found")]
    NotFound,
    /// Understood, but not allowed; the sentence says why.
    #[error("{0}")]
    Forbidden(String),
    /// One has to be signed in.
    #[error("not signed in")]
    SignIn,
    /// Not possible in the present state; the sentence says why.
    #[error("{0}")]
    Conflict(String),
    /// It was here and will not come back; the sentence says why.
    #[error("{0}")]
    Gone(String),
    /// Cannot be answered just now; the sentence says why.
    #[error("{0}")]
    Unavailable(String),
    /// Too often.
    #[error("too many attempts")]
    TooMany {
        /// When to try again.
        retry_after: Duration,
    },
    /// The request makes no sense; the sentence says why.
    #[error("{0}")]
    BadRequest(String),
    /// A fault of ours. Logged where it becomes an answer; the reader learns a number to quote, no more.
    #[error("{0:#}")]
    Internal(anyhow::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        Error::Internal(error.into())
    }
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Error {
        Error::Internal(error)
    }
}

impl From<tower_sessions::session::Error> for Error {
    fn from(error: tower_sessions::session::Error) -> Error {
        Error::Internal(anyhow::Error::new(error).context("the session store failed"))
    }
}

/// What [`crate::layers`] finds on a response that has to become an error page.
#[derive(Clone, Debug)]
pub struct Fault {
    /// A sentence about it, if there is anything to say.
    pub detail: Option<String>,
    /// The answer is to sign in first.
    pub sign_in: bool,
}

impl Error {
    /// The HTTP status that says it.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::NotFound => StatusCode::NOT_FOUND,
            Error::Forbidden(_) => StatusCode::FORBIDDEN,
            Error::SignIn => StatusCode::UNAUTHORIZED,
            Error::Conflict(_) => StatusCode::CONFLICT,
            Error::Gone(_) => StatusCode::GONE,
            Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Error::BadRequest(_) => StatusCode::BAD_REQUEST,
            Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn detail(&self) -> Option<String> {
        match self {
            Error::NotFound | Error::SignIn | Error::Internal(_) => None,
            Error::Forbidden(text)
            | Error::Conflict(text)
            | Error::BadRequest(text)
            | Error::Gone(text)
            | Error::Unavailable(text) => Some(text.clone()),
            Error::TooMany { retry_after } => {
                Some(format!("Too many attempts. Try again in {}.", in_words(*retry_after)))
            }
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        if let Error::Internal(error) = &self {
            tracing::error!(error = format!("{error:#}"), "a request failed");
        }
        let fault = Fault { detail: self.detail(), sign_in: matches!(self, Error::SignIn) };
        let mut response = self.status().into_response();
        if let Error::TooMany { retry_after } = self {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after.as_secs().max(1)));
        }
        response.extensions_mut().insert(fault);
        response
    }
}

/// The answer to a form that was accepted: 303, so that a reload does not send it again.
pub fn see_other(path: &str) -> Response {
    Redirect::to(path).into_response()
}

fn in_words(duration: Duration) -> String {
    match duration.as_secs().max(1) {
        1 => "a second".into(),
        seconds @ 2..=90 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}

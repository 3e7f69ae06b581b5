//! Who is asking. Handlers take [`CurrentUser`] or [`MaybeUser`]; whose a thing is, the domain functions check.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use tower_sessions::Session;

use crate::error::{Error, Result};
use crate::layers::RequestContext;
use crate::state::AppState;
use crate::store::UserId;
use crate::store::users::UserRow;

pub mod origin;
pub mod password;
pub mod rate_limit;
pub mod session;
pub mod setup;

const USER: &str = "user";
const SEEN: &str = "seen";
/// How long a session lives without a visit.
pub const INACTIVITY: Duration = Duration::from_secs(30 * 24 * 3600);
/// How stale the end of a session may get before a visit moves it: one write a day instead of one a request.
const RENEWAL: Duration = Duration::from_secs(24 * 3600);

/// Somebody who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Account id.
    pub id: UserId,
    /// E-mail address in lower case.
    pub email: String,
    /// What to call the person.
    pub name: String,
    /// May administer this installation.
    pub is_operator: bool,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> User {
        User { id: row.id, email: row.email, name: row.name, is_operator: row.is_operator }
    }
}

/// An extractor: somebody has to be signed in, else the reader is sent to the sign-in page and back.
#[derive(Clone, Debug)]
pub struct CurrentUser(pub Arc<User>);

impl std::ops::Deref for CurrentUser {
    type Target = User;

    fn deref(&self) -> &User {
        &self.0
    }
}

/// An extractor: who is signed in, if anybody.
#[derive(Clone, Debug)]
pub struct MaybeUser(pub Option<Arc<User>>);

impl<S> FromRequestParts<S> for MaybeUser
where
    AppState: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<MaybeUser> {
        let state = AppState::from_ref(state);
        let context = parts.extensions.get::<RequestContext>().cloned().unwrap_or_default();
        Ok(MaybeUser(user_of(&state, parts.extensions.get::<Session>(), &context).await?))
    }
}

impl<S> FromRequestParts<S> for CurrentUser
where
    AppState: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<CurrentUser> {
        let MaybeUser(user) = MaybeUser::from_request_parts(parts, state).await?;
        user.map(CurrentUser).ok_or(Error::SignIn)
    }
}

/// Who a session belongs to; looked up once a request.
pub(crate) async fn user_of(
    state: &AppState,
    session: Option<&Session>,
    context: &RequestContext,
) -> Result<Option<Arc<User>>> {
    let Some(session) = session else { return Ok(None) };
    let load = async {
        let Some(id) = session.get::<UserId>(USER).await? else { return Ok::<_, Error>(None) };
        let Some(row) = state.db.user(id).await? else { return Ok(None) };
        keep_alive(session).await?;
        Ok(Some(Arc::new(User::from(row))))
    };
    context.user_cell().get_or_try_init(|| load).await.cloned()
}

/// Moves a session's end when it has come a day closer.
async fn keep_alive(session: &Session) -> Result<()> {
    let now = crate::store::Timestamp::now();
    let seen = session.get::<i64>(SEEN).await?.unwrap_or(0);
    if now.0 - seen > i64::try_from(RENEWAL.as_millis()).unwrap_or(i64::MAX) {
        // A changed session is saved with a new end.
        session.insert(SEEN, now.0).await?;
    }
    Ok(())
}

/// Makes this visit that of `user`, under a new session id: one that somebody planted before is worth nothing.
///
/// # Errors
/// If the session cannot be stored.
pub async fn sign_in(session: &Session, user: UserId) -> Result<()> {
    session.clear().await;
    session.cycle_id().await?;
    session.insert(USER, user).await?;
    session.insert(SEEN, crate::store::Timestamp::now().0).await?;
    Ok(())
}

/// Ends this visit's session.
///
/// # Errors
/// If the session cannot be removed.
pub async fn sign_out(session: &Session) -> Result<()> {
    session.flush().await?;
    Ok(())
}

/// A path on this server to go to after signing in, if `next` is one: never another site's, never a script's.
pub fn safe_next(next: &str) -> Option<&str> {
    let ok = next.starts_with('/')
        && !next.starts_with("//")
        && next.len() <= 2000
        && next.bytes().all(|b| (0x21..0x7f).contains(&b) && b != b'\\')
        && !["/sign-in", "/sign-up", "/sign-out"].iter().any(|path| next.split(['?', '#']).next() == Some(path));
    ok.then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_followed() {
        for good in ["/", "/hosts", "/compare?runs=a&runs=b", "/runs/1#chart"] {
            assert_eq!(safe_next(good), Some(good));
        }
        for bad in [
            "",
            "hosts",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/a\r\nb",
            "/ö",
            "/sign-out",
            "/sign-in?next=/x",
        ] {
            assert_eq!(safe_next(bad), None, "{bad:?}");
        }
    }
}

//! Public links: made, changed, revoked, and opened by whoever has one.

use super::mask::Mask;
use crate::error::{Error, Result};
use crate::state::AppState;
use crate::store::Timestamp;
use crate::store::runs::RunRow;
use crate::store::shares::{ShareOptions, ShareRow};

/// Bytes of randomness in a link's token.
const TOKEN_BYTES: usize = 16;

/// A run as somebody reads it by its public link.
#[derive(Debug)]
pub struct Shared {
    /// The link.
    pub share: ShareRow,
    /// The run.
    pub run: RunRow,
    /// What of it is not shown.
    pub mask: Mask,
}

/// Opens a public link.
///
/// # Errors
/// [`Error::NotFound`] for an unknown token; [`Error::Gone`] for a link that was revoked or has expired, or whose run is deleted.
pub async fn open(state: &AppState, token: &str) -> Result<Shared> {
    let share = valid(state, token).await?;
    let run = match share.run_id {
        Some(id) => state.db.run(id).await?,
        None => None,
    };
    let run = run.ok_or_else(deleted)?;
    let mask = Mask::of(state, &run, &share).await?;
    Ok(Shared { share, run, mask })
}

/// The link, if it shows anything.
///
/// # Errors
/// As [`open`].
pub async fn valid(state: &AppState, token: &str) -> Result<ShareRow> {
    if token.len() != 2 * TOKEN_BYTES || !token.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Error::NotFound);
    }
    let share = state.db.share_by_token(token).await?.ok_or(Error::NotFound)?;
    if share.run_id.is_none() {
        return Err(deleted());
    }
    if share.revoked_at.is_some() {
        return Err(Error::Gone("This link was revoked by the person who shared it.".into()));
    }
    if share.has_expired(Timestamp::now()) {
        return Err(Error::Gone("This link was made for a limited time, which is over.".into()));
    }
    Ok(share)
}

fn deleted() -> Error {
    Error::Gone("The run that this link showed was deleted.".into())
}

/// Makes a public link, or changes what the one that is there shows and how long.
///
/// # Errors
/// [`Error::NotFound`] if the run is gone.
pub async fn set(state: &AppState, run: &RunRow, options: ShareOptions) -> Result<()> {
    let done = state.db.change_share(run.owner_id, run.id, options).await?
        || state.db.add_share(run.owner_id, run.id, &random_token(), options).await?
        // Somebody pressed the button twice: the other one made the link.
        || state.db.change_share(run.owner_id, run.id, options).await?;
    if !done {
        return Err(Error::NotFound);
    }
    tell_viewers(state, run);
    Ok(())
}

/// Revokes the public link; whoever is reading by it is cut off.
///
/// # Errors
/// If the database fails.
pub async fn revoke(state: &AppState, run: &RunRow) -> Result<()> {
    state.db.revoke_share(run.owner_id, run.id, Timestamp::now()).await?;
    tell_viewers(state, run);
    Ok(())
}

/// Has every open page that came by a link look at it again.
pub(super) fn tell_viewers(state: &AppState, run: &RunRow) {
    if let Some(live) = state.runs.hub.get(run.id) {
        live.links_changed();
    }
}

fn random_token() -> String {
    let bytes: [u8; TOKEN_BYTES] = rand::random();
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

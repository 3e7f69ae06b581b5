//! Hosts: registered, proved, looked at again before each run, removed. Ownership is per account, host and port, whatever the scheme.

use oleada_app::view::{FieldError, HostRow as HostLine, HostState, ProofMethod};
use oleada_engine::plan::{Host, HostPort, Scheme, Target, limits};

use crate::accounts::{Refusal, field_error};
use crate::config::{Config, Mode, is_local_name};
use crate::error::{Error, Result};
use crate::runs;
use crate::state::AppState;
use crate::store::hosts::{HostRow, Method, NewHost, Ownership, ProofRow, SchemeHint};
use crate::store::{HostId, UserId};

pub mod check;
pub mod lookalike;
pub mod proof;

/// Hosts of one account.
pub const MOST: usize = 200;

/// Whether an account may test a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Yes: proved, or trusted by this installation.
    Usable,
    /// Registered, but not proved (any more).
    Unproved(HostId),
    /// Not registered.
    Unknown,
}

/// Reads what somebody typed as a host: `shop.example`, `shop.example:8080`, `[::1]:9900` or a whole URL. A bare name means the
/// web's usual port today, 443; addresses and names of this machine mean 80.
///
/// # Errors
/// A message for the field `address`.
pub fn parse_address(text: &str) -> Result<(HostPort, SchemeHint), FieldError> {
    let text = text.trim();
    let wrong = |message: String| field_error("address", message);
    if text.is_empty() {
        return Err(wrong("is needed; write one like shop.example".into()));
    }
    if text.chars().count() > limits::URL_BYTES {
        return Err(wrong("is too long".into()));
    }
    let has_scheme = text.contains("://");
    let whole = if has_scheme { text.to_owned() } else { format!("http://{text}") };
    let target = Target::parse(&whole).map_err(|error| wrong(error.to_string()))?;
    let Target { scheme, mut at, .. } = target;
    let mut hint = if scheme == Scheme::Https || at.port == 443 { SchemeHint::Https } else { SchemeHint::Http };
    let names_port =
        whole["http://".len()..].split(['/', '?', '#']).next().is_some_and(|authority| authority.ends_with(":80"));
    if !has_scheme && at.port == 80 && !names_port && matches!(&at.host, Host::Name(name) if !is_local_name(name)) {
        (at.port, hint) = (443, SchemeHint::Https);
    }
    if let Host::Name(name) = &mut at.host {
        // `shop.example.` is the same host.
        *name = name.trim_end_matches('.').to_owned();
        if name.is_empty() || name.len() > 253 {
            return Err(wrong("is not a valid host name".into()));
        }
    }
    Ok((at, hint))
}

/// Where a stored host is.
pub fn at(row: &HostRow) -> Option<HostPort> {
    target(row).map(|target| target.at)
}

/// The front page of a stored host.
pub fn target(row: &HostRow) -> Option<Target> {
    Target::parse(&format!("http://{}:{}/", row.host, row.port)).ok()
}

/// Whether this installation takes a host for owned without a proof: loopback, on a local installation.
pub fn is_trusted(config: &Config, at: &HostPort) -> bool {
    config.mode == Mode::Local && !config.require_proof && is_local_name(&at.host.to_string())
}

/// Registers a host.
///
/// # Errors
/// A fault of the field `address`.
pub async fn add(state: &AppState, user: UserId, address: &str) -> Result<HostId, Refusal> {
    let fault = |message: String| Refusal::Fields(vec![field_error("address", message)]);
    let (at, scheme) = parse_address(address).map_err(|error| Refusal::Fields(vec![error]))?;
    if let Host::Ip(ip) = at.host {
        state.config.address_policy().check(ip).map_err(|refused| fault(refused.reason))?;
    }
    if state.db.hosts(user).await?.len() >= MOST {
        return Err(fault(format!("You have {MOST} hosts, the most an account may have. Remove one first.")));
    }
    let (host, token) = (at.host.to_string(), proof::new_token());
    let new = NewHost { user, host: &host, port: at.port, scheme, token: &token };
    match state.db.add_host(&new).await {
        Ok(id) => Ok(id),
        Err(error) if error.is_unique_violation() => Err(fault(format!("is among your hosts already, as {at}"))),
        Err(error) => Err(error.into()),
    }
}

/// A host of this account.
///
/// # Errors
/// [`Error::NotFound`], also for somebody else's.
pub async fn find(state: &AppState, user: UserId, id: HostId) -> Result<HostRow> {
    state.db.host(id).await?.filter(|host| host.user_id == user).ok_or(Error::NotFound)
}

/// Removes a host.
///
/// # Errors
/// [`Error::Conflict`] while a run that names it waits or is under way.
pub async fn remove(state: &AppState, host: &HostRow) -> Result<()> {
    if let Some(at) = at(host)
        && runs::uses_host(state, host.user_id, &at).await?
    {
        return Err(Error::Conflict(format!(
            "{at} is used by a run that waits or is under way. Stop it first; then the host can be removed."
        )));
    }
    state.db.delete_host(host.id).await?;
    Ok(())
}

/// Looks for a proof and keeps what was found.
///
/// # Errors
/// If the database fails.
pub async fn verify(state: &AppState, host: &HostRow, method: Method) -> Result<ProofRow> {
    let found = state.checker.look(host, method).await?;
    state.db.add_proof(host.id, &found).await?;
    Ok(found)
}

/// What an account may do with a host and port.
///
/// # Errors
/// If the database fails.
pub async fn standing(state: &AppState, user: UserId, at: &HostPort) -> Result<Standing> {
    if is_trusted(&state.config, at) {
        return Ok(Standing::Usable);
    }
    Ok(match state.db.host_at(user, &at.host.to_string(), at.port).await? {
        Some(row) if row.state == Ownership::Verified => Standing::Usable,
        Some(row) => Standing::Unproved(row.id),
        None => Standing::Unknown,
    })
}

/// The registered hosts that an account may test.
///
/// # Errors
/// If the database fails.
pub async fn usable(state: &AppState, user: UserId) -> Result<Vec<HostPort>> {
    let rows = state.db.hosts(user).await?;
    let may = |row: &HostRow, at: &HostPort| row.state == Ownership::Verified || is_trusted(&state.config, at);
    Ok(rows.iter().filter_map(|row| at(row).filter(|at| may(row, at))).collect())
}

/// Looks again, before a run: every host must still be proved, by the method that proved it.
///
/// # Errors
/// The outer one if the database fails; the inner one is the sentence for the run's page.
pub async fn confirm_all(state: &AppState, user: UserId, hosts: &[HostPort]) -> Result<Result<(), String>> {
    for at in hosts {
        if let Err(sentence) = confirm(state, user, at).await? {
            return Ok(Err(sentence));
        }
    }
    Ok(Ok(()))
}

async fn confirm(state: &AppState, user: UserId, at: &HostPort) -> Result<Result<(), String>> {
    if is_trusted(&state.config, at) {
        return Ok(Ok(()));
    }
    let Some(row) = state.db.host_at(user, &at.host.to_string(), at.port).await? else {
        return Ok(Err(format!("{at} is not among your hosts.")));
    };
    let Some(method) = row.method.filter(|_| row.state == Ownership::Verified) else {
        return Ok(Err(format!("{at} is not verified.")));
    };
    let found = verify(state, &row, method).await?;
    Ok(if found.passed { Ok(()) } else { Err(format!("{at} could not be verified again. {}", found.message)) })
}

/// A host as a line of a list.
pub fn line(config: &Config, row: &HostRow) -> HostLine {
    let trusted = at(row).is_some_and(|at| is_trusted(config, &at));
    let state = match row.state {
        _ if trusted => HostState::Trusted,
        Ownership::Unverified => HostState::Unverified,
        Ownership::Verified => HostState::Verified,
        Ownership::Lost => HostState::Lost,
    };
    HostLine {
        id: row.id.to_string(),
        address: format!("{}:{}", row.host, row.port),
        state,
        method: row.method.map(shown_method),
        verified_at: row.verified_at.map(|t| t.0),
        checked_at: row.checked_at.map(|t| t.0),
    }
}

/// A stored method in the words of the pages.
pub fn shown_method(method: Method) -> ProofMethod {
    match method {
        Method::File => ProofMethod::File,
        Method::Dns => ProofMethod::Dns,
        Method::Meta => ProofMethod::Meta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_spelling() {
        use SchemeHint::{Http, Https};
        for (text, at, hint) in [
            ("shop.example", "shop.example:443", Https),
            (" Shop.Example. ", "shop.example:443", Https),
            ("shop.example:80", "shop.example:80", Http),
            ("shop.example:8080", "shop.example:8080", Http),
            ("shop.example:443", "shop.example:443", Https),
            ("http://shop.example/a/b?c", "shop.example:80", Http),
            ("https://shop.example:8443", "shop.example:8443", Https),
            ("bücher.test", "xn--bcher-kva.test:443", Https),
            ("127.0.0.1", "127.0.0.1:80", Http),
            ("127.0.0.1:9900", "127.0.0.1:9900", Http),
            ("[::1]:9900", "[::1]:9900", Http),
            ("localhost", "localhost:80", Http),
        ] {
            let (found, found_hint) = parse_address(text).unwrap();
            assert_eq!((found.to_string().as_str(), found_hint), (at, hint), "{text}");
        }
        for bad in [
            "",
            "   ",
            "ftp://shop.example",
            "shop.example:0",
            "shop.example:99999",
            "a b",
            "http://",
            "shop\u{0}",
            ".",
        ] {
            assert_eq!(parse_address(bad).unwrap_err().field, "address", "{bad:?}");
        }
    }

    #[test]
    fn only_loopback_of_a_local_installation_is_trusted() {
        let local = Config::default();
        let at = |text: &str| parse_address(text).unwrap().0;
        for trusted in ["127.0.0.1:9900", "[::1]:80", "localhost:3000", "app.localhost"] {
            assert!(is_trusted(&local, &at(trusted)), "{trusted}");
            assert!(!is_trusted(&Config { require_proof: true, ..local.clone() }, &at(trusted)));
            assert!(!is_trusted(&Config { mode: Mode::Public, ..local.clone() }, &at(trusted)));
        }
        for other in ["10.0.0.1", "shop.example", "localhost.example"] {
            assert!(!is_trusted(&local, &at(other)), "{other}");
        }
    }
}

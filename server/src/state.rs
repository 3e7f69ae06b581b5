//! What every handler may use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use crate::auth::password::Passwords;
use crate::auth::rate_limit::Attempts;
use crate::auth::setup::SetupToken;
use crate::config::{Config, Mode};
use crate::hosts::check::Checker;
use crate::outgoing::Outgoing;
use crate::runs::Runs;
use crate::runs::picture::Pictures;
use crate::secrets::Vault;
use crate::store::Db;

/// Tests that are tried at once.
const TRIALS: usize = 8;

/// Stretches of seconds that are read for downloads at once.
const EXPORTS: usize = 4;

/// Shared by all requests; cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Inner>);

/// The parts of [`AppState`].
pub struct Inner {
    /// Settings.
    pub config: Config,
    /// Where this server listens.
    pub address: SocketAddr,
    /// Database.
    pub db: Db,
    /// Seals and opens the secrets of stored plans.
    pub vault: Vault,
    /// Password hashing, a few at a time.
    pub passwords: Passwords,
    /// Tries to sign in.
    pub attempts: Attempts,
    /// What the first account of a public installation must show.
    pub setup: SetupToken,
    /// Runs under way and the queue's bell.
    pub runs: Runs,
    /// What the server itself asks of foreign hosts.
    pub outgoing: Arc<Outgoing>,
    /// Looks for proofs of ownership.
    pub checker: Checker,
    /// Turns of tests that are tried once, for all accounts.
    pub trials: Semaphore,
    /// Turns of downloads that read histograms.
    pub exports: Semaphore,
    /// Draws pictures.
    pub pictures: Pictures,
    /// Whether the server is ending.
    pub shutdown: Shutdown,
    /// Work that outlives a request.
    pub tasks: Tasks,
}

impl std::ops::Deref for AppState {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl AppState {
    /// Puts the parts together.
    pub fn new(config: Config, db: Db, address: SocketAddr, vault: Vault) -> AppState {
        let outgoing = Arc::new(Outgoing::new(&config));
        AppState(Arc::new(Inner {
            passwords: Passwords::new(),
            trials: Semaphore::new(TRIALS),
            exports: Semaphore::new(EXPORTS),
            pictures: Pictures::default(),
            attempts: Attempts::new(config.attempts),
            setup: SetupToken::new(),
            checker: Checker::new(outgoing.clone()),
            outgoing,
            runs: Runs::default(),
            shutdown: Shutdown::default(),
            tasks: Tasks::default(),
            config,
            db,
            vault,
            address,
        }))
    }

    /// An absolute URL of one of our paths, for links that leave the browser. `path` starts with `/`.
    pub fn url(&self, path: &str) -> String {
        let base = self.config.public_url.as_ref().map_or_else(
            || format!("http://{}", reachable(self.address)),
            |url| url.as_str().trim_end_matches('/').to_owned(),
        );
        format!("{base}{path}")
    }

    /// Whether this installation is for the people on this machine.
    pub fn is_local(&self) -> bool {
        self.config.mode == Mode::Local
    }
}

/// Where this machine itself reaches the server: nobody can visit 0.0.0.0.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        _ => address,
    }
}

/// Tells everybody that the server is ending. Once begun it cannot be undone.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Sender<bool>);

impl Default for Shutdown {
    fn default() -> Shutdown {
        Shutdown(watch::Sender::new(false))
    }
}

impl Shutdown {
    /// Begins the end.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it begins; at once if it has. Streams that never end by themselves must race against this.
    pub async fn begun(&self) {
        // Fails only if the sender is gone, and `self` holds one.
        let _ = self.0.subscribe().wait_for(|begun| *begun).await;
    }
}

/// Counts background tasks, so that the end of the server can wait for them.
#[derive(Clone, Debug)]
pub struct Tasks(watch::Sender<usize>);

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks(watch::Sender::new(0))
    }
}

impl Tasks {
    /// Runs `work`. At the end of the server it is waited for, so it has to listen to [`Shutdown`].
    pub fn spawn<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let running = Running::new(&self.0);
        tokio::spawn(async move {
            let _running = running;
            work.await
        })
    }

    /// Waits until no task is left, at most for `limit`; whether it came to that.
    pub async fn finished(&self, limit: Duration) -> bool {
        let mut count = self.0.subscribe();
        tokio::time::timeout(limit, count.wait_for(|count| *count == 0)).await.is_ok()
    }
}

/// Counts itself for as long as it lives.
struct Running(watch::Sender<usize>);

impl Running {
    fn new(count: &watch::Sender<usize>) -> Running {
        count.send_modify(|n| *n += 1);
        Running(count.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}

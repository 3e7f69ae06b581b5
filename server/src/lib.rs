//! The server of Oleada: pages, accounts, hosts, tests and runs over HTTP.
//!
//! [`serve`] is all that a program or a test needs: settings, a bound listener, and a future that says when to stop.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;

pub mod accounts;
pub mod api;
pub mod assets;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod config;
pub mod error;
pub mod hosts;
pub mod layers;
pub mod outgoing;
pub mod pages;
pub mod plans;
pub mod render;
pub mod router;
pub mod runs;
pub mod secrets;
pub mod state;
pub mod store;
pub mod telemetry;

pub use config::Config;

use secrets::{KeySource, Vault};
use state::AppState;
use store::{Db, Timestamp};

/// How long the end may take: connections and background work together. A supervisor's patience is often ten seconds.
const FAREWELL: Duration = Duration::from_secs(4);
/// How often expired sessions are removed.
const SWEEP: Duration = Duration::from_secs(3600);

/// Answers on `listener` until `shutdown` completes, then lets running requests and background work finish, within 4 s.
///
/// # Errors
/// If the database cannot be opened, or the listener fails.
pub async fn serve(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    install_tls_provider();
    let address = listener.local_addr().context("the listener has no address")?;
    let key = KeySource::of(&config.database, config.secret_key.as_ref())?;
    let db = Db::open(&config.database).await?;
    // After the database, so that one that cannot be made leaves no key behind.
    let state = AppState::new(config, db, address, Vault::open(&key)?);
    plans::take_over(&state.db, &state.vault).await?;
    announce_setup(&state).await?;
    start_background_work(&state);

    let stop = state.shutdown.clone();
    tokio::spawn(async move {
        shutdown.await;
        stop.begin();
    });
    let service = router::router(state.clone()).into_make_service_with_connect_info::<SocketAddr>();
    let stop = state.shutdown.clone();
    let server = axum::serve(listener, service).with_graceful_shutdown(async move { stop.begun().await });
    let mut server = tokio::spawn(server.into_future());
    let ended = tokio::select! {
        ended = &mut server => Some(ended),
        () = state.shutdown.begun() => None,
    };
    // The listener fails only if it was closed under our feet: say so, but let the work finish first.
    state.shutdown.begin();
    let last_moment = tokio::time::Instant::now() + FAREWELL;
    let ended = match ended {
        Some(ended) => Some(ended),
        None => tokio::time::timeout_at(last_moment, &mut server).await.ok(),
    };
    server.abort();
    if !state.tasks.finished(last_moment.saturating_duration_since(tokio::time::Instant::now())).await {
        tracing::warn!("background work did not finish in time and was left behind");
    }
    // A statement that hangs must not hold the exit up.
    let _ = tokio::time::timeout(Duration::from_millis(500), state.db.close()).await;
    match ended {
        Some(Ok(result)) => result.context("the server failed"),
        Some(Err(error)) => Err(error).context("the server's task failed"),
        None => Ok(()),
    }
}

/// One TLS provider for everything that encrypts in this process.
pub fn install_tls_provider() {
    // An error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Completes when the process is asked to end: Ctrl-C or SIGTERM.
pub async fn shutdown_signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
            let _ = interrupt.await;
            return;
        };
        tokio::select! {
            _ = interrupt => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = interrupt.await;
    tracing::info!("asked to end");
}

/// A public installation is set up by whoever can read its log.
async fn announce_setup(state: &AppState) -> anyhow::Result<()> {
    if !state.is_local() && !state.db.is_set_up().await? {
        let link = state.url(&format!("/sign-up?setup={}", state.setup.as_str()));
        tracing::warn!("nobody has an account yet; make the operator's at {link} (valid until this process ends)");
    }
    Ok(())
}

fn start_background_work(state: &AppState) {
    state.tasks.spawn(sweep_sessions(state.clone()));
    state.tasks.spawn(runs::queue::work(state.clone()));
    state.tasks.spawn(runs::light::take_over(state.clone()));
}

async fn sweep_sessions(state: AppState) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = state.shutdown.begun() => return,
        }
        if let Err(error) = state.db.sweep_sessions(Timestamp::now()).await {
            tracing::warn!(%error, "expired sessions could not be removed; they are ignored all the same");
        }
    }
}

//! What a test may use: a server in this process or as a program, people who visit it, databases, a target, a browser.
//!
//! ```no_run
//! # async fn example() {
//! use harness::Server;
//!
//! let server = Server::start().await;
//! let anna = server.sign_up("anna").await;
//! let reply = anna.post("/hosts", &[("address", "127.0.0.1:9900")]).await;
//! assert_eq!(reply.status, 303);
//! # }
//! ```

pub mod browser;
pub mod db;
pub mod server;
pub mod site;
pub mod stored;
pub mod tools;
pub mod user;
pub mod webserver;

pub use server::{At, Process, Server};
pub use user::form_of;

/// Waits a little before a condition is looked at again; never instead of looking.
#[expect(clippy::disallowed_methods, reason = "a test that polls does not care about a millisecond")]
pub async fn pause() {
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
}

/// How long a test waits for something that has to happen; far more than it takes on a busy machine.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

//! A running server: in this process with settings of the test's choice, or the real program that can be killed.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use oleada_server::Config;
use oleada_server::config::AttemptLimits;
use oleada_server::secrets::SecretKey;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::db::TestDb;
use crate::tools::{oleada, temp_dir};
use crate::user::{Anonymous, SignedIn};
use crate::{PATIENCE, pause};

/// Where something answers.
pub trait At {
    /// Scheme, host and port, without a slash at the end.
    fn url(&self) -> &str;
}

/// A server in this process, on a free port, with a database of its own.
pub struct Server {
    url: String,
    // Dropped first: tells the server to end.
    _stop: oneshot::Sender<()>,
    _db: TestDb,
}

impl At for Server {
    fn url(&self) -> &str {
        &self.url
    }
}

impl Server {
    /// A local installation on SQLite.
    pub async fn start() -> Server {
        Server::start_with(|_| {}).await
    }

    /// On SQLite, with changed settings.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Server {
        Server::start_on(TestDb::sqlite(), change).await
    }

    /// On a database, with changed settings.
    pub async fn start_on(db: TestDb, change: impl FnOnce(&mut Config)) -> Server {
        let many = u32::MAX / 2;
        let mut config = Config {
            database: db.url().to_owned(),
            // With a file it is kept beside it.
            secret_key: db.url().starts_with("postgres").then(SecretKey::generate),
            attempts: AttemptLimits { per_address: many, per_account: many },
            ..Config::default()
        };
        change(&mut config);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = oleada_server::serve(config, listener, async move { drop(stopped.await) });
        tokio::spawn(async move {
            if let Err(error) = serving.await {
                eprintln!("the server failed: {error:#}");
            }
        });
        let server = Server { url, _stop: stop, _db: db };
        server.wait_until_it_answers().await;
        server
    }

    /// Scheme, host and port, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Somebody new with an account.
    pub async fn sign_up(&self, name: &str) -> SignedIn {
        SignedIn::sign_up(self, name).await
    }

    /// Somebody who has an account already.
    pub async fn sign_in(&self, name: &str) -> SignedIn {
        SignedIn::sign_in(self, name).await
    }

    async fn wait_until_it_answers(&self) {
        let visitor = Anonymous::new(self);
        let until = Instant::now() + PATIENCE;
        while !visitor.answers().await {
            assert!(Instant::now() < until, "the server does not answer");
            pause().await;
        }
    }
}

/// The program `oleada serve`, which can be killed and started again on the same database.
pub struct Process {
    folder: PathBuf,
    child: Child,
    url: String,
}

impl At for Process {
    fn url(&self) -> &str {
        &self.url
    }
}

impl Process {
    /// Starts it with a new database.
    pub async fn start() -> Process {
        Process::start_with(&[]).await
    }

    /// Starts it with further arguments.
    pub async fn start_with(arguments: &[&str]) -> Process {
        let folder = temp_dir("process");
        let (child, url) = spawn(&folder, arguments);
        Process { folder, child, url }
    }

    /// Scheme, host and port, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where its database and its key are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills it as a crash would (SIGKILL).
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asks it to end (SIGTERM) and waits until it has, successfully.
    pub async fn terminate(&mut self) {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().expect("kill runs");
        assert!(asked.success());
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("its state") {
                assert!(status.success(), "ended with {status}: {}", self.log());
                return;
            }
            assert!(Instant::now() < until, "it does not end: {}", self.log());
            pause().await;
        }
    }

    /// Starts it again on the same database; its port is another one.
    pub async fn restart(&mut self) {
        (self.child, self.url) = spawn(&self.folder, &[]);
    }

    /// What it has written to standard error, of all starts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Somebody new with an account.
    pub async fn sign_up(&self, name: &str) -> SignedIn {
        SignedIn::sign_up(self, name).await
    }

    /// Somebody who has an account already.
    pub async fn sign_in(&self, name: &str) -> SignedIn {
        SignedIn::sign_in(self, name).await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts the program and waits for the line that says where it listens.
fn spawn(folder: &Path, arguments: &[&str]) -> (Child, String) {
    let log = File::options().create(true).append(true).open(folder.join("log")).expect("a log file");
    let mut child = Command::new(oleada())
        .args(["serve", "--listen", "127.0.0.1:0", "--database"])
        .arg(format!("sqlite:{}", folder.join("oleada.db").display()))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("oleada starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("its standard output");
    BufReader::new(output).read_line(&mut line).expect("its first line");
    let Some(url) = line.trim().strip_prefix("listening on ") else {
        let _ = child.kill();
        let _ = child.wait();
        panic!(
            "it did not say where it listens: {line:?} {}",
            std::fs::read_to_string(folder.join("log")).unwrap_or_default()
        );
    };
    (child, url.to_owned())
}

//! A PostgreSQL server for one test run: its own folder, port and password, gone afterwards.

use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;

use crate::{exec, say};

/// How long the server may take to accept connections; a busy machine needs a few seconds.
const START: Duration = Duration::from_secs(60);
/// How often a free port is looked for: between finding and taking it somebody else can be quicker.
const TRIES: usize = 3;

/// A running server; dropping it stops it and removes its folder.
pub struct Postgres {
    /// Where it answers, with user and password: a superuser, so that each test can make a database.
    pub url: String,
    server: Child,
    // After the server: the folder goes when nothing uses it any more.
    _folder: Folder,
}

impl Postgres {
    /// Makes a new cluster and starts it with the programs in `programs`. PostgreSQL refuses to run as root, so root runs
    /// it as `postgres`, else as `nobody`.
    pub fn start(programs: &Path) -> Result<Self> {
        say::step("setup", "starting a PostgreSQL for the tests");
        let account = if exec::is_root() { Some(Account::find()?) } else { None };
        let folder = Folder::new(account.as_ref())?;
        let password = random_hex()?;
        initialise(programs, &folder.0, account.as_ref(), &password)?;
        for _ in 0..TRIES {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            let mut server = launch(programs, &folder.0, account.as_ref(), port)?;
            if wait_until_ready(&mut server, &folder.0)? {
                let url = format!("postgres://oleada:{password}@127.0.0.1:{port}/postgres");
                return Ok(Self { url, server, _folder: folder });
            }
        }
        let log = std::fs::read_to_string(folder.0.join("log")).unwrap_or_default();
        bail!("PostgreSQL does not start: {}", log.lines().next_back().unwrap_or("it said nothing"))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // INT is PostgreSQL's "fast": it ends its clients and then itself.
        if let Err(error) = exec::end(&mut self.server, Signal::INT) {
            say::step("clean-up", format_args!("PostgreSQL did not end: {error:#}"));
        }
    }
}

fn initialise(programs: &Path, folder: &Path, account: Option<&Account>, password: &str) -> Result<()> {
    let secret = folder.join("password");
    std::fs::write(&secret, password)?;
    own(&secret, account)?;
    let mut command = as_account(programs.join("initdb"), account);
    command.args([
        "--username=oleada",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
        "--no-instructions",
    ]);
    command.arg(format!("--pwfile={}", secret.display())).arg("--pgdata").arg(folder.join("data"));
    exec::quiet(command.current_dir(folder)).context("could not make a database cluster")?;
    std::fs::remove_file(secret)?;
    Ok(())
}

fn launch(programs: &Path, folder: &Path, account: Option<&Account>, port: u16) -> Result<Child> {
    let log = std::fs::File::create(folder.join("log"))?;
    let mut command = as_account(programs.join("postgres"), account);
    command.arg("-D").arg(folder.join("data")).arg("-p").arg(port.to_string());
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=300",
        // The data live as long as the tests do; what a crash would lose is not worth waiting for the disk.
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "autovacuum=off",
        "shared_buffers=64MB",
    ] {
        command.arg("-c").arg(setting);
    }
    command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
    command.spawn().context("could not start PostgreSQL")
}

/// Waits until the server takes connections; false if it ended instead.
fn wait_until_ready(server: &mut Child, folder: &Path) -> Result<bool> {
    let deadline = Instant::now() + START;
    loop {
        if server.try_wait()?.is_some() {
            return Ok(false);
        }
        // The eighth line of this file says how far the server is.
        let state = std::fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
        if state.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
            return Ok(true);
        }
        if exec::interrupted() || Instant::now() > deadline {
            exec::end(server, Signal::INT)?;
            bail!(if exec::interrupted() { "interrupted" } else { "PostgreSQL did not get ready in a minute" });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The account that root runs the server as.
struct Account {
    user: u32,
    group: u32,
}

impl Account {
    fn find() -> Result<Self> {
        let accounts = std::fs::read_to_string("/etc/passwd").context("could not read /etc/passwd")?;
        let named = |name: &str| accounts.lines().find_map(|line| Self::parse(line, name));
        named("postgres")
            .or_else(|| named("nobody"))
            .context("no account to run PostgreSQL as: neither postgres nor nobody exists")
    }

    fn parse(line: &str, name: &str) -> Option<Self> {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        Some(Self { user: fields.nth(1)?.parse().ok()?, group: fields.next()?.parse().ok()? })
    }
}

/// A command run as the account. The kernel interrupts it should this process die without saying goodbye; `setpriv` asks
/// for that after the change of user, which would clear it.
fn as_account(program: PathBuf, account: Option<&Account>) -> Command {
    let Some(setpriv) = exec::find("setpriv") else {
        let mut command = exec::command(program);
        if let Some(account) = account {
            command.uid(account.user).gid(account.group);
        }
        return command;
    };
    let mut command = exec::command(setpriv);
    command.arg("--pdeathsig=INT");
    if let Some(account) = account {
        command
            .arg(format!("--reuid={}", account.user))
            .arg(format!("--regid={}", account.group))
            .arg("--clear-groups");
    }
    command.arg("--").arg(program);
    command
}

fn own(path: &Path, account: Option<&Account>) -> Result<()> {
    if let Some(account) = account {
        std::os::unix::fs::chown(path, Some(account.user), Some(account.group))
            .with_context(|| format!("could not give away {}", path.display()))?;
    }
    Ok(())
}

/// A folder of the server's own below the system's temporary one: the account may not look into a home folder.
struct Folder(PathBuf);

impl Folder {
    fn new(account: Option<&Account>) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = Self(std::env::temp_dir().join(format!("oleada-postgres-{}", random_hex()?)));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder.0)
            .with_context(|| format!("could not make {}", folder.0.display()))?;
        own(&folder.0, account)?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            say::step("clean-up", format_args!("please remove {}: {error}", self.0.display()));
        }
    }
}

/// 128 bits of chance, in hexadecimal.
fn random_hex() -> Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_by_its_whole_name() {
        let account =
            Account::parse("postgres:x:101:104:PostgreSQL administrator:/var/lib/postgresql:/bin/bash", "postgres")
                .unwrap();
        assert_eq!((account.user, account.group), (101, 104));
        assert!(Account::parse("postgres2:x:1:1::/:/bin/sh", "postgres").is_none());
        assert!(Account::parse("postgres", "postgres").is_none());
    }

    #[test]
    fn chance_is_128_bits_and_differs() {
        let (one, other) = (random_hex().unwrap(), random_hex().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}

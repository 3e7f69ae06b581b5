//! nginx, Apache and Yaws from Debian, each on a free loopback port with its own copy of two static pages and its own log.

use std::cell::Cell;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Bytes of the small page.
pub const SMALL: usize = 612;
/// Bytes of the large page.
pub const LARGE: usize = 2_000_000;

/// Which web server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// nginx.
    Nginx,
    /// Apache with the event MPM and Debian's defaults.
    Apache,
    /// Yaws.
    Yaws,
}

impl Kind {
    /// Every kind that the comparison knows.
    pub const ALL: [Kind; 3] = [Kind::Nginx, Kind::Apache, Kind::Yaws];

    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nginx => "nginx",
            Kind::Apache => "Apache",
            Kind::Yaws => "Yaws",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Kind::Nginx => "OLEADA_TEST_NGINX",
            Kind::Apache => "OLEADA_TEST_APACHE",
            Kind::Yaws => "OLEADA_TEST_YAWS",
        }
    }
}

/// A line of the access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Status; 499 in nginx when the client went away first.
    pub status: u16,
    /// Body bytes that the server handed to the system.
    pub body: usize,
    /// Path.
    pub path: String,
}

/// A running web server; ended when dropped.
pub struct WebServer {
    kind: Kind,
    port: u16,
    child: Child,
    folder: PathBuf,
    /// Bytes of the log that were taken.
    read: Cell<u64>,
}

impl WebServer {
    /// Starts one, if this machine has it.
    ///
    /// # Errors
    /// If it does not begin to answer.
    pub fn start(kind: Kind) -> Result<Option<WebServer>> {
        let Some(program) = crate::tools::tool(kind.variable()) else { return Ok(None) };
        let folder = crate::tools::temp_dir(kind.name());
        let pages = folder.join("pages");
        fs::create_dir_all(&pages)?;
        fs::create_dir_all(folder.join("tmp"))?;
        fs::write(pages.join("small.html"), page(SMALL))?;
        fs::write(pages.join("large.html"), page(LARGE))?;
        let port = free_port()?;
        let child = match kind {
            Kind::Nginx => nginx(&program, &folder, port)?,
            Kind::Apache => apache(&program, &folder, port)?,
            Kind::Yaws => yaws(&program, &folder, port)?,
        };
        let mut server = WebServer { kind, port, child, folder, read: Cell::new(0) };
        server.wait()?;
        Ok(Some(server))
    }

    /// Which one it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The address of a page: `small.html` or `large.html`.
    pub fn url(&self, page: &str) -> String {
        format!("http://127.0.0.1:{}/{page}", self.port)
    }

    /// Host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What the server has logged since the last call. Waits until the log has not grown for a while: servers write it late.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn take_log(&self) -> Result<Vec<Logged>> {
        let path = match self.kind {
            Kind::Nginx | Kind::Apache => self.folder.join("access.log"),
            Kind::Yaws => self.folder.join(format!("127.0.0.1:{}.access", self.port)),
        };
        let mut size = 0;
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(200));
            let now = fs::metadata(&path)?.len();
            if now == size {
                break;
            }
            size = now;
        }
        let mut file = fs::File::open(&path)?;
        file.seek(SeekFrom::Start(self.read.get()))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        self.read.set(self.read.get() + text.len() as u64);
        text.lines().map(|line| if self.kind == Kind::Yaws { parse_common(line) } else { parse(line) }).collect()
    }

    fn wait(&mut self) -> Result<()> {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                let said = fs::read_to_string(self.folder.join("error.log")).unwrap_or_default();
                bail!("{} ended at once ({status}): {said}", self.kind.name());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let said = fs::read_to_string(self.folder.join("error.log")).unwrap_or_default();
        bail!("{} did not begin to listen: {said}", self.kind.name())
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn page(bytes: usize) -> Vec<u8> {
    let mut text = b"<!doctype html><title>A page</title>\n".to_vec();
    text.resize(bytes, b'o');
    text
}

/// `127.0.0.1 - - [date] "GET /small.html HTTP/1.1" 200 612 …`
fn parse_common(line: &str) -> Result<Logged> {
    let mut quoted = line.split('"').skip(1);
    let request = quoted.next().with_context(|| format!("log line {line:?}"))?;
    let mut rest = quoted.next().unwrap_or_default().split_whitespace();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let status = rest.next().with_context(|| format!("log line {line:?}"))?.parse()?;
    Ok(Logged { status, body: rest.next().and_then(|b| b.parse().ok()).unwrap_or(0), path })
}

fn parse(line: &str) -> Result<Logged> {
    let mut parts = line.split(' ');
    let mut next = || parts.next().with_context(|| format!("log line {line:?}"));
    Ok(Logged { status: next()?.parse()?, body: next()?.parse().unwrap_or(0), path: next()?.to_owned() })
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn spawn(program: &Path, folder: &Path, arguments: &[&str]) -> Result<Child> {
    let errors = fs::File::create(folder.join("error.log"))?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(errors.try_clone()?)
        .stderr(errors)
        .spawn()
        .with_context(|| format!("could not start {}", program.display()))
}

fn nginx(program: &Path, folder: &Path, port: u16) -> Result<Child> {
    let at = folder.display();
    let user = if is_root() { "user root;" } else { "" };
    let text = format!(
        "{user} worker_processes 2; worker_rlimit_nofile 20000; daemon off; pid {at}/nginx.pid; error_log stderr error;
         events {{ worker_connections 16000; }}
         http {{
           log_format short '$status $body_bytes_sent $request_uri';
           access_log {at}/access.log short;
           client_body_temp_path {at}/tmp; proxy_temp_path {at}/tmp; fastcgi_temp_path {at}/tmp; uwsgi_temp_path {at}/tmp; scgi_temp_path {at}/tmp;
           sendfile on; tcp_nopush on; types {{ text/html html; }}
           server {{ listen 127.0.0.1:{port} backlog=4096; root {at}/pages; }}
         }}"
    );
    fs::write(folder.join("nginx.conf"), text)?;
    fs::write(folder.join("access.log"), "")?;
    let config = folder.join("nginx.conf").display().to_string();
    spawn(program, folder, &["-e", "stderr", "-p", &at.to_string(), "-c", &config])
}

/// Debian's values for the event MPM and keep-alive.
fn apache(program: &Path, folder: &Path, port: u16) -> Result<Child> {
    let at = folder.display();
    let modules = "/usr/lib/apache2/modules";
    let user = if is_root() { "User www-data\nGroup www-data" } else { "" };
    let text = format!(
        "ServerRoot {at}\nServerName 127.0.0.1\nListen 127.0.0.1:{port}\nListenBacklog 4096\nPidFile {at}/apache.pid\nDefaultRuntimeDir {at}
         {user}
         LoadModule mpm_event_module {modules}/mod_mpm_event.so
         LoadModule authz_core_module {modules}/mod_authz_core.so
         LoadModule mime_module {modules}/mod_mime.so
         TypesConfig /dev/null\nAddType text/html .html
         StartServers 2\nMinSpareThreads 25\nMaxSpareThreads 75\nThreadLimit 64\nThreadsPerChild 25\nMaxRequestWorkers 150
         KeepAlive On\nMaxKeepAliveRequests 100\nKeepAliveTimeout 5\nTimeout 300
         DocumentRoot {at}/pages
         <Directory />\nRequire all granted\n</Directory>
         ErrorLog {at}/error.log\nLogLevel error
         LogFormat \"%>s %B %U\" short\nCustomLog {at}/access.log short\n"
    );
    fs::write(folder.join("apache.conf"), text)?;
    fs::write(folder.join("access.log"), "")?;
    let config = folder.join("apache.conf").display().to_string();
    spawn(program, folder, &["-D", "FOREGROUND", "-f", &config])
}

fn yaws(program: &Path, folder: &Path, port: u16) -> Result<Child> {
    let at = folder.display();
    let text = format!(
        "logdir = {at}\nebin_dir = {at}\nmax_connections = nolimit\nkeepalive_timeout = 30000\nlog_wrap_size = 0\ntrace = false\nuse_fdsrv = false
         <server 127.0.0.1>\n port = {port}\n listen = 127.0.0.1\n docroot = {at}/pages\n access_log = true\n</server>\n"
    );
    fs::write(folder.join("yaws.conf"), text)?;
    let config = folder.join("yaws.conf").display().to_string();
    // An Erlang atom: no dash.
    let id = format!("oleada{port}");
    // Interactive, so that it stays our child; without a shell to read from.
    let arguments =
        ["-i", "--conf", &config, "--id", &id, "--mnesiadir", &at.to_string(), "--erlarg", "-noshell -noinput"];
    let errors = fs::File::create(folder.join("error.log"))?;
    Command::new(program)
        .args(arguments)
        // It keeps its state below the home folder.
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(errors.try_clone()?)
        .stderr(errors)
        .spawn()
        .with_context(|| format!("could not start {}", program.display()))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

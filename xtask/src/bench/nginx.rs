//! The target: nginx with one process on one core.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Resource, Signal, getrlimit};
use serde_json::json;

use super::measure;
use crate::{exec, toolchain};

/// A body of 2 MB.
pub(super) const MEGABYTES: &str = "/2mb";
/// A body of 1 GB.
pub(super) const GIGABYTE: &str = "/1gb";

/// JSON with an id that is another one each time.
pub(super) const ITEM: &str = "/item";

/// Open files of nginx.
const FILES: u64 = 40_000;
/// A body as small as a welcome page.
const SMALL_BODY: usize = 612;

/// A running nginx; ended and cleaned up when dropped.
pub(super) struct Nginx {
    child: Child,
    folder: PathBuf,
    plain: SocketAddr,
    encrypted: SocketAddr,
}

impl Nginx {
    /// Starts nginx pinned to `core` and waits until it answers.
    pub(super) fn start(core: usize) -> Result<Nginx> {
        let program = toolchain::nginx().context("nginx is needed as the target: install nginx-light")?;
        let folder = std::env::temp_dir().join(format!("oleada-bench-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("www")).context("could not make a folder for nginx")?;
        let (plain, encrypted) = (free_address()?, free_address()?);
        write_files(&folder, plain, encrypted)?;
        let mut command = exec::command(program);
        command.args(["-e", "stderr", "-c"]).arg(folder.join("nginx.conf")).arg("-p").arg(&folder);
        let child = on_core(command, core)?;
        let mut nginx = Nginx { child, folder, plain, encrypted };
        nginx.wait()?;
        Ok(nginx)
    }

    pub(super) fn url(&self, tls: bool, path: &str) -> String {
        match tls {
            true => format!("https://{}{path}", self.encrypted),
            false => format!("http://{}{path}", self.plain),
        }
    }

    /// Writes a plan whose clients take an id from a reply in JSON and put it, with a row of data, into address, header and body
    /// of the next request.
    pub(super) fn scenario(&self, requests: u64, clients: u32) -> Result<PathBuf> {
        let rows: Vec<[String; 2]> =
            (0..100).map(|n| [format!("user{n}@example.test"), format!("{}", n * 7)]).collect();
        let plan = json!({
            "load": { "type": "fixed_count", "requests": requests, "clients": clients },
            "http": "1.1",
            "timeout_ms": 60_000.0,
            "data": { "columns": ["user", "amount"], "rows": rows },
            "requests": [
                {
                    "method": "GET",
                    "url": self.url(false, ITEM),
                    "extract": [{ "name": "id", "from": "json", "what": "$.item.id" }],
                },
                {
                    "method": "POST",
                    "url": self.url(false, "/use/{{id}}?user={{user}}"),
                    "headers": [["X-Item", "{{id}}"], ["Content-Type", "application/json"]],
                    "body": "{\"item\":\"{{id}}\",\"user\":\"{{user}}\",\"amount\":{{amount}}}",
                },
            ],
        });
        let file = self.folder.join(format!("scenario-{requests}-{clients}.json"));
        std::fs::write(&file, plan.to_string())?;
        Ok(file)
    }

    fn wait(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(self.plain).is_err() || TcpStream::connect(self.encrypted).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("nginx did not start ({status})");
            }
            if Instant::now() > deadline {
                bail!("nginx did not answer within 10 s");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Both can fail only when it is gone already.
        let _ = exec::end(&mut self.child, Signal::TERM);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts a command that stays on one core. Affinity is inherited, so a thread of its own takes the core first.
fn on_core(mut command: Command, core: usize) -> Result<Child> {
    let spawned = std::thread::spawn(move || -> Result<Child> {
        measure::pin(core)?;
        command.stdout(Stdio::null()).spawn().context("could not start nginx")
    });
    spawned.join().unwrap_or_else(|_| bail!("the thread that starts nginx died"))
}

fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?)
}

fn write_files(folder: &Path, plain: SocketAddr, encrypted: SocketAddr) -> Result<()> {
    let www = folder.join("www");
    std::fs::write(www.join("index.html"), vec![b'x'; SMALL_BODY])?;
    for (path, length) in [(MEGABYTES, 2_000_000), (GIGABYTE, 1_000_000_000)] {
        // A hole of this length: nothing is written to the disk.
        std::fs::File::create(www.join(&path[1..]))?.set_len(length)?;
    }
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    std::fs::write(folder.join("cert.pem"), certified.cert.pem())?;
    std::fs::write(folder.join("key.pem"), certified.signing_key.serialize_pem())?;
    let at = folder.display();
    // As many as the largest case needs, or as may be.
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(FILES).min(FILES);
    let user = if exec::is_root() { "user root;\n" } else { "" };
    let configuration = format!(
        "{user}daemon off;\nworker_processes 1;\npid {at}/pid;\nworker_rlimit_nofile {files};\n\
         events {{ worker_connections 30000; }}\n\
         http {{\n  access_log off;\n  error_log stderr crit;\n  sendfile on;\n  tcp_nopush on;\n  \
         keepalive_requests 1000000000;\n  keepalive_timeout 300;\n  open_file_cache max=100;\n  default_type text/plain;\n  \
         client_body_temp_path {at}/a;\n  proxy_temp_path {at}/b;\n  fastcgi_temp_path {at}/c;\n  uwsgi_temp_path {at}/d;\n  \
         scgi_temp_path {at}/e;\n  \
         server {{\n    listen {plain} backlog=16384;\n    listen {encrypted} ssl http2 backlog=16384;\n    root {at}/www;\n    \
         ssl_certificate {at}/cert.pem;\n    ssl_certificate_key {at}/key.pem;\n    ssl_session_cache shared:s:1m;\n    \
         location = {ITEM} {{ default_type application/json; return 200 '{{\"item\":{{\"id\":\"$request_id\",\"left\":7}}}}'; }}\n    \
         location /use/ {{ return 200 done; }}\n  }}\n}}\n"
    );
    std::fs::write(folder.join("nginx.conf"), configuration)?;
    Ok(())
}

//! A scripted target on loopback: raw TCP, a thread per connection, its own log, which is the oracle of the tests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A request as the target saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When its head was complete.
    pub at: Instant,
    /// Number of its connection, from 1.
    pub connection: u64,
    /// Request line and headers.
    pub head: String,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or("")
    }
}

#[derive(Default)]
pub struct Log {
    requests: Mutex<Vec<Seen>>,
    count: AtomicU64,
    connections: AtomicU64,
    gone: AtomicU64,
}

/// What happens to the connection after a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum After {
    Keep,
    Close,
}

/// One request to be answered.
pub struct Call<'a> {
    /// Number of the request over all connections, from 1.
    pub n: u64,
    /// Number of the request on its connection, from 1.
    pub nth: u64,
    pub head: &'a str,
    pub body: &'a [u8],
    stream: &'a mut dyn Wire,
    tcp: &'a TcpStream,
    log: &'a Log,
}

pub trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

impl Call<'_> {
    /// Writes bytes as they are; a client that is gone is no fault.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).and_then(|()| self.stream.flush());
    }

    /// The normal reply: 200, Content-Length 2, body `ok`.
    pub fn ok(&mut self) -> After {
        self.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        After::Keep
    }

    pub fn reply(&mut self, status: &str, headers: &str, body: impl AsRef<[u8]>) -> After {
        let body = body.as_ref();
        self.write(
            [format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat(),
        );
        After::Keep
    }

    /// Waits, then notes whether the client has gone away meanwhile.
    pub fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
        let _ = self.tcp.set_nonblocking(true);
        let gone = match self.tcp.peek(&mut [0]) {
            Ok(n) => n == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        };
        let _ = self.tcp.set_nonblocking(false);
        self.log.gone.fetch_add(u64::from(gone), Ordering::SeqCst);
    }

    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or("")
    }
}

type Script = Arc<dyn Fn(&mut Call<'_>) -> After + Send + Sync>;

pub struct Target {
    pub address: SocketAddr,
    pub log: Arc<Log>,
    closing: Arc<AtomicBool>,
}

impl Target {
    pub fn new(script: impl Fn(&mut Call<'_>) -> After + Send + Sync + 'static) -> Target {
        Target::on("127.0.0.1:0", None, script)
    }

    pub fn on(
        address: &str,
        tls: Option<Arc<rustls::ServerConfig>>,
        script: impl Fn(&mut Call<'_>) -> After + Send + Sync + 'static,
    ) -> Target {
        let listener = TcpListener::bind(address).unwrap();
        let target = Target { address: listener.local_addr().unwrap(), log: Arc::default(), closing: Arc::default() };
        let (log, closing, script) = (target.log.clone(), target.closing.clone(), Arc::new(script) as Script);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if closing.load(Ordering::SeqCst) {
                    return;
                }
                let (log, script, tls) = (log.clone(), script.clone(), tls.clone());
                std::thread::spawn(move || serve(stream, tls, &log, &script));
            }
        });
        target
    }

    pub fn normal() -> Target {
        Target::new(|call| call.ok())
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> u64 {
        self.log.count.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> u64 {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// Clients that had gone away before they were answered.
    pub fn gone(&self) -> u64 {
        self.log.gone.load(Ordering::SeqCst)
    }

    /// The log in order of arrival.
    pub fn seen(&self) -> Vec<Seen> {
        let mut seen = self.log.requests.lock().unwrap().clone();
        seen.sort_by_key(|s| s.at);
        seen
    }

    /// Waits until the log says so; the client may know the end of a run before the target does.
    pub fn eventually(&self, what: impl Fn(&Target) -> bool) -> bool {
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if what(self) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        what(self)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(tcp: TcpStream, tls: Option<Arc<rustls::ServerConfig>>, log: &Log, script: &Script) {
    let connection = log.connections.fetch_add(1, Ordering::SeqCst) + 1;
    let _ = tcp.set_nodelay(true);
    let peer = tcp.try_clone().unwrap();
    let mut stream: Box<dyn Wire> = match tls {
        None => Box::new(tcp),
        Some(config) => Box::new(rustls::StreamOwned::new(rustls::ServerConnection::new(config).unwrap(), tcp)),
    };
    let mut buffer = Vec::new();
    let mut nth = 0;
    while let Some((head, body)) = read_request(&mut stream, &mut buffer) {
        nth += 1;
        let n = log.count.fetch_add(1, Ordering::SeqCst) + 1;
        log.requests.lock().unwrap().push(Seen {
            at: Instant::now(),
            connection,
            head: head.clone(),
            body: body.clone(),
        });
        let mut call = Call { n, nth, head: &head, body: &body, stream: &mut stream, tcp: &peer, log };
        if script(&mut call) == After::Close {
            return;
        }
    }
}

fn read_request(stream: &mut dyn Wire, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end + 2]).into_owned();
            let length = header(&head, "content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                return Some((head, body));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(n) => buffer.extend_from_slice(&piece[..n]),
        }
    }
}

/// The value of a header in a request head.
pub fn header(head: &str, name: &str) -> Option<String> {
    head.lines().skip(1).find_map(|line| {
        let (n, value) = line.split_once(':')?;
        n.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

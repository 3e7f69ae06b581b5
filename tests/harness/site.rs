//! A site on loopback that says exactly what it is told to.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A whole answer, head and body, as it goes over the wire.
pub type Raw = Vec<u8>;
/// Makes an answer from a path.
pub type Answerer = fn(&str) -> Raw;

/// A site that says exactly what it is told to, and remembers what it was asked.
#[derive(Clone)]
pub struct Site {
    /// Where it listens.
    pub at: SocketAddr,
    pages: Arc<Mutex<HashMap<String, Raw>>>,
    /// For every other path; absent = 404.
    pub otherwise: Arc<Mutex<Option<Answerer>>>,
    /// The heads of all requests.
    pub asked: Arc<Mutex<Vec<String>>>,
}

/// An answer with its length, after which the connection ends.
pub fn answer(status: &str, headers: &[&str], body: &[u8]) -> Raw {
    let mut raw = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    for header in headers {
        raw.push_str(header);
        raw.push_str("\r\n");
    }
    raw.push_str("\r\n");
    [raw.into_bytes(), body.to_vec()].concat()
}

/// A text.
pub fn ok(body: &str) -> Raw {
    answer("200 OK", &["Content-Type: text/plain"], body.as_bytes())
}

impl Site {
    /// On a free port of loopback.
    pub async fn start() -> Site {
        Site::start_on("127.0.0.1:0", None).await.expect("a free port")
    }

    /// On an address of the caller's choice, over TLS if there is a configuration for it.
    pub async fn start_on(address: &str, tls: Option<Arc<rustls::ServerConfig>>) -> std::io::Result<Site> {
        let listener = TcpListener::bind(address).await?;
        let site = Site {
            at: listener.local_addr()?,
            pages: Arc::default(),
            otherwise: Arc::default(),
            asked: Arc::default(),
        };
        let (serving, acceptor) = (site.clone(), tls.map(tokio_rustls::TlsAcceptor::from));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (site, acceptor) = (serving.clone(), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                site.talk(stream).await;
                            }
                        }
                        None => site.talk(stream).await,
                    }
                });
            }
        });
        Ok(site)
    }

    async fn talk(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
        while !head.windows(4).any(|w| w == b"\r\n\r\n") {
            match stream.read(&mut buffer).await {
                // A TLS hello to a plain server: hang up, as servers do.
                Ok(n) if n > 0 && !(head.is_empty() && buffer[0] == 0x16) => head.extend_from_slice(&buffer[..n]),
                _ => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or("").to_owned();
        self.asked.lock().expect("no test panicked with it").push(head);
        let page = self.pages.lock().expect("no test panicked with it").get(&path).cloned();
        let raw = page.unwrap_or_else(|| match *self.otherwise.lock().expect("no test panicked with it") {
            Some(otherwise) => otherwise(&path),
            None => answer("404 Not Found", &[], b"<h1>nothing here</h1>"),
        });
        let _ = stream.write_all(&raw).await;
        let _ = stream.shutdown().await;
    }

    /// What stands at a path from now on.
    pub fn put(&self, path: &str, raw: Raw) {
        self.pages.lock().expect("no test panicked with it").insert(path.to_owned(), raw);
    }

    /// Takes everything away.
    pub fn clear(&self) {
        self.pages.lock().expect("no test panicked with it").clear();
        *self.otherwise.lock().expect("no test panicked with it") = None;
    }
}

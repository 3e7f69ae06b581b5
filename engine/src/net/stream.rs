//! A connection's bytes, plain or encrypted.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A connected stream.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Whether both sides agreed on HTTP/2 in the handshake; `None` without TLS.
    pub(super) fn agreed_on_http2(&self) -> Option<bool> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(tls) => Some(tls.get_ref().1.alpn_protocol() == Some(b"h2")),
        }
    }

    #[inline]
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_write(cx, bytes),
        }
    }

    #[inline]
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Plain(_) => Poll::Ready(Ok(())),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
        }
    }

    /// Reads into `buffer`; 0 = the peer has ended its side. A TLS stream that ends without saying so has ended too.
    #[inline]
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        let read = match self {
            Stream::Plain(tcp) => Pin::new(tcp).poll_read(cx, &mut buffer),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_read(cx, &mut buffer),
        };
        match ready!(read) {
            Ok(()) => Poll::Ready(Ok(buffer.filled().len())),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// As [`Stream::poll_read`], for bytes nobody will look at: where the system can, they are never copied.
    #[inline]
    pub(super) fn poll_skip(&mut self, cx: &mut Context<'_>, buffer: &mut [u8], most: u64) -> Poll<io::Result<usize>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
        match self {
            #[cfg(target_os = "linux")]
            Stream::Plain(tcp) => poll_discard(tcp, cx, &mut buffer[..most]),
            other => other.poll_read(cx, &mut buffer[..most]),
        }
    }
}

/// `recv` with `MSG_TRUNC`: on TCP the bytes leave the socket without being copied.
#[cfg(target_os = "linux")]
fn poll_discard(tcp: &TcpStream, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
    use rustix::net::{RecvFlags, recv};
    loop {
        ready!(tcp.poll_read_ready(cx))?;
        let mut got = None;
        let result = tcp.try_io(Interest::READABLE, || {
            let (n, _) = recv(tcp, &mut *buffer, RecvFlags::TRUNC)?;
            got = Some(n);
            // A short read emptied the socket: saying so spares the next call a failing read.
            if n > 0 && n < buffer.len() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match (got, result) {
            (Some(n), _) => return Poll::Ready(Ok(n)),
            (None, Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
            (None, Err(error)) => return Poll::Ready(Err(error)),
            (None, Ok(())) => {}
        }
    }
}

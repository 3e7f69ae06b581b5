//! Opening a connection: address, TCP, TLS, each timed apart.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use super::dns::{Answer, overridden};
use super::shared::Shared;
use super::slots::Slot;
use super::stream::Stream;
use super::tls;
use crate::outcome::ErrorKind;
use crate::plan::{Host, HostPort, Scheme, Target, TlsVersion};

/// How long an address that failed stands behind the others of its name.
const SHUNNED: Duration = Duration::from_secs(1);

/// Why an exchange failed, with what the system or the target said.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) detail: Cow<'static, str>,
}

impl Failure {
    /// A failure whose kind says it all.
    pub(super) fn plain(kind: ErrorKind) -> Failure {
        Failure { kind, detail: Cow::Borrowed("") }
    }
}

/// Times of the phases of opening a connection, in µs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DialTimes {
    pub(super) dns: Option<u64>,
    pub(super) connect: Option<u64>,
    pub(super) tls: Option<u64>,
    /// Where the connection leads, once it is made.
    pub(super) address: Option<SocketAddr>,
    /// What was agreed upon in that handshake.
    pub(super) tls_version: Option<TlsVersion>,
}

/// A place to connect to, with what this worker knows about it.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) scheme: Scheme,
    pub(super) at: HostPort,
    server_name: Option<ServerName<'static>>,
    answer: RefCell<Option<Answer>>,
    next: Cell<usize>,
    shunned: RefCell<Vec<(IpAddr, Instant)>>,
}

impl Origin {
    /// `turn` spreads workers over the addresses.
    pub(super) fn new(shared: &Shared, target: &Target, turn: usize) -> Origin {
        let fixed = overridden(&shared.options.resolve, &target.at).or(match target.at.host {
            Host::Ip(address) => Some(address),
            Host::Name(_) => None,
        });
        let forever = Instant::now() + Duration::from_secs(10 * 365 * 86_400);
        Origin {
            scheme: target.scheme,
            at: target.at.clone(),
            server_name: tls::server_name(&target.at.host),
            answer: RefCell::new(fixed.map(|address| Answer { result: Ok(Arc::from([address])), until: forever })),
            next: Cell::new(turn),
            shunned: RefCell::default(),
        }
    }

    pub(super) fn is(&self, target: &Target) -> bool {
        self.scheme == target.scheme && self.at == target.at
    }

    /// The addresses in the order in which they are to be tried: in turn, those that just failed last.
    fn order(&self, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let start = self.next.get();
        self.next.set(start.wrapping_add(1));
        let mut shunned = self.shunned.borrow_mut();
        if !shunned.is_empty() {
            let now = Instant::now();
            shunned.retain(|(_, until)| *until > now);
        }
        let mut order: Vec<IpAddr> =
            (0..addresses.len()).map(|i| addresses[start.wrapping_add(i) % addresses.len()]).collect();
        order.sort_by_key(|a| shunned.iter().any(|(s, _)| s == a));
        order
    }

    fn shun(&self, address: IpAddr) {
        let (mut shunned, until) = (self.shunned.borrow_mut(), Instant::now() + SHUNNED);
        match shunned.iter_mut().find(|(a, _)| *a == address) {
            Some((_, old)) => *old = until,
            None => shunned.push((address, until)),
        }
    }
}

/// Microseconds, rounded up; at least 1.
#[inline]
pub(super) fn micros(time: Duration) -> u64 {
    (time.as_secs() * 1_000_000 + u64::from(time.subsec_nanos().div_ceil(1000))).max(1)
}

/// Connects to `origin`. Gives up when `slot` fires.
pub(super) async fn dial(
    shared: &Shared,
    slot: &Slot,
    origin: &Origin,
    times: &mut DialTimes,
) -> Result<Stream, Failure> {
    let addresses = resolve(shared, slot, origin, times).await?;
    let order = if addresses.len() == 1 { addresses.to_vec() } else { origin.order(&addresses) };
    let mut last = None;
    for address in order {
        if let Err(refused) = shared.options.policy.check(address) {
            last.get_or_insert(Failure { kind: ErrorKind::AddressRefused, detail: refused.reason.into() });
            continue;
        }
        let began = Instant::now();
        let at = SocketAddr::new(address, origin.at.port);
        match slot.guard(TcpStream::connect(at)).await.map_err(Failure::plain)? {
            Ok(tcp) => {
                times.connect = Some(micros(began.elapsed()));
                times.address = Some(at);
                // Nagle only delays the last part of a large request; refused at worst by a socket that is already dead.
                let _ = tcp.set_nodelay(true);
                return encrypt(shared, slot, origin, tcp, times).await;
            }
            Err(error) => {
                let failure = Failure { kind: connect_kind(&error), detail: format!("{at}: {}", words(&error)).into() };
                match failure.kind {
                    ErrorKind::NoDescriptors | ErrorKind::LocalLimit => return Err(failure),
                    // One address without a local counterpart, such as ::1 where IPv6 is off, says nothing about the others.
                    ErrorKind::NoPorts => drop(last.get_or_insert(failure)),
                    _ => {
                        if addresses.len() > 1 {
                            origin.shun(address);
                        }
                        last = Some(failure);
                    }
                }
            }
        }
    }
    Err(last.unwrap_or_else(|| Failure::plain(ErrorKind::Dns)))
}

async fn resolve(
    shared: &Shared,
    slot: &Slot,
    origin: &Origin,
    times: &mut DialTimes,
) -> Result<Arc<[IpAddr]>, Failure> {
    let failed = |e: super::LookupError| Failure { kind: e.kind, detail: format!("{}: {e}", origin.at.host).into() };
    // The address that was tried last time is taken unless its time is up; failures are asked for again, and share the answer.
    if let Some(Answer { result: Ok(addresses), until }) = &*origin.answer.borrow()
        && *until > Instant::now()
    {
        return Ok(addresses.clone());
    }
    let (Host::Name(name), Some(lookups)) = (&origin.at.host, &shared.lookups) else {
        return Err(Failure::plain(ErrorKind::Dns));
    };
    let began = Instant::now();
    let answer = slot.guard(Box::pin(lookups.ask(name))).await.map_err(|why| match why {
        ErrorKind::Aborted => Failure::plain(why),
        // It was the name server that did not answer: the target was never asked.
        _ => Failure { kind: ErrorKind::DnsTimeout, detail: format!("{name}: no answer").into() },
    })?;
    times.dns = Some(micros(began.elapsed()));
    let result = answer.result.clone().map_err(failed);
    origin.answer.replace(Some(answer));
    result
}

async fn encrypt(
    shared: &Shared,
    slot: &Slot,
    origin: &Origin,
    tcp: TcpStream,
    times: &mut DialTimes,
) -> Result<Stream, Failure> {
    if origin.scheme == Scheme::Http {
        return Ok(Stream::Plain(tcp));
    }
    let (Some(connector), Some(name)) = (&shared.tls, &origin.server_name) else {
        return Err(Failure {
            kind: ErrorKind::Tls,
            detail: Cow::Borrowed("the host name cannot stand in a certificate"),
        });
    };
    let began = Instant::now();
    match slot.guard(Box::pin(tls::handshake(connector, name.clone(), tcp))).await.map_err(Failure::plain)? {
        Ok(stream) => {
            times.tls = Some(micros(began.elapsed()));
            times.tls_version = tls::version(&stream);
            Ok(Stream::Tls(Box::new(stream)))
        }
        Err((kind, error)) => Err(Failure { kind, detail: words(&error).into() }),
    }
}

/// What a failed `connect` means.
fn connect_kind(error: &io::Error) -> ErrorKind {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => ErrorKind::ConnectRefused,
        Some(Errno::TIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(errno) => local_kind(errno).unwrap_or(ErrorKind::ConnectFailed),
        None => ErrorKind::ConnectFailed,
    }
}

/// Limits of our own machine.
pub(super) fn local_kind(errno: Errno) -> Option<ErrorKind> {
    match errno {
        Errno::MFILE | Errno::NFILE => Some(ErrorKind::NoDescriptors),
        Errno::ADDRNOTAVAIL => Some(ErrorKind::NoPorts),
        Errno::NOBUFS | Errno::NOMEM | Errno::AGAIN => Some(ErrorKind::LocalLimit),
        _ => None,
    }
}

/// What a failed read or write means.
pub(super) fn stream_kind(error: &io::Error) -> ErrorKind {
    if let Some(kind) = tls::kind(error) {
        return kind;
    }
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
            ErrorKind::Reset
        }
        io::ErrorKind::TimedOut => ErrorKind::Timeout,
        _ => ErrorKind::Io,
    }
}

/// What an error says, short enough for a row of a table.
pub(super) fn words(error: &io::Error) -> String {
    error.to_string().chars().take(crate::plan::limits::ERROR_DETAIL_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_our_own_machine_are_not_the_targets() {
        use crate::outcome::FailureClass::{Local, Network, Timeout};
        for (errno, kind, class) in [
            (Errno::ADDRNOTAVAIL, ErrorKind::NoPorts, Local),
            (Errno::MFILE, ErrorKind::NoDescriptors, Local),
            (Errno::NFILE, ErrorKind::NoDescriptors, Local),
            (Errno::NOBUFS, ErrorKind::LocalLimit, Local),
            (Errno::CONNREFUSED, ErrorKind::ConnectRefused, Network),
            (Errno::HOSTUNREACH, ErrorKind::ConnectFailed, Network),
            (Errno::TIMEDOUT, ErrorKind::ConnectTimeout, Timeout),
        ] {
            let found = connect_kind(&errno.into());
            assert_eq!((found, found.class()), (kind, class), "{errno:?}");
        }
    }
}

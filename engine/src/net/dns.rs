//! Names to addresses, apart from the workers: the hosts file first, then the system's name servers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Hosts, TokioResolver};
use rustix::io::Errno;
use tokio::sync::{mpsc, oneshot};

use super::dial::local_kind;
use crate::outcome::ErrorKind;
use crate::plan::{Host, HostPort, Target};

/// Shortest time an answer is kept, whatever its TTL says; failures are kept exactly so long.
const LEAST_TTL: Duration = Duration::from_secs(1);

/// `HOST:PORT:ADDR`: connections to this host and port go to this address, without asking a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveOverride {
    /// What the URL says.
    pub at: HostPort,
    /// What is dialled; the port stays.
    pub address: IpAddr,
}

impl FromStr for ResolveOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must look like HOST:PORT:ADDRESS, for example shop.test:80:127.0.0.1".to_owned();
        let host_end =
            if text.starts_with('[') { text.find(']').map(|i| i + 1) } else { text.find(':') }.ok_or_else(wrong)?;
        let (host, rest) = text.split_at(host_end);
        let (port, address) = rest.strip_prefix(':').and_then(|r| r.split_once(':')).ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        let address = address.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| wrong())?;
        let at = Target::parse(&format!("http://{host}:{port}/")).map_err(|_| wrong())?.at;
        Ok(ResolveOverride { at, address })
    }
}

/// A name could not be resolved; the text is a sentence part such as “no such name”.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LookupError {
    reason: String,
    /// What a request that needed the address failed with.
    pub(crate) kind: ErrorKind,
}

impl LookupError {
    fn new(reason: &str) -> LookupError {
        LookupError { reason: reason.to_owned(), kind: ErrorKind::Dns }
    }

    fn of(error: &NetError) -> LookupError {
        if error.is_nx_domain() {
            return LookupError::new("no such name");
        }
        if error.is_no_records_found() {
            return LookupError::new("the name has no such record");
        }
        let kind = match error {
            NetError::Timeout => ErrorKind::DnsTimeout,
            NetError::Io(io) => Errno::from_io_error(io).and_then(local_kind).unwrap_or(ErrorKind::Dns),
            _ => ErrorKind::Dns,
        };
        LookupError { reason: error.to_string().chars().take(150).collect(), kind }
    }
}

/// Asks the hosts file and name servers. Cheap to share; keeps no cache.
pub struct Resolver {
    overrides: Vec<ResolveOverride>,
    hosts: Hosts,
    dns: Option<TokioResolver>,
}

impl Resolver {
    /// Reads the system's configuration. Without one, only the hosts file and `overrides` answer.
    pub fn new(overrides: Vec<ResolveOverride>) -> Resolver {
        Resolver::asking(overrides, None)
    }

    /// As [`Resolver::new`], but asks `server` (UDP; TCP for answers that UDP cut short) instead of the system's name servers.
    pub fn asking(overrides: Vec<ResolveOverride>, server: Option<SocketAddr>) -> Resolver {
        let builder = match server {
            None => TokioResolver::builder_tokio().ok(),
            Some(server) => {
                let mut config = NameServerConfig::udp_and_tcp(server.ip());
                config.connections.iter_mut().for_each(|c| c.port = server.port());
                let config = ResolverConfig::from_parts(None, Vec::new(), vec![config]);
                Some(TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()))
            }
        };
        let dns = builder.and_then(|mut builder| {
            let options = builder.options_mut();
            options.cache_size = 0;
            options.attempts = 2;
            builder.build().ok()
        });
        Resolver { overrides, hosts: Hosts::from_system().unwrap_or_default(), dns }
    }

    /// All addresses of `host`, a name or a literal. An override for any port of the host wins.
    ///
    /// # Errors
    /// [`LookupError`] when there is no such name or nobody answers.
    pub async fn lookup_ip(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let overridden =
            self.overrides.iter().find(|o| matches!(&o.at.host, Host::Name(n) if n.eq_ignore_ascii_case(host)));
        if let Some(found) = overridden {
            return Ok(vec![found.address]);
        }
        Ok(self.lookup(host).await?.0)
    }

    /// All addresses for connections to `at`.
    ///
    /// # Errors
    /// As [`Resolver::lookup_ip`].
    pub async fn lookup_at(&self, at: &HostPort) -> Result<Vec<IpAddr>, LookupError> {
        if let Some(address) = overridden(&self.overrides, at) {
            return Ok(vec![address]);
        }
        match &at.host {
            Host::Ip(address) => Ok(vec![*address]),
            Host::Name(name) => Ok(self.lookup(name).await?.0),
        }
    }

    /// The texts of the TXT records of `name`, each with its parts joined.
    ///
    /// # Errors
    /// As [`Resolver::lookup_ip`].
    pub async fn txt(&self, name: &str) -> Result<Vec<String>, LookupError> {
        use hickory_resolver::proto::rr::RData;
        let dns = self.dns.as_ref().ok_or_else(no_server)?;
        let found = dns.lookup(absolute(name), RecordType::TXT).await.map_err(|e| LookupError::of(&e))?;
        let texts = found.answers().iter().filter_map(|record| match &record.data {
            RData::TXT(txt) => Some(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned()),
            _ => None,
        });
        Ok(texts.collect())
    }

    async fn lookup(&self, host: &str) -> Result<(Vec<IpAddr>, Instant), LookupError> {
        if let Ok(address) = host.parse() {
            return Ok((vec![address], Instant::now() + Duration::from_secs(86_400)));
        }
        let listed = self.listed(host);
        if !listed.is_empty() {
            return Ok((listed, Instant::now() + Duration::from_secs(60)));
        }
        let dns = self.dns.as_ref().ok_or_else(no_server)?;
        let found = dns.lookup_ip(absolute(host)).await.map_err(|e| LookupError::of(&e))?;
        let addresses: Vec<IpAddr> = found.iter().collect();
        if addresses.is_empty() {
            return Err(LookupError::new("the name has no address"));
        }
        Ok((addresses, found.valid_until().max(Instant::now() + LEAST_TTL)))
    }

    /// What the hosts file says; it hides the name servers, for both families.
    fn listed(&self, host: &str) -> Vec<IpAddr> {
        let Ok(name) = Name::from_utf8(host) else { return Vec::new() };
        let families = [RecordType::A, RecordType::AAAA];
        let found = families
            .into_iter()
            .filter_map(|family| self.hosts.lookup_static_host(&Query::query(name.clone(), family)));
        found.flat_map(|lookup| lookup.answers().iter().filter_map(|r| r.data.ip_addr()).collect::<Vec<_>>()).collect()
    }
}

/// The overridden address of `at`, if any.
pub(crate) fn overridden(overrides: &[ResolveOverride], at: &HostPort) -> Option<IpAddr> {
    overrides.iter().find(|o| o.at == *at).map(|o| o.address)
}

/// A name with a dot in it is meant as it stands: search domains would only multiply the questions.
fn absolute(name: &str) -> String {
    if name.contains('.') && !name.ends_with('.') { format!("{name}.") } else { name.to_owned() }
}

fn no_server() -> LookupError {
    LookupError::new("no name server is configured on this machine")
}

/// An answer with the instant until which it may be used.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) result: Result<Arc<[IpAddr]>, LookupError>,
    pub(crate) until: Instant,
}

struct Question {
    host: String,
    reply: oneshot::Sender<Answer>,
}

/// The way from the workers to the thread that resolves names for all of them.
#[derive(Clone)]
pub(crate) struct Lookups(mpsc::UnboundedSender<Question>);

impl Lookups {
    /// Starts the thread; it ends when the last clone is gone.
    pub(crate) fn start(resolver: impl FnOnce() -> Resolver + Send + 'static) -> std::io::Result<Lookups> {
        let (ask, questions) = mpsc::unbounded_channel();
        let (ready, readiness) = std::sync::mpsc::channel();
        std::thread::Builder::new().name("oleada-dns".into()).spawn(move || {
            match tokio::runtime::Builder::new_current_thread().enable_all().build_local(Default::default()) {
                Ok(runtime) => {
                    let _ = ready.send(Ok(()));
                    runtime.block_on(answer_all(resolver(), questions));
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        })?;
        readiness.recv().unwrap_or_else(|_| Err(std::io::Error::other("a thread died")))?;
        Ok(Lookups(ask))
    }

    /// Resolves `host`, sharing cached answers and lookups under way.
    pub(crate) async fn ask(&self, host: &str) -> Answer {
        let (reply, answer) = oneshot::channel();
        let sent = self.0.send(Question { host: host.to_owned(), reply });
        let gone =
            || Answer { result: Err(LookupError::new("the resolver has stopped")), until: Instant::now() + LEAST_TTL };
        if sent.is_err() { gone() } else { answer.await.unwrap_or_else(|_| gone()) }
    }
}

enum Known {
    Answered(Answer),
    /// Asked; these wait for the answer.
    Asked(Vec<oneshot::Sender<Answer>>),
}

async fn answer_all(resolver: Resolver, mut questions: mpsc::UnboundedReceiver<Question>) {
    let resolver = Rc::new(resolver);
    let known: Rc<RefCell<HashMap<String, Known>>> = Rc::default();
    while let Some(Question { host, reply }) = questions.recv().await {
        let mut map = known.borrow_mut();
        match map.get_mut(&host) {
            Some(Known::Asked(waiting)) => {
                waiting.push(reply);
                continue;
            }
            Some(Known::Answered(answer)) if answer.until > Instant::now() => {
                let _ = reply.send(answer.clone());
                continue;
            }
            _ => {}
        }
        map.insert(host.clone(), Known::Asked(vec![reply]));
        drop(map);
        let (resolver, known) = (resolver.clone(), known.clone());
        tokio::task::spawn_local(async move {
            let answer = match resolver.lookup(&host).await {
                Ok((addresses, until)) => Answer { result: Ok(addresses.into()), until },
                Err(error) => Answer { result: Err(error), until: Instant::now() + LEAST_TTL },
            };
            let before = known.borrow_mut().insert(host, Known::Answered(answer.clone()));
            if let Some(Known::Asked(waiting)) = before {
                waiting.into_iter().for_each(|reply| drop(reply.send(answer.clone())));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_read_from_text() {
        let o: ResolveOverride = "shop.test:80:127.0.0.1".parse().unwrap();
        assert_eq!((o.at.to_string().as_str(), o.address.to_string().as_str()), ("shop.test:80", "127.0.0.1"));
        let o: ResolveOverride = "Shop.test:8443:[::1]".parse().unwrap();
        assert_eq!((o.at.to_string().as_str(), o.address.to_string().as_str()), ("shop.test:8443", "::1"));
        assert_eq!("shop.test:443:::1".parse::<ResolveOverride>().unwrap().address.to_string(), "::1");
        for bad in ["shop.test", "shop.test:80", "shop.test:x:127.0.0.1", "shop.test:80:nowhere", ""] {
            assert!(bad.parse::<ResolveOverride>().unwrap_err().contains("HOST:PORT:ADDRESS"), "{bad}");
        }
    }

    #[test]
    fn the_hosts_file_and_overrides_answer_without_a_server() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let resolver = Resolver::new(vec!["shop.test:80:127.0.0.9".parse().unwrap()]);
        runtime.block_on(async {
            assert_eq!(resolver.lookup_ip("shop.test").await.unwrap(), ["127.0.0.9".parse::<IpAddr>().unwrap()]);
            assert_eq!(resolver.lookup_ip("[::1]").await.unwrap(), ["::1".parse::<IpAddr>().unwrap()]);
            assert!(resolver.lookup_ip("localhost").await.unwrap().iter().all(|a| a.is_loopback()));
        });
        let lookups = Lookups::start(|| Resolver::new(Vec::new())).unwrap();
        let answer = runtime.block_on(lookups.ask("localhost"));
        assert!(!answer.result.unwrap().is_empty() && answer.until > Instant::now());
    }
}

//! What the server itself asks of foreign hosts: proofs of ownership, and data of tests that lie elsewhere. Whatever is dialled passes
//! the address policy after its name was resolved.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use oleada_engine::net::{AddressPolicy, Refused, Resolver};
use oleada_engine::plan::{Host, Target, limits};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header;
use tokio::sync::{OnceCell, Semaphore};

use crate::config::Config;
use crate::hosts::proof;

/// For one request, in most cases.
pub const REQUEST: Duration = Duration::from_secs(10);
/// Redirects followed.
pub const HOPS: usize = 3;
/// For a file of data, all of it.
const FILE: Duration = Duration::from_secs(30);
/// Files fetched at once; more wait.
const FILES_AT_ONCE: usize = 4;
/// The name by which a file of data is asked for.
const FILE_AGENT: &str = concat!("oleada/", env!("CARGO_PKG_VERSION"));

/// The way out.
pub struct Outgoing {
    policy: AddressPolicy,
    resolver: Arc<Resolver>,
    client: OnceCell<reqwest::Client>,
    files: Semaphore,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nobody there, or somebody who does not speak this scheme: the other one may be tried.
    Connection(String),
    /// There is somebody, but the answer is of no use.
    Answer(String),
}

impl Failure {
    /// What is wrong, in a sentence.
    pub fn sentence(self) -> String {
        match self {
            Failure::Connection(text) | Failure::Answer(text) => text,
        }
    }
}

impl Outgoing {
    /// With this installation's policy.
    pub fn new(config: &Config) -> Outgoing {
        Outgoing {
            policy: config.address_policy(),
            resolver: Arc::new(Resolver::new(Vec::new())),
            client: OnceCell::new(),
            files: Semaphore::new(FILES_AT_ONCE),
        }
    }

    /// For questions other than addresses.
    pub fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Asks once; redirects are not followed.
    ///
    /// # Errors
    /// [`Failure`], also for an address that may not be dialled.
    pub async fn get(&self, target: &Target, agent: &str, timeout: Duration) -> Result<reqwest::Response, Failure> {
        if let Host::Ip(address) = target.at.host {
            self.policy.check(address).map_err(|refused| Failure::Answer(refused.reason))?;
        }
        let client = self.client.get_or_try_init(|| async { client(&self.policy, &self.resolver) }).await;
        let client = client.map_err(|error| Failure::Answer(format!("Oleada cannot ask anybody: {error}.")))?;
        client
            .get(target.to_string())
            .header(header::ACCEPT_ENCODING, "identity")
            .header(header::USER_AGENT, agent)
            .timeout(timeout)
            .send()
            .await
            .map_err(|error| in_words(&error))
    }

    /// Fetches a file of data, up to [`limits::DATA_FILE_BYTES`]; redirects are followed wherever the policy lets them lead.
    ///
    /// # Errors
    /// A sentence that says what was wrong.
    pub async fn file(&self, url: &str) -> Result<String, String> {
        let mut target = Target::parse(url.trim()).map_err(|error| format!("The address {error}."))?;
        let _turn = self.files.acquire().await.map_err(|_| "Oleada is ending.".to_owned())?;
        for _ in 0..=HOPS {
            let response = self.get(&target, FILE_AGENT, FILE).await.map_err(Failure::sentence)?;
            let Some(location) = location_of(&response) else { return text(response).await };
            target = target
                .join(&location)
                .map_err(|_| format!("It redirects to something that is no address: {}.", proof::inert(&location)))?;
        }
        Err(format!("It redirects more than {HOPS} times."))
    }
}

/// The whole body as text.
async fn text(mut response: reqwest::Response) -> Result<String, String> {
    let status = response.status().as_u16();
    if status != 200 {
        return Err(format!("The answer had status {status}; it must be 200."));
    }
    if let Some(packed) = response.headers().get(header::CONTENT_ENCODING).filter(|v| v.as_bytes() != b"identity") {
        let packed = String::from_utf8_lossy(packed.as_bytes()).into_owned();
        return Err(format!(
            "The answer is packed ({}), although an unpacked one was asked for.",
            proof::inert(&packed)
        ));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| in_words(&error).sentence())? {
        if body.len() + chunk.len() > limits::DATA_FILE_BYTES {
            return Err(format!("It is larger than {} MB.", limits::DATA_FILE_BYTES / 1_000_000));
        }
        body.extend_from_slice(&chunk);
    }
    String::from_utf8(body).map_err(|_| "It holds characters that are not UTF-8: save the file as UTF-8.".to_owned())
}

/// Where a redirect leads.
pub fn location_of(response: &reqwest::Response) -> Option<String> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(header::LOCATION).filter(|_| redirects)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

/// What went wrong, in a sentence: the innermost reason says most.
pub fn in_words(error: &reqwest::Error) -> Failure {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        if let Some(refused) = source.downcast_ref::<Refused>() {
            return Failure::Answer(refused.reason.clone());
        }
        innermost = source;
    }
    if error.is_timeout() {
        return Failure::Answer("There was no complete answer in time.".to_owned());
    }
    let reason = proof::inert(&innermost.to_string());
    if error.is_connect() {
        return Failure::Connection(format!("No connection: {reason}."));
    }
    if error.is_request() {
        return Failure::Connection(format!("There was a connection, but no HTTP answer: {reason}."));
    }
    Failure::Answer(format!("The answer could not be read: {reason}."))
}

/// Follows nothing, keeps nothing, uses no proxy, and dials only what the policy allows.
fn client(policy: &AddressPolicy, resolver: &Arc<Resolver>) -> anyhow::Result<reqwest::Client> {
    let guarded = Guarded { policy: policy.clone(), resolver: resolver.clone() };
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config()?)
        .http1_only()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .pool_max_idle_per_host(0)
        .connect_timeout(Duration::from_secs(5))
        .dns_resolver(Arc::new(guarded))
        .build()?)
}

/// Mozilla's roots and the machine's own, as the load generator has them: what a test can reach, a check can.
fn tls_config() -> anyhow::Result<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Resolves names, and forgets the addresses that may not be dialled.
struct Guarded {
    policy: AddressPolicy,
    resolver: Arc<Resolver>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, resolver) = (self.policy.clone(), self.resolver.clone());
        Box::pin(async move {
            let found = resolver.lookup_ip(name.as_str()).await?;
            let (mut allowed, mut refused) = (Vec::new(), None);
            for address in found {
                match policy.check(address) {
                    Ok(()) => allowed.push(SocketAddr::new(address, 0)),
                    Err(why) => refused = Some(why),
                }
            }
            match refused {
                Some(why) if allowed.is_empty() => Err(why.into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

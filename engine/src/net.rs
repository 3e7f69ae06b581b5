//! The generator: runs a [`Plan`] on threads of its own and yields one [`Window`] a second.
//!
//! Workers are single-threaded; each has its own connections, clients and recorder, and they meet once a second in the
//! collector. Nothing on a worker's path takes a lock, touches an atomic or allocates for a request on a warm connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::plan::{HostPort, Plan, PlanErrors};
use crate::result::EndReason;
use crate::window::Window;

mod client;
mod collector;
mod conn;
mod control;
pub mod cookies;
mod dial;
mod dns;
mod fill;
mod health;
pub mod http1;
mod http2;
mod identity;
mod pace;
mod policy;
mod recorder;
mod rows;
mod scenario;
mod shared;
mod slots;
mod stream;
mod tls;
mod trace;
mod worker;

pub use dns::{LookupError, ResolveOverride, Resolver};
pub use identity::{ClientIdentity, IdentityError};
pub use ipnet::IpNet;
pub use policy::{AddressPolicy, Refused};
pub use shared::check_descriptors;
pub use trace::trace;

/// How a plan is run: what belongs to the installation rather than to the plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads; absent = one per processor. Never more than there are clients.
    pub threads: Option<usize>,
    /// Which addresses may be dialled.
    pub policy: AddressPolicy,
    /// `User-Agent` of requests that set none.
    pub user_agent: String,
    /// Addresses that win over name resolution.
    pub resolve: Vec<ResolveOverride>,
    /// Name server that is asked instead of the system's; the hosts file still comes first.
    pub dns_server: Option<SocketAddr>,
    /// Hosts that redirects may lead to, besides the plan's own.
    pub redirect_hosts: Vec<HostPort>,
    /// Shown to every target that asks for a client certificate.
    pub client_identity: Option<ClientIdentity>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: None,
            policy: AddressPolicy::local(),
            user_agent: concat!("oleada/", env!("CARGO_PKG_VERSION")).to_owned(),
            resolve: Vec::new(),
            dns_server: None,
            redirect_hosts: Vec::new(),
            client_identity: None,
        }
    }
}

/// Why a run could not start. The text is a whole sentence.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A thread or its event loop could not be made.
    #[error("The generator's threads could not be started: {0}.")]
    Threads(std::io::Error),
    /// The precise timer could not be made.
    #[error("The system has no precise timer for the generator (timerfd): {0}.")]
    Timer(std::io::Error),
    /// The open-files limit is below the number of clients.
    #[error(
        "The plan needs {needed} open files, its connections among them, but this process may open only {available}; raise the limit (ulimit -n)."
    )]
    Descriptors {
        /// Connections and the engine's own files.
        needed: u64,
        /// The hard limit.
        available: u64,
    },
    /// An expression of the plan cannot be read ([`check`]).
    #[error("The plan cannot run: {0}.")]
    Plan(#[from] PlanErrors),
    /// The TLS library refused its configuration.
    #[error("TLS could not be set up: {0}.")]
    Tls(String),
    /// A host of the plan has no address ([`preflight`] only).
    #[error("{host} could not be resolved: {reason}.")]
    Name {
        /// The host.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// No address of a host may be dialled ([`preflight`] only).
    #[error("{host} may not be tested: {reason}")]
    Address {
        /// The host.
        host: String,
        /// A whole sentence.
        reason: String,
    },
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event {
    /// A second is complete: all workers' results, merged. Every second comes, in order, empty ones too.
    Second(Box<Window>),
    /// The last event.
    Finished(Box<RunEnd>),
}

/// What is known only at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// Why it ended.
    pub end_reason: EndReason,
    /// First instant of the plan to the last event; at least the planned length if it was not stopped.
    pub duration: Duration,
    /// Ages in µs of the requests that were cut, oldest first; at most [`crate::plan::limits::IN_FLIGHT_AGES`].
    pub in_flight_at_end_us: Vec<u64>,
    /// Worker threads.
    pub threads: u32,
    /// Processor time of the workers in seconds.
    pub cpu_s: f64,
    /// Most memory the process held, in MB; `None` when the system does not say.
    pub max_rss_mb: Option<f64>,
    /// Arrivals that had to wait because [`Plan::max_clients`] were at work.
    pub clients_capped: u64,
}

/// A run under way. Dropping it cuts the run at once.
#[derive(Debug)]
pub struct Running {
    events: mpsc::UnboundedReceiver<Event>,
    stopper: Stopper,
    started_at_unix_ms: i64,
    threads: u32,
}

impl Running {
    /// The next event; `None` after [`Event::Finished`].
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next event, for threads outside an async runtime.
    pub fn next_blocking(&mut self) -> Option<Event> {
        self.events.blocking_recv()
    }

    /// A handle that ends the run.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Wall clock at the first instant of the plan (after a warm-up), in unix milliseconds.
    pub fn started_at_unix_ms(&self) -> i64 {
        self.started_at_unix_ms
    }

    /// Worker threads.
    pub fn threads(&self) -> u32 {
        self.threads
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.interrupt();
    }
}

/// Ends a run; the first call decides the reason.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<control::Control>);

impl Stopper {
    /// By a person: no new request, what is in flight has at most 1 s.
    pub fn stop(&self) {
        self.0.stop(EndReason::Stopped);
    }

    /// As [`Stopper::stop`], with another reason, such as [`EndReason::Limit`].
    pub fn stop_because(&self, reason: EndReason) {
        self.0.stop(reason);
    }

    /// For a shutdown: everything is cut at once.
    pub fn interrupt(&self) {
        self.0.interrupt();
    }
}

/// Checks, before a run, that every host of the plan resolves and has an address that may be dialled.
///
/// # Errors
/// [`StartError::Name`] and [`StartError::Address`]. The run checks again at every connection.
pub async fn preflight(plan: &Plan, options: &Options) -> Result<(), StartError> {
    let resolver = Resolver::asking(options.resolve.clone(), options.dns_server);
    for at in plan.hosts() {
        let addresses = resolver
            .lookup_at(&at)
            .await
            .map_err(|e| StartError::Name { host: at.to_string(), reason: e.to_string() })?;
        let verdicts: Vec<_> = addresses.iter().map(|a| options.policy.check(*a)).collect();
        if let Some(Err(refused)) = verdicts.iter().find(|v| v.is_err()).filter(|_| verdicts.iter().all(Result::is_err))
        {
            return Err(StartError::Address { host: at.to_string(), reason: refused.reason.clone() });
        }
    }
    Ok(())
}

/// Checks what only the generator can: that every path, regular expression and selector of the plan can be read.
///
/// # Errors
/// The fields `requests[i].extract` and `requests[i].assert` with what is wrong.
pub fn check(plan: &Plan) -> Result<(), PlanErrors> {
    scenario::compile(plan, &mut fill::Variables::of(plan)).map(drop)
}

/// Starts a run. The engine has threads of its own; this returns as soon as they are ready.
///
/// # Errors
/// [`StartError`] when the machine lacks something; what the target does is never an error here.
pub fn start(plan: Plan, options: Options) -> Result<Running, StartError> {
    let control = Arc::new(control::Control::new());
    let (events, receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(shared::Shared::new(plan, options, control.clone())?);
    let epoch = collector::launch(&shared, events)?;
    let started = std::time::SystemTime::now() + epoch.saturating_duration_since(Instant::now());
    let started_at_unix_ms = started.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
    Ok(Running { events: receiver, stopper: Stopper(control), started_at_unix_ms, threads: shared.threads as u32 })
}

//! What all workers of a run share, read-only but for the tickets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_rustls::TlsConnector;

use super::control::Control;
use super::dns::{Lookups, Resolver, overridden};
use super::http1::{RequestBytes, Style, request_bytes};
use super::{Options, StartError, health, tls};
use crate::arrivals::Population;
use crate::plan::{Host, HostPort, Load, Method, Plan, Reuse, Scheme, Target};

/// Connections a worker needs besides its clients': event loop, timer, wake-up; and the process' own files.
const OWN_DESCRIPTORS: u64 = 64;
/// Tickets taken at once by a worker, at most.
const MOST_TICKETS: u64 = 64;

/// One request of the list, ready to be written.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) wire: RequestBytes,
}

pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) options: Options,
    pub(super) control: Arc<Control>,
    pub(super) threads: usize,
    pub(super) prepared: Vec<Prepared>,
    pub(super) tls: Option<TlsConnector>,
    pub(super) lookups: Option<Lookups>,
    pub(super) reuse: bool,
    tickets: AtomicU64,
    clients: u64,
    hosts: Vec<HostPort>,
}

impl Shared {
    pub(super) fn new(plan: Plan, mut options: Options, control: Arc<Control>) -> Result<Shared, StartError> {
        options.user_agent.retain(|c| !c.is_control());
        let reuse = plan.spec().reuse == Reuse::Client;
        let style = Style { user_agent: &options.user_agent, close: !reuse, other_host: false };
        let prepared: Vec<Prepared> = plan
            .requests()
            .iter()
            .map(|r| Prepared {
                method: r.method,
                target: r.target.clone(),
                wire: request_bytes(r, &r.target, r.method, style),
            })
            .collect();
        let clients = most_clients(&plan);
        let tickets = match plan.load() {
            Load::FixedCount { requests, .. } => requests,
            _ => 0,
        };
        check_descriptors(&plan)?;
        let mut hosts = plan.hosts();
        hosts.extend(options.redirect_hosts.iter().cloned());
        let named = |at: &HostPort| matches!(at.host, Host::Name(_)) && overridden(&options.resolve, at).is_none();
        let lookups = if hosts.iter().any(named) {
            let server = options.dns_server;
            Some(Lookups::start(move || Resolver::asking(Vec::new(), server)).map_err(StartError::Threads)?)
        } else {
            None
        };
        let encrypted = prepared.iter().any(|p| p.target.scheme == Scheme::Https) || follows_to_tls(&plan);
        let tls = if encrypted {
            let identity = options.client_identity.as_ref();
            Some(tls::connector(plan.spec(), identity).map_err(|e| StartError::Tls(e.to_string()))?)
        } else {
            None
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options
            .threads
            .unwrap_or(processors)
            .clamp(1, 256)
            .min(usize::try_from(clients).unwrap_or(usize::MAX))
            .max(1);
        Ok(Shared {
            plan,
            options,
            control,
            threads,
            prepared,
            tls,
            lookups,
            reuse,
            tickets: tickets.into(),
            clients,
            hosts,
        })
    }

    /// Takes some of the tickets that are left; 0 = none. The fewer are left, the fewer at once, so that no worker sits on
    /// work that another could do.
    pub(super) fn take_tickets(&self) -> u64 {
        let chunk = |left: u64| (left / (4 * self.clients.max(1))).clamp(1, MOST_TICKETS).min(left);
        self.tickets
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| (left > 0).then(|| left - chunk(left)))
            .map_or(0, chunk)
    }

    /// Whether a redirect may lead to `at`.
    pub(super) fn allows(&self, at: &HostPort) -> bool {
        self.hosts.contains(at)
    }

    /// `worker`'s part of `total`.
    pub(super) fn part_of(&self, total: u64, worker: usize) -> u64 {
        let (threads, worker) = (self.threads as u64, worker as u64);
        total / threads + u64::from(worker < total % threads)
    }
}

/// A plain plan may be redirected to TLS on a host it is allowed to reach.
fn follows_to_tls(plan: &Plan) -> bool {
    plan.spec().redirects == crate::plan::Redirects::Follow
        && plan.requests().iter().any(|r| matches!(r.target.at.host, Host::Name(_)))
}

/// Most clients at one instant.
fn most_clients(plan: &Plan) -> u64 {
    match plan.load() {
        Load::FixedCount { requests, clients } => u64::from(clients).min(requests),
        Load::Maintain { .. } => Population::of(plan).map_or(0, |all| u64::from(all.most())),
        Load::PerTest { clients } => u64::from(plan.max_clients()).min(clients),
        Load::PerSecond { .. } => u64::from(plan.max_clients()),
    }
}

/// Raises this process' limit of open files as far as it may, and checks that the plan's clients have room in it. [`super::start`]
/// does so too; a program that needs files of its own before that asks here.
///
/// # Errors
/// [`StartError::Descriptors`].
pub fn check_descriptors(plan: &Plan) -> Result<(), StartError> {
    let Some(available) = health::raise_descriptors() else { return Ok(()) };
    // How many clients an open model has at once shows only in the run; what finds no descriptor then is a result.
    let needed = if plan.load().is_open() { 1 } else { most_clients(plan) } + OWN_DESCRIPTORS;
    if needed > available {
        return Err(StartError::Descriptors { needed, available });
    }
    Ok(())
}

//! What all workers of a run share, read-only but for the tickets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_rustls::TlsConnector;

use super::control::Control;
use super::dns::{Lookups, Resolver, overridden};
use super::fill::{Form, Variables};
use super::http1::{RequestBytes, Style, request_bytes};
use super::rows::Rows;
use super::scenario::{self, Step};
use super::{Options, StartError, health, tls};
use crate::arrivals::Population;
use crate::plan::scenario::Order;
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
    /// As it is sent each time, unless there is a form.
    pub(super) wire: RequestBytes,
    /// What is filled in each time.
    pub(super) form: Option<Form>,
    /// What is done with the reply.
    pub(super) step: Option<Step>,
}

impl Prepared {
    /// The body of the reply is read, and must not come packed.
    pub(super) fn identity(&self) -> bool {
        self.step.as_ref().is_some_and(Step::wants_body)
    }
}

/// Weights of the requests, where they are drawn: the sums up to and with each.
#[derive(Clone, Debug)]
pub(super) struct Weights(Arc<[u64]>);

impl Weights {
    /// The weights of a plan; `None` where nothing is drawn.
    pub(super) fn of(plan: &Plan) -> Option<Weights> {
        let mut sum = 0;
        let sums = plan.requests().iter().map(|request| {
            sum += u64::from(request.weight);
            sum
        });
        (plan.spec().order == Order::Weighted).then(|| Weights(sums.collect()))
    }

    /// The request that any 64 bits stand for.
    pub(super) fn draw(&self, bits: u64) -> usize {
        let sum = self.0.last().copied().unwrap_or(1);
        let point = ((u128::from(bits) * u128::from(sum)) >> 64) as u64;
        self.0.partition_point(|up_to| *up_to <= point)
    }

    /// The request of arrival `n`: always the same one, so that it can be told also of a client that is never let in.
    pub(super) fn of_arrival(&self, n: u64) -> usize {
        // splitmix64: neighbouring numbers give bits that have nothing in common.
        let mut bits = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.draw(bits ^ bits >> 31)
    }
}

pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) options: Options,
    pub(super) control: Arc<Control>,
    pub(super) threads: usize,
    pub(super) prepared: Vec<Prepared>,
    pub(super) variables: Variables,
    /// Lists of numbers among the places.
    pub(super) lists: usize,
    pub(super) rows: Option<Arc<Rows>>,
    pub(super) weights: Option<Weights>,
    pub(super) tls: Option<TlsConnector>,
    pub(super) lookups: Option<Lookups>,
    pub(super) reuse: bool,
    tickets: AtomicU64,
    clients: u64,
    hosts: Vec<HostPort>,
}

impl Shared {
    pub(super) fn new(plan: Plan, options: Options, control: Arc<Control>) -> Result<Shared, StartError> {
        Shared::build(plan, options, control, false)
    }

    /// For one client, however many the plan has.
    pub(super) fn for_one_client(plan: Plan, options: Options, control: Arc<Control>) -> Result<Shared, StartError> {
        Shared::build(plan, options, control, true)
    }

    fn build(plan: Plan, mut options: Options, control: Arc<Control>, alone: bool) -> Result<Shared, StartError> {
        options.user_agent.retain(|c| !c.is_control());
        let reuse = plan.spec().reuse == Reuse::Client;
        let mut variables = Variables::of(&plan);
        let mut lists = 0;
        let mut prepared = Vec::new();
        for (request, step) in plan.requests().iter().zip(scenario::compile(&plan, &mut variables)?) {
            let identity = step.as_ref().is_some_and(Step::wants_body);
            let style = Style { user_agent: &options.user_agent, close: !reuse, other_host: false, identity };
            prepared.push(Prepared {
                method: request.method,
                target: request.target.clone(),
                wire: request_bytes(request, &request.target, request.method, style),
                form: request.filled.as_ref().map(|filled| Form::new(filled, &mut variables, &mut lists)),
                step,
            });
        }
        let rows = plan.spec().data.as_ref().map(|data| Arc::new(Rows::of(data)));
        let clients = most_clients(&plan);
        let tickets = match plan.load() {
            Load::FixedCount { requests, .. } => requests,
            _ => 0,
        };
        if !alone {
            check_descriptors(&plan)?;
        }
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
            weights: Weights::of(&plan),
            plan,
            options,
            control,
            threads,
            prepared,
            variables,
            lists,
            rows,
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

    /// Whether all tickets are taken.
    pub(super) fn out_of_tickets(&self) -> bool {
        self.tickets.load(Ordering::Relaxed) == 0
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanSpec, RequestSpec};

    #[test]
    fn requests_are_drawn_by_their_weights() {
        let request = |weight| RequestSpec { url: "http://a.test/".into(), weight, ..Default::default() };
        let requests = vec![request(1), request(2), request(7)];
        let plan = Plan::try_from(PlanSpec { requests, order: Order::Weighted, ..Default::default() }).unwrap();
        let weights = Weights::of(&plan).unwrap();
        assert_eq!([0, u64::MAX / 10, u64::MAX / 10 + 2, u64::MAX].map(|bits| weights.draw(bits)), [0, 0, 1, 2]);
        let mut drawn = [0u32; 3];
        (0..10_000).for_each(|n| drawn[weights.of_arrival(n)] += 1);
        assert!(drawn.iter().zip([1000, 2000, 7000]).all(|(n, wanted)| n.abs_diff(wanted) < 200), "{drawn:?}");
        assert!((0..100).all(|n| weights.of_arrival(n) == weights.of_arrival(n)));
    }
}

//! One client: walks the plan's requests in order with its own connections and cookies.

use std::rc::Rc;
use std::time::{Instant, SystemTime};

use super::conn::{Around, Complete, Conn, Message, Wire};
use super::cookies::Jar;
use super::dial::{DialTimes, Failure, dial};
use super::http1::response::Reader;
use super::http1::{Style, redirected_method, request_bytes};
use super::recorder::{Flight, Tally};
use super::slots::Slot;
use super::worker::Worker;
use crate::outcome::ErrorKind;
use crate::plan::{Method, Redirects, Target, limits};

/// Pause after a limit of our own machine was met, in closed models: trying again at once would only burn the processor.
const AFTER_LOCAL_LIMIT: std::time::Duration = std::time::Duration::from_millis(20);

/// How long a client goes on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Walk {
    /// Once through the list; due at this instant (open models).
    Once(Instant),
    /// Again and again until this instant.
    Until(Instant),
    /// Again and again as long as there are tickets.
    Tickets,
}

pub(super) struct Client {
    worker: Rc<Worker>,
    id: usize,
    slot: Rc<Slot>,
    conns: Vec<(usize, Conn)>,
    jar: Jar,
    reader: Reader,
    /// Arrived during the warm-up (open models).
    warm: bool,
}

/// Where the request goes after a redirect.
struct Hop {
    target: Target,
    method: Method,
    bytes: Vec<u8>,
    body_waits: bool,
}

impl Client {
    pub(super) fn new(worker: Rc<Worker>, id: usize, slot: Rc<Slot>, warm: bool) -> Client {
        Client { worker, id, slot, conns: Vec::new(), jar: Jar::default(), reader: Reader::new(), warm }
    }

    pub(super) async fn walk(mut self, walk: Walk) {
        let count = self.worker.shared.prepared.len();
        let mut due = match walk {
            Walk::Once(due) => Some(due),
            Walk::Until(_) | Walk::Tickets => None,
        };
        let mut index = 0;
        let mut first = true;
        while let Some(now) = self.may_go_on(walk, index, first) {
            let answered = self.request(index, now, due, first).await;
            if !answered {
                self.after_failure().await;
            }
            first = false;
            index = (index + 1) % count;
            due = due.map(|_| Instant::now());
        }
    }

    /// The instant at which the next request begins; `None` when there is none.
    fn may_go_on(&self, walk: Walk, index: usize, first: bool) -> Option<Instant> {
        if self.slot.fired() == Some(ErrorKind::Aborted) {
            return None;
        }
        let now = Instant::now();
        let may = match walk {
            Walk::Once(_) if index == 0 && !first => false,
            Walk::Once(_) if first => self.worker.may_arrive(now, self.warm),
            Walk::Once(_) => self.worker.may_begin(now, self.warm),
            Walk::Until(leave) => now < leave && self.worker.may_begin(now, false),
            Walk::Tickets => {
                self.worker.may_begin(now, false) && (now < self.worker.start || self.worker.take_ticket())
            }
        };
        may.then_some(now)
    }

    /// A failure may have come without waiting for anything: others get their turn.
    async fn after_failure(&self) {
        if self.worker.local_limit.take() && !self.worker.is_open_model() {
            #[expect(clippy::disallowed_methods, reason = "a pause of no exact length")]
            let _ = self.slot.guard(tokio::time::sleep(AFTER_LOCAL_LIMIT)).await;
        }
        tokio::task::yield_now().await;
    }

    /// One request of the list with its redirects. True when there was a complete reply.
    async fn request(&mut self, index: usize, begun: Instant, due: Option<Instant>, arrival: bool) -> bool {
        let worker = self.worker.clone();
        let flight = Flight { index, due, begun, warm: self.warm || begun < worker.start };
        if !flight.warm {
            let lateness = due.filter(|_| arrival).map(|due| begun.saturating_duration_since(due));
            worker.recorder.borrow_mut().begin(&flight, lateness);
        }
        let mut wire = Wire::default();
        let mut tally = Tally::default();
        let ended = self.follow(&flight, &mut wire, &mut tally).await;
        self.slot.disarm();
        let answered = ended.is_ok();
        if let Err(failure) = &ended {
            worker
                .local_limit
                .set(matches!(failure.kind, ErrorKind::NoDescriptors | ErrorKind::NoPorts | ErrorKind::LocalLimit));
        }
        if !flight.warm {
            let mut recorder = worker.recorder.borrow_mut();
            match ended {
                Ok(complete) => recorder.answered(&flight, self.reader.head(), &wire, &tally, complete.at),
                Err(failure) => recorder.failed(&flight, &failure, &wire, &tally, Instant::now()),
            }
        }
        answered
    }

    /// The exchange, and those that redirects lead to.
    async fn follow(&mut self, flight: &Flight, wire: &mut Wire, tally: &mut Tally) -> Result<Complete, Failure> {
        let worker = self.worker.clone();
        let prepared = &worker.shared.prepared[flight.index];
        let origin = worker.plan_origins[flight.index];
        let mut message =
            Message { bytes: &prepared.wire.bytes, method: prepared.method, body_waits: prepared.wire.body_waits };
        let mut complete = if self.jar.is_empty() {
            self.attempt(flight, origin, message, wire, tally).await?
        } else {
            let bytes = self.with_cookies(&prepared.target, &prepared.wire.bytes, prepared.wire.head_end);
            message.bytes = &bytes;
            self.attempt(flight, origin, message, wire, tally).await?
        };
        self.keep_cookies(&prepared.target);
        if self.reader.head().location.is_none() || worker.shared.plan.spec().redirects != Redirects::Follow {
            return Ok(complete);
        }
        let mut hops = 0;
        let (mut target, mut method) = (prepared.target.clone(), prepared.method);
        while let Some(hop) = self.next_hop(flight.index, &target, method, tally) {
            if hops >= limits::REDIRECT_HOPS {
                return Err(Failure::plain(ErrorKind::RedirectLoop));
            }
            hops += 1;
            tally.followed += 1;
            let origin = worker.origin(&hop.target);
            let message = Message { bytes: &hop.bytes, method: hop.method, body_waits: hop.body_waits };
            complete = Box::pin(self.attempt(flight, origin, message, wire, tally)).await?;
            (target, method) = (hop.target, hop.method);
            self.keep_cookies(&target);
        }
        Ok(complete)
    }

    /// What the redirect just received leads to, if it may be followed.
    fn next_hop(&self, index: usize, from: &Target, method: Method, tally: &mut Tally) -> Option<Hop> {
        let status = self.reader.head().status;
        let location = self.reader.head().location.as_deref()?;
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let shared = &self.worker.shared;
        let target = from.join(location).ok().filter(|t| shared.allows(&t.at));
        let Some(target) = target else {
            tally.refused += 1;
            return None;
        };
        let request = &shared.plan.requests()[index];
        let method = redirected_method(method, status);
        let style = Style {
            user_agent: &shared.options.user_agent,
            close: !shared.reuse,
            other_host: target.at != request.target.at || target.scheme != request.target.scheme,
        };
        let built = request_bytes(request, &target, method, style);
        let bytes = self.with_cookies(&target, &built.bytes, built.head_end);
        Some(Hop { target, method, bytes, body_waits: built.body_waits })
    }

    fn with_cookies(&self, target: &Target, bytes: &[u8], head_end: usize) -> Vec<u8> {
        let line = if self.jar.is_empty() { None } else { self.jar.line(target, SystemTime::now()) };
        let (head, rest) = bytes.split_at(head_end);
        [head, line.unwrap_or_default().as_bytes(), rest].concat()
    }

    #[inline]
    fn keep_cookies(&mut self, target: &Target) {
        if !self.reader.head().set_cookie.is_empty() {
            let now = SystemTime::now();
            for header in &self.reader.head().set_cookie {
                self.jar.set(target, header, now);
            }
        }
    }

    /// One exchange; once more on a new connection when a kept one turns out to be closed.
    async fn attempt(
        &mut self,
        flight: &Flight,
        origin: usize,
        message: Message<'_>,
        wire: &mut Wire,
        tally: &mut Tally,
    ) -> Result<Complete, Failure> {
        let worker = self.worker.clone();
        let mut again = false;
        loop {
            let mut conn = match self.kept(origin) {
                Some(mut conn) => {
                    if conn.is_alive(&worker.scratch).await {
                        conn
                    } else {
                        tally.reconnects += 1;
                        again = true;
                        drop(conn);
                        Box::pin(self.open(flight, origin, wire)).await?
                    }
                }
                None => Box::pin(self.open(flight, origin, wire)).await?,
            };
            let kept = conn.used;
            self.reader.start(message.method == Method::Head);
            let around = Around {
                slots: &worker.slots,
                id: self.id,
                slot: &self.slot,
                scratch: &worker.scratch,
                timeout: worker.timeout,
                idle_timeout: worker.idle_timeout,
            };
            match conn.exchange(&around, message, &mut self.reader, wire).await {
                Ok(complete) => {
                    tally.reused += u64::from(kept);
                    if complete.reusable && worker.shared.reuse {
                        self.conns.push((origin, conn));
                    }
                    return Ok(complete);
                }
                Err(lost) if (lost.refused || lost.untouched && kept) && !again && message.method.is_safe() => {
                    tally.reconnects += 1;
                    again = true;
                }
                Err(lost) => {
                    tally.reused += u64::from(kept);
                    return Err(lost.failure);
                }
            }
        }
    }

    #[inline]
    fn kept(&mut self, origin: usize) -> Option<Conn> {
        let at = self.conns.iter().position(|(o, _)| *o == origin)?;
        Some(self.conns.swap_remove(at).1)
    }

    async fn open(&mut self, flight: &Flight, origin: usize, wire: &Wire) -> Result<Conn, Failure> {
        let worker = self.worker.clone();
        let now = Instant::now();
        match wire.first_write.map(|written| written + worker.timeout) {
            Some(end) => worker.slots.arm(self.id, &self.slot, end, ErrorKind::Timeout),
            None => worker.slots.arm(self.id, &self.slot, now + worker.timeout, ErrorKind::ConnectTimeout),
        }
        let origin = worker.origin_at(origin);
        let mut times = DialTimes::default();
        let stream = dial(&worker.shared, &self.slot, &origin, &mut times).await;
        if !flight.warm {
            worker.recorder.borrow_mut().dialled(&times, Instant::now());
        }
        let stream = stream?;
        // After a stop nothing new reaches the target, not even on a connection that was already being made.
        if worker.is_stopped() {
            return Err(Failure::plain(ErrorKind::Aborted));
        }
        Conn::begin(stream, worker.shared.plan.spec().http, origin.scheme, &self.slot).await
    }
}

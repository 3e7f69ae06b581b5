//! One client: walks the plan's requests with its own connections, cookies and variables.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use super::conn::{Around, Complete, Conn, Message, Wire};
use super::cookies::Jar;
use super::dial::{DialTimes, Failure, dial};
use super::fill::{Fault, Source, Unfilled, Values};
use super::http1::kept::Failing;
use super::http1::response::Reader;
use super::http1::{RequestBytes, Style, redirected_method, request_bytes};
use super::recorder::{Flight, Seen, Sent, Tally};
use super::rows::{OwnRow, Row};
use super::scenario::{Findings, Reply, Step};
use super::slots::Slot;
use super::trace::{Observed, Observer};
use super::worker::Worker;
use crate::example::failed_kind;
use crate::outcome::{ErrorKind, Outcome};
use crate::plan::secrets::Mask;
use crate::plan::{Method, Redirects, Request, Target, limits};

/// Pause after a limit of our own machine was met, or after a whole list of which nothing could be sent, in closed models:
/// trying again at once would only burn the processor.
const AFTER_LOCAL_LIMIT: Duration = Duration::from_millis(20);

/// How often a client of a fixed count looks in its pauses whether others have taken all that is left, so that the run does
/// not end with a pause.
const TICKET_LOOK: Duration = Duration::from_millis(500);

/// How long a client goes on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Walk {
    /// Once through the list, or one request that was drawn; due at this instant (open models).
    Once { due: Instant, drawn: Option<usize> },
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
    values: Values,
    /// Its row of data, where no other client has the same.
    own_row: Option<OwnRow>,
    /// When it last began the list.
    began: Option<Instant>,
    /// Requests in a row that could not be sent.
    missed: usize,
    /// Arrived during the warm-up (open models), or is no part of a run.
    warm: bool,
    /// Who looks at every exchange; nobody in a run.
    pub(super) observer: Option<Box<Observer>>,
}

/// What became of a request, as far as its client minds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Became {
    Answered,
    Failed,
    NotSent,
}

/// A request with everything filled in.
struct FilledIn {
    request: Request,
    wire: RequestBytes,
}

/// Where the request goes after a redirect.
struct Hop {
    target: Target,
    method: Method,
    bytes: Vec<u8>,
    body_waits: bool,
}

impl Client {
    /// `number`: its own in the run.
    pub(super) fn new(worker: Rc<Worker>, id: usize, slot: Rc<Slot>, number: u64, warm: bool) -> Box<Client> {
        Box::new(Client {
            worker,
            id,
            slot,
            conns: Vec::new(),
            jar: Jar::default(),
            reader: Reader::new(),
            values: Values::of(number),
            own_row: None,
            began: None,
            missed: 0,
            warm,
            observer: None,
        })
    }

    /// Boxed, because a future keeps what it was given twice: as it came, and where it is used.
    pub(super) async fn walk(mut self: Box<Self>, walk: Walk) {
        let worker = self.worker.clone();
        let plan = &worker.shared.plan;
        let (length, think) = (plan.requests_per_walk() as usize, plan.spec().think);
        let mut due = match walk {
            Walk::Once { due, .. } => Some(due),
            Walk::Until(_) | Walk::Tickets => None,
        };
        let mut place = 0;
        let mut first = true;
        loop {
            if place == 0 && !self.begin_list(walk, first).await {
                return;
            }
            let Some(now) = self.may_go_on(walk, first) else { return };
            let index = match (&worker.shared.weights, walk) {
                (None, _) => place,
                (Some(_), Walk::Once { drawn: Some(drawn), .. }) => drawn,
                (Some(weights), _) => weights.draw(worker.supply.random.borrow_mut().u64(..)),
            };
            let became = self.request(index, now, due, first).await;
            if became == Became::NotSent {
                self.after_not_sent(walk).await;
            } else {
                self.missed = 0;
            }
            if became == Became::Failed {
                self.after_failure().await;
            }
            first = false;
            place = (place + 1) % length;
            if let Some(think) = think
                && !(place == 0 && due.is_some())
                && !(matches!(walk, Walk::Tickets) && worker.out_of_tickets())
            {
                Box::pin(self.rest(Instant::now() + worker.draw(think), walk, place == 0)).await;
            }
            due = due.map(|_| Instant::now());
        }
    }

    /// The next time through the list: its pace, its row of data. False when there is none.
    #[inline]
    async fn begin_list(&mut self, walk: Walk, first: bool) -> bool {
        if !first {
            if matches!(walk, Walk::Once { .. }) {
                return false;
            }
            self.values.iteration += 1;
        }
        let shared = &self.worker.shared;
        if shared.plan.spec().pacing.is_some() || shared.rows.is_some() {
            Box::pin(self.prepare(walk, first)).await
        } else {
            true
        }
    }

    async fn prepare(&mut self, walk: Walk, first: bool) -> bool {
        let worker = self.worker.clone();
        if let Some(pacing) = worker.shared.plan.spec().pacing {
            if let Some(began) = self.began {
                self.rest(began + worker.draw(pacing), walk, true).await;
            }
            self.began = Some(Instant::now());
        }
        // Nobody takes a row for a request that is not made any more.
        if worker.is_closed() || self.is_over(walk, first, Instant::now()) {
            return false;
        }
        let Some(rows) = worker.shared.rows.as_ref().filter(|_| self.own_row.is_none()) else { return true };
        self.values.row = match rows.take(&worker.supply) {
            Row::At(row) => Some(row),
            Row::Own(own) => Some(self.own_row.insert(own).row()),
            Row::Missing => None,
            Row::Stop => {
                // A client that finds no row was not planned, nor were those that come after it.
                worker.close(match walk {
                    Walk::Once { due, .. } => due,
                    Walk::Until(_) | Walk::Tickets => Instant::now(),
                });
                worker.shared.control.run_out_of_rows();
                return false;
            }
        };
        true
    }

    /// Whether no request begins any more, tickets aside.
    fn is_over(&self, walk: Walk, first: bool, now: Instant) -> bool {
        let may = match walk {
            Walk::Once { .. } if first => self.worker.may_arrive(now, self.warm),
            // Also one that came with the warm-up, whose pauses may be longer than the run.
            Walk::Once { .. } => self.worker.may_begin(now, false),
            Walk::Until(leave) => now < leave && self.worker.may_begin(now, false),
            Walk::Tickets => self.worker.may_begin(now, false),
        };
        !may || self.slot.fired() == Some(ErrorKind::Aborted)
    }

    /// The instant at which the next request begins; `None` when there is none.
    fn may_go_on(&self, walk: Walk, first: bool) -> Option<Instant> {
        let now = Instant::now();
        let taken = match walk {
            Walk::Once { .. } | Walk::Until(_) => true,
            Walk::Tickets => now < self.worker.start,
        };
        (!self.is_over(walk, first, now) && (taken || self.worker.take_ticket())).then_some(now)
    }

    /// Waits until `until`, but not when nothing begins after it; `between`: what comes next is the list's beginning.
    async fn rest(&self, until: Instant, walk: Walk, between: bool) {
        let leaves = match walk {
            Walk::Until(leave) => Some(leave),
            Walk::Once { .. } | Walk::Tickets => None,
        };
        let ends = [leaves, self.worker.end];
        let until = ends.into_iter().flatten().fold(until, Instant::min);
        let tickets = matches!(walk, Walk::Tickets);
        let next_look = |now| if tickets { until.min(now + TICKET_LOOK) } else { until };
        #[expect(clippy::disallowed_methods, reason = "people do not pause by the millisecond")]
        let mut sleep = pin!(tokio::time::sleep_until(next_look(Instant::now()).into()));
        poll_fn(|cx| {
            loop {
                if self.worker.is_stopped() || between && self.worker.is_closed() || self.slot.fired().is_some() {
                    return Poll::Ready(());
                }
                self.slot.park(cx);
                ready!(sleep.as_mut().poll(cx));
                let now = Instant::now();
                if now >= until || tickets && self.worker.out_of_tickets() {
                    return Poll::Ready(());
                }
                sleep.as_mut().reset(next_look(now).into());
            }
        })
        .await;
    }

    /// Others get their turn; and a client that can send nothing of its list does not try all the time.
    async fn after_not_sent(&mut self, walk: Walk) {
        self.missed += 1;
        let endless = matches!(walk, Walk::Until(_)) || Instant::now() < self.worker.start;
        if self.missed >= self.worker.shared.prepared.len() && endless {
            self.missed = 0;
            Box::pin(self.rest(Instant::now() + AFTER_LOCAL_LIMIT, walk, false)).await;
        }
        tokio::task::yield_now().await;
    }

    /// A failure may have come without waiting for anything: others get their turn.
    async fn after_failure(&self) {
        if self.worker.local_limit.take() && !self.worker.is_open_model() {
            #[expect(clippy::disallowed_methods, reason = "a pause of no exact length")]
            let _ = self.slot.guard(tokio::time::sleep(AFTER_LOCAL_LIMIT)).await;
        }
        tokio::task::yield_now().await;
    }

    /// Each request once, observed; neither counted nor timed.
    pub(super) async fn try_once(&mut self, walk: Walk) {
        if !self.begin_list(walk, true).await {
            return;
        }
        for index in 0..self.worker.shared.prepared.len() {
            if self.worker.is_stopped() {
                return;
            }
            if let Some(observer) = &mut self.observer {
                observer.begin(index);
            }
            self.request(index, Instant::now(), None, false).await;
        }
    }

    /// One request of the list with its redirects.
    async fn request(&mut self, index: usize, begun: Instant, due: Option<Instant>, arrival: bool) -> Became {
        let worker = self.worker.clone();
        let prepared = &worker.shared.prepared[index];
        let flight = Flight { index, due, begun, warm: self.warm || begun < worker.start };
        let filled = match &prepared.form {
            None => None,
            Some(_) => match self.fill(index) {
                Ok(filled) => Some(filled),
                Err(unfilled) => {
                    self.not_sent(&flight, &unfilled);
                    return Became::NotSent;
                }
            },
        };
        let judged = prepared.step.as_ref().is_some_and(|step| step.fails(&worker.shared.plan));
        self.reader.keep_failing(if flight.warm {
            Failing::default()
        } else {
            let lateness = due.filter(|_| arrival).map(|due| begun.saturating_duration_since(due));
            let mut recorder = worker.recorder.borrow_mut();
            recorder.begin(&flight, lateness);
            recorder.room.failing(judged)
        });
        if let Some(most) = self.keeps(prepared.step.as_ref()) {
            let _ = self.reader.keep(Some(worker.room(most)));
        }
        let mut wire = Wire::default();
        let mut tally = Tally::default();
        let mut ended = self.follow(&flight, filled.as_deref(), &mut wire, &mut tally).await;
        self.slot.disarm();
        let became = if ended.is_ok() { Became::Answered } else { Became::Failed };
        if let Err(failure) = &ended {
            worker
                .local_limit
                .set(matches!(failure.kind, ErrorKind::NoDescriptors | ErrorKind::NoPorts | ErrorKind::LocalLimit));
        }
        let end = ended.as_ref().map_or_else(|_| Instant::now(), |complete| complete.at);
        let mut findings = None;
        if let Some(step) = &prepared.step {
            let target = filled.as_ref().map_or(&prepared.target, |filled| &filled.request.target);
            match &ended {
                Ok(complete) => {
                    let found = self.evaluate(step, target, &wire, complete);
                    if judged
                        && let Some((n, what)) =
                            found.conditions.iter().enumerate().find_map(|(n, c)| Some((n, c.as_ref()?)))
                    {
                        let detail = Cow::Owned(step.sentence(n, what));
                        ended = Err(Failure { kind: ErrorKind::Assertion, detail });
                    }
                    findings = Some(found);
                }
                Err(_) => self.unset(step, Fault::NoReply),
            }
        }
        if let Some(observer) = &mut self.observer {
            observer.ended(prepared.step.as_ref(), findings.as_ref(), ended.as_ref().err());
        }
        if !flight.warm {
            let mut recorder = worker.recorder.borrow_mut();
            match &ended {
                Ok(_) => recorder.answered(&flight, self.reader.head(), &wire, &tally, end),
                Err(failure) => recorder.failed(&flight, failure, &wire, &tally, end),
            }
            if let (Some(step), Some(findings)) = (&prepared.step, &findings) {
                recorder.judged(step, findings, end);
            }
            let outcome = match &ended {
                Ok(_) => Outcome::Answered(self.reader.head().status),
                Err(failure) => Outcome::Failed(failure.kind),
            };
            if let Some(kind) = failed_kind(outcome).filter(|kind| recorder.room.has(kind)) {
                let sent = match (tally.sent.as_deref(), filled.as_deref()) {
                    (Some(sent), _) => (&sent.target, &*sent.bytes),
                    (None, Some(filled)) => (&filled.request.target, &*filled.wire.bytes),
                    (None, None) => (&prepared.target, &*prepared.wire.bytes),
                };
                let detail = ended.as_ref().err().map_or("", |failure| &failure.detail);
                let mask = self.mask();
                recorder.example(kind, &flight, &Seen { sent, reader: &self.reader, wire: &wire, detail, end, mask });
            }
        }
        if let Some(kept) = self.reader.keep(None) {
            worker.give_back(kept);
        }
        became
    }

    /// What is taken out of what is shown of this client's requests: secrets of the plan, and its values of variables whose
    /// names say that they are some.
    #[cold]
    fn mask(&self) -> Mask {
        let shared = &self.worker.shared;
        let data = shared.plan.spec().data.as_ref();
        Mask::of(&shared.plan).with(self.values.secrets(&shared.variables, data))
    }

    /// How much of the reply's body is kept; `None`: nothing of the reply is.
    #[inline]
    fn keeps(&self, step: Option<&Step>) -> Option<usize> {
        match self.observer {
            None => step?.keeps,
            Some(_) => Some(limits::READ_BODY_BYTES),
        }
    }

    fn fill(&self, index: usize) -> Result<Box<FilledIn>, Unfilled> {
        let shared = &self.worker.shared;
        let (prepared, request) = (&shared.prepared[index], &shared.plan.requests()[index]);
        let source = Source {
            variables: &shared.variables,
            data: shared.plan.spec().data.as_ref(),
            values: &self.values,
            supply: &self.worker.supply,
        };
        let request = match &prepared.form {
            Some(form) => form.fill(request, &source)?,
            None => request.clone(),
        };
        let style = Style {
            user_agent: &shared.options.user_agent,
            close: !shared.reuse,
            other_host: false,
            identity: prepared.identity(),
        };
        let wire = request_bytes(&request, &request.target, request.method, style);
        Ok(Box::new(FilledIn { request, wire }))
    }

    /// A request for which a value is missing or cannot be used.
    #[cold]
    fn not_sent(&mut self, flight: &Flight, why: &Unfilled) {
        let worker = self.worker.clone();
        if let Some(step) = &worker.shared.prepared[flight.index].step {
            self.unset(step, Fault::NotSent);
        }
        if let Some(observer) = &mut self.observer {
            observer.not_sent(why);
        }
        if !flight.warm {
            worker.recorder.borrow_mut().not_sent(flight, why);
        }
    }

    /// The variables of a request without a reply have no value.
    fn unset(&mut self, step: &Step, why: Fault) {
        for (variable, _) in step.variables() {
            self.values.set(variable, Err(why));
        }
    }

    /// Takes values from the reply and judges the conditions.
    fn evaluate(&mut self, step: &Step, target: &Target, wire: &Wire, complete: &Complete) -> Findings {
        let time = wire.first_write.map_or(Duration::ZERO, |written| complete.at.saturating_duration_since(written));
        let status = self.reader.head().status;
        let reply = Reply::new(status, self.reader.kept(), &self.jar, target, time.as_secs_f64() * 1000.0);
        let findings = step.evaluate(&reply);
        for (variable, value) in &findings.values {
            self.values.set(*variable, value.clone());
        }
        findings
    }

    /// The exchange, and those that redirects lead to.
    async fn follow(
        &mut self,
        flight: &Flight,
        filled: Option<&FilledIn>,
        wire: &mut Wire,
        tally: &mut Tally,
    ) -> Result<Complete, Failure> {
        let worker = self.worker.clone();
        let prepared = &worker.shared.prepared[flight.index];
        let (from, sent) = match filled {
            None => (&prepared.target, &prepared.wire),
            Some(filled) => (&filled.request.target, &filled.wire),
        };
        let origin = worker.plan_origins[flight.index];
        let mut message = Message { bytes: &sent.bytes, method: prepared.method, body_waits: sent.body_waits };
        let complete = if self.jar.is_empty() {
            self.attempt(flight, origin, message, wire, tally).await?
        } else {
            let request = filled.map_or(&worker.shared.plan.requests()[flight.index], |filled| &filled.request);
            let bytes = self.with_cookies(from, sent, &request.cookies);
            message.bytes = &bytes;
            let attempted = self.attempt(flight, origin, message, wire, tally).await;
            if self.is_failing(&attempted) {
                tally.sent = Some(Box::new(Sent { target: from.clone(), bytes }));
            }
            attempted?
        };
        self.keep_cookies(from);
        if self.reader.head().location.is_none() || worker.shared.plan.spec().redirects != Redirects::Follow {
            return Ok(complete);
        }
        Box::pin(self.redirected(flight, filled, complete, wire, tally)).await
    }

    /// The exchanges that redirects lead to. Few clients at a time are in it, so its room is not every client's.
    async fn redirected(
        &mut self,
        flight: &Flight,
        filled: Option<&FilledIn>,
        mut complete: Complete,
        wire: &mut Wire,
        tally: &mut Tally,
    ) -> Result<Complete, Failure> {
        let worker = self.worker.clone();
        let prepared = &worker.shared.prepared[flight.index];
        let request = filled.map_or(&worker.shared.plan.requests()[flight.index], |filled| &filled.request);
        let mut hops = 0;
        let (mut target, mut method) =
            (filled.map_or(&prepared.target, |filled| &filled.request.target).clone(), prepared.method);
        while let Some(hop) = self.next_hop(request, prepared.identity(), &target, method, tally) {
            if hops >= limits::REDIRECT_HOPS {
                return Err(Failure::plain(ErrorKind::RedirectLoop));
            }
            hops += 1;
            tally.followed += 1;
            let origin = worker.origin(&hop.target);
            let message = Message { bytes: &hop.bytes, method: hop.method, body_waits: hop.body_waits };
            let attempted = self.attempt(flight, origin, message, wire, tally).await;
            (target, method) = (hop.target, hop.method);
            if self.is_failing(&attempted) {
                tally.sent = Some(Box::new(Sent { target: target.clone(), bytes: hop.bytes }));
            }
            complete = attempted?;
            self.keep_cookies(&target);
        }
        Ok(complete)
    }

    fn is_failing(&self, attempted: &Result<Complete, Failure>) -> bool {
        attempted.is_err() || self.reader.head().status >= 400
    }

    /// What the redirect just received leads to, if it may be followed.
    fn next_hop(
        &self,
        request: &Request,
        identity: bool,
        from: &Target,
        method: Method,
        tally: &mut Tally,
    ) -> Option<Hop> {
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
        let method = redirected_method(method, status);
        let style = Style {
            user_agent: &shared.options.user_agent,
            close: !shared.reuse,
            other_host: target.at != request.target.at || target.scheme != request.target.scheme,
            identity,
        };
        let built = request_bytes(request, &target, method, style);
        let also = if style.other_host { &[][..] } else { &request.cookies };
        let bytes = self.with_cookies(&target, &built, also);
        Some(Hop { target, method, bytes, body_waits: built.body_waits })
    }

    /// The bytes with the cookies that are held, and of `also` those of other names.
    fn with_cookies(&self, target: &Target, built: &RequestBytes, also: &[(String, String)]) -> Vec<u8> {
        let line = self.jar.line_with(target, also, SystemTime::now()).unwrap_or_default();
        [&built.bytes[..built.cookies_at], line.as_bytes(), &built.bytes[built.head_end..]].concat()
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
                        Box::pin(self.open(flight, origin, message, wire)).await?
                    }
                }
                None => Box::pin(self.open(flight, origin, message, wire)).await?,
            };
            let kept = conn.used;
            let body_before = wire.bytes_body;
            if kept {
                wire.opening_us = [0; 3];
            }
            self.reader.start(message.method == Method::Head);
            let around = Around {
                slots: &worker.slots,
                id: self.id,
                slot: &self.slot,
                scratch: &worker.scratch,
                timeout: worker.timeout,
                idle_timeout: worker.idle_timeout,
            };
            if let Some(observer) = &mut self.observer {
                observer.sending();
            }
            let result = conn.exchange(&around, message, &mut self.reader, wire).await;
            if let Some(observer) = &mut self.observer {
                observer.exchanged(&Observed {
                    origin: &worker.origin_at(origin),
                    message,
                    reused: kept,
                    http2: conn.is_http2(),
                    wire,
                    body_bytes: wire.bytes_body - body_before,
                    reader: Some(&self.reader),
                    result: result.as_ref().map(|complete| complete.at).map_err(|lost| &lost.failure),
                });
            }
            match result {
                Ok(complete) => {
                    tally.reused += u64::from(kept);
                    if complete.reusable && worker.shared.reuse {
                        // Most clients have one, and by itself a list begins with room for four.
                        self.conns.reserve_exact(1);
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

    async fn open(
        &mut self,
        flight: &Flight,
        origin: usize,
        message: Message<'_>,
        wire: &mut Wire,
    ) -> Result<Conn, Failure> {
        let opened = self.connect(flight, origin, wire).await;
        if let (Some(observer), Err(failure)) = (&mut self.observer, &opened) {
            observer.exchanged(&Observed {
                origin: &self.worker.origin_at(origin),
                message,
                reused: false,
                http2: false,
                wire,
                body_bytes: 0,
                reader: None,
                result: Err(failure),
            });
        }
        opened
    }

    async fn connect(&mut self, flight: &Flight, origin: usize, wire: &mut Wire) -> Result<Conn, Failure> {
        let worker = self.worker.clone();
        let now = Instant::now();
        wire.first_byte = None;
        match wire.first_write.map(|written| written + worker.timeout) {
            Some(end) => worker.slots.arm(self.id, &self.slot, end, ErrorKind::Timeout),
            None => worker.slots.arm(self.id, &self.slot, now + worker.timeout, ErrorKind::ConnectTimeout),
        }
        let origin = worker.origin_at(origin);
        let mut times = DialTimes::default();
        let stream = dial(&worker.shared, &self.slot, &origin, &mut times).await;
        wire.opening_us =
            [times.dns, times.connect, times.tls].map(|us| us.unwrap_or(0).min(u64::from(u32::MAX)) as u32);
        if !flight.warm {
            worker.recorder.borrow_mut().dialled(&times, Instant::now());
        }
        if let Some(observer) = &mut self.observer {
            observer.dialled(&times);
        }
        let stream = stream?;
        // After a stop nothing new reaches the target, not even on a connection that was already being made.
        if worker.is_stopped() {
            return Err(Failure::plain(ErrorKind::Aborted));
        }
        Conn::begin(stream, worker.shared.plan.spec().http, origin.scheme, &self.slot).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, F: Future>(_: impl FnOnce(A) -> F) -> usize {
        size_of::<F>()
    }

    /// Ten thousand of them are 10,000 times as much.
    #[test]
    fn a_client_is_small() {
        type Place = (&'static mut Client, &'static Flight, &'static mut Wire, &'static mut Tally);
        let message = Message { bytes: b"", method: Method::Get, body_waits: false };
        let sizes = [
            ("client", size_of::<Client>(), 400),
            ("walk", size_of_future(|(client, walk): (Box<Client>, Walk)| client.walk(walk)), 1200),
            ("request", size_of_future(|c: &'static mut Client| c.request(0, Instant::now(), None, false)), 1100),
            ("follow", size_of_future(|(c, f, w, t): Place| c.follow(f, None, w, t)), 800),
            ("attempt", size_of_future(|(c, f, w, t): Place| c.attempt(f, 0, message, w, t)), 700),
            ("open", size_of_future(|(c, f, w, _): Place| c.open(f, 0, message, w)), 1000),
            ("reader", size_of::<Reader>(), 200),
            ("conn", size_of::<Conn>(), 48),
            ("slot", size_of::<Slot>(), 96),
        ];
        assert!(sizes.iter().all(|(_, size, most)| size <= most), "{sizes:?}");
    }
}

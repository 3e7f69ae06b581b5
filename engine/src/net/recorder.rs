//! One worker's results: the window of the current second, handed over when the next one begins.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::collector::Report;
use super::conn::Wire;
use super::dial::{DialTimes, Failure, micros};
use super::fill::Unfilled;
use super::health;
use super::http1::kept::Failing;
use super::http1::response::{Head, Reader, Version};
use super::scenario::{Findings, Step};
use super::shared::Weights;
use crate::arrivals::Shard;
use crate::example::{
    FailedExample, sent_secrets, shown_body_start, shown_example_url, shown_request_headers, shown_response_head,
};
use crate::outcome::{ErrorKind, Outcome};
use crate::plan::secrets::Mask;
use crate::plan::{Target, TlsVersion, limits};
use crate::trace::Phases;
use crate::window::{AssertionCounts, Ledger, Window};

const SECOND: Duration = Duration::from_secs(1);

/// A request that was begun and counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Its place in the plan's list.
    pub(super) index: usize,
    /// When it was due (open models).
    pub(super) due: Option<Instant>,
    /// When it was begun.
    pub(super) begun: Instant,
    /// Begun before the result's first instant: not counted anywhere.
    pub(super) warm: bool,
}

/// What a finished request adds to the counters besides its bytes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) reused: u64,
    pub(super) reconnects: u64,
    pub(super) followed: u64,
    pub(super) refused: u64,
    /// What went out last, if it failed and is not what was prepared.
    pub(super) sent: Option<Box<Sent>>,
}

/// A request as it was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) target: Target,
    pub(super) bytes: Vec<u8>,
}

/// What is known of an exchange that failed.
pub(super) struct Seen<'a> {
    /// Where it went, and the bytes.
    pub(super) sent: (&'a Target, &'a [u8]),
    pub(super) reader: &'a Reader,
    pub(super) wire: &'a Wire,
    pub(super) detail: &'a str,
    pub(super) end: Instant,
    pub(super) mask: Mask,
}

/// Which examples of failed exchanges a worker still has room for.
#[derive(Debug)]
pub(super) struct Room {
    left: usize,
    /// How many there are of each kind.
    kinds: Vec<(&'static str, usize)>,
    failing: Failing,
}

impl Room {
    fn new() -> Room {
        let failing = Failing { status_4xx: true, status_5xx: true, status_other: true };
        Room { left: limits::FAILED_EXAMPLES, kinds: Vec::new(), failing }
    }

    #[inline]
    pub(super) fn has(&self, kind: &str) -> bool {
        let taken = |(other, count): &(&str, usize)| *other == kind && *count >= limits::FAILED_EXAMPLES_A_KIND;
        self.left > 0 && !self.kinds.iter().any(taken)
    }

    /// Of which replies the beginning is kept. `judged`: a condition may make the reply a failure of another kind.
    #[inline]
    pub(super) fn failing(&self, judged: bool) -> Failing {
        if judged && !self.has(ErrorKind::Assertion.name()) { Failing::default() } else { self.failing }
    }

    fn take(&mut self, kind: &'static str) {
        self.left -= 1;
        match self.kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((kind, 1)),
        }
        let [status_4xx, status_5xx, status_other] = ["status_4xx", "status_5xx", "status_other"].map(|k| self.has(k));
        self.failing = Failing { status_4xx, status_5xx, status_other };
    }
}

/// How the requests of arrivals are drawn.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) weights: Weights,
    /// The worker's first arrival.
    pub(super) first: u64,
    pub(super) stride: u64,
}

pub(super) struct Recorder {
    worker: usize,
    reports: Sender<Report>,
    start: Instant,
    window: Box<Window>,
    window_end: Instant,
    /// This worker's share of the arrivals; `None` in closed models, where a request is planned when it is begun.
    arrivals: Option<Shard>,
    arrivals_before: u64,
    /// Where each client makes one request that is drawn: the weights, and which arrivals are this worker's.
    drawn: Option<Drawn>,
    /// From here on nothing is planned any more: the run was stopped.
    planned_until: Option<Instant>,
    /// Planned, sent and dropped so far, by request of the list.
    by_request: Vec<Ledger>,
    statuses: Box<[u64; limits::STATUS_CODES]>,
    clients: u64,
    clients_since: Instant,
    cpu_before: Duration,
    cpu_us: u64,
    last_event: Option<Instant>,
    ages_us: Vec<u64>,
    /// For examples, in the whole run.
    pub(super) room: Room,
}

impl Recorder {
    pub(super) fn new(
        worker: usize,
        reports: Sender<Report>,
        start: Instant,
        requests: usize,
        arrivals: Option<Shard>,
        drawn: Option<Drawn>,
    ) -> Recorder {
        Recorder {
            worker,
            reports,
            start,
            window: Box::new(Window::new(0, requests)),
            window_end: start + SECOND,
            arrivals,
            arrivals_before: 0,
            drawn,
            planned_until: None,
            by_request: vec![Ledger::default(); requests],
            statuses: Box::new([0; limits::STATUS_CODES]),
            clients: 0,
            clients_since: start,
            cpu_before: health::thread_cpu(),
            cpu_us: 0,
            last_event: None,
            ages_us: Vec::new(),
            room: Room::new(),
        }
    }

    /// Hands over every second that is over at `now`.
    #[inline]
    pub(super) fn roll(&mut self, now: Instant) {
        while now >= self.window_end {
            self.close_second(self.window_end);
        }
    }

    /// The instant at which the current second ends.
    pub(super) fn window_end(&self) -> Instant {
        self.window_end
    }

    /// Measures the processor's time from here on.
    pub(super) fn warm_up_is_over(&mut self) {
        self.cpu_before = health::thread_cpu();
    }

    /// The machine kept the thread from running for so long although it was due.
    pub(super) fn stalled(&mut self, time: Duration, now: Instant) {
        self.roll(now);
        self.window.counters.stalled_us += time.as_micros() as u64;
    }

    pub(super) fn client_begins(&mut self, now: Instant) {
        self.roll(now);
        self.count_clients(now);
        self.clients += 1;
        self.window.peak_clients = self.window.peak_clients.max(self.clients);
    }

    pub(super) fn client_ends(&mut self, now: Instant) {
        self.roll(now);
        self.count_clients(now);
        self.clients = self.clients.saturating_sub(1);
    }

    fn count_clients(&mut self, now: Instant) {
        let from = self.clients_since.max(self.start);
        // Whole microseconds only; the rest is counted next time, so that sums stay exact.
        let us = now.saturating_duration_since(from).as_micros() as u64;
        self.window.counters.client_us += us * self.clients;
        self.clients_since = from + Duration::from_micros(us);
    }

    /// A request is begun: a connection is asked for or its first byte is about to be written.
    #[inline]
    pub(super) fn begin(&mut self, flight: &Flight, lateness: Option<Duration>) {
        self.roll(flight.begun);
        let planned = u64::from(self.arrivals.is_none());
        self.book(flight.index, |ledger| {
            ledger.planned += planned;
            ledger.sent += 1;
        });
        self.by_request[flight.index].planned += planned;
        self.by_request[flight.index].sent += 1;
        if let Some(lateness) = lateness {
            self.window.lateness.record(micros(lateness));
        }
    }

    #[inline]
    fn book(&mut self, index: usize, change: impl Fn(&mut Ledger)) {
        change(&mut self.window.ledger);
        if let Some(request) = self.window.requests.get_mut(index) {
            change(&mut request.ledger);
        }
    }

    /// A client that was due will never be let in: all its requests are dropped, or the one that was drawn for it.
    pub(super) fn drop_arrival(&mut self, drawn: Option<usize>, now: Instant) {
        self.roll(now);
        for index in drawn.map_or(0..self.by_request.len(), |index| index..index + 1) {
            self.drop_one(index);
        }
    }

    fn drop_one(&mut self, index: usize) {
        self.book(index, |ledger| ledger.dropped += 1);
        self.by_request[index].dropped += 1;
    }

    /// A request was about to begin and cannot be sent.
    pub(super) fn not_sent(&mut self, flight: &Flight, why: &Unfilled) {
        self.roll(flight.begun);
        let planned = u64::from(self.arrivals.is_none());
        self.book(flight.index, |ledger| ledger.planned += planned);
        self.by_request[flight.index].planned += planned;
        self.drop_one(flight.index);
        *self.window.not_sent.entry(why.kind).or_default() += 1;
        self.window.errors.record(why.kind, &why.detail, 1);
    }

    /// The conditions of a reply that was complete at `end` were judged.
    pub(super) fn judged(&mut self, step: &Step, findings: &Findings, end: Instant) {
        self.roll(end);
        let window = &mut self.window;
        let counts = &mut window.assertions;
        if counts.len() < step.before + findings.conditions.len() {
            counts.resize(step.before + findings.conditions.len(), AssertionCounts::default());
        }
        for (n, found) in findings.conditions.iter().enumerate() {
            let count = &mut counts[step.before + n];
            match found {
                None => count.passed += 1,
                Some(found) => {
                    count.failed += 1;
                    window.assertion_failures.record(ErrorKind::Assertion, &step.sentence(n, found), 1);
                }
            }
        }
    }

    /// A connection was opened, or not.
    pub(super) fn dialled(&mut self, times: &DialTimes, now: Instant) {
        self.roll(now);
        let window = &mut self.window;
        window.counters.opened += u64::from(times.connect.is_some());
        if let Some(address) = times.address {
            window.addresses.record(address, 1);
        }
        match times.tls_version {
            Some(TlsVersion::Tls12) => window.counters.tls12 += 1,
            Some(TlsVersion::Tls13) => window.counters.tls13 += 1,
            None => {}
        }
        let phases = [(&mut window.dns, times.dns), (&mut window.connect, times.connect), (&mut window.tls, times.tls)];
        for (histogram, us) in phases {
            if let Some(us) = us {
                histogram.record(us);
            }
        }
    }

    /// A reply is complete.
    #[inline]
    pub(super) fn answered(&mut self, flight: &Flight, head: &Head, wire: &Wire, tally: &Tally, end: Instant) {
        let status = head.status;
        self.ended(flight, Outcome::Answered(status), wire, tally, end);
        let counters = &mut self.window.counters;
        *match head.version {
            Version::Http10 => &mut counters.http10,
            Version::Http11 => &mut counters.http11,
            Version::Http2 => &mut counters.http2,
        } += 1;
        let written = wire.first_write.unwrap_or(flight.begun);
        let service = micros(end.saturating_duration_since(written));
        let latency = flight.due.map_or(service, |due| micros(end.saturating_duration_since(due)));
        let first_byte = wire.first_byte.unwrap_or(end);
        let wait = micros(first_byte.saturating_duration_since(wire.last_write.unwrap_or(written)));
        let window = &mut self.window;
        window.record_latency(latency, status < 400);
        window.service.record(service);
        window.total.record(micros(end.saturating_duration_since(flight.begun)));
        window.wait.record(wait);
        window.receive.record(micros(end.saturating_duration_since(first_byte)));
        if let Some(request) = window.requests.get_mut(flight.index) {
            request.latency.record(latency);
        }
        self.statuses[usize::from(status) % limits::STATUS_CODES] += 1;
    }

    /// There will be no complete reply.
    pub(super) fn failed(&mut self, flight: &Flight, failure: &Failure, wire: &Wire, tally: &Tally, end: Instant) {
        self.ended(flight, Outcome::Failed(failure.kind), wire, tally, end);
        let from = flight.due.unwrap_or(wire.first_write.unwrap_or(flight.begun));
        let age = micros(end.saturating_duration_since(from));
        self.window.failed.record(age);
        self.window.errors.record(failure.kind, &failure.detail, 1);
        if failure.kind == ErrorKind::Aborted && self.ages_us.len() < limits::IN_FLIGHT_AGES {
            self.ages_us.push(age);
        }
    }

    /// Keeps an exchange that was just counted as an example of what fails; there must be room for its kind.
    #[cold]
    pub(super) fn example(&mut self, kind: &'static str, flight: &Flight, seen: &Seen<'_>) {
        self.room.take(kind);
        let Seen { sent: (target, bytes), reader, wire, detail, end, mask } = seen;
        // What a reply repeats of the request, or hands out with it.
        let set = reader.head().set_cookie.iter().filter_map(|line| line.split(';').next()?.split_once('='));
        let secrets = sent_secrets(bytes);
        let mask = &mask.with(secrets.iter().map(|s| &**s).chain(set.map(|(_, value)| value.trim())));
        let text = String::from_utf8_lossy(bytes.split(|byte| *byte == b'\r').next().unwrap_or_default());
        let mut words = text.split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let path = words.next().unwrap_or("/").to_owned();
        let target = Target { path, credentials: None, ..(*target).clone() };
        // Nothing came of an exchange before its first byte: what the reader knows is of an earlier one.
        let answered = wire.first_byte.is_some();
        let kept = reader.kept().filter(|kept| answered && !kept.head().is_empty());
        let body = kept.map(|kept| kept.unpacked().unwrap_or_else(|_| kept.body().into()));
        let ms = |us: u64| us as f64 / 1000.0;
        let between =
            |from: Option<Instant>, to: Option<Instant>| Some(ms(micros(to?.saturating_duration_since(from?))));
        let [dns, connect, tls] = wire.opening_us.map(|us| (us > 0).then(|| ms(u64::from(us))));
        let complete = matches!(kind, "assertion" | "status_4xx" | "status_5xx" | "status_other").then_some(*end);
        let from = flight.due.or(wire.first_write).unwrap_or(flight.begun);
        self.window.examples.push(FailedExample {
            request: flight.index,
            at_s: ms(end.saturating_duration_since(self.start).as_millis() as u64),
            kind: kind.to_owned(),
            status: Some(reader.head().status).filter(|status| answered && *status > 0),
            method,
            url: shown_example_url(&target, mask),
            request_headers: shown_request_headers(bytes, mask),
            response_head: kept.map(|kept| shown_response_head(kept.head(), mask)),
            body_start: body.filter(|body| !body.is_empty()).map(|body| shown_body_start(&body, mask)),
            latency_ms: between(Some(from), Some(*end)),
            phases_ms: Phases {
                dns,
                connect,
                tls,
                wait: between(wire.last_write, wire.first_byte),
                receive: between(wire.first_byte, complete),
                total: between(wire.first_write, complete),
            },
            detail: (!detail.is_empty()).then(|| mask.apply(detail)),
        });
    }

    #[inline]
    fn ended(&mut self, flight: &Flight, outcome: Outcome, wire: &Wire, tally: &Tally, end: Instant) {
        self.roll(end);
        self.last_event = Some(end);
        self.book(flight.index, |ledger| ledger.finish(outcome));
        let counters = &mut self.window.counters;
        counters.bytes_sent += wire.bytes_sent;
        counters.bytes_received += wire.bytes_received;
        counters.bytes_body += wire.bytes_body;
        counters.reused += tally.reused;
        counters.reconnects += tally.reconnects;
        counters.redirects_followed += tally.followed;
        counters.redirects_refused += tally.refused;
    }

    /// The run was stopped: what was planned for later is not planned any more.
    pub(super) fn stop_planning(&mut self, now: Instant) {
        self.roll(now);
        self.planned_until.get_or_insert(now.max(self.start));
    }

    /// Counts what was planned up to `end`, in closed form.
    fn plan_until(&mut self, end: Instant) {
        let Some(arrivals) = &self.arrivals else { return };
        let end = self.planned_until.map_or(end, |until| until.min(end));
        let before = arrivals.before(end.saturating_duration_since(self.start)).max(self.arrivals_before);
        let new = before - self.arrivals_before;
        if let Some(Drawn { weights, first, stride }) = self.drawn.clone() {
            for n in self.arrivals_before..before {
                let index = weights.of_arrival(first + n * stride);
                self.book(index, |ledger| ledger.planned += 1);
                self.by_request[index].planned += 1;
            }
            self.arrivals_before = before;
            return;
        }
        self.arrivals_before = before;
        for index in 0..self.by_request.len() {
            self.book(index, |ledger| ledger.planned += new);
            self.by_request[index].planned += new;
        }
    }

    fn close_second(&mut self, end: Instant) {
        self.plan_until(end);
        self.count_clients(end);
        let cpu = health::thread_cpu();
        let used = cpu.saturating_sub(self.cpu_before).as_micros() as u64;
        self.cpu_before = cpu;
        self.cpu_us += used;
        let wall = end.saturating_duration_since(self.window_end - SECOND).as_micros().max(1) as u64;
        let window = &mut self.window;
        window.sent_by_thread = vec![0; self.worker + 1];
        window.sent_by_thread[self.worker] = window.ledger.sent;
        window.counters.cpu_us = used;
        window.busiest_permille = (used * 1000 / wall).min(1000) as u32;
        for (status, count) in self.statuses.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            window.statuses.insert(status as u16, std::mem::take(count));
        }
        let mut next = Box::new(Window::new(window.t + 1, self.by_request.len()));
        next.peak_clients = self.clients;
        let full = std::mem::replace(&mut self.window, next);
        self.window_end += SECOND;
        // The collector is gone only when the run is being torn down.
        let _ = self.reports.send(Report::Second { worker: self.worker, window: full });
    }

    /// The worker's last word. `least`: the run lasts at least until then.
    pub(super) fn finish(mut self, least: Option<Instant>, capped: u64) {
        let last = self.last_event.unwrap_or(self.start);
        let end = least.map_or(last, |least| least.max(last)).max(self.start);
        self.roll(end);
        self.plan_until(end);
        for index in 0..self.by_request.len() {
            let ledger = self.by_request[index];
            let never = ledger.planned.saturating_sub(ledger.sent + ledger.dropped);
            self.book(index, |ledger| ledger.dropped += never);
        }
        let begun = self.window_end - SECOND;
        let ledger = self.window.ledger;
        let anything =
            ledger != Ledger::default() || self.window.counters.client_us > 0 || self.window.counters.opened > 0;
        if anything || end > begun {
            self.close_second(end.max(begun + Duration::from_micros(1)));
        }
        let _ = self.reports.send(Report::Done {
            worker: self.worker,
            duration: end.saturating_duration_since(self.start),
            ages_us: std::mem::take(&mut self.ages_us),
            capped,
            cpu_us: self.cpu_us,
        });
    }
}

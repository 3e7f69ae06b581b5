//! One second of results, as a value that can be added to another. Workers, seconds, machines and runs are all sums.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::example::Examples;
use crate::histogram::{DecodeError, Histogram, take};
use crate::outcome::{ErrorKind, FailureClass, Outcome};
use crate::plan::limits;

mod glance;

pub use glance::Glance;

/// What became of every planned request.
///
/// In a finished run planned = sent + dropped and sent = the sum of the outcomes ([`Ledger::is_closed`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Due by the plan.
    pub planned: u64,
    /// Begun: a connection was asked for or a byte written.
    pub sent: u64,
    /// Due but never begun.
    pub dropped: u64,
    /// Answered with a status below 400.
    pub ok: u64,
    /// Answered with 400–499.
    pub status_4xx: u64,
    /// Answered with 500–599.
    pub status_5xx: u64,
    /// Answered with 600 or more.
    pub status_other: u64,
    /// Ran out of time.
    pub timeout: u64,
    /// Connection not made or lost.
    pub network: u64,
    /// Reply not valid.
    pub invalid: u64,
    /// Our own limits.
    pub local: u64,
    /// Cut by the end.
    pub aborted: u64,
}

impl Ledger {
    /// Counts the end of one sent request.
    #[inline]
    pub fn finish(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Answered(0..400) => &mut self.ok,
            Outcome::Answered(400..500) => &mut self.status_4xx,
            Outcome::Answered(500..600) => &mut self.status_5xx,
            Outcome::Answered(_) => &mut self.status_other,
            Outcome::Failed(kind) => match kind.class() {
                FailureClass::Timeout => &mut self.timeout,
                FailureClass::Network => &mut self.network,
                FailureClass::Invalid => &mut self.invalid,
                FailureClass::Local => &mut self.local,
                FailureClass::Aborted => &mut self.aborted,
            },
        } += 1;
    }

    /// Requests with a complete reply.
    pub fn answered(&self) -> u64 {
        self.ok + self.status_4xx + self.status_5xx + self.status_other
    }

    /// Requests that have ended, with or without a reply.
    pub fn finished(&self) -> u64 {
        self.answered() + self.timeout + self.network + self.invalid + self.local + self.aborted
    }

    /// Ended and not ok.
    pub fn errors(&self) -> u64 {
        self.finished() - self.ok
    }

    /// Ended with an error of the target: 4xx, 5xx, other status, timeout, network or invalid.
    pub fn failures(&self) -> u64 {
        self.status_4xx + self.status_5xx + self.status_other + self.timeout + self.network + self.invalid
    }

    /// What the error threshold judges: (4xx + 5xx + other status + timeout + network + invalid) over all finished; 0 when none has.
    pub fn error_rate(&self) -> f64 {
        if self.finished() == 0 { 0.0 } else { self.failures() as f64 / self.finished() as f64 }
    }

    /// Whether every planned request is accounted for.
    pub fn is_closed(&self) -> bool {
        self.planned == self.sent + self.dropped && self.sent == self.finished()
    }

    fn counts(&self) -> [u64; 12] {
        [
            self.planned,
            self.sent,
            self.dropped,
            self.ok,
            self.status_4xx,
            self.status_5xx,
            self.status_other,
            self.timeout,
            self.network,
            self.invalid,
            self.local,
            self.aborted,
        ]
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Ledger) {
        self.planned += other.planned;
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.ok += other.ok;
        self.status_4xx += other.status_4xx;
        self.status_5xx += other.status_5xx;
        self.status_other += other.status_other;
        self.timeout += other.timeout;
        self.network += other.network;
        self.invalid += other.invalid;
        self.local += other.local;
        self.aborted += other.aborted;
    }
}

/// Counters that only ever add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Client-microseconds: how long clients were open in this window, summed over clients.
    pub client_us: u64,
    /// Bytes written, heads and bodies.
    pub bytes_sent: u64,
    /// Bytes read, heads, framing and bodies as they came over the wire.
    pub bytes_received: u64,
    /// Body bytes read, without framing.
    pub bytes_body: u64,
    /// Connections opened.
    pub opened: u64,
    /// Requests sent on a connection that had carried one before.
    pub reused: u64,
    /// Requests sent again because the target had closed an idle connection.
    pub reconnects: u64,
    /// Redirects followed.
    pub redirects_followed: u64,
    /// Redirects not followed because the new host is not allowed.
    pub redirects_refused: u64,
    /// Processor time of the generator's threads in µs.
    pub cpu_us: u64,
    /// Time in µs for which the machine kept the generator's threads from running although they were due.
    pub stalled_us: u64,
    /// Answered requests whose reply was HTTP/1.0.
    pub http10: u64,
    /// Answered requests whose reply was HTTP/1.1.
    pub http11: u64,
    /// Answered requests whose reply was HTTP/2.
    pub http2: u64,
    /// Connections that speak TLS 1.2.
    pub tls12: u64,
    /// Connections that speak TLS 1.3.
    pub tls13: u64,
}

impl Counters {
    fn counts(&self) -> [u64; 16] {
        [
            self.client_us,
            self.bytes_sent,
            self.bytes_received,
            self.bytes_body,
            self.opened,
            self.reused,
            self.reconnects,
            self.redirects_followed,
            self.redirects_refused,
            self.cpu_us,
            self.stalled_us,
            self.http10,
            self.http11,
            self.http2,
            self.tls12,
            self.tls13,
        ]
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Counters) {
        self.client_us += other.client_us;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.bytes_body += other.bytes_body;
        self.opened += other.opened;
        self.reused += other.reused;
        self.reconnects += other.reconnects;
        self.redirects_followed += other.redirects_followed;
        self.redirects_refused += other.redirects_refused;
        self.cpu_us += other.cpu_us;
        self.stalled_us += other.stalled_us;
        self.http10 += other.http10;
        self.http11 += other.http11;
        self.http2 += other.http2;
        self.tls12 += other.tls12;
        self.tls13 += other.tls13;
    }
}

/// Errors by kind and detail, bounded: at most [`limits::ERROR_ROWS`] rows, the rest under "other" of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTable(Vec<ErrorRow>);

/// One row of the error table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRow {
    /// Kind.
    pub kind: ErrorKind,
    /// What the system or the target said; at most [`limits::ERROR_DETAIL_CHARS`] characters.
    pub detail: String,
    /// How often.
    pub count: u64,
}

/// Detail of rows that found no place of their own.
const OTHER: &str = "other";

impl ErrorTable {
    /// Counts `count` errors.
    pub fn record(&mut self, kind: ErrorKind, detail: &str, count: u64) {
        if let Some(row) = self.0.iter_mut().find(|r| r.kind == kind && detail_matches(&r.detail, detail)) {
            row.count += count;
            return;
        }
        let rows = self.0.iter().filter(|r| r.detail != OTHER).count();
        if rows < limits::ERROR_ROWS {
            let detail = detail.chars().take(limits::ERROR_DETAIL_CHARS).collect();
            self.0.push(ErrorRow { kind, detail, count });
        } else if let Some(row) = self.0.iter_mut().find(|r| r.kind == kind && r.detail == OTHER) {
            row.count += count;
        } else {
            self.0.push(ErrorRow { kind, detail: OTHER.to_owned(), count });
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &ErrorTable) {
        for row in &other.0 {
            self.record(row.kind, &row.detail, row.count);
        }
    }

    /// Rows, most frequent first.
    pub fn rows(&self) -> Vec<ErrorRow> {
        let mut rows = self.0.clone();
        rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.detail.cmp(&b.detail)));
        rows
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Compares against the kept, shortened detail without allocating.
fn detail_matches(kept: &str, full: &str) -> bool {
    kept == full || full.len() > kept.len() && full.chars().take(limits::ERROR_DETAIL_CHARS).eq(kept.chars())
}

/// Connections by the address they were made to, bounded: at most [`limits::ADDRESS_ROWS`] rows, the rest in one sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressTable {
    rows: BTreeMap<SocketAddr, u64>,
    other: u64,
}

impl AddressTable {
    /// Counts `connections` to `address`.
    pub fn record(&mut self, address: SocketAddr, connections: u64) {
        if let Some(row) = self.rows.get_mut(&address) {
            *row += connections;
        } else if self.rows.len() < limits::ADDRESS_ROWS {
            self.rows.insert(address, connections);
        } else {
            self.other += connections;
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &AddressTable) {
        self.other += other.other;
        for (address, connections) in &other.rows {
            self.record(*address, *connections);
        }
    }

    /// Addresses with their connections, most first.
    pub fn rows(&self) -> Vec<(SocketAddr, u64)> {
        let mut rows: Vec<_> = self.rows.iter().map(|(address, n)| (*address, *n)).collect();
        rows.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        rows
    }

    /// Connections that found no row. Above 0, the rows may lack some of their own.
    pub fn other(&self) -> u64 {
        self.other
    }
}

/// How often one condition held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionCounts {
    /// The reply met it.
    pub passed: u64,
    /// The reply did not.
    pub failed: u64,
}

impl AssertionCounts {
    /// Adds all of `other`.
    pub fn add(&mut self, other: &AssertionCounts) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Figures of one request of the plan's list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestWindow {
    /// Its part of the ledger.
    pub ledger: Ledger,
    /// Its latencies.
    pub latency: Histogram,
}

/// One second of results, of one worker or of many.
///
/// `planned` counts by the second of the plan, `sent` by the second of the first byte, everything else by the second in
/// which the request ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Second of the run, from 0.
    pub t: u32,
    /// What became of the requests.
    pub ledger: Ledger,
    /// Sums.
    pub counters: Counters,
    /// Answered requests: from the planned instant in open models, from the write in closed ones.
    pub latency: Histogram,
    /// Answered requests: first byte written to last byte read.
    pub service: Histogram,
    /// The part of `latency` with a status below 400; `None` where that is all of it.
    pub ok: Option<Box<Histogram>>,
    /// Answered requests: from the moment a connection was wanted to the last byte read.
    pub total: Histogram,
    /// Requests without a complete reply: time until they failed.
    pub failed: Histogram,
    /// How late requests were sent after their planned instant (open models).
    pub lateness: Histogram,
    /// Name resolution.
    pub dns: Histogram,
    /// TCP connect.
    pub connect: Histogram,
    /// TLS handshake.
    pub tls: Histogram,
    /// Last byte of the request written to first byte of the reply.
    pub wait: Histogram,
    /// First to last byte of the reply.
    pub receive: Histogram,
    /// Replies by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind and detail.
    pub errors: ErrorTable,
    /// Connections by address.
    pub addresses: AddressTable,
    /// Requests sent by each of the generator's threads; threads that sent nothing may be missing at the end.
    pub sent_by_thread: Vec<u64>,
    /// Requests that were never sent for want of a value, by why; they are part of the ledger's `dropped`, and each has its row
    /// in `errors`.
    pub not_sent: BTreeMap<ErrorKind, u64>,
    /// How often each condition of the plan held: those of the first request in order, then the next request's. Shorter where
    /// the last ones were not judged.
    pub assertions: Vec<AssertionCounts>,
    /// Examples of conditions that did not hold: the condition and what was found.
    pub assertion_failures: ErrorTable,
    /// The first exchanges that failed.
    pub examples: Examples,
    /// The same by request of the plan's list; empty when the list has one request (the totals say it all).
    pub requests: Vec<RequestWindow>,
    /// Busiest worker's share of a processor in this second, in permille; merged by maximum.
    pub busiest_permille: u32,
    /// Most clients open at one instant; workers of the same second add up, seconds merge by maximum.
    pub peak_clients: u64,
}

/// How two windows relate when they are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Two workers or machines in the same second: peaks add up.
    SameSecond,
    /// Two seconds of the same run: peaks are compared.
    OtherSecond,
}

impl Window {
    /// An empty window for second `t` of a plan with `requests` requests in its list.
    pub fn new(t: u32, requests: usize) -> Window {
        let requests = if requests > 1 { vec![RequestWindow::default(); requests] } else { Vec::new() };
        Window { t, requests, ..Window::default() }
    }

    fn histograms(&self) -> [&Histogram; 9] {
        [
            &self.latency,
            &self.service,
            &self.failed,
            &self.lateness,
            &self.dns,
            &self.connect,
            &self.tls,
            &self.wait,
            &self.receive,
        ]
    }

    fn histograms_mut(&mut self) -> [&mut Histogram; 9] {
        [
            &mut self.latency,
            &mut self.service,
            &mut self.failed,
            &mut self.lateness,
            &mut self.dns,
            &mut self.connect,
            &mut self.tls,
            &mut self.wait,
            &mut self.receive,
        ]
    }

    /// Latencies of the requests that ended ok.
    pub fn ok_latency(&self) -> &Histogram {
        self.ok.as_deref().unwrap_or(&self.latency)
    }

    /// Counts the latency of an answered request. Where all are ok, as in most runs, that is one record.
    #[inline]
    pub fn record_latency(&mut self, us: u64, ok: bool) {
        if !ok && self.ok.is_none() {
            self.ok = Some(Box::new(self.latency.clone()));
        }
        self.latency.record(us);
        if let Some(those) = self.ok.as_deref_mut().filter(|_| ok) {
            those.record(us);
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Window, how: Merge) {
        // Before the latencies, of which it may be the copy.
        if self.ok.is_some() || other.ok.is_some() {
            self.ok.get_or_insert_with(|| Box::new(self.latency.clone())).add(other.ok_latency());
        }
        self.total.add(&other.total);
        self.ledger.add(&other.ledger);
        self.counters.add(&other.counters);
        for (ours, theirs) in self.histograms_mut().into_iter().zip(other.histograms()) {
            ours.add(theirs);
        }
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.errors.add(&other.errors);
        self.addresses.add(&other.addresses);
        if self.sent_by_thread.len() < other.sent_by_thread.len() {
            self.sent_by_thread.resize(other.sent_by_thread.len(), 0);
        }
        for (ours, theirs) in self.sent_by_thread.iter_mut().zip(&other.sent_by_thread) {
            *ours += theirs;
        }
        for (kind, count) in &other.not_sent {
            *self.not_sent.entry(*kind).or_default() += count;
        }
        if self.assertions.len() < other.assertions.len() {
            self.assertions.resize(other.assertions.len(), AssertionCounts::default());
        }
        for (ours, theirs) in self.assertions.iter_mut().zip(&other.assertions) {
            ours.add(theirs);
        }
        self.assertion_failures.add(&other.assertion_failures);
        self.examples.add(&other.examples);
        if self.requests.len() < other.requests.len() {
            self.requests.resize_with(other.requests.len(), RequestWindow::default);
        }
        for (ours, theirs) in self.requests.iter_mut().zip(&other.requests) {
            ours.ledger.add(&theirs.ledger);
            ours.latency.add(&theirs.latency);
        }
        self.busiest_permille = self.busiest_permille.max(other.busiest_permille);
        self.peak_clients = match how {
            Merge::SameSecond => self.peak_clients + other.peak_clients,
            Merge::OtherSecond => self.peak_clients.max(other.peak_clients),
        };
    }

    /// The stored form: a version byte, a JSON head with all counts, then the histograms.
    pub fn encode(&self) -> Vec<u8> {
        let head = Head {
            t: self.t,
            ledger: self.ledger,
            counters: self.counters,
            statuses: self.statuses.clone(),
            errors: self.errors.clone(),
            addresses: self.addresses.clone(),
            sent_by_thread: self.sent_by_thread.clone(),
            not_sent: self.not_sent.clone(),
            assertions: self.assertions.clone(),
            assertion_failures: self.assertion_failures.clone(),
            examples: self.examples.clone(),
            requests: self.requests.iter().map(|r| r.ledger).collect(),
            busiest_permille: self.busiest_permille,
            peak_clients: self.peak_clients,
            ok_apart: self.ok.is_some(),
            has_total: true,
        };
        let head = serde_json::to_vec(&head).expect("counts are always JSON");
        let mut out = vec![1];
        out.extend_from_slice(&(head.len() as u32).to_le_bytes());
        out.extend_from_slice(&head);
        self.histograms().into_iter().for_each(|h| h.encode(&mut out));
        self.requests.iter().for_each(|r| r.latency.encode(&mut out));
        self.total.encode(&mut out);
        self.ok.iter().for_each(|ok| ok.encode(&mut out));
        out
    }

    /// Reads second and latencies of the stored form, and nothing else: a tenth of the work of [`Window::decode`].
    ///
    /// # Errors
    /// As [`Window::decode`].
    pub fn decode_latency(mut bytes: &[u8]) -> Result<(u32, Histogram), DecodeError> {
        #[derive(Deserialize)]
        struct Second {
            t: u32,
        }
        let head = take_head(&mut bytes)?;
        let Second { t } = serde_json::from_slice(head).map_err(|e| DecodeError(e.to_string().into()))?;
        Ok((t, Histogram::decode(&mut bytes)?))
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are cut, damaged or of a later version.
    pub fn decode(mut bytes: &[u8]) -> Result<Window, DecodeError> {
        let head = take_head(&mut bytes)?;
        let head: Head = serde_json::from_slice(head).map_err(|e| DecodeError(e.to_string().into()))?;
        head.check()?;
        let mut window = Window {
            t: head.t,
            ledger: head.ledger,
            counters: head.counters,
            statuses: head.statuses,
            errors: head.errors,
            addresses: head.addresses,
            sent_by_thread: head.sent_by_thread,
            not_sent: head.not_sent,
            assertions: head.assertions,
            assertion_failures: head.assertion_failures,
            examples: head.examples,
            busiest_permille: head.busiest_permille,
            peak_clients: head.peak_clients,
            ..Window::default()
        };
        for histogram in window.histograms_mut() {
            *histogram = Histogram::decode(&mut bytes)?;
        }
        for ledger in head.requests {
            window.requests.push(RequestWindow { ledger, latency: Histogram::decode(&mut bytes)? });
        }
        if head.has_total {
            window.total = Histogram::decode(&mut bytes)?;
        }
        if head.ok_apart {
            window.ok = Some(Box::new(Histogram::decode(&mut bytes)?));
        }
        if !bytes.is_empty() {
            return Err(DecodeError("longer than it says".into()));
        }
        Ok(window)
    }
}

/// The head of a stored window; `bytes` moves past it.
fn take_head<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let [version] = take::<1>(bytes)?;
    if version != 1 {
        return Err(DecodeError(format!("version {version} is not known").into()));
    }
    let length = u32::from_le_bytes(take::<4>(bytes)?) as usize;
    let head = bytes.get(..length).ok_or_else(|| DecodeError("cut short".into()))?;
    *bytes = &bytes[length..];
    Ok(head)
}

#[derive(Serialize, Deserialize)]
struct Head {
    t: u32,
    ledger: Ledger,
    counters: Counters,
    statuses: BTreeMap<u16, u64>,
    errors: ErrorTable,
    #[serde(default)]
    addresses: AddressTable,
    #[serde(default)]
    sent_by_thread: Vec<u64>,
    // Of scenarios only; earlier versions did not write them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    not_sent: BTreeMap<ErrorKind, u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    assertions: Vec<AssertionCounts>,
    #[serde(default, skip_serializing_if = "ErrorTable::is_empty")]
    assertion_failures: ErrorTable,
    // Where something failed only.
    #[serde(default, skip_serializing_if = "Examples::is_empty")]
    examples: Examples,
    requests: Vec<Ledger>,
    busiest_permille: u32,
    peak_clients: u64,
    #[serde(default)]
    ok_apart: bool,
    #[serde(default)]
    has_total: bool,
}

/// Most that a stored second may count of anything, 4 TB for example: a day of such seconds still fits 64 bits.
const MOST_STORED: u64 = 1 << 42;

impl Head {
    fn check(&self) -> Result<(), DecodeError> {
        let bounded = |counts: &[u64]| counts.iter().all(|count| *count <= MOST_STORED);
        let rows = &self.errors.0;
        if self.requests.len() > limits::REQUEST_LIST
            || rows.len() > limits::ERROR_ROWS + ErrorKind::ALL.len()
            || self.addresses.rows.len() > limits::ADDRESS_ROWS
            || self.sent_by_thread.len() > limits::THREADS.max as usize
            || self.assertions.len() > limits::REQUEST_LIST * limits::ASSERTIONS
            || self.assertion_failures.0.len() > limits::ERROR_ROWS + ErrorKind::ALL.len()
            || !self.examples.is_sound()
            || self.statuses.keys().any(|status| usize::from(*status) >= limits::STATUS_CODES)
        {
            return Err(DecodeError("a list is too long".into()));
        }
        let sound = bounded(&self.ledger.counts())
            && bounded(&self.counters.counts())
            && self.requests.iter().all(|ledger| bounded(&ledger.counts()))
            && self.statuses.values().all(|count| bounded(&[*count]))
            && rows.iter().chain(&self.assertion_failures.0).all(|row| bounded(&[row.count]))
            && self.assertions.iter().all(|counts| bounded(&[counts.passed, counts.failed]))
            && self.not_sent.values().all(|count| bounded(&[*count]))
            && self.addresses.rows.values().all(|count| bounded(&[*count]))
            && bounded(&self.sent_by_thread)
            && bounded(&[self.peak_clients, self.addresses.other]);
        if sound { Ok(()) } else { Err(DecodeError("a count is larger than a second can hold".into())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::FailedExample;

    fn sample(t: u32, us: u64) -> Window {
        let mut w = Window::new(t, 2);
        w.ledger = Ledger { planned: 3, sent: 2, dropped: 1, ..Ledger::default() };
        w.ledger.finish(Outcome::Answered(200));
        w.ledger.finish(Outcome::Failed(ErrorKind::Reset));
        w.latency.record(us);
        w.failed.record(us / 2);
        w.statuses.insert(200, 1);
        w.errors.record(ErrorKind::Reset, "é".repeat(300).as_str(), 1);
        w.requests[1].ledger.ok = 1;
        w.requests[1].latency.record(us);
        w.counters.bytes_sent = 7;
        (w.counters.http10, w.counters.http11, w.counters.http2) = (1, 2, 3);
        (w.counters.tls12, w.counters.tls13) = (4, 5);
        w.peak_clients = 4;
        w.addresses.record("127.0.0.1:80".parse().unwrap(), 3);
        w.sent_by_thread = vec![0, 2];
        w.not_sent.insert(ErrorKind::MissingVariable, 2);
        w.assertions = vec![AssertionCounts { passed: 3, failed: 1 }; 2];
        w.assertion_failures.record(ErrorKind::Assertion, "status equals 200: found 404", 1);
        w.examples.push(FailedExample { kind: "reset".into(), at_s: f64::from(t), ..FailedExample::default() });
        w
    }

    #[test]
    fn windows_add_up_and_stay_closed() {
        let mut a = sample(0, 100);
        a.merge(&sample(0, 300), Merge::SameSecond);
        assert!(a.ledger.is_closed());
        assert_eq!((a.ledger.planned, a.latency.count(), a.statuses[&200], a.peak_clients), (6, 2, 2, 8));
        let c = a.counters;
        assert_eq!([c.http10, c.http11, c.http2, c.tls12, c.tls13], [2, 4, 6, 8, 10]);
        assert_eq!(a.errors.rows()[0].count, 2);
        assert_eq!(a.errors.rows()[0].detail.chars().count(), limits::ERROR_DETAIL_CHARS);
        assert_eq!((a.not_sent[&ErrorKind::MissingVariable], a.assertion_failures.rows()[0].count), (4, 2));
        a.merge(
            &Window { assertions: vec![AssertionCounts { passed: 1, failed: 0 }; 3], ..Window::default() },
            Merge::SameSecond,
        );
        let counts: Vec<(u64, u64)> = a.assertions.iter().map(|c| (c.passed, c.failed)).collect();
        assert_eq!(counts, [(7, 2), (7, 2), (1, 0)]);
        a.merge(&sample(1, 5), Merge::OtherSecond);
        assert_eq!((a.peak_clients, a.requests[1].latency.count()), (8, 3));
        assert_eq!(a.addresses.rows(), [("127.0.0.1:80".parse().unwrap(), 9)]);
        a.merge(&Window { sent_by_thread: vec![1], ..Window::default() }, Merge::SameSecond);
        assert_eq!(a.sent_by_thread, [1, 6]);
        assert_eq!(a.examples.all().iter().map(|e| e.at_s).collect::<Vec<_>>(), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn b18_latencies_of_the_ok_are_known_apart() {
        let of = |times: &[(u64, bool)]| {
            let mut w = Window::new(0, 1);
            times.iter().for_each(|&(us, ok)| w.record_latency(us, ok));
            w
        };
        let counts = |w: &Window| (w.latency.count(), w.ok_latency().count(), w.ok_latency().max_us());
        let (clean, mixed) = (of(&[(10, true), (20, true)]), of(&[(30, true), (5000, false), (40, true)]));
        assert_eq!((counts(&clean), clean.ok.is_none()), ((2, 2, Some(20)), true), "nothing is kept twice");
        assert_eq!(counts(&mixed), (3, 2, Some(40)));
        for (mut a, b) in [(clean.clone(), mixed.clone()), (mixed, clean)] {
            a.merge(&b, Merge::SameSecond);
            assert_eq!((counts(&a), a.ok_latency().min_us()), ((5, 4, Some(40)), Some(10)));
            assert_eq!(Window::decode(&a.encode()).unwrap(), a);
            assert_eq!(Window::decode_latency(&a.encode()).unwrap(), (a.t, a.latency.clone()));
        }
        assert_eq!(counts(&of(&[(7, false)])), (1, 0, None));
    }

    #[test]
    fn address_rows_are_bounded_and_their_sum_is_exact() {
        let address = |n: u16| SocketAddr::from(([127, 0, 0, 1], n));
        let (mut a, mut b) = (AddressTable::default(), AddressTable::default());
        (1..=20).for_each(|n| a.record(address(n), 2));
        (11..=60).for_each(|n| b.record(address(n), 1));
        a.add(&b);
        let rows = a.rows();
        assert_eq!((rows.len(), rows[0].1), (limits::ADDRESS_ROWS, 3));
        assert_eq!(rows.iter().map(|(_, n)| n).sum::<u64>() + a.other(), 20 * 2 + 50);
    }

    #[test]
    fn windows_stored_by_earlier_versions_can_be_read() {
        let w = Window { addresses: AddressTable::default(), sent_by_thread: Vec::new(), ..sample(7, 12_345) };
        let bytes = w.encode();
        let length = u32::from_le_bytes(bytes[1..5].try_into().unwrap()) as usize;
        let mut head: serde_json::Value = serde_json::from_slice(&bytes[5..5 + length]).unwrap();
        let fields = head.as_object_mut().unwrap();
        assert!(fields.remove("addresses").is_some() && fields.remove("sent_by_thread").is_some());
        assert!(fields["counters"].as_object_mut().unwrap().remove("stalled_us").is_some());
        let head = serde_json::to_vec(&head).unwrap();
        let earlier = [&[1][..], &(head.len() as u32).to_le_bytes(), &head, &bytes[5 + length..]].concat();
        assert_eq!(Window::decode(&earlier).unwrap(), w);
    }

    #[test]
    fn stored_windows_come_back_whole_and_damage_is_an_error() {
        let w = sample(7, 12_345);
        let bytes = w.encode();
        assert_eq!(Window::decode(&bytes).unwrap(), w);
        for cut in 0..bytes.len() {
            assert!(Window::decode(&bytes[..cut]).is_err());
        }
        let mut later = bytes;
        later[0] = 2;
        assert!(Window::decode(&later).is_err());
    }

    #[test]
    fn windows_stored_before_a_counter_was_there_are_read() {
        let (mut bytes, name) =
            (sample(7, 12_345).encode(), br#","http10":1,"http11":2,"http2":3,"tls12":4,"tls13":5"#);
        let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
        bytes.drain(at..at + name.len());
        let head = u32::from_le_bytes(bytes[1..5].try_into().unwrap()) - name.len() as u32;
        bytes[1..5].copy_from_slice(&head.to_le_bytes());
        let counters = Counters { bytes_sent: 7, ..Counters::default() };
        assert_eq!(Window::decode(&bytes).unwrap(), Window { counters, ..sample(7, 12_345) });
    }

    #[test]
    fn what_only_some_runs_have_takes_no_room_elsewhere() {
        let bytes = Window::new(7, 2).encode();
        for name in ["assertion", "not_sent", "examples"] {
            assert!(!bytes.windows(name.len()).any(|w| w == name.as_bytes()), "{name}");
        }
        assert_eq!(Window::decode(&bytes).unwrap(), Window::new(7, 2));
    }

    #[test]
    fn b57_error_rows_are_bounded_and_counts_exact() {
        let mut table = ErrorTable::default();
        for i in 0..20_000 {
            table.record(ErrorKind::InvalidReply, &format!("garbage {i}"), 1);
        }
        assert_eq!(table.rows().len(), limits::ERROR_ROWS + 1);
        assert_eq!(table.rows().iter().map(|r| r.count).sum::<u64>(), 20_000);
    }

    #[test]
    fn odd_statuses_have_their_column() {
        let mut l = Ledger::default();
        for status in [101, 399, 400, 599, 600, 999] {
            l.finish(Outcome::Answered(status));
        }
        assert_eq!((l.ok, l.status_4xx, l.status_5xx, l.status_other), (2, 1, 1, 2));
    }
}

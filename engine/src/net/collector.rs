//! Merges the workers' seconds and tells the world: second s when every worker has handed it over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::shared::Shared;
use super::worker::{self, Orders};
use super::{Event, RunEnd, StartError, health};
use crate::limit::LimitSpec;
use crate::plan::limits;
use crate::result::{EndReason, judge_limit};
use crate::window::{Ledger, Merge, Window};

/// Time between “all workers are ready” and the first instant of the plan.
const LEAD: Duration = Duration::from_millis(3);
/// Finished or planned requests before a threshold is judged.
const JUDGED_FROM: u64 = 20;

/// What workers hand over.
pub(super) enum Report {
    Second { worker: usize, window: Box<Window> },
    Done { worker: usize, duration: Duration, ages_us: Vec<u64>, capped: u64, cpu_us: u64 },
}

/// Starts all threads; returns the first instant of the result.
pub(super) fn launch(shared: &Arc<Shared>, events: UnboundedSender<Event>) -> Result<Instant, StartError> {
    let (reports, inbox) = channel();
    let (ready, readiness) = channel();
    let mut starts = Vec::new();
    for index in 0..shared.threads {
        let (start, started) = channel();
        starts.push(start);
        let (shared, reports, ready) = (shared.clone(), reports.clone(), ready.clone());
        spawn(format!("oleada-load-{index}"), move || work(shared, index, &ready, &started, reports))?;
    }
    drop((reports, ready));
    for _ in 0..shared.threads {
        // A worker that died without a word counts as one that could not start.
        let word = readiness.recv().unwrap_or_else(|_| Err(std::io::Error::other("a thread died")));
        word.map_err(StartError::Timer)?;
    }
    let first = Instant::now() + LEAD + shared.plan.warm_up();
    let collector = Collector::new(shared.clone(), events);
    spawn("oleada-collect".to_owned(), move || collector.run(&inbox))?;
    for start in starts {
        let _ = start.send(first);
    }
    Ok(first)
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
    thread::Builder::new().name(name).spawn(body).map(drop).map_err(StartError::Threads)
}

fn work(
    shared: Arc<Shared>,
    index: usize,
    ready: &Sender<std::io::Result<()>>,
    started: &Receiver<Instant>,
    reports: Sender<Report>,
) {
    let (runtime, timer) = match worker::prepare() {
        Ok(prepared) => prepared,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let _ = ready.send(Ok(()));
    // No start: another worker could not be made.
    let Ok(start) = started.recv() else { return };
    worker::run(&runtime, &timer, &Orders { shared, index, start, reports });
}

struct Collector {
    shared: Arc<Shared>,
    events: UnboundedSender<Event>,
    /// Seconds not complete yet.
    pending: BTreeMap<u32, Box<Window>>,
    /// Seconds each worker has handed over; `u32::MAX` = all of them.
    delivered: Vec<u32>,
    next: u32,
    so_far: Ledger,
    /// Of the first request of the list, which shows whether arrivals were let in.
    arrivals: Ledger,
    /// All so far, kept only for limits that end the run.
    totals: Option<Box<Window>>,
    duration: Duration,
    ages_us: Vec<u64>,
    capped: u64,
    cpu_us: u64,
}

impl Collector {
    fn new(shared: Arc<Shared>, events: UnboundedSender<Event>) -> Collector {
        let stops = shared.plan.spec().limits.iter().any(|limit| limit.stop);
        Collector {
            delivered: vec![0; shared.threads],
            totals: stops.then(|| Box::new(Window::new(0, shared.prepared.len()))),
            shared,
            events,
            pending: BTreeMap::new(),
            next: 0,
            so_far: Ledger::default(),
            arrivals: Ledger::default(),
            duration: Duration::ZERO,
            ages_us: Vec::new(),
            capped: 0,
            cpu_us: 0,
        }
    }

    fn run(mut self, inbox: &Receiver<Report>) {
        while let Ok(report) = inbox.recv() {
            self.take(report);
        }
        // A worker that died keeps nothing back.
        let all_done = self.delivered.iter().all(|d| *d == u32::MAX);
        self.delivered.fill(u32::MAX);
        self.publish();
        if !all_done {
            self.shared.control.stop(EndReason::Interrupted);
        }
        self.ages_us.sort_unstable_by(|a, b| b.cmp(a));
        self.ages_us.truncate(limits::IN_FLIGHT_AGES);
        let end = RunEnd {
            end_reason: self.shared.control.reason().unwrap_or(EndReason::Completed),
            duration: self.duration,
            in_flight_at_end_us: self.ages_us,
            threads: self.shared.threads as u32,
            cpu_s: self.cpu_us as f64 / 1e6,
            max_rss_mb: health::max_rss_mb(),
            clients_capped: self.capped,
        };
        let _ = self.events.send(Event::Finished(Box::new(end)));
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Second { worker, window } => {
                self.delivered[worker] = window.t + 1;
                match self.pending.get_mut(&window.t) {
                    Some(merged) => merged.merge(&window, Merge::SameSecond),
                    None => drop(self.pending.insert(window.t, window)),
                }
            }
            Report::Done { worker, duration, ages_us, capped, cpu_us } => {
                self.delivered[worker] = u32::MAX;
                self.duration = self.duration.max(duration);
                self.ages_us.extend(ages_us);
                self.capped += capped;
                self.cpu_us += cpu_us;
            }
        }
        self.publish();
    }

    /// Publishes every second that all workers have handed over.
    fn publish(&mut self) {
        let complete = self.delivered.iter().copied().min().unwrap_or(u32::MAX);
        while self.next < complete {
            let window = match self.pending.remove(&self.next) {
                Some(window) => window,
                None if self.pending.is_empty() => return,
                None => Box::new(Window::new(self.next, self.shared.prepared.len())),
            };
            self.next += 1;
            self.judge(&window);
            let _ = self.events.send(Event::Second(window));
        }
    }

    fn judge(&mut self, window: &Window) {
        self.so_far.add(&window.ledger);
        // Where each client makes one request that is drawn, every request shows it.
        let first = window.requests.first().filter(|_| self.shared.weights.is_none());
        self.arrivals.add(first.map_or(&window.ledger, |first| &first.ledger));
        // Also what has just run to its end is judged: a run that reached its threshold says so, however short it was.
        let spec = self.shared.plan.spec();
        let control = &self.shared.control;
        let errors = self.so_far.error_rate() * 100.0;
        if spec.error_threshold < 100.0 && self.so_far.finished() >= JUDGED_FROM && errors >= spec.error_threshold {
            control.stop(EndReason::ErrorThreshold);
        }
        if let Some(totals) = &mut self.totals {
            totals.merge(window, Merge::OtherSecond);
            let requests = self.shared.plan.requests().len();
            let elapsed = Duration::from_secs(u64::from(window.t) + 1);
            let broken = |limit: &LimitSpec| {
                let one = limit.request.filter(|_| requests > 1).and_then(|i| totals.requests.get(i));
                let finished = one.map_or(&totals.ledger, |one| &one.ledger).finished();
                let judged = || judge_limit(limit, totals, requests, elapsed);
                // What has no value yet may still get one.
                limit.stop && finished >= JUDGED_FROM && judged().broken()
            };
            if spec.limits.iter().any(broken) {
                control.stop(EndReason::Limit);
            }
        }
        if let Some(most) = spec.max_rate_missed
            && spec.load.is_open()
            && self.arrivals.planned >= JUDGED_FROM
        {
            let missed = self.arrivals.planned.saturating_sub(self.arrivals.sent) as f64 / self.arrivals.planned as f64;
            if missed * 100.0 > most {
                control.stop(EndReason::RateMissed);
            }
        }
    }
}

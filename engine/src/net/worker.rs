//! One thread: a pacer that lets clients in, the clients, and a recorder.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::client::{Client, Walk};
use super::collector::Report;
use super::dial::Origin;
use super::fill::Supply;
use super::health;
use super::http1::kept::Kept;
use super::pace::Timer;
use super::recorder::{Drawn, Recorder};
use super::shared::Shared;
use super::slots::Slots;
use crate::arrivals::{Arrivals, Population};
use crate::plan::scenario::Pause;
use crate::plan::{AtEnd, Load, Target};

/// The one buffer a worker reads into.
const SCRATCH_BYTES: usize = 256 * 1024;
/// How long a stopped run may go on with what is in flight.
const STOP_DRAIN: Duration = Duration::from_secs(1);
/// How long after the plan's end a client is still let in that was due before it: a thread that the system wakes a little late
/// loses no arrival, and 10 ms are what a busy machine may take for that.
const LATE_ARRIVAL: Duration = Duration::from_millis(10);
/// How often a worker looks whether it is woken in time.
const PULSE: Duration = Duration::from_millis(20);
/// Lateness of a pulse that says nothing: the runtime's timer counts in milliseconds, and every system lets a thread wait a little.
const PULSE_SLACK: Duration = Duration::from_millis(5);
/// Replies kept for reading that are used again, and how large one may be to be worth it.
const SPARE: (usize, usize) = (64, 256 * 1024);
/// Clients let in at once before those already there get their turn.
const IN_A_ROW: u32 = 32;

pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    index: usize,
    /// First instant of the result.
    pub(super) start: Instant,
    /// Nothing begins at or after this.
    pub(super) end: Option<Instant>,
    pub(super) timeout: Duration,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) recorder: RefCell<Recorder>,
    pub(super) slots: Rc<Slots>,
    pub(super) scratch: RefCell<Box<[u8]>>,
    pub(super) plan_origins: Vec<usize>,
    origins: RefCell<Vec<Rc<Origin>>>,
    /// The last failure was a limit of our own machine.
    pub(super) local_limit: Cell<bool>,
    /// Values that are made here.
    pub(super) supply: Supply,
    /// Room for replies that are read.
    #[expect(clippy::vec_box, reason = "the boxes themselves are passed on")]
    spare: RefCell<Vec<Box<Kept>>>,
    tickets: Cell<u64>,
    /// Clients let in so far.
    let_in: Cell<u64>,
    clients: Cell<u64>,
    most_clients: u64,
    capped: Cell<u64>,
    last_full: Cell<Option<Instant>>,
    stopped: Cell<Option<Instant>>,
    /// From here on nobody begins the list, because the data has no row left.
    closed: Cell<Option<Instant>>,
    /// The run was stopped.
    stop: Notify,
    /// A client has left and somebody waits for that, or it was the last one.
    left: Notify,
    wants_room: Cell<bool>,
}

/// What a worker needs that cannot be sent to its thread ready-made.
pub(super) struct Orders {
    pub(super) shared: Arc<Shared>,
    pub(super) index: usize,
    pub(super) start: Instant,
    pub(super) reports: Sender<Report>,
}

/// Makes the event loop and the timer of a worker's thread.
pub(super) fn prepare() -> io::Result<(tokio::runtime::LocalRuntime, Timer)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build_local(Default::default())?;
    let timer = {
        let _inside = runtime.enter();
        Timer::new()?
    };
    Ok((runtime, timer))
}

/// Runs a worker to its end on this thread.
pub(super) fn run(runtime: &tokio::runtime::LocalRuntime, timer: &Timer, orders: &Orders) {
    let worker = Rc::new(Worker::new(orders));
    runtime.block_on(async {
        let mut tasks = vec![
            tokio::task::spawn_local(worker.slots.clone().watch()),
            tokio::task::spawn_local(worker.clone().tick()),
            tokio::task::spawn_local(worker.clone().pulse()),
            tokio::task::spawn_local(worker.clone().obey()),
        ];
        worker.clone().let_in(timer).await;
        worker.see_out(timer).await;
        for task in tasks.drain(..) {
            task.abort();
            let _ = task.await;
        }
    });
    let least = match worker.shared.plan.load() {
        Load::FixedCount { .. } => worker.stopped.get(),
        _ => worker.stopped.get().or(worker.closed.get()).or(worker.end),
    };
    let capped = worker.capped.get();
    // The tasks are gone, so that nobody else holds the worker.
    if let Some(worker) = Rc::into_inner(worker) {
        worker.recorder.into_inner().finish(least, capped);
    }
}

impl Worker {
    fn new(orders: &Orders) -> Worker {
        let shared = orders.shared.clone();
        let plan = &shared.plan;
        let shard = Arrivals::of(plan).map(|all| all.shard(orders.index as u64, shared.threads as u64));
        let drawn = shared.weights.clone().filter(|_| plan.load().is_open()).map(|weights| Drawn {
            weights,
            first: orders.index as u64,
            stride: shared.threads as u64,
        });
        let requests = plan.requests().len();
        let recorder = Recorder::new(orders.index, orders.reports.clone(), orders.start, requests, shard, drawn);
        let most_clients = shared.part_of(u64::from(plan.max_clients()), orders.index).max(1);
        let mut worker = Worker {
            index: orders.index,
            start: orders.start,
            end: plan.duration().map(|d| orders.start + d),
            timeout: plan.timeout(),
            idle_timeout: plan.idle_timeout(),
            recorder: RefCell::new(recorder),
            slots: Rc::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into()),
            plan_origins: Vec::new(),
            origins: RefCell::default(),
            local_limit: Cell::new(false),
            supply: Supply::new(orders.index, shared.threads, shared.lists),
            spare: RefCell::default(),
            tickets: Cell::new(0),
            let_in: Cell::new(0),
            clients: Cell::new(0),
            most_clients,
            capped: Cell::new(0),
            last_full: Cell::new(None),
            stopped: Cell::new(None),
            closed: Cell::new(None),
            stop: Notify::new(),
            left: Notify::new(),
            wants_room: Cell::new(false),
            shared,
        };
        worker.plan_origins = worker.shared.prepared.iter().map(|p| worker.origin(&p.target)).collect();
        worker
    }

    /// Whether a request may begin.
    #[inline]
    pub(super) fn may_begin(&self, now: Instant, warm: bool) -> bool {
        self.stopped.get().is_none() && (warm || self.end.is_none_or(|end| now < end))
    }

    /// Whether a client that was due before the end may begin its first request.
    #[inline]
    pub(super) fn may_arrive(&self, now: Instant, warm: bool) -> bool {
        self.stopped.get().is_none() && (warm || self.end.is_none_or(|end| now < end + LATE_ARRIVAL))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    /// Whether nobody begins the list any more.
    pub(super) fn is_closed(&self) -> bool {
        self.stopped.get().is_some() || self.closed.get().is_some()
    }

    pub(super) fn is_open_model(&self) -> bool {
        self.shared.plan.load().is_open()
    }

    /// The number of the place `target` is at.
    pub(super) fn origin(&self, target: &Target) -> usize {
        let mut origins = self.origins.borrow_mut();
        origins.iter().position(|o| o.is(target)).unwrap_or_else(|| {
            origins.push(Rc::new(Origin::new(&self.shared, target, self.index)));
            origins.len() - 1
        })
    }

    pub(super) fn origin_at(&self, number: usize) -> Rc<Origin> {
        self.origins.borrow()[number].clone()
    }

    /// One request of a fixed count; false when all are taken.
    #[inline]
    pub(super) fn take_ticket(&self) -> bool {
        if self.tickets.get() == 0 {
            self.tickets.set(self.shared.take_tickets());
        }
        let left = self.tickets.get();
        self.tickets.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether no request of a fixed count is left for this worker.
    pub(super) fn out_of_tickets(&self) -> bool {
        self.tickets.get() == 0 && self.shared.out_of_tickets()
    }

    /// Room for a reply of whose body `most` bytes are kept.
    pub(super) fn room(&self, most: usize) -> Box<Kept> {
        let mut kept = self.spare.borrow_mut().pop().unwrap_or_default();
        kept.reset(most);
        kept
    }

    /// Takes room back, so that the next reply needs no new memory; large ones are given up.
    pub(super) fn give_back(&self, kept: Box<Kept>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE.0 && kept.capacity() <= SPARE.1 {
            spare.push(kept);
        }
    }

    /// A time between the bounds.
    pub(super) fn draw(&self, pause: Pause) -> Duration {
        let part = self.supply.random.borrow_mut().f64();
        Duration::from_secs_f64((pause.least_ms + part * (pause.most_ms - pause.least_ms)) / 1000.0)
    }

    /// The request that arrival `n` of this worker makes, where one is drawn.
    fn drawn(&self, n: u64) -> Option<usize> {
        self.shared.weights.as_ref().map(|weights| weights.of_arrival(self.supply.turn(n)))
    }

    /// Hands over each second soon after it has ended, also when nothing happens.
    async fn tick(self: Rc<Self>) {
        pause_until(self.start).await;
        self.recorder.borrow_mut().warm_up_is_over();
        loop {
            let end = self.recorder.borrow().window_end();
            pause_until(end).await;
            self.recorder.borrow_mut().roll(Instant::now());
        }
    }

    /// Notes how long the machine keeps this thread waiting, in every kind of plan: closed models have no planned instants that
    /// would tell. What the thread itself works in that time does not count.
    async fn pulse(self: Rc<Self>) {
        pause_until(self.start).await;
        loop {
            let (due, cpu) = (Instant::now() + PULSE, health::thread_cpu());
            pause_until(due).await;
            let now = Instant::now();
            let worked = health::thread_cpu().saturating_sub(cpu);
            let stalled = now.saturating_duration_since(due).saturating_sub(worked);
            if stalled > PULSE_SLACK {
                self.recorder.borrow_mut().stalled(stalled, now);
            }
        }
    }

    /// A worker that lets one client try the requests once and hands it over to `body`; returns when that is done.
    pub(super) fn try_once<F: Future<Output = ()>>(
        runtime: &tokio::runtime::LocalRuntime,
        orders: &Orders,
        body: impl FnOnce(Box<Client>) -> F,
    ) {
        let worker = Rc::new(Worker::new(orders));
        runtime.block_on(async {
            let tasks = [
                tokio::task::spawn_local(worker.slots.clone().watch()),
                tokio::task::spawn_local(worker.clone().obey()),
            ];
            let (id, slot) = worker.slots.take();
            body(Client::new(worker.clone(), id, slot, 0, true)).await;
            for task in tasks {
                task.abort();
                let _ = task.await;
            }
        });
    }

    /// Nobody begins the list any more, and nothing is planned from `planned_until` on.
    pub(super) fn close(&self, planned_until: Instant) {
        if self.closed.get().is_none() {
            self.closed.set(Some(Instant::now()));
            self.recorder.borrow_mut().stop_planning(planned_until);
            self.stop.notify_one();
            self.slots.wake_all();
        }
    }

    /// Carries out a stop and an interruption.
    async fn obey(self: Rc<Self>) {
        let mut signals = self.shared.control.watch();
        let told = signals.wait_for(|s| s.reason.is_some() || s.out_of_rows).await.is_ok_and(|s| s.reason.is_none());
        if told {
            self.close(Instant::now());
        }
        let told = signals.wait_for(|s| s.reason.is_some()).await.is_ok_and(|signal| signal.cut);
        let now = Instant::now();
        self.stopped.set(Some(now));
        self.recorder.borrow_mut().stop_planning(now);
        self.stop.notify_one();
        // Those in a pause leave.
        self.slots.wake_all();
        if !told {
            let cut = signals.wait_for(|s| s.cut);
            let _ = tokio::time::timeout(STOP_DRAIN, cut).await;
        }
        self.slots.cut_all();
    }

    /// Waits for `due`; false when the run was stopped before.
    async fn reached(&self, timer: &Timer, due: Instant) -> bool {
        loop {
            if self.is_closed() {
                return false;
            }
            if Instant::now() >= due {
                return true;
            }
            tokio::select! {
                biased;
                // Without the precise timer the next round asks the clock again; a fault of it must not end the run.
                waited = timer.until(due) => if waited.is_err() { pause_until(due).await },
                () = self.stop.notified() => {}
            }
        }
    }

    fn admit(self: &Rc<Self>, walk: Walk, warm: bool) {
        let (id, slot) = self.slots.take();
        self.clients.set(self.clients.get() + 1);
        self.recorder.borrow_mut().client_begins(Instant::now());
        let place = Place { worker: self.clone(), id };
        let n = self.let_in.get();
        self.let_in.set(n + 1);
        let client = Client::new(self.clone(), id, slot, self.supply.turn(n), warm);
        tokio::task::spawn_local(async move {
            let _place = place;
            client.walk(walk).await;
        });
    }

    /// Lets clients in by the plan.
    async fn let_in(self: Rc<Self>, timer: &Timer) {
        if let Some(population) = Population::of(&self.shared.plan) {
            return self.maintain(timer, &population).await;
        }
        match self.shared.plan.load() {
            Load::FixedCount { requests, clients } => {
                let share = self.shared.part_of(u64::from(clients).min(requests), self.index);
                for n in 0..share {
                    if n % 256 == 255 {
                        tokio::task::yield_now().await;
                    }
                    if self.reached(timer, self.start - self.shared.plan.warm_up()).await {
                        self.admit(Walk::Tickets, false);
                    }
                }
            }
            _ => self.arrivals(timer).await,
        }
    }

    async fn maintain(self: &Rc<Self>, timer: &Timer, population: &Population) {
        let warm_up = self.shared.plan.warm_up();
        let own = (self.index as u32..population.most()).step_by(self.shared.threads);
        let mut spans: Vec<_> = own.flat_map(|k| population.spans(k)).collect();
        spans.sort();
        for (n, (starts, leaves)) in spans.into_iter().enumerate() {
            let at = if starts.is_zero() { self.start - warm_up } else { self.start + starts };
            if !self.reached(timer, at).await {
                return;
            }
            self.admit(Walk::Until(self.start + leaves), false);
            if n % 256 == 255 {
                tokio::task::yield_now().await;
            }
        }
    }

    async fn arrivals(self: &Rc<Self>, timer: &Timer) {
        let plan = &self.shared.plan;
        let Some(all) = Arrivals::of(plan) else { return };
        let (k, of) = (self.index as u64, self.shared.threads as u64);
        let warm_up = plan.warm_up();
        if !warm_up.is_zero() {
            let rate = match plan.load() {
                // Stages may begin with nobody; whoever warms up wants somebody.
                Load::PerSecond { rate } if rate > 0.0 => rate,
                _ => all.count() as f64 / plan.duration().map_or(1.0, |d| d.as_secs_f64()),
            };
            for (n, due) in Arrivals::at_rate(rate, warm_up).shard(k, of).enumerate() {
                self.arrive(timer, self.start - warm_up + due, self.drawn(n as u64), true).await;
            }
        }
        let mut row = 0;
        for due in all.shard(k, of) {
            if !self.arrive(timer, self.start + due, self.drawn(row), false).await {
                return;
            }
            row += 1;
            if row % u64::from(IN_A_ROW) == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Lets one client in when it is due and there is room. False when nobody comes any more.
    async fn arrive(self: &Rc<Self>, timer: &Timer, due: Instant, drawn: Option<usize>, warm: bool) -> bool {
        if !self.reached(timer, due).await {
            return false;
        }
        while self.clients.get() >= self.most_clients {
            self.last_full.set(Some(Instant::now()));
            self.wants_room.set(true);
            tokio::select! {
                () = self.left.notified() => {}
                () = self.stop.notified() => {}
                // Past the end nobody is let in; what is in flight is then drained or cut.
                () = reached_end(timer, self.end) => {}
            }
            self.wants_room.set(false);
            self.last_full.set(Some(Instant::now()));
            if self.is_closed() || !self.may_begin(Instant::now(), warm) {
                return false;
            }
        }
        let now = Instant::now();
        if self.is_closed() || !self.may_arrive(now, warm) {
            return false;
        }
        if warm {
            self.admit(Walk::Once { due, drawn }, true);
            return true;
        }
        if self.last_full.get().is_some_and(|full| full >= due) {
            self.capped.set(self.capped.get() + 1);
            if now.duration_since(due) > self.timeout {
                self.recorder.borrow_mut().drop_arrival(drawn, now);
                return true;
            }
        }
        self.admit(Walk::Once { due, drawn }, false);
        true
    }

    /// Waits until the plan's end and for the last client.
    async fn see_out(self: &Rc<Self>, timer: &Timer) {
        let fixed_count = matches!(self.shared.plan.load(), Load::FixedCount { .. });
        let abort = self.shared.plan.spec().end == AtEnd::Abort;
        let mut cut = false;
        loop {
            let now = Instant::now();
            let ahead = self.end.filter(|end| now < *end && !self.is_stopped());
            if ahead.is_none() && self.end.is_some_and(|end| now >= end) && abort && !cut {
                cut = true;
                self.slots.cut_all();
            }
            if self.clients.get() == 0 && (fixed_count || ahead.is_none() || self.is_closed()) {
                return;
            }
            match ahead {
                Some(end) => {
                    tokio::select! {
                        () = self.left.notified() => {}
                        () = self.stop.notified() => {}
                        waited = timer.until(end) => if waited.is_err() { pause_until(end).await },
                    }
                }
                None => self.left.notified().await,
            }
        }
    }
}

/// Returns at the plan's end; never if it has none.
async fn reached_end(timer: &Timer, end: Option<Instant>) {
    match end {
        Some(end) => {
            if timer.until(end).await.is_err() {
                pause_until(end).await;
            }
        }
        None => std::future::pending().await,
    }
}

/// Gives a client's place back, whatever happens to the client.
struct Place {
    worker: Rc<Worker>,
    id: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.worker.slots.give_back(self.id);
        self.worker.clients.set(self.worker.clients.get() - 1);
        self.worker.recorder.borrow_mut().client_ends(Instant::now());
        if self.worker.wants_room.get() || self.worker.clients.get() == 0 {
            self.worker.left.notify_one();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a second may be handed over a millisecond late")]
async fn pause_until(at: Instant) {
    tokio::time::sleep_until(at.into()).await;
}

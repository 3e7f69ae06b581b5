//! Drives the engine for one run and stores its windows: the one place that knows where load is made.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use oleada_engine::distribution::Totals;
use oleada_engine::net::{self, Event, Options, RunEnd, Running};
use oleada_engine::outcome::ErrorKind;
use oleada_engine::plan::Plan;
use oleada_engine::result::{EndReason, Point, Record, ResultDoc};
use oleada_engine::window::{Ledger, Merge, RequestWindow, Window};

use super::live::{LiveRun, Phase};
use super::{kept, light, plan_of, queue, series};
use crate::clock::rfc3339;
use crate::error::{Error, Result};
use crate::hosts;
use crate::state::AppState;
use crate::store::runs::{Ending, RunRow};
use crate::store::samples::Sample;
use crate::store::{RunId, Timestamp};

/// The only shard while one machine makes the load.
const SHARD: u32 = 0;
/// Seconds kept in memory while the database does not take them.
const PENDING: usize = 600;
/// Tries to write the end of a run, half a second apart.
const LAST_TRIES: u32 = 6;

/// Runs a claimed run to its end. Whatever happens, the run is not left "running".
pub async fn drive(state: AppState, run: RunRow) {
    let entered = Entered { state: &state, run: run.id, live: state.runs.hub.enter(run.id) };
    if let Err(error) = attempt(&state, &run, &entered.live).await {
        tracing::error!(run = %run.id, error = format!("{error:#}"), "run failed");
        if let Err(error) = settle_interrupted(&state, &run).await {
            tracing::error!(run = %run.id, %error, "the failed run cannot be stored as over; it will be tried again");
        }
    }
    drop(entered);
    if let Some(id) = run.series_id
        && let Err(error) = series::advance(&state, id).await
    {
        tracing::error!(series = %id, %error, "the series cannot be carried on; it will be tried again");
    }
}

/// A run in the hub. It leaves whatever happens, a panic included: what is in the hub is not looked after by the queue.
struct Entered<'a> {
    state: &'a AppState,
    run: RunId,
    live: Arc<LiveRun>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.state.runs.hub.leave(self.run);
    }
}

async fn attempt(state: &AppState, run: &RunRow, live: &LiveRun) -> Result<()> {
    let Ok(opened) = state.vault.unseal(&run.spec) else {
        return refuse(state, run, "The stored test is not one that this version can run.").await;
    };
    if let Some(loss) = opened.loss() {
        return refuse(state, run, &loss).await;
    }
    let plan = opened.plan;
    let named = plan.hosts();
    tokio::select! {
        confirmed = hosts::confirm_all(state, run.owner_id, &named) => {
            if let Err(sentence) = confirmed? {
                return refuse(state, run, &sentence).await;
            }
        }
        () = keep_alive(state, run.id) => {}
        () = live.stop_is_asked() => {}
        () = state.shutdown.begun() => {
            state.db.unclaim_run(run.id).await?;
            return Ok(());
        }
    }
    if live.stop_asked() {
        let ending = Ending {
            reason: EndReason::Stopped.as_str(),
            detail: None,
            at: Timestamp::now(),
            result: None,
            light: None,
        };
        state.db.finish_run(run.id, ending).await?;
        return Ok(());
    }
    if !state.db.start_run(run.id, Timestamp::now()).await? {
        return Ok(());
    }
    match net::start(plan.clone(), options(state, &format!("run {}", run.id))) {
        Ok(running) => Drive::new(state, run, live, &plan, &running).follow(running).await,
        Err(error) => refuse(state, run, &format!("The load could not be started: {error}")).await,
    }
}

/// How requests of this installation leave; `what` they are for stands in the user agent.
pub fn options(state: &AppState, what: &str) -> Options {
    Options {
        threads: None,
        policy: state.config.address_policy(),
        user_agent: format!("oleada/{} (+{what})", env!("CARGO_PKG_VERSION")),
        resolve: Vec::new(),
        dns_server: None,
        // Only what was confirmed a moment ago: the plan's own hosts.
        redirect_hosts: Vec::new(),
        client_identity: None,
    }
}

/// Never returns: marks the run as alive while its hosts are checked.
async fn keep_alive(state: &AppState, run: RunId) {
    loop {
        queue::pause(Duration::from_secs(3)).await;
        if let Err(error) = state.db.touch_run(run, Timestamp::now()).await {
            tracing::warn!(%run, %error, "run could not be marked as alive");
        }
    }
}

async fn refuse(state: &AppState, run: &RunRow, sentence: &str) -> Result<()> {
    tracing::info!(run = %run.id, reason = sentence, "run refused");
    state.db.refuse_run(run.id, sentence, Timestamp::now()).await?;
    Ok(())
}

/// A run under way.
struct Drive<'a> {
    state: &'a AppState,
    run: &'a RunRow,
    live: &'a LiveRun,
    plan: &'a Plan,
    started_at: Timestamp,
    threads: u32,
    totals: Window,
    /// Seconds that the database has not taken yet, small as they are stored.
    pending: VecDeque<Sample>,
}

impl<'a> Drive<'a> {
    fn new(state: &'a AppState, run: &'a RunRow, live: &'a LiveRun, plan: &'a Plan, running: &Running) -> Drive<'a> {
        let started_at = Timestamp(running.started_at_unix_ms());
        live.begin(started_at, running.stopper());
        tracing::info!(run = %run.id, "run started");
        let totals = Window::new(0, plan.requests().len());
        Drive { state, run, live, plan, started_at, threads: running.threads(), totals, pending: VecDeque::new() }
    }

    async fn follow(mut self, mut running: Running) -> Result<()> {
        let stopper = running.stopper();
        let mut ending = false;
        loop {
            tokio::select! {
                // A warm-up has no seconds to store; the run is alive all the same.
                () = keep_alive(self.state, self.run.id) => {}
                event = running.next() => match event {
                    Some(Event::Second(window)) => self.second(*window).await,
                    Some(Event::Finished(end)) => return self.finish(&end).await,
                    None => return Err(Error::Internal(anyhow::anyhow!("the generator's threads ended without a result"))),
                },
                () = self.state.shutdown.begun(), if !ending => {
                    ending = true;
                    stopper.interrupt();
                }
            }
        }
    }

    async fn second(&mut self, window: Window) {
        self.totals.merge(&window, Merge::OtherSecond);
        let elapsed = Duration::from_secs(u64::from(window.t) + 1);
        let summary = self.record(elapsed, None, None).document(None);
        let point = Point::of(&window);
        self.pending.push_back(Sample::of(&window));
        // Stored before it is shown, so that a crash takes away nothing that somebody has seen.
        self.store().await;
        self.live.push(point, summary);
        if self.plan.duration().is_some_and(|d| elapsed >= d) && self.live.look(Some(u32::MAX)).phase == Phase::Running
        {
            self.live.set_phase(Phase::Draining);
            if let Err(error) = self.state.db.drain_run(self.run.id).await {
                tracing::warn!(run = %self.run.id, %error, "the run's state could not be stored");
            }
        }
    }

    /// Writes what is pending, oldest first; what fails stays for the next second.
    async fn store(&mut self) {
        while let Some(sample) = self.pending.front() {
            if let Err(error) = self.state.db.add_sample(self.run.id, SHARD, sample).await {
                tracing::error!(run = %self.run.id, t = sample.point.t, %error, "a second could not be stored; trying again");
                let over = self.pending.len().saturating_sub(PENDING);
                self.pending.drain(..over);
                return;
            }
            self.pending.pop_front();
        }
    }

    async fn finish(mut self, end: &RunEnd) -> Result<()> {
        self.live.set_phase(Phase::Draining);
        let document = self.record(end.duration, Some(end.end_reason), Some(end)).document(None);
        debug_assert!(document.ledger.is_closed(), "{:?}", document.ledger);
        if !document.ledger.is_closed() {
            tracing::error!(run = %self.run.id, ledger = ?document.ledger, "the ledger does not close");
        }
        let result = serde_json::to_string(&document).map_err(anyhow::Error::from)?;
        let light = light::of(&document, &self.live.look(None).points);
        let reason = end.end_reason;
        let detail = (reason == EndReason::Interrupted).then_some("Oleada was stopped while this test ran.");
        let kept = kept::kept(&Totals::of(&self.totals), &self.live.look(None).points);
        let mut tries = LAST_TRIES;
        loop {
            self.store().await;
            if let Err(error) = self.state.db.keep_for_report(self.run.id, &kept).await {
                tracing::warn!(run = %self.run.id, %error, "the report's charts will be made of the stored seconds");
            }
            let at = self.started_at.after(end.duration);
            let ending = Ending { reason: reason.as_str(), detail, at, result: Some(&result), light: Some(&light) };
            match self.state.db.finish_run(self.run.id, ending).await {
                Ok(_) if self.pending.is_empty() => break,
                Ok(_) => tracing::warn!(run = %self.run.id, seconds = self.pending.len(), "seconds are not stored yet"),
                Err(error) => {
                    tracing::error!(run = %self.run.id, %error, "the end of the run could not be stored; trying again")
                }
            }
            tries -= 1;
            if tries == 0 {
                return Err(Error::Internal(anyhow::anyhow!("the database did not take the end of the run")));
            }
            queue::pause(Duration::from_millis(500)).await;
        }
        tracing::info!(run = %self.run.id, reason = reason.as_str(), sent = document.ledger.sent, "run over");
        Ok(())
    }

    fn record<'b>(&'b self, duration: Duration, reason: Option<EndReason>, end: Option<&'b RunEnd>) -> Record<'b> {
        Record {
            plan: self.plan,
            started_at: rfc3339(self.started_at.0),
            duration,
            end: reason,
            totals: &self.totals,
            in_flight_at_end_us: end.map_or(&[], |e| &e.in_flight_at_end_us),
            clients_capped: end.map_or(0, |e| e.clients_capped),
            threads: self.threads,
            max_rss_mb: end.and_then(|e| e.max_rss_mb),
        }
    }
}

/// Ends a run whose process died: the result is the sum of the stored seconds. What was in flight then is counted as
/// aborted, what was due and not sent as dropped, in a last second of its own, so that the ledger closes.
///
/// # Errors
/// If the database fails.
pub async fn settle_interrupted(state: &AppState, run: &RunRow) -> Result<()> {
    let detail =
        Some("The process that ran this test ended before the test did. What it had stored until then is shown.");
    let points = state.db.points(run.id, -1).await?;
    let (Ok(plan), Some(last)) = (plan_of(state, run), points.last()) else {
        let ending =
            Ending { reason: EndReason::Interrupted.as_str(), detail, at: Timestamp::now(), result: None, light: None };
        state.db.finish_run(run.id, ending).await?;
        return Ok(());
    };
    let mut totals = stored_totals(state, run.id, &plan, last.t + 1).await?;
    if let Some(closing) = closing_second(&totals, last.t + 1) {
        totals.merge(&closing, Merge::OtherSecond);
        state.db.add_sample(run.id, SHARD, &Sample::of(&closing)).await?;
    }
    let started_at = run.started_at.unwrap_or(run.queued_at);
    let duration = Duration::from_secs(u64::from(last.t) + 1);
    let record = Record {
        plan: &plan,
        started_at: rfc3339(started_at.0),
        duration,
        end: Some(EndReason::Interrupted),
        totals: &totals,
        in_flight_at_end_us: &[],
        clients_capped: 0,
        threads: machine_threads(),
        max_rss_mb: None,
    };
    state.db.keep_for_report(run.id, &kept::kept(&Totals::of(&totals), &points)).await?;
    let document: ResultDoc = record.document(None);
    let result = serde_json::to_string(&document).map_err(anyhow::Error::from)?;
    let light = light::of(&document, &points);
    let at = started_at.after(duration);
    let ending =
        Ending { reason: EndReason::Interrupted.as_str(), detail, at, result: Some(&result), light: Some(&light) };
    state.db.finish_run(run.id, ending).await?;
    Ok(())
}

async fn stored_totals(state: &AppState, run: RunId, plan: &Plan, end: u32) -> Result<Window> {
    let mut totals = Window::new(0, plan.requests().len());
    let mut damaged = 0;
    state
        .db
        .windows(run, 0, end, |blob| match Window::decode(blob) {
            Ok(window) => totals.merge(&window, Merge::OtherSecond),
            Err(_) => damaged += 1,
        })
        .await?;
    if damaged > 0 {
        tracing::error!(%run, damaged, "stored seconds could not be read");
    }
    Ok(totals)
}

/// What the engine uses when nobody says otherwise.
fn machine_threads() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1))
}

/// The second that closes the ledger, of the whole and of every request; `None` if it is closed.
fn closing_second(totals: &Window, t: u32) -> Option<Window> {
    let ledger = lost_requests(&totals.ledger);
    if ledger == Ledger::default() {
        return None;
    }
    let of_request = |r: &RequestWindow| RequestWindow { ledger: lost_requests(&r.ledger), ..RequestWindow::default() };
    let mut closing =
        Window { t, ledger, requests: totals.requests.iter().map(of_request).collect(), ..Window::default() };
    if ledger.aborted > 0 {
        closing.errors.record(ErrorKind::Aborted, "the process that made the load ended", ledger.aborted);
    }
    Some(closing)
}

/// What has to be added so that the ledger closes.
fn lost_requests(seen: &Ledger) -> Ledger {
    Ledger {
        aborted: seen.sent.saturating_sub(seen.finished()),
        dropped: seen.planned.saturating_sub(seen.sent + seen.dropped),
        ..Ledger::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interruption_lost_closes_the_ledger() {
        let mut ledger = Ledger { planned: 10, sent: 8, dropped: 1, ok: 5, timeout: 1, ..Ledger::default() };
        ledger.add(&lost_requests(&ledger.clone()));
        assert!(ledger.is_closed());
        assert_eq!((ledger.aborted, ledger.dropped), (2, 2));
        assert_eq!(lost_requests(&ledger), Ledger::default());
    }
}

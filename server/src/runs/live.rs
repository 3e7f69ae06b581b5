//! What runs under way look like now, for any number of viewers: one copy in memory, no query per viewer.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use oleada_engine::net::Stopper;
use oleada_engine::result::{Point, ResultDoc};
use tokio::sync::watch;

use crate::store::{RunId, Timestamp};

/// The runs that this process drives.
#[derive(Debug)]
pub struct Hub {
    // Held for a look-up only, never across an await.
    runs: RwLock<HashMap<RunId, Arc<LiveRun>>>,
    /// Changes whenever a run enters or leaves the queue or the hub: positions have to be told anew.
    queue: watch::Sender<u64>,
}

/// One run under way.
#[derive(Debug)]
pub struct LiveRun {
    // Held to copy or to append, never across an await.
    seen: RwLock<Seen>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    phase: Phase,
    started_at: Option<Timestamp>,
    points: Vec<Point>,
    summary: Option<Arc<ResultDoc>>,
    stopper: Option<Stopper>,
    stop_asked: bool,
    links: u32,
}

/// Where a driven run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Ownership is checked again.
    #[default]
    Verifying,
    /// Load is made.
    Running,
    /// Nothing new starts.
    Draining,
    /// The result is stored; the database has the rest.
    Over,
}

/// What a viewer gets: the state now and the seconds it has not seen.
#[derive(Clone, Debug)]
pub struct Look {
    /// Where the run is.
    pub phase: Phase,
    /// When load began.
    pub started_at: Option<Timestamp>,
    /// The seconds asked for.
    pub points: Vec<Point>,
    /// The figures so far.
    pub summary: Option<Arc<ResultDoc>>,
}

impl Default for Hub {
    fn default() -> Hub {
        Hub { runs: RwLock::default(), queue: watch::Sender::new(0) }
    }
}

impl Hub {
    /// The run, if this process drives it.
    pub fn get(&self, id: RunId) -> Option<Arc<LiveRun>> {
        read(&self.runs).get(&id).cloned()
    }

    /// Begins to show a run.
    pub fn enter(&self, id: RunId) -> Arc<LiveRun> {
        let run = Arc::new(LiveRun { seen: RwLock::default(), changed: watch::Sender::new(0) });
        write(&self.runs).insert(id, Arc::clone(&run));
        self.queue_changed();
        run
    }

    /// Ends showing a run; viewers turn to the database.
    pub fn leave(&self, id: RunId) {
        if let Some(run) = write(&self.runs).remove(&id) {
            run.set_phase(Phase::Over);
        }
        self.queue_changed();
    }

    /// Tells viewers of queued runs to ask for their place again.
    pub fn queue_changed(&self) {
        self.queue.send_modify(|version| *version += 1);
    }

    /// Changes when the queue does.
    pub fn watch_queue(&self) -> watch::Receiver<u64> {
        self.queue.subscribe()
    }

    /// Cuts every run under way: the process ends.
    pub fn interrupt_all(&self) {
        for run in read(&self.runs).values() {
            if let Some(stopper) = &read(&run.seen).stopper {
                stopper.interrupt();
            }
        }
    }

    /// How many runs are under way.
    pub fn len(&self) -> usize {
        read(&self.runs).len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl LiveRun {
    /// The state now, with the seconds after second `after` (`None` for all).
    pub fn look(&self, after: Option<u32>) -> Look {
        let seen = read(&self.seen);
        let from = after.map_or(0, |t| seen.points.partition_point(|p| p.t <= t));
        Look {
            phase: seen.phase,
            started_at: seen.started_at,
            points: seen.points[from..].to_vec(),
            summary: seen.summary.clone(),
        }
    }

    /// Changes with every second and every phase.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Load begins; true if somebody asked in the meantime to stop.
    pub fn begin(&self, at: Timestamp, stopper: Stopper) {
        self.change(|seen| {
            seen.phase = Phase::Running;
            seen.started_at = Some(at);
            if seen.stop_asked {
                stopper.stop();
            }
            seen.stopper = Some(stopper);
        });
    }

    /// One more second.
    pub fn push(&self, point: Point, summary: ResultDoc) {
        self.change(|seen| {
            seen.points.push(point);
            seen.summary = Some(Arc::new(summary));
        });
    }

    /// Moves on.
    pub fn set_phase(&self, phase: Phase) {
        self.change(|seen| seen.phase = phase);
    }

    /// Asks the run to stop: at once while load is made, before it begins otherwise. Asking twice changes nothing.
    pub fn stop(&self) {
        self.change(|seen| {
            seen.stop_asked = true;
            if let Some(stopper) = &seen.stopper {
                stopper.stop();
                seen.phase = Phase::Draining;
            }
        });
    }

    /// Whether somebody asked to stop.
    pub fn stop_asked(&self) -> bool {
        read(&self.seen).stop_asked
    }

    /// Returns when somebody asks to stop; at once if that has happened.
    pub async fn stop_is_asked(&self) {
        let mut changes = self.changed.subscribe();
        while !self.stop_asked() {
            // The sender is this run's own, so it cannot be gone.
            let _ = changes.changed().await;
        }
    }

    /// A public link to this run was changed or revoked: whoever came by one has to look at it again.
    pub fn links_changed(&self) {
        self.change(|seen| seen.links += 1);
    }

    /// How often links were changed.
    pub fn link_changes(&self) -> u32 {
        read(&self.seen).links
    }

    fn change(&self, how: impl FnOnce(&mut Seen)) {
        how(&mut write(&self.seen));
        self.changed.send_modify(|version| *version += 1);
    }
}

/// A panic elsewhere leaves these values whole: each change is a single assignment or push.
fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_gets_what_it_has_not_seen_and_hears_of_the_end() {
        let (hub, id) = (Hub::default(), RunId::new());
        let run = hub.enter(id);
        let watch = run.watch();
        let doc: ResultDoc = serde_json::from_value(empty_document()).unwrap();
        for t in [0, 1, 5] {
            run.push(Point { t, ..Point::default() }, doc.clone());
        }
        assert!(watch.has_changed().unwrap());
        let seconds = |after| run.look(after).points.iter().map(|p| p.t).collect::<Vec<_>>();
        assert_eq!((seconds(None), seconds(Some(1)), seconds(Some(9))), (vec![0, 1, 5], vec![5], vec![]));
        hub.leave(id);
        assert_eq!(run.look(None).phase, Phase::Over);
        assert!(hub.get(id).is_none() && hub.is_empty());
    }

    #[test]
    fn a_stop_before_load_begins_is_remembered() {
        let hub = Hub::default();
        let run = hub.enter(RunId::new());
        run.stop();
        run.stop();
        assert!(run.stop_asked());
        assert_eq!(run.look(None).phase, Phase::Verifying);
    }

    fn empty_document() -> serde_json::Value {
        let plan = serde_json::from_str::<oleada_engine::plan::Plan>(
            r#"{"load":{"type":"per_second","rate":1},"duration_s":1,"requests":[{"url":"http://127.0.0.1/"}]}"#,
        )
        .unwrap();
        let totals = oleada_engine::window::Window::default();
        let record = oleada_engine::result::Record {
            plan: &plan,
            started_at: String::new(),
            duration: std::time::Duration::ZERO,
            end: None,
            totals: &totals,
            in_flight_at_end_us: &[],
            clients_capped: 0,
            threads: 1,
            max_rss_mb: None,
        };
        serde_json::to_value(record.document(None)).unwrap()
    }
}

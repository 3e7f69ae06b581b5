//! Server-sent events of a run. A viewer that reconnects says which second it saw last and gets all later ones.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use oleada_app::live::{DONE, SECOND, STATE, StateEvent};
use oleada_app::view::RunState;
use oleada_engine::result::Point;
use serde::Deserialize;
use tokio::sync::watch;

use crate::auth::CurrentUser;
use crate::error::{Error, Result};
use crate::pages::runs::own_run;
use crate::runs::live::{LiveRun, Phase};
use crate::runs::{plan_of, report, share, state_of};
use crate::state::AppState;
use crate::store::runs::RunRow;
use crate::store::{RunId, Timestamp};

/// How often a run that this process does not drive is looked up.
const LOOK: Duration = Duration::from_secs(1);
/// How long a viewer by a link waits at most before the link's expiry is looked at again.
const LONGEST: Duration = Duration::from_secs(60);
/// A comment is sent after so much silence, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `?after=`: the last second that the page has already, for a first connection; later ones send `Last-Event-ID`.
#[derive(Debug, Default, Deserialize)]
pub struct Already {
    after: Option<u32>,
}

/// `GET /runs/{id}/events`.
///
/// # Errors
/// [`crate::error::Error::NotFound`] for a run of somebody else.
pub async fn own(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(already): Query<Already>,
    headers: HeaderMap,
) -> Result<Response> {
    let run = own_run(&state, &user, &id).await?;
    Ok(events(state, &run, None, &headers, &already))
}

/// `GET /r/{token}/events`.
///
/// # Errors
/// As [`share::open`].
pub async fn shared(
    State(state): State<AppState>,
    Path(token): Path<String>,
    Query(already): Query<Already>,
    headers: HeaderMap,
) -> Result<Response> {
    let shared = share::open(&state, &token).await?;
    Ok(events(state, &shared.run, Some(token), &headers, &already))
}

fn events(state: AppState, run: &RunRow, token: Option<String>, headers: &HeaderMap, already: &Already) -> Response {
    let last = headers
        .get("last-event-id")
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.trim().parse().ok())
        .or(already.after);
    let viewer = Viewer {
        id: run.id,
        duration_s: plan_of(&state, run).ok().and_then(|p| p.spec().duration_s),
        queue: state.runs.hub.watch_queue(),
        state,
        live: None,
        link: token.map(|token| Link { token, changes: None, expires_at: None }),
        seen: last,
        told: None,
        ready: VecDeque::new(),
        over: false,
    };
    let stream = stream::unfold(viewer, |mut viewer| async {
        let event = viewer.next().await?;
        Some((Ok::<_, Infallible>(event), viewer))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// One open page.
struct Viewer {
    state: AppState,
    id: RunId,
    duration_s: Option<f64>,
    queue: watch::Receiver<u64>,
    live: Option<(std::sync::Arc<LiveRun>, watch::Receiver<u64>)>,
    /// The public link by which this viewer came.
    link: Option<Link>,
    /// The last second sent.
    seen: Option<u32>,
    /// The last state sent.
    told: Option<(RunState, Option<u32>)>,
    ready: VecDeque<Event>,
    over: bool,
}

/// A public link that somebody looks through.
struct Link {
    token: String,
    /// How often the run's links had been changed when it was last looked at; `None` before.
    changes: Option<u32>,
    expires_at: Option<Timestamp>,
}

impl Viewer {
    /// The next event; `None` once the run is over or the server ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over || self.state.shutdown.has_begun() {
                return None;
            }
            if let Err(error) = self.look().await {
                tracing::error!(run = %self.id, %error, "a live page lost its run");
                return None;
            }
            if self.ready.is_empty() && !self.over {
                self.wait().await;
            }
        }
    }

    async fn look(&mut self) -> Result<()> {
        if self.live.is_none() {
            self.live = self.state.runs.hub.get(self.id).map(|live| {
                let changes = live.watch();
                (live, changes)
            });
        }
        if let Some((live, changes)) = &mut self.live {
            changes.mark_unchanged();
            if let Some(link) = &mut self.link
                && !link.still_shows(&self.state, Some(live.link_changes())).await?
            {
                self.finish();
                return Ok(());
            }
            let look = live.look(self.seen);
            if look.phase != Phase::Over {
                let elapsed_s = report::elapsed_s(look.started_at);
                self.tell(report::phase_state(look.phase), None, elapsed_s, None, !look.points.is_empty());
                self.send_seconds(&look.points);
                return Ok(());
            }
            self.live = None;
        }
        self.look_up().await
    }

    /// A run that waits, is over, or is driven by another process.
    async fn look_up(&mut self) -> Result<()> {
        if let Some(link) = &mut self.link
            && !link.still_shows(&self.state, None).await?
        {
            self.finish();
            return Ok(());
        }
        let Some(run) = self.state.db.run(self.id).await? else {
            self.finish();
            return Ok(());
        };
        let run_state = state_of(&run);
        let position = match run_state {
            RunState::Queued => u32::try_from(self.state.db.queue_position(self.id).await?).ok(),
            _ => None,
        };
        let points = self.state.db.points(self.id, self.seen.map_or(-1, i64::from)).await?;
        let result = crate::runs::result_of(&run);
        let elapsed_s = result.as_ref().map_or_else(|| report::elapsed_s(run.started_at), |r| r.duration_s);
        self.tell(run_state, position, elapsed_s, run.end_reason.clone(), !points.is_empty());
        self.send_seconds(&points);
        if run_state.is_over() {
            self.finish();
        }
        Ok(())
    }

    fn tell(
        &mut self,
        state: RunState,
        position: Option<u32>,
        elapsed_s: f64,
        end_reason: Option<String>,
        again: bool,
    ) {
        if self.told == Some((state, position)) && !again {
            return;
        }
        self.told = Some((state, position));
        self.push(Event::default().event(STATE).json_data(StateEvent {
            state,
            position,
            elapsed_s,
            duration_s: self.duration_s,
            end_reason,
        }));
    }

    fn send_seconds(&mut self, points: &[Point]) {
        for point in points {
            self.seen = Some(point.t);
            self.push(Event::default().event(SECOND).id(point.t.to_string()).json_data(point));
        }
    }

    fn finish(&mut self) {
        self.over = true;
        // Browsers do not tell a page of an event without data.
        self.ready.push_back(Event::default().event(DONE).data("over"));
    }

    fn push(&mut self, event: Result<Event, axum::Error>) {
        match event {
            Ok(event) => self.ready.push_back(event),
            Err(error) => tracing::error!(run = %self.id, %error, "an event could not be written"),
        }
    }

    async fn wait(&mut self) {
        let expiry = self.link.as_ref().and_then(|link| link.expires_at);
        let changed = async {
            match &mut self.live {
                // The sender lives as long as the run that is held here.
                Some((_, changes)) => drop(changes.changed().await),
                None => tokio::select! {
                    _ = self.queue.changed() => {}
                    () = tick() => {}
                },
            }
        };
        tokio::select! {
            () = changed => {}
            () = reached(expiry) => {}
            () = self.state.shutdown.begun() => {}
        }
    }
}

impl Link {
    /// Asks the database whenever links were changed or this one may have expired; every time without a count of changes.
    async fn still_shows(&mut self, state: &AppState, changes: Option<u32>) -> Result<bool> {
        let known = changes.is_some() && self.changes == changes;
        if known && self.expires_at.is_none_or(|at| Timestamp::now() < at) {
            return Ok(true);
        }
        match share::valid(state, &self.token).await {
            Ok(share) => {
                (self.changes, self.expires_at) = (changes, share.expires_at);
                Ok(true)
            }
            Err(Error::Gone(_) | Error::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns at a moment of the clock; never without one.
async fn reached(at: Option<Timestamp>) {
    let Some(at) = at else { return std::future::pending().await };
    let left = u64::try_from(at.0.saturating_sub(Timestamp::now().0)).unwrap_or(0);
    // Clocks are set: what is long is looked at again before.
    wait_for(Duration::from_millis(left).min(LONGEST)).await;
}

async fn tick() {
    wait_for(LOOK).await;
}

#[expect(clippy::disallowed_methods, reason = "a few milliseconds do not matter to a page")]
async fn wait_for(time: Duration) {
    tokio::time::sleep(time).await;
}

//! What every page shares: who looks, what happened just now, where the assets are, and the small rows shown in several places.

use serde::{Deserialize, Serialize};

pub use oleada_engine::plan::FieldError;

/// Where the browser finds what a page links to. Paths as they stand in HTML (`/assets/main.3f2a.css`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetPaths {
    /// The style sheet.
    pub css: String,
    /// The style sheet for paper; absent when `css` holds it already.
    pub print_css: Option<String>,
    /// The module that wasm-bindgen wrote; absent = pages carry no script at all.
    pub js: Option<String>,
    /// The wasm file that `js` loads.
    pub wasm: Option<String>,
    /// The icon.
    pub favicon: String,
}

/// Who is signed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewer {
    /// E-mail address, shown in the navigation.
    pub email: String,
    /// May administer this installation.
    pub is_operator: bool,
}

/// How a flash message looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlashKind {
    /// Something worked.
    Success,
    /// Something to know.
    Notice,
    /// Something did not work.
    Failure,
}

/// A message about what the reader just did, shown once on top of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flash {
    /// Its look.
    pub kind: FlashKind,
    /// One sentence.
    pub text: String,
}

/// What surrounds a page.
#[derive(Clone, Debug, Default)]
pub struct Chrome {
    /// Who is signed in, if anybody.
    pub viewer: Option<Viewer>,
    /// Message about the last action.
    pub flash: Option<Flash>,
    /// Nonce of the Content-Security-Policy header, for our own inline scripts.
    pub nonce: String,
    /// Asset paths.
    pub assets: AssetPaths,
    /// Path of this page, for the navigation.
    pub path: String,
    /// A sentence about this installation shown at the foot, such as that it runs in local mode.
    pub mode_note: Option<String>,
}

/// Where a run is. The same names are used in live events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Waits for its turn.
    Queued,
    /// The hosts' ownership is checked again.
    Verifying,
    /// Workers start.
    Starting,
    /// Load is being made.
    Running,
    /// Nothing new starts; what is in flight may finish.
    Draining,
    /// Came to its planned end.
    Finished,
    /// Ended by a person.
    Stopped,
    /// Ended because too many requests failed.
    Aborted,
    /// Ended because the server went away.
    Interrupted,
    /// Never started: not allowed or not possible.
    Refused,
}

impl RunState {
    /// Every state, in the order of a run's life.
    pub const ALL: &[RunState] = &[
        RunState::Queued,
        RunState::Verifying,
        RunState::Starting,
        RunState::Running,
        RunState::Draining,
        RunState::Finished,
        RunState::Stopped,
        RunState::Aborted,
        RunState::Interrupted,
        RunState::Refused,
    ];

    /// Whether the run is over.
    pub fn is_over(self) -> bool {
        matches!(
            self,
            RunState::Finished | RunState::Stopped | RunState::Aborted | RunState::Interrupted | RunState::Refused
        )
    }

    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            RunState::Queued => "Queued",
            RunState::Verifying => "Verifying host",
            RunState::Starting => "Starting",
            RunState::Running => "Running",
            RunState::Draining => "Draining",
            RunState::Finished => "Finished",
            RunState::Stopped => "Stopped",
            RunState::Aborted => "Aborted by threshold",
            RunState::Interrupted => "Interrupted",
            RunState::Refused => "Refused",
        }
    }

    /// What the word means, in a sentence.
    pub fn explanation(self) -> &'static str {
        match self {
            RunState::Queued => "Waiting for its turn; it starts by itself.",
            RunState::Verifying => "Checking again that the host is yours before any load is sent.",
            RunState::Starting => "Starting the load generator.",
            RunState::Running => "Sending requests.",
            RunState::Draining => "No new requests; waiting for those in flight.",
            RunState::Finished => "Ran to its planned end.",
            RunState::Stopped => "Ended by a person before its planned end.",
            RunState::Aborted => "Ended early because the share of errors reached the test's threshold.",
            RunState::Interrupted => "Oleada itself was stopped while this ran; what was measured until then is kept.",
            RunState::Refused => "It was not started.",
        }
    }

    /// CSS class; also chooses the shape, so that state is never told by colour alone.
    pub fn class(self) -> &'static str {
        match self {
            RunState::Queued => "queued",
            RunState::Verifying => "verifying",
            RunState::Starting => "starting",
            RunState::Running => "running",
            RunState::Draining => "draining",
            RunState::Finished => "finished",
            RunState::Stopped => "stopped",
            RunState::Aborted => "aborted",
            RunState::Interrupted => "interrupted",
            RunState::Refused => "refused",
        }
    }
}

/// The shape (path data in a box of 16) of a state's class, so that it can be told without colour: ring, half, dot, tick, square, cross, bolt.
pub fn state_shape(class: &str) -> &'static str {
    match class {
        "queued" | "verifying" => "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11",
        "starting" | "draining" => "M8 2.5v11a5.5 5.5 0 1 0 0-11zM8 2.5a5.5 5.5 0 1 1 0 11",
        "running" => "M4.5 2.5l9 5.5l-9 5.5z",
        "finished" => "M3 8.5l3.5 3.5l6.5-8",
        "stopped" => "M3.5 3.5h9v9h-9z",
        "interrupted" => "M9 1.5l-5 7.5h3.5l-1 5.5l5.5-8h-3.5z",
        _ => "M4 4l8 8M12 4l-8 8",
    }
}

/// The few figures of a run that lists show. Times in milliseconds; `None` = no value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Answered requests per second.
    pub requests_per_second: Option<f64>,
    /// Median response time.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Share of errors, 0 to 1.
    pub error_rate: Option<f64>,
}

/// One run in a list. Times are unix milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Id, as in `/runs/{id}`.
    pub id: String,
    /// The test it belongs to; `None` once that was deleted.
    pub test_id: Option<String>,
    /// The test's name when the run was made.
    pub test_name: String,
    /// Where it is.
    pub state: RunState,
    /// Place in the queue from 1, while queued.
    pub position: Option<u32>,
    /// Whether the other runs of its test are compared with it.
    pub is_baseline: bool,
    /// When it was asked for.
    pub created_at: i64,
    /// When load began.
    pub started_at: Option<i64>,
    /// How long load was made, in seconds.
    pub duration_s: Option<f64>,
    /// Its figures, once it is over.
    pub figures: Option<Figures>,
    /// Whether it kept every pass/fail limit; `None` without any, and until it is over.
    pub passed: Option<bool>,
    /// Its p95 over time, at most [`SPARK_VALUES`](oleada_engine::plan::limits::SPARK_VALUES) values; `None` where nothing was
    /// answered.
    pub spark: Vec<Option<f64>>,
    /// The series it is part of.
    pub series_id: Option<String>,
}

/// Where a series of runs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesState {
    /// Its runs are made one after the other.
    Running,
    /// It came to its end.
    Over,
    /// A person ended it.
    Stopped,
}

impl SeriesState {
    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            SeriesState::Running => "Under way",
            SeriesState::Over => "Over",
            SeriesState::Stopped => "Stopped",
        }
    }

    /// CSS class; also chooses the shape.
    pub fn class(self) -> &'static str {
        match self {
            SeriesState::Running => "running",
            SeriesState::Over => "finished",
            SeriesState::Stopped => "stopped",
        }
    }
}

/// A series in a list. Times are unix milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesLine {
    /// Id, as in `/series/{id}`.
    pub id: String,
    /// What it is, in words: `Clients: 10, 20, 50` or `Capacity: p95≤300ms`.
    pub what: String,
    /// Where it is.
    pub state: SeriesState,
    /// When it was asked for.
    pub created_at: i64,
    /// How many runs it has made.
    pub runs: u64,
}

/// Ways to prove that a host is one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofMethod {
    /// A file on the host.
    File,
    /// A TXT record in the host's DNS.
    Dns,
    /// A meta tag on the host's front page.
    Meta,
}

impl ProofMethod {
    /// Every method, in the order they are offered.
    pub const ALL: &[ProofMethod] = &[ProofMethod::File, ProofMethod::Dns, ProofMethod::Meta];

    /// The value of the form field `method`.
    pub fn as_str(self) -> &'static str {
        match self {
            ProofMethod::File => "file",
            ProofMethod::Dns => "dns",
            ProofMethod::Meta => "meta",
        }
    }

    /// Parses [`ProofMethod::as_str`].
    pub fn parse(text: &str) -> Option<ProofMethod> {
        ProofMethod::ALL.iter().copied().find(|m| m.as_str() == text)
    }

    /// The words people see.
    pub fn label(self) -> &'static str {
        match self {
            ProofMethod::File => "Token file",
            ProofMethod::Dns => "DNS TXT record",
            ProofMethod::Meta => "Meta tag",
        }
    }
}

/// Whether a host may be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// Never proved.
    Unverified,
    /// Proved.
    Verified,
    /// Proved once, but the last check failed.
    Lost,
    /// A loopback or private address of a local installation: needs no proof.
    Trusted,
}

impl HostState {
    /// Whether tests may run against it (a run checks again).
    pub fn is_usable(self) -> bool {
        matches!(self, HostState::Verified | HostState::Trusted)
    }

    /// The words people see.
    pub fn label(self) -> &'static str {
        match self {
            HostState::Unverified => "Not verified yet",
            HostState::Verified => "Verified",
            HostState::Lost => "No longer verified",
            HostState::Trusted => "Trusted by this installation",
        }
    }

    /// CSS class; also chooses the shape.
    pub fn class(self) -> &'static str {
        match self {
            HostState::Unverified => "queued",
            HostState::Verified | HostState::Trusted => "finished",
            HostState::Lost => "aborted",
        }
    }
}

/// One host in a list. Times are unix milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRow {
    /// Id, as in `/hosts/{id}`.
    pub id: String,
    /// Host and port as shown, such as `shop.example` or `shop.example:8443`.
    pub address: String,
    /// Whether it may be tested.
    pub state: HostState,
    /// How it was proved.
    pub method: Option<ProofMethod>,
    /// When it was last proved.
    pub verified_at: Option<i64>,
    /// When it was last looked at.
    pub checked_at: Option<i64>,
}

//! The result document: the same on the command line, in the API and in exports.
//!
//! Times are milliseconds with up to 3 decimals and `null` where there is no value; counts are integers; never NaN.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::example::FailedExample;
use crate::histogram::Histogram;
use crate::limit::{LimitDoc, LimitSpec, Measured};
use crate::plan::scenario::{Order, Pause};
use crate::plan::{HttpVersion, Load, Plan, PlanSpec, RequestSpec, Stage, Target, TlsVersion};
use crate::verdict::Verdict;
use crate::window::{AssertionCounts, ErrorTable, Ledger, Window};

/// Version of the document.
pub const VERSION: u32 = 1;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// As planned.
    Completed,
    /// By a person.
    Stopped,
    /// Too many errors.
    ErrorThreshold,
    /// A pass/fail limit that stops the run.
    Limit,
    /// The planned rate was missed by more than allowed.
    RateMissed,
    /// The process that made the load ended first.
    Interrupted,
}

impl EndReason {
    /// Every reason.
    pub const ALL: &[EndReason] = &[
        EndReason::Completed,
        EndReason::Stopped,
        EndReason::ErrorThreshold,
        EndReason::Limit,
        EndReason::RateMissed,
        EndReason::Interrupted,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Completed => "completed",
            EndReason::Stopped => "stopped",
            EndReason::ErrorThreshold => "error_threshold",
            EndReason::Limit => "limit",
            EndReason::RateMissed => "rate_missed",
            EndReason::Interrupted => "interrupted",
        }
    }

    /// The reason with this name.
    pub fn from_name(name: &str) -> Option<EndReason> {
        EndReason::ALL.iter().copied().find(|r| r.as_str() == name)
    }
}

/// All that is needed to write a result.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// What was run.
    pub plan: &'a Plan,
    /// Start, RFC 3339 in UTC with milliseconds.
    pub started_at: String,
    /// First instant of the plan to the last event.
    pub duration: Duration,
    /// Why it ended; `None` while it runs.
    pub end: Option<EndReason>,
    /// The sum of all windows.
    pub totals: &'a Window,
    /// Ages in µs of what was cut at the end.
    pub in_flight_at_end_us: &'a [u64],
    /// Arrivals that waited for a free client.
    pub clients_capped: u64,
    /// Threads that made the load.
    pub threads: u32,
    /// Most memory the process held, in MB; `None` when the system does not say.
    pub max_rss_mb: Option<f64>,
}

/// The document of `--json`, the API and the JSON export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultDoc {
    /// [`VERSION`].
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// What was run, without secrets.
    pub plan: PlanDoc,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Measured length in seconds.
    pub duration_s: f64,
    /// Why it ended; `null` while it runs.
    pub end_reason: Option<EndReason>,
    /// What became of every planned request.
    pub ledger: Ledger,
    /// Answered requests per second of measured length; `null` before anything was measured.
    pub requests_per_second: Option<f64>,
    /// Everything sent and finished that is not ok, over all finished, 0–1.
    pub error_rate: f64,
    /// Answered requests, any status.
    pub latency_ms: Percentiles,
    /// The part of them with a status below 400.
    #[serde(default)]
    pub ok_ms: Percentiles,
    /// Requests that ended ok, among all but those that were cut or failed on our own limits: a failure counts as slower than
    /// any time, so a percentile that is one is `null`. Mean and deviation are always `null`.
    #[serde(default)]
    pub adjusted_ms: Percentiles,
    /// Answered requests: first byte written to last byte read.
    pub service_ms: Percentiles,
    /// Answered requests: from the moment a connection was wanted, so with name resolution, connect and TLS where a request
    /// opened one, to the last byte read.
    #[serde(default)]
    pub total_ms: Percentiles,
    /// Requests without a complete reply: time to failure.
    pub failed_ms: Percentiles,
    /// Parts of an exchange.
    pub phases_ms: Phases,
    /// How late requests left (open models).
    pub lateness_ms: Lateness,
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// Connections.
    pub connections: Connections,
    /// Connections by the address they were made to, most first; at most [`ADDRESS_ROWS`](crate::plan::limits::ADDRESS_ROWS), then `other`.
    #[serde(default)]
    pub addresses: Vec<AddressDoc>,
    /// Redirects.
    pub redirects: RedirectCounts,
    /// Replies by status.
    pub statuses: BTreeMap<String, u64>,
    /// Replies by HTTP version: `http/1.0`, `http/1.1`, `http/2`; only those that came.
    #[serde(default)]
    pub protocols: BTreeMap<String, u64>,
    /// Connections by TLS version: `TLS 1.2`, `TLS 1.3`; only those that were opened.
    #[serde(default)]
    pub tls_versions: BTreeMap<String, u64>,
    /// Failures.
    pub errors: Vec<ErrorDoc>,
    /// Requests that were never sent for want of a value, by why; part of the ledger's `dropped`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub not_sent: BTreeMap<String, u64>,
    /// Conditions on replies, and how often they held.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub assertions: Vec<AssertionDoc>,
    /// The sum of all of them; `null` without conditions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub assertions_total: Option<AssertionCounts>,
    /// Examples of conditions that did not hold.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub assertion_failures: Vec<ErrorDoc>,
    /// The first exchanges that failed, without secrets; at most [`FAILED_EXAMPLES`](crate::plan::limits::FAILED_EXAMPLES).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failed_examples: Vec<FailedExample>,
    /// Ages in ms of requests cut at the end, oldest first.
    pub in_flight_at_end_ms: Vec<f64>,
    /// Figures by request of the plan's list.
    pub requests: Vec<RequestDoc>,
    /// The plan's pass/fail limits and what came of them; empty while it runs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub limits: Vec<LimitDoc>,
    /// What limited the run.
    pub verdict: Verdict,
    /// The machine that made the load.
    pub generator: GeneratorDoc,
    /// Most clients open at one instant.
    pub peak_clients: u64,
    /// Second by second, when asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seconds: Option<Vec<Point>>,
}

impl ResultDoc {
    /// Whether the best HTTP version was asked for, the target could have agreed on HTTP/2 (all over TLS), and all that was
    /// answered came over HTTP/1.
    pub fn fell_back_to_http1(&self) -> bool {
        let all_tls = self.plan.requests.iter().all(|r| r.url.starts_with("https://")) && self.redirects.followed == 0;
        self.plan.http == HttpVersion::Auto.as_str()
            && all_tls
            && !self.protocols.is_empty()
            && !self.protocols.contains_key(HTTP_2)
    }
}

/// Name of HTTP/2 in [`ResultDoc::protocols`].
const HTTP_2: &str = "http/2";

/// The plan as it may be shown: no credentials, no values of secret headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanDoc {
    /// Load.
    pub load: Load,
    /// Planned length in seconds.
    pub duration_s: Option<f64>,
    /// How the load changes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stages: Vec<Stage>,
    /// Order of the requests; absent = as listed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub order: Option<String>,
    /// Pause between a reply and the next request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub think: Option<Pause>,
    /// Least time from one beginning of the list to the next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pacing: Option<Pause>,
    /// Rows of data, without their values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data: Option<DataPlanDoc>,
    /// What a failed condition means; absent where no request has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub assertion_failure: Option<String>,
    /// Pass/fail limits.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub limits: Vec<LimitSpec>,
    /// Requests.
    pub requests: Vec<RequestPlanDoc>,
    /// Whole-exchange timeout.
    pub timeout_ms: f64,
    /// Idle timeout.
    pub idle_timeout_ms: Option<f64>,
    /// Error threshold in percent.
    pub error_threshold: f64,
    /// Connection reuse.
    pub reuse: String,
    /// HTTP version asked for.
    pub http: String,
    /// Certificates were not checked.
    pub insecure: bool,
    /// The lowest TLS version.
    #[serde(default)]
    pub min_tls: TlsVersion,
    /// What happened to requests in flight at the end.
    pub end: String,
    /// Whether redirects were followed.
    pub redirects: String,
    /// Cap on clients at once.
    pub max_clients: Option<u32>,
    /// Warm-up left out of the result, in seconds.
    pub warm_up_s: f64,
    /// Rate that might be missed, in percent.
    pub max_rate_missed: Option<f64>,
}

/// Rows of data as they may be shown: no values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPlanDoc {
    /// Names of the variables.
    pub columns: Vec<String>,
    /// How many rows.
    pub rows: u64,
    /// Which comes next.
    pub order: String,
    /// What happens when every row was used.
    pub at_end: String,
}

/// One request of the plan as it may be shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestPlanDoc {
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Weight, where requests are drawn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weight: Option<u32>,
    /// Method.
    pub method: String,
    /// URL without user and password.
    pub url: String,
    /// Headers; secret values are replaced.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub headers: Vec<(String, String)>,
    /// Size of the body, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_bytes: Option<u64>,
    /// Whether basic authentication is sent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub basic_auth: bool,
    /// Whether a bearer token is sent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub bearer: bool,
    /// How many cookies are sent besides those the target sets.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub cookies: u64,
    /// Variables that are taken from the reply.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub variables: Vec<String>,
    /// How many conditions the reply must meet.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub conditions: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Headers whose values may be shown. Any other may hold a secret: names such as `PRIVATE-TOKEN` are invented every day.
const SHOWN_HEADERS: &[&str] = &[
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-type",
    "dnt",
    "expect",
    "host",
    "if-modified-since",
    "if-none-match",
    "origin",
    "pragma",
    "range",
    "te",
    "upgrade-insecure-requests",
    "user-agent",
    "x-requested-with",
];

/// Parts of the names of query parameters whose values are not shown.
const SECRET_WORDS: &[&str] =
    &["key", "token", "secret", "pass", "pwd", "sig", "auth", "session", "credential", "jwt", "code"];

impl PlanDoc {
    /// What may be shown of `plan`.
    pub fn of(plan: &Plan) -> PlanDoc {
        let spec: &PlanSpec = plan.spec();
        let requests = plan.requests().iter().zip(&spec.requests).map(|(request, written)| RequestPlanDoc {
            method: request.method.to_string(),
            url: shown_url(&request.target),
            headers: written.headers.iter().map(|(n, v)| (n.clone(), shown_value(n, v))).collect(),
            // A text is as long as it was written; a form with places to fill in has no length before they are.
            body_bytes: match (&written.body, &request.body) {
                (Some(text), _) => Some(text.len() as u64),
                (None, Some(bytes)) if !bytes.is_empty() || request.filled.is_none() => Some(bytes.len() as u64),
                _ => None,
            },
            basic_auth: written.basic_auth.is_some() || request.target.credentials.is_some(),
            name: written.name.clone(),
            weight: (spec.order == Order::Weighted).then_some(written.weight),
            bearer: written.bearer.is_some(),
            cookies: written.cookies.len() as u64,
            variables: written.extract.iter().map(|extract| extract.name.clone()).collect(),
            conditions: written.assert.len() as u64,
        });
        let any_condition = spec.requests.iter().any(|r: &RequestSpec| !r.assert.is_empty());
        PlanDoc {
            load: spec.load,
            duration_s: spec.duration_s,
            stages: spec.stages.clone(),
            order: (spec.order != Order::List).then(|| spec.order.to_string()),
            think: spec.think,
            pacing: spec.pacing,
            data: spec.data.as_ref().map(|data| DataPlanDoc {
                columns: data.columns.clone(),
                rows: data.rows.len() as u64,
                order: data.order.to_string(),
                at_end: data.at_end.to_string(),
            }),
            assertion_failure: any_condition.then(|| spec.assertion_failure.to_string()),
            limits: spec.limits.clone(),
            requests: requests.collect(),
            timeout_ms: spec.timeout_ms,
            idle_timeout_ms: spec.idle_timeout_ms,
            error_threshold: spec.error_threshold,
            reuse: spec.reuse.to_string(),
            http: spec.http.to_string(),
            insecure: spec.insecure,
            min_tls: spec.min_tls,
            end: spec.end.to_string(),
            redirects: spec.redirects.to_string(),
            max_clients: spec.max_clients,
            warm_up_s: spec.warm_up_s,
            max_rate_missed: spec.max_rate_missed,
        }
    }
}

/// What stands for a value that is not shown.
pub const HIDDEN: &str = "(hidden)";

/// Whether the value of a header may be shown.
pub fn header_is_shown(name: &str) -> bool {
    SHOWN_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a parameter's name says that its value is a secret.
pub fn parameter_is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// The value of a header as it may be shown.
pub fn shown_value(name: &str, value: &str) -> String {
    if header_is_shown(name) { value.to_owned() } else { HIDDEN.to_owned() }
}

/// A URL as it may be shown: without user and password, and without the values of query parameters that look secret.
pub fn shown_url(target: &Target) -> String {
    let url = target.to_string();
    let Some((path, query)) = url.split_once('?') else { return url };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if parameter_is_secret(name) => format!("{name}={HIDDEN}"),
        _ => pair.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(hide).collect::<Vec<_>>().join("&"))
}

/// Figures of one distribution, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Number of samples.
    pub count: u64,
    /// Smallest.
    pub min: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Sample standard deviation (n − 1).
    pub stddev: Option<f64>,
    /// Median, nearest rank.
    pub p50: Option<f64>,
    /// 66th percentile.
    pub p66: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 80th percentile.
    pub p80: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 98th percentile.
    pub p98: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99_9: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Percentiles {
    /// The figures of `histogram`.
    pub fn of(histogram: &Histogram) -> Percentiles {
        let p = |q: u32| histogram.percentile_us(q).map(|us| ms(us as f64));
        Percentiles {
            count: histogram.count(),
            min: histogram.min_us().map(|us| ms(us as f64)),
            mean: histogram.mean_us().map(ms),
            stddev: histogram.stddev_us().map(ms),
            p50: p(50_000),
            p66: p(66_000),
            p75: p(75_000),
            p80: p(80_000),
            p90: p(90_000),
            p95: p(95_000),
            p98: p(98_000),
            p99: p(99_000),
            p99_9: p(99_900),
            max: histogram.max_us().map(|us| ms(us as f64)),
        }
    }

    /// The figures of `ok` with `failures` more that are slower than any time.
    pub fn adjusted(ok: &Histogram, failures: u64) -> Percentiles {
        let all = ok.count() + failures;
        let p = |q: u32| ok.percentile_among_us(q, all).map(|us| ms(us as f64));
        Percentiles {
            count: all,
            min: ok.min_us().map(|us| ms(us as f64)),
            mean: None,
            stddev: None,
            p50: p(50_000),
            p66: p(66_000),
            p75: p(75_000),
            p80: p(80_000),
            p90: p(90_000),
            p95: p(95_000),
            p98: p(98_000),
            p99: p(99_000),
            p99_9: p(99_900),
            max: p(100_000),
        }
    }

    /// The rows people read, with their labels: p50 to the maximum.
    pub fn rows(&self) -> [(&'static str, Option<f64>); 10] {
        [
            ("p50", self.p50),
            ("p66", self.p66),
            ("p75", self.p75),
            ("p80", self.p80),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p98", self.p98),
            ("p99", self.p99),
            ("p99.9", self.p99_9),
            ("max", self.max),
        ]
    }
}

/// Parts of an exchange, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Name resolution.
    pub dns: Percentiles,
    /// TCP connect.
    pub connect: Percentiles,
    /// TLS handshake.
    pub tls: Percentiles,
    /// Request written to first byte of the reply.
    pub wait: Percentiles,
    /// First to last byte of the reply.
    pub receive: Percentiles,
}

/// How late requests left, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

/// Bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Written.
    pub sent: u64,
    /// Read, heads and framing included.
    pub received: u64,
    /// Bodies read.
    pub body: u64,
}

/// Connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Opened.
    pub opened: u64,
    /// Requests on a connection that had carried one before.
    pub reused: u64,
    /// Requests sent again after an idle connection was found closed.
    pub reconnects: u64,
}

/// Connections to one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressDoc {
    /// Address and port; `other` in the last row sums up what has no row of its own.
    pub address: String,
    /// Connections opened.
    pub connections: u64,
}

/// Redirects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedirectCounts {
    /// Followed.
    pub followed: u64,
    /// Not followed: the new host is not allowed.
    pub refused: u64,
}

/// One kind of failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDoc {
    /// Stable name.
    pub kind: String,
    /// What the system or the target said.
    pub detail: String,
    /// How often.
    pub count: u64,
}

/// One condition on the replies to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssertionDoc {
    /// Place of the request in the plan's list, from 0.
    pub request: usize,
    /// The condition in words.
    pub text: String,
    /// Replies that met it.
    pub passed: u64,
    /// Replies that did not.
    pub failed: u64,
}

/// Figures of one request of the plan's list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestDoc {
    /// Method.
    pub method: String,
    /// URL without user and password.
    pub url: String,
    /// Its ledger.
    pub ledger: Ledger,
    /// Its latencies.
    pub latency_ms: Percentiles,
}

/// The machine that made the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorDoc {
    /// Threads.
    pub threads: u32,
    /// Processor time in seconds.
    pub cpu_s: f64,
    /// Most memory held, in MB.
    pub max_rss_mb: Option<f64>,
    /// Requests sent by each thread.
    #[serde(default)]
    pub sent_by_thread: Vec<u64>,
    /// Time in seconds, summed over threads, for which the machine kept them from running although they were due.
    #[serde(default)]
    pub stalled_s: f64,
}

/// One second of a run: a point of the charts, an entry of `seconds`, an event of the live page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Second, from 0.
    pub t: u32,
    /// Planned in this second.
    pub planned: u64,
    /// Begun in this second.
    pub sent: u64,
    /// Ended ok in this second.
    pub ok: u64,
    /// Ended otherwise in this second.
    pub errors: u64,
    /// Average number of clients open.
    pub clients: f64,
    /// Median latency in ms.
    pub p50: Option<f64>,
    /// 95th percentile in ms.
    pub p95: Option<f64>,
    /// 99th percentile in ms.
    pub p99: Option<f64>,
    /// Largest in ms.
    pub max: Option<f64>,
    /// Bytes read.
    pub bytes_received: u64,
    // The rest came later: what was stored before reads as 0.
    /// Bytes written.
    #[serde(default)]
    pub bytes_sent: u64,
    /// Of `errors`: answered with 400–499.
    #[serde(default)]
    pub status_4xx: u64,
    /// Of `errors`: answered with 500–599.
    #[serde(default)]
    pub status_5xx: u64,
    /// Of `errors`: answered with 600 or more.
    #[serde(default)]
    pub status_other: u64,
    /// Of `errors`: ran out of time.
    #[serde(default)]
    pub timeout: u64,
    /// Of `errors`: connection not made or lost.
    #[serde(default)]
    pub network: u64,
    /// Of `errors`: reply not valid.
    #[serde(default)]
    pub invalid: u64,
    /// Of `errors`: our own limits.
    #[serde(default)]
    pub local: u64,
    /// Of `errors`: cut by the end.
    #[serde(default)]
    pub aborted: u64,
}

impl Point {
    /// The point of one second's window.
    pub fn of(window: &Window) -> Point {
        let p = |q: u32| window.latency.percentile_us(q).map(|us| ms(us as f64));
        Point {
            t: window.t,
            planned: window.ledger.planned,
            sent: window.ledger.sent,
            ok: window.ledger.ok,
            errors: window.ledger.errors(),
            clients: round3(window.counters.client_us as f64 / 1e6),
            p50: p(50_000),
            p95: p(95_000),
            p99: p(99_000),
            max: window.latency.max_us().map(|us| ms(us as f64)),
            bytes_received: window.counters.bytes_received,
            bytes_sent: window.counters.bytes_sent,
            status_4xx: window.ledger.status_4xx,
            status_5xx: window.ledger.status_5xx,
            status_other: window.ledger.status_other,
            timeout: window.ledger.timeout,
            network: window.ledger.network,
            invalid: window.ledger.invalid,
            local: window.ledger.local,
            aborted: window.ledger.aborted,
        }
    }

    /// Errors that are in none of the classes: of seconds stored before these were counted apart.
    pub fn errors_of_no_class(&self) -> u64 {
        let known = self.status_4xx
            + self.status_5xx
            + self.status_other
            + self.timeout
            + self.network
            + self.invalid
            + self.local
            + self.aborted;
        self.errors.saturating_sub(known)
    }
}

fn nonzero<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
}

/// What came of a limit in `totals`, the sum of the windows of a run whose list has so many requests.
pub(crate) fn judge_limit(limit: &LimitSpec, totals: &Window, requests: usize, duration: Duration) -> LimitDoc {
    // A list of one has no figures of its own.
    let one = limit.request.filter(|_| requests > 1).and_then(|i| totals.requests.get(i));
    let (ledger, latency) = one.map_or((&totals.ledger, &totals.latency), |one| (&one.ledger, &one.latency));
    limit.judged(Measured { latency_ms: &Percentiles::of(latency), ledger, seconds: duration.as_secs_f64() })
}

/// µs to ms with 3 decimals.
pub(crate) fn ms(us: f64) -> f64 {
    round3(us / 1000.0)
}

pub(crate) fn round3(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

pub(crate) fn error_docs(table: &ErrorTable) -> Vec<ErrorDoc> {
    let doc =
        |r: crate::window::ErrorRow| ErrorDoc { kind: r.kind.name().to_owned(), detail: r.detail, count: r.count };
    table.rows().into_iter().map(doc).collect()
}

impl Record<'_> {
    /// Writes the document, with `seconds` if given.
    pub fn document(&self, seconds: Option<Vec<Point>>) -> ResultDoc {
        let totals = self.totals;
        let counters = &totals.counters;
        let seconds_measured = self.duration.as_secs_f64();
        let answered = totals.ledger.answered();
        let finished = totals.ledger.finished();
        let mut ages = self.in_flight_at_end_us.to_vec();
        ages.sort_unstable_by(|a, b| b.cmp(a));
        ResultDoc {
            version: VERSION,
            tool: concat!("oleada ", env!("CARGO_PKG_VERSION")).to_owned(),
            plan: PlanDoc::of(self.plan),
            started_at: self.started_at.clone(),
            duration_s: round3(seconds_measured),
            end_reason: self.end,
            ledger: totals.ledger,
            requests_per_second: (seconds_measured > 0.0).then(|| round3(answered as f64 / seconds_measured)),
            error_rate: if finished == 0 { 0.0 } else { totals.ledger.errors() as f64 / finished as f64 },
            latency_ms: Percentiles::of(&totals.latency),
            ok_ms: Percentiles::of(totals.ok_latency()),
            adjusted_ms: Percentiles::adjusted(totals.ok_latency(), totals.ledger.failures()),
            service_ms: Percentiles::of(&totals.service),
            total_ms: Percentiles::of(&totals.total),
            failed_ms: Percentiles::of(&totals.failed),
            phases_ms: Phases {
                dns: Percentiles::of(&totals.dns),
                connect: Percentiles::of(&totals.connect),
                tls: Percentiles::of(&totals.tls),
                wait: Percentiles::of(&totals.wait),
                receive: Percentiles::of(&totals.receive),
            },
            lateness_ms: Lateness {
                p50: totals.lateness.percentile_us(50_000).map(|us| ms(us as f64)),
                p99: totals.lateness.percentile_us(99_000).map(|us| ms(us as f64)),
                max: totals.lateness.max_us().map(|us| ms(us as f64)),
            },
            bytes: Bytes { sent: counters.bytes_sent, received: counters.bytes_received, body: counters.bytes_body },
            connections: Connections {
                opened: counters.opened,
                reused: counters.reused,
                reconnects: counters.reconnects,
            },
            addresses: self.addresses(),
            redirects: RedirectCounts { followed: counters.redirects_followed, refused: counters.redirects_refused },
            statuses: totals.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
            protocols: nonzero([
                ("http/1.0", counters.http10),
                ("http/1.1", counters.http11),
                (HTTP_2, counters.http2),
            ]),
            tls_versions: nonzero([("TLS 1.2", counters.tls12), ("TLS 1.3", counters.tls13)]),
            errors: error_docs(&totals.errors),
            not_sent: totals.not_sent.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect(),
            assertions_total: self.assertions().into_iter().fold(None, |sum: Option<AssertionCounts>, one| {
                let mut sum = sum.unwrap_or_default();
                sum.add(&AssertionCounts { passed: one.passed, failed: one.failed });
                Some(sum)
            }),
            assertions: self.assertions(),
            assertion_failures: error_docs(&totals.assertion_failures),
            failed_examples: totals.examples.all().to_vec(),
            in_flight_at_end_ms: ages.into_iter().map(|us| ms(us as f64)).collect(),
            requests: self.requests(),
            limits: if self.end.is_some() { self.limits() } else { Vec::new() },
            verdict: Verdict::of(self),
            generator: GeneratorDoc {
                threads: self.threads,
                cpu_s: round3(counters.cpu_us as f64 / 1e6),
                max_rss_mb: self.max_rss_mb.map(round3),
                sent_by_thread: totals.sent_by_thread.clone(),
                stalled_s: round3(counters.stalled_us as f64 / 1e6),
            },
            peak_clients: totals.peak_clients,
            seconds,
        }
    }

    fn addresses(&self) -> Vec<AddressDoc> {
        let table = &self.totals.addresses;
        let rows = table.rows().into_iter().map(|(address, n)| (address.to_string(), n));
        let other = (table.other() > 0).then(|| ("other".to_owned(), table.other()));
        rows.chain(other).map(|(address, connections)| AddressDoc { address, connections }).collect()
    }

    fn assertions(&self) -> Vec<AssertionDoc> {
        let written = self.plan.requests().iter().enumerate().flat_map(|(n, r)| r.assert.iter().map(move |a| (n, a)));
        let counts = self.totals.assertions.iter().copied().chain(std::iter::repeat(AssertionCounts::default()));
        written
            .zip(counts)
            .map(|((request, assertion), AssertionCounts { passed, failed })| AssertionDoc {
                request,
                text: assertion.to_string(),
                passed,
                failed,
            })
            .collect()
    }

    fn limits(&self) -> Vec<LimitDoc> {
        self.plan
            .spec()
            .limits
            .iter()
            .map(|limit| judge_limit(limit, self.totals, self.plan.requests().len(), self.duration))
            .collect()
    }

    fn requests(&self) -> Vec<RequestDoc> {
        let one = |request: &crate::plan::Request, ledger: Ledger, latency: &Histogram| RequestDoc {
            method: request.method.to_string(),
            url: shown_url(&request.target),
            ledger,
            latency_ms: Percentiles::of(latency),
        };
        match self.plan.requests() {
            [only] => vec![one(only, self.totals.ledger, &self.totals.latency)],
            many => many.iter().zip(&self.totals.requests).map(|(r, w)| one(r, w.ledger, &w.latency)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::plan::{RequestSpec, limits};

    fn plan() -> Plan {
        let request = RequestSpec {
            url: "http://zoe:pa55@127.0.0.1:9900/?page=2&Api_Key=pa55&b".into(),
            headers: vec![("PRIVATE-TOKEN".into(), "pa55".into()), ("Accept".into(), "seen".into())],
            ..Default::default()
        };
        Plan::try_from(PlanSpec {
            load: Load::PerSecond { rate: 100.0 },
            duration_s: Some(10.0),
            requests: vec![request],
            ..Default::default()
        })
        .unwrap()
    }

    fn record<'a>(plan: &'a Plan, totals: &'a Window) -> Record<'a> {
        Record {
            plan,
            started_at: "2026-12-01T10:00:00.000Z".into(),
            duration: Duration::from_millis(10_010),
            end: Some(EndReason::Completed),
            totals,
            in_flight_at_end_us: &[1000, 3000],
            clients_capped: 0,
            threads: 2,
            max_rss_mb: Some(21.0),
        }
    }

    #[test]
    fn an_unanswered_run_has_no_percentiles_and_no_nan() {
        let plan = plan();
        let totals = Window::new(0, 1);
        let doc = record(&plan, &totals).document(None);
        assert_eq!((doc.latency_ms, doc.requests_per_second), (Percentiles::default(), Some(0.0)));
        let json = serde_json::to_string(&doc).unwrap();
        assert!(!json.contains("NaN") && json.contains(r#""p50":null"#));
        assert_eq!(serde_json::from_str::<ResultDoc>(&json).unwrap(), doc);
    }

    #[test]
    fn secrets_are_not_in_the_document() {
        let (plan, totals) = (plan(), Window::new(0, 1));
        let json = serde_json::to_string(&record(&plan, &totals).document(None)).unwrap();
        assert!(!json.contains("pa55") && !json.contains("zoe") && json.contains("seen"));
        assert!(json.contains("http://127.0.0.1:9900/?page=2&Api_Key=(hidden)&b"), "{json}");
    }

    #[test]
    fn b51_what_was_spoken_is_said() {
        let (plain, mut totals) = (plan(), Window::new(0, 1));
        (totals.counters.http11, totals.counters.tls13) = (7, 2);
        let mut spec = plain.spec().clone();
        spec.requests[0].url = "https://127.0.0.1:9900/".into();
        let spec = |http| PlanSpec { http, min_tls: TlsVersion::Tls13, ..spec.clone() };
        let tls = |http| Plan::try_from(spec(http)).unwrap();
        let doc = record(&tls(HttpVersion::Auto), &totals).document(None);
        let json = serde_json::to_value(&doc).unwrap();
        assert_eq!(json["protocols"], serde_json::json!({"http/1.1": 7}));
        assert_eq!(json["tls_versions"], serde_json::json!({"TLS 1.3": 2}));
        assert_eq!(json["plan"]["min_tls"], "1.3");
        assert!(doc.fell_back_to_http1());
        // Asked for, or nothing to agree upon, or HTTP/2 after all, or nothing answered: no fall-back.
        assert!(!record(&tls(HttpVersion::Http1), &totals).document(None).fell_back_to_http1());
        assert!(!record(&plain, &totals).document(None).fell_back_to_http1());
        assert!(!record(&tls(HttpVersion::Auto), &Window::new(0, 1)).document(None).fell_back_to_http1());
        totals.counters.http2 = 1;
        assert!(!record(&tls(HttpVersion::Auto), &totals).document(None).fell_back_to_http1());
    }

    #[test]
    fn documents_and_plans_from_before_are_read() {
        let (plan, totals) = (plan(), Window::new(0, 1));
        let doc = record(&plan, &totals).document(None);
        let mut json = serde_json::to_value(&doc).unwrap();
        for name in ["protocols", "tls_versions"] {
            assert!(json.as_object_mut().unwrap().remove(name).is_some());
        }
        assert!(json["plan"].as_object_mut().unwrap().remove("min_tls").is_some());
        assert_eq!(serde_json::from_value::<ResultDoc>(json).unwrap(), doc);
        let mut json = serde_json::to_value(&plan).unwrap();
        assert!(json.as_object_mut().unwrap().remove("min_tls").is_some());
        assert_eq!(serde_json::from_value::<Plan>(json).unwrap(), plan);
    }

    #[test]
    fn limits_are_judged_by_the_run_or_by_one_request() {
        let request = |path: &str| RequestSpec { url: format!("http://a.test/{path}"), ..Default::default() };
        let limit = |text: &str, request| LimitSpec { condition: text.parse().unwrap(), request, stop: false };
        let spec = PlanSpec {
            requests: vec![request("a"), request("b")],
            limits: vec![
                limit("p95>3ms", None),
                limit("max>3ms", Some(1)),
                limit("errors>1%", Some(0)),
                limit("rps<1", None),
            ],
            ..Default::default()
        };
        let plan = Plan::try_from(spec).unwrap();
        let mut totals = Window::new(0, 2);
        for (n, us) in [2000, 5000].into_iter().enumerate() {
            for ledger in [&mut totals.ledger, &mut totals.requests[n].ledger] {
                ledger.planned += 1;
                ledger.sent += 1;
                ledger.finish(Outcome::Answered(200));
            }
            totals.latency.record(us);
            totals.requests[n].latency.record(us);
        }
        let doc = record(&plan, &totals).document(None);
        let found: Vec<_> = doc.limits.iter().map(|l| (l.held, l.request, l.unit.as_str())).collect();
        assert_eq!(found, [(false, None, "ms"), (false, Some(1), "ms"), (true, Some(0), "%"), (false, None, "/s")]);
        assert_eq!((doc.limits[2].value, doc.limits[3].value), (Some(0.0), Some(0.2)));
        assert!((doc.limits[1].value.unwrap() - 5.0).abs() < 0.01);
        let running = Record { end: None, ..record(&plan, &totals) }.document(None);
        assert!(running.limits.is_empty());
        let none = Window::new(0, 2);
        let silent = record(&plan, &none).document(None);
        assert!(silent.limits.iter().all(|l| !l.held), "silence is no proof");
    }

    #[test]
    fn figures_come_from_the_totals() {
        let plan = plan();
        let mut totals = Window::new(0, 1);
        for us in [1000, 2000, 3000, 4000] {
            totals.ledger.planned += 1;
            totals.ledger.sent += 1;
            totals.ledger.finish(Outcome::Answered(200));
            totals.latency.record(us);
        }
        totals.statuses.insert(200, 4);
        let doc = record(&plan, &totals).document(Some(vec![Point::of(&totals)]));
        assert_eq!(doc.latency_ms.count, 4);
        assert!((doc.latency_ms.p50.unwrap() - 2.0).abs() < 0.002);
        assert_eq!(
            (doc.latency_ms.mean, doc.latency_ms.max, doc.requests_per_second),
            (Some(2.5), Some(4.0), Some(0.4))
        );
        assert_eq!(doc.statuses["200"], 4);
        assert_eq!(doc.in_flight_at_end_ms, [3.0, 1.0]);
        assert_eq!(doc.seconds.unwrap()[0].ok, 4);
        assert_eq!(doc.requests.len(), 1);
    }

    #[test]
    fn documents_of_earlier_versions_can_be_read() {
        let plan = plan();
        let mut totals = Window::new(0, 1);
        (0..40).for_each(|n| totals.addresses.record(([127, 0, 0, 1], n).into(), 1));
        let doc = record(&plan, &totals).document(None);
        assert_eq!((doc.addresses.len(), doc.addresses[limits::ADDRESS_ROWS].address.as_str()), (33, "other"));
        assert_eq!(doc.addresses.iter().map(|a| a.connections).sum::<u64>(), 40);
        let mut json = serde_json::to_value(&doc).unwrap();
        let fields = json.as_object_mut().unwrap();
        assert!(fields.remove("addresses").is_some());
        let generator = fields["generator"].as_object_mut().unwrap();
        assert!(generator.remove("sent_by_thread").is_some() && generator.remove("stalled_s").is_some());
        let earlier: ResultDoc = serde_json::from_value(json).unwrap();
        assert_eq!(earlier, ResultDoc { addresses: Vec::new(), ..doc });
    }

    #[test]
    fn a_point_tells_errors_apart_and_older_ones_are_read() {
        let mut window = Window::new(7, 1);
        for outcome in [
            Outcome::Answered(200),
            Outcome::Answered(404),
            Outcome::Answered(500),
            Outcome::Answered(503),
            Outcome::Answered(999),
            Outcome::Failed(crate::outcome::ErrorKind::Timeout),
            Outcome::Failed(crate::outcome::ErrorKind::Reset),
            Outcome::Failed(crate::outcome::ErrorKind::Aborted),
        ] {
            window.ledger.finish(outcome);
        }
        window.counters.bytes_sent = 700;
        let point = Point::of(&window);
        assert_eq!((point.ok, point.errors, point.errors_of_no_class(), point.bytes_sent), (1, 7, 0, 700));
        assert_eq!((point.status_4xx, point.status_5xx, point.status_other), (1, 2, 1));
        assert_eq!((point.timeout, point.network, point.aborted), (1, 1, 1));
        let older = r#"{"t":7,"planned":0,"sent":0,"ok":1,"errors":7,"clients":0,"p50":null,"p95":null,"p99":null,"max":null,"bytes_received":0}"#;
        let older: Point = serde_json::from_str(older).unwrap();
        assert_eq!((older.errors, older.errors_of_no_class(), older.bytes_sent), (7, 7, 0));
    }
}

//! What a run does. [`PlanSpec`] is what somebody wrote; [`Plan`] is what can run: valid by construction.

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub mod diff;
pub mod limits;
pub mod request;
pub mod scenario;
pub mod secrets;
pub mod template;
pub mod url;

use crate::limit::LimitSpec;
use limits::Bound;
pub use request::{Request, RequestSpec};
use scenario::{AssertionFailure, DataSpec, Order, Pause};
pub use url::{Credentials, Host, HostPort, Scheme, Target, TargetError};

/// A part of a load that changes: from where the one before ended, linearly to its own value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Length in seconds; 0 is a step.
    pub duration_s: f64,
    /// Clients per second, or clients at once, at its end.
    pub to: f64,
}

impl Stage {
    /// Its length.
    pub fn duration(&self) -> Duration {
        Duration::try_from_secs_f64(self.duration_s).unwrap_or_default()
    }
}

/// How clients arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Load {
    /// Exactly `requests` requests by `clients` clients (closed model, like `ab`).
    FixedCount {
        /// Requests in all.
        requests: u64,
        /// Clients at once.
        clients: u32,
    },
    /// `clients` clients spread evenly over the duration (open model).
    PerTest {
        /// Clients in all.
        clients: u64,
    },
    /// `rate` clients each second (open model).
    PerSecond {
        /// Clients per second; fractions allowed.
        rate: f64,
    },
    /// Clients at once, changing linearly over the duration (closed model).
    Maintain {
        /// Clients at the start.
        from: u32,
        /// Clients at the end.
        to: u32,
    },
}

impl Load {
    /// Open models send by the clock: latency runs from the planned instant.
    pub fn is_open(self) -> bool {
        matches!(self, Load::PerTest { .. } | Load::PerSecond { .. })
    }

    /// The words people see.
    pub fn label(self) -> &'static str {
        match self {
            Load::FixedCount { .. } => "Fixed count",
            Load::PerTest { .. } => "Clients per test",
            Load::PerSecond { .. } => "Clients per second",
            Load::Maintain { .. } => "Maintain client load",
        }
    }
}

macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }
        impl $name {
            /// Every value, in the order they are offered.
            pub const ALL: &[$name] = &[$($name::$variant),+];
            /// The name in forms, JSON and on the command line.
            pub fn as_str(self) -> &'static str { match self { $($name::$variant => $text),+ } }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.as_str()) }
        }
        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok($name::$variant),)+
                    _ => Err(format!("must be one of: {}", [$($text),+].join(", "))),
                }
            }
        }
    };
}
pub(crate) use text_enum;

text_enum! {
    /// What happens to a connection after a reply.
    Reuse {
        /// Kept alive within a client.
        #[default] Client = "client",
        /// A new connection for every request, like `ab` without `-k`.
        Off = "off",
    }
}
text_enum! {
    /// Which HTTP is spoken.
    HttpVersion {
        /// The best both sides know.
        #[default] Auto = "auto",
        /// HTTP/1.1 only.
        Http1 = "1.1",
        /// HTTP/2 only.
        Http2 = "2",
    }
}
text_enum! {
    /// The lowest TLS version that is spoken.
    TlsVersion {
        /// TLS 1.2 or 1.3, the best both sides know.
        #[default] Tls12 = "1.2",
        /// TLS 1.3 only.
        Tls13 = "1.3",
    }
}
text_enum! {
    /// What happens at the end to requests in flight.
    AtEnd {
        /// They may finish until their timeout.
        #[default] Drain = "drain",
        /// They are cut and counted as aborted.
        Abort = "abort",
    }
}
text_enum! {
    /// Whether redirects are followed.
    Redirects {
        /// Followed to allowed hosts; others are counted as refused.
        #[default] Follow = "follow",
        /// A redirect is the reply.
        Off = "off",
    }
}
text_enum! {
    /// Request methods.
    Method {
        /// GET.
        #[default] Get = "GET",
        /// HEAD.
        Head = "HEAD",
        /// POST.
        Post = "POST",
        /// PUT.
        Put = "PUT",
        /// PATCH.
        Patch = "PATCH",
        /// DELETE.
        Delete = "DELETE",
        /// OPTIONS.
        Options = "OPTIONS",
    }
}

impl Method {
    /// Safe in the sense of RFC 9110, section 9.2.1: may be sent again after a lost connection.
    pub fn is_safe(self) -> bool {
        matches!(self, Method::Get | Method::Head | Method::Options)
    }
}

/// A plan as somebody wrote it. Absent fields have the defaults of [`limits`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanSpec {
    /// How clients arrive.
    pub load: Load,
    /// Length in seconds; absent for a fixed count that ends with its last request. With stages it is their sum; the default
    /// stands for none there, because that is what an absent field has in JSON.
    pub duration_s: Option<f64>,
    /// How a rate or a maintained load changes, from its first value on; empty = as the load itself says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// The list each client walks.
    pub requests: Vec<RequestSpec>,
    /// In order, or drawn by weight.
    pub order: Order,
    /// Time between a reply and the client's next request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Pause>,
    /// Closed models: least time from one beginning of the list to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pause>,
    /// Rows of values for variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataSpec>,
    /// What a failed condition means.
    pub assertion_failure: AssertionFailure,
    /// Conditions under which the run has failed as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitSpec>,
    /// Whole exchange, first byte written to last byte read, in ms.
    pub timeout_ms: f64,
    /// No byte received for so long, in ms; absent = off.
    pub idle_timeout_ms: Option<f64>,
    /// Share of errors, in percent, at which the run ends; 100 = never.
    pub error_threshold: f64,
    /// Connection reuse.
    pub reuse: Reuse,
    /// HTTP version.
    pub http: HttpVersion,
    /// Accept any certificate.
    pub insecure: bool,
    /// The lowest TLS version.
    pub min_tls: TlsVersion,
    /// Requests in flight at the end.
    pub end: AtEnd,
    /// Redirects.
    pub redirects: Redirects,
    /// Open models: at most so many clients at once; absent = the table's default.
    pub max_clients: Option<u32>,
    /// Seconds of load before the result begins.
    pub warm_up_s: f64,
    /// Stop when more than this share (percent) of the planned rate is missed; absent = never.
    pub max_rate_missed: Option<f64>,
}

impl Default for PlanSpec {
    fn default() -> Self {
        PlanSpec {
            load: Load::PerTest { clients: limits::PER_TEST.default as u64 },
            duration_s: Some(limits::DURATION_S.default),
            stages: Vec::new(),
            requests: Vec::new(),
            order: Order::default(),
            think: None,
            pacing: None,
            data: None,
            assertion_failure: AssertionFailure::default(),
            limits: Vec::new(),
            timeout_ms: limits::TIMEOUT_MS.default,
            idle_timeout_ms: None,
            error_threshold: limits::ERROR_THRESHOLD.default,
            reuse: Reuse::default(),
            http: HttpVersion::default(),
            insecure: false,
            min_tls: TlsVersion::default(),
            end: AtEnd::default(),
            redirects: Redirects::default(),
            max_clients: None,
            warm_up_s: 0.0,
            max_rate_missed: None,
        }
    }
}

/// One thing wrong with a plan: which field, and a sentence that follows the field's label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// `timeout_ms`, `requests`, `requests[0].url`, …
    pub field: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// All that is wrong with a plan; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(|e| format!("{} {}", e.field, e.message)).collect::<Vec<_>>().join("; "))]
pub struct PlanErrors(pub Vec<FieldError>);

/// A plan that can run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PlanSpec", into = "PlanSpec")]
pub struct Plan {
    spec: PlanSpec,
    requests: Vec<Request>,
}

impl Plan {
    /// The plan as written.
    pub fn spec(&self) -> &PlanSpec {
        &self.spec
    }
    /// How clients arrive.
    pub fn load(&self) -> Load {
        self.spec.load
    }
    /// The stages of the load; empty where there are none.
    pub fn stages(&self) -> &[Stage] {
        &self.spec.stages
    }
    /// The requests each client walks; never empty.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }
    /// Length; `None` only for a fixed count without a time limit.
    pub fn duration(&self) -> Option<Duration> {
        self.spec.duration_s.map(Duration::from_secs_f64)
    }
    /// Whole-exchange timeout; never zero.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.spec.timeout_ms / 1000.0)
    }
    /// Idle timeout; `None` = off.
    pub fn idle_timeout(&self) -> Option<Duration> {
        self.spec.idle_timeout_ms.map(|ms| Duration::from_secs_f64(ms / 1000.0))
    }
    /// Warm-up before the result begins.
    pub fn warm_up(&self) -> Duration {
        Duration::from_secs_f64(self.spec.warm_up_s)
    }
    /// Cap on clients at once in open models.
    pub fn max_clients(&self) -> u32 {
        self.spec.max_clients.unwrap_or(limits::MAX_CLIENTS.default as u32)
    }
    /// The distinct hosts and ports the requests name, in order of appearance.
    pub fn hosts(&self) -> Vec<HostPort> {
        let mut hosts: Vec<HostPort> = Vec::new();
        for request in &self.requests {
            if !hosts.contains(&request.target.at) {
                hosts.push(request.target.at.clone());
            }
        }
        hosts
    }
    /// How many requests a client makes each time: the whole list, or one that is drawn.
    pub fn requests_per_walk(&self) -> u64 {
        match self.spec.order {
            Order::List => self.requests.len() as u64,
            Order::Weighted => 1,
        }
    }
    /// How many requests the plan sends in all; `None` where it depends on response times.
    pub fn planned_requests(&self) -> Option<u64> {
        match self.load() {
            Load::FixedCount { requests, .. } => Some(requests),
            Load::Maintain { .. } => None,
            Load::PerTest { .. } | Load::PerSecond { .. } => {
                Some(crate::arrivals::Arrivals::of(self)?.count() * self.requests_per_walk())
            }
        }
    }
}

impl From<Plan> for PlanSpec {
    fn from(plan: Plan) -> PlanSpec {
        plan.spec
    }
}

impl TryFrom<PlanSpec> for Plan {
    type Error = PlanErrors;

    fn try_from(mut spec: PlanSpec) -> Result<Plan, PlanErrors> {
        let mut check = Check(Vec::new());
        if !spec.stages.is_empty() {
            check.stages(&mut spec);
        }
        check.load(&spec);
        check.inside(limits::TIMEOUT_MS, spec.timeout_ms);
        check.optional(limits::IDLE_TIMEOUT_MS, spec.idle_timeout_ms);
        check.inside(limits::ERROR_THRESHOLD, spec.error_threshold);
        check.optional(limits::MAX_CLIENTS, spec.max_clients.map(f64::from));
        check.inside(limits::WARM_UP_S, spec.warm_up_s);
        check.optional(limits::MAX_RATE_MISSED, spec.max_rate_missed);
        check.pause("think", spec.think);
        check.pause("pacing", spec.pacing);
        if spec.pacing.is_some() && spec.load.is_open() {
            check.add(
                "pacing",
                "goes with maintained loads and fixed counts only: else the plan says when clients begin",
            );
        }
        if let Some(data) = &spec.data {
            check.data(data);
        }
        check.limits(&spec);
        if spec.requests.is_empty() {
            check.add("requests", "must name at least one address to request");
        }
        if spec.requests.len() > limits::REQUEST_LIST {
            check.add("requests", format!("may hold at most {} requests", limits::REQUEST_LIST));
        }
        let requests: Vec<Request> = spec
            .requests
            .iter()
            .take(limits::REQUEST_LIST)
            .enumerate()
            .filter_map(|(i, r)| check.request(i, r))
            .collect();
        if check.0.is_empty() { Ok(Plan { spec, requests }) } else { Err(PlanErrors(check.0)) }
    }
}

struct Check(Vec<FieldError>);

impl Check {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldError { field: field.into(), message: message.into() });
    }

    fn inside(&mut self, bound: Bound, value: f64) {
        if !bound.contains(value) {
            self.add(bound.field, bound.sentence());
        }
    }

    fn optional(&mut self, bound: Bound, value: Option<f64>) {
        if let Some(value) = value {
            self.inside(bound, value);
        }
    }

    fn load(&mut self, spec: &PlanSpec) {
        match spec.load {
            Load::FixedCount { requests, clients } => {
                self.inside(limits::REQUESTS, requests as f64);
                self.inside(limits::CLIENTS, f64::from(clients));
                self.optional(limits::DURATION_S, spec.duration_s);
                return;
            }
            Load::PerTest { clients } => self.inside(limits::PER_TEST, clients as f64),
            // Stages may begin with nobody.
            Load::PerSecond { rate } if rate == 0.0 && !spec.stages.is_empty() => {}
            Load::PerSecond { rate } => self.inside(limits::RATE, rate),
            Load::Maintain { from, to } => {
                self.inside(limits::FROM, f64::from(from));
                self.inside(limits::TO, f64::from(to));
                if from == 0 && to == 0 && spec.stages.is_empty() {
                    self.add("to", "must be at least 1 when the test starts with 0 clients");
                }
            }
        }
        match spec.duration_s {
            Some(seconds) => self.inside(limits::DURATION_S, seconds),
            None => self.add(limits::DURATION_S.field, "is needed for this type of load"),
        }
    }

    fn limits(&mut self, spec: &PlanSpec) {
        if spec.limits.len() > limits::LIMITS {
            self.add("limits", format!("may be at most {}", limits::LIMITS));
        }
        for (i, limit) in spec.limits.iter().enumerate().take(limits::LIMITS) {
            if limit.request.is_some_and(|request| request >= spec.requests.len()) {
                self.add(format!("limits[{i}].request"), "must be one of the test's requests");
            }
        }
    }

    /// Judges the stages, and sets what follows from them: the length, and the number of clients at the end.
    fn stages(&mut self, spec: &mut PlanSpec) {
        let given = spec.duration_s;
        // One message for one fault: bad stages are no missing length.
        spec.duration_s = given.or(Some(limits::DURATION_S.default));
        let most = match spec.load {
            Load::PerSecond { .. } => Bound { min: 0.0, ..limits::RATE },
            Load::Maintain { .. } => limits::TO,
            Load::PerTest { .. } | Load::FixedCount { .. } => {
                return self.add("stages", "go with clients per second and maintained loads only");
            }
        };
        if spec.stages.len() > limits::STAGES {
            return self.add("stages", format!("may be at most {}", limits::STAGES));
        }
        let before = self.0.len();
        for (i, stage) in spec.stages.iter().enumerate() {
            let length = Bound { field: "", min: 0.0, ..limits::DURATION_S };
            if !length.contains(stage.duration_s) {
                self.add(format!("stages[{i}].duration_s"), length.sentence());
            }
            if !most.contains(stage.to) {
                self.add(format!("stages[{i}].to"), most.sentence());
            } else if matches!(spec.load, Load::Maintain { .. }) && stage.to.fract() != 0.0 {
                self.add(format!("stages[{i}].to"), "must be a whole number of clients");
            }
        }
        if self.0.len() > before {
            return;
        }
        let sum: f64 = spec.stages.iter().map(|stage| stage.duration_s).sum();
        if given.is_some_and(|given| given != limits::DURATION_S.default && (given - sum).abs() > 1e-6) {
            self.add("duration_s", format!("must be left out or be the sum of the stages, {sum} seconds"));
        }
        spec.duration_s = Some(sum);
        let first = match &mut spec.load {
            Load::PerSecond { rate } => *rate,
            Load::Maintain { from, to } => {
                *to = spec.stages.last().map_or(*to, |last| last.to as u32);
                f64::from(*from)
            }
            Load::PerTest { .. } | Load::FixedCount { .. } => 0.0,
        };
        // A value holds for no time at all unless a stage of some length begins or ends with it.
        let (mut from, mut anybody) = (first, false);
        for stage in &spec.stages {
            anybody |= stage.duration_s > 0.0 && (from > 0.0 || stage.to > 0.0);
            from = stage.to;
        }
        if !anybody {
            self.add("stages", "must have clients in at least one of them");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> PlanSpec {
        PlanSpec {
            requests: vec![RequestSpec { url: "http://127.0.0.1:9900/".into(), ..Default::default() }],
            ..Default::default()
        }
    }

    fn fields(spec: PlanSpec) -> Vec<String> {
        Plan::try_from(spec).unwrap_err().0.into_iter().map(|e| e.field).collect()
    }

    #[test]
    fn every_field_out_of_bounds_is_named() {
        let spec = PlanSpec {
            load: Load::PerSecond { rate: f64::NAN },
            duration_s: Some(0.0),
            requests: vec![RequestSpec {
                url: "nope".into(),
                headers: vec![("a b".into(), "x".into())],
                ..Default::default()
            }],
            timeout_ms: 0.0,
            idle_timeout_ms: Some(0.0),
            error_threshold: 0.0,
            max_clients: Some(0),
            warm_up_s: -1.0,
            max_rate_missed: Some(101.0),
            ..good()
        };
        assert_eq!(
            fields(spec),
            [
                "rate",
                "duration_s",
                "timeout_ms",
                "idle_timeout_ms",
                "error_threshold",
                "max_clients",
                "warm_up_s",
                "max_rate_missed",
                "requests[0].url",
                "requests[0].headers"
            ]
        );
        assert_eq!(fields(PlanSpec { requests: vec![], ..good() }), ["requests"]);
        assert_eq!(fields(PlanSpec { load: Load::Maintain { from: 0, to: 0 }, ..good() }), ["to"]);
        assert_eq!(fields(PlanSpec { duration_s: None, ..good() }), ["duration_s"]);
    }

    #[test]
    fn stages_are_judged_and_decide_the_length() {
        let stages = |list: &[(f64, f64)]| list.iter().map(|&(duration_s, to)| Stage { duration_s, to }).collect();
        let staged = |load, list| PlanSpec { load, duration_s: None, stages: stages(list), ..good() };
        let maintain = Load::Maintain { from: 0, to: 0 };
        let plan = Plan::try_from(staged(maintain, &[(2.0, 10.0), (0.0, 4.0), (3.0, 4.0)])).unwrap();
        assert_eq!((plan.duration(), plan.load()), (Some(Duration::from_secs(5)), Load::Maintain { from: 0, to: 4 }));
        assert_eq!(Plan::try_from(plan.spec().clone()).unwrap(), plan, "what is stored can be read again");
        let plan = Plan::try_from(staged(Load::PerSecond { rate: 0.0 }, &[(10.0, 10.0)])).unwrap();
        assert_eq!(plan.planned_requests(), Some(50));
        let json = r#"{"load":{"type":"per_second","rate":0},"stages":[{"duration_s":10,"to":10}],"requests":[{"url":"http://a.test/"}]}"#;
        assert_eq!(serde_json::from_str::<Plan>(json).unwrap().duration(), Some(Duration::from_secs(10)));
        assert_eq!(fields(staged(maintain, &[(1.0, 1.5), (-1.0, 2.0)])), ["stages[0].to", "stages[1].duration_s"]);
        assert!(Plan::try_from(staged(maintain, &[(0.0, 5.0), (2.0, 0.0)])).is_ok());
        assert_eq!(fields(staged(maintain, &[(0.0, 5.0)])), ["stages", "duration_s"]);
        assert_eq!(fields(staged(Load::PerTest { clients: 5 }, &[(1.0, 1.0)])), ["stages"]);
        assert_eq!(fields(PlanSpec { duration_s: Some(9.0), ..staged(maintain, &[(1.0, 1.0)]) }), ["duration_s"]);
        assert_eq!(fields(staged(Load::PerSecond { rate: 0.0 }, &[(1.0, f64::NAN)])), ["stages[0].to"]);
        let many = vec![(1.0, 1.0); limits::STAGES + 1];
        assert_eq!(fields(staged(maintain, &many))[0], "stages");
    }

    #[test]
    fn limits_name_requests_that_are_there() {
        let limited = |limit: &str| {
            let json = format!(r#"{{"requests":[{{"url":"http://a.test/"}}],"limits":[{limit}]}}"#);
            serde_json::from_str::<PlanSpec>(&json)
        };
        let spec = limited(r#"{"condition":"p95 > 300ms","request":0,"stop":true}"#).unwrap();
        assert_eq!(Plan::try_from(spec.clone()).unwrap().spec().limits[0].condition.to_string(), "p95>300ms");
        assert_eq!(fields(limited(r#"{"condition":"errors>1%","request":1}"#).unwrap()), ["limits[0].request"]);
        assert_eq!(fields(PlanSpec { limits: vec![spec.limits[0].clone(); limits::LIMITS + 1], ..spec }), ["limits"]);
        assert!(limited(r#"{"condition":"p95"}"#).unwrap_err().to_string().contains("write for example p95>300ms"));
    }

    #[test]
    fn header_injection_is_refused() {
        for (name, value) in [("X", "a\r\nY: b"), ("X\r\nY", "b"), ("", "b"), ("X", "a\0"), ("Content-Length", "3")] {
            let mut spec = good();
            spec.requests[0].headers = vec![(name.into(), value.into())];
            assert_eq!(fields(spec), ["requests[0].headers"]);
        }
    }

    #[test]
    fn json_round_trip_keeps_the_plan_and_checks_it() {
        let plan = Plan::try_from(good()).unwrap();
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        let short = r#"{"load":{"type":"per_second","rate":2.5},"duration_s":2,"requests":[{"url":"http://a.test/"}]}"#;
        let plan: Plan = serde_json::from_str(short).unwrap();
        assert_eq!((plan.planned_requests(), plan.timeout().as_secs()), (Some(5), 10));
        assert!(serde_json::from_str::<Plan>(r#"{"load":{"type":"per_second","rate":0}}"#).is_err());
    }

    #[test]
    fn credentials_become_a_header() {
        let mut spec = good();
        spec.requests[0].url = "http://u:p%40@127.0.0.1/".into();
        let plan = Plan::try_from(spec).unwrap();
        assert_eq!(plan.requests()[0].headers, [("Authorization".to_owned(), "Basic dTpwQA==".to_owned())]);
    }
}

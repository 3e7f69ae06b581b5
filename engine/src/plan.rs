//! What a run does. [`PlanSpec`] is what somebody wrote; [`Plan`] is what can run: valid by construction.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub mod limits;
pub mod url;

use limits::Bound;
pub use url::{Credentials, Host, HostPort, Scheme, Target, TargetError};

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
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
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

/// One request as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestSpec {
    /// Method.
    pub method: Method,
    /// Absolute URL.
    pub url: String,
    /// Headers in order; names may repeat.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Body text, sent as it is with a `Content-Length`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Basic authentication; wins over user and password in the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<Credentials>,
}

/// A plan as somebody wrote it. Absent fields have the defaults of [`limits`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanSpec {
    /// How clients arrive.
    pub load: Load,
    /// Length in seconds; absent for a fixed count that ends with its last request.
    pub duration_s: Option<f64>,
    /// The list each client walks, in order.
    pub requests: Vec<RequestSpec>,
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
            requests: Vec::new(),
            timeout_ms: limits::TIMEOUT_MS.default,
            idle_timeout_ms: None,
            error_threshold: limits::ERROR_THRESHOLD.default,
            reuse: Reuse::default(),
            http: HttpVersion::default(),
            insecure: false,
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

/// A request that can be sent: its URL is parsed, its headers are clean.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// Where to.
    pub target: Target,
    /// Headers as given, user and password included as `Authorization`.
    pub headers: Vec<(String, String)>,
    /// Body bytes.
    pub body: Option<String>,
}

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
    /// How many requests the plan sends in all; `None` where it depends on response times.
    pub fn planned_requests(&self) -> Option<u64> {
        match self.load() {
            Load::FixedCount { requests, .. } => Some(requests),
            Load::Maintain { .. } => None,
            Load::PerTest { .. } | Load::PerSecond { .. } => {
                Some(crate::arrivals::Arrivals::of(self)?.count() * self.requests.len() as u64)
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

    fn try_from(spec: PlanSpec) -> Result<Plan, PlanErrors> {
        let mut check = Check(Vec::new());
        check.load(&spec);
        check.inside(limits::TIMEOUT_MS, spec.timeout_ms);
        check.optional(limits::IDLE_TIMEOUT_MS, spec.idle_timeout_ms);
        check.inside(limits::ERROR_THRESHOLD, spec.error_threshold);
        check.optional(limits::MAX_CLIENTS, spec.max_clients.map(f64::from));
        check.inside(limits::WARM_UP_S, spec.warm_up_s);
        check.optional(limits::MAX_RATE_MISSED, spec.max_rate_missed);
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
            Load::PerSecond { rate } => self.inside(limits::RATE, rate),
            Load::Maintain { from, to } => {
                self.inside(limits::FROM, f64::from(from));
                self.inside(limits::TO, f64::from(to));
                if from == 0 && to == 0 {
                    self.add("to", "must be at least 1 when the test starts with 0 clients");
                }
            }
        }
        match spec.duration_s {
            Some(seconds) => self.inside(limits::DURATION_S, seconds),
            None => self.add(limits::DURATION_S.field, "is needed for this type of load"),
        }
    }

    fn request(&mut self, index: usize, spec: &RequestSpec) -> Option<Request> {
        let before = self.0.len();
        let target =
            Target::parse(&spec.url).map_err(|e| self.add(format!("requests[{index}].url"), e.to_string())).ok();
        let mut headers = spec.headers.clone();
        if headers.len() > limits::HEADERS {
            self.add(format!("requests[{index}].headers"), format!("may hold at most {} headers", limits::HEADERS));
        }
        for (name, value) in &headers {
            if let Err(message) = check_header(name, value) {
                self.add(format!("requests[{index}].headers"), message);
            }
        }
        if spec.body.as_ref().is_some_and(|b| b.len() > limits::BODY_BYTES) {
            self.add(format!("requests[{index}].body"), "is larger than 1 MB");
        }
        let credentials = spec.basic_auth.clone().or_else(|| target.as_ref().and_then(|t| t.credentials.clone()));
        if let Some(credentials) = credentials {
            let both = [&credentials.user, &credentials.password];
            if both.iter().any(|t| t.len() > limits::CREDENTIAL_BYTES || t.chars().any(char::is_control))
                || credentials.user.contains(':') && spec.basic_auth.is_some()
            {
                self.add(
                    format!("requests[{index}].basic_auth"),
                    "must be at most 1,024 bytes without control characters, and no colon in the user name",
                );
            }
            headers.push(("Authorization".to_owned(), credentials.authorization()));
        }
        if self.0.len() > before {
            return None;
        }
        Some(Request { method: spec.method, target: target?, headers, body: spec.body.clone() })
    }
}

/// A header name is a token (RFC 9110, 5.6.2); a value has no control characters but tab; framing is ours.
fn check_header(name: &str, value: &str) -> Result<(), String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(format!(
            "has a name that is not allowed: “{}”",
            name.chars().take(40).collect::<String>().escape_debug()
        ));
    }
    if name.len() + value.len() > limits::HEADER_BYTES {
        return Err(format!("has a header longer than {} bytes: “{name}”", limits::HEADER_BYTES));
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(format!("has a line break or control character in the value of “{name}”"));
    }
    if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!("may not set “{name}”: it follows from the body"));
    }
    Ok(())
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

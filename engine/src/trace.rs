//! What passed when one client went through a list once: for trying a test before it is run.

use serde::{Deserialize, Serialize};

/// What happened when the list was tried once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// One for each request of the list, in order; fewer when the trial was ended before.
    pub steps: Vec<Step>,
}

/// One request of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its place in the list, from 0.
    pub request: usize,
    /// What passed, redirects and second attempts included; empty when the request was not sent.
    pub exchanges: Vec<Exchange>,
    /// Variables taken from the reply.
    pub extracted: Vec<Extracted>,
    /// Conditions on the reply.
    pub assertions: Vec<Judged>,
    /// Why there is no reply, or why the request was not sent.
    pub error: Option<TraceError>,
}

/// One request and its reply on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Where it went.
    pub url: String,
    /// Address and port of the connection, when it was made for this exchange.
    pub address: Option<String>,
    /// On a connection that had carried a request before.
    pub reused: bool,
    /// HTTP/2 was spoken; heads are shown in the words of HTTP/1 all the same.
    pub http2: bool,
    /// Request line and headers.
    pub request_head: Text,
    /// Body that was sent.
    pub request_body: Text,
    /// Status, when there is one.
    pub status: Option<u16>,
    /// Status line and headers.
    pub response_head: Text,
    /// Body that came, unpacked where it came packed.
    pub response_body: Text,
    /// Times.
    pub phases_ms: Phases,
    /// Why there is no complete reply.
    pub error: Option<TraceError>,
}

/// The beginning of a head or body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// At most 64 kB; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Bytes in all.
    pub bytes: u64,
}

/// Parts of an exchange, in ms; absent where there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Name resolution.
    pub dns: Option<f64>,
    /// TCP connect.
    pub connect: Option<f64>,
    /// TLS handshake.
    pub tls: Option<f64>,
    /// Request written to first byte of the reply.
    pub wait: Option<f64>,
    /// First to last byte of the reply.
    pub receive: Option<f64>,
    /// From the first byte written to the end.
    pub total: Option<f64>,
}

/// A variable taken from a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// Why it has none.
    pub reason: Option<String>,
}

/// A condition that was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The condition in words.
    pub text: String,
    /// It holds.
    pub passed: bool,
    /// What was found instead.
    pub found: Option<String>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceError {
    /// Stable name, as in results.
    pub kind: String,
    /// One sentence.
    pub sentence: String,
    /// What the system or the target said.
    pub detail: String,
}

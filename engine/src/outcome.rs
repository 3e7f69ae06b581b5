//! What can become of a request that was sent, and the words for it.

use serde::{Deserialize, Serialize};

/// The column of the ledger a finished request is counted in. Every sent request ends in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A complete reply with this status (100–999).
    Answered(u16),
    /// No complete reply.
    Failed(ErrorKind),
}

/// Class of a failure: which ledger column it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The time allowed ran out.
    Timeout,
    /// The connection could not be made or was lost.
    Network,
    /// What came back is not a valid reply.
    Invalid,
    /// Our own limits; never charged to the target.
    Local,
    /// Cut by the end of the run.
    Aborted,
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $class:ident, $explain:literal;)+) => {
        /// Why a request failed. Names are stable: they stand in results and exports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ErrorKind { $($(#[$doc])* #[serde(rename = $name)] $variant),+ }
        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$variant),+];
            /// The stable name.
            pub fn name(self) -> &'static str { match self { $(ErrorKind::$variant => $name),+ } }
            /// One sentence for people.
            pub fn explain(self) -> &'static str { match self { $(ErrorKind::$variant => $explain),+ } }
            /// The ledger column.
            pub fn class(self) -> FailureClass { match self { $(ErrorKind::$variant => FailureClass::$class),+ } }
        }
    };
}

error_kinds! {
    /// Whole-exchange timeout.
    Timeout = "timeout", Timeout, "No complete reply came within the timeout.";
    /// No byte for the idle timeout.
    IdleTimeout = "idle_timeout", Timeout, "The target sent nothing for longer than the idle timeout.";
    /// The connection was not made in time.
    ConnectTimeout = "connect_timeout", Timeout, "The connection was not established within the timeout.";
    /// The name servers did not answer in time.
    DnsTimeout = "dns_timeout", Timeout, "No name server answered within the timeout.";
    /// Name not found or resolver failed.
    Dns = "dns", Network, "The host name could not be resolved.";
    /// ECONNREFUSED.
    ConnectRefused = "connect_refused", Network, "Nothing listens at the address: the connection was refused.";
    /// Other connect failures.
    ConnectFailed = "connect_failed", Network, "The connection could not be established.";
    /// ECONNRESET, EPIPE.
    Reset = "reset", Network, "The target reset the connection.";
    /// End of stream before a complete reply.
    ClosedEarly = "closed_early", Network, "The target closed the connection before the reply was complete.";
    /// Certificate out of date.
    TlsExpired = "tls_expired", Network, "The certificate has expired or is not valid yet.";
    /// Issuer not trusted.
    TlsUnknownIssuer = "tls_unknown_issuer", Network, "The certificate comes from an issuer that is not trusted (self-signed, perhaps).";
    /// Certificate for another name.
    TlsWrongName = "tls_wrong_name", Network, "The certificate is for another host name.";
    /// No common version or cipher.
    TlsProtocol = "tls_protocol", Network, "Target and generator have no TLS version or cipher in common.";
    /// Client certificate missing or not accepted.
    TlsClientCertificate = "tls_client_certificate", Network, "The target asks for a client certificate, and got none or one that it does not accept.";
    /// The port does not speak TLS.
    NotTls = "not_tls", Network, "The port does not speak TLS.";
    /// Other TLS failures.
    Tls = "tls", Network, "The TLS handshake failed.";
    /// Other input and output errors.
    Io = "io", Network, "Sending or receiving failed.";
    /// Not an HTTP reply.
    InvalidReply = "invalid_reply", Invalid, "What the target sent is not a valid HTTP reply.";
    /// Head over the limits.
    HeadTooLarge = "head_too_large", Invalid, "The reply's head is larger than 64 kB or has more than 256 headers.";
    /// Redirect loop or too many hops.
    RedirectLoop = "redirect_loop", Invalid, "The redirects go round in a loop or are more than 10.";
    /// HTTP/2 was asked for, the target does not offer it.
    NoHttp2 = "no_http2", Invalid, "The target does not offer HTTP/2.";
    /// A condition of the plan does not hold, where that counts as an error.
    Assertion = "assertion", Invalid, "The reply did not meet a condition of the test.";
    /// EMFILE, ENFILE.
    NoDescriptors = "no_descriptors", Local, "The generator ran out of file descriptors.";
    /// EADDRNOTAVAIL.
    NoPorts = "no_ports", Local, "The generator ran out of free local ports.";
    /// The address policy refused what the name resolved to.
    AddressRefused = "address_refused", Local, "The address may not be tested from this installation.";
    /// Anything else of ours.
    LocalLimit = "local_limit", Local, "A limit of the generator's machine was reached.";
    /// Never sent: a variable has no value.
    MissingVariable = "missing_variable", Local, "The request was not sent: a variable in it had no value.";
    /// Never sent: a value cannot stand where it is to be filled in.
    UnusableValue = "unusable_value", Local, "The request was not sent: a value cannot stand where it was to be filled in.";
    /// Cut at the end.
    Aborted = "aborted", Aborted, "The run ended before the reply was complete.";
}

//! What is measured, and the bounds that hold.

use super::nginx;

/// A bound on our cost as a share of another generator's.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) peer: &'static str,
    pub(super) ratio: f64,
    /// The generator that this one stands for where it is not on the machine.
    pub(super) instead_of: Option<&'static str>,
}

/// At most `ratio` of what `peer` needs.
const fn limit(peer: &'static str, ratio: f64) -> Limit {
    Limit { peer, ratio, instead_of: None }
}

/// hey needs 42 µs of processor time for a request where wrk needs 9 µs.
const HEY_TO_WRK: f64 = 42.0 / 9.0;

/// One comparison.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) tls: bool,
    pub(super) reuse: bool,
    /// We fill in values taken from replies and from data ([`nginx::Nginx::scenario`]); the others ask for `path`.
    pub(super) scenario: bool,
    pub(super) clients: u32,
    pub(super) requests: u64,
    pub(super) limits: &'static [Limit],
    /// Most memory at its peak, in MB.
    pub(super) peak_mb: Option<f64>,
}

const KEPT: Case = Case {
    name: "keep-alive-64",
    path: "/",
    tls: false,
    reuse: true,
    scenario: false,
    clients: 64,
    requests: 200_000,
    limits: &[limit("wrk", 1.0), limit("oha", 0.75)],
    peak_mb: None,
};

/// All cases, in the order in which they are run.
pub(super) const ALL: &[Case] = &[
    KEPT,
    Case { name: "keep-alive-1000", clients: 1_000, limits: &[limit("wrk", 1.1)], ..KEPT },
    Case {
        name: "keep-alive-10000",
        clients: 10_000,
        // Enough that making the connections weighs as little as in the runs of those that go by the clock.
        requests: 400_000,
        limits: &[limit("wrk", 1.1)],
        peak_mb: Some(64.0),
        ..KEPT
    },
    Case { name: "connection-each", reuse: false, clients: 16, requests: 30_000, limits: &[limit("ab", 1.1)], ..KEPT },
    Case {
        name: "body-2mb",
        path: nginx::MEGABYTES,
        clients: 16,
        requests: 4_000,
        limits: &[limit("oha", 1.0)],
        ..KEPT
    },
    Case { name: "tls-keep-alive-64", tls: true, limits: &[limit("wrk", 1.1)], ..KEPT },
    Case {
        name: "values-from-replies",
        path: nginx::ITEM,
        scenario: true,
        limits: &[limit("hey", 1.0), Limit { peer: "wrk", ratio: HEY_TO_WRK, instead_of: Some("hey") }],
        ..KEPT
    },
];

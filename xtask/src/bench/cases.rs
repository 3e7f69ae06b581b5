//! What is measured, and the bounds that hold.

use super::nginx;

/// A bound on our cost as a share of another generator's.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) peer: &'static str,
    pub(super) ratio: f64,
}

/// One comparison.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) tls: bool,
    pub(super) reuse: bool,
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
    clients: 64,
    requests: 200_000,
    limits: &[Limit { peer: "wrk", ratio: 1.0 }, Limit { peer: "oha", ratio: 0.75 }],
    peak_mb: None,
};

/// All cases, in the order in which they are run.
pub(super) const ALL: &[Case] = &[
    KEPT,
    Case { name: "keep-alive-1000", clients: 1_000, limits: &[Limit { peer: "wrk", ratio: 1.1 }], ..KEPT },
    Case {
        name: "keep-alive-10000",
        clients: 10_000,
        // Enough that making the connections weighs as little as in the runs of those that go by the clock.
        requests: 400_000,
        limits: &[Limit { peer: "wrk", ratio: 1.1 }],
        peak_mb: Some(64.0),
        ..KEPT
    },
    Case {
        name: "connection-each",
        reuse: false,
        clients: 16,
        requests: 30_000,
        limits: &[Limit { peer: "ab", ratio: 1.1 }],
        ..KEPT
    },
    Case {
        name: "body-2mb",
        path: nginx::MEGABYTES,
        clients: 16,
        requests: 4_000,
        limits: &[Limit { peer: "oha", ratio: 1.0 }],
        ..KEPT
    },
    Case { name: "tls-keep-alive-64", tls: true, limits: &[Limit { peer: "wrk", ratio: 1.1 }], ..KEPT },
];

//! The part of a stored second that comparisons read.

use serde::Deserialize;

use super::{Ledger, MOST_STORED};
use crate::histogram::{DecodeError, stored_buckets, take};

/// What became of the requests of a stored second, and their latencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Second of the run, from 0.
    pub t: u32,
    /// What became of the requests.
    pub ledger: Ledger,
    /// Latencies of answered requests: filled buckets as (highest time in µs, count), in order.
    pub latency: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
struct Head {
    t: u32,
    ledger: Ledger,
}

impl Glance {
    /// Reads it from the stored form of a [`Window`](super::Window), without decoding the rest.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes that are read are cut, damaged or of a later version.
    pub fn read(mut bytes: &[u8]) -> Result<Glance, DecodeError> {
        let [version] = take::<1>(&mut bytes)?;
        if version != 1 {
            return Err(DecodeError(format!("version {version} is not known").into()));
        }
        let length = u32::from_le_bytes(take::<4>(&mut bytes)?) as usize;
        let head = bytes.get(..length).ok_or_else(|| DecodeError("cut short".into()))?;
        bytes = &bytes[length..];
        let Head { t, ledger } = serde_json::from_slice(head).map_err(|e| DecodeError(e.to_string().into()))?;
        if ledger.counts().iter().any(|count| *count > MOST_STORED) {
            return Err(DecodeError("a count is larger than a second can hold".into()));
        }
        Ok(Glance { t, ledger, latency: stored_buckets(&mut bytes)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Window;

    #[test]
    fn a_glance_sees_what_the_window_holds() {
        let mut window = Window::new(7, 2);
        assert_eq!(Glance::read(&window.encode()).unwrap().latency, []);
        window.ledger = Ledger { planned: 3, sent: 3, ok: 2, timeout: 1, ..Ledger::default() };
        [3, 2047, 2048, 70_001, 70_001, 3_600_000_000].into_iter().for_each(|us| window.latency.record(us));
        window.service.record(9);
        let bytes = window.encode();
        let glance = Glance { t: 7, ledger: window.ledger, latency: window.latency.buckets() };
        assert_eq!(Glance::read(&bytes).unwrap(), glance);
        assert!(Glance::read(&bytes[..60]).is_err() && Glance::read(&[2, 0, 0, 0, 0]).is_err());
    }
}

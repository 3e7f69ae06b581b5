//! How often somebody may try to sign in: a budget per client address and one per account, in memory.
//!
//! Several processes on one database each have their own budgets; that only multiplies a number that is small.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::config::AttemptLimits;
use crate::error::Error;

/// The time over which tries are counted.
const PERIOD: Duration = Duration::from_secs(600);
/// Keys remembered at once; beyond that the ones closest to being forgotten go first. About a megabyte.
const KEYS: usize = 10_000;

/// The budgets of a server.
pub struct Attempts {
    addresses: Mutex<Budget<IpAddr>>,
    accounts: Mutex<Budget<String>>,
}

impl Attempts {
    /// Full budgets.
    pub fn new(limits: AttemptLimits) -> Attempts {
        Attempts {
            addresses: Mutex::new(Budget::new(limits.per_address)),
            accounts: Mutex::new(Budget::new(limits.per_account)),
        }
    }

    /// Counts a try from `address`.
    ///
    /// # Errors
    /// [`Error::TooMany`] if its budget is spent.
    pub fn from_address(&self, address: IpAddr) -> Result<(), Error> {
        let key = network(address);
        take(&self.addresses, key, 1)
    }

    /// Whether a try for this account may be made at all.
    ///
    /// # Errors
    /// [`Error::TooMany`] after too many failed ones.
    pub fn for_account(&self, email: &str) -> Result<(), Error> {
        take(&self.accounts, email.to_owned(), 0)
    }

    /// Counts a failed try for this account.
    pub fn failed(&self, email: &str) {
        // An empty budget is what the next try finds out.
        let _ = take(&self.accounts, email.to_owned(), 1);
    }

    /// Forgets the failed tries of an account whose password was just given.
    pub fn succeeded(&self, email: &str) {
        locked(&self.accounts).spent.remove(email);
    }
}

/// A subscriber of IPv6 usually has a whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        v4 => v4,
    }
}

fn locked<K>(budget: &Mutex<Budget<K>>) -> std::sync::MutexGuard<'_, Budget<K>> {
    // Nothing panics while it is held, and a count that is off by one harms nobody.
    budget.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn take<K: Hash + Eq + Clone>(budget: &Mutex<Budget<K>>, key: K, cost: u32) -> Result<(), Error> {
    locked(budget).take(key, cost, Instant::now()).map_err(|retry_after| Error::TooMany { retry_after })
}

/// A leaky bucket for each key: `full_at` is when nothing of what was spent is left to wait for.
struct Budget<K> {
    size: u32,
    spent: HashMap<K, Instant>,
}

impl<K: Hash + Eq + Clone> Budget<K> {
    fn new(size: u32) -> Budget<K> {
        Budget { size: size.max(1), spent: HashMap::new() }
    }

    /// Spends `cost` (0 = only asks whether there is anything left), or tells how long to wait.
    fn take(&mut self, key: K, cost: u32, now: Instant) -> Result<(), Duration> {
        let step = PERIOD / self.size;
        let full_at = self.spent.get(&key).copied().unwrap_or(now).max(now);
        let after = full_at + step;
        if let Some(wait) = after.duration_since(now).checked_sub(PERIOD)
            && wait > Duration::ZERO
        {
            return Err(wait);
        }
        if cost > 0 {
            self.make_room(now);
            self.spent.insert(key, full_at + step * cost);
        }
        Ok(())
    }

    fn make_room(&mut self, now: Instant) {
        if self.spent.len() < KEYS {
            return;
        }
        self.spent.retain(|_, full_at| *full_at > now);
        if self.spent.len() >= KEYS {
            let mut ends: Vec<Instant> = self.spent.values().copied().collect();
            let middle = ends.len() / 2;
            let cut = *ends.select_nth_unstable(middle).1;
            self.spent.retain(|_, full_at| *full_at > cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_and_comes_back() {
        let (mut budget, start) = (Budget::new(3), Instant::now());
        for _ in 0..3 {
            assert_eq!(budget.take("a", 1, start), Ok(()));
        }
        assert_eq!(budget.take("a", 1, start), Err(PERIOD / 3));
        assert_eq!(budget.take("a", 0, start), Err(PERIOD / 3));
        assert_eq!(budget.take("b", 1, start), Ok(()));
        assert_eq!(budget.take("a", 1, start + PERIOD / 3), Ok(()));
        assert!(budget.take("a", 1, start + PERIOD / 3).is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let (mut budget, start) = (Budget::new(1), Instant::now());
        for key in 0..3 * KEYS {
            budget.take(key, 1, start + Duration::from_micros(key as u64)).unwrap();
        }
        assert!(budget.spent.len() <= KEYS, "{}", budget.spent.len());
        assert!(budget.spent.contains_key(&(3 * KEYS - 1)));
    }

    #[test]
    fn neighbours_in_a_v6_network_share_a_budget() {
        let of = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:1.2.3.4"), "1.2.3.4");
    }
}

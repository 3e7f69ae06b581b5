//! Who gets which row of the data.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::fill::Supply;
use crate::plan::scenario::{DataSpec, RowOrder, RowsOut};

/// The rows of a run's data, for all its workers.
#[derive(Debug)]
pub(super) struct Rows {
    count: u64,
    order: RowOrder,
    at_end: RowsOut,
    /// Rows handed out in order, where none may come twice.
    taken: AtomicU64,
    /// Rows that no client has, where each belongs to one.
    free: Mutex<VecDeque<usize>>,
}

/// What a client gets when it begins the list.
#[derive(Debug)]
pub(super) enum Row {
    At(usize),
    /// For as long as it keeps this.
    Own(OwnRow),
    /// None is left, and the requests that want one are not sent.
    Missing,
    /// None is left, and the run ends.
    Stop,
}

impl Rows {
    pub(super) fn of(data: &DataSpec) -> Rows {
        let free = if data.order == RowOrder::Unique { (0..data.rows.len()).collect() } else { VecDeque::new() };
        Rows {
            count: data.rows.len() as u64,
            order: data.order,
            at_end: data.at_end,
            taken: AtomicU64::new(0),
            free: Mutex::new(free),
        }
    }

    pub(super) fn take(self: &Arc<Self>, supply: &Supply) -> Row {
        match self.order {
            RowOrder::Random => Row::At(supply.random.borrow_mut().u64(..self.count) as usize),
            // Each worker has its own turns: nothing is shared.
            RowOrder::InOrder if self.at_end == RowsOut::Again => Row::At((supply.row_turn() % self.count) as usize),
            RowOrder::InOrder => self.next(),
            RowOrder::Unique => match self.free().pop_front() {
                Some(row) => Row::Own(OwnRow { rows: self.clone(), row }),
                None => self.next(),
            },
        }
    }

    /// The next row in order, over all workers; or what comes after the last.
    fn next(&self) -> Row {
        let turn = self.taken.fetch_add(1, Ordering::Relaxed);
        match self.at_end {
            RowsOut::Again => Row::At((turn % self.count) as usize),
            _ if self.order == RowOrder::InOrder && turn < self.count => Row::At(turn as usize),
            RowsOut::Stop => Row::Stop,
            RowsOut::Missing => Row::Missing,
        }
    }

    fn free(&self) -> std::sync::MutexGuard<'_, VecDeque<usize>> {
        // A list of numbers is whole whoever died while holding it.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row that belongs to one client; dropping it gives it back.
#[derive(Debug)]
pub(super) struct OwnRow {
    rows: Arc<Rows>,
    row: usize,
}

impl OwnRow {
    pub(super) fn row(&self) -> usize {
        self.row
    }
}

impl Drop for OwnRow {
    fn drop(&mut self) {
        self.rows.free().push_back(self.row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, order: RowOrder, at_end: RowsOut) -> Arc<Rows> {
        Arc::new(Rows::of(&DataSpec { columns: vec!["x".into()], rows: vec![vec!["1".into()]; count], order, at_end }))
    }

    fn at(row: &Row) -> Option<usize> {
        match row {
            Row::At(at) => Some(*at),
            Row::Own(own) => Some(own.row()),
            Row::Missing | Row::Stop => None,
        }
    }

    #[test]
    fn each_row_once_before_any_again() {
        let (a, b) = (Supply::new(0, 2, 0), Supply::new(1, 2, 0));
        let again = rows(3, RowOrder::InOrder, RowsOut::Again);
        let turns: Vec<_> = [&a, &b, &a, &b, &a, &b].iter().map(|supply| at(&again.take(supply)).unwrap()).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        // Where none may come twice, a worker that is ahead takes none from the other.
        let once = rows(3, RowOrder::InOrder, RowsOut::Stop);
        let turns: Vec<_> = [&a, &a, &a].iter().map(|supply| at(&once.take(supply)).unwrap()).collect();
        assert_eq!(turns, [0, 1, 2]);
        assert!(matches!(once.take(&b), Row::Stop));
        assert!((0..100).all(|_| at(&rows(3, RowOrder::Random, RowsOut::Stop).take(&a)).unwrap() < 3));
    }

    #[test]
    fn unique_rows_come_back_with_their_clients_end() {
        let supply = Supply::new(0, 1, 0);
        let unique = rows(2, RowOrder::Unique, RowsOut::Missing);
        let (first, second) = (unique.take(&supply), unique.take(&supply));
        assert_eq!((at(&first), at(&second)), (Some(0), Some(1)));
        assert!(matches!(unique.take(&supply), Row::Missing));
        drop(first);
        assert_eq!(at(&unique.take(&supply)), Some(0));
        let again = rows(1, RowOrder::Unique, RowsOut::Again);
        let own = again.take(&supply);
        assert!(matches!((&own, again.take(&supply)), (Row::Own(_), Row::At(0))));
    }
}

//! One slot per client at work: its deadline, and the way to wake it when time is up or the run is cut.
//!
//! A request sets its deadline by writing a cell. The watchdog keeps at most a few entries per slot and looks at the cell
//! only when an entry comes due, so that no timer is touched per request.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::outcome::ErrorKind;

/// A client's place in the worker.
#[derive(Debug, Default)]
pub(super) struct Slot {
    deadline: Cell<Option<(Instant, ErrorKind)>>,
    /// Earliest entry of this slot in the watchdog's heap.
    queued: Cell<Option<Instant>>,
    fired: Cell<Option<ErrorKind>>,
    waker: RefCell<Option<Waker>>,
}

impl Slot {
    /// Why the client must give up, if it must. Stays until the next [`Slots::arm`]; a cut stays for good.
    #[inline]
    pub(super) fn fired(&self) -> Option<ErrorKind> {
        self.fired.get()
    }

    /// Remembers who is to be woken.
    #[inline]
    pub(super) fn park(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        match &*waker {
            Some(old) if old.will_wake(cx.waker()) => {}
            _ => *waker = Some(cx.waker().clone()),
        }
    }

    /// Nothing is timed any more.
    #[inline]
    pub(super) fn disarm(&self) {
        self.deadline.set(None);
        if self.fired.get() != Some(ErrorKind::Aborted) {
            self.fired.set(None);
        }
    }

    fn fire(&self, why: ErrorKind) {
        self.fired.set(Some(why));
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }

    /// Drives `future` until it is ready or the slot fires.
    pub(super) async fn guard<F: Future>(&self, future: F) -> Result<F::Output, ErrorKind> {
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => match self.fired() {
                Some(why) => Poll::Ready(Err(why)),
                None => {
                    self.park(cx);
                    Poll::Pending
                }
            },
        })
        .await
    }
}

/// All slots of a worker.
#[derive(Debug, Default)]
pub(super) struct Slots {
    all: RefCell<Vec<Rc<Slot>>>,
    free: RefCell<Vec<usize>>,
    in_use: Cell<usize>,
    heap: RefCell<BinaryHeap<Reverse<(Instant, usize)>>>,
    /// When the watchdog will look next; `None` while it sleeps without a time.
    next_look: Cell<Option<Instant>>,
    watchdog: RefCell<Option<Waker>>,
    cut: Cell<bool>,
}

impl Slots {
    /// Takes a slot.
    pub(super) fn take(&self) -> (usize, Rc<Slot>) {
        self.in_use.set(self.in_use.get() + 1);
        let mut all = self.all.borrow_mut();
        let id = self.free.borrow_mut().pop().unwrap_or_else(|| {
            all.push(Rc::default());
            all.len() - 1
        });
        let slot = all[id].clone();
        slot.deadline.set(None);
        slot.fired.set(self.cut.get().then_some(ErrorKind::Aborted));
        (id, slot)
    }

    /// Gives a slot back.
    pub(super) fn give_back(&self, id: usize) {
        let slot = self.all.borrow()[id].clone();
        slot.deadline.set(None);
        slot.waker.borrow_mut().take();
        self.free.borrow_mut().push(id);
        self.in_use.set(self.in_use.get() - 1);
    }

    /// Slots taken.
    #[cfg(test)]
    pub(super) fn in_use(&self) -> usize {
        self.in_use.get()
    }

    /// From `deadline` on, the client gives up for this reason.
    #[inline]
    pub(super) fn arm(&self, id: usize, slot: &Slot, deadline: Instant, why: ErrorKind) {
        slot.deadline.set(Some((deadline, why)));
        if slot.queued.get().is_none_or(|queued| queued > deadline) {
            self.enqueue(id, slot, deadline);
        }
    }

    #[cold]
    fn enqueue(&self, id: usize, slot: &Slot, deadline: Instant) {
        slot.queued.set(Some(deadline));
        self.heap.borrow_mut().push(Reverse((deadline, id)));
        if self.next_look.get().is_none_or(|next| next > deadline)
            && let Some(waker) = self.watchdog.borrow().as_ref()
        {
            waker.wake_by_ref();
        }
    }

    /// Cuts every client, also those still to come.
    pub(super) fn cut_all(&self) {
        self.cut.set(true);
        for slot in self.all.borrow().iter() {
            slot.fire(ErrorKind::Aborted);
        }
    }

    /// Lets every client look around: something has changed that they may be waiting for.
    pub(super) fn wake_all(&self) {
        for slot in self.all.borrow().iter() {
            if let Some(waker) = slot.waker.borrow().as_ref() {
                waker.wake_by_ref();
            }
        }
    }

    /// Looks at what is due; returns when to look next.
    fn look(&self, now: Instant) -> Option<Instant> {
        let mut heap = self.heap.borrow_mut();
        let all = self.all.borrow();
        while let Some(&Reverse((at, id))) = heap.peek() {
            if at > now {
                return Some(at);
            }
            heap.pop();
            let slot = &all[id];
            if slot.queued.get() != Some(at) {
                continue;
            }
            slot.queued.set(None);
            let Some((deadline, why)) = slot.deadline.get() else { continue };
            if deadline > now {
                slot.queued.set(Some(deadline));
                heap.push(Reverse((deadline, id)));
            } else if slot.fired().is_none() {
                slot.fire(why);
            }
        }
        None
    }

    /// Runs as a task of the worker for as long as it lives.
    #[expect(clippy::disallowed_methods, reason = "a timeout may be a millisecond late; load is not paced with this")]
    pub(super) async fn watch(self: Rc<Self>) {
        let mut sleep: Pin<Box<tokio::time::Sleep>> = Box::pin(tokio::time::sleep_until(tokio::time::Instant::now()));
        poll_fn(|cx| {
            let mut waker = self.watchdog.borrow_mut();
            if !waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
                *waker = Some(cx.waker().clone());
            }
            drop(waker);
            loop {
                let next = self.look(Instant::now());
                self.next_look.set(next);
                let Some(next) = next else { return Poll::<()>::Pending };
                sleep.as_mut().reset(next.into());
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_a_deadline_that_still_stands_fires() {
        let slots = Slots::default();
        let start = Instant::now();
        let s = |n: u64| start + Duration::from_secs(n);
        let (a, slot_a) = slots.take();
        let (b, slot_b) = slots.take();
        slots.arm(a, &slot_a, s(10), ErrorKind::Timeout);
        slots.arm(b, &slot_b, s(10), ErrorKind::Timeout);
        slots.arm(b, &slot_b, s(15), ErrorKind::Timeout);
        assert_eq!(slots.look(s(11)), Some(s(15)));
        assert_eq!((slot_a.fired(), slot_b.fired()), (Some(ErrorKind::Timeout), None));
        slots.arm(b, &slot_b, s(12), ErrorKind::IdleTimeout);
        assert_eq!(slots.look(s(11)), Some(s(12)));
        slots.look(s(12));
        assert_eq!(slot_b.fired(), Some(ErrorKind::IdleTimeout));
        slots.give_back(b);
        let (again, slot) = slots.take();
        assert_eq!((again, slot.fired(), slots.in_use()), (b, None, 2));
        slots.cut_all();
        assert_eq!(slot.fired(), Some(ErrorKind::Aborted));
        assert_eq!(slots.take().1.fired(), Some(ErrorKind::Aborted));
    }
}

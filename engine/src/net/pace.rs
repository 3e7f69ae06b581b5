//! Waits for an instant: never early, and late by tens of microseconds rather than a millisecond.

use std::io;
use std::time::Instant;

#[cfg(target_os = "linux")]
mod timer {
    use super::{Instant, io};
    use rustix::time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
        timerfd_settime,
    };
    use std::os::fd::OwnedFd;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// An absolute `timerfd`.
    pub(in crate::net) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        /// Must be called inside the worker's runtime.
        pub(in crate::net) fn new() -> io::Result<Timer> {
            let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            #[expect(
                deprecated,
                reason = "the replacement is an unsafe fn; an OwnedFd keeps its one descriptor open, which is all it asks"
            )]
            let fd = AsyncFd::with_interest(fd, Interest::READABLE)?;
            Ok(Timer(fd))
        }

        /// Returns at `due` or as soon after it as can be.
        pub(in crate::net) async fn until(&self, due: Instant) -> io::Result<()> {
            loop {
                let now = Instant::now();
                if now >= due {
                    return Ok(());
                }
                // The second clock is read after the first, so that the conversion errs towards later.
                let clock = clock_gettime(ClockId::Monotonic);
                let left = due - now;
                let nanos = clock.tv_nsec + i64::from(left.subsec_nanos());
                let it_value = Timespec {
                    tv_sec: clock.tv_sec + left.as_secs() as i64 + nanos / 1_000_000_000,
                    tv_nsec: nanos % 1_000_000_000,
                };
                let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
                timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
                let mut ready = self.0.readable().await?;
                let mut count = [0u8; 8];
                match rustix::io::read(self.0.get_ref(), &mut count) {
                    Ok(_) | Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod timer {
    use super::{Instant, io};

    /// The runtime's own timer, where there is no `timerfd`: up to 2 ms late.
    pub(in crate::net) struct Timer;

    impl Timer {
        pub(in crate::net) fn new() -> io::Result<Timer> {
            Ok(Timer)
        }

        #[expect(clippy::disallowed_methods, reason = "there is nothing better on this system")]
        pub(in crate::net) async fn until(&self, due: Instant) -> io::Result<()> {
            tokio::time::sleep_until(due.into()).await;
            Ok(())
        }
    }
}

pub(super) use timer::Timer;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn never_early() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let timer = Timer::new().unwrap();
            let start = Instant::now();
            for i in 0..50u32 {
                let due = start + Duration::from_micros(700) * i;
                timer.until(due).await.unwrap();
                assert!(Instant::now() >= due);
            }
        });
    }
}

//! What the generator uses of its machine.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Processor time of the calling thread.
pub(super) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}

/// Raises the soft limit of open files to the hard one and returns what then holds; `None` = no limit.
pub(super) fn raise_descriptors() -> Option<u64> {
    let now = getrlimit(Resource::Nofile);
    if now.current == now.maximum {
        return now.current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }) {
        Ok(()) => now.maximum,
        Err(_) => now.current,
    }
}

/// Most memory the process ever held, in MB, where the system tells.
pub(super) fn max_rss_mb() -> Option<f64> {
    high_water(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_does_not_tell_is_unknown() {
        assert_eq!(high_water("VmPeak:\t 9 kB\nVmHWM:\t   1000 kB\n"), Some(1.024));
        for silent in ["", "VmPeak:\t 9 kB\n", "VmHWM:", "VmHWM: many kB"] {
            assert_eq!(high_water(silent), None, "{silent}");
        }
    }

    #[test]
    fn the_machine_tells() {
        let before = thread_cpu();
        let mut x = 1u64;
        while thread_cpu() - before < Duration::from_millis(2) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(raise_descriptors().is_none_or(|n| n >= 64));
        assert!(max_rss_mb().is_none_or(|mb| mb > 0.5));
    }
}

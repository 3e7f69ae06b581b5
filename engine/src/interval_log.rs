//! Times of every second as an HdrHistogram interval log, which tools around HdrHistogram read.
//!
//! Values are microseconds. Seconds without any are left out. The log is written in pieces, because that of a long run is large.

use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use crate::histogram::Histogram;

/// The comments a log begins with; times in the log count from `started_at`.
pub fn head(started_at: SystemTime) -> Vec<u8> {
    let (mut out, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(" Response times of answered requests in microseconds, one interval a second.")
        .with_start_time(started_at)
        .with_base_time(started_at);
    builder.begin_log_with(&mut out, &mut serializer).expect("writing to memory does not fail");
    out
}

/// Appends second `t`.
pub fn append(out: &mut Vec<u8>, t: u32, times: &Histogram) {
    let Some(hdr) = times.to_hdr() else { return };
    let mut serializer = V2DeflateSerializer::new();
    let mut writer =
        IntervalLogWriterBuilder::new().begin_log_with(out, &mut serializer).expect("writing to memory does not fail");
    writer
        .write_histogram(&hdr, Duration::from_secs(u64::from(t)), Duration::from_secs(1), None)
        .expect("writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn a_log_is_read_again_by_the_library() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(1_796_119_200_250);
        let mut log = head(start);
        let mut times = Histogram::default();
        (1..=1000).for_each(|us| times.record(us));
        append(&mut log, 0, &times);
        append(&mut log, 1, &Histogram::default());
        append(&mut log, 7, &times);
        assert!(log.starts_with(b"#[Histogram log format version 1.3]\n"));
        let (mut starts, mut begins) = (Vec::new(), Vec::new());
        for entry in IntervalLogIterator::new(&log) {
            match entry.unwrap() {
                LogEntry::StartTime(at) | LogEntry::BaseTime(at) => begins.push(at.as_millis()),
                LogEntry::Interval(interval) => {
                    starts.push(interval.start_timestamp().as_secs());
                    assert_eq!((interval.duration().as_secs(), interval.max()), (1, 1000.0));
                }
            }
        }
        assert_eq!((starts, begins), (vec![0, 7], vec![1_796_119_200_250; 2]));
    }
}

//! Wall-clock times: unix milliseconds inside, RFC 3339 in UTC at the edge.

use jiff::Timestamp;

/// `2026-12-01T10:00:00.000Z`. Times outside the years 1 to 9999 are shown as the epoch.
pub fn rfc3339(unix_ms: i64) -> String {
    let time = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// The moment that [`rfc3339`] wrote; `None` for anything else.
pub fn unix_ms(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_have_milliseconds_and_z() {
        assert_eq!(super::rfc3339(1_796_119_200_000), "2026-12-01T10:00:00.000Z");
        assert_eq!(super::unix_ms("2026-12-01T10:00:00.000Z"), Some(1_796_119_200_000));
        assert_eq!(super::unix_ms("soon"), None);
        assert_eq!(super::rfc3339(i64::MAX), "1970-01-01T00:00:00.000Z");
    }
}

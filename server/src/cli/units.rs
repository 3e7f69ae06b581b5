//! Times as people write them on a command line.

use std::time::Duration;

/// Reads `500ms`, `10s`, `2m`, `1h` or bare seconds, fractions allowed.
///
/// # Errors
/// A sentence that says how to write it.
pub fn duration(text: &str) -> Result<Duration, String> {
    let error = || format!("“{text}” is not a time; write for example 500ms, 10s, 2m or 1h");
    let text = text.trim();
    let (number, factor) = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]
        .into_iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|n| (n, factor)))
        .unwrap_or((text, 1.0));
    let value: f64 = number.trim().parse().map_err(|_| error())?;
    Duration::try_from_secs_f64(value * factor).map_err(|_| error())
}

/// Milliseconds for people: `–`, `0.213 ms`, `12.3 ms`, `1.23 s`.
pub fn ms(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(v) if v >= 1000.0 => format!("{:.2} s", v / 1000.0),
        Some(v) if v >= 10.0 => format!("{v:.1} ms"),
        Some(v) => format!("{v:.3} ms"),
    }
}

/// Bytes for people, in powers of 1000.
pub fn bytes(value: u64) -> String {
    let v = value as f64;
    match value {
        0..1_000 => format!("{value} B"),
        1_000..1_000_000 => format!("{:.1} kB", v / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", v / 1e6),
        _ => format!("{:.2} GB", v / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_units() {
        for (text, ms) in [("500ms", 500), ("10s", 10_000), ("2m", 120_000), ("1h", 3_600_000), ("2.5", 2500), ("0", 0)]
        {
            assert_eq!(duration(text).unwrap().as_millis(), ms, "{text}");
        }
        for bad in ["", "x", "-1s", "1d", "NaN", "1e30h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn figures_for_people() {
        assert_eq!((ms(None), ms(Some(0.2134)), ms(Some(1234.5))), ("–".into(), "0.213 ms".into(), "1.23 s".into()));
        assert_eq!((bytes(999), bytes(2_000_000)), ("999 B".into(), "2.0 MB".into()));
    }
}

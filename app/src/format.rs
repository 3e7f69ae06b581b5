//! Numbers, times and sizes for people. No value is an en dash; NaN and infinities are no value.

/// What stands where there is no value.
pub const NONE: &str = "–";

/// Digits in groups of three: `60,000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A value with about three significant digits, grouped: `0.042`, `4.21`, `42.1`, `421`, `4,210`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value < 0.0 {
        return format!("−{}", number(-value));
    }
    let digits = match value {
        0.0 => return "0".to_owned(),
        v if v >= 99.95 => return count(v.round() as u64),
        v if v >= 9.995 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "0" { "<0.001".to_owned() } else { text.to_owned() }
}

/// [`number`] with its zeros kept, so that figures below each other line up: `7.00`, `79.0`, `421`. A dash where there is none.
pub fn maybe(value: Option<f64>) -> String {
    match value {
        Some(v) if v.is_finite() && (0.1..9.995).contains(&v) => format!("{v:.2}"),
        Some(v) if v.is_finite() && (9.995..99.95).contains(&v) => format!("{v:.1}"),
        Some(v) => number(v),
        None => NONE.to_owned(),
    }
}

/// A whole number that may be absent.
pub fn maybe_count(value: Option<u64>) -> String {
    value.map_or_else(|| NONE.to_owned(), count)
}

/// Milliseconds with their unit; seconds from ten seconds on.
pub fn ms(value: Option<f64>) -> String {
    match value {
        Some(v) if v.is_finite() && v >= 10_000.0 => format!("{} s", number(v / 1000.0)),
        Some(v) if v.is_finite() => format!("{} ms", number(v)),
        _ => NONE.to_owned(),
    }
}

/// A large figure split into number and unit, so that the unit can be set smaller.
pub fn ms_parts(value: Option<f64>) -> (String, &'static str) {
    match value {
        Some(v) if v.is_finite() && v >= 10_000.0 => (maybe(Some(v / 1000.0)), "s"),
        Some(v) if v.is_finite() => (maybe(Some(v)), "ms"),
        _ => (NONE.to_owned(), ""),
    }
}

/// A share from 0 to 1 as a percentage. What is not zero never reads as zero, what is not all never as 100.
pub fn percent(share: Option<f64>) -> String {
    let Some(share) = share.filter(|s| s.is_finite()) else { return NONE.to_owned() };
    let value = share * 100.0;
    if value > 0.0 && value < 0.01 {
        return "<0.01 %".to_owned();
    }
    if value < 100.0 && value > 99.99 {
        return ">99.99 %".to_owned();
    }
    let text = if value >= 10.0 { format!("{value:.1}") } else { format!("{value:.2}") };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// Bytes in powers of 1000: `612 B`, `2.05 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", number(value), UNITS[unit])
}

/// Seconds as people say them: `0.5 s`, `1 min 30 s`, `2 h 5 min`.
pub fn duration_s(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NONE.to_owned();
    }
    if seconds < 60.0 {
        return format!("{} s", number(seconds));
    }
    let whole = seconds.round() as u64;
    let (h, m, s) = (whole / 3600, whole % 3600 / 60, whole % 60);
    match (h, m, s) {
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, 0) => format!("{h} h"),
        (h, m, 0) => format!("{h} h {m} min"),
        (h, m, s) => format!("{h} h {m} min {s} s"),
    }
}

/// A moment of a run as on a clock: `0:07`, `12:30`, `1:02:03`.
pub fn clock(seconds: u32) -> String {
    let (h, m, s) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}

/// `1 run`, `2 runs`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A moment in UTC, from unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    year: i64,
    month: u8,
    day: u8,
    second_of_day: u32,
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Utc {
    /// Splits unix milliseconds into a calendar date and time of day.
    ///
    /// Counts days from 1 March of year 0, so that the leap day is the last of its year: 400 years have 146,097 days, and
    /// within a year the months from March on have 30.6 days on average.
    pub fn from_unix_ms(unix_ms: i64) -> Utc {
        let seconds = unix_ms.div_euclid(1000);
        let days = seconds.div_euclid(86_400) + 719_468;
        let (era, in_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
        let day_of_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Utc { year, month: month as u8, day: day as u8, second_of_day: seconds.rem_euclid(86_400) as u32 }
    }

    fn time(self) -> (u32, u32, u32) {
        (self.second_of_day / 3600, self.second_of_day % 3600 / 60, self.second_of_day % 60)
    }

    /// For `<time datetime>`: `2026-12-01T10:00:00Z`.
    pub fn iso(self) -> String {
        let (h, m, s) = self.time();
        format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}Z", self.year, self.month, self.day)
    }

    /// For lists: `1 Dec 2026, 10:00 UTC`.
    pub fn short(self) -> String {
        let (h, m, _) = self.time();
        let month = MONTHS.get(usize::from(self.month) - 1).copied().unwrap_or_default();
        format!("{} {month} {}, {h:02}:{m:02} UTC", self.day, self.year)
    }

    /// For axes: `1 Dec`.
    pub fn day(self) -> String {
        format!("{} {}", self.day, MONTHS.get(usize::from(self.month) - 1).copied().unwrap_or_default())
    }

    /// For people: `1 Dec 2026, 10:00:00 UTC`.
    pub fn words(self) -> String {
        let (h, m, s) = self.time();
        let month = MONTHS.get(usize::from(self.month) - 1).copied().unwrap_or_default();
        format!("{} {month} {}, {h:02}:{m:02}:{s:02} UTC", self.day, self.year)
    }
}

/// Escapes text for HTML content and double-quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_never_say_nan() {
        for (value, text) in [
            (0.0, "0"),
            (0.0421, "0.042"),
            (0.00001, "<0.001"),
            (4.214, "4.21"),
            (5.0, "5"),
            (42.14, "42.1"),
            (9.999, "10"),
            (99.97, "100"),
            (421.4, "421"),
            (4214.0, "4,214"),
            (-3.5, "−3.5"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
        assert_eq!(
            (maybe(Some(7.0)), maybe(Some(79.0)), maybe(Some(0.0)), maybe(None)),
            ("7.00".into(), "79.0".into(), "0".into(), "–".into())
        );
        assert_eq!(
            (ms(Some(12_340.0)), ms(Some(0.5)), ms(None), ms(Some(f64::NAN))),
            ("12.3 s".into(), "0.5 ms".into(), "–".into(), "–".into())
        );
    }

    #[test]
    fn shares_near_the_ends_are_not_rounded_away() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.00001, "<0.01 %"),
            (0.0321, "3.21 %"),
            (0.5, "50 %"),
            (0.99999, ">99.99 %"),
            (1.0, "100 %"),
            (0.1, "10 %"),
        ] {
            assert_eq!(percent(Some(share)), text);
        }
        assert_eq!(percent(None), "–");
    }

    #[test]
    fn sizes_and_durations() {
        assert_eq!(
            (bytes(0), bytes(612), bytes(2_097_152), bytes(999_600)),
            ("0 B".into(), "612 B".into(), "2.1 MB".into(), "1 MB".into())
        );
        assert_eq!(
            (duration_s(0.5), duration_s(60.0), duration_s(90.0), duration_s(7500.0)),
            ("0.5 s".into(), "1 min".into(), "1 min 30 s".into(), "2 h 5 min".into())
        );
        assert_eq!((clock(7), clock(750), clock(3723)), ("0:07".into(), "12:30".into(), "1:02:03".into()));
        assert_eq!((count(1), count(1_000), count(1_234_567)), ("1".into(), "1,000".into(), "1,234,567".into()));
    }

    #[test]
    fn dates_match_the_calendar() {
        for (unix_ms, iso) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_796_119_200_000, "2026-12-01T10:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Utc::from_unix_ms(unix_ms).iso(), iso);
        }
        assert_eq!(Utc::from_unix_ms(1_796_119_200_000).words(), "1 Dec 2026, 10:00:00 UTC");
        assert_eq!(Utc::from_unix_ms(1_796_119_200_000).day(), "1 Dec");
    }

    #[test]
    fn hostile_text_is_escaped() {
        assert_eq!(escape("<script>\"'&"), "&lt;script&gt;&quot;&#39;&amp;");
    }
}

//! The bounds of every input, in one table: forms, command line, API and documentation all read it here.

use std::fmt;

/// The range of one numeric field, with its unit and default, as it is shown to people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Name of the field in forms, API and error lists.
    pub field: &'static str,
    /// Smallest allowed value.
    pub min: f64,
    /// Largest allowed value.
    pub max: f64,
    /// Value a new test starts with.
    pub default: f64,
    /// Unit for people; empty for plain counts.
    pub unit: &'static str,
}

impl Bound {
    /// Whether `value` may be used. NaN and infinities are never inside.
    pub fn contains(&self, value: f64) -> bool {
        value.is_finite() && value >= self.min && value <= self.max
    }

    /// The sentence shown when a value is out of bounds.
    pub fn sentence(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("must be between {} and {}{unit}", Plain(self.min), Plain(self.max))
    }
}

struct Plain(f64);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.fract() != 0.0 {
            return write!(f, "{}", self.0);
        }
        let digits = format!("{:.0}", self.0);
        for (i, c) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{c}")?;
        }
        Ok(())
    }
}

const fn bound(field: &'static str, min: f64, max: f64, default: f64, unit: &'static str) -> Bound {
    Bound { field, min, max, default, unit }
}

/// Requests of a fixed-count run.
pub const REQUESTS: Bound = bound("requests", 1.0, 1e9, 1000.0, "requests");
/// Clients of a fixed-count run.
pub const CLIENTS: Bound = bound("clients", 1.0, 100_000.0, 10.0, "clients");
/// Clients that start over the whole test.
pub const PER_TEST: Bound = bound("per_test", 1.0, 1e9, 250.0, "clients");
/// Clients that start each second; fractions allowed.
pub const RATE: Bound = bound("rate", 0.001, 1e6, 10.0, "clients per second");
/// Clients at the start of a maintained load.
pub const FROM: Bound = bound("from", 0.0, 100_000.0, 1.0, "clients");
/// Clients at the end of a maintained load.
pub const TO: Bound = bound("to", 0.0, 100_000.0, 50.0, "clients");
/// Length of a test in seconds.
pub const DURATION_S: Bound = bound("duration_s", 0.1, 86_400.0, 60.0, "seconds");
/// Time for a whole exchange in milliseconds.
pub const TIMEOUT_MS: Bound = bound("timeout_ms", 1.0, 3_600_000.0, 10_000.0, "ms");
/// Time without any byte received in milliseconds.
pub const IDLE_TIMEOUT_MS: Bound = bound("idle_timeout_ms", 1.0, 3_600_000.0, 10_000.0, "ms");
/// Share of errors at which a run ends; 100 means never.
pub const ERROR_THRESHOLD: Bound = bound("error_threshold", 0.1, 100.0, 50.0, "%");
/// Cap on simultaneous clients in open models.
pub const MAX_CLIENTS: Bound = bound("max_clients", 1.0, 100_000.0, 10_000.0, "clients");
/// Warm-up that is left out of the result, in seconds.
pub const WARM_UP_S: Bound = bound("warm_up_s", 0.0, 3600.0, 0.0, "seconds");
/// Share of the planned rate that may be missed before the run ends.
pub const MAX_RATE_MISSED: Bound = bound("max_rate_missed", 0.1, 100.0, 100.0, "%");
/// Pauses of clients, in milliseconds.
pub const PAUSE_MS: Bound = bound("pause_ms", 0.0, 3_600_000.0, 1000.0, "ms");
/// Weight of a request among others.
pub const WEIGHT: Bound = bound("weight", 1.0, 1_000_000.0, 1.0, "");
/// Seconds between the runs of a series.
pub const SERIES_PAUSE_S: Bound = bound("pause_s", 0.0, 3600.0, 0.0, "seconds");
/// How exactly a capacity is searched for: the gap that is left, in percent of the size.
pub const PRECISION: Bound = bound("precision", 1.0, 50.0, 5.0, "%");
/// Generator threads.
pub const THREADS: Bound = bound("threads", 1.0, 256.0, 2.0, "threads");

/// The numeric table as a whole, for documentation and tests.
pub const ALL: &[Bound] = &[
    REQUESTS,
    CLIENTS,
    PER_TEST,
    RATE,
    FROM,
    TO,
    DURATION_S,
    TIMEOUT_MS,
    IDLE_TIMEOUT_MS,
    ERROR_THRESHOLD,
    MAX_CLIENTS,
    WARM_UP_S,
    MAX_RATE_MISSED,
    PAUSE_MS,
    WEIGHT,
    SERIES_PAUSE_S,
    PRECISION,
    THREADS,
];

/// Stages of one load.
pub const STAGES: usize = 50;
/// Pass/fail limits of one test.
pub const LIMITS: usize = 20;
/// Requests in one test's list.
pub const REQUEST_LIST: usize = 50;
/// Places to fill in of one text.
pub const TEMPLATE_PLACES: usize = 200;
/// Members of one list of numbers.
pub const NUMBER_MEMBERS: usize = 1000;
/// Bytes of a variable's name.
pub const VARIABLE_NAME_BYTES: usize = 64;
/// Bytes of a value that is taken from a reply.
pub const VARIABLE_BYTES: usize = 64 * 1024;
/// Variables that one request sets.
pub const EXTRACTS: usize = 20;
/// Conditions on one reply.
pub const ASSERTIONS: usize = 20;
/// Bytes of a path, selector, regular expression or text to compare with.
pub const EXPRESSION_BYTES: usize = 2000;
/// Bytes of a reply's body that are kept for what extracts from it or looks at it; the rest is counted only.
pub const READ_BODY_BYTES: usize = 1 << 20;
/// Columns of a test's data.
pub const DATA_COLUMNS: usize = 50;
/// Rows of a test's data.
pub const DATA_ROWS: usize = 100_000;
/// Bytes of all values of a test's data.
pub const DATA_BYTES: usize = 4 << 20;
/// Most bytes of a file of data that is fetched from an address; its values are bounded by [`DATA_BYTES`].
pub const DATA_FILE_BYTES: usize = 8_000_000;
/// Stored rows longer than this many bytes as text do not come back into the form.
pub const DATA_SHOWN_BYTES: usize = 20_000;
/// Bytes of a foreign description of a test, such as a HAR file.
pub const IMPORT_BYTES: usize = 32 << 20;
/// Values in it.
pub const IMPORT_VALUES: usize = 2_000_000;
/// Bytes of an OpenAPI document.
pub const OPENAPI_BYTES: usize = 4 << 20;
/// Bytes of a URL.
pub const URL_BYTES: usize = 8192;
/// Headers of one request.
pub const HEADERS: usize = 100;
/// Bytes of one header, name and value together.
pub const HEADER_BYTES: usize = 8192;
/// Bytes of a request body.
pub const BODY_BYTES: usize = 1 << 20;
/// Bytes of a client certificate's chain, and of its key, in PEM form.
pub const PEM_BYTES: usize = 256 * 1024;
/// Bytes of a user name or password for basic authentication.
pub const CREDENTIAL_BYTES: usize = 1024;
/// Characters of a test's or host's name.
pub const NAME_CHARS: usize = 200;
/// Characters of notes.
pub const NOTES_CHARS: usize = 10_000;
/// Tags of one test.
pub const TAGS: usize = 20;
/// Characters of one tag.
pub const TAG_CHARS: usize = 40;
/// Characters of what is searched for in a list.
pub const SEARCH_CHARS: usize = 200;
/// Words of a search; further ones are left out.
pub const SEARCH_WORDS: usize = 5;
/// Tests on one page of the list.
pub const TESTS_A_PAGE: usize = 25;
/// Former versions kept of one test; older ones go.
pub const VERSIONS: usize = 100;
/// Seconds of a run whose exact figures are merged at once.
pub const RANGE_SECONDS: u32 = 21_600;
/// Days from now within which a public link may be made to expire: ten years.
pub const SHARE_DAYS: i64 = 3650;
/// Characters of an e-mail address.
pub const EMAIL_CHARS: usize = 254;
/// Fewest and most characters of a password.
pub const PASSWORD_CHARS: (usize, usize) = (10, 512);
/// Runs shown side by side on the compare page: fewest and most.
pub const COMPARED_RUNS: (usize, usize) = (2, 8);
/// Sizes of one series: fewest and most.
pub const SERIES_SIZES: (usize, usize) = (2, 20);
/// Series of one account that are under way at once.
pub const SERIES_UNDER_WAY: usize = 10;
/// Runs on one page of the list.
pub const RUNS_A_PAGE: usize = 25;
/// Values of the small drawing of a run in lists.
pub const SPARK_VALUES: usize = 40;
/// Runs in the trend of a test; older ones are left out.
pub const TREND_RUNS: usize = 500;
/// Bytes of a response head that the engine reads before it calls the reply invalid.
pub const RESPONSE_HEAD_BYTES: usize = 64 * 1024;
/// Headers of a response that the engine reads before it calls the reply invalid.
pub const RESPONSE_HEADERS: usize = 256;
/// Cookies of one client; a new one takes the place of the oldest.
pub const COOKIES: usize = 100;
/// Bytes of a cookie, name and value together, that clients keep (RFC 6265bis, 5.6); longer ones are ignored.
pub const COOKIE_BYTES: usize = 4096;
/// Bytes of a cookie's path (RFC 6265bis, 5.6); a longer one is ignored.
pub const COOKIE_PATH_BYTES: usize = 1024;
/// Bytes of a condition such as `p95>300ms`.
pub const CONDITION_BYTES: usize = 200;
/// Distinct error rows kept in a result; the rest is summed under "other".
pub const ERROR_ROWS: usize = 50;
/// Characters of one error detail.
pub const ERROR_DETAIL_CHARS: usize = 200;
/// Failed exchanges kept as examples of one run.
pub const FAILED_EXAMPLES: usize = 10;
/// Of them, of one kind.
pub const FAILED_EXAMPLES_A_KIND: usize = 3;
/// Bytes of an example's head: of what was sent, and of what came.
pub const EXAMPLE_HEAD_BYTES: usize = 4096;
/// Bytes of one value in what was sent.
pub const EXAMPLE_VALUE_BYTES: usize = 1000;
/// Bytes of the beginning of an example's body.
pub const EXAMPLE_BODY_BYTES: usize = 1000;
/// Addresses whose connections are counted apart; the rest is summed under "other".
pub const ADDRESS_ROWS: usize = 32;
/// Distinct status codes a run can meet (000–999).
pub const STATUS_CODES: usize = 1000;
/// Redirect hops followed for one request.
pub const REDIRECT_HOPS: usize = 10;
/// Ages kept of requests in flight at the end.
pub const IN_FLIGHT_AGES: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_inside_its_bound_and_names_are_unique() {
        for b in ALL {
            assert!(b.contains(b.default), "{}", b.field);
            assert!(!b.contains(f64::NAN) && !b.contains(b.max * 1.1) && !b.contains(f64::INFINITY), "{}", b.field);
        }
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|b| b.field).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn sentence_groups_digits() {
        assert_eq!(TIMEOUT_MS.sentence(), "must be between 1 and 3,600,000 ms");
        assert_eq!(RATE.sentence(), "must be between 0.001 and 1,000,000 clients per second");
    }
}

//! What must hold for any bytes, one function for each parser of the engine. libFuzzer calls them with bytes it makes up
//! (`fuzz_targets/`), and `engine/tests/fuzz_corpus.rs` with the files in `corpus/`.

use std::time::{Duration, SystemTime};

use oleada_engine::example::{sent_secrets, shown_body_start, shown_request_headers, shown_response_head};
use oleada_engine::histogram::{HIGHEST_US, Histogram, LOWEST_US};
use oleada_engine::limit::FailIf;
use oleada_engine::net::cookies::Jar;
use oleada_engine::net::http1::response::{AtEof, BadReply, Head, Reader, interim_only};
use oleada_engine::plan::request::{Escape, escaped};
use oleada_engine::plan::secrets::Mask;
use oleada_engine::plan::template::{Part, Template, is_name};
use oleada_engine::plan::{Plan, PlanSpec, Target, limits};
use oleada_engine::window::{Merge, Window};

/// A check of one parser.
pub type Check = fn(&[u8]);

/// Every check with the name of its fuzz target and of its folder in `corpus/`.
pub const ALL: &[(&str, Check)] = &[
    ("reply", reply),
    ("url", url),
    ("location", location),
    ("cookies", cookies),
    ("plan", plan),
    ("template", template),
    ("example", example),
    ("limit", limit),
    ("histogram", histogram),
    ("window", window),
];

/// What is known of a reply after its bytes and then the end of the stream.
#[derive(Debug, PartialEq)]
struct Answer {
    /// Bytes used, when the reply was complete without the end of the stream.
    complete: Option<usize>,
    end: Result<Option<AtEof>, BadReply>,
    head: Head,
    body: u64,
}

/// Reads `bytes` in pieces that end at `ends` (rising); with `skip`, bodies of known length go by unseen.
fn read(reader: &mut Reader, bytes: &[u8], ends: impl Iterator<Item = usize>, to_head: bool, skip: bool) -> Answer {
    reader.start(to_head);
    let invalid = |bad| Answer { complete: None, end: Err(bad), head: Head::default(), body: 0 };
    let mut at = 0;
    for end in ends.chain([bytes.len()]) {
        while at < end {
            let skippable = reader.skippable().min((end - at) as u64);
            let (used, done) = if skip && skippable > 0 {
                (skippable as usize, reader.skip(skippable))
            } else {
                match reader.feed(&bytes[at..end]) {
                    Err(bad) => return invalid(bad),
                    Ok(fed) => (fed.used, fed.done),
                }
            };
            assert!(used <= end - at, "used more than there was");
            at += used;
            if done {
                let again = reader.feed(b"HTTP/1.1 500 Never\r\n\r\n").expect("a complete reply reads nothing more");
                assert_eq!((again.used, again.done), (0, true));
                assert_eq!(reader.eof(), Ok(AtEof::Complete));
                return Answer {
                    complete: Some(at),
                    end: Ok(None),
                    head: reader.head().clone(),
                    body: reader.body_bytes(),
                };
            }
            assert!(skip || at == end, "a reply that is not complete leaves nothing over");
        }
    }
    assert_eq!(reader.touched(), !bytes.is_empty());
    match reader.eof() {
        Err(bad) => invalid(bad),
        end => Answer { complete: None, end: end.map(Some), head: reader.head().clone(), body: reader.body_bytes() },
    }
}

/// Numbers that follow from `bytes` and look random.
fn dice(bytes: &[u8]) -> impl FnMut(usize) -> usize {
    let mut state =
        bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3));
    move |below| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % below.max(1)
    }
}

/// A reply of HTTP/1.1: any split gives the same answer, and a reader that has read before reads as a new one.
pub fn reply(bytes: &[u8]) {
    let mut dice = dice(bytes);
    for to_head in [false, true] {
        let whole = read(&mut Reader::new(), bytes, [].into_iter(), to_head, false);
        let mut used = Reader::new();
        for round in 0..4 {
            let mut ends: Vec<usize> = (0..1 + 4 * round).map(|_| dice(bytes.len() + 1)).collect();
            ends.sort_unstable();
            let split = read(&mut used, bytes, ends.iter().copied(), to_head, round % 2 == 1);
            assert_eq!(split, whole, "split at {ends:?}, to HEAD: {to_head}");
        }
        if bytes.len() <= 512 {
            assert_eq!(read(&mut used, bytes, 1..bytes.len(), to_head, false), whole, "byte by byte");
        }
        let known = whole.complete.is_some() || whole.end == Ok(Some(AtEof::Complete));
        if known {
            assert!((100..1000).contains(&whole.head.status), "{whole:?}");
            assert!(whole.body <= bytes.len() as u64 && (!to_head || whole.body == 0), "{whole:?}");
            assert!(whole.head.location.is_none() || (300..400).contains(&whole.head.status), "{whole:?}");
            assert!(!whole.head.keep_alive || whole.complete.is_some(), "{whole:?}");
        }
    }
    if let Some(n) = interim_only(bytes) {
        assert_eq!(n, bytes.len());
        assert_eq!(interim_only(&bytes.repeat(2)), Some(2 * n));
        let whole = read(&mut Reader::new(), bytes, [].into_iter(), false, false);
        assert_eq!((whole.complete, whole.body), (None, 0));
    }
}

/// What can go over the wire and into another parser.
fn good_target(target: &Target) {
    let shown = target.to_string();
    assert!(shown.len() <= limits::URL_BYTES, "{} bytes", shown.len());
    assert!(target.path.starts_with('/') && target.path.bytes().all(|b| b.is_ascii_graphic()), "{shown}");
    assert!(target.authority().bytes().all(|b| b.is_ascii_graphic()) && target.at.port > 0, "{shown}");
    let again = Target::parse(&shown).unwrap_or_else(|e| panic!("{shown} {e}"));
    assert_eq!(again, Target { credentials: None, ..target.clone() }, "{shown}");
    assert_eq!(target.join(&shown).as_ref(), Ok(&again));
    if let Some(credentials) = &target.credentials {
        assert!(credentials.authorization().bytes().all(|b| b.is_ascii_graphic() || b == b' '));
        assert!(!format!("{target:?}").contains("password"));
    }
    target.unicode_host();
}

/// A URL as somebody wrote it.
pub fn url(bytes: &[u8]) {
    if let Ok(target) = Target::parse(&String::from_utf8_lossy(bytes)) {
        good_target(&target);
    }
}

/// The first line is where a request went, the second the `Location` of the reply.
pub fn location(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (base, location) = text.split_once('\n').unwrap_or(("http://a.test/x/y?z", &text));
    let Ok(base) = Target::parse(base) else { return };
    if let Ok(target) = base.join(location) {
        good_target(&target);
    }
}

/// Each line is a `Set-Cookie` of a reply from `a.test`, of one below it and of an address, in turn.
pub fn cookies(bytes: &[u8]) {
    const FROM: &[&str] = &["http://a.test/x/y?z", "https://www.a.test/", "http://127.0.0.1:8080/x"];
    let targets: Vec<Target> = FROM.iter().map(|url| Target::parse(url).expect("a URL")).collect();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let text = String::from_utf8_lossy(bytes);
    let fill = || {
        let mut jar = Jar::default();
        // Three hundred are enough to fill a jar and to throw cookies out of it.
        for (line, target) in text.split('\n').take(300).zip(targets.iter().cycle()) {
            jar.set(target, line, now);
            let after = jar.line(target, now);
            jar.set(target, line, now);
            assert_eq!(jar.line(target, now).map(|l| l.len()), after.map(|l| l.len()), "set twice is set once");
        }
        jar
    };
    let jar = fill();
    for target in &targets {
        let line = jar.line(target, now);
        assert_eq!(fill().line(target, now), line);
        let Some(line) = line else { continue };
        let pairs = line.strip_prefix("Cookie: ").and_then(|l| l.strip_suffix("\r\n")).expect("a header line");
        assert!(!pairs.chars().any(|c| c.is_control() && c != '\t'), "{line:?}");
        let pairs: Vec<&str> = pairs.split("; ").collect();
        assert!(pairs.len() <= limits::COOKIES, "{} cookies", pairs.len());
        assert!(pairs.iter().all(|p| p.contains('=') && p.len() <= limits::COOKIE_BYTES + 1), "{line:?}");
    }
    for stranger in
        ["http://test/", "https://b.test/", "https://aa.test/x/y", "http://127.0.0.2:8080/x", "http://[::1]/"]
    {
        let stranger = Target::parse(stranger).expect("a URL");
        assert_eq!(jar.line(&stranger, now), None, "a cookie went to another host");
    }
    jar.line(&targets[0], now + Duration::from_secs(1 << 40));
}

/// A plan as JSON.
pub fn plan(bytes: &[u8]) {
    let Ok(spec) = serde_json::from_slice::<PlanSpec>(bytes) else {
        assert!(serde_json::from_slice::<Plan>(bytes).is_err());
        return;
    };
    let plan = match Plan::try_from(spec.clone()) {
        Ok(plan) => plan,
        Err(errors) => {
            assert!(!errors.0.is_empty() && errors.0.iter().all(|e| !e.field.is_empty() && !e.message.is_empty()));
            return;
        }
    };
    assert_eq!(serde_json::from_slice::<Plan>(bytes).as_ref().ok(), Some(&plan));
    let json = serde_json::to_vec(&plan).expect("a plan is JSON");
    assert_eq!(serde_json::from_slice::<Plan>(&json).expect("what was written can be read"), plan);
    assert_eq!(plan.requests().len(), spec.requests.len());
    assert!(!plan.timeout().is_zero() && plan.idle_timeout().is_none_or(|t| !t.is_zero()));
    assert!(plan.duration().is_none_or(|d| !d.is_zero()));
    assert!(!plan.hosts().is_empty() && plan.max_clients() > 0);
    plan.warm_up();
    plan.planned_requests();
    for request in plan.requests() {
        good_target(&request.target);
        for (name, value) in &request.headers {
            assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b':'), "{name:?}");
            assert!(!value.chars().any(|c| c.is_control() && c != '\t'), "{value:?}");
        }
    }
}

/// A condition such as `p95>300ms`.
pub fn limit(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match text.parse::<FailIf>() {
        Ok(limit) => {
            assert_eq!(limit.to_string().parse::<FailIf>().as_ref(), Ok(&limit));
            let json = serde_json::to_string(&limit).expect("a condition is JSON");
            assert_eq!(serde_json::from_str::<FailIf>(&json).ok().as_ref(), Some(&limit));
            assert!(!format!("{limit:?}").contains("bound: inf"), "{limit} can never be met");
        }
        Err(error) => assert!(error.to_string().len() < 1000),
    }
}

/// A text with places says the same when it is written down again; no place is more than it may be.
pub fn template(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let written = |template: &Template| template.parts().iter().map(ToString::to_string).collect::<String>();
    match Template::parse(&text) {
        Ok(template) => {
            let again = Template::parse(&written(&template)).expect("what was read can be read again");
            assert_eq!(written(&again), written(&template));
            assert_eq!(again.parts().len(), template.parts().len());
            assert!(!template.is_plain() || template.parts().len() <= 1 && written(&template) == text);
            assert!(template.variables().all(is_name));
            let two_texts = |parts: &[Part]| parts.iter().all(|part| matches!(part, Part::Text(_)));
            assert!(!template.parts().windows(2).any(two_texts), "two texts in a row");
            for part in template.parts() {
                if let Part::Numbers(numbers) = part {
                    for turn in [0, 1, 2, 999, u64::MAX / 2, u64::MAX] {
                        let value = |below_most: bool| {
                            numbers.value(turn, |below| {
                                assert!(below > 0);
                                if below_most { below - 1 } else { 0 }
                            })
                        };
                        assert!(value(false) <= value(true));
                    }
                }
            }
            for escape in [Escape::Path, Escape::Component] {
                let escaped = escaped(&text, escape);
                assert!(escaped.bytes().all(|byte| byte.is_ascii_graphic()), "{escaped}");
                assert!(escape == Escape::Path || !escaped.contains(['&', '=', '?', '/', '+']));
            }
        }
        Err(error) => assert!(error.to_string().len() < 1000),
    }
}

/// What is shown of a reply and of a request is bounded, and values of unknown headers are not in it.
pub fn example(bytes: &[u8]) {
    let mask = Mask::default();
    let head = shown_response_head(bytes, &mask);
    assert!(
        head.len() <= limits::EXAMPLE_HEAD_BYTES && shown_body_start(bytes, &mask).len() <= limits::EXAMPLE_BODY_BYTES
    );
    let planted = [&b"HTTP/1.1 500 Oops\r\nX: a\r\nset-cookie: pla3nted"[..], bytes].concat();
    assert!(!shown_response_head(&planted, &mask).contains("pla3nted"));
    let headers = shown_request_headers(bytes, &mask);
    assert!(headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= limits::EXAMPLE_HEAD_BYTES);
    let planted = [&b"GET / HTTP/1.1\r\nToken: pla3nted"[..], bytes].concat();
    assert!(
        shown_request_headers(&planted, &mask)
            .iter()
            .all(|(name, value)| !name.contains("pla3nted") && !value.contains("pla3nted"))
    );
    assert!(sent_secrets(&planted).iter().any(|secret| secret.contains("pla3nted")));
}

/// Figures that can be shown, and added up.
fn good_histogram(histogram: &Histogram) {
    let mut bytes = Vec::new();
    histogram.encode(&mut bytes);
    let mut rest = &bytes[..];
    assert_eq!(&Histogram::decode(&mut rest).expect("what was stored can be read"), histogram);
    assert!(rest.is_empty());
    let buckets: u64 = histogram.buckets().iter().map(|(_, count)| count).sum();
    assert_eq!(buckets, histogram.count());
    if let (Some(min), Some(max), Some(mean)) = (histogram.min_us(), histogram.max_us(), histogram.mean_us()) {
        assert!(LOWEST_US <= min && min <= max && max <= HIGHEST_US, "{min} to {max}");
        // The mean is one division of rounded numbers.
        assert!(min as f64 <= mean * 1.000_001 && mean <= max as f64 * 1.000_001, "{min} to {max}, mean {mean}");
        let rising: Vec<u64> = [0, 1, 50_000, 99_900, 100_000, u32::MAX]
            .iter()
            .map(|q| histogram.percentile_us(*q).expect("there are times"))
            .collect();
        assert!(rising.is_sorted() && min <= rising[0] && rising[5] <= max, "{rising:?}");
        assert!(histogram.stddev_us().is_some_and(f64::is_finite));
    }
    let mut sum = histogram.clone();
    sum.add(histogram);
    assert_eq!(sum.count(), 2 * histogram.count());
    assert_eq!(sum.max_us(), histogram.max_us());
    sum.record(1);
}

/// A histogram as it was stored.
pub fn histogram(mut bytes: &[u8]) {
    let before = bytes.len();
    if let Ok(histogram) = Histogram::decode(&mut bytes) {
        assert!(bytes.len() <= before - 4);
        good_histogram(&histogram);
    }
}

/// A second of results as it was stored.
pub fn window(bytes: &[u8]) {
    let Ok(window) = Window::decode(bytes) else { return };
    assert_eq!(Window::decode(&window.encode()).expect("what was stored can be read"), window);
    good_histogram(&window.latency);
    let mut sum = Window::new(0, 1);
    for how in [Merge::SameSecond, Merge::OtherSecond] {
        sum.merge(&window, how);
        sum.merge(&window, how);
    }
    assert_eq!(sum.ledger.planned, 4 * window.ledger.planned);
    assert_eq!(sum.latency.count(), 4 * window.latency.count());
    assert!(sum.ledger.errors() <= sum.ledger.finished() && sum.ledger.error_rate() <= 1.0);
    assert!(sum.errors.rows().len() <= limits::ERROR_ROWS + oleada_engine::outcome::ErrorKind::ALL.len());
    sum.ledger.is_closed();
}

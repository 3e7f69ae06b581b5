//! One client's cookies (RFC 6265), as far as a load test needs them.

use std::time::{Duration, SystemTime};

use crate::plan::{Host, Scheme, Target, limits};

#[derive(Clone, Debug)]
struct Cookie {
    name: String,
    value: String,
    host: String,
    host_only: bool,
    path: String,
    secure: bool,
    until: Option<SystemTime>,
}

/// The cookies of one client; takes no memory until one is set.
#[derive(Clone, Debug, Default)]
pub struct Jar(Vec<Cookie>);

impl Jar {
    /// Whether no cookie is kept.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps or deletes what `header`, a value of `Set-Cookie` in a reply from `target`, says.
    pub fn set(&mut self, target: &Target, header: &str, now: SystemTime) {
        let Some(cookie) = parse(target, header, now) else { return };
        self.0.retain(|c| !(c.name == cookie.name && c.host == cookie.host && c.path == cookie.path));
        if cookie.until.is_none_or(|until| until > now) {
            if self.0.len() >= limits::COOKIES {
                self.0.remove(0);
            }
            self.0.push(cookie);
        }
    }

    /// The header line for a request to `target`, with its line end.
    pub fn line(&self, target: &Target, now: SystemTime) -> Option<String> {
        self.line_with(target, &[], now)
    }

    /// As [`Jar::line`]; `also` are sent where no cookie of that name is held.
    pub(super) fn line_with(&self, target: &Target, also: &[(String, String)], now: SystemTime) -> Option<String> {
        let fitting = self.fitting(target, now);
        let held = fitting.iter().map(|c| (&*c.name, &*c.value));
        let besides = also.iter().filter(|(name, _)| !fitting.iter().any(|c| c.name == *name));
        cookie_line(held.chain(besides.map(|(name, value)| (&**name, &**value))))
    }

    /// The value of a cookie that would be sent to `target`.
    pub(super) fn value(&self, target: &Target, name: &str, now: SystemTime) -> Option<&str> {
        self.fitting(target, now).into_iter().find(|c| c.name == name).map(|c| &*c.value)
    }

    /// Those that are sent to `target`, the longest path first.
    fn fitting(&self, target: &Target, now: SystemTime) -> Vec<&Cookie> {
        let mut fitting: Vec<&Cookie> = self.0.iter().filter(|c| c.fits(target, now)).collect();
        fitting.sort_by_key(|c| std::cmp::Reverse(c.path.len()));
        fitting
    }
}

/// `Cookie: name=value; …` with its line end; `None` without cookies.
pub(super) fn cookie_line<'a>(cookies: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let pairs: Vec<String> = cookies.map(|(name, value)| format!("{name}={value}")).collect();
    (!pairs.is_empty()).then(|| format!("Cookie: {}\r\n", pairs.join("; ")))
}

impl Cookie {
    fn fits(&self, target: &Target, now: SystemTime) -> bool {
        let host = host_text(&target.at.host);
        let path = target.path.split('?').next().unwrap_or("/");
        let inside = path
            .strip_prefix(&self.path)
            .is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/'));
        (host == self.host || !self.host_only && below(&host, &self.host))
            && inside
            && (!self.secure || target.scheme == Scheme::Https)
            && self.until.is_none_or(|until| until > now)
    }
}

fn host_text(host: &Host) -> String {
    host.to_string()
}

/// Whether `host` lies below `domain`: `www.a.test` below `a.test`.
fn below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|front| front.ends_with('.'))
}

fn parse(target: &Target, header: &str, now: SystemTime) -> Option<Cookie> {
    let mut parts = header.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || name.len() + value.len() > limits::COOKIE_BYTES {
        return None;
    }
    if header.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let host = host_text(&target.at.host);
    let path = target.path.split('?').next().unwrap_or("/");
    let default_path = path.rfind('/').filter(|i| *i > 0).map_or("/", |i| &path[..i]);
    let mut cookie = Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        host: host.clone(),
        host_only: true,
        path: default_path.to_owned(),
        secure: false,
        until: None,
    };
    let mut max_age = None;
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "path" if value.starts_with('/') && value.len() <= limits::COOKIE_PATH_BYTES => {
                cookie.path = value.to_owned();
            }
            "secure" => cookie.secure = true,
            "domain" => {
                let domain = value.trim_start_matches('.').to_ascii_lowercase();
                // A domain must be the host or above it, and a name with a dot, not an address or a top level.
                if domain != host {
                    let named = matches!(target.at.host, Host::Name(_));
                    if !named || !domain.contains('.') || !below(&host, &domain) {
                        return None;
                    }
                    cookie.host = domain;
                }
                cookie.host_only = !matches!(target.at.host, Host::Name(_));
            }
            "max-age" => max_age = value.parse::<i64>().ok(),
            "expires" => cookie.until = date(value),
            _ => {}
        }
    }
    if let Some(seconds) = max_age {
        let left = Duration::from_secs(seconds.clamp(0, 400 * 86_400) as u64);
        cookie.until = Some(if seconds <= 0 { SystemTime::UNIX_EPOCH } else { now + left });
    }
    Some(cookie)
}

/// `Wed, 21 Oct 2026 07:28:00 GMT`, also with dashes.
fn date(text: &str) -> Option<SystemTime> {
    let (_, date) = text.split_once(", ")?;
    let plain = date.replace('-', " ");
    let with_zone = format!("{} +0000", plain.trim_end_matches("GMT").trim_end());
    let seconds = jiff::fmt::rfc2822::parse(&with_zone).ok()?.timestamp().as_second();
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> Target {
        Target::parse(url).unwrap()
    }

    fn line(sets: &[(&str, &str)], url: &str) -> Option<String> {
        let now = SystemTime::now();
        let mut jar = Jar::default();
        sets.iter().for_each(|(from, header)| jar.set(&at(from), header, now));
        jar.line(&at(url), now)
    }

    #[test]
    fn held_cookies_win_over_the_plans() {
        let (from, now) = (at("http://a.test/"), SystemTime::now());
        let mut jar = Jar::default();
        let also = [("b".to_owned(), "plan".to_owned()), ("a".to_owned(), "plan".to_owned())];
        assert_eq!(jar.line_with(&from, &also, now).as_deref(), Some("Cookie: b=plan; a=plan\r\n"));
        jar.set(&from, "a=held", now);
        assert_eq!(jar.line_with(&from, &also, now).as_deref(), Some("Cookie: a=held; b=plan\r\n"));
        assert_eq!((jar.value(&from, "a", now), jar.value(&from, "b", now)), (Some("held"), None));
    }

    #[test]
    fn scope_is_host_path_and_scheme() {
        let set = [("http://a.test/x/y", "id=1; HttpOnly")];
        assert_eq!(line(&set, "http://a.test/x/z").as_deref(), Some("Cookie: id=1\r\n"));
        assert_eq!(line(&set, "http://a.test/"), None);
        assert_eq!(line(&set, "http://b.a.test/x/z"), None);
        let wide = [("https://www.a.test/", "id=1; Domain=.A.test; Path=/; Secure")];
        assert!(line(&wide, "https://b.a.test/").is_some());
        assert_eq!(line(&wide, "http://b.a.test/"), None);
        assert_eq!(line(&[("http://a.test/", "id=1; Domain=test")], "http://a.test/"), None);
        assert_eq!(line(&[("http://a.test/", "id=1; Domain=b.test")], "http://b.test/"), None);
    }

    #[test]
    fn deletion_replacement_and_order() {
        let from = "http://127.0.0.1:8080/";
        let two = [(from, "a=1"), (from, "b=2; Path=/deep"), (from, "a=3")];
        assert_eq!(line(&two, "http://127.0.0.1:8080/deep/x").as_deref(), Some("Cookie: b=2; a=3\r\n"));
        assert_eq!(line(&[(from, "a=1"), (from, "a=; Max-Age=0")], from), None);
        assert_eq!(line(&[(from, "a=1"), (from, "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT")], from), None);
        assert!(line(&[(from, "a=1; Expires=Wed, 21-Oct-2099 07:28:00 GMT")], from).is_some());
    }
}

//! What may be a target: an absolute http or https URL, read as browsers read it.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;

use super::limits;

/// Plain or encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// HTTP over TCP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// `"http"` or `"https"`.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port used when a URL names none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// A host by name (ASCII, lower case, punycode for international names) or by address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A DNS name.
    Name(String),
    /// A literal address.
    Ip(IpAddr),
}

impl fmt::Display for Host {
    /// As it stands in a URL: IPv6 in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Ip(IpAddr::V4(a)) => write!(f, "{a}"),
            Host::Ip(IpAddr::V6(a)) => write!(f, "[{a}]"),
        }
    }
}

/// Host and port: what is owned, dialled and compared. Independent of the scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// The host.
    pub host: Host,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// User and password of a URL or of basic authentication. `Debug` hides both.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Credentials {
    /// User name, decoded.
    pub user: String,
    /// Password, decoded.
    pub password: String,
}

impl Credentials {
    /// The value of the `Authorization` header (RFC 7617, UTF-8).
    pub fn authorization(&self) -> String {
        let raw = format!("{}:{}", self.user, self.password);
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(raw))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(hidden)")
    }
}

/// Why a text cannot be a target. The message is a sentence part that follows the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Nothing was given.
    #[error("is empty; write an address such as http://127.0.0.1:9900/")]
    Empty,
    /// Over [`limits::URL_BYTES`], as written or as sent.
    #[error("is longer than 8,192 bytes (a character outside ASCII counts as up to 12)")]
    TooLong,
    /// CR, LF, NUL, tab or another control character.
    #[error("contains a control character (a line break, tab or NUL)")]
    Control,
    /// No scheme, or not http(s).
    #[error("must start with http:// or https://")]
    Scheme,
    /// The URL parser refused it.
    #[error("is not a valid address: check the host name and port")]
    Malformed,
    /// Port 0 cannot be connected to.
    #[error("uses port 0, which cannot be connected to")]
    PortZero,
}

/// A parsed URL. The fragment is gone, user and password stand apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Plain or TLS.
    pub scheme: Scheme,
    /// Where to connect.
    pub at: HostPort,
    /// Path and query as sent on the request line; starts with `/`, ASCII only.
    pub path: String,
    /// From the URL's user-info part, decoded.
    pub credentials: Option<Credentials>,
}

impl Target {
    /// Reads a URL by the WHATWG rules.
    ///
    /// # Errors
    /// [`TargetError`], with a sentence that says what to change.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let text = text.trim_matches(' ');
        if text.is_empty() {
            return Err(TargetError::Empty);
        }
        if text.len() > limits::URL_BYTES {
            return Err(TargetError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(TargetError::Control);
        }
        let url = url::Url::parse(text).map_err(|e| match e {
            url::ParseError::RelativeUrlWithoutBase => TargetError::Scheme,
            _ => TargetError::Malformed,
        })?;
        Target::from_url(&url)
    }

    /// Resolves a `Location` value against this target.
    ///
    /// # Errors
    /// As [`Target::parse`].
    pub fn join(&self, location: &str) -> Result<Target, TargetError> {
        let base = url::Url::parse(&self.to_string()).map_err(|_| TargetError::Malformed)?;
        let url = base.join(location).map_err(|_| TargetError::Malformed)?;
        Target::from_url(&url)
    }

    fn from_url(url: &url::Url) -> Result<Target, TargetError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(TargetError::Scheme),
        };
        let host = match url.host() {
            Some(url::Host::Domain(name)) => Host::Name(name.to_owned()),
            Some(url::Host::Ipv4(a)) => Host::Ip(IpAddr::V4(a)),
            Some(url::Host::Ipv6(a)) => Host::Ip(IpAddr::V6(a)),
            None => return Err(TargetError::Malformed),
        };
        let port = url.port_or_known_default().ok_or(TargetError::Malformed)?;
        if port == 0 {
            return Err(TargetError::PortZero);
        }
        let mut path = url.path().to_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(query);
        }
        let credentials = (!url.username().is_empty() || url.password().is_some()).then(|| Credentials {
            user: percent_decode(url.username()),
            password: percent_decode(url.password().unwrap_or("")),
        });
        let target = Target { scheme, at: HostPort { host, port }, path, credentials };
        // Escapes may make it longer than what was written; a redirect may join two.
        if target.to_string().len() > limits::URL_BYTES {
            return Err(TargetError::TooLong);
        }
        Ok(target)
    }

    /// The value of the `Host` header: the default port is left out.
    pub fn authority(&self) -> String {
        if self.at.port == self.scheme.default_port() { self.at.host.to_string() } else { self.at.to_string() }
    }

    /// The host with its address in Unicode, when that differs from the ASCII form.
    pub fn unicode_host(&self) -> Option<String> {
        let Host::Name(name) = &self.at.host else { return None };
        let (unicode, result) = idna::domain_to_unicode(name);
        (result.is_ok() && unicode != *name).then_some(unicode)
    }
}

/// Without credentials: safe to show.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority(), self.path)
    }
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = |b: u8| (b as char).to_digit(16);
        let pair = bytes.get(i + 1).zip(bytes.get(i + 2)).and_then(|(a, b)| Some(hex(*a)? * 16 + hex(*b)?));
        match (bytes[i], pair) {
            (b'%', Some(value)) => {
                out.push(value as u8);
                i += 3;
            }
            (b, _) => {
                out.push(b);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b48_escapes_stay_as_browsers_send_them() {
        let t = Target::parse("http://127.0.0.1:8080/a b/%2F/ü?q=a b&r=%20+#frag").unwrap();
        assert_eq!(t.path, "/a%20b/%2F/%C3%BC?q=a%20b&r=%20+");
        assert_eq!(Target::parse("http://127.0.0.1:8080?x=1").unwrap().path, "/?x=1");
        for bad in ["http://a/\r\nX: y", "http://a/\0", "http://a/\tb"] {
            assert_eq!(Target::parse(bad), Err(TargetError::Control));
        }
    }

    #[test]
    fn b45_ipv6_literals_keep_their_brackets() {
        let t = Target::parse("http://[::1]:8080/").unwrap();
        assert_eq!(t.authority(), "[::1]:8080");
        assert_eq!(Target::parse("http://[::1]/").unwrap().authority(), "[::1]");
        assert_eq!(Target::parse("https://[::1]:443/").unwrap().authority(), "[::1]");
    }

    #[test]
    fn b46_international_names_become_punycode() {
        let t = Target::parse("http://bücher.test:8080/").unwrap();
        assert_eq!(t.authority(), "xn--bcher-kva.test:8080");
        assert_eq!(t.unicode_host().as_deref(), Some("bücher.test"));
        assert_eq!(Target::parse("http://plain.test/").unwrap().unicode_host(), None);
    }

    #[test]
    fn b47_credentials_leave_the_url() {
        let t = Target::parse("http://u:p%40@127.0.0.1:8080/").unwrap();
        let c = t.credentials.clone().unwrap();
        assert_eq!(c.authorization(), "Basic dTpwQA==");
        assert_eq!(t.to_string(), "http://127.0.0.1:8080/");
        assert_eq!(format!("{c:?}"), "Credentials(hidden)");
    }

    #[test]
    fn what_is_no_target_is_refused_with_a_reason() {
        for (text, error) in [
            ("", TargetError::Empty),
            ("shop.test/", TargetError::Scheme),
            ("ftp://shop.test/", TargetError::Scheme),
            ("http://", TargetError::Malformed),
            ("http://shop.test:99999/", TargetError::Malformed),
            ("http://shop.test:0/", TargetError::PortZero),
        ] {
            assert_eq!(Target::parse(text), Err(error), "{text}");
        }
        assert_eq!(Target::parse(&format!("http://a/{}", "x".repeat(9000))), Err(TargetError::TooLong));
    }

    #[test]
    fn redirect_targets_are_resolved() {
        let t = Target::parse("https://a.test/x/y?z=1").unwrap();
        assert_eq!(t.join("../w").unwrap().to_string(), "https://a.test/w");
        assert_eq!(t.join("//b.test:8443/").unwrap().at.to_string(), "b.test:8443");
        assert_eq!(t.join("ftp://b.test/"), Err(TargetError::Scheme));
    }
}

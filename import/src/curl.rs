//! `curl` command lines, as browsers copy them and as people write them.

use base64::Engine as _;
use oleada_engine::plan::request::{Escape, escaped};
use oleada_engine::plan::{Credentials, HttpVersion, Method, PlanSpec, Redirects, RequestSpec, TlsVersion, limits};

use crate::finish::{cookies, finish, inside, sort_headers};
use crate::{ImportError, Imported, checked, shell, shown};

/// Long options with a value. What is not here and unknown has none.
const VALUED: &str = " abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout \
connect-to continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode \
delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header ech engine etag-compare etag-save \
expect100-timeout form form-string ftp-account ftp-method ftp-port happy-eyeballs-timeout-ms haproxy-clientip header \
hostpubmd5 hostpubsha256 hsts interface ip-tos json keepalive-cnt keepalive-time key key-type limit-rate local-port \
login-options max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max pass \
pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-cacert proxy-cert proxy-header proxy-key proxy-pass \
proxy-user proxy1.0 quote range rate referer request request-target resolve retry retry-delay retry-max-time service-name \
socks4 socks4a socks5 socks5-hostname speed-limit speed-time stderr telnet-option time-cond tls-max tls13-ciphers tlsauthtype \
tlspassword tlsuser trace trace-ascii trace-config unix-socket upload-file url url-query user user-agent variable \
vlan-priority write-out ";

/// What only says how curl shows or stores replies, or how it runs.
const SILENT: &str = " silent show-error verbose include write-out fail fail-with-body fail-early progress-bar no-buffer \
no-progress-meter globoff remote-name remote-name-all remote-header-name output output-dir create-dirs dump-header stderr \
trace trace-ascii trace-time trace-ids disable styled-output no-styled-output remote-time clobber no-clobber no-silent \
location-trusted tcp-nodelay no-keepalive keepalive-time http0.9 raw no-sessionid suppress-connect-headers junk-session-cookies \
no-alpn alpn basic tr-encoding proto proto-default proto-redir tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 ssl-reqd \
expect100-timeout happy-eyeballs-timeout-ms ";

fn listed(list: &str, name: &str) -> bool {
    list.contains(&format!(" {name} "))
}

fn long_name(short: char) -> Option<&'static str> {
    Some(match short {
        '0' => "http1.0",
        '4' => "ipv4",
        '6' => "ipv6",
        ':' => "next",
        '#' => "progress-bar",
        'A' => "user-agent",
        'b' => "cookie",
        'c' => "cookie-jar",
        'C' => "continue-at",
        'd' => "data",
        'D' => "dump-header",
        'e' => "referer",
        'E' => "cert",
        'f' => "fail",
        'F' => "form",
        'g' => "globoff",
        'G' => "get",
        'H' => "header",
        'i' => "include",
        'I' => "head",
        'j' => "junk-session-cookies",
        'J' => "remote-header-name",
        'k' => "insecure",
        'K' => "config",
        'L' => "location",
        'm' => "max-time",
        'n' => "netrc",
        'N' => "no-buffer",
        'o' => "output",
        'O' => "remote-name",
        'P' => "ftp-port",
        'q' => "disable",
        'Q' => "quote",
        'r' => "range",
        'R' => "remote-time",
        's' => "silent",
        'S' => "show-error",
        't' => "telnet-option",
        'T' => "upload-file",
        'u' => "user",
        'U' => "proxy-user",
        'v' => "verbose",
        'w' => "write-out",
        'x' => "proxy",
        'X' => "request",
        'y' => "speed-time",
        'Y' => "speed-limit",
        'z' => "time-cond",
        'Z' => "parallel",
        _ => return None,
    })
}

/// Reads one or more `curl` commands; each address becomes a request. Without `-L` redirects are not followed, as curl does.
///
/// # Errors
/// [`ImportError`] where no command is curl, or nothing of it can be requested.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let read = shell::commands(checked(text)?)?;
    let mut imported = Imported {
        plan: PlanSpec { redirects: Redirects::Off, ..PlanSpec::default() },
        left_out: read.unknown.iter().map(|what| unknown_value(what)).collect(),
        ..Imported::default()
    };
    let mut calls = 0;
    for words in &read.commands {
        match shell::call(words, "curl") {
            Some(arguments) => {
                calls += 1;
                command(arguments, &mut imported);
            }
            None => imported.left_out.push(format!("“{}” is no curl command.", shown(&words.join(" ")))),
        }
    }
    if calls == 0 {
        return Err(ImportError::broken("This is no curl command: it must begin with “curl”."));
    }
    finish(imported)
}

/// The sentence for what a shell would have filled in.
pub(crate) fn unknown_value(what: &str) -> String {
    format!("“{}” stands as it is: only your shell knows its value.", shown(what))
}

/// Options up to `--next`.
#[derive(Default)]
struct Group {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
    agent: Option<String>,
    referer: Option<String>,
    user: Option<Credentials>,
    bearer: Option<String>,
    no_basic: bool,
    no_type: bool,
    data: Option<String>,
    json: bool,
    parts: Vec<Part>,
    get: bool,
    head: bool,
    upload: bool,
    query: Vec<String>,
    compressed: bool,
}

struct Part {
    name: String,
    kind: Option<String>,
    value: String,
}

fn command(words: &[String], imported: &mut Imported) {
    let mut group = Group::default();
    let mut words = words.iter();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        if only_urls || !word.starts_with('-') || word == "-" {
            group.urls.push(word.clone());
        } else if word == "--" {
            only_urls = true;
        } else if let Some(name) = word.strip_prefix("--") {
            let value = if listed(VALUED, name) { words.next().cloned().unwrap_or_default() } else { String::new() };
            option(name, value, &mut group, imported);
        } else {
            let mut rest = &word[1..];
            while let Some(short) = rest.chars().next() {
                rest = &rest[short.len_utf8()..];
                let Some(name) = long_name(short) else {
                    imported.left_out.push(format!("curl's option -{short} is not known here."));
                    continue;
                };
                let mut value = String::new();
                if listed(VALUED, name) {
                    value = if rest.is_empty() { words.next().cloned().unwrap_or_default() } else { rest.to_owned() };
                    rest = "";
                }
                option(name, value, &mut group, imported);
            }
        }
    }
    group.finish(imported);
}

fn option(name: &str, value: String, group: &mut Group, imported: &mut Imported) {
    let plan = &mut imported.plan;
    let told = &mut imported.left_out;
    match name {
        "url" => group.urls.push(value),
        "next" => std::mem::take(group).finish(imported),
        "request" => group.method = Some(value),
        "header" => header(&value, group, told),
        "user-agent" => group.agent = Some(value),
        "referer" => group.referer = Some(value.split(";auto").next().unwrap_or_default().to_owned()),
        "cookie" => match cookies(&value).filter(|list| !list.is_empty()) {
            Some(mut list) => group.cookies.append(&mut list),
            None if value.is_empty() => {}
            None => told.push(format!("The cookies in the file “{}” are left out: files are not read.", shown(&value))),
        },
        "user" => {
            let (user, password) = value.split_once(':').unwrap_or((&value, ""));
            group.user = Some(Credentials { user: user.to_owned(), password: password.to_owned() });
        }
        "oauth2-bearer" => group.bearer = Some(value),
        "digest" | "ntlm" | "negotiate" => {
            group.no_basic = true;
            told.push(format!(
                "Authentication by “{name}” is left out: only basic authentication and bearer tokens are known."
            ));
        }
        "data" | "data-ascii" | "data-binary" | "json" => {
            group.json |= name == "json";
            match value.strip_prefix('@') {
                Some(file) => {
                    told.push(format!("The body in the file “{}” is left out: files are not read.", shown(file)));
                    group.data.get_or_insert_default();
                }
                // curl joins JSON without a mark between.
                None => group.add_data(&value, if name == "json" { "" } else { "&" }),
            }
        }
        "data-raw" => group.add_data(&value, "&"),
        "data-urlencode" => {
            if let Some(text) = url_encoded(&value, told) {
                group.add_data(&text, "&");
            }
        }
        "url-query" => match value.strip_prefix('+') {
            Some(as_it_is) => group.query.push(as_it_is.to_owned()),
            None => group.query.extend(url_encoded(&value, told)),
        },
        "form" | "form-string" => group.part(&value, name == "form-string", told),
        "get" => group.get = true,
        "head" => group.head = true,
        "upload-file" => {
            group.upload = true;
            told.push(format!("The body in the file “{}” is left out: files are not read.", shown(&value)));
        }
        "range" => group.headers.push(("Range".to_owned(), format!("bytes={value}"))),
        "compressed" => group.compressed = true,
        "insecure" => plan.insecure = true,
        "tlsv1.3" => plan.min_tls = TlsVersion::Tls13,
        "location" | "location-trusted" => plan.redirects = Redirects::Follow,
        "max-time" => match value.parse::<f64>() {
            Ok(seconds) => plan.timeout_ms = inside(limits::TIMEOUT_MS, seconds * 1000.0, "The timeout", told),
            Err(_) => told.push(format!("The time “{}” of --max-time is no number.", shown(&value))),
        },
        "http1.0" => {
            plan.http = HttpVersion::Http1;
            told.push("HTTP/1.0 is not spoken: HTTP/1.1 is used instead.".to_owned());
        }
        "http1.1" => plan.http = HttpVersion::Http1,
        // curl asks for HTTP/2 and takes what it gets.
        "http2" => plan.http = HttpVersion::Auto,
        "http2-prior-knowledge" => plan.http = HttpVersion::Http2,
        "http3" | "http3-only" => {
            told.push("HTTP/3 is not spoken: the best of HTTP/1.1 and HTTP/2 is used.".to_owned())
        }
        "connect-timeout" => {
            told.push("--connect-timeout is left out: one timeout holds for the whole exchange.".to_owned())
        }
        "resolve" | "connect-to" => told.push(format!(
            "--{name} is left out: give the address to “oleada bench --resolve”, or leave it to the resolver."
        )),
        "proxy" | "preproxy" | "proxy1.0" | "socks4" | "socks4a" | "socks5" | "socks5-hostname" => {
            told.push("The proxy is left out: requests go to the target directly.".to_owned());
        }
        "retry" => told.push("--retry is left out: a request that fails is counted, not sent again.".to_owned()),
        "parallel" => told.push("--parallel is left out: a client makes its requests one after the other.".to_owned()),
        "cookie-jar" => {
            told.push("The cookie jar is left out: each client begins without cookies and keeps its own.".to_owned())
        }
        "netrc" | "netrc-file" | "netrc-optional" | "config" | "cacert" | "capath" | "cert" | "key" | "crlfile" => {
            told.push(format!("--{name} is left out: files are not read."));
        }
        name if listed(SILENT, name) => {}
        name => told.push(format!("curl's option --{} is left out: it has no counterpart here.", shown(name))),
    }
}

fn header(text: &str, group: &mut Group, told: &mut Vec<String>) {
    if text.starts_with('@') {
        return told.push("Headers in a file are left out: files are not read.".to_owned());
    }
    // curl: “Name:” takes a header away, “Name;” sends it empty.
    let Some((name, value)) = text.split_once(':') else {
        match text.split_once(';') {
            Some((name, "")) => group.headers.push((name.trim().to_owned(), String::new())),
            _ => told.push(format!("The header “{}” is left out: it has no colon.", shown(text))),
        }
        return;
    };
    let (name, value) = (name.trim(), value.trim());
    if !value.is_empty() {
        group.headers.push((name.to_owned(), value.to_owned()));
    } else if name.eq_ignore_ascii_case("content-type") {
        group.no_type = true;
    } else if ["accept", "user-agent", "host"].contains(&&*name.to_ascii_lowercase()) {
        told.push(format!("The header “{name}” cannot be taken away: it is always sent."));
    }
}

/// The forms of `--data-urlencode`: `text`, `=text`, `name=text`; with `@` a file.
fn url_encoded(value: &str, told: &mut Vec<String>) -> Option<String> {
    let encode = |text: &str| escaped(text, Escape::Component);
    match value.find(['=', '@']) {
        None => Some(encode(value)),
        Some(0) if value.starts_with('=') => Some(encode(&value[1..])),
        Some(at) if value.as_bytes()[at] == b'=' => Some(format!("{}={}", &value[..at], encode(&value[at + 1..]))),
        Some(at) => {
            told.push(format!("The data in the file “{}” are left out: files are not read.", shown(&value[at + 1..])));
            None
        }
    }
}

impl Group {
    fn add_data(&mut self, text: &str, between: &str) {
        match &mut self.data {
            Some(data) => {
                data.push_str(between);
                data.push_str(text);
            }
            None => self.data = Some(text.to_owned()),
        }
    }

    fn part(&mut self, value: &str, literal: bool, told: &mut Vec<String>) {
        let Some((name, value)) = value.split_once('=') else {
            return told.push(format!("The form field “{}” is left out: it has no value.", shown(value)));
        };
        if !literal && value.starts_with(['@', '<']) {
            let file = value[1..].split(';').next().unwrap_or_default();
            return told.push(format!(
                "The form field “{}” is left out: it is the file “{}”, and files are not read.",
                shown(name),
                shown(file)
            ));
        }
        let (value, kind) = match value.split_once(";type=").filter(|_| !literal) {
            Some((value, kind)) => (value, Some(kind.split(';').next().unwrap_or(kind).to_owned())),
            None => (value, None),
        };
        self.parts.push(Part { name: name.to_owned(), kind, value: value.to_owned() });
    }

    fn finish(self, imported: &mut Imported) {
        let told = &mut imported.left_out;
        let mut request = RequestSpec::default();
        let has_body = self.data.is_some() || !self.parts.is_empty();
        let method = self.method.clone().unwrap_or_else(|| {
            let usual = match () {
                () if self.head => Method::Head,
                () if self.upload => Method::Put,
                () if has_body && !self.get => Method::Post,
                () => Method::Get,
            };
            usual.to_string()
        });
        let Ok(method) = method.parse() else {
            return told.push(format!("The method “{}” is not known, and its requests are left out.", shown(&method)));
        };
        request.method = method;
        request.headers = self.headers;
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|v| !v.is_empty())
                && !request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
            {
                request.headers.push((name.to_owned(), value));
            }
        };
        add("User-Agent", self.agent);
        add("Referer", self.referer);
        add("Accept-Encoding", self.compressed.then(|| "gzip, deflate, br".to_owned()));
        add("Accept", self.json.then(|| "application/json".to_owned()));
        request.cookies = self.cookies;
        request.basic_auth = self.user.filter(|_| !self.no_basic);
        request.bearer = self.bearer.filter(|_| request.basic_auth.is_none());
        sort_headers(&mut request);
        let mut query = self.query;
        if self.get {
            query.extend(self.data);
        } else if let Some(data) = self.data {
            let usual = if self.json { "application/json" } else { "application/x-www-form-urlencoded" };
            if !self.no_type && !request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case("content-type")) {
                request.content_type.get_or_insert_with(|| usual.to_owned());
            }
            request.body = Some(data);
        } else if !self.parts.is_empty() {
            let (kind, body) = multipart(&self.parts);
            request.content_type = Some(kind);
            request.body = Some(body);
        }
        if self.urls.is_empty() && request != RequestSpec::default() {
            told.push("A curl command without an address is left out.".to_owned());
        }
        for url in self.urls {
            let mut request = request.clone();
            request.url = absolute(&url, &query);
            imported.plan.requests.push(request);
        }
    }
}

/// An address as curl reads it: without a scheme it is http. The query goes before the fragment.
pub(crate) fn absolute(url: &str, query: &[String]) -> String {
    let mut url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    if !query.is_empty() {
        let end = url.find('#').unwrap_or(url.len());
        let mark = if url[..end].contains('?') { '&' } else { '?' };
        url.insert_str(end, &format!("{mark}{}", query.join("&")));
    }
    url
}

/// Type and body of a form with parts (RFC 7578).
fn multipart(parts: &[Part]) -> (String, String) {
    let mut boundary = "------------------------oleada".to_owned();
    while parts.iter().any(|part| part.value.contains(&boundary)) {
        boundary.push('x');
    }
    let mut body = String::new();
    for part in parts {
        let name = part.name.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22");
        body.push_str(&format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n"));
        if let Some(kind) = &part.kind {
            body.push_str(&format!("Content-Type: {kind}\r\n"));
        }
        body.push_str(&format!("\r\n{}\r\n", part.value));
    }
    body.push_str(&format!("--{boundary}--\r\n"));
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// A curl command that sends `request`, for POSIX shells. Data, extraction and conditions have no place in it. A body of bytes that
/// are no text, or with NUL, cannot stand in a command: `None`.
pub fn to_command(request: &RequestSpec) -> Option<String> {
    // With -X HEAD curl would wait for a body.
    let method = if request.method == Method::Head { "-I".to_owned() } else { format!("-X {}", request.method) };
    let mut words = vec!["curl".to_owned(), method];
    let mut add = |option: &str, value: &str| words.extend([option.to_owned(), shell::quote(value)]);
    for (name, value) in &request.headers {
        add("-H", &if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") });
    }
    match &request.content_type {
        Some(kind) => add("-H", &format!("Content-Type: {kind}")),
        // Else curl would name a type of its own.
        None if request.body.is_some() || request.body_base64.is_some() => add("-H", "Content-Type:"),
        None => {}
    }
    if !request.cookies.is_empty() {
        let pairs: Vec<String> = request.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        add("-b", &pairs.join("; "));
    }
    if let Some(credentials) = &request.basic_auth {
        add("-u", &format!("{}:{}", credentials.user, credentials.password));
    }
    if let Some(token) = &request.bearer {
        add("-H", &format!("Authorization: Bearer {token}"));
    }
    if let Some(body) = &request.body {
        add("--data-raw", body);
    }
    if let Some(body) = &request.body_base64 {
        let bytes = base64::engine::general_purpose::STANDARD.decode(body).ok()?;
        add("--data-raw", &String::from_utf8(bytes).ok()?);
    }
    for (name, value) in &request.form {
        add("--data-urlencode", &format!("{}={value}", escaped(name, Escape::Component)));
    }
    for (name, value) in &request.query {
        add("--url-query", &format!("{}={value}", escaped(name, Escape::Component)));
    }
    words.extend(["--".to_owned(), shell::quote(&request.url)]);
    (!words.iter().any(|word| word.contains('\0'))).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    fn one(text: &str) -> RequestSpec {
        let mut imported = import(text).unwrap();
        assert_eq!(imported.left_out, [""; 0], "{text}");
        assert_eq!(imported.plan.requests.len(), 1, "{text}");
        imported.plan.requests.remove(0)
    }

    #[test]
    fn a_command_as_chrome_copies_it() {
        let request = one(r#"curl 'https://shop.test/api/cart?x=a%20b&y=' \
  -X 'PUT' \
  -H 'accept: */*' \
  -H 'accept-language: de,en;q=0.9' \
  -H 'content-type: application/json' \
  -b 'sid=a=b; theme="dark"' \
  -H 'authorization: Bearer abc.def' \
  -H $'x-name: caf\u00e9 \'q\'' \
  --data-raw $'{"n":"it\'s\\n \u0021"}' \
  --compressed"#);
        assert_eq!(
            request,
            RequestSpec {
                method: Method::Put,
                url: "https://shop.test/api/cart?x=a%20b&y=".into(),
                headers: vec![
                    pair("accept", "*/*"),
                    pair("accept-language", "de,en;q=0.9"),
                    pair("x-name", "café 'q'"),
                    pair("Accept-Encoding", "gzip, deflate, br"),
                ],
                cookies: vec![pair("sid", "a=b"), pair("theme", "\"dark\"")],
                bearer: Some("abc.def".into()),
                content_type: Some("application/json".into()),
                body: Some(r#"{"n":"it's\n !"}"#.into()),
                ..RequestSpec::default()
            }
        );
    }

    #[test]
    fn a_command_as_chrome_copies_it_for_windows() {
        let request = one(
            "curl ^\"https://a.test/?q=^%^20b^&c^\" ^\r\n  -H ^\"accept: a^\" ^\r\n  --data-raw ^\"^{^\\^\"k^\\^\":1^}^\"",
        );
        assert_eq!(request.url, "https://a.test/?q=%20b&c");
        assert_eq!(request.body.as_deref(), Some("{\"k\":1}"));
        assert_eq!(request.method, Method::Post);
    }

    #[test]
    fn data_are_joined_typed_and_moved_to_the_query() {
        let request =
            one("curl a.test/x -d a=1 -d 'b=2&c=' --data-urlencode 'd=é &' --data-urlencode =e+ --data-raw @f");
        assert_eq!(request.url, "http://a.test/x");
        assert_eq!(request.body.as_deref(), Some("a=1&b=2&c=&d=%C3%A9%20%26&e%2B&@f"));
        assert_eq!(request.content_type.as_deref(), Some("application/x-www-form-urlencoded"));
        let request = one("curl -G 'http://a.test/x?z#f' -d a=1 --data-urlencode 'b=c d' --url-query e=f");
        assert_eq!((request.method, &*request.url), (Method::Get, "http://a.test/x?z&e=f&a=1&b=c%20d#f"));
        let request = one("curl --json '{\"a\":' --json '1}' http://a.test -XPATCH");
        assert_eq!((request.method, request.body.as_deref()), (Method::Patch, Some("{\"a\":1}")));
        assert_eq!(request.headers, [pair("Accept", "application/json")]);
        assert_eq!(request.content_type.as_deref(), Some("application/json"));
    }

    #[test]
    fn short_options_stand_together() {
        let imported = import(
            "curl -sSLkm2.5 --tlsv1.3 -Aagent -HA:b -H 'E;' -H 'A: c' -uann:p:q -e http://r.test/ -r0-9 -I http://a.test/",
        )
        .unwrap();
        assert!(imported.left_out.is_empty());
        let plan = &imported.plan;
        assert!(
            plan.insecure
                && plan.redirects == Redirects::Follow
                && plan.timeout_ms == 2500.0
                && plan.min_tls == TlsVersion::Tls13
        );
        let request = &plan.requests[0];
        assert_eq!(request.method, Method::Head);
        assert_eq!(request.basic_auth, Some(Credentials { user: "ann".into(), password: "p:q".into() }));
        assert_eq!(
            request.headers,
            [
                pair("A", "b"),
                pair("E", ""),
                pair("A", "c"),
                pair("Range", "bytes=0-9"),
                pair("User-Agent", "agent"),
                pair("Referer", "http://r.test/")
            ]
        );
    }

    #[test]
    fn several_addresses_and_next_make_several_requests() {
        let imported =
            import("curl -d x http://a.test/1 http://a.test/2 --next -H 'B: c' a.test/3 -o f\ncurl a.test/4 | jq .")
                .unwrap();
        let requests = &imported.plan.requests;
        let urls: Vec<&str> = requests.iter().map(|r| &*r.url).collect();
        assert_eq!(urls, ["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"]);
        assert_eq!(requests[1].body.as_deref(), Some("x"));
        assert_eq!((requests[2].body.as_deref(), requests[2].method), (None, Method::Get));
        assert_eq!(imported.left_out, ["“jq .” is no curl command."]);
        assert_eq!(imported.plan.redirects, Redirects::Off);
    }

    #[test]
    fn forms_with_parts_become_a_body() {
        let imported = import(
            r#"curl http://a.test/ -F 'a=b c;type=text/x' -F 'n"="q"' -F f=@pic.png --form-string 'l=@x;type=y'"#,
        )
        .unwrap();
        let request = &imported.plan.requests[0];
        assert_eq!(
            request.content_type.as_deref(),
            Some("multipart/form-data; boundary=------------------------oleada")
        );
        let expected = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/x\r\n\r\nb c\r\n\
            --B\r\nContent-Disposition: form-data; name=\"n%22\"\r\n\r\n\"q\"\r\n\
            --B\r\nContent-Disposition: form-data; name=\"l\"\r\n\r\n@x;type=y\r\n--B--\r\n";
        assert_eq!(request.body.as_deref(), Some(&*expected.replace('B', "------------------------oleada")));
        assert_eq!(
            imported.left_out,
            ["The form field “f” is left out: it is the file “pic.png”, and files are not read."]
        );
    }

    #[test]
    fn what_has_no_counterpart_is_told() {
        for (option, word) in [
            ("-d @body.json", "body.json"),
            ("-b jar.txt", "jar.txt"),
            ("-x http://p:1", "proxy"),
            ("--digest -u a:b", "digest"),
            ("--http3", "HTTP/3"),
            ("--connect-timeout 3", "--connect-timeout"),
            ("--frobnicate", "--frobnicate"),
            ("-H 'Accept:'", "Accept"),
            ("-H \"T: $TOKEN\"", "$TOKEN"),
            ("-X BREW http://a.test/ --next", "BREW"),
            ("-m 0", "timeout"),
            ("--resolve a.test:80:127.0.0.1", "--resolve"),
        ] {
            let imported = import(&format!("curl {option} http://a.test/")).unwrap();
            assert_eq!(imported.left_out.len(), 1, "{option}");
            assert!(imported.left_out[0].contains(word), "{option}: {:?}", imported.left_out);
            assert_eq!(imported.plan.requests.len(), 1);
        }
        for broken in ["wget http://a.test/", "curl", "curl -d", "curl 'http://a.test/", "curl ftp://a.test/"] {
            assert!(import(broken).is_err(), "{broken}");
        }
    }
}

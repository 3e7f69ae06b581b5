//! ApacheBench command lines, such as `ab -n 1000 -c 10 -k http://127.0.0.1/`.

use oleada_engine::plan::{Credentials, HttpVersion, Load, Method, PlanSpec, Redirects, RequestSpec, Reuse, limits};

use crate::curl::unknown_value;
use crate::finish::{cookies, finish, inside, sort_headers};
use crate::{ImportError, Imported, checked, shell, shown};

/// Options with a value; the rest are flags.
const VALUED: &str = "nctsbTpuvxyzCHPAgXeBmZfEWR";

/// ab's limit of requests when only a time is given.
const TIMED_REQUESTS: f64 = 50_000.0;

/// Reads one `ab` command: a fixed count, a new connection for each request unless `-k` is given, no redirects, no end for errors.
///
/// # Errors
/// [`ImportError`] where no command is ab, or its address cannot be requested.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let read = shell::commands(checked(text)?)?;
    let mut told: Vec<String> = read.unknown.iter().map(|what| unknown_value(what)).collect();
    let mut calls = read.commands.iter().filter_map(|words| shell::call(words, "ab"));
    let words = calls.next().ok_or(ImportError::broken("This is no ab command: it must begin with “ab”."))?;
    let more = calls.count();
    if more > 0 {
        told.push(format!("{more} further ab commands are left out: each is a test of its own."));
    }
    let mut call = Call::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(mut rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            call.urls.push(word);
            continue;
        };
        while let Some(option) = rest.chars().next() {
            rest = &rest[option.len_utf8()..];
            let mut value = "";
            if VALUED.contains(option) {
                value = if rest.is_empty() { words.next().map_or("", String::as_str) } else { rest };
                rest = "";
            }
            call.option(option, value, &mut told);
        }
    }
    call.finish(told)
}

struct Call<'a> {
    urls: Vec<&'a str>,
    requests: Option<f64>,
    clients: f64,
    seconds: Option<f64>,
    timeout: f64,
    keep_alive: bool,
    any_length: bool,
    go_on: bool,
    post: Option<Method>,
    kind: Option<String>,
    request: RequestSpec,
    method: Option<String>,
}

impl Default for Call<'_> {
    fn default() -> Self {
        Call {
            urls: Vec::new(),
            requests: None,
            clients: 1.0,
            seconds: None,
            timeout: 30.0,
            keep_alive: false,
            any_length: false,
            go_on: false,
            post: None,
            kind: None,
            request: RequestSpec::default(),
            method: None,
        }
    }
}

impl Call<'_> {
    fn option(&mut self, option: char, value: &str, told: &mut Vec<String>) {
        let number = |told: &mut Vec<String>| {
            let number = value.parse::<f64>().ok().filter(|n| n.is_finite());
            if number.is_none() {
                told.push(format!("-{option} is left out: “{}” is no number.", shown(value)));
            }
            number
        };
        match option {
            'n' => self.requests = number(told).or(self.requests),
            'c' => self.clients = number(told).unwrap_or(self.clients),
            't' => {
                // A number of requests holds only if it stands behind.
                if let Some(seconds) = number(told) {
                    (self.seconds, self.requests) = (Some(seconds), Some(TIMED_REQUESTS));
                }
            }
            's' => self.timeout = number(told).unwrap_or(self.timeout),
            'k' => self.keep_alive = true,
            'i' => self.method = Some("HEAD".to_owned()),
            'm' => self.method = Some(value.to_owned()),
            'l' => self.any_length = true,
            'r' => self.go_on = true,
            'T' => self.kind = Some(value.to_owned()),
            'p' | 'u' => {
                self.post = Some(if option == 'p' { Method::Post } else { Method::Put });
                told.push(format!("The body in the file “{}” is left out: files are not read.", shown(value)));
            }
            'H' => match value.split_once(':') {
                Some((name, value)) => {
                    self.request.headers.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                None => told.push(format!("The header “{}” is left out: it has no colon.", shown(value))),
            },
            'C' => match cookies(value) {
                Some(mut list) => self.request.cookies.append(&mut list),
                None => told.push("A cookie without = is left out.".to_owned()),
            },
            'A' => {
                let (user, password) = value.split_once(':').unwrap_or((value, ""));
                self.request.basic_auth = Some(Credentials { user: user.to_owned(), password: password.to_owned() });
            }
            'X' | 'P' => told.push("The proxy is left out: requests go to the target directly.".to_owned()),
            'g' | 'e' | 'w' => {
                told.push(format!("-{option} is left out: a run's figures can be exported when it is over."));
            }
            'R' => told.push(
                "-R is left out: clients do not begin one after the other; use a maintained load that grows."
                    .to_owned(),
            ),
            'v' | 'b' | 'B' | 'Z' | 'f' | 'E' | 'I' | 'W' => {
                told.push(format!("-{option} is left out: it has no counterpart here."));
            }
            // How ab prints.
            'q' | 'd' | 'S' | 'x' | 'y' | 'z' | 'V' | 'h' | 'Q' => {}
            other => told.push(format!("ab's option -{other} is not known.")),
        }
    }

    fn finish(mut self, mut told: Vec<String>) -> Result<Imported, ImportError> {
        let mut urls = self.urls.iter();
        let url = urls.next().ok_or(ImportError::broken("The ab command names no address."))?;
        let more = urls.count();
        if more > 0 {
            told.push(format!("ab takes one address: {more} more words are left out."));
        }
        // ab takes an address without a scheme, and wants a path.
        self.request.url = if url.contains("://") { (*url).to_owned() } else { format!("http://{url}") };
        let method = self.method.clone().unwrap_or_else(|| self.post.unwrap_or_default().to_string());
        self.request.method = method
            .parse()
            .map_err(|_| ImportError::broken(format!("The method “{}” is not known.", shown(&method))))?;
        sort_headers(&mut self.request);
        if self.post.is_some() {
            self.request.content_type = self.kind.or(self.request.content_type).or(Some("text/plain".to_owned()));
        } else if self.kind.is_some() {
            told.push("-T is left out: there is no body.".to_owned());
        }
        if !self.any_length {
            told.push(
                "ab calls replies failed whose length is not the first one's; here lengths are not compared."
                    .to_owned(),
            );
        }
        if !self.go_on {
            told.push(
                "ab stops at the first broken connection; here it is counted as an error, and the run goes on."
                    .to_owned(),
            );
        }
        told.push("ab speaks HTTP/1.0; here HTTP/1.1 is spoken.".to_owned());
        let requests =
            inside(limits::REQUESTS, self.requests.unwrap_or(1.0).trunc(), "The number of requests", &mut told);
        let clients = inside(limits::CLIENTS, self.clients.trunc(), "The number of clients", &mut told);
        let timeout_ms = inside(limits::TIMEOUT_MS, self.timeout * 1000.0, "The timeout", &mut told);
        let duration_s = self.seconds.map(|s| inside(limits::DURATION_S, s, "The duration", &mut told));
        let plan = PlanSpec {
            load: Load::FixedCount { requests: requests as u64, clients: clients as u32 },
            duration_s,
            timeout_ms,
            error_threshold: limits::ERROR_THRESHOLD.max,
            reuse: if self.keep_alive { Reuse::Client } else { Reuse::Off },
            http: HttpVersion::Http1,
            redirects: Redirects::Off,
            requests: vec![self.request],
            ..PlanSpec::default()
        };
        finish(Imported { plan, left_out: told, ..Imported::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_with_a_counterpart_is_taken() {
        let line = "ab -n 1000 -c10 -klr -s 5 -H 'A: b c' -H 'A: d' -C sid=1 -A 'u:p:q' -T application/json -m PATCH -p f.json http://a.test/x?y";
        let imported = import(line).unwrap();
        let plan = &imported.plan;
        assert_eq!(plan.load, Load::FixedCount { requests: 1000, clients: 10 });
        assert_eq!((plan.duration_s, plan.timeout_ms, plan.reuse), (None, 5000.0, Reuse::Client));
        assert_eq!((plan.redirects, plan.http, plan.error_threshold), (Redirects::Off, HttpVersion::Http1, 100.0));
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        assert_eq!(
            plan.requests,
            [RequestSpec {
                method: Method::Patch,
                url: "http://a.test/x?y".into(),
                headers: vec![pair("A", "b c"), pair("A", "d")],
                cookies: vec![pair("sid", "1")],
                content_type: Some("application/json".into()),
                basic_auth: Some(Credentials { user: "u".into(), password: "p:q".into() }),
                ..RequestSpec::default()
            }]
        );
        assert_eq!(imported.left_out.len(), 2);
        assert!(imported.left_out[0].contains("f.json"));
    }

    #[test]
    fn a_time_limit_stands_for_fifty_thousand_requests_unless_a_number_follows() {
        let load = |options: &str| {
            let plan = import(&format!("ab {options} http://a.test/")).unwrap().plan;
            (plan.load, plan.duration_s, plan.reuse)
        };
        let count = |requests, clients| Load::FixedCount { requests, clients };
        assert_eq!(load(""), (count(1, 1), None, Reuse::Off));
        assert_eq!(load("-n 9 -t 3 -c 4"), (count(50_000, 4), Some(3.0), Reuse::Off));
        assert_eq!(load("-t 3 -n 9"), (count(9, 1), Some(3.0), Reuse::Off));
        assert_eq!(load("-n 0 -c 999999"), (count(1, 100_000), None, Reuse::Off));
    }

    #[test]
    fn what_has_no_counterpart_is_told() {
        let told = |options: &str| import(&format!("ab -lr {options} http://a.test/")).unwrap().left_out;
        assert_eq!(told("-q -d -S -x a").len(), 1);
        for option in [
            "-g f",
            "-e f",
            "-w",
            "-X a:1",
            "-P a:b",
            "-v 4",
            "-Z x",
            "-f TLS1.2",
            "-I",
            "-b 1",
            "-B 1.2.3.4",
            "-?",
            "-n x",
        ] {
            assert_eq!(told(option).len(), 2, "{option}");
        }
        assert_eq!(import("ab http://a.test/").unwrap().left_out.len(), 3);
        for broken in ["ab", "ab -n 1", "curl http://a.test/", "ab -m BREW http://a.test/", "ab ftp://a/"] {
            assert!(import(broken).is_err(), "{broken}");
        }
    }
}

//! The generators: how each is called, and what it says it did.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{Turn, measure};
use crate::exec;

/// What a generator is asked to do.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) url: String,
    pub(super) requests: u64,
    pub(super) clients: u32,
    pub(super) reuse: bool,
    /// What we run; the others ask for `url`.
    pub(super) plan: Option<PathBuf>,
}

impl Job {
    fn encrypted(&self) -> bool {
        self.url.starts_with("https:")
    }
}

/// A generator that is on this machine.
pub(super) struct Peer {
    pub(super) name: &'static str,
    program: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Oleada,
    Wrk,
    Ab,
    H2load,
    Oha,
    Hey,
}

/// Ours first, then what is found.
pub(super) fn found(oleada: PathBuf) -> Vec<Peer> {
    let own = Peer { name: "oleada", program: oleada, kind: Kind::Oleada };
    let others =
        [("wrk", Kind::Wrk), ("ab", Kind::Ab), ("h2load", Kind::H2load), ("oha", Kind::Oha), ("hey", Kind::Hey)];
    let others = others.into_iter().filter_map(|(name, kind)| Some(Peer { name, program: exec::find(name)?, kind }));
    std::iter::once(own).chain(others).collect()
}

impl Peer {
    /// Whether this generator can do the job at all.
    pub(super) fn can(&self, job: &Job) -> bool {
        match self.kind {
            // Neither can be told to open a connection for every request in a way that compares.
            Kind::Wrk | Kind::H2load => job.reuse,
            // It takes one connection up in a busy loop at a time and needs minutes for so many.
            Kind::Ab => job.clients <= 1_000 && !(job.encrypted()),
            Kind::Oleada | Kind::Oha | Kind::Hey => true,
        }
    }

    /// The command line, on one thread.
    pub(super) fn command(&self, job: &Job) -> Vec<String> {
        let (n, c) = (job.requests.to_string(), job.clients.to_string());
        let program = self.program.to_string_lossy().into_owned();
        if let (Kind::Oleada, Some(plan)) = (self.kind, &job.plan) {
            let words = ["bench", "--json", "--threads", "1", "--plan", &plan.to_string_lossy()].map(str::to_owned);
            return std::iter::once(program).chain(words).collect();
        }
        let words: Vec<&str> = match self.kind {
            Kind::Oleada => {
                let mut words = vec!["bench", "--json", "--threads", "1", "--http", "1.1", "--timeout", "60s"];
                words.extend(["--requests", &n, "--clients", &c, "--insecure"]);
                words.extend(["--reuse", if job.reuse { "client" } else { "off" }]);
                words
            }
            // It knows durations only; long enough for about as many requests.
            Kind::Wrk => vec!["--threads", "1", "--connections", &c, "--duration", "4s", "--timeout", "60s"],
            Kind::Ab => {
                let mut words = vec!["-q", "-r", "-n", &n, "-c", &c, "-s", "60"];
                words.extend(job.reuse.then_some("-k"));
                words
            }
            Kind::H2load => vec!["--h1", "--threads", "1", "--requests", &n, "--clients", &c],
            Kind::Oha => {
                let mut words = vec!["--no-tui", "--output-format", "json", "--http-version", "1.1", "--insecure"];
                words.extend(["-n", &n, "-c", &c, "-t", "60s", "--redirect", "0"]);
                words.extend((!job.reuse).then_some("--disable-keepalive"));
                words
            }
            Kind::Hey => {
                let mut words = vec!["-n", &n, "-c", &c, "-t", "60", "-cpus", "1", "-disable-redirects"];
                words.extend((!job.reuse).then_some("-disable-keepalive"));
                words
            }
        };
        std::iter::once(program).chain(words.into_iter().map(str::to_owned)).chain([job.url.clone()]).collect()
    }

    /// Does the job once on `core`.
    pub(super) fn turn(&self, job: &Job, core: usize) -> Result<Turn> {
        let run = measure::run(&self.command(job), core)?;
        let told = match self.kind {
            Kind::Oleada => from_oleada(&run.stdout),
            Kind::Wrk => from_wrk(&run.stdout),
            Kind::Ab => from_ab(&run.stdout),
            Kind::H2load => from_h2load(&run.stdout),
            Kind::Oha => from_oha(&run.stdout),
            Kind::Hey => from_hey(&run.stdout),
        };
        let (requests, failed) =
            told.with_context(|| format!("what {} said was not understood: {}", self.name, run.stderr))?;
        if requests == 0 {
            bail!("no request was answered");
        }
        Ok(Turn { requests, failed, usage: run.usage })
    }
}

/// Answered and failed requests.
type Told = Option<(u64, u64)>;

fn from_oleada(stdout: &str) -> Told {
    let document: Value = serde_json::from_str(stdout).ok()?;
    let ok = document["ledger"]["ok"].as_u64()?;
    Some((ok, document["ledger"]["sent"].as_u64()? - ok))
}

fn from_wrk(stdout: &str) -> Told {
    let line = stdout.lines().find(|line| line.contains(" requests in "))?;
    let requests = line.split_whitespace().next()?.parse().ok()?;
    let bad = stdout.lines().find_map(|line| line.trim().strip_prefix("Non-2xx or 3xx responses: ")?.parse().ok());
    let lost: u64 = stdout
        .lines()
        .find(|line| line.trim().starts_with("Socket errors:"))
        .map_or(0, |line| line.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok()).sum());
    Some((requests, bad.unwrap_or(0) + lost))
}

fn from_ab(stdout: &str) -> Told {
    let number =
        |label: &str| -> Option<u64> { stdout.lines().find_map(|line| line.strip_prefix(label)?.trim().parse().ok()) };
    let failed = number("Failed requests:")?;
    Some((number("Complete requests:")?.saturating_sub(failed), failed))
}

fn from_h2load(stdout: &str) -> Told {
    let line = stdout.lines().find_map(|line| line.strip_prefix("requests: "))?;
    let number = |label: &str| -> Option<u64> {
        line.split(", ").find_map(|part| part.strip_suffix(label)?.trim().parse().ok())
    };
    Some((number("succeeded")?, number("failed")? + number("errored")?))
}

fn from_oha(stdout: &str) -> Told {
    let document: Value = serde_json::from_str(stdout).ok()?;
    let statuses = document["statusCodeDistribution"].as_object()?;
    let ok = statuses.iter().filter(|(status, _)| status.starts_with('2')).filter_map(|(_, n)| n.as_u64()).sum();
    let all: u64 = statuses.values().filter_map(Value::as_u64).sum();
    let lost: u64 = document["errorDistribution"].as_object()?.values().filter_map(Value::as_u64).sum();
    Some((ok, all - ok + lost))
}

fn from_hey(stdout: &str) -> Told {
    let rows = |title: &str| {
        let rows = stdout.split_once(title).map_or("", |(_, rest)| rest).lines().skip(1);
        let rows = rows.map_while(|line| line.trim().strip_prefix('[')?.split_once(']'));
        rows.map(|(first, rest)| (first.to_owned(), rest.to_owned())).collect::<Vec<_>>()
    };
    let (mut ok, mut failed) = (0, 0);
    for (status, count) in rows("Status code distribution:") {
        let count: u64 = count.split_whitespace().next()?.parse().ok()?;
        *if status.starts_with('2') { &mut ok } else { &mut failed } += count;
    }
    let lost = rows("Error distribution:").iter().map(|(count, _)| count.parse::<u64>().ok()).sum::<Option<u64>>()?;
    (ok + failed + lost > 0).then_some((ok, failed + lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_generator_says_is_understood() {
        assert_eq!(from_oleada(r#"{"ledger":{"ok":9,"sent":10}}"#), Some((9, 1)));
        let wrk = "  81 requests in 4.00s, 1MB read\n  Socket errors: connect 0, read 2, write 0, timeout 1\n  Non-2xx or 3xx responses: 5\n";
        assert_eq!(from_wrk(wrk), Some((81, 8)));
        assert_eq!(from_wrk("  81 requests in 4.00s, 1MB read\n"), Some((81, 0)));
        assert_eq!(from_ab("Complete requests:      50\nFailed requests:        3\n"), Some((47, 3)));
        let h2load = "requests: 50 total, 50 started, 50 done, 48 succeeded, 2 failed, 1 errored, 0 timeout\n";
        assert_eq!(from_h2load(h2load), Some((48, 3)));
        let oha = r#"{"statusCodeDistribution":{"200":7,"404":2},"errorDistribution":{"refused":1}}"#;
        assert_eq!(from_oha(oha), Some((7, 3)));
        assert_eq!(from_oha("no"), None);
        let hey = "Status code distribution:\n  [200]\t20 responses\n  [404]\t3 responses\n\nError distribution:\n  [2]\tGet \"http://a\": EOF\n";
        assert_eq!((from_hey(hey), from_hey("no")), (Some((20, 5)), None));
    }

    #[test]
    fn every_generator_is_told_the_same() {
        let job = Job { url: "http://127.0.0.1:1/".into(), requests: 300, clients: 7, reuse: false, plan: None };
        for kind in [Kind::Oleada, Kind::Ab, Kind::Oha, Kind::Hey] {
            let peer = Peer { name: "x", program: "x".into(), kind };
            let line = peer.command(&job);
            assert!(peer.can(&job) && line.iter().any(|w| w == "300") && line.iter().any(|w| w == "7"), "{line:?}");
            assert_eq!(line.last(), Some(&job.url));
        }
        let own = Peer { name: "x", program: "x".into(), kind: Kind::Oleada };
        let line = own.command(&Job { plan: Some("p.json".into()), ..job.clone() });
        assert_eq!(line[line.len() - 2..], ["--plan", "p.json"]);
        assert!(!Peer { name: "wrk", program: "x".into(), kind: Kind::Wrk }.can(&job));
    }
}

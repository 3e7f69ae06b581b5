//! `oleada bench`: one run from the terminal, without a database.

use std::collections::BTreeSet;
use std::io::{Read as _, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args as ClapArgs;
use oleada_engine::limit::FailIf;
use oleada_engine::net::{self, ClientIdentity, Event, Options, ResolveOverride, RunEnd, Running, StartError};
use oleada_engine::plan::{
    AtEnd, Credentials, HttpVersion, Load, Method, Plan, PlanSpec, Redirects, RequestSpec, Reuse, Stage, TlsVersion,
    limits,
};
use oleada_engine::result::{EndReason, Point, Record, ResultDoc};
use oleada_engine::window::{Merge, Window};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{bench_report, units};
use crate::clock;
use crate::hosts::lookalike;

/// Finished, and every limit held.
const OK: u8 = 0;
/// A limit was broken, the run was aborted, or nothing was answered.
const FAILED: u8 = 1;
/// The arguments make no plan.
const USAGE: u8 = 2;
/// The run could not start.
const NO_START: u8 = 3;

/// One load test from the terminal: progress on stderr, the report on stdout.
#[derive(ClapArgs, Debug)]
pub struct Args {
    /// Addresses to request; each client walks them in this order.
    #[arg(required_unless_present = "plan", value_name = "URL")]
    urls: Vec<String>,
    /// Run the test in this file instead: one exported from Oleada, or a plan in JSON. It says all that options could say of the
    /// load, its end, the protocol and the requests.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["urls", "requests", "clients", "per_test", "per_second", "maintain", "stage",
        "duration", "warm_up", "max_clients", "timeout", "idle_timeout", "error_threshold", "max_rate_missed", "end", "reuse", "http",
        "insecure", "min_tls", "redirects", "method", "header", "body", "basic_auth"])]
    plan: Option<PathBuf>,

    /// Fixed count: requests in all.
    #[arg(long, short = 'n', value_name = "N", help_heading = "Load", conflicts_with_all = ["per_test", "per_second", "maintain"])]
    requests: Option<u64>,
    /// Fixed count: clients at once (default 10).
    #[arg(long, short = 'c', value_name = "C", help_heading = "Load", conflicts_with_all = ["per_test", "per_second", "maintain"])]
    clients: Option<u32>,
    /// This many clients, spread evenly over the duration.
    #[arg(long, value_name = "N", help_heading = "Load", conflicts_with_all = ["per_second", "maintain"])]
    per_test: Option<u64>,
    /// This many clients start each second; fractions allowed.
    #[arg(long, value_name = "R", help_heading = "Load", conflicts_with = "maintain")]
    per_second: Option<f64>,
    /// Keep this many clients busy: a number, or FROM..TO for a linear change.
    #[arg(long, value_name = "A..B", help_heading = "Load", value_parser = parse_maintain)]
    maintain: Option<(u32, u32)>,
    /// From where the load is to this value, within this time; repeatable. With --per-second or --maintain, which say where it begins.
    #[arg(long, value_name = "TIME:N", help_heading = "Load", value_parser = parse_stage, conflicts_with = "duration")]
    stage: Vec<Stage>,
    /// Length of the test (default 60s; a fixed count has no limit; stages have their own).
    #[arg(long, short = 'd', value_name = "TIME", help_heading = "Load", value_parser = units::duration)]
    duration: Option<Duration>,
    /// Load before the result begins, left out of it.
    #[arg(long, value_name = "TIME", help_heading = "Load", value_parser = units::duration, default_value = "0s")]
    warm_up: Duration,
    /// Open models: at most so many clients at once; the rest wait and are counted.
    #[arg(long, value_name = "N", help_heading = "Load")]
    max_clients: Option<u32>,

    /// Time for a whole exchange, first byte written to last byte read.
    #[arg(long, value_name = "TIME", help_heading = "Ends", value_parser = units::duration, default_value = "10s")]
    timeout: Duration,
    /// Time without a byte received (default off).
    #[arg(long, value_name = "TIME", help_heading = "Ends", value_parser = units::duration)]
    idle_timeout: Option<Duration>,
    /// Share of errors in percent at which the run ends; 100 = never.
    #[arg(long, value_name = "PCT", help_heading = "Ends", default_value_t = limits::ERROR_THRESHOLD.default)]
    error_threshold: f64,
    /// Stop when more than this share (percent) of the planned rate is missed.
    #[arg(long, value_name = "PCT", help_heading = "Ends")]
    max_rate_missed: Option<f64>,
    /// Requests in flight at the end: drain lets them finish, abort cuts them.
    #[arg(long, value_name = "drain|abort", help_heading = "Ends", default_value_t = AtEnd::Drain)]
    end: AtEnd,
    /// Fail (exit 1) if the condition holds, such as 'p95>300ms' or 'errors>1%'; repeatable.
    #[arg(long, value_name = "CONDITION", help_heading = "Ends")]
    fail_if: Vec<FailIf>,

    /// Connections: kept within a client, or a new one for every request.
    #[arg(long, value_name = "client|off", help_heading = "Protocol", default_value_t = Reuse::Client)]
    reuse: Reuse,
    /// HTTP version.
    #[arg(long, value_name = "auto|1.1|2", help_heading = "Protocol", default_value_t = HttpVersion::Auto)]
    http: HttpVersion,
    /// Accept any certificate.
    #[arg(long, help_heading = "Protocol")]
    insecure: bool,
    /// Lowest TLS version.
    #[arg(long, value_name = "1.2|1.3", help_heading = "Protocol", default_value_t = TlsVersion::Tls12)]
    min_tls: TlsVersion,
    /// Certificate (with its chain, in PEM form) for targets that ask for a client certificate.
    #[arg(long, value_name = "FILE", help_heading = "Protocol", requires = "client_key")]
    client_cert: Option<PathBuf>,
    /// Its private key, in PEM form, without a password.
    #[arg(long, value_name = "FILE", help_heading = "Protocol", requires = "client_cert")]
    client_key: Option<PathBuf>,
    /// Redirects are followed only to the hosts named on the command line.
    #[arg(long, value_name = "follow|off", help_heading = "Protocol", default_value_t = Redirects::Follow)]
    redirects: Redirects,
    /// Dial ADDR for HOST:PORT instead of asking the resolver; repeatable.
    #[arg(long, value_name = "HOST:PORT:ADDR", help_heading = "Protocol")]
    resolve: Vec<ResolveOverride>,
    /// Ask this name server (port 53 unless said) instead of the system's; the hosts file still comes first.
    #[arg(long, value_name = "ADDR[:PORT]", help_heading = "Protocol", value_parser = parse_dns_server)]
    dns_server: Option<SocketAddr>,

    /// Method of every request.
    #[arg(long, short = 'm', value_name = "M", help_heading = "Request", default_value_t = Method::Get)]
    method: Method,
    /// Header of every request, 'Name: value'; repeatable.
    #[arg(long, short = 'H', value_name = "K: V", help_heading = "Request", value_parser = parse_header)]
    header: Vec<(String, String)>,
    /// Body of every request: text, or @FILE.
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Request", allow_hyphen_values = true)]
    body: Option<String>,
    /// Basic authentication.
    #[arg(long, value_name = "USER:PASS", help_heading = "Request", value_parser = parse_credentials)]
    basic_auth: Option<Credentials>,

    /// Threads of the generator (default: one per processor).
    #[arg(long, value_name = "N", help_heading = "Output")]
    threads: Option<usize>,
    /// Print the result document on stdout, and nothing else there.
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Add the list of seconds to the document.
    #[arg(long, help_heading = "Output")]
    seconds: bool,
    /// No progress on stderr.
    #[arg(long, short = 'q', help_heading = "Output")]
    quiet: bool,
}

fn parse_maintain(text: &str) -> Result<(u32, u32), String> {
    let error = |_| format!("“{text}” is not a number of clients; write 50 or 10..50");
    match text.split_once("..") {
        Some((from, to)) => Ok((from.trim().parse().map_err(error)?, to.trim().parse().map_err(error)?)),
        None => text.trim().parse().map(|n| (n, n)).map_err(error),
    }
}

fn parse_stage(text: &str) -> Result<Stage, String> {
    let error = || format!("“{text}” is not a stage; write a time and a value, such as 10s:50");
    let (time, to) = text.split_once(':').ok_or_else(error)?;
    Ok(Stage { duration_s: units::duration(time)?.as_secs_f64(), to: to.trim().parse().map_err(|_| error())? })
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written 'Name: value'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn parse_credentials(text: &str) -> Result<Credentials, String> {
    let (user, password) = text.split_once(':').ok_or("credentials are written user:password")?;
    Ok(Credentials { user: user.to_owned(), password: password.to_owned() })
}

fn parse_dns_server(text: &str) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    let alone = bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, 53));
    alone.or_else(|_| text.parse()).map_err(|_| {
        "write the address of a name server, with a port if it is not 53: 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353"
            .to_owned()
    })
}

/// A sentence for stderr and the exit code that goes with it.
struct Refusal(u8, String);

impl Args {
    fn load(&self) -> (Load, Option<f64>) {
        let timed = Some(self.duration.map_or(limits::DURATION_S.default, |d| d.as_secs_f64()));
        // Stages are as long as they are together.
        let timed = timed.filter(|_| self.stage.is_empty());
        if let Some(clients) = self.per_test {
            (Load::PerTest { clients }, timed)
        } else if let Some(rate) = self.per_second {
            (Load::PerSecond { rate }, timed)
        } else if let Some((from, to)) = self.maintain {
            (Load::Maintain { from, to }, timed)
        } else if let (None, Some(clients), Some(_)) = (self.requests, self.clients, self.duration) {
            // A number of clients and a time, but no number of requests: they are kept busy for that time.
            (Load::Maintain { from: clients, to: clients }, timed)
        } else {
            let requests = self.requests.unwrap_or(limits::REQUESTS.default as u64);
            let clients = self.clients.unwrap_or(limits::CLIENTS.default as u32);
            (Load::FixedCount { requests, clients }, self.duration.map(|d| d.as_secs_f64()))
        }
    }

    fn body(&self) -> Result<Option<String>, Refusal> {
        let Some(text) = &self.body else { return Ok(None) };
        let Some(path) = text.strip_prefix('@') else { return Ok(Some(text.clone())) };
        let too_large = || Refusal(USAGE, format!("--body: {path} is larger than 1 MB"));
        let size =
            std::fs::metadata(path).map_err(|e| Refusal(USAGE, format!("--body: cannot read {path}: {e}")))?.len();
        if size > limits::BODY_BYTES as u64 {
            return Err(too_large());
        }
        std::fs::read_to_string(path).map(Some).map_err(|e| Refusal(USAGE, format!("--body: cannot read {path}: {e}")))
    }

    fn client_identity(&self) -> Result<Option<ClientIdentity>, Refusal> {
        let (Some(cert), Some(key)) = (&self.client_cert, &self.client_key) else { return Ok(None) };
        let (cert, key) = (read_pem("--client-cert", cert)?, read_pem("--client-key", key)?);
        let identity = ClientIdentity::from_pem(&cert, &key);
        identity.map(Some).map_err(|e| Refusal(USAGE, format!("--client-cert, --client-key: {e}")))
    }

    fn plan(&self) -> Result<Plan, Refusal> {
        if let Some(threads) = self.threads
            && !limits::THREADS.contains(threads as f64)
        {
            return Err(Refusal(USAGE, format!("--threads {}", limits::THREADS.sentence())));
        }
        if let Some(path) = &self.plan {
            return read_plan(path);
        }
        let (load, duration_s) = self.load();
        let body = self.body()?;
        let requests = self.urls.iter().map(|url| RequestSpec {
            method: self.method,
            url: url.clone(),
            headers: self.header.clone(),
            body: body.clone(),
            basic_auth: self.basic_auth.clone(),
            ..RequestSpec::default()
        });
        let spec = PlanSpec {
            load,
            duration_s,
            stages: self.stage.clone(),
            requests: requests.collect(),
            timeout_ms: self.timeout.as_secs_f64() * 1000.0,
            idle_timeout_ms: self.idle_timeout.map(|d| d.as_secs_f64() * 1000.0),
            error_threshold: self.error_threshold,
            reuse: self.reuse,
            http: self.http,
            insecure: self.insecure,
            min_tls: self.min_tls,
            end: self.end,
            redirects: self.redirects,
            max_clients: self.max_clients,
            warm_up_s: self.warm_up.as_secs_f64(),
            max_rate_missed: self.max_rate_missed,
            ..PlanSpec::default()
        };
        Plan::try_from(spec).map_err(|errors| {
            let lines = errors.0.iter().map(|e| format!("{} {}", option_name(&e.field, &self.urls), e.message));
            Refusal(USAGE, lines.collect::<Vec<_>>().join("\n"))
        })
    }
}

/// The test in a file. What it says that is not taken over is told on stderr.
fn read_plan(path: &Path) -> Result<Plan, Refusal> {
    let broken = |what: String| Refusal(USAGE, format!("--plan: {}: {what}", path.display()));
    let bytes = read_file("--plan", path, limits::IMPORT_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| broken("This is not text in UTF-8.".to_owned()))?;
    let imported = oleada_import::own::import(&text).map_err(|e| broken(e.to_string()))?;
    for sentence in &imported.left_out {
        eprintln!("warning: {sentence}");
    }
    Plan::try_from(imported.plan).map_err(|e| broken(e.to_string()))
}

fn read_pem(option: &str, path: &Path) -> Result<Vec<u8>, Refusal> {
    read_file(option, path, limits::PEM_BYTES)
}

/// Reads one byte more than is allowed at most, so that what is too large is seen.
fn read_file(option: &str, path: &Path, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(most as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| Refusal(USAGE, format!("{option}: cannot read {}: {e}", path.display())))?;
    Ok(bytes)
}

/// The option that sets a field of the plan.
fn option_name(field: &str, urls: &[String]) -> String {
    let option = match field {
        "from" | "to" => "--maintain",
        "duration_s" => "--duration",
        "timeout_ms" => "--timeout",
        "idle_timeout_ms" => "--idle-timeout",
        "warm_up_s" => "--warm-up",
        other if other.starts_with("stages") => "--stage",
        other if other.ends_with(".url") => {
            let index = other.trim_start_matches("requests[").split(']').next().and_then(|n| n.parse::<usize>().ok());
            // Only the scheme and host part before any user name may be repeated: URLs can hold passwords.
            return match index.and_then(|i| urls.get(i)) {
                Some(url) if !url.contains('@') => {
                    format!("the address “{}”", url.chars().take(80).collect::<String>().escape_debug())
                }
                _ => "the address".to_owned(),
            };
        }
        other if other.ends_with(".headers") => "--header",
        other if other.ends_with(".body") => "--body",
        other if other.ends_with(".basic_auth") => "--basic-auth",
        "rate" => "--per-second",
        other => return format!("--{}", other.replace('_', "-")),
    };
    option.to_owned()
}

/// Runs the command. The exit code is 0 when it finished and every limit held, 1 when a limit was broken, the run was cut short or
/// nothing was answered, 2 for arguments that make no plan, 3 when it could not start.
pub fn main(args: &Args) -> ExitCode {
    match run(args) {
        Ok(code) => ExitCode::from(code),
        Err(Refusal(code, text)) => {
            eprintln!("oleada bench: {text}");
            ExitCode::from(code)
        }
    }
}

fn run(args: &Args) -> Result<u8, Refusal> {
    let plan = args.plan()?;
    let refused = |e: StartError| Refusal(NO_START, format!("cannot start: {e}"));
    net::check_descriptors(&plan).map_err(refused)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Refusal(NO_START, format!("cannot start: {e}")))?;
    let client_identity = args.client_identity()?;
    let options = Options {
        threads: args.threads,
        resolve: args.resolve.clone(),
        dns_server: args.dns_server,
        client_identity,
        ..Options::default()
    };
    for warning in plan.requests().iter().filter_map(|r| lookalike::warning(&r.target)).collect::<BTreeSet<_>>() {
        eprintln!("warning: {warning}");
    }
    runtime.block_on(net::preflight(&plan, &options)).map_err(refused)?;
    // Before the run: it may leave no descriptor for it.
    let signals = {
        let _inside = runtime.enter();
        Signals::new().map_err(|e| Refusal(NO_START, format!("cannot listen to signals: {e}")))?
    };
    let running = net::start(plan.clone(), options).map_err(refused)?;
    let outcome = runtime.block_on(watch(running, signals, args, &plan))?;
    let document = outcome.document(&plan, args.json && args.seconds);
    print(args, &document)?;
    Ok(exit_code(args, &document))
}

/// All that a run left behind.
struct Outcome {
    totals: Window,
    points: Vec<Point>,
    started_at: String,
    end: Box<RunEnd>,
}

impl Outcome {
    fn document(self, plan: &Plan, seconds: bool) -> ResultDoc {
        Record {
            plan,
            started_at: self.started_at,
            duration: self.end.duration,
            end: Some(self.end.end_reason),
            totals: &self.totals,
            in_flight_at_end_us: &self.end.in_flight_at_end_us,
            clients_capped: self.end.clients_capped,
            threads: self.end.threads,
            max_rss_mb: self.end.max_rss_mb,
        }
        .document(seconds.then_some(self.points))
    }
}

/// Ctrl-C and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Must be called inside a runtime.
    fn new() -> std::io::Result<Signals> {
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next of either.
    async fn next(&mut self) {
        tokio::select! { _ = self.interrupt.recv() => (), _ = self.terminate.recv() => () }
    }
}

/// Follows the run second by second. The first Ctrl-C or SIGTERM stops it, the second cuts it; a report comes in any case.
async fn watch(mut running: Running, mut signals: Signals, args: &Args, plan: &Plan) -> Result<Outcome, Refusal> {
    let stopper = running.stopper();
    let started_at = clock::rfc3339(running.started_at_unix_ms());
    let (mut totals, mut points, mut asked) = (Window::new(0, plan.requests().len()), Vec::new(), 0);
    loop {
        tokio::select! {
            event = running.next() => match event {
                Some(Event::Second(window)) => {
                    totals.merge(&window, Merge::OtherSecond);
                    if !args.quiet {
                        progress(&window, &totals, plan);
                    }
                    if args.json && args.seconds {
                        points.push(Point::of(&window));
                    }
                }
                Some(Event::Finished(end)) => return Ok(Outcome { totals, points, started_at, end }),
                None => return Err(Refusal(FAILED, "the generator's threads ended without a result".to_owned())),
            },
            () = signals.next() => {
                asked += 1;
                if asked == 1 { stopper.stop() } else { stopper.interrupt() }
            }
        }
    }
}

fn progress(window: &Window, totals: &Window, plan: &Plan) {
    let point = Point::of(window);
    let of = plan.planned_requests().map_or(String::new(), |n| format!(" of {n}"));
    eprintln!(
        "{:>5} s  clients {:<6} sent {}{of}  ok {}  errors {}  p50 {}  p99 {}",
        window.t + 1,
        point.clients.round(),
        totals.ledger.sent,
        totals.ledger.ok,
        totals.ledger.errors(),
        units::ms(point.p50),
        units::ms(point.p99),
    );
}

fn print(args: &Args, document: &ResultDoc) -> Result<(), Refusal> {
    let text = if args.json {
        serde_json::to_string(document).map_err(|e| Refusal(FAILED, e.to_string()))? + "\n"
    } else {
        bench_report::text(document, &args.fail_if)
    };
    // A closed pipe is the reader's choice, not a fault.
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Refusal(FAILED, format!("cannot write the report: {e}")))
        }
        _ => Ok(()),
    }
}

fn exit_code(args: &Args, document: &ResultDoc) -> u8 {
    let broken: Vec<_> = args.fail_if.iter().filter(|f| f.is_broken_by(document)).collect();
    for condition in &broken {
        let measured = condition.measured(document).map_or("no value".to_owned(), |v| format!("{v:.3}"));
        eprintln!("failed: {condition} (measured {measured})");
    }
    let limits: Vec<_> = document.limits.iter().filter(|limit| !limit.held).collect();
    for limit in &limits {
        let of = limit.request.map(|i| format!(" of request {}", i + 1)).unwrap_or_default();
        let measured = limit.value.map_or("no value".to_owned(), |v| format!("{v:.3}"));
        eprintln!("failed: {}{of} (measured {measured})", limit.text);
    }
    let unanswered = document.ledger.answered() == 0;
    if unanswered {
        eprintln!("failed: nothing that was sent was answered");
    }
    let completed = document.end_reason == Some(EndReason::Completed);
    if broken.is_empty() && limits.is_empty() && completed && !unanswered { OK } else { FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn plan(line: &str) -> Result<Plan, (u8, String)> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Cli::try_parse_from(words).unwrap().args.plan().map_err(|r| (r.0, r.1))
    }

    #[test]
    fn each_type_of_load_has_its_option() {
        let url = "http://127.0.0.1:9900/";
        for (options, load, duration) in [
            ("--requests 5 --clients 2", Load::FixedCount { requests: 5, clients: 2 }, None),
            ("--per-test 7 --duration 10s", Load::PerTest { clients: 7 }, Some(10.0)),
            ("--per-second 2.5", Load::PerSecond { rate: 2.5 }, Some(60.0)),
            ("--maintain 1..9 --duration 500ms", Load::Maintain { from: 1, to: 9 }, Some(0.5)),
            ("--maintain 4", Load::Maintain { from: 4, to: 4 }, Some(60.0)),
            ("--clients 3 --duration 2s", Load::Maintain { from: 3, to: 3 }, Some(2.0)),
        ] {
            let plan = plan(&format!("{options} {url}")).unwrap();
            assert_eq!((plan.load(), plan.spec().duration_s), (load, duration), "{options}");
        }
    }

    #[test]
    fn a_name_server_is_an_address_with_a_port_or_without() {
        for (text, server) in [
            ("192.0.2.1", "192.0.2.1:53"),
            ("192.0.2.1:5353", "192.0.2.1:5353"),
            ("2001:db8::1", "[2001:db8::1]:53"),
            ("[2001:db8::1]", "[2001:db8::1]:53"),
            ("[2001:db8::1]:5353", "[2001:db8::1]:5353"),
        ] {
            assert_eq!(parse_dns_server(text).unwrap(), server.parse().unwrap(), "{text}");
        }
        for bad in ["", "dns.test", "192.0.2.1:", "192.0.2.1:x", "192.0.2.1:99999", "[192.0.2.1"] {
            assert!(parse_dns_server(bad).unwrap_err().contains("name server"), "{bad}");
        }
    }

    #[test]
    fn stages_follow_the_first_value() {
        let plan = plan("--per-second 0 --stage 10s:50 --stage 500ms:5.5 http://127.0.0.1:9900/").unwrap();
        assert_eq!(plan.load(), Load::PerSecond { rate: 0.0 });
        assert_eq!(plan.stages(), [Stage { duration_s: 10.0, to: 50.0 }, Stage { duration_s: 0.5, to: 5.5 }]);
        assert_eq!(plan.spec().duration_s, Some(10.5));
    }

    #[test]
    fn a_plan_written_as_a_command_is_the_same_plan() {
        let request = RequestSpec {
            method: Method::Put,
            url: "http://127.0.0.1:9900/a?b=it's".to_owned(),
            headers: vec![("X-e".to_owned(), "\"q\" $x".to_owned()), ("X-e".to_owned(), String::new())],
            body: Some("-x '\n\" é".to_owned()),
            basic_auth: Some(Credentials { user: "u".to_owned(), password: "p: w".to_owned() }),
            ..RequestSpec::default()
        };
        let other = RequestSpec { url: "http://127.0.0.1:9900/{{$uuid}}".to_owned(), ..request.clone() };
        let written = Plan::try_from(PlanSpec {
            load: Load::Maintain { from: 0, to: 9 },
            stages: vec![Stage { duration_s: 1.5, to: 5.0 }, Stage { duration_s: 10.0, to: 9.0 }],
            duration_s: None,
            timeout_ms: 2500.0,
            idle_timeout_ms: Some(100.0),
            error_threshold: 100.0,
            reuse: Reuse::Off,
            http: HttpVersion::Http1,
            insecure: true,
            min_tls: TlsVersion::Tls13,
            end: AtEnd::Abort,
            redirects: Redirects::Off,
            max_clients: Some(7),
            warm_up_s: 2.0,
            requests: vec![request, other],
            ..PlanSpec::default()
        })
        .unwrap();
        let (command, left_out) = oleada_import::to_bench_command(written.spec());
        assert!(left_out.is_empty(), "{left_out:?}");
        let read = oleada_import::shell::commands(&command).unwrap();
        let words = &read.commands[0][1..];
        let read = Cli::try_parse_from(words).unwrap().args.plan().map_err(|r| r.1).unwrap();
        assert_eq!(read, written);
    }

    #[test]
    fn what_makes_no_plan_is_a_usage_error_that_names_the_option() {
        for (line, name) in [
            ("--timeout 0s http://127.0.0.1/", "--timeout"),
            ("--per-second 0 http://127.0.0.1/", "--per-second"),
            ("--requests 0 http://127.0.0.1/", "--requests"),
            ("--maintain 0 http://127.0.0.1/", "--maintain"),
            ("nonsense", "the address “nonsense”"),
            ("--threads 0 http://127.0.0.1/", "--threads"),
            ("--body @/does/not/exist http://127.0.0.1/", "--body"),
            ("--plan /does/not/exist", "--plan"),
            ("--stage 1s:5 http://127.0.0.1/", "--stage"),
            ("--maintain 1 --stage 1s:1.5 http://127.0.0.1/", "--stage"),
        ] {
            let (code, text) = plan(line).unwrap_err();
            assert_eq!(code, USAGE);
            assert!(text.contains(name), "{line}: {text}");
        }
        let (_, text) = plan("htp://u:secret@127.0.0.1/").unwrap_err();
        assert!(!text.contains("secret"), "{text}");
    }
}

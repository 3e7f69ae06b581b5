//! Measures the generator: a fixed count against one URL, then requests per second and processor time per request.
//!
//! `cargo run --release -p oleada-engine --features net --example load -- URL REQUESTS CLIENTS [THREADS] [off]`
//!
//! With `@FILE` as URL, the plan in that file (JSON) is run instead; of the rest only THREADS counts.
//!
//! With `rate` as last word, REQUESTS are the clients that arrive each second for 5 s, and CLIENTS is the cap.

use oleada_engine::net::{Event, Options, start};
use oleada_engine::plan::{Load, Plan, PlanSpec, RequestSpec, Reuse};
use oleada_engine::window::{Merge, Window};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, requests, clients, rest @ ..] = &arguments[..] else {
        return Err("usage: load URL REQUESTS CLIENTS [THREADS] [off]".into());
    };
    let reuse = if rest.iter().any(|a| a == "off") { Reuse::Off } else { Reuse::Client };
    let open = rest.iter().any(|a| a == "rate");
    let written = match url.strip_prefix('@') {
        Some(file) => Some(serde_json::from_str(&std::fs::read_to_string(file)?)?),
        None => None,
    };
    let spec = written.map_or_else(|| of_arguments(url, requests, clients, reuse, open), Ok)?;
    let plan = Plan::try_from(spec)?;
    let threads = rest.first().and_then(|a| a.parse().ok()).unwrap_or(1);
    let before = cpu()?;
    let mut run = start(plan, Options { threads: Some(threads), ..Options::default() })?;
    let mut totals = Window::new(0, 1);
    while let Some(event) = run.next_blocking() {
        match event {
            Event::Second(window) => totals.merge(&window, Merge::OtherSecond),
            Event::Finished(end) => {
                let (user, system) = cpu()?;
                let n = totals.ledger.finished() as f64;
                println!(
                    "{:.0} requests/s, user {:.2} + system {:.2} = {:.2} µs per request, {} ok of {}, p50 {:?} p99 {:?} max {:?} µs, {} opened, {} reconnects, peak {:.1} MB, late p50 {:?} p99 {:?} µs, {} dropped, {:?}",
                    n / end.duration.as_secs_f64(),
                    (user - before.0) * 1e6 / n,
                    (system - before.1) * 1e6 / n,
                    (user - before.0 + system - before.1) * 1e6 / n,
                    totals.ledger.ok,
                    totals.ledger.sent,
                    totals.latency.percentile_us(50_000).unwrap_or(0),
                    totals.latency.percentile_us(99_000).unwrap_or(0),
                    totals.latency.max_us().unwrap_or(0),
                    totals.counters.opened,
                    totals.counters.reconnects,
                    end.max_rss_mb.unwrap_or(0.0),
                    totals.lateness.percentile_us(50_000).unwrap_or(0),
                    totals.lateness.percentile_us(99_000).unwrap_or(0),
                    totals.ledger.dropped,
                    totals.errors.rows().first(),
                );
            }
        }
    }
    Ok(())
}

fn of_arguments(
    url: &str,
    requests: &str,
    clients: &str,
    reuse: Reuse,
    open: bool,
) -> Result<PlanSpec, Box<dyn std::error::Error>> {
    Ok(PlanSpec {
        load: if open {
            Load::PerSecond { rate: requests.parse()? }
        } else {
            Load::FixedCount { requests: requests.parse()?, clients: clients.parse()? }
        },
        duration_s: open.then_some(5.0),
        max_clients: if open { Some(clients.parse()?) } else { None },
        requests: vec![RequestSpec { url: url.to_owned(), ..RequestSpec::default() }],
        reuse,
        ..PlanSpec::default()
    })
}

/// User and system time of this process in seconds.
fn cpu() -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| -> Result<f64, Box<dyn std::error::Error>> {
        Ok(fields.get(i).ok_or("short stat")?.parse::<f64>()? / 100.0)
    };
    Ok((ticks(11)?, ticks(12)?))
}

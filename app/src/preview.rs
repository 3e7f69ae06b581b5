//! What a test will do, from the engine's own arithmetic: shown beside the form while it is filled in.

use std::time::Duration;

use oleada_engine::arrivals::{Arrivals, Population};
use oleada_engine::plan::limits::{self, Bound};
use serde::{Deserialize, Serialize};

use crate::chart::{Chart, Mark, Series, Side};
use crate::format;
use crate::plan_form::PlanForm;

/// The fields that decide when clients arrive, as typed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadInput {
    /// Type of load.
    pub load: String,
    /// Clients over the test.
    pub per_test: String,
    /// Clients per second.
    pub rate: String,
    /// Clients at the start.
    pub from: String,
    /// Clients at the end.
    pub to: String,
    /// Requests in all.
    pub request_count: String,
    /// Clients at once.
    pub clients: String,
    /// Length.
    pub duration_s: String,
    /// Requests each client makes.
    pub rows: u64,
}

impl LoadInput {
    /// From the form.
    pub fn of(form: &PlanForm) -> LoadInput {
        LoadInput {
            load: form.load.clone(),
            per_test: form.per_test.clone(),
            rate: form.rate.clone(),
            from: form.from.clone(),
            to: form.to.clone(),
            request_count: form.request_count.clone(),
            clients: form.clients.clone(),
            duration_s: form.duration_s.clone(),
            rows: form.requests.len().max(1) as u64,
        }
    }
}

/// What is shown: sentences, and a drawing if there is anything to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The main figure in a sentence.
    pub headline: String,
    /// The rest.
    pub detail: String,
    /// Arrivals or clients over time.
    pub chart: Option<Chart>,
}

/// Points drawn.
const POINTS: u32 = 60;
/// Response time assumed where the number of requests depends on it, in seconds.
const ASSUMED_S: f64 = 0.1;

/// Works it out; a field that is not a number inside its bounds is asked for instead.
pub fn preview(input: &LoadInput) -> Preview {
    let missing = |bound: Bound, what: &str| Preview {
        headline: "No preview yet".to_owned(),
        detail: format!("{what} {}.", bound.sentence()),
        chart: None,
    };
    let number = |text: &str, bound: Bound| text.trim().parse::<f64>().ok().filter(|v| bound.contains(*v));
    if input.load == "fixed_count" {
        let Some(requests) = number(&input.request_count, limits::REQUESTS) else {
            return missing(limits::REQUESTS, "Requests");
        };
        let Some(clients) = number(&input.clients, limits::CLIENTS) else {
            return missing(limits::CLIENTS, "Clients at once");
        };
        return fixed_count(requests as u64, clients as u64);
    }
    let Some(seconds) = number(&input.duration_s, limits::DURATION_S) else {
        return missing(limits::DURATION_S, "Duration");
    };
    let duration = Duration::from_secs_f64(seconds);
    match input.load.as_str() {
        "per_test" => match number(&input.per_test, limits::PER_TEST) {
            Some(clients) => arrivals(Arrivals::spread(clients as u64, duration), duration, input.rows),
            None => missing(limits::PER_TEST, "Clients"),
        },
        "per_second" => match number(&input.rate, limits::RATE) {
            Some(rate) => arrivals(Arrivals::at_rate(rate, duration), duration, input.rows),
            None => missing(limits::RATE, "Clients per second"),
        },
        "maintain" => match (number(&input.from, limits::FROM), number(&input.to, limits::TO)) {
            (Some(from), Some(to)) => maintain(from as u32, to as u32, duration),
            (None, _) => missing(limits::FROM, "Clients at the start"),
            (_, None) => missing(limits::TO, "Clients at the end"),
        },
        _ => {
            Preview { headline: "No preview yet".to_owned(), detail: "Choose a type of load.".to_owned(), chart: None }
        }
    }
}

fn fixed_count(requests: u64, clients: u64) -> Preview {
    Preview {
        headline: format!("This sends exactly {}", format::plural(requests, "request", "requests")),
        detail: format!(
            "{} take turns: each sends its next request when the one before is answered. How long that takes is up to the target.",
            format::plural(clients.min(requests), "client", "clients")
        ),
        chart: None,
    }
}

fn arrivals(arrivals: Arrivals, duration: Duration, rows: u64) -> Preview {
    let (count, seconds) = (arrivals.count(), duration.as_secs_f64());
    let total = count.saturating_mul(rows);
    let each = if rows == 1 { String::new() } else { format!(" Each makes {rows} requests.") };
    // Stretches long enough that one client more or less in one of them does not look like a wave.
    let stretches = ((count / 20) as u32).clamp(6, POINTS);
    let step = seconds / f64::from(stretches);
    let rate = |i: u32| {
        let started = arrivals.before(Duration::from_secs_f64(f64::from(i + 1) * step))
            - arrivals.before(Duration::from_secs_f64(f64::from(i) * step));
        started as f64 / step
    };
    let samples = (0..=stretches).map(|i| (f64::from(i) * step, rate(i.min(stretches - 1))));
    Preview {
        headline: format!("This sends about {}", format::plural(total, "request", "requests")),
        detail: format!(
            "{} start over {}: one every {}.{each} They do not wait for each other, however slow the target is.",
            format::plural(count, "client", "clients"),
            format::duration_s(seconds),
            if count > 0 { format::ms(Some(seconds / count as f64 * 1000.0)) } else { format::NONE.to_owned() }
        ),
        chart: Some(chart("Clients started per second", samples.collect(), seconds, step)),
    }
}

fn maintain(from: u32, to: u32, duration: Duration) -> Preview {
    let seconds = duration.as_secs_f64();
    let population = Population::new(from, to, duration);
    let step = seconds / f64::from(POINTS);
    // The last place is just before the end: at the end itself everybody has left.
    let at = |i: u32| (f64::from(i) * step).min(seconds * 0.999_999);
    let samples = (0..=POINTS).map(|i| (at(i), f64::from(population.at(Duration::from_secs_f64(at(i)))))).collect();
    let client_seconds = f64::from(from + to) / 2.0 * seconds;
    let shape = if from == to {
        format!("{} at once", format::plural(u64::from(to), "client", "clients"))
    } else {
        format!("From {} to {} clients at once", format::count(u64::from(from)), format::count(u64::from(to)))
    };
    Preview {
        headline: format!("{shape} for {}", format::duration_s(seconds)),
        detail: format!(
            "Each sends its next request when the one before is answered, so the number depends on the target: about {} if every answer takes 100 ms.",
            format::plural((client_seconds / ASSUMED_S).round() as u64, "request", "requests")
        ),
        chart: Some(chart("Clients at once", samples, seconds, step)),
    }
}

fn chart(title: &str, samples: Vec<(f64, f64)>, end_s: f64, step_s: f64) -> Chart {
    let top = samples.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    Chart {
        id: "preview".to_owned(),
        title: title.to_owned(),
        description: format!("{title} over {}: at most {}.", format::duration_s(end_s), format::number(top)),
        left: title.to_owned(),
        right: None,
        series: vec![Series {
            label: title.to_owned(),
            class: "s-preview".to_owned(),
            side: Side::Left,
            mark: Mark::Area,
            unit: String::new(),
            samples,
            hidden: false,
        }],
        bands: Vec::new(),
        end_s,
        step_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(load: &str) -> LoadInput {
        LoadInput { load: load.into(), rows: 1, ..LoadInput::of(&PlanForm::default()) }
    }

    #[test]
    fn the_number_of_requests_is_the_engines_own() {
        let per_second = LoadInput { rate: "1000".into(), rows: 2, ..input("per_second") };
        assert_eq!(preview(&per_second).headline, "This sends about 120,000 requests");
        assert_eq!(preview(&input("per_test")).headline, "This sends about 250 requests");
        assert_eq!(preview(&input("fixed_count")).headline, "This sends exactly 1,000 requests");
        assert_eq!(
            preview(&LoadInput { from: "0".into(), to: "50".into(), ..input("maintain") }).headline,
            "From 0 to 50 clients at once for 1 min"
        );
    }

    #[test]
    fn what_cannot_be_read_is_asked_for() {
        for rate in ["", "ten", "-1", "NaN", "1e99"] {
            let preview = preview(&LoadInput { rate: rate.into(), ..input("per_second") });
            assert_eq!(
                preview.detail, "Clients per second must be between 0.001 and 1,000,000 clients per second.",
                "{rate}"
            );
            assert_eq!(preview.chart, None);
        }
    }

    #[test]
    fn a_ramp_ends_where_it_should() {
        let preview = preview(&LoadInput { from: "20".into(), to: "0".into(), ..input("maintain") });
        let samples = &preview.chart.unwrap().series[0].samples;
        assert_eq!((samples[0].1, samples[30].1, samples[60].1), (20.0, 10.0, 0.0));
    }
}

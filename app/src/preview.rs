//! What a test will do, from the engine's own arithmetic: shown beside the form while it is filled in.

use std::time::Duration;

use oleada_engine::arrivals::{Arrivals, Population};
use oleada_engine::plan::Stage;
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
    /// How the load goes on: length in seconds and the value at its end.
    pub stages: Vec<[String; 2]>,
    /// Pause after each reply, shortest and longest, in ms.
    pub think: [String; 2],
    /// Time between two beginnings of the list, shortest and longest, in ms.
    pub pacing: [String; 2],
    /// Warm-up in seconds.
    pub warm_up_s: String,
    /// Requests each client makes each time.
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
            stages: form.stages.iter().map(|s| [s.duration_s.clone(), s.to.clone()]).collect(),
            think: form.think.clone(),
            pacing: form.pacing.clone(),
            warm_up_s: form.warm_up_s.clone(),
            rows: if form.order == "weighted" { 1 } else { form.requests.len().max(1) as u64 },
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
/// Places at which clients are counted to estimate their requests.
const FINE: u32 = 1000;
/// Response time assumed where the number of requests depends on it, in seconds.
const ASSUMED_S: f64 = 0.1;

/// Works it out; a field that is not a number inside its bounds is asked for instead.
pub fn preview(input: &LoadInput) -> Preview {
    let mut shown = of_load(input);
    let warm_up = number(&input.warm_up_s, limits::WARM_UP_S).unwrap_or(0.0);
    if warm_up > 0.0 && shown.chart.is_some() {
        shown.detail.push_str(&format!(" Before that, {} of warm-up are not counted.", format::duration_s(warm_up)));
    }
    shown
}

/// What is asked for instead of a drawing.
fn asked(sentence: String) -> Preview {
    Preview { headline: "No preview yet".to_owned(), detail: sentence, chart: None }
}

fn missing(bound: Bound, what: &str) -> String {
    format!("{what} {}.", bound.sentence())
}

fn number(text: &str, bound: Bound) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|v| bound.contains(*v))
}

/// The average of a pause, in seconds; what cannot be read is none.
fn pause_s([least, most]: &[String; 2]) -> f64 {
    let least = number(least, limits::PAUSE_MS).unwrap_or(0.0);
    let most = number(most, limits::PAUSE_MS).unwrap_or(least).max(least);
    (least + most) / 2000.0
}

/// The stages, or what is asked for; blank rows are none.
fn stages(input: &LoadInput, most: Bound) -> Result<Vec<Stage>, String> {
    let written = input.stages.iter().enumerate().filter(|(_, stage)| stage.iter().any(|text| !text.trim().is_empty()));
    let stages: Vec<Stage> = written
        .map(|(i, [length, to])| {
            let length_bound = Bound { min: 0.0, ..limits::DURATION_S };
            let duration_s = number(length, length_bound)
                .ok_or_else(|| missing(length_bound, &format!("Stage {}: length", i + 1)))?;
            let to = number(to, most).ok_or_else(|| missing(most, &format!("Stage {}: value at the end", i + 1)))?;
            Ok(Stage { duration_s, to })
        })
        .collect::<Result<_, String>>()?;
    let sum: f64 = stages.iter().map(|stage| stage.duration_s).sum();
    if stages.is_empty() || limits::DURATION_S.contains(sum) {
        Ok(stages)
    } else {
        Err(missing(limits::DURATION_S, "The length of all stages"))
    }
}

fn staged(input: &LoadInput) -> Result<Preview, String> {
    let walk = Walk { rows: input.rows, think_s: pause_s(&input.think), pacing_s: pause_s(&input.pacing) };
    let zero = |bound: Bound| Bound { min: 0.0, ..bound };
    if input.load == "per_second" {
        let stages = stages(input, zero(limits::RATE))?;
        let bound = if stages.is_empty() { limits::RATE } else { zero(limits::RATE) };
        let rate = number(&input.rate, bound).ok_or_else(|| missing(bound, "Clients per second"))?;
        if stages.is_empty() {
            let duration = duration(input)?;
            return Ok(arrivals(&Arrivals::at_rate(rate, duration), duration, input.rows, true));
        }
        let duration = sum(&stages);
        return Ok(arrivals(&Arrivals::staged(rate, &stages), duration, input.rows, false));
    }
    let stages = stages(input, limits::TO)?;
    let from = number(&input.from, limits::FROM).ok_or_else(|| missing(limits::FROM, "Clients at the start"))?;
    if stages.is_empty() {
        let to = number(&input.to, limits::TO).ok_or_else(|| missing(limits::TO, "Clients at the end"))?;
        let duration = duration(input)?;
        return Ok(maintain(
            &Population::new(from as u32, to as u32, duration),
            from as u32,
            to as u32,
            duration,
            walk,
        ));
    }
    let to = stages.last().map_or(0, |stage| stage.to as u32);
    let shape = Population::staged(from as u32, &stages);
    Ok(maintain(&shape, from as u32, to, sum(&stages), walk))
}

fn sum(stages: &[Stage]) -> Duration {
    stages.iter().map(Stage::duration).sum()
}

fn duration(input: &LoadInput) -> Result<Duration, String> {
    let seconds = number(&input.duration_s, limits::DURATION_S);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| missing(limits::DURATION_S, "Duration"))
}

fn of_load(input: &LoadInput) -> Preview {
    if input.load == "fixed_count" {
        let Some(requests) = number(&input.request_count, limits::REQUESTS) else {
            return asked(missing(limits::REQUESTS, "Requests"));
        };
        let Some(clients) = number(&input.clients, limits::CLIENTS) else {
            return asked(missing(limits::CLIENTS, "Clients at once"));
        };
        return fixed_count(requests as u64, clients as u64);
    }
    match input.load.as_str() {
        "per_test" => match (number(&input.per_test, limits::PER_TEST), duration(input)) {
            (_, Err(sentence)) => asked(sentence),
            (Some(clients), Ok(duration)) => {
                arrivals(&Arrivals::spread(clients as u64, duration), duration, input.rows, true)
            }
            (None, _) => asked(missing(limits::PER_TEST, "Clients")),
        },
        "per_second" | "maintain" => staged(input).unwrap_or_else(asked),
        _ => asked("Choose a type of load.".to_owned()),
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

/// How a client goes through the list.
#[derive(Clone, Copy)]
struct Walk {
    rows: u64,
    think_s: f64,
    pacing_s: f64,
}

fn arrivals(arrivals: &Arrivals, duration: Duration, rows: u64, even: bool) -> Preview {
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
            "{} start over {}{}.{each} They do not wait for each other, however slow the target is.",
            format::plural(count, "client", "clients"),
            format::duration_s(seconds),
            if count > 0 && even {
                format!(": one every {}", format::ms(Some(seconds / count as f64 * 1000.0)))
            } else {
                String::new()
            }
        ),
        chart: Some(chart("Clients started per second", samples.collect(), seconds, step)),
    }
}

fn maintain(population: &Population, from: u32, to: u32, duration: Duration, walk: Walk) -> Preview {
    let seconds = duration.as_secs_f64();
    let step = seconds / f64::from(POINTS);
    // The last place is just before the end: at the end itself everybody has left.
    let at = |i: u32| (f64::from(i) * step).min(seconds * 0.999_999);
    let clients = |t: f64| f64::from(population.at(Duration::from_secs_f64(t)));
    let samples = (0..=POINTS).map(|i| (at(i), clients(at(i)))).collect();
    let middles = (0..FINE).map(|i| clients((f64::from(i) + 0.5) / f64::from(FINE) * seconds));
    let client_seconds = middles.sum::<f64>() / f64::from(FINE) * seconds;
    let list_s = (walk.rows as f64 * (ASSUMED_S + walk.think_s)).max(walk.pacing_s);
    let requests = client_seconds / list_s * walk.rows as f64;
    let pauses = if walk.think_s > 0.0 || walk.pacing_s > 0.0 { ", pauses included" } else { "" };
    let most = population.most();
    let shape = if most > from.max(to) {
        format!("Up to {} clients at once", format::count(u64::from(most)))
    } else if from == to {
        format!("{} at once", format::plural(u64::from(to), "client", "clients"))
    } else {
        format!("From {} to {} clients at once", format::count(u64::from(from)), format::count(u64::from(to)))
    };
    Preview {
        headline: format!("{shape} for {}", format::duration_s(seconds)),
        detail: format!(
            "Each sends its next request when the one before is answered, so the number depends on the target: about {} if every answer takes 100 ms{pauses}.",
            format::plural(requests.round() as u64, "request", "requests")
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
    fn stages_are_drawn_and_counted_by_the_engine() {
        let stages = |list: &[(&str, &str)]| list.iter().map(|(l, to)| [(*l).into(), (*to).into()]).collect();
        let rate = LoadInput {
            rate: "0".into(),
            duration_s: "not read".into(),
            warm_up_s: "5".into(),
            stages: stages(&[("10", "20"), ("", " "), ("10", "20"), ("10", "0")]),
            ..input("per_second")
        };
        let shown = preview(&rate);
        assert_eq!(shown.headline, "This sends about 400 requests");
        assert!(shown.detail.starts_with("400 clients start over 30 s.") && shown.detail.contains("5 s of warm-up"));
        assert_eq!(shown.chart.unwrap().end_s, 30.0);
        let clients = LoadInput {
            from: "0".into(),
            to: "x".into(),
            think: ["100".into(), "300".into()],
            stages: stages(&[("10", "20"), ("10", "20"), ("10", "0")]),
            ..input("maintain")
        };
        let shown = preview(&clients);
        assert_eq!(shown.headline, "Up to 20 clients at once for 30 s");
        assert!(
            shown.detail.ends_with("about 1,333 requests if every answer takes 100 ms, pauses included."),
            "{}",
            shown.detail
        );
        let paced = preview(&LoadInput { pacing: ["3000".into(), "".into()], ..clients.clone() });
        assert!(paced.detail.contains("about 133 requests"), "{}", paced.detail);
        let bad = preview(&LoadInput { stages: stages(&[("10", "20"), ("10", "a")]), ..clients });
        assert_eq!(bad.detail, "Stage 2: value at the end must be between 0 and 100,000 clients.");
    }

    #[test]
    fn a_ramp_ends_where_it_should() {
        let preview = preview(&LoadInput { from: "20".into(), to: "0".into(), ..input("maintain") });
        let samples = &preview.chart.unwrap().series[0].samples;
        assert_eq!((samples[0].1, samples[30].1, samples[60].1), (20.0, 10.0, 0.0));
    }
}

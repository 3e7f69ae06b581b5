//! The tables.

use super::Turn;
use super::cases::Case;
use super::peers::Job;

/// Median, smallest and largest of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Spread {
    /// The median is the lower of the two middle ones where there are two.
    fn of(mut figures: Vec<f64>) -> Spread {
        figures.sort_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        Spread {
            median: at(figures.len().saturating_sub(1) / 2),
            least: at(0),
            most: at(figures.len().saturating_sub(1)),
        }
    }
}

/// What one generator needed.
#[derive(Debug)]
pub(super) struct Row<'a> {
    name: &'a str,
    cost: Spread,
    user: Spread,
    system: Spread,
    rate: Spread,
    peak_mb: Spread,
    failed: u64,
}

impl<'a> Row<'a> {
    pub(super) fn new(name: &'a str, turns: &[Turn]) -> Row<'a> {
        let of = |figure: &dyn Fn(&Turn) -> f64| Spread::of(turns.iter().map(figure).collect());
        let each = |seconds: f64, turn: &Turn| seconds * 1e6 / turn.requests.max(1) as f64;
        Row {
            name,
            cost: of(&Turn::cost),
            user: of(&|turn| each(turn.usage.user_s, turn)),
            system: of(&|turn| each(turn.usage.system_s, turn)),
            rate: of(&|turn| turn.requests as f64 / turn.usage.wall_s),
            peak_mb: of(&|turn| turn.usage.peak_mb),
            failed: turns.iter().map(|turn| turn.failed).sum(),
        }
    }
}

/// Prints a case; the first row is ours. Tells whether its bounds hold.
pub(super) fn print(case: &Case, job: &Job, rows: &[Row<'_>]) -> bool {
    println!("\n{}: {} clients, {} requests a turn", case.name, job.clients, job.requests);
    println!(
        "  {:<8} {:>26} {:>8} {:>8} {:>10} {:>8} {:>7} {:>7}",
        "", "µs/request (least–most)", "user", "system", "req/s", "peak MB", "failed", "ratio"
    );
    let Some(own) = rows.first() else { return true };
    for row in rows {
        let cost = format!("{:.2} ({:.2}–{:.2})", row.cost.median, row.cost.least, row.cost.most);
        println!(
            "  {:<8} {cost:>26} {:>8.2} {:>8.2} {:>10.0} {:>8.1} {:>7} {:>7.2}",
            row.name,
            row.user.median,
            row.system.median,
            row.rate.median,
            row.peak_mb.median,
            row.failed,
            own.cost.median / row.cost.median
        );
    }
    let mut met = true;
    let mut say = |holds: bool, what: String| {
        println!("  {what}: {}", if holds { "holds" } else { "DOES NOT HOLD" });
        met &= holds;
    };
    let named = |name: &str| rows.iter().find(|row| row.name == name);
    for limit in case.limits.iter().filter(|limit| limit.instead_of.is_none_or(|name| named(name).is_none())) {
        match (named(limit.peer), limit.instead_of) {
            (Some(peer), Some(other)) => {
                let most = peer.cost.median * limit.ratio;
                let what = format!(
                    "{:.2} µs, below {other}'s {most:.2} µs ({:.2} of {})",
                    own.cost.median, limit.ratio, limit.peer
                );
                say(own.cost.median <= most, what);
            }
            (Some(peer), None) => {
                let ratio = own.cost.median / peer.cost.median;
                say(ratio <= limit.ratio, format!("{ratio:.2} of {}, bound {:.2}", limit.peer, limit.ratio));
            }
            (None, _) => println!("  no {} here to compare with", limit.peer),
        }
    }
    if let Some(most) = case.peak_mb {
        say(own.peak_mb.most <= most, format!("{:.1} MB at most, bound {most:.0}", own.peak_mb.most));
    }
    if own.failed > 0 {
        say(false, format!("{} of our requests failed, bound 0", own.failed));
    }
    met
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::cases;
    use crate::bench::measure::Usage;

    fn turns(user_s: &[f64]) -> Vec<Turn> {
        let turn = |&user_s: &f64| Turn {
            requests: 1_000_000,
            failed: 0,
            usage: Usage { user_s, system_s: 1.0, wall_s: 10.0, peak_mb: 20.0 },
        };
        user_s.iter().map(turn).collect()
    }

    #[test]
    fn the_median_is_a_measured_figure() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { median: 2.0, least: 1.0, most: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0]), Spread { median: 1.0, least: 1.0, most: 4.0 });
    }

    #[test]
    fn a_bound_that_does_not_hold_is_told() {
        let case = cases::ALL.iter().find(|case| case.name == "keep-alive-1000").unwrap();
        let job = Job { url: String::new(), requests: 1, clients: 1, reuse: true, plan: None };
        let (wrk, slow) = (turns(&[1.0, 1.0, 9.0]), turns(&[1.3, 1.3, 0.1]));
        assert!(print(case, &job, &[Row::new("oleada", &wrk), Row::new("wrk", &wrk)]));
        assert!(!print(case, &job, &[Row::new("oleada", &slow), Row::new("wrk", &wrk)]));
        assert!(print(case, &job, &[Row::new("oleada", &slow)]), "without the other there is nothing to compare");
    }

    #[test]
    fn where_hey_is_missing_wrk_stands_for_it() {
        let case = cases::ALL.iter().find(|case| case.scenario).unwrap();
        let job = Job { url: String::new(), requests: 1, clients: 1, reuse: true, plan: None };
        // A turn costs 1 µs of system time besides.
        let (wrk, below, above, hey) = (turns(&[8.0]), turns(&[40.0]), turns(&[42.0]), turns(&[50.0]));
        assert!(print(case, &job, &[Row::new("oleada", &below), Row::new("wrk", &wrk)]));
        assert!(!print(case, &job, &[Row::new("oleada", &above), Row::new("wrk", &wrk)]));
        let all = [Row::new("oleada", &above), Row::new("wrk", &wrk), Row::new("hey", &hey)];
        assert!(print(case, &job, &all), "hey itself is here");
    }
}

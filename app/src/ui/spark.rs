//! A tiny drawing in a table cell: how a figure went, without axes.

use std::fmt::Write as _;

use leptos::prelude::*;

use crate::format;

const WIDTH: f64 = 84.0;
const HEIGHT: f64 = 22.0;
const EDGE: f64 = 2.0;

/// A line through values from left to right, from 0 up; open where there is none. Nothing for no value at all.
pub fn sparkline(label: &str, values: &[Option<f64>]) -> AnyView {
    let known: Vec<f64> = values.iter().flatten().copied().filter(|v| v.is_finite() && *v >= 0.0).collect();
    let Some(highest) = known.iter().copied().reduce(f64::max) else { return ().into_any() };
    let words = format!("{label}: at most {}", format::ms(Some(highest)));
    view! {
        <svg class="spark" viewBox=format!("0 0 {WIDTH} {HEIGHT}") width=WIDTH.to_string() height=HEIGHT.to_string() role="img" aria-label=words>
            <path d=path(values, highest) />
        </svg>
    }
    .into_any()
}

/// A value alone between gaps is a short stroke, so that it can be seen.
fn path(values: &[Option<f64>], highest: f64) -> String {
    let last = values.len().saturating_sub(1).max(1) as f64;
    let (mut d, mut joined) = (String::new(), false);
    for (n, value) in values.iter().enumerate() {
        let Some(value) = value.filter(|v| v.is_finite() && *v >= 0.0) else {
            joined = false;
            continue;
        };
        let x = EDGE + n as f64 / last * (WIDTH - 2.0 * EDGE);
        let y = HEIGHT - EDGE - value / highest.max(f64::MIN_POSITIVE) * (HEIGHT - 2.0 * EDGE);
        let _ = write!(d, "{}{x:.1} {y:.1}", if joined { 'L' } else { 'M' });
        if !joined {
            d.push_str("h1");
        }
        joined = true;
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stay_open_and_zero_is_no_fault() {
        assert_eq!(path(&[Some(1.0), Some(2.0), None, Some(2.0)], 2.0), "M2.0 11.0h1L28.7 2.0M82.0 2.0h1");
        assert_eq!(path(&[Some(0.0)], 0.0), "M2.0 20.0h1");
    }
}

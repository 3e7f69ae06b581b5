//! The forms of series, read: what was typed into what varies and how.

use oleada_app::pages::series_form::{SeriesForm, SeriesKind};
use oleada_app::view::FieldError;
use oleada_engine::capacity::Search;
use oleada_engine::limit::{FailIf, LimitSpec};
use oleada_engine::plan::limits::{self, Bound};
use oleada_engine::plan::{Load, Plan};
use oleada_engine::series::{How, SeriesSpec, Varies, doubling_sizes, even_sizes};

/// Reads a form for a test with this plan.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(kind: SeriesKind, form: &SeriesForm, plan: &Plan) -> Result<SeriesSpec, Vec<FieldError>> {
    let mut read = Read { errors: Vec::new() };
    let choices = match kind {
        SeriesKind::Sizes => Varies::choices(plan.load()),
        SeriesKind::Capacity => &Varies::choices(plan.load())[..1],
    };
    let varies = form.varies.parse().ok().filter(|varies| choices.contains(varies));
    if varies.is_none() {
        let names: Vec<&str> = choices.iter().map(|v| v.as_str()).collect();
        read.error("varies", format!("must be one of: {}", names.join(", ")));
    }
    let varies: Varies = varies.or(choices.first().copied()).unwrap_or_default();
    let pause_s = if form.pause_s.trim().is_empty() {
        limits::SERIES_PAUSE_S.default
    } else {
        read.number("pause_s", &form.pause_s, limits::SERIES_PAUSE_S).unwrap_or_default()
    };
    let how = match kind {
        SeriesKind::Sizes => read.sizes(form, varies, plan.load()),
        SeriesKind::Capacity => read.capacity(form, varies, plan),
    };
    let Some(how) = how.filter(|_| read.errors.is_empty()) else { return Err(read.errors) };
    let spec = SeriesSpec { varies, pause_s, how };
    // What a size breaks in a plan that is whole otherwise.
    for place in spec.places(&[]) {
        if let Err(errors) = spec.plan_at(plan, place) {
            let named = |field: &str| ["limits", "run_s", "confirm_s"].into_iter().find(|name| field.starts_with(name));
            let field = errors.0.first().and_then(|e| named(&e.field)).unwrap_or("sizes");
            return Err(vec![FieldError { field: field.to_owned(), message: format!("cannot be used: {errors}") }]);
        }
    }
    Ok(spec)
}

struct Read {
    errors: Vec<FieldError>,
}

impl Read {
    fn error(&mut self, field: &str, message: impl Into<String>) {
        self.errors.push(FieldError { field: field.to_owned(), message: message.into() });
    }

    fn number(&mut self, field: &str, text: &str, bound: Bound) -> Option<f64> {
        let number = text.trim().parse().ok().filter(|n| bound.contains(*n));
        if number.is_none() {
            self.error(field, bound.sentence());
        }
        number
    }

    fn size(&mut self, field: &str, text: &str, varies: Varies, bound: Bound) -> Option<f64> {
        let size = self.number(field, text, bound)?;
        if varies.is_whole() && size.fract() != 0.0 {
            self.error(field, "must be a whole number");
            return None;
        }
        Some(size)
    }

    fn sizes(&mut self, form: &SeriesForm, varies: Varies, load: Load) -> Option<How> {
        let bound = varies.bound(load);
        let (fewest, most) = limits::SERIES_SIZES;
        let (field, sizes) = match form.how.as_str() {
            "even" | "doubling" => {
                let (from, to) =
                    (self.size("from", &form.from, varies, bound), self.size("to", &form.to, varies, bound));
                let (from, to) = (from?, to?);
                if to <= from {
                    self.error("to", "must be more than where the series begins");
                    return None;
                }
                if form.how == "doubling" {
                    ("to", doubling_sizes(from, to))
                } else {
                    let counts =
                        Bound { field: "steps", min: fewest as f64, max: most as f64, default: 5.0, unit: "sizes" };
                    let steps = self.size("steps", &form.steps, Varies::Clients, counts)?;
                    ("steps", even_sizes(from, to, steps as usize, varies.is_whole()))
                }
            }
            "list" => ("sizes", self.list(&form.sizes, varies, bound)?),
            _ => {
                self.error("how", "must be one of: list, even, doubling");
                return None;
            }
        };
        if sizes.len() < fewest || sizes.len() > most {
            let many = if sizes.len() > most { "more" } else { "only one" };
            self.error(field, format!("must give {fewest} to {most} sizes; this gives {many}"));
        }
        Some(How::Sizes { sizes, both_reuses: form.both_reuses == "on" })
    }

    fn list(&mut self, text: &str, varies: Varies, bound: Bound) -> Option<Vec<f64>> {
        let mut sizes: Vec<f64> = Vec::new();
        let words = text.split([',', ';']).flat_map(str::split_whitespace);
        // One above the bound is enough to tell that there are too many.
        for word in words.take(limits::SERIES_SIZES.1 + 1) {
            let size = word.parse().ok().filter(|size| bound.contains(*size));
            let Some(size) = size.filter(|size: &f64| !varies.is_whole() || size.fract() == 0.0) else {
                let whole = if varies.is_whole() { "whole " } else { "" };
                let word: String = word.chars().take(30).collect();
                self.error(
                    "sizes",
                    format!("must be {whole}numbers with commas between; each {}: “{word}” is not", bound.sentence()),
                );
                return None;
            };
            if sizes.contains(&size) {
                self.error("sizes", format!("must be different from each other: {word} stands there twice"));
                return None;
            }
            sizes.push(size);
        }
        if sizes.is_empty() {
            self.error("sizes", "must be given, such as 10, 20, 50, 100");
            return None;
        }
        Some(sizes)
    }

    fn capacity(&mut self, form: &SeriesForm, varies: Varies, plan: &Plan) -> Option<How> {
        let bound = varies.bound(plan.load());
        let (from, to) = (self.size("from", &form.from, varies, bound), self.size("to", &form.to, varies, bound));
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            self.error("to", "must not be less than where the search begins");
        }
        let precision = self.number("precision", &form.precision, limits::PRECISION);
        let limits = self.limits(&form.limits, plan);
        let timed = plan.duration().is_some() && !matches!(plan.load(), Load::FixedCount { .. });
        let mut length = |field: &str, text: &str| {
            let given = timed && !text.trim().is_empty();
            given.then(|| self.number(field, text, limits::DURATION_S)).flatten()
        };
        let (run_s, confirm_s) = (length("run_s", &form.run_s), length("confirm_s", &form.confirm_s));
        let search = Search { from: from?, to: to?, precision: precision? / 100.0, whole: varies.is_whole() };
        Some(How::Capacity { search, limits: limits?, run_s, confirm_s })
    }

    /// What was typed, and the test's limits of single requests. One that is the test's own keeps whether it ends a run.
    fn limits(&mut self, text: &str, plan: &Plan) -> Option<Vec<LimitSpec>> {
        let own = &plan.spec().limits;
        let mut all = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()).take(limits::LIMITS + 1) {
            match line.parse::<FailIf>() {
                Ok(condition) => {
                    let same = own.iter().find(|limit| limit.request.is_none() && limit.condition == condition);
                    all.push(same.cloned().unwrap_or(LimitSpec { condition, request: None, stop: false }));
                }
                Err(error) => {
                    self.error("limits", format!("cannot be read: {error}"));
                    return None;
                }
            }
        }
        all.extend(own.iter().filter(|limit| limit.request.is_some()).cloned());
        if all.is_empty() {
            self.error("limits", "must name at least one condition, such as p95>300ms");
            return None;
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(load: &str) -> Plan {
        let text = format!(
            r#"{{"load":{load},"duration_s":5,"requests":[{{"url":"http://127.0.0.1/"}}],
                "limits":[{{"condition":"errors>1%","stop":true}},{{"condition":"max>2s","request":0}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    const FIXED: &str = r#"{"type":"fixed_count","requests":100,"clients":5}"#;
    const RATE: &str = r#"{"type":"per_second","rate":5}"#;

    fn form(pairs: &[(&str, &str)]) -> SeriesForm {
        let json: serde_json::Map<_, _> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).into())).collect();
        serde_json::from_value(json.into()).unwrap()
    }

    fn sizes(load: &str, pairs: &[(&str, &str)]) -> Result<Vec<f64>, Vec<String>> {
        match read(SeriesKind::Sizes, &form(pairs), &plan(load)) {
            Ok(SeriesSpec { how: How::Sizes { sizes, .. }, .. }) => Ok(sizes),
            Ok(other) => panic!("{other:?}"),
            Err(errors) => Err(errors.into_iter().map(|e| e.field).collect()),
        }
    }

    #[test]
    fn sizes_come_as_a_list_or_a_range() {
        fn list(text: &str) -> [(&str, &str); 3] {
            [("varies", "clients"), ("how", "list"), ("sizes", text)]
        }
        assert_eq!(sizes(FIXED, &list("10, 20 50;100")).unwrap(), [10.0, 20.0, 50.0, 100.0]);
        let range =
            |how, to, steps| [("varies", "clients"), ("how", how), ("from", "10"), ("to", to), ("steps", steps)];
        assert_eq!(sizes(FIXED, &range("even", "30", "3")).unwrap(), [10.0, 20.0, 30.0]);
        assert_eq!(sizes(FIXED, &range("doubling", "80", "")).unwrap(), [10.0, 20.0, 40.0, 80.0]);
        assert_eq!(sizes(RATE, &[("varies", "rate"), ("how", "list"), ("sizes", "0.5 1")]).unwrap(), [0.5, 1.0]);
        for bad in ["", "10", "10, ten", "10, 1.5", "0, 10", "10, 10", "10, 1e9", "10, NaN"] {
            assert_eq!(sizes(FIXED, &list(bad)), Err(vec!["sizes".to_owned()]), "{bad}");
        }
        let many: Vec<String> = (1..=21).map(|n| n.to_string()).collect();
        assert_eq!(sizes(FIXED, &list(&many[..20].join(","))).unwrap().len(), 20);
        assert_eq!(sizes(FIXED, &list(&many.join(","))), Err(vec!["sizes".to_owned()]));
        assert_eq!(sizes(FIXED, &range("even", "10", "3")), Err(vec!["to".to_owned()]));
        assert_eq!(sizes(FIXED, &range("even", "30", "21")), Err(vec!["steps".to_owned()]));
        assert_eq!(sizes(FIXED, &range("odd", "30", "3")), Err(vec!["how".to_owned()]));
        assert_eq!(sizes(RATE, &list("1, 2")), Err(vec!["varies".to_owned()]));
        assert_eq!(sizes(FIXED, &[]), Err(vec!["varies".to_owned(), "how".to_owned()]));
    }

    #[test]
    fn a_search_takes_typed_limits_and_those_of_single_requests() {
        let typed = form(&[
            ("varies", "rate"),
            ("from", "10"),
            ("to", "100"),
            ("precision", "5"),
            ("limits", "p95 > 300ms\n\nerrors>1%\n"),
            ("confirm_s", "60"),
        ]);
        let spec = read(SeriesKind::Capacity, &typed, &plan(RATE)).unwrap();
        let How::Capacity { search, limits, run_s, confirm_s } = &spec.how else { panic!("{spec:?}") };
        assert_eq!((search.from, search.to, search.precision, search.whole), (10.0, 100.0, 0.05, false));
        assert_eq!((*run_s, *confirm_s), (None, Some(60.0)));
        let of: Vec<_> = limits.iter().map(|l| (l.condition.to_string(), l.request, l.stop)).collect();
        let text = |t: &str| t.to_owned();
        assert_eq!(
            of,
            [(text("p95>300ms"), None, false), (text("errors>1%"), None, true), (text("max>2s"), Some(0), false)]
        );

        let bad = form(&[("varies", "requests"), ("from", "9"), ("to", "3"), ("precision", "0"), ("limits", "p94>1")]);
        let fields = |errors: Vec<FieldError>| errors.into_iter().map(|e| e.field).collect::<Vec<_>>();
        let errors = read(SeriesKind::Capacity, &bad, &plan(FIXED)).unwrap_err();
        assert_eq!(fields(errors), ["varies", "to", "precision", "limits"]);
        let none: Plan = serde_json::from_str(
            r#"{"load":{"type":"per_second","rate":5},"duration_s":5,"requests":[{"url":"http://127.0.0.1/"}]}"#,
        )
        .unwrap();
        let errors = read(SeriesKind::Capacity, &SeriesForm { limits: String::new(), ..typed }, &none).unwrap_err();
        assert_eq!(fields(errors), ["limits"], "silence is no limit");
    }
}

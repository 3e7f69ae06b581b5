//! The limits of a run as test cases, for build servers.

use std::fmt::Write as _;

use oleada_app::ui::words::request_name;
use oleada_engine::limit::LimitDoc;
use oleada_engine::result::{EndReason, ResultDoc};

use super::{Source, xml_text};
use crate::clock::rfc3339;

/// A case and, if it failed, why.
struct Case {
    name: String,
    failure: Option<String>,
}

/// The document. Every limit is a case; two more say that all requests are accounted for and that the run was not cut short.
pub fn document(source: &Source) -> String {
    let result = &source.result;
    let mut cases: Vec<Case> = result.limits.iter().map(|limit| limit_case(result, limit)).collect();
    cases.push(ledger_case(result));
    cases.push(end_case(result));
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"{:.3}\"",
        cases.len(),
        result.duration_s
    );
    let name = xml_text(&source.name);
    let at = rfc3339(source.started_at);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"oleada\" {counts}>\n\
         <testsuite name=\"{name}\" {counts} timestamp=\"{}\">\n<properties>\n",
        &at[..19]
    );
    for (property, value) in properties(result) {
        let _ = writeln!(out, "<property name=\"{property}\" value=\"{value}\"/>");
    }
    out.push_str("</properties>\n");
    for case in cases {
        let _ = write!(out, "<testcase classname=\"{name}\" name=\"{}\" time=\"0\"", xml_text(&case.name));
        match case.failure {
            None => out.push_str("/>\n"),
            Some(why) => {
                let _ = writeln!(out, "><failure message=\"{}\" type=\"limit\"/></testcase>", xml_text(&why));
            }
        }
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

fn limit_case(result: &ResultDoc, limit: &LimitDoc) -> Case {
    let of = limit.request.map(|i| format!(" for {}", request_name(&result.plan, i))).unwrap_or_default();
    let failure = (!limit.held).then(|| match limit.value {
        Some(value) => format!("measured {value} {}", limit.unit),
        None => "nothing was measured".to_owned(),
    });
    Case { name: format!("not {}{of}", limit.text), failure }
}

fn ledger_case(result: &ResultDoc) -> Case {
    let l = &result.ledger;
    let failure = (!l.is_closed())
        .then(|| format!("planned {}, sent {}, dropped {}, ended {}", l.planned, l.sent, l.dropped, l.finished()));
    Case { name: "every request is accounted for".to_owned(), failure }
}

fn end_case(result: &ResultDoc) -> Case {
    let failure = match result.end_reason {
        Some(EndReason::Completed) => None,
        Some(reason) => Some(format!("it ended early: {}", reason.as_str())),
        None => Some("it has not ended".to_owned()),
    };
    Case { name: "the run came to its planned end".to_owned(), failure }
}

/// Figures as they stand in the JSON document; those that were not measured are left out.
fn properties(result: &ResultDoc) -> Vec<(&'static str, String)> {
    let l = &result.latency_ms;
    let measured = [
        ("requests_per_second", result.requests_per_second),
        ("error_rate", Some(result.error_rate)),
        ("min_ms", l.min),
        ("mean_ms", l.mean),
        ("p50_ms", l.p50),
        ("p95_ms", l.p95),
        ("p99_ms", l.p99),
        ("max_ms", l.max),
    ];
    let counts = [
        ("planned", result.ledger.planned),
        ("sent", result.ledger.sent),
        ("ok", result.ledger.ok),
        ("errors", result.ledger.errors()),
    ];
    let measured = measured.into_iter().filter_map(|(name, value)| Some((name, value?.to_string())));
    measured.chain(counts.map(|(name, count)| (name, count.to_string()))).collect()
}

//! Trying a test once, before it loads: one client, every exchange shown.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use oleada_app::FlashKind;
use oleada_app::pages::trial::{self, TrialPage};
use oleada_engine::net;
use oleada_engine::plan::secrets::Mask;
use oleada_engine::plan::{Plan, PlanSpec};
use oleada_engine::result::shown_url;
use oleada_engine::trace::Trace;
use tower_sessions::Session;

use super::plans::missing_hosts;
use crate::auth::CurrentUser;
use crate::error::{Result, see_other};
use crate::render::{Frame, flash};
use crate::runs::generate;
use crate::state::AppState;
use crate::{hosts, plans};

/// Longest time for the whole list.
const MOST: Duration = Duration::from_secs(60);
/// Longest time for one exchange, whatever the test says: somebody waits for the page.
const EXCHANGE_MS: f64 = 15_000.0;

/// `POST /tests/{id}/try`.
///
/// # Errors
/// [`crate::error::Error::NotFound`] for a test of somebody else.
pub async fn show(
    State(state): State<AppState>,
    user: CurrentUser,
    Path(id): Path<String>,
    session: Session,
    frame: Frame,
) -> Result<Response> {
    let row = plans::find(&state, user.id, &id).await?;
    let opened = plans::open(&state, &row)?;
    let missing: Vec<_> = missing_hosts(&state, user.id, &row).await?.into_iter().map(|m| m.address).collect();
    let why = if let Some(sentence) = opened.loss() {
        Some(sentence)
    } else if !missing.is_empty() {
        Some(format!("Register and verify {} first.", missing.join(", ")))
    } else {
        hosts::confirm_all(&state, user.id, &opened.plan.hosts()).await?.err()
    };
    let Some(_turn) = state.trials.try_acquire().ok().filter(|_| why.is_none()) else {
        let why = why.unwrap_or_else(|| "Others are trying their tests: try again in a minute.".to_owned());
        flash(&session, FlashKind::Failure, format!("Not tried: {why}")).await?;
        return Ok(see_other(&format!("/tests/{}", row.id)));
    };
    let secrets = Mask::of(&opened.plan);
    let requests = names(&opened.plan);
    let (trace, cut) = walk(&state, opened.plan).await;
    let page = TrialPage { id: row.id.to_string(), name: row.name, requests, trace: masked(trace, &secrets), cut };
    frame.show(|chrome| trial::render(chrome, &page)).await
}

/// What passed, and a sentence if that is not all.
async fn walk(state: &AppState, plan: Plan) -> (Trace, Option<String>) {
    let spec = PlanSpec::from(plan);
    let timeout_ms = spec.timeout_ms.min(EXCHANGE_MS);
    let plan = match Plan::try_from(PlanSpec { timeout_ms, ..spec }) {
        Ok(plan) => plan,
        Err(errors) => return (Trace::default(), Some(format!("The test cannot be tried: {errors}"))),
    };
    let options = generate::options(state, "trial");
    match tokio::time::timeout(MOST, net::trace(plan, options)).await {
        Ok(Ok(trace)) => (trace, None),
        Ok(Err(error)) => (Trace::default(), Some(format!("The test could not be tried: {error}"))),
        Err(_) => {
            let sentence =
                format!("It took longer than {} seconds and was ended; nothing can be shown.", MOST.as_secs());
            (Trace::default(), Some(sentence))
        }
    }
}

fn names(plan: &Plan) -> Vec<String> {
    let requests = plan.requests().iter().zip(&plan.spec().requests);
    requests
        .map(|(request, written)| {
            written.name.clone().unwrap_or_else(|| format!("{} {}", request.method, shown_url(&request.target)))
        })
        .collect()
}

fn masked(mut trace: Trace, secrets: &Mask) -> Trace {
    let mask = |text: &mut String| *text = secrets.apply(text);
    for exchange in trace.steps.iter_mut().flat_map(|step| &mut step.exchanges) {
        mask(&mut exchange.url);
        for text in [
            &mut exchange.request_head,
            &mut exchange.request_body,
            &mut exchange.response_head,
            &mut exchange.response_body,
        ] {
            mask(&mut text.text);
        }
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;
    use oleada_engine::plan::{Credentials, RequestSpec};
    use oleada_engine::trace::{Exchange, Step, Text};

    #[test]
    fn secrets_of_the_test_are_masked_and_what_the_target_gave_is_not() {
        let request = RequestSpec {
            url: "http://127.0.0.1/".into(),
            headers: vec![("X-Token".into(), "s3cret".into()), ("X-Csrf-Token".into(), "{{csrf}}".into())],
            basic_auth: Some(Credentials { user: "ann".into(), password: "pass".into() }),
            ..RequestSpec::default()
        };
        let plan = Plan::try_from(PlanSpec { requests: vec![request], ..PlanSpec::default() }).unwrap();
        let head =
            "GET / HTTP/1.1\r\nX-Token: s3cret\r\nX-Csrf-Token: {{csrf}}\r\nAuthorization: Basic YW5uOnBhc3M=\r\n";
        let text = Text { text: head.into(), bytes: 1 };
        let step = Step { exchanges: vec![Exchange { request_head: text, ..Exchange::default() }], ..Step::default() };
        let masked = masked(Trace { steps: vec![step] }, &Mask::of(&plan));
        assert_eq!(
            masked.steps[0].exchanges[0].request_head.text,
            "GET / HTTP/1.1\r\nX-Token: ••••\r\nX-Csrf-Token: {{csrf}}\r\nAuthorization: Basic ••••\r\n"
        );
    }
}

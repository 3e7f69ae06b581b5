//! One client walks the list once, and everything that passes is kept to be shown: for trying a test before it is run.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::client::Walk;
use super::conn::{Message, Wire};
use super::control::Control;
use super::dial::{DialTimes, Failure, Origin, micros};
use super::fill::Unfilled;
use super::http1::response::Reader;
use super::scenario::{Findings, Step as Evaluation};
use super::shared::Shared;
use super::worker::{self, Orders, Worker};
use super::{Options, StartError};
use crate::plan::{Plan, Target};
use crate::trace::{Exchange, Extracted, Judged, Phases, Step, Text, Trace, TraceError};
use crate::window::ErrorRow;

/// Bytes shown of each head and of each body.
const SHOWN: usize = 64 * 1024;

impl TraceError {
    fn of(row: &ErrorRow) -> TraceError {
        let sentence = row.kind.explain().to_owned();
        TraceError { kind: row.kind.name().to_owned(), sentence, detail: row.detail.clone() }
    }

    fn failed(failure: &Failure) -> TraceError {
        TraceError::of(&ErrorRow { kind: failure.kind, detail: failure.detail.to_string(), count: 1 })
    }
}

impl Text {
    fn of(bytes: &[u8], all: u64) -> Text {
        Text { text: String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned(), bytes: all }
    }
}

/// Lets one client walk the list of `plan` once; where requests are drawn, each is made once. Pauses are left out. Ends by the
/// plan's timeouts, or at once when the future is dropped.
///
/// # Errors
/// [`StartError`], as for [`super::start`]; what the target does is in the trace.
pub async fn trace(plan: Plan, options: Options) -> Result<Trace, StartError> {
    let control = Arc::new(Control::new());
    let _cut = Cut(control.clone());
    let options = Options { threads: Some(1), ..options };
    let shared = Arc::new(Shared::for_one_client(plan, options, control)?);
    let (send, receive) = tokio::sync::oneshot::channel();
    let body = move || {
        let _ = send.send(walk(shared));
    };
    std::thread::Builder::new().name("oleada-trace".to_owned()).spawn(body).map_err(StartError::Threads)?;
    receive.await.unwrap_or_else(|_| Err(StartError::Threads(std::io::Error::other("the thread died"))))
}

/// Ends the trial when nobody waits for it any more.
struct Cut(Arc<Control>);

impl Drop for Cut {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

fn walk(shared: Arc<Shared>) -> Result<Trace, StartError> {
    let (runtime, _timer) = worker::prepare().map_err(StartError::Timer)?;
    // Nobody reads the reports: what one client did is no result.
    let (reports, _) = channel();
    let now = Instant::now();
    let orders = Orders { shared, index: 0, start: now, reports };
    let mut trace = Trace::default();
    Worker::try_once(&runtime, &orders, async |mut client| {
        client.observer = Some(Box::default());
        client.try_once(Walk::Once { due: now, drawn: None }).await;
        trace.steps = client.observer.take().map(|observer| observer.steps).unwrap_or_default();
    });
    Ok(trace)
}

/// Notes what passes.
#[derive(Debug, Default)]
pub(super) struct Observer {
    steps: Vec<Step>,
    /// Of the connection that was made for the next exchange.
    dial: DialTimes,
    sent_at: Option<Instant>,
}

/// An exchange that has ended.
pub(super) struct Observed<'a> {
    pub(super) origin: &'a Origin,
    pub(super) message: Message<'a>,
    pub(super) reused: bool,
    pub(super) http2: bool,
    pub(super) wire: &'a Wire,
    /// Bytes of the reply's body.
    pub(super) body_bytes: u64,
    /// Absent when nothing was sent.
    pub(super) reader: Option<&'a Reader>,
    pub(super) result: Result<Instant, &'a Failure>,
}

impl Observer {
    pub(super) fn begin(&mut self, request: usize) {
        self.steps.push(Step { request, ..Step::default() });
    }

    pub(super) fn dialled(&mut self, times: &DialTimes) {
        self.dial = *times;
    }

    pub(super) fn sending(&mut self) {
        self.sent_at = Some(Instant::now());
    }

    pub(super) fn exchanged(&mut self, observed: &Observed<'_>) {
        let dial = std::mem::take(&mut self.dial);
        let sent_at = self.sent_at.take();
        let Some(step) = self.steps.last_mut() else { return };
        let bytes = observed.message.bytes;
        let head = bytes.windows(4).position(|w| w == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        let path = bytes.split(|b| *b == b' ').nth(1).unwrap_or_default();
        let origin = observed.origin;
        let target = Target {
            scheme: origin.scheme,
            at: origin.at.clone(),
            path: String::from_utf8_lossy(path).into_owned(),
            credentials: None,
        };
        let ms = |us: u64| us as f64 / 1000.0;
        let between = |from: Option<Instant>, to: Option<Instant>| -> Option<f64> {
            let time: Duration = to?.saturating_duration_since(from?);
            Some(ms(micros(time)))
        };
        let end = observed.result.ok();
        let reader = observed.reader;
        let (first_byte, last_write) = match reader {
            Some(_) => (observed.wire.first_byte, observed.wire.last_write),
            None => (None, None),
        };
        let kept = reader.and_then(Reader::kept);
        let unpacked = kept.map(|kept| kept.unpacked().unwrap_or(kept.body().into()));
        step.exchanges.push(Exchange {
            url: target.to_string(),
            address: dial.address.map(|address| address.to_string()),
            reused: observed.reused,
            http2: observed.http2,
            request_head: Text::of(&bytes[..head], head as u64),
            request_body: Text::of(&bytes[head..], (bytes.len() - head) as u64),
            status: reader.map(|reader| reader.head().status).filter(|status| *status > 0),
            response_head: kept.map(|kept| Text::of(kept.head(), kept.head().len() as u64)).unwrap_or_default(),
            response_body: unpacked.map(|body| Text::of(&body, observed.body_bytes)).unwrap_or_default(),
            phases_ms: Phases {
                dns: dial.dns.map(ms),
                connect: dial.connect.map(ms),
                tls: dial.tls.map(ms),
                wait: between(last_write, first_byte),
                receive: between(first_byte, end),
                total: between(sent_at, end),
            },
            error: observed.result.err().map(TraceError::failed),
        });
    }

    pub(super) fn not_sent(&mut self, why: &Unfilled) {
        if let Some(step) = self.steps.last_mut() {
            step.error = Some(TraceError::of(&ErrorRow { kind: why.kind, detail: why.detail.clone(), count: 1 }));
        }
    }

    pub(super) fn ended(
        &mut self,
        evaluation: Option<&Evaluation>,
        findings: Option<&Findings>,
        failure: Option<&Failure>,
    ) {
        let Some(step) = self.steps.last_mut() else { return };
        step.error = failure.map(TraceError::failed);
        let (Some(evaluation), Some(findings)) = (evaluation, findings) else { return };
        let values = evaluation.variables().zip(&findings.values).map(|((_, name), (_, value))| Extracted {
            name: name.to_owned(),
            value: value.as_ref().ok().map(|value| value.to_string()),
            reason: value.as_ref().err().map(ToString::to_string),
        });
        step.extracted = values.collect();
        let judged = evaluation.words().zip(&findings.conditions).map(|(words, found)| Judged {
            text: words.to_owned(),
            passed: found.is_none(),
            found: found.clone(),
        });
        step.assertions = judged.collect();
    }
}

//! Looks for a proof over HTTP or DNS. Whatever is dialled passes the address policy after its name was resolved.

use std::sync::Arc;
use std::time::Duration;

use oleada_engine::plan::{Scheme, Target};
use reqwest::header;
use tokio::sync::Semaphore;

use super::proof::{self, ANSWER_BYTES, Place};
use crate::outgoing::{Failure, HOPS, Outgoing, REQUEST, in_words, location_of};
use crate::store::hosts::{HostRow, Method, ProofRow, SchemeHint};
use crate::store::{HostId, Timestamp};

/// For a whole check.
const CHECK: Duration = Duration::from_secs(25);
/// The name by which a check introduces itself.
const AGENT: &str = concat!("oleada-verification/", env!("CARGO_PKG_VERSION"));
/// Checks at once; more wait.
const AT_ONCE: usize = 4;

/// Looks for proofs.
pub struct Checker {
    outgoing: Arc<Outgoing>,
    turns: Semaphore,
}

/// An answer as far as it was read.
struct Answer {
    status: u16,
    text: String,
}

/// What a look found: passed or not, the sentence, and what was there.
struct Finding {
    passed: bool,
    message: String,
    answer: Option<Answer>,
}

impl Finding {
    fn failed(message: impl Into<String>, answer: Option<Answer>) -> Finding {
        Finding { passed: false, message: message.into(), answer }
    }

    fn passed(message: impl Into<String>, answer: Option<Answer>) -> Finding {
        Finding { passed: true, message: message.into(), answer }
    }
}

impl Checker {
    /// Which asks by this installation's way out.
    pub fn new(outgoing: Arc<Outgoing>) -> Checker {
        Checker { outgoing, turns: Semaphore::new(AT_ONCE) }
    }

    /// Looks once. Takes at most half a minute.
    ///
    /// # Errors
    /// Only for faults of ours; what the host does wrong is in the row.
    pub async fn look(&self, host: &HostRow, method: Method) -> anyhow::Result<ProofRow> {
        let _turn = self.turns.acquire().await?;
        let visit = Visit { outgoing: &self.outgoing, host };
        let look = async {
            match method {
                Method::File => visit.file().await,
                Method::Meta => visit.meta().await,
                Method::Dns => visit.dns().await,
            }
        };
        let finding = match tokio::time::timeout(CHECK, look).await {
            Ok(finding) => finding,
            Err(_) => Finding::failed(format!("The check took longer than {} s.", CHECK.as_secs()), None),
        };
        tracing::info!(host = %id_of(host), passed = finding.passed, message = finding.message, "looked for a proof of ownership");
        Ok(ProofRow {
            at: Timestamp::now(),
            method,
            passed: finding.passed,
            message: finding.message,
            status: finding.answer.as_ref().map(|answer| i64::from(answer.status)),
            expected: expected(method, &host.token),
            seen: finding.answer.map(|answer| proof::inert(&answer.text)).filter(|text| !text.is_empty()),
        })
    }
}

fn id_of(host: &HostRow) -> HostId {
    host.id
}

/// What should be there.
fn expected(method: Method, token: &str) -> String {
    match method {
        Method::File => format!("oleada-{token}"),
        Method::Dns => format!("oleada={token}"),
        Method::Meta => proof::meta_tag(token),
    }
}

/// One look at one host.
struct Visit<'a> {
    outgoing: &'a Outgoing,
    host: &'a HostRow,
}

impl Visit<'_> {
    async fn file(&self) -> Finding {
        let mut first = None;
        for place in proof::places(&self.host.token) {
            match self.get(&place.path).await {
                Ok(answer) if answer.status == 200 && proof::is_exactly(&answer.text, &place.body) => {
                    return self.judged(&place, answer).await;
                }
                Ok(answer) => _ = first.get_or_insert((place, answer)),
                // If nobody is there, nobody is at the other places.
                Err(Failure::Connection(text)) => return Finding::failed(text, None),
                Err(Failure::Answer(text)) if first.is_none() => return Finding::failed(text, None),
                Err(Failure::Answer(_)) => {}
            }
        }
        let Some((place, answer)) = first else { return Finding::failed("There was no answer.", None) };
        let message = match answer.status {
            200 => format!("{} is there, but what it holds is not the token and nothing else.", place.path),
            status => format!("{} was answered with status {status}; it must be 200.", place.path),
        };
        Finding::failed(message, Some(answer))
    }

    /// A server that echoes paths or answers the same to everything proves nothing: ask for a token that nobody has.
    async fn judged(&self, place: &Place, answer: Answer) -> Finding {
        let token = proof::new_token();
        let (path, echo) = (place.path.replace(&self.host.token, &token), place.body.replace(&self.host.token, &token));
        match self.get(&path).await {
            Ok(decoy)
                if decoy.status == 200
                    && [&place.body, &echo].into_iter().any(|body| proof::is_exactly(&decoy.text, body)) =>
            {
                Finding::failed(
                    "The host answers any such name with a token, also one that was made up just now, so this proves nothing.",
                    Some(decoy),
                )
            }
            Ok(_) | Err(Failure::Answer(_)) => {
                Finding::passed(format!("The token is at {}.", place.path), Some(answer))
            }
            Err(Failure::Connection(text)) => Finding::failed(text, Some(answer)),
        }
    }

    async fn meta(&self) -> Finding {
        match self.get("/").await {
            Ok(answer) if answer.status == 200 && proof::has_meta_tag(&answer.text, &self.host.token) => {
                Finding::passed("The front page has the meta tag.", Some(answer))
            }
            Ok(answer) if answer.status == 200 => Finding::failed(
                "The front page does not have the meta tag in its head (within the first 64 KB).",
                Some(answer),
            ),
            Ok(answer) => Finding::failed(
                format!("The front page was answered with status {}; it must be 200.", answer.status),
                Some(answer),
            ),
            Err(failure) => Finding::failed(failure.sentence(), None),
        }
    }

    async fn dns(&self) -> Finding {
        let names = proof::txt_names(&self.host.host);
        if names.is_empty() {
            return Finding::failed("An address has no TXT record; use the token file or the meta tag.", None);
        }
        let (mut seen, mut problem) = (Vec::new(), None);
        for name in names {
            match tokio::time::timeout(REQUEST, self.outgoing.resolver().txt(&name)).await {
                Ok(Ok(records)) if records.iter().any(|record| proof::is_txt_proof(record, &self.host.token)) => {
                    return Finding::passed(format!("{name} has the TXT record."), None);
                }
                Ok(Ok(records)) => seen.extend(records),
                Ok(Err(error)) => _ = problem.get_or_insert(format!("{name}: {error}")),
                Err(_) => {
                    _ = problem
                        .get_or_insert(format!("{name}: the name server did not answer in {} s", REQUEST.as_secs()))
                }
            }
        }
        let message = match problem {
            Some(problem) if seen.is_empty() => format!("No such TXT record was found ({problem})."),
            _ => format!("{} has other TXT records, but not this one.", self.host.host),
        };
        let answer = (!seen.is_empty()).then(|| seen.join(" · "));
        let mut finding = Finding::failed(message, None);
        if let Some(text) = answer {
            // There is no HTTP status here; what was seen goes into the sentence.
            finding.message = format!("{} Found: {}", finding.message, proof::inert(&text));
        }
        finding
    }

    /// Asks for a path by the scheme that the owner typed, then by the other if nobody speaks that one.
    async fn get(&self, path: &str) -> Result<Answer, Failure> {
        let (first, second) = match self.host.scheme {
            SchemeHint::Http => (Scheme::Http, Scheme::Https),
            SchemeHint::Https => (Scheme::Https, Scheme::Http),
        };
        match self.get_by(first, path).await {
            Err(Failure::Connection(text)) => match self.get_by(second, path).await {
                Ok(answer) => Ok(answer),
                // What the owner's own scheme said is what helps.
                Err(_) => Err(Failure::Connection(text)),
            },
            other => other,
        }
    }

    /// Follows redirects on the same host and port.
    async fn get_by(&self, scheme: Scheme, path: &str) -> Result<Answer, Failure> {
        let url = format!("{}://{}:{}{path}", scheme.as_str(), self.host.host, self.host.port);
        let mut target = Target::parse(&url).map_err(|error| Failure::Answer(format!("The address {error}.")))?;
        let start = target.at.clone();
        for _ in 0..=HOPS {
            let response = self.outgoing.get(&target, AGENT, REQUEST).await?;
            let Some(location) = location_of(&response) else { return read(response).await };
            let next = target.join(&location).map_err(|_| {
                Failure::Answer(format!(
                    "{path} redirects to something that is no address: {}.",
                    proof::inert(&location)
                ))
            })?;
            if next.at != start {
                return Err(Failure::Answer(format!(
                    "{path} redirects to {}, which is another host or port: the answer must come from {start} itself.",
                    next.at
                )));
            }
            target = next;
        }
        Err(Failure::Answer(format!("{path} redirects more than {HOPS} times.")))
    }
}

async fn read(mut response: reqwest::Response) -> Result<Answer, Failure> {
    let status = response.status().as_u16();
    let encoding =
        response.headers().get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut body = Vec::new();
    while body.len() < ANSWER_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk[..chunk.len().min(ANSWER_BYTES - body.len())]),
            Ok(None) => break,
            Err(error) => return Err(Failure::Answer(in_words(&error).sentence())),
        }
    }
    let text = proof::text_of(&body, encoding.as_deref())
        .map_err(|why| Failure::Answer(format!("The status was {status}, but {why}.")))?;
    Ok(Answer { status, text })
}

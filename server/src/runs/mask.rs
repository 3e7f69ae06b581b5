//! What a public link does not show: the target's names and addresses, headers, notes.

use std::net::{IpAddr, SocketAddr};

use oleada_app::pages::run::RunPage;
use oleada_engine::plan::{Plan, PlanSpec};
use oleada_engine::range::RangeDoc;
use oleada_engine::result::{AddressDoc, PlanDoc, ResultDoc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{plan_of, result_of};
use crate::error::Result;
use crate::state::AppState;
use crate::store::runs::RunRow;
use crate::store::shares::ShareRow;

/// What stands where a name or an address was.
pub const HOST_HIDDEN: &str = "host hidden";

/// Fields of the documents that hold words of ours only: a target may be called "target".
const FIXED: &[&str] = &[
    "version",
    "tool",
    "started_at",
    "end_reason",
    "type",
    "order",
    "at_end",
    "assertion_failure",
    "condition",
    "method",
    "reuse",
    "http",
    "min_tls",
    "end",
    "redirects",
    "kind",
    "unit",
    "limited_by",
];

/// Headers whose value names a host.
const HOST_HEADERS: &[&str] = &["host", "origin", "referer"];

/// What is taken out of everything that a link shows.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    names: Option<Names>,
    headers: bool,
    notes: bool,
}

impl Mask {
    /// Hides nothing: for the owner.
    pub fn nothing() -> Mask {
        Mask::default()
    }

    /// What the link `share` to `run` hides.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn of(state: &AppState, run: &RunRow, share: &ShareRow) -> Result<Mask> {
        let names = if share.hide_host { Some(names_of(state, run).await?) } else { None };
        Ok(Mask { names, headers: share.hide_headers, notes: share.hide_notes })
    }

    /// A text without the target's names.
    pub fn text(&self, text: &str) -> String {
        self.names.as_ref().map_or_else(|| text.to_owned(), |names| names.hide(text))
    }

    /// A plan as it may be shown.
    ///
    /// # Errors
    /// If it cannot be read any more without the names.
    pub fn plan(&self, mut plan: PlanDoc) -> Result<PlanDoc> {
        if self.headers {
            plan.requests.iter_mut().for_each(|request| request.headers.clear());
        }
        self.document(plan)
    }

    /// A result as it may be shown.
    ///
    /// # Errors
    /// As [`Mask::plan`].
    pub fn result(&self, mut result: ResultDoc) -> Result<ResultDoc> {
        if self.headers {
            result.plan.requests.iter_mut().for_each(|request| request.headers.clear());
            for example in &mut result.failed_examples {
                example.request_headers.clear();
                // The status line stays.
                example.response_head = example.response_head.take().map(|head| first_line(&head));
            }
        }
        if self.names.is_some() {
            let connections = result.addresses.iter().map(|row| row.connections).sum();
            let all = AddressDoc { address: HOST_HIDDEN.to_owned(), connections };
            result.addresses = if result.addresses.is_empty() { Vec::new() } else { vec![all] };
        }
        self.document(result)
    }

    /// The figures of a part as they may be shown.
    ///
    /// # Errors
    /// As [`Mask::plan`].
    pub fn range(&self, range: RangeDoc) -> Result<RangeDoc> {
        self.document(range)
    }

    /// A run's page as it may be shown.
    ///
    /// # Errors
    /// As [`Mask::plan`].
    pub fn page(&self, mut page: RunPage) -> Result<RunPage> {
        page.test_name = self.text(&page.test_name);
        page.state_detail = page.state_detail.map(|detail| self.text(&detail));
        page.plan = self.plan(page.plan)?;
        page.result = page.result.map(|result| self.result(result)).transpose()?;
        page.details.part.figures = page.details.part.figures.map(|figures| self.range(figures)).transpose()?;
        page.notes = page.notes.filter(|_| !self.notes).map(|notes| self.text(&notes));
        if let Some(change) = &mut page.changed {
            change.sentences.retain(|sentence| !self.headers || !sentence.to_lowercase().contains("header"));
            change.sentences.iter_mut().for_each(|sentence| *sentence = self.text(sentence));
        }
        page.changed = page.changed.filter(|change| !change.sentences.is_empty());
        Ok(page)
    }

    /// Every text of a document, whatever fields are added to it one day.
    fn document<T: Serialize + DeserializeOwned>(&self, document: T) -> Result<T> {
        let Some(names) = &self.names else { return Ok(document) };
        let mut value = serde_json::to_value(document).map_err(anyhow::Error::from)?;
        names.hide_in(&mut value);
        Ok(serde_json::from_value(value).map_err(anyhow::Error::from)?)
    }
}

/// Names and addresses to be hidden; folded, longest first.
#[derive(Clone, Debug, Default)]
struct Names(Vec<Vec<char>>);

/// Those of the run's plan, of the plan before it (changes are told), and of the addresses that names led to.
async fn names_of(state: &AppState, run: &RunRow) -> Result<Names> {
    let mut names = Names::default();
    let before = state.db.run_before(run).await?;
    for plan in [Some(run), before.as_ref()].into_iter().flatten().filter_map(|run| plan_of(state, run).ok()) {
        names.add_plan(&plan);
    }
    let live = || state.runs.hub.get(run.id).and_then(|live| live.look(Some(u32::MAX)).summary);
    if let Some(result) = result_of(run).or_else(|| live().map(std::sync::Arc::unwrap_or_clone)) {
        for row in &result.addresses {
            if let Ok(address) = row.address.parse::<SocketAddr>() {
                names.add(&address.ip().to_string());
            }
        }
    }
    Ok(names)
}

impl Names {
    fn add_plan(&mut self, plan: &Plan) {
        for at in plan.hosts() {
            self.add_host(&at.host.to_string());
        }
        plan.requests()
            .iter()
            .filter_map(|request| request.target.unicode_host())
            .for_each(|host| self.add_host(&host));
        let spec: &PlanSpec = plan.spec();
        for (_, value) in spec.requests.iter().flat_map(|r| &r.headers).filter(|(name, _)| names_a_host(name)) {
            let authority = value.split_once("://").map_or(value.as_str(), |(_, rest)| rest);
            let authority = authority.split('/').next().unwrap_or_default();
            let host = match authority.rsplit_once(':') {
                Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
                _ => authority,
            };
            self.add_host(host);
        }
    }

    /// A host with its parent domains: `api.shop.example` gives `shop.example` away.
    fn add_host(&mut self, host: &str) {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.add(host);
        self.add(bare);
        if bare.parse::<IpAddr>().is_ok() {
            return;
        }
        let mut rest = bare;
        while let Some((_, parent)) = rest.split_once('.').filter(|(_, parent)| parent.contains('.')) {
            self.add(parent);
            rest = parent;
        }
    }

    fn add(&mut self, name: &str) {
        let folded = fold(name.trim().trim_end_matches('.'));
        if !folded.is_empty() && !self.0.contains(&folded) {
            self.0.push(folded);
            self.0.sort_by_key(|name| std::cmp::Reverse(name.len()));
        }
    }

    /// Takes every occurrence out, with the labels before it and the port behind it.
    fn hide(&self, text: &str) -> String {
        let (chars, folded) = (text.chars().collect::<Vec<_>>(), fold(text));
        let (mut out, mut kept, mut at) = (Vec::with_capacity(chars.len()), 0, 0);
        while at < chars.len() {
            let Some(name) = self.0.iter().find(|name| folded[at..].starts_with(name) && is_apart(&folded, at, name))
            else {
                out.push(chars[at]);
                at += 1;
                continue;
            };
            while out.len() > kept && out.last().is_some_and(|c| is_of_host(*c)) {
                out.pop();
            }
            at += name.len();
            if chars.get(at) == Some(&':') && chars.get(at + 1).is_some_and(char::is_ascii_digit) {
                at += 1;
                at += chars[at..].iter().take_while(|c| c.is_ascii_digit()).count();
            }
            out.extend(HOST_HIDDEN.chars());
            kept = out.len();
        }
        out.into_iter().collect()
    }

    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_in(value)),
            Value::Object(fields) => {
                let open = fields.iter_mut().filter(|(name, _)| !FIXED.contains(&name.as_str()));
                open.for_each(|(_, value)| self.hide_in(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// A name of one label is a word like others: it has to stand alone. Any other is hidden wherever it stands.
fn is_apart(folded: &[char], at: usize, name: &[char]) -> bool {
    if name.contains(&'.') || name.contains(&':') {
        return true;
    }
    let is_word = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric());
    !is_word(at.checked_sub(1).and_then(|before| folded.get(before))) && !is_word(folded.get(at + name.len()))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn is_of_host(c: char) -> bool {
    c.is_alphanumeric() || "-._".contains(c)
}

fn names_a_host(header: &str) -> bool {
    HOST_HEADERS.iter().any(|name| header.eq_ignore_ascii_case(name))
}

/// Lower case, one character for each.
fn fold(text: &str) -> Vec<char> {
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hosts: &[&str]) -> Names {
        let mut names = Names::default();
        hosts.iter().for_each(|host| names.add_host(host));
        names
    }

    #[test]
    fn names_go_with_their_labels_and_ports_and_paths_stay() {
        let names = names(&["api.shop.example", "127.0.0.1", "[::1]", "bücher.example", "web"]);
        for (text, shown) in [
            ("GET http://api.shop.example:8080/a?b=c", "GET http://host hidden/a?b=c"),
            ("HTTPS://API.Shop.Example/", "HTTPS://host hidden/"),
            ("www.shop.example, SHOP.EXAMPLE", "host hidden, host hidden"),
            ("no record for cdn.api.shop.example.", "no record for host hidden."),
            ("http://127.0.0.1:9900/x and 127.0.0.1", "http://host hidden/x and host hidden"),
            ("http://[::1]:80/", "http://host hidden/"),
            ("connect ::1 refused", "connect host hidden refused"),
            ("Bücher.Example", "host hidden"),
            ("web: a webserver on http://web/", "host hidden: a webserver on http://host hidden/"),
            ("shop.examples", "host hiddens"),
            ("nothing of it", "nothing of it"),
            ("", ""),
        ] {
            assert_eq!(names.hide(text), shown, "{text}");
        }
    }

    #[test]
    fn words_of_ours_stay_though_a_target_has_the_same_name() {
        let mut value =
            serde_json::json!({"limited_by": "target", "url": "http://target/x", "list": ["target"], "n": 1});
        names(&["target"]).hide_in(&mut value);
        assert_eq!(
            value,
            serde_json::json!({"limited_by": "target", "url": "http://host hidden/x", "list": ["host hidden"], "n": 1})
        );
    }
}

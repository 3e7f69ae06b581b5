//! Hosts: the list, adding one, and proving that it is one's own.

use leptos::prelude::*;

use crate::format;
use crate::shell::{Head, document};
use crate::ui::badge::host_badge;
use crate::ui::form::{Field, error_summary};
use crate::ui::table::{facts, scroll};
use crate::ui::time::{maybe_moment, moment, moment_short};
use crate::view::{Chrome, FieldError, HostRow, HostState, ProofMethod};

/// `GET /hosts`, and the answer (422) to a `POST /hosts` with faults. Field: `address`.
#[derive(Clone, Debug, Default)]
pub struct HostsPage {
    /// Registered hosts.
    pub hosts: Vec<HostRow>,
    /// As typed.
    pub address: String,
    /// Faults; `field` is `address`.
    pub errors: Vec<FieldError>,
    /// Local mode: loopback addresses need no proof, and the page says so.
    pub local_mode: bool,
}

/// What to put where, to prove that a host is one's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostProof {
    /// Name of the token file, such as `oleada-<32 hex>.txt`.
    pub file_name: String,
    /// Where it is looked for, such as `http://shop.example/oleada-….txt`.
    pub file_url: String,
    /// Its whole contents.
    pub file_body: String,
    /// Name of the TXT record, such as `shop.example`.
    pub dns_name: String,
    /// Its value, such as `oleada=<hex>`.
    pub dns_value: String,
    /// Page that is searched for the meta tag, such as `http://shop.example/`.
    pub meta_url: String,
    /// The tag as text, such as `<meta name="oleada-verification" content="…">`.
    pub meta_tag: String,
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCheck {
    /// Unix milliseconds.
    pub at: i64,
    /// What was looked for.
    pub method: ProofMethod,
    /// Whether it was found.
    pub passed: bool,
    /// What happened, in a sentence.
    pub message: String,
    /// HTTP status of the answer, if there was one.
    pub status: Option<u16>,
    /// What should have been there.
    pub expected: String,
    /// The first bytes of what was there (text; not trusted).
    pub seen: Option<String>,
}

/// `GET /hosts/{id}`.
#[derive(Clone, Debug)]
pub struct HostPage {
    /// The host.
    pub host: HostRow,
    /// What to put where; not shown for trusted hosts.
    pub proof: HostProof,
    /// The last check, if there was one.
    pub last_check: Option<HostCheck>,
    /// How many tests use it.
    pub tests: u64,
    /// An international name as people write it; the address holds its ASCII form.
    pub unicode: Option<String>,
    /// What is odd about that name, in a sentence.
    pub warning: Option<String>,
}

/// Draws the list.
pub fn render_list(chrome: &Chrome, page: &HostsPage) -> String {
    document(chrome, &Head::private("Hosts"), || {
        view! {
            {error_summary(&page.errors, |_| "Address".to_owned())}
            <h1>"Hosts"</h1>
            <p class="lead">"A host can be tested once you have proved that it is yours."</p>
            {(!page.hosts.is_empty()).then(|| table(&page.hosts))}
            <section class="panel">
                <h2>{if page.hosts.is_empty() { "Add your first host" } else { "Add a host" }}</h2>
                <form method="post" action="/hosts" class="inline-form">
                    {Field {
                        name: "address", label: "Address", value: &page.address, required: true, inputmode: "url",
                        hint: format!("Host name and, if it is not the usual one, port: shop.example or shop.example:8443.{}",
                            if page.local_mode { " Addresses of this machine, such as 127.0.0.1:9900, need no proof here." } else { "" }),
                        ..Field::default()
                    }.view(&page.errors)}
                    <button class="button" type="submit">"Add host"</button>
                </form>
            </section>
        }
        .into_any()
    })
}

fn table(hosts: &[HostRow]) -> AnyView {
    let rows = hosts
        .iter()
        .map(|h| {
            view! {
                <tr>
                    <th scope="row"><a class="break" href=format!("/hosts/{}", h.id)>{h.address.clone()}</a><span class="sub">{host_badge(h.state)}</span></th>
                    <td>{h.method.map_or(format::NONE, ProofMethod::label)}</td>
                    <td>{h.checked_at.map_or_else(|| format::NONE.into_any(), moment_short)}</td>
                </tr>
            }
        })
        .collect_view();
    let table = view! {
        <table class="data">
            <caption class="visually-hidden">"Your hosts"</caption>
            <thead><tr><th scope="col">"Host"</th><th scope="col">"Proved by"</th><th scope="col">"Last checked"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    };
    scroll("Your hosts", table.into_any())
}

/// Draws one host.
pub fn render_one(chrome: &Chrome, page: &HostPage) -> String {
    let host = &page.host;
    document(chrome, &Head::private(host.address.clone()), || {
        view! {
            <p class="crumbs"><a href="/hosts">"Hosts"</a></p>
            <div class="page-head">
                <h1 class="break">{host.address.clone()}</h1>
                {host_badge(host.state)}
            </div>
            {page.unicode.as_ref().map(|name| view! { <p class="break">"This is the ASCII form of "<bdi><strong>{name.clone()}</strong></bdi>"."</p> })}
            {page.warning.as_ref().map(|text| view! { <div class="note-box warn"><p class="break">{text.clone()}</p></div> })}
            {standing(page)}
            {page.last_check.as_ref().map(check)}
            {(host.state != HostState::Trusted).then(|| steps(page))}
            <section class="danger">
                <h2>"Remove this host"</h2>
                <p>{format!("{} it. They stay, but cannot run without it.", format::plural(page.tests, "test uses", "tests use"))}</p>
                <form method="post" action=format!("/hosts/{}/delete", host.id) data-confirm="Remove this host? Its tests can then no longer run.">
                    <button class="button danger" type="submit">"Remove host"</button>
                </form>
            </section>
        }
        .into_any()
    })
}

/// What the host's state means for the reader, and the way on.
fn standing(page: &HostPage) -> AnyView {
    let host = &page.host;
    match host.state {
        HostState::Trusted => view! {
            <div class="note-box good">
                <p><strong>"Trusted by this installation."</strong>" This is a local or private address and Oleada runs in local mode, so it needs no proof."</p>
                <p><a class="button" href=new_test(&host.address)>"Test it"</a></p>
            </div>
        }
        .into_any(),
        HostState::Verified => view! {
            <div class="note-box good">
                <p><strong>"Verified"</strong>{host.method.map(|m| format!(" by {}", m.label().to_lowercase()))}" on "{maybe_moment(host.verified_at)}"."
                " It is checked again before every run, so leave the proof in place."</p>
                <p><a class="button" href=new_test(&host.address)>"Test it"</a></p>
            </div>
        }
        .into_any(),
        HostState::Unverified => view! {
            <p class="lead">"Choose one of three ways to show that the host is yours. Any one is enough."</p>
        }
        .into_any(),
        HostState::Lost => view! {
            <div class="note-box bad"><p><strong>"No longer verified."</strong>" The proof was there once but was not found at the last check. Put it back, then check again."</p></div>
        }
        .into_any(),
    }
}

fn new_test(address: &str) -> String {
    // A host of TLS's own port is asked by TLS.
    let url = match address.strip_suffix(":443") {
        Some(name) => format!("https://{name}/"),
        None => format!("http://{}/", address.strip_suffix(":80").unwrap_or(address)),
    };
    let escaped: String = url
        .bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() || b".-_~".contains(&b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect();
    format!("/tests/new?url={escaped}")
}

fn check(check: &HostCheck) -> AnyView {
    let mut rows = vec![
        ("Looked for", check.method.label().into_any()),
        ("When", moment(check.at)),
        ("Answer", check.status.map_or_else(|| format::NONE.to_owned(), |s| format!("status {s}")).into_any()),
        ("Expected", view! { <code class="break">{check.expected.clone()}</code> }.into_any()),
    ];
    if let Some(seen) = &check.seen {
        rows.push((
            "Found",
            if seen.is_empty() {
                "nothing".into_any()
            } else {
                view! { <code class="break">{seen.clone()}</code> }.into_any()
            },
        ));
    }
    let class = if check.passed { "note-box good" } else { "note-box bad" };
    view! {
        <section class=class aria-labelledby="check-title">
            <h2 id="check-title">{if check.passed { "The last check found the proof" } else { "The last check did not find the proof" }}</h2>
            <p>{check.message.clone()}</p>
            {facts(rows)}
        </section>
    }
    .into_any()
}

fn steps(page: &HostPage) -> AnyView {
    let proof = &page.proof;
    let chosen = page.last_check.as_ref().map(|c| c.method).or(page.host.method).unwrap_or(ProofMethod::File);
    let open = |m: ProofMethod| chosen == m;
    let download = format!("/hosts/{}/token.txt", page.host.id);
    view! {
        <section aria-labelledby="prove-title">
            <h2 id="prove-title">"Ways to prove it"</h2>
            <details class="method" name="method" open=open(ProofMethod::File)>
                <summary><h3>"Token file"</h3><span class="muted">"for anybody who can put a file on the server"</span></summary>
                <ol class="plain numbered">
                    <li>"Download "<a href=download download=proof.file_name.clone()>{proof.file_name.clone()}</a>", or make a file of that name that holds exactly this:" {copyable("proof-file", &proof.file_body)}</li>
                    <li>"Put it where this address answers with it, with status 200 and without a redirect to another host:" {copyable("proof-url", &proof.file_url)}</li>
                    <li>{verify(page, ProofMethod::File)}</li>
                </ol>
            </details>
            <details class="method" name="method" open=open(ProofMethod::Dns)>
                <summary><h3>"DNS TXT record"</h3><span class="muted">"for anybody who runs the domain"</span></summary>
                <ol class="plain numbered">
                    <li>"Add a TXT record for this name:" {copyable("proof-name", &proof.dns_name)}</li>
                    <li>"with this value:" {copyable("proof-value", &proof.dns_value)}</li>
                    <li>"New records can take some minutes to be seen." {verify(page, ProofMethod::Dns)}</li>
                </ol>
            </details>
            <details class="method" name="method" open=open(ProofMethod::Meta)>
                <summary><h3>"Meta tag"</h3><span class="muted">"for anybody who can edit the front page"</span></summary>
                <ol class="plain numbered">
                    <li>"Add this inside the "<code>"<head>"</code>" of "<span class="break">{proof.meta_url.clone()}</span>":" {copyable("proof-meta", &proof.meta_tag)}</li>
                    <li>{verify(page, ProofMethod::Meta)}</li>
                </ol>
            </details>
        </section>
    }
    .into_any()
}

fn copyable(id: &'static str, text: &str) -> AnyView {
    view! {
        <div class="copyable">
            <code id=id tabindex="0">{text.to_owned()}</code>
            <button class="button quiet small" type="button" data-copy=id hidden>"Copy"</button>
        </div>
    }
    .into_any()
}

fn verify(page: &HostPage, method: ProofMethod) -> AnyView {
    view! {
        <form method="post" action=format!("/hosts/{}/verify", page.host.id)>
            <input type="hidden" name="method" value=method.as_str() />
            <button class="button" type="submit">{format!("Check the {}", match method { ProofMethod::File => "file", ProofMethod::Dns => "record", ProofMethod::Meta => "tag" })}</button>
        </form>
    }
    .into_any()
}

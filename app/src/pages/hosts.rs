//! Hosts: the list, adding one, and proving that it is one's own.

use leptos::prelude::*;

use crate::shell::{Head, document};
use crate::view::{Chrome, FieldError, HostRow, ProofMethod};

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
}

/// Draws the list.
pub fn render_list(chrome: &Chrome, page: &HostsPage) -> String {
    let _ = page;
    document(chrome, &Head::private("Hosts"), || view! { <h1>"Hosts"</h1> }.into_any())
}

/// Draws one host.
pub fn render_one(chrome: &Chrome, page: &HostPage) -> String {
    document(chrome, &Head::private(page.host.address.clone()), || view! { <h1>{page.host.address.clone()}</h1> }.into_any())
}

//! Secrets of stored plans, encrypted: passwords, tokens, cookies, values of headers. Which texts these are says
//! [`oleada_engine::plan::secrets`]; all else of a plan is stored as it is.
//!
//! A secret is stored in its place as `oleada-sealed-1.` and, in base64, a random nonce with what ChaCha20-Poly1305 (RFC 8439)
//! made of it.
//! Texts of versions that knew no encryption are read as they stand and sealed when they are written next.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use oleada_engine::plan::secrets::each_secret;
use oleada_engine::plan::{Plan, PlanSpec};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest as _, Sha256};

use crate::config::ConfigError;
use crate::store;

/// What a sealed secret begins with.
const SEALED: &str = "oleada-sealed-1.";
/// What stands for one that cannot be opened, followed by a mark of its sealed text: short, so that the plan stays a plan.
const LOST: &str = "oleada-lost-secret-";
/// Encrypted together with every secret, so that the key is good for nothing else.
const PURPOSE: &[u8] = b"oleada secret of a plan";

/// The key of an installation.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    /// A new one.
    pub fn generate() -> SecretKey {
        SecretKey(rand::random())
    }

    /// As it is given with `--secret-key` and stands in a key file.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }
}

/// Says nothing about it.
impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(hidden)")
    }
}

impl FromStr for SecretKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<SecretKey, NotAKey> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| NotAKey)?;
        bytes.try_into().map(SecretKey).map_err(|_| NotAKey)
    }
}

/// A text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 32 bytes in base64, such as `oleada new-key` prints")]
pub struct NotAKey;

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// `--secret-key` or `OLEADA_SECRET_KEY`.
    Given(SecretKey),
    /// A file beside the SQLite database, made when it is first needed.
    File(PathBuf),
}

impl KeySource {
    /// Where the key of an installation with this database comes from.
    ///
    /// # Errors
    /// For a Postgres database without a key: there is no place for one that all its processes would find.
    pub fn of(database: &str, given: Option<&SecretKey>) -> Result<KeySource, ConfigError> {
        match (given, store::sqlite_file(database)) {
            (Some(key), _) => Ok(KeySource::Given(key.clone())),
            (None, Some(file)) => {
                let mut name = file.into_os_string();
                name.push(".key");
                Ok(KeySource::File(name.into()))
            }
            (None, None) => Err(ConfigError {
                option: "secret-key",
                problem:
                    "is needed with a Postgres database: passwords of tests are stored encrypted. Make a key once with \
                          `oleada new-key`, keep it, and give it to every process as OLEADA_SECRET_KEY"
                        .into(),
            }),
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::Given(_) => f.write_str("given by --secret-key or OLEADA_SECRET_KEY"),
            KeySource::File(file) if file.exists() => write!(f, "in the file {}", file.display()),
            KeySource::File(file) => write!(f, "in the file {}, which is made at the first start", file.display()),
        }
    }
}

/// A stored plan as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The plan. What is lost stands in it as a mark.
    pub plan: Plan,
    /// The secrets that the present key does not open, in words such as “the password of request 2”.
    pub lost: Vec<String>,
}

impl Opened {
    /// A sentence about what is lost; `None` if nothing is.
    pub fn loss(&self) -> Option<String> {
        (!self.lost.is_empty()).then(|| {
            format!(
                "These secrets cannot be read with the key that Oleada was started with: {}. Start it with the key they were \
                 stored with, or edit the test and type them again.",
                self.lost.join(", ")
            )
        })
    }
}

/// Why a stored plan cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not the JSON of a plan of this version.
    #[error("it is not a plan of this version: {0}")]
    Json(#[from] serde_json::Error),
    /// It breaks a bound.
    #[error("{0}")]
    Plan(#[from] oleada_engine::plan::PlanErrors),
}

/// Seals and opens secrets.
#[derive(Clone)]
pub struct Vault(SecretKey);

impl Vault {
    /// With this key.
    pub fn new(key: SecretKey) -> Vault {
        Vault(key)
    }

    /// With the key from where it is; a key file that is missing is made, readable by its owner only.
    ///
    /// # Errors
    /// A sentence for the operator: the file cannot be read or made, or is damaged.
    pub fn open(source: &KeySource) -> anyhow::Result<Vault> {
        match source {
            KeySource::Given(key) => Ok(Vault(key.clone())),
            KeySource::File(file) => Ok(Vault(key_file(file)?)),
        }
    }

    /// The plan as it is stored. `before` is the stored text that it was made from: what is lost in it stays as it is there,
    /// so that the right key still opens it.
    ///
    /// # Errors
    /// If the plan cannot be written as JSON, or a secret is longer than a cipher can take.
    pub fn seal(&self, plan: &Plan, before: Option<&str>) -> anyhow::Result<String> {
        let kept = before.map(sealed_texts).unwrap_or_default();
        let mut spec = plan.spec().clone();
        let mut failed = false;
        each_secret(&mut spec, |_, text| {
            if text.is_empty() {
                return;
            }
            match kept.get(text) {
                Some(sealed) => text.clone_from(sealed),
                None => match self.seal_text(text) {
                    Some(sealed) => *text = sealed,
                    None => failed = true,
                },
            }
        });
        if failed {
            bail!("a secret could not be encrypted");
        }
        Ok(serde_json::to_string(&spec)?)
    }

    /// Reads a stored plan.
    ///
    /// # Errors
    /// [`Unreadable`]. Secrets that cannot be opened are no error.
    pub fn unseal(&self, stored: &str) -> Result<Opened, Unreadable> {
        let mut spec: PlanSpec = serde_json::from_str(stored)?;
        let mut lost = Vec::new();
        each_secret(&mut spec, |place, text| {
            if !text.starts_with(SEALED) {
                return;
            }
            match self.open_text(text) {
                Some(clear) => *text = clear,
                None => {
                    *text = mark(text);
                    lost.push(place);
                }
            }
        });
        Ok(Opened { plan: Plan::try_from(spec)?, lost })
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&CHACHA20_POLY1305, &self.0.0).ok().map(LessSafeKey::new)
    }

    /// Random nonces of 96 bits do not meet in the few secrets that one installation ever stores.
    fn seal_text(&self, clear: &str) -> Option<String> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = clear.as_bytes().to_vec();
        let at = Nonce::assume_unique_for_key(nonce);
        self.cipher()?.seal_in_place_append_tag(at, Aad::from(PURPOSE), &mut sealed).ok()?;
        Some(format!("{SEALED}{}", URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat())))
    }

    fn open_text(&self, text: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(SEALED)?).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let (nonce, mut sealed) = (Nonce::assume_unique_for_key(*nonce), sealed.to_vec());
        let clear = self.cipher()?.open_in_place(nonce, Aad::from(PURPOSE), &mut sealed).ok()?;
        String::from_utf8(clear.to_vec()).ok()
    }
}

/// Whether a stored plan holds a secret as clear text, as versions without encryption left it.
pub fn has_clear_text(stored: &str) -> bool {
    let Ok(mut spec) = serde_json::from_str::<PlanSpec>(stored) else { return false };
    let mut clear = false;
    each_secret(&mut spec, |_, text| clear |= !text.is_empty() && !text.starts_with(SEALED));
    clear
}

/// The sealed texts of a stored plan by the marks that stand for them when they are lost.
fn sealed_texts(stored: &str) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    if let Ok(mut spec) = serde_json::from_str::<PlanSpec>(stored) {
        each_secret(&mut spec, |_, text| {
            if text.starts_with(SEALED) {
                texts.insert(mark(text), text.clone());
            }
        });
    }
    texts
}

fn mark(sealed: &str) -> String {
    let digest = Sha256::digest(sealed.as_bytes());
    format!("{LOST}{}", URL_SAFE_NO_PAD.encode(&digest[..12]))
}

fn key_file(file: &Path) -> anyhow::Result<SecretKey> {
    let shown = file.display();
    for made in [false, true] {
        match std::fs::read_to_string(file) {
            Ok(text) => {
                return text.parse().with_context(|| {
                    format!(
                        "the key file {shown} is damaged: put the right one back, or move it away (then a new key is made, and \
                         passwords that were stored with the old one have to be typed again)"
                    )
                });
            }
            Err(error) if error.kind() == ErrorKind::NotFound && !made => {
                make_key_file(file).with_context(|| format!("the key file {shown} cannot be made"))?;
            }
            Err(error) => return Err(error).with_context(|| format!("the key file {shown} cannot be read")),
        }
    }
    bail!("the key file {shown} is gone as soon as it is made")
}

/// Written whole under another name first and then linked, so that of two processes one wins and none reads half a key.
fn make_key_file(file: &Path) -> std::io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", uuid::Uuid::now_v7().simple()));
    let draft = PathBuf::from(name);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut written = options.open(&draft)?;
    let made = written
        .write_all(format!("{}\n", SecretKey::generate().to_base64()).as_bytes())
        .and_then(|()| written.sync_all())
        .and_then(|()| match std::fs::hard_link(&draft, file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        });
    std::fs::remove_file(&draft)?;
    if made? {
        tracing::info!(file = %file.display(), "made a key for the passwords of tests; keep a copy, apart from the database's");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use oleada_engine::plan::{Credentials, RequestSpec};

    use super::*;

    fn plan(password: &str) -> Plan {
        let request = RequestSpec {
            url: "http://u:in-url@127.0.0.1/".into(),
            headers: vec![("X-Token".into(), "in-header".into()), ("Accept".into(), "text/html".into())],
            cookies: vec![("sid".into(), "in-cookie".into())],
            basic_auth: Some(Credentials { user: "anna".into(), password: password.into() }),
            ..RequestSpec::default()
        };
        Plan::try_from(PlanSpec { requests: vec![request], ..PlanSpec::default() }).unwrap()
    }

    #[test]
    fn secrets_are_sealed_and_opened_again() {
        let vault = Vault::new(SecretKey::generate());
        let plan = plan("geheim");
        let stored = vault.seal(&plan, None).unwrap();
        for secret in ["geheim", "in-url", "in-header", "in-cookie"] {
            assert!(!stored.contains(secret), "{stored}");
        }
        assert!(stored.contains("text/html") && !has_clear_text(&stored));
        assert_eq!(vault.unseal(&stored).unwrap(), Opened { plan: plan.clone(), lost: Vec::new() });
        assert_ne!(vault.seal(&plan, None).unwrap(), stored, "the same secret looks different each time");
        // What older versions left.
        let clear = serde_json::to_string(&plan).unwrap();
        assert!(has_clear_text(&clear));
        assert_eq!(vault.unseal(&clear).unwrap(), Opened { plan, lost: Vec::new() });
    }

    #[test]
    fn another_key_loses_the_secrets_and_nothing_else() {
        let (vault, other) = (Vault::new(SecretKey::generate()), Vault::new(SecretKey::generate()));
        let long = plan(&"p".repeat(1000));
        let stored = vault.seal(&long, None).unwrap();
        let opened = other.unseal(&stored).unwrap();
        assert_eq!(
            opened.lost,
            [
                "the password of request 1",
                "the cookie sid of request 1",
                "the header X-Token of request 1",
                "the password in the address of request 1"
            ]
        );
        assert!(opened.loss().unwrap().contains("the password of request 1"));
        // Saved meanwhile, with one typed again: that one is readable, the others wait for their key.
        let mut spec = opened.plan.spec().clone();
        spec.requests[0].headers[0].1 = "typed again".into();
        let saved = other.seal(&Plan::try_from(spec).unwrap(), Some(&stored)).unwrap();
        assert_eq!(other.unseal(&saved).unwrap().lost.len(), 3);
        let back = vault.unseal(&saved).unwrap();
        assert_eq!(back.lost, ["the header X-Token of request 1"]);
        assert_eq!(back.plan.spec().requests[0].basic_auth, long.spec().requests[0].basic_auth);
        assert_eq!(back.plan.spec().requests[0].url, long.spec().requests[0].url);
        // A text that was tampered with is lost, too.
        let damaged = stored.replacen(SEALED, &format!("{SEALED}AAAA"), 1);
        assert_eq!(vault.unseal(&damaged).unwrap().lost.len(), 1);
    }

    #[test]
    fn the_key_comes_from_the_operator_or_a_file() {
        let key = SecretKey::generate();
        assert_eq!(key.to_base64().parse(), Ok(key.clone()));
        assert_eq!("c2hvcnQ=".parse::<SecretKey>(), Err(NotAKey));
        assert!(!format!("{key:?}").contains(&key.to_base64()));
        assert_eq!(KeySource::of("postgres://a@b/c", Some(&key)), Ok(KeySource::Given(key.clone())));
        assert_eq!(KeySource::of("postgres://a@b/c", None).unwrap_err().option, "secret-key");
        let folder = std::env::temp_dir().join(format!("oleada-key-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&folder).unwrap();
        let source = KeySource::of(&format!("sqlite:{}", folder.join("o.db").display()), None).unwrap();
        let file = folder.join("o.db.key");
        assert_eq!(source, KeySource::File(file.clone()));
        assert!(source.to_string().contains("first start"));
        let stored = Vault::open(&source).unwrap().seal(&plan("p"), None).unwrap();
        assert!(Vault::open(&source).unwrap().unseal(&stored).unwrap().lost.is_empty(), "the file is kept");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "and nothing beside it");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions()) & 0o777,
            0o600
        );
        std::fs::write(&file, "nonsense").unwrap();
        let error = Vault::open(&source).err().map(|error| format!("{error:#}")).unwrap();
        assert!(error.contains("o.db.key is damaged"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

//! Who the generator says it is, where a target asks for a client certificate.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::plan::limits;

/// A client certificate with its chain and its private key. `Debug` shows neither.
#[derive(Clone)]
pub struct ClientIdentity(Arc<CertifiedKey>);

/// Why a client certificate cannot be used. The text is a whole sentence and holds nothing of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Over [`limits::PEM_BYTES`].
    #[error("A client certificate and its key may have at most 256 kB each.")]
    TooLarge,
    /// No section of this kind.
    #[error(
        "The client certificate is missing: its file must be in PEM form, with “-----BEGIN CERTIFICATE-----” in it."
    )]
    NoCertificate,
    /// Not PEM, or not a certificate.
    #[error("The client certificate cannot be read: its file is damaged or not in PEM form.")]
    BadCertificate,
    /// The key needs a password.
    #[error("The client key is locked with a password; write it without one: openssl pkey -in KEY -out NEWKEY.")]
    LockedKey,
    /// No section of this kind, or a damaged one.
    #[error("The client key cannot be read: its file must be in PEM form, with “-----BEGIN PRIVATE KEY-----” in it.")]
    NoKey,
    /// An algorithm that is not known.
    #[error("The client key is damaged or of a kind that is not supported; RSA, ECDSA (P-256, P-384) and Ed25519 are.")]
    BadKey,
    /// The two do not belong together.
    #[error("The client certificate and the client key do not belong together: the certificate is for another key.")]
    Mismatch,
}

impl ClientIdentity {
    /// Reads a certificate chain, the client's own certificate first, and its private key (PKCS #8, PKCS #1 or SEC 1),
    /// both in PEM form.
    ///
    /// # Errors
    /// [`IdentityError`], with a sentence that says what to change.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<ClientIdentity, IdentityError> {
        if chain.len().max(key.len()) > limits::PEM_BYTES {
            return Err(IdentityError::TooLarge);
        }
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<_, _>>()
            .map_err(|_| IdentityError::BadCertificate)?;
        if chain.is_empty() {
            return Err(IdentityError::NoCertificate);
        }
        let says = |words: &[u8]| key.windows(words.len()).any(|w| w == words);
        if says(b"BEGIN ENCRYPTED PRIVATE KEY") || says(b"Proc-Type: 4,ENCRYPTED") {
            return Err(IdentityError::LockedKey);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| IdentityError::NoKey)?;
        match CertifiedKey::from_der(chain, key, &ring::default_provider()) {
            Ok(certified) => Ok(ClientIdentity(Arc::new(certified))),
            Err(rustls::Error::InconsistentKeys(_)) => Err(IdentityError::Mismatch),
            Err(rustls::Error::InvalidCertificate(_)) => Err(IdentityError::BadCertificate),
            Err(_) => Err(IdentityError::BadKey),
        }
    }

    pub(super) fn certified_key(&self) -> Arc<CertifiedKey> {
        self.0.clone()
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIdentity(hidden)")
    }
}

//! Certificates of the tests' own authority, and servers that show them.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pub pem: String,
}

impl Authority {
    /// An authority with a name of its own: one that only shares a trusted one's name has a bad signature instead.
    pub fn new(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let own = params.self_signed(&key).unwrap();
        Authority { issuer: Issuer::new(params, key), certificate: own.der().clone(), pem: own.pem() }
    }

    /// A client's certificate and key, both in PEM form.
    pub fn client(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = params(&["client.test"]).signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A server that serves nobody without a client certificate of this authority.
    pub fn demanding_server(&self, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone()).build().unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params(&["127.0.0.1"]).signed_by(&key, &self.issuer).unwrap().der().clone();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
        config.with_client_cert_verifier(verifier).with_single_cert(vec![certificate], key.into()).unwrap()
    }

    /// A server with a certificate of this authority.
    pub fn server(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = params(names);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        config(certificate.der().clone(), &key, rustls::DEFAULT_VERSIONS)
    }
}

fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// A server with a self-signed certificate.
pub fn self_signed(names: &[&str]) -> ServerConfig {
    self_signed_with(names, rustls::DEFAULT_VERSIONS)
}

pub fn self_signed_with(names: &[&str], versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let certificate = params(names).self_signed(&key).unwrap();
    config(certificate.der().clone(), &key, versions)
}

fn config(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    versions: &[&'static SupportedProtocolVersion],
) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    config.with_no_client_auth().with_single_cert(vec![certificate], key.into()).unwrap()
}

/// The same server, offering these protocols.
pub fn offering(mut config: ServerConfig, protocols: &[&str]) -> Arc<ServerConfig> {
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    Arc::new(config)
}

//! The one TLS client configuration of a run, and what its errors mean.

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

use crate::outcome::ErrorKind;
use crate::plan::{Host, HttpVersion};

/// Builds the configuration. Sessions are not resumed: every connection shakes hands as a new visitor's would.
pub(super) fn connector(insecure: bool, http: HttpVersion) -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = if insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(algorithms))).with_no_client_auth()
    } else {
        builder.with_root_certificates(roots()).with_no_client_auth()
    };
    let offered: &[&[u8]] = match http {
        HttpVersion::Auto => &[b"h2", b"http/1.1"],
        HttpVersion::Http1 => &[b"http/1.1"],
        HttpVersion::Http2 => &[b"h2"],
    };
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Mozilla's roots and those of the machine (`SSL_CERT_FILE` and `SSL_CERT_DIR` say where they are).
fn roots() -> RootCertStore {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    roots
}

/// The name for SNI and verification; literals are sent without SNI.
pub(super) fn server_name(host: &Host) -> Option<ServerName<'static>> {
    match host {
        Host::Name(name) => ServerName::try_from(name.trim_end_matches('.').to_owned()).ok(),
        Host::Ip(address) => Some(ServerName::from(*address)),
    }
}

/// Accepts every certificate; signatures of the handshake are still checked, so that the peer holds the key it shows.
#[derive(Debug)]
struct AcceptAny(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        CryptoProvider::get_default()
            .map_or_else(|| self.0.supported_schemes(), |p| p.signature_verification_algorithms.supported_schemes())
    }
}

/// The kind of a TLS error inside `error`, if there is one.
pub(super) fn kind(error: &io::Error) -> Option<ErrorKind> {
    use rustls::Error;
    let tls = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match tls {
        Error::InvalidCertificate(reason) => match reason {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => ErrorKind::TlsExpired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ErrorKind::TlsWrongName
            }
            CertificateError::UnknownIssuer => ErrorKind::TlsUnknownIssuer,
            // A certificate authority as end entity is what a self-signed certificate mostly is.
            CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                ErrorKind::TlsUnknownIssuer
            }
            _ => ErrorKind::Tls,
        },
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => ErrorKind::NotTls,
        Error::PeerIncompatible(_) => ErrorKind::TlsProtocol,
        Error::AlertReceived(
            AlertDescription::ProtocolVersion
            | AlertDescription::HandshakeFailure
            | AlertDescription::InsufficientSecurity,
        ) => ErrorKind::TlsProtocol,
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) | Error::NoApplicationProtocol => {
            ErrorKind::NoHttp2
        }
        _ => ErrorKind::Tls,
    })
}

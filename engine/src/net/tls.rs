//! The one TLS client configuration of a run, and what its errors mean.

use std::cell::Cell;
use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, ProtocolVersion, RootCertStore,
    SignatureScheme,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::dial::stream_kind;
use super::identity::ClientIdentity;
use crate::outcome::ErrorKind;
use crate::plan::{Host, HttpVersion, PlanSpec, TlsVersion};

/// Builds the configuration. Sessions are not resumed: every connection shakes hands as a new visitor's would.
pub(super) fn connector(spec: &PlanSpec, identity: Option<&ClientIdentity>) -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let versions = match spec.min_tls {
        TlsVersion::Tls12 => rustls::DEFAULT_VERSIONS,
        TlsVersion::Tls13 => &[&rustls::version::TLS13],
    };
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions)?;
    let builder = if spec.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(algorithms)))
    } else {
        builder.with_root_certificates(roots())
    };
    let shown = Shown(identity.map(ClientIdentity::certified_key));
    let mut config = builder.with_client_cert_resolver(Arc::new(shown));
    let offered: &[&[u8]] = match spec.http {
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

thread_local! {
    /// A client certificate was asked for in the poll that goes on.
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Shows the client certificate, if there is one, and notes that it was asked for.
#[derive(Debug)]
struct Shown(Option<Arc<CertifiedKey>>);

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        ASKED.set(true);
        self.0.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

/// Shakes hands.
///
/// # Errors
/// What failed, and its kind.
pub(super) async fn handshake(
    connector: &TlsConnector,
    name: ServerName<'static>,
    tcp: TcpStream,
) -> Result<TlsStream<TcpStream>, (ErrorKind, io::Error)> {
    let mut connecting = pin!(connector.connect(name, tcp));
    let mut asked = false;
    let result = poll_fn(|cx| {
        ASKED.set(false);
        let polled = connecting.as_mut().poll(cx);
        asked |= ASKED.get();
        polled
    })
    .await;
    result.map_err(|error| (handshake_kind(&error, asked), error))
}

/// `asked`: the target had asked for a client certificate before.
fn handshake_kind(error: &io::Error, asked: bool) -> ErrorKind {
    let alert = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
    match (alert, error.kind()) {
        // In TLS 1.2 many servers have no other word for a missing certificate.
        (Some(rustls::Error::AlertReceived(AlertDescription::HandshakeFailure)), _) if asked => {
            ErrorKind::TlsClientCertificate
        }
        (None, io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => ErrorKind::Reset,
        (None, io::ErrorKind::UnexpectedEof) => ErrorKind::Tls,
        _ => stream_kind(error),
    }
}

/// The version that was agreed upon.
pub(super) fn version(stream: &TlsStream<TcpStream>) -> Option<TlsVersion> {
    match stream.get_ref().1.protocol_version()? {
        ProtocolVersion::TLSv1_2 => Some(TlsVersion::Tls12),
        ProtocolVersion::TLSv1_3 => Some(TlsVersion::Tls13),
        _ => None,
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
        // What a server says of a certificate is about the client's.
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied,
        ) => ErrorKind::TlsClientCertificate,
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) | Error::NoApplicationProtocol => {
            ErrorKind::NoHttp2
        }
        _ => ErrorKind::Tls,
    })
}

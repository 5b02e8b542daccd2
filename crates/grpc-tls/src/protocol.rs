//! What both sides speak, and why it fails.

use std::{io, sync::Arc};
use tokio_rustls::rustls::{
    CertificateError, Error, SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    version::TLS13,
};

/// Peers are ours, generated gRPC clients or current proxies; none needs an older version.
pub(crate) const VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];
/// The ALPN id of HTTP/1.1 (RFC 7301).
pub const HTTP_1: &[u8] = b"http/1.1";
/// The ALPN id of HTTP/2 (RFC 9113, section 3.2).
pub const HTTP_2: &[u8] = b"h2";

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What rustls says of a stream that failed, without the time of day, so that repeated failures have one
/// text; `None` if TLS is not the reason.
#[must_use]
pub fn tls_problem(error: &io::Error) -> Option<String> {
    let invalid = |problem| Error::InvalidCertificate(problem).to_string();
    Some(match error.get_ref()?.downcast_ref()? {
        // What plain text looks like.
        error @ Error::InvalidMessage(_) => format!("it speaks no TLS: {error}"),
        Error::InvalidCertificate(CertificateError::ExpiredContext { .. }) => {
            invalid(CertificateError::Expired)
        }
        Error::InvalidCertificate(CertificateError::NotValidYetContext { .. }) => {
            invalid(CertificateError::NotValidYet)
        }
        error => error.to_string(),
    })
}

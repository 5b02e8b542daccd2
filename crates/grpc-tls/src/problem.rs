//! Why TLS failed.

use std::io;
use tokio_rustls::rustls::{CertificateError, Error};

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

//! Recognizes a server whose TLS does not match the URL.

use sqlx::Error;
use tokio_rustls::rustls::{self, CertificateError};

/// Whether only another URL or server would help. An expired certificate does not count: the server
/// may renew it, or the clock may be corrected.
pub(super) fn is_tls_mismatch(error: &Error) -> bool {
    match error {
        Error::Tls(_) => true,
        Error::Io(error) => {
            let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            tls.is_some_and(|error| !is_out_of_validity(error))
        }
        _ => false,
    }
}

fn is_out_of_validity(error: &rustls::Error) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        error,
        rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
        )
    )
}

#[cfg(test)]
mod tests {
    use super::is_tls_mismatch;
    use sqlx::Error;
    use std::io::{self, ErrorKind::InvalidData};
    use tokio_rustls::rustls::{self, CertificateError};

    fn certificate(error: CertificateError) -> Error {
        Error::Io(io::Error::new(InvalidData, rustls::Error::InvalidCertificate(error)))
    }

    #[test]
    fn certificate_out_of_its_validity_period_is_not_a_mismatch() {
        for error in [
            certificate(CertificateError::UnknownIssuer),
            certificate(CertificateError::NotValidForName),
            certificate(CertificateError::Revoked),
            Error::Tls("server does not support TLS".into()),
        ] {
            assert!(is_tls_mismatch(&error), "{error}");
        }
        for error in [
            certificate(CertificateError::Expired),
            certificate(CertificateError::NotValidYet),
            Error::Io(io::ErrorKind::ConnectionRefused.into()),
            Error::Io(io::ErrorKind::UnexpectedEof.into()),
            Error::PoolTimedOut,
        ] {
            assert!(!is_tls_mismatch(&error), "{error}");
        }
    }
}

//! Which errors of a connection mean that the server and the URL do not agree about TLS.

use sqlx::Error;
use tokio_rustls::rustls::{self, CertificateError};

/// Whether only another URL, or another server, would help. A certificate that is not good at this
/// time is none of these: the server gets another one, or the clock is set.
pub(super) fn is_tls_mismatch(error: &Error) -> bool {
    match error {
        Error::Tls(_) => true,
        Error::Io(error) => {
            let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            of_tls.is_some_and(|error| !is_about_time(error))
        }
        _ => false,
    }
}

fn is_about_time(error: &rustls::Error) -> bool {
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
    fn what_time_mends_is_told_from_what_it_does_not() {
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

//! Why TLS failed, in words for operators. Each text continues a sentence about the other side.

use std::io;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// Why the client could not connect or read; `None` if TLS is not the reason. The text continues the
/// name of the server.
#[must_use]
pub fn client_problem(error: &io::Error) -> Option<String> {
    use AlertDescription as Alert;
    Some(match tls_error(error)? {
        Error::InvalidMessage(_) => {
            "it speaks no TLS; use http://, or give it a certificate".into()
        }
        Error::InvalidCertificate(problem) => certificate_problem(problem, "servers"),
        Error::PeerIncompatible(_) => "it does not speak TLS 1.3".into(),
        Error::NoApplicationProtocol => "it does not speak HTTP/2".into(),
        Error::AlertReceived(alert) => match *alert {
            Alert::CertificateRequired => "it requires a client certificate".into(),
            Alert::UnknownCA => "it does not trust the CA of the client certificate".into(),
            Alert::DecryptError => {
                "it has another CA with the name of the client certificate's".into()
            }
            Alert::CertificateExpired => {
                "for it, the client certificate has expired or is not valid yet".into()
            }
            Alert::BadCertificate | Alert::UnsupportedCertificate | Alert::CertificateUnknown => {
                "it refuses the client certificate".into()
            }
            Alert::NoApplicationProtocol => "it does not speak HTTP/2".into(),
            Alert::ProtocolVersion => "it does not speak TLS 1.3".into(),
            alert => other_alert(alert),
        },
        _ => "the TLS handshake failed".into(),
    })
}

/// Why the server refused a connection; `None` if the client just left. The text continues the
/// address of the client.
#[must_use]
pub fn server_problem(error: &io::Error) -> Option<String> {
    use AlertDescription as Alert;
    Some(match tls_error(error)? {
        Error::InvalidMessage(_) => "it speaks no TLS, which this port requires".into(),
        Error::NoCertificatesPresented => {
            "it presents no certificate, which this port requires".into()
        }
        Error::InvalidCertificate(problem) => certificate_problem(problem, "clients"),
        Error::PeerIncompatible(_) => "it does not speak TLS 1.3".into(),
        Error::NoApplicationProtocol => "it speaks another version of HTTP than this port".into(),
        Error::AlertReceived(alert) => match *alert {
            Alert::UnknownCA => "it does not trust the CA of this server's certificate".into(),
            Alert::DecryptError => "it has another CA with the name of this server's".into(),
            Alert::CertificateExpired => {
                "for it, this server's certificate has expired or is not valid yet".into()
            }
            Alert::BadCertificate => {
                "it refuses this server's certificate, which probably lacks the name it calls"
                    .into()
            }
            Alert::UnsupportedCertificate | Alert::CertificateUnknown => {
                "it refuses this server's certificate".into()
            }
            alert => other_alert(alert),
        },
        _ => "the TLS handshake failed".into(),
    })
}

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn certificate_problem(problem: &CertificateError, peers: &str) -> String {
    use CertificateError as Problem;
    match problem {
        Problem::UnknownIssuer => "its certificate is not from a CA in the CA file".into(),
        // The CA was made anew under its old name.
        Problem::BadSignature => {
            "its certificate is not from the CA of that name in the CA file".into()
        }
        Problem::Expired | Problem::ExpiredContext { .. } => "its certificate has expired".into(),
        Problem::NotValidYet | Problem::NotValidYetContext { .. } => {
            "its certificate is not valid yet; compare the clocks".into()
        }
        Problem::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name".into() } else { names.join(", ") };
            format!("its certificate is for {names} and not for {}", expected.to_str())
        }
        Problem::NotValidForName => "its certificate is for another name".into(),
        Problem::InvalidPurpose | Problem::InvalidPurposeContext { .. } => {
            format!("its certificate is not for {peers} (extendedKeyUsage)")
        }
        Problem::Revoked => "its certificate is revoked".into(),
        _ => "its certificate or the signature is invalid".into(),
    }
}

/// `localhost` of `DnsName("localhost")`, `127.0.0.1` of `IpAddress(127.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

fn other_alert(alert: AlertDescription) -> String {
    format!("it ended the handshake with alert {} (RFC 8446, section 6)", u8::from(alert))
}

#[cfg(test)]
mod tests {
    use super::{bare, client_problem, server_problem};
    use std::io;
    use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

    fn io(error: Error) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    #[test]
    fn a_failure_that_is_not_of_tls_has_no_text() {
        for error in [io::Error::from(io::ErrorKind::UnexpectedEof), io::Error::other("other")] {
            assert_eq!(client_problem(&error), None);
            assert_eq!(server_problem(&error), None);
        }
    }

    #[test]
    fn unknown_certificate_errors_and_alerts_are_words_too() {
        let damaged = io(Error::InvalidCertificate(CertificateError::BadEncoding));
        let expected = "its certificate or the signature is invalid";
        assert_eq!(client_problem(&damaged).as_deref(), Some(expected));
        let alert = io(Error::AlertReceived(AlertDescription::InternalError));
        let expected = "it ended the handshake with alert 80 (RFC 8446, section 6)";
        assert_eq!(server_problem(&alert).as_deref(), Some(expected));
    }

    #[test]
    fn names_are_shown_without_their_kind() {
        for (name, expected) in
            [("DnsName(\"a.example\")", "a.example"), ("IpAddress(::1)", "::1"), ("a", "a")]
        {
            assert_eq!(bare(name), expected);
        }
    }
}

//! Builds the TLS configurations of clients and servers, opens connections with them, and explains why a
//! connection failed.

use crate::{
    files::{FileError, Identity, IdentityFiles, LoadedIdentity, PemFile, TlsFiles},
    reloadable::Reloadable,
};
use std::{fmt::Write as _, io, path::PathBuf, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    client::TlsStream,
    rustls::{
        CertificateError, ClientConfig, Error, ServerConfig, SupportedProtocolVersion,
        client::Resumption,
        crypto::{CryptoProvider, ring},
        pki_types::ServerName,
        server::WebPkiClientVerifier,
        version::TLS13,
    },
};

/// The TLS versions to offer. Peers are programs of Rolegate, generated gRPC clients and current proxies, and
/// none of them needs an older version.
const VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];
/// The ALPN id of HTTP/1.1 (RFC 7301).
pub const HTTP_1: &[u8] = b"http/1.1";
/// The ALPN id of HTTP/2 (RFC 9113, section 3.2).
pub const HTTP_2: &[u8] = b"h2";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The TLS configuration of a client, which opens connections.
pub type ClientTls = Reloadable<ClientConfig>;

impl ClientTls {
    /// Loads a configuration that trusts the CAs of this PEM file, and presents `identity` to servers that
    /// request a certificate.
    pub fn load(ca_bundle: PathBuf, identity: Option<Identity>) -> Result<Self, FileError> {
        Self::load_settings("", ca_bundle, identity)
    }

    /// Loads a configuration like [`Self::load`]. The files come from the settings `PREFIX_CA_FILE`,
    /// `PREFIX_CERT_FILE` and `PREFIX_KEY_FILE`, which log lines name.
    pub fn load_settings(
        prefix: &str,
        ca_bundle: PathBuf,
        identity: Option<Identity>,
    ) -> Result<Self, FileError> {
        let ca_bundle = PemFile::new(prefix, "CA_FILE", ca_bundle);
        let identity = identity.map(|identity| IdentityFiles::new(prefix, identity));
        let mut source = ca_bundle.to_string();
        if let Some(IdentityFiles { certificate, key }) = &identity {
            let _ = write!(source, " {certificate} {key}");
        }
        Self::new(source, move || client_config(&ca_bundle, identity.as_ref()))
    }

    /// Performs the handshake and returns the encrypted stream. The certificate of the server must be valid for
    /// `host`, which is a DNS name or an IP address without brackets. Also fails if the server does not speak
    /// HTTP/2.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(self.current())
            .connect(host, stream)
            .await?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP_2) {
            let problem = "the server does not speak HTTP/2";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(stream)
    }
}

fn client_config(
    ca_bundle: &PemFile,
    identity: Option<&IdentityFiles>,
) -> Result<ClientConfig, FileError> {
    let trusted = ca_bundle.authorities()?;
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(|error| ca_bundle.error(&format!("cannot be used: {error}")))?
        .with_root_certificates(trusted);
    let mut config = match identity {
        Some(identity) => {
            let LoadedIdentity { chain, key } = identity.read()?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| identity.explain_refusal(&error))?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![HTTP_2.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The TLS configuration of a listener, which accepts connections.
pub type ServerTls = Reloadable<ServerConfig>;

impl ServerTls {
    /// Loads the files that `PREFIX_CERT_FILE`, `PREFIX_KEY_FILE` and `PREFIX_CLIENT_CA_FILE` name, for a
    /// listener that speaks only the protocol `alpn`.
    ///
    /// With a client CA, every client must present a certificate that one of these CAs issued. Returns `None`
    /// if no file is set. An incomplete set is an error, because the listener would otherwise serve plain
    /// text.
    pub fn load(
        prefix: &str,
        files: TlsFiles,
        alpn: &'static [u8],
    ) -> Result<Option<Self>, FileError> {
        let Some(identity) = files.identity(prefix)? else {
            return match files.ca {
                Some(_) => Err(FileError::missing(prefix, "CERT", "CLIENT_CA")),
                None => Ok(None),
            };
        };
        let identity = IdentityFiles::new(prefix, identity);
        let ca = files
            .ca
            .map(|path| PemFile::new(prefix, "CLIENT_CA_FILE", path));
        let mut source = format!("{} {}", identity.certificate, identity.key);
        if let Some(ca) = &ca {
            let _ = write!(source, " {ca}");
        }
        Self::new(source, move || server_config(&identity, ca.as_ref(), alpn)).map(Some)
    }

    /// Returns the acceptor for the next connection.
    #[must_use]
    pub fn acceptor(&self) -> TlsAcceptor {
        self.current().into()
    }
}

fn server_config(
    identity: &IdentityFiles,
    client_ca: Option<&PemFile>,
    alpn: &'static [u8],
) -> Result<ServerConfig, FileError> {
    let LoadedIdentity { chain, key } = identity.read()?;
    let unusable = |error: Error| identity.explain_refusal(&error);
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(unusable)?;
    let builder = match client_ca {
        Some(ca) => {
            let trusted = Arc::new(ca.authorities()?);
            let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider())
                .build()
                .map_err(|error| ca.error(&format!("cannot be used: {error}")))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![alpn.to_vec()];
    // Tickets are off, because a resumed session would not verify the client certificate again.
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Returns the message of rustls about a stream that failed, or `None` if TLS is not the cause. The message
/// contains no time of day, so that repeated failures have the same message.
#[must_use]
pub fn tls_problem(error: &io::Error) -> Option<String> {
    let invalid = |problem| Error::InvalidCertificate(problem).to_string();
    Some(match error.get_ref()?.downcast_ref()? {
        // A peer that sends plain text causes this error.
        error @ Error::InvalidMessage(_) => format!("it does not speak TLS: {error}"),
        Error::InvalidCertificate(CertificateError::ExpiredContext { .. }) => {
            invalid(CertificateError::Expired)
        }
        Error::InvalidCertificate(CertificateError::NotValidYetContext { .. }) => {
            invalid(CertificateError::NotValidYet)
        }
        error => error.to_string(),
    })
}

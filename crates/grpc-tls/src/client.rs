//! The client side.

use crate::{
    files::{FileError, Identity, IdentityFiles, PemFile},
    protocol::{HTTP_2, VERSIONS, provider},
    reloadable::Reloadable,
};
use std::{fmt::Write as _, io, path::PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, client::Resumption, pki_types::ServerName},
};

/// Opens TLS connections.
pub type ClientTls = Reloadable<ClientConfig>;

impl ClientTls {
    /// Trusts the CAs of this PEM file and presents `identity` to servers that ask for one.
    pub fn load(ca_bundle: PathBuf, identity: Option<Identity>) -> Result<Self, FileError> {
        Self::load_settings("", ca_bundle, identity)
    }

    /// The same, of the settings `PREFIX_CA_FILE`, `PREFIX_CERT_FILE` and `PREFIX_KEY_FILE`, which
    /// log lines name.
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
        Self::new(source, move || config(&ca_bundle, identity.as_ref()))
    }

    /// Performs the handshake. The certificate of the server must be for `host`: a DNS name, or an IP
    /// address without brackets.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(self.current()).connect(host, stream).await?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP_2) {
            let problem = "the server does not speak HTTP/2";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(stream)
    }
}

fn config(
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
            let (chain, key) = identity.read()?;
            builder.with_client_auth_cert(chain, key).map_err(|error| identity.unusable(&error))?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![HTTP_2.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

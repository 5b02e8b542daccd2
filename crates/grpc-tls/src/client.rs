//! The client side.

use crate::{
    files::{self, FileError, Identity},
    protocol::{HTTP_2, VERSIONS, provider},
    reloadable::Reloadable,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, client::Resumption, pki_types::ServerName},
};

/// Opens TLS connections. Clones share the files, so that one reload is for all.
#[derive(Clone, Debug)]
pub struct ClientTls(Arc<Reloadable<ClientConfig>>);

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
        let ca = [("CA_FILE", &*ca_bundle)].into_iter();
        let source = files::describe(prefix, ca.chain(identity.iter().flat_map(Identity::files)));
        let config = Reloadable::load(source, move || config(&ca_bundle, identity.as_ref()))?;
        Ok(Self(Arc::new(config)))
    }

    /// Reloads the files for new connections, and logs the outcome. Files that cannot be used
    /// change nothing.
    pub fn reload(&self) {
        self.0.reload();
    }

    /// Performs the handshake. The certificate of the server must be for `host`: a DNS name, or an IP
    /// address without brackets.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(self.0.current()).connect(host, stream).await?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP_2) {
            let problem = "the server does not speak HTTP/2";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(stream)
    }
}

fn config(ca_bundle: &Path, identity: Option<&Identity>) -> Result<ClientConfig, FileError> {
    let trusted = files::read_ca_bundle(ca_bundle)?;
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(|error| FileError::unusable_ca_bundle(ca_bundle, &error))?
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

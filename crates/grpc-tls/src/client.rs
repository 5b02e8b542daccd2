//! The end that calls.

use crate::{FileError, HTTP_2, Identity, VERSIONS, files, provider};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, client::Resumption, pki_types::ServerName},
};

/// How connections are made. Clones read their files again together.
#[derive(Clone, Debug)]
pub struct ClientTls(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    authorities: PathBuf,
    identity: Option<Identity>,
    config: RwLock<Arc<ClientConfig>>,
}

impl ClientTls {
    /// Trusts the authorities of this file, and shows an identity where there is one.
    pub fn load(authorities: PathBuf, identity: Option<Identity>) -> Result<Self, FileError> {
        let config = RwLock::new(config(&authorities, identity.as_ref())?);
        Ok(Self(Arc::new(Parts { authorities, identity, config })))
    }

    /// Reads the files again, for the connections that come.
    pub fn load_again(&self) -> Result<(), FileError> {
        let config = config(&self.0.authorities, self.0.identity.as_ref())?;
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Makes a connection of the stream, to somebody who can prove to be `host` (a name, or an
    /// address without brackets).
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let config = Arc::clone(&self.0.config.read().unwrap_or_else(PoisonError::into_inner));
        let stream = TlsConnector::from(config).connect(host, stream).await?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP_2) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak HTTP/2"));
        }
        Ok(stream)
    }
}

fn config(authorities: &Path, identity: Option<&Identity>) -> Result<Arc<ClientConfig>, FileError> {
    let trusted = files::authorities(authorities)?;
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(|error| FileError::no_verifier(authorities, &error))?
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
    Ok(Arc::new(config))
}

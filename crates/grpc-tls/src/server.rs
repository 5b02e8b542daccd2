//! The end that is called.

use crate::{FileError, HTTP_2, Identity, VERSIONS, files, provider};
use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{self, ServerConfig, server::WebPkiClientVerifier},
};

/// How connections are accepted.
#[derive(Debug)]
pub struct ServerTls {
    identity: Identity,
    callers: Option<PathBuf>,
    config: RwLock<Arc<ServerConfig>>,
}

impl ServerTls {
    /// Shows callers this identity. Where `callers` names a file of authorities, every caller must
    /// show a certificate of one of them: without, the handshake is all that happens.
    pub fn load(identity: Identity, callers: Option<PathBuf>) -> Result<Self, FileError> {
        let config = RwLock::new(config(&identity, callers.as_ref())?);
        Ok(Self { identity, callers, config })
    }

    /// Reads the files again, for the connections that come.
    pub fn load_again(&self) -> Result<(), FileError> {
        let config = config(&self.identity, self.callers.as_ref())?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Whether callers must show a certificate.
    #[must_use]
    pub fn is_mutual(&self) -> bool {
        self.callers.is_some()
    }

    /// For the next connection.
    #[must_use]
    pub fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

fn config(identity: &Identity, callers: Option<&PathBuf>) -> Result<Arc<ServerConfig>, FileError> {
    let (chain, key) = identity.read()?;
    let unusable = |error: rustls::Error| identity.unusable(&error);
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(unusable)?;
    let builder = match callers {
        Some(path) => {
            let authorities = Arc::new(files::authorities(path)?);
            let verifier =
                WebPkiClientVerifier::builder_with_provider(authorities, provider()).build();
            let verifier = verifier.map_err(|error| FileError::no_verifier(path, &error))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![HTTP_2.to_vec()];
    // Connections last; a resumed one would not look at the caller's certificate again.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

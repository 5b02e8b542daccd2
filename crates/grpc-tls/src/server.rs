//! The server side.

use crate::{
    files::{self, FileError, Identity},
    protocol::{VERSIONS, provider},
    reloadable::Reloadable,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{self, ServerConfig, server::WebPkiClientVerifier},
};

/// Accepts TLS connections.
#[derive(Debug)]
pub struct ServerTls(Reloadable<ServerConfig>);

impl ServerTls {
    /// Presents `identity`. With `client_ca`, a PEM file, every client must present a certificate of
    /// one of its CAs; a handshake without one fails. The settings are `PREFIX_CERT_FILE`,
    /// `PREFIX_KEY_FILE` and `PREFIX_CLIENT_CA_FILE`, which log lines name.
    /// `alpn` is the only protocol.
    pub fn load(
        prefix: &str,
        identity: Identity,
        client_ca: Option<PathBuf>,
        alpn: &'static [u8],
    ) -> Result<Self, FileError> {
        let ca = client_ca.as_deref().map(|file| ("CLIENT_CA_FILE", file));
        let source = files::describe(prefix, identity.files().into_iter().chain(ca));
        Reloadable::load(source, move || config(&identity, client_ca.as_deref(), alpn)).map(Self)
    }

    /// Reloads the files for new connections, and logs the outcome. Files that cannot be used
    /// change nothing.
    pub fn reload(&self) {
        self.0.reload();
    }

    /// The acceptor for the next connection.
    #[must_use]
    pub fn acceptor(&self) -> TlsAcceptor {
        self.0.current().into()
    }
}

fn config(
    identity: &Identity,
    client_ca: Option<&Path>,
    alpn: &'static [u8],
) -> Result<ServerConfig, FileError> {
    let (chain, key) = identity.read()?;
    let unusable = |error: rustls::Error| identity.unusable(&error);
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(unusable)?;
    let builder = match client_ca {
        Some(path) => {
            let trusted = Arc::new(files::read_ca_bundle(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider())
                .build()
                .map_err(|error| FileError::unusable_ca_bundle(path, &error))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![alpn.to_vec()];
    // A resumed session would not verify the client certificate again.
    config.send_tls13_tickets = 0;
    Ok(config)
}

//! The server side.

use crate::{
    files::{FileError, Identity, IdentityFiles, PemFile},
    protocol::{VERSIONS, provider},
    reloadable::Reloadable,
};
use std::{fmt::Write as _, path::PathBuf, sync::Arc};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{self, ServerConfig, server::WebPkiClientVerifier},
};

/// Accepts TLS connections.
pub type ServerTls = Reloadable<ServerConfig>;

impl ServerTls {
    /// Loads the files that `PREFIX_CERT_FILE`, `PREFIX_KEY_FILE` and `PREFIX_CLIENT_CA_FILE` name, for a
    /// listener that speaks only the protocol `alpn`. With a client CA, every client must present a
    /// certificate of one of the CAs in it. `None` if none is set; an incomplete set is an error, because
    /// without it the listener would serve plain text.
    pub fn load(
        prefix: &str,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        client_ca: Option<PathBuf>,
        alpn: &'static [u8],
    ) -> Result<Option<Self>, FileError> {
        let missing = |name: &str, because: &str| {
            let problem = format!("is required, because {prefix}_{because}_FILE is set");
            Err(FileError { setting: format!("{prefix}_{name}_FILE"), problem })
        };
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Identity { certificate, key },
            (Some(_), None) => return missing("KEY", "CERT"),
            (None, Some(_)) => return missing("CERT", "KEY"),
            (None, None) if client_ca.is_some() => return missing("CERT", "CLIENT_CA"),
            (None, None) => return Ok(None),
        };
        let identity = IdentityFiles::new(prefix, identity);
        let ca = client_ca.map(|path| PemFile::new(prefix, "CLIENT_CA_FILE", path));
        let mut source = format!("{} {}", identity.certificate, identity.key);
        if let Some(ca) = &ca {
            let _ = write!(source, " {ca}");
        }
        Self::new(source, move || config(&identity, ca.as_ref(), alpn)).map(Some)
    }

    /// The acceptor for the next connection.
    #[must_use]
    pub fn acceptor(&self) -> TlsAcceptor {
        self.current().into()
    }
}

fn config(
    identity: &IdentityFiles,
    client_ca: Option<&PemFile>,
    alpn: &'static [u8],
) -> Result<ServerConfig, FileError> {
    let (chain, key) = identity.read()?;
    let unusable = |error: rustls::Error| identity.unusable(&error);
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
    // A resumed session would not verify the client certificate again.
    config.send_tls13_tickets = 0;
    Ok(config)
}

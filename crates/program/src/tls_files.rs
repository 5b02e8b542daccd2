//! The settings of an encrypted listener.

use crate::settings::SettingError;
use rolegate_grpc_tls::{File, Identity, ServerTls};
use std::{path::PathBuf, sync::Arc};

/// The values of `PREFIX_CERT_FILE`, `PREFIX_KEY_FILE` and `PREFIX_CLIENT_CA_FILE`.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Such as `AUTH_TLS`.
    pub prefix: &'static str,
    /// The certificate of the server.
    pub certificate: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
    /// The CAs of clients; if set, every client must present a certificate.
    pub client_ca: Option<PathBuf>,
}

impl TlsFiles {
    /// Loads the files for a listener that speaks only the protocol `alpn`; `None` if none is set. An
    /// incomplete set is an error, because without it the listener would serve plain text.
    pub fn load(self, alpn: &'static [u8]) -> Result<Option<Arc<ServerTls>>, SettingError> {
        let Self { prefix, certificate, key, client_ca } = self;
        let missing = |name: &str, because: &str| {
            let problem = format!("is required, because {prefix}_{because}_FILE is set");
            Err(SettingError::new(format!("{prefix}_{name}_FILE"), problem))
        };
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Identity { certificate, key },
            (Some(_), None) => return missing("KEY", "CERT"),
            (None, Some(_)) => return missing("CERT", "KEY"),
            (None, None) if client_ca.is_some() => return missing("CERT", "CLIENT_CA"),
            (None, None) => return Ok(None),
        };
        let loaded = ServerTls::load(prefix, identity, client_ca, alpn).map_err(|error| {
            let name = match error.file {
                File::CaBundle => "CLIENT_CA",
                File::Certificate => "CERT",
                File::Key => "KEY",
            };
            SettingError::new(format!("{prefix}_{name}_FILE"), error.to_string())
        })?;
        Ok(Some(Arc::new(loaded)))
    }
}

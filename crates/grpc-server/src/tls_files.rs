//! The settings of an encrypted port.

use rolegate_grpc_tls::{File, Identity, ServerTls};
use rolegate_service_runtime::settings::SettingError;
use std::{path::PathBuf, sync::Arc};

/// The files of an encrypted port, as the settings `PREFIX_CERT_FILE`, `PREFIX_KEY_FILE` and
/// `PREFIX_CLIENT_CA_FILE` name them.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// What the names of the settings begin with, such as `AUTH_TLS`.
    pub prefix: &'static str,
    /// The certificate that callers are shown.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// The authorities of callers; given, every caller must show a certificate.
    pub callers: Option<PathBuf>,
}

impl TlsFiles {
    /// What to encrypt with; `None` without files. Half of them is an error, because half would mean
    /// plain text where somebody meant TLS.
    pub fn load(self) -> Result<Option<Arc<ServerTls>>, SettingError> {
        let Self { prefix, certificate, key, callers } = self;
        let missing = |name: &str, because: &str| {
            let problem = format!("is required, because {prefix}_{because}_FILE is set");
            Err(SettingError::new(format!("{prefix}_{name}_FILE"), problem))
        };
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Identity { certificate, key },
            (Some(_), None) => return missing("KEY", "CERT"),
            (None, Some(_)) => return missing("CERT", "KEY"),
            (None, None) if callers.is_some() => return missing("CERT", "CLIENT_CA"),
            (None, None) => return Ok(None),
        };
        let loaded = ServerTls::load(identity, callers).map_err(|error| {
            let name = match error.file {
                File::Authorities => "CLIENT_CA",
                File::Certificate => "CERT",
                File::Key => "KEY",
            };
            SettingError::new(format!("{prefix}_{name}_FILE"), error.to_string())
        })?;
        Ok(Some(Arc::new(loaded)))
    }
}

/// Reads the files again, if there are any, and says in the log what came of it.
pub fn load_again(tls: Option<&ServerTls>) {
    match tls.map(ServerTls::load_again) {
        None => {}
        Some(Ok(())) => tracing::info!("the certificates of gRPC were read again"),
        Some(Err(error)) => {
            tracing::error!(%error, "the certificates of gRPC stay as they were");
        }
    }
}

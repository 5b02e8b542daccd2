//! For programs that ask auth-service: whether and how their connections are encrypted.

use crate::{AuthClient, ClientTls, File, Identity};
use service_runtime::settings::SettingError;
use std::path::PathBuf;

/// The files of encrypted connections to auth-service.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AuthTlsSettings {
    /// PEM file of the authorities that auth-service's certificate must come from; required for https
    #[arg(long, env = "AUTH_CLIENT_TLS_CA_FILE")]
    pub auth_client_tls_ca_file: Option<PathBuf>,

    /// PEM file of the certificate to show to auth-service, where it demands one
    #[arg(long, env = "AUTH_CLIENT_TLS_CERT_FILE")]
    pub auth_client_tls_cert_file: Option<PathBuf>,

    /// PEM file of its key
    #[arg(long, env = "AUTH_CLIENT_TLS_KEY_FILE")]
    pub auth_client_tls_key_file: Option<PathBuf>,
}

const URL: &str = "AUTH_SERVICE_URL";
const CA: &str = "AUTH_CLIENT_TLS_CA_FILE";
const CERTIFICATE: &str = "AUTH_CLIENT_TLS_CERT_FILE";
const KEY: &str = "AUTH_CLIENT_TLS_KEY_FILE";

impl AuthTlsSettings {
    /// A client of the auth-service at `url`, and what its connections are encrypted with. Settings
    /// that contradict each other are an error: what was meant to be secret would travel in plain
    /// text, or to anybody.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn client(&self, url: &str) -> Result<(AuthClient, Option<ClientTls>), SettingError> {
        let Some(tls) = self.load(url.starts_with("https://"))? else {
            let client = AuthClient::at(url);
            let client = client.map_err(|error| SettingError::new(URL, error.to_string()))?;
            return Ok((client, None));
        };
        let client = AuthClient::at_over_tls(url, tls.clone());
        let client = client.map_err(|error| SettingError::new(URL, error.to_string()))?;
        Ok((client, Some(tls)))
    }

    fn load(&self, is_wanted: bool) -> Result<Option<ClientTls>, SettingError> {
        let required = |name, because: &str| {
            Err(SettingError::new(name, format!("is required, because {because}")))
        };
        let (certificate, key) = (&self.auth_client_tls_cert_file, &self.auth_client_tls_key_file);
        let identity = match (certificate.clone(), key.clone()) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (Some(_), None) => return required(KEY, &format!("{CERTIFICATE} is set")),
            (None, Some(_)) => return required(CERTIFICATE, &format!("{KEY} is set")),
            (None, None) => None,
        };
        let authorities = match self.auth_client_tls_ca_file.clone() {
            Some(authorities) => authorities,
            None if is_wanted => {
                return required(CA, "AUTH_SERVICE_URL is https; no authority is trusted untold");
            }
            None if identity.is_some() => return required(CA, &format!("{CERTIFICATE} is set")),
            None => return Ok(None),
        };
        if !is_wanted {
            let problem = format!("must begin with https://, because {CA} is set");
            return Err(SettingError::new(URL, problem));
        }
        let tls = ClientTls::load(authorities, identity).map_err(|error| {
            let name = match error.file {
                File::Authorities => CA,
                File::Certificate => CERTIFICATE,
                File::Key => KEY,
            };
            SettingError::new(name, error.to_string())
        })?;
        Ok(Some(tls))
    }
}

/// Reads the files of encryption again, at SIGHUP, and says in the log what came of it.
pub fn read_again(tls: Option<&ClientTls>) {
    match tls.map(ClientTls::load_again) {
        None => tracing::info!("SIGHUP: there are no files to read again"),
        Some(Ok(())) => tracing::info!("the certificates of gRPC were read again"),
        Some(Err(error)) => tracing::error!(%error, "the certificates of gRPC stay as they were"),
    }
}

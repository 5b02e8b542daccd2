//! For programs that ask internal services: whether and how their connections are encrypted.

mod client_tls_files;

pub use client_tls_files::ClientTlsFiles;

use crate::{AuthClient, ClientTls};
use rolegate_service_runtime::settings::SettingError;
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

impl AuthTlsSettings {
    /// A client of the auth-service at `url`, and what its connections are encrypted with.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn client(&self, url: &str) -> Result<(AuthClient, Option<ClientTls>), SettingError> {
        let files = ClientTlsFiles {
            url_setting: "AUTH_SERVICE_URL",
            prefix: "AUTH_CLIENT_TLS",
            authorities: self.auth_client_tls_ca_file.clone(),
            certificate: self.auth_client_tls_cert_file.clone(),
            key: self.auth_client_tls_key_file.clone(),
        };
        let url_setting = files.url_setting;
        let tls = files.load(url)?;
        let client = match &tls {
            Some(tls) => AuthClient::connect_lazy_tls(url, tls.clone()),
            None => AuthClient::connect_lazy(url),
        };
        let client = client.map_err(|error| SettingError::new(url_setting, error.to_string()))?;
        Ok((client, tls))
    }
}

//! The settings of programs that call auth-service.

use crate::client::AuthClient;
use rolegate_grpc_client::{BalancedChannel, ClientTls, TlsFiles, settings::ClientTlsFiles};
use rolegate_program::{doctor::Doctor, settings::SettingError};
use std::path::PathBuf;

/// The files of TLS connections to auth-service.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "TLS")]
pub struct AuthTlsSettings {
    /// PEM file of the CAs that may issue auth-service's certificate; required for https
    #[arg(long, env)]
    pub auth_client_tls_ca_file: Option<PathBuf>,

    /// PEM file of the client certificate, if auth-service requires one
    #[arg(long, env)]
    pub auth_client_tls_cert_file: Option<PathBuf>,

    /// PEM file of the key of the client certificate
    #[arg(long, env)]
    pub auth_client_tls_key_file: Option<PathBuf>,
}

impl AuthTlsSettings {
    /// Returns a client of the auth-service at `url`, and the TLS configuration of its connections, which can
    /// be reloaded. The call needs a tokio runtime.
    pub fn client(&self, url: &str) -> Result<(AuthClient, Option<ClientTls>), SettingError> {
        let (channel, tls) = self.files().connect_lazy(AuthClient::SERVICE, url)?;
        let passwords = BalancedChannel::connect_lazy(AuthClient::SERVICE, url, tls.clone())
            .map_err(|error| SettingError::new("AUTH_SERVICE_URL", error))?;
        Ok((AuthClient::new(channel, passwords), tls))
    }

    /// Checks whether each replica of the auth-service at `url` serves, and reports the result to `doctor`.
    pub async fn check(&self, doctor: &mut Doctor, url: &str) {
        self.files()
            .check(doctor, "auth", AuthClient::SERVICE, url)
            .await;
    }

    fn files(&self) -> ClientTlsFiles {
        ClientTlsFiles {
            url_setting: "AUTH_SERVICE_URL",
            prefix: "AUTH_CLIENT_TLS",
            files: TlsFiles {
                certificate: self.auth_client_tls_cert_file.clone(),
                key: self.auth_client_tls_key_file.clone(),
                ca: self.auth_client_tls_ca_file.clone(),
            },
        }
    }
}

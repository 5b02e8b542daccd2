//! Reads the settings about TLS: the certificates of the listener, and the names in certificates of trusted services.

use super::ServiceSettings;
use rolegate_grpc_tls::{HTTP_2, ServerTls, TlsFiles};
use rolegate_program::settings::SettingError;

impl ServiceSettings {
    /// Loads the certificates of the gRPC listener; `None` if it has no TLS.
    pub fn tls(&self) -> Result<Option<ServerTls>, SettingError> {
        Ok(ServerTls::load(
            "AUTH_TLS",
            TlsFiles {
                certificate: self.auth_tls_cert_file.clone(),
                key: self.auth_tls_key_file.clone(),
                ca: self.auth_tls_client_ca_file.clone(),
            },
            HTTP_2,
        )?)
    }

    /// Returns the names in certificates of services that may follow the changes of users. Fails if
    /// client certificates are not verified, because the names would then match no caller.
    pub(crate) fn watchers(&self) -> Result<Vec<String>, SettingError> {
        if !self.user_changes_certificates.is_empty() && self.auth_tls_client_ca_file.is_none() {
            let problem = "would name nobody, because no client certificate is verified; set AUTH_TLS_CLIENT_CA_FILE";
            return Err(SettingError::new("USER_CHANGES_CERTIFICATES", problem));
        }
        Ok(self.user_changes_certificates.clone())
    }
}

//! Settings of TLS connections to a service.

use crate::{BalancedChannel, ClientTls, File, Identity, InvalidAddress, ServiceInfo};
use rolegate_service_runtime::settings::SettingError;
use std::path::PathBuf;

/// The files of TLS connections, set by `PREFIX_CA_FILE`, `PREFIX_CERT_FILE` and `PREFIX_KEY_FILE`.
#[derive(Clone, Debug)]
pub struct ClientTlsFiles {
    /// The setting of the service's URL, such as `AUTH_SERVICE_URL`.
    pub url_setting: &'static str,
    /// The prefix of the settings, such as `AUTH_CLIENT_TLS`.
    pub prefix: &'static str,
    /// The CAs that may issue the service's certificate.
    pub ca_bundle: Option<PathBuf>,
    /// The client certificate.
    pub certificate: Option<PathBuf>,
    /// The key of the client certificate.
    pub key: Option<PathBuf>,
}

impl ClientTlsFiles {
    /// The name of the first setting that is set.
    #[must_use]
    pub fn first_set(&self) -> Option<String> {
        let files = [("CA", &self.ca_bundle), ("CERT", &self.certificate), ("KEY", &self.key)];
        let (name, _) = files.into_iter().find(|(_, file)| file.is_some())?;
        Some(self.setting(name))
    }

    /// A channel to the service at `url`, and its TLS, which can be reloaded; `None` for plain text.
    /// Settings that contradict each other are an error, because secrets would travel in plain text or
    /// to any peer.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy(
        self,
        service: ServiceInfo,
        url: &str,
    ) -> Result<(BalancedChannel, Option<ClientTls>), SettingError> {
        let tls = self.load(url)?;
        let channel = match &tls {
            Some(tls) => BalancedChannel::connect_lazy_tls(service, url, tls.clone()),
            None => BalancedChannel::connect_lazy(service, url),
        };
        let invalid =
            |error: InvalidAddress| SettingError::new(self.url_setting, error.to_string());
        Ok((channel.map_err(invalid)?, tls))
    }

    fn load(&self, url: &str) -> Result<Option<ClientTls>, SettingError> {
        let setting = |name: &str| self.setting(name);
        let required = |name, because: String| {
            Err(SettingError::new(setting(name), format!("is required, because {because}")))
        };
        let is_https = url.starts_with("https://");
        let identity = match (self.certificate.clone(), self.key.clone()) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (Some(_), None) => return required("KEY", format!("{} is set", setting("CERT"))),
            (None, Some(_)) => return required("CERT", format!("{} is set", setting("KEY"))),
            (None, None) => None,
        };
        let Some(ca_bundle) = self.ca_bundle.clone() else {
            if is_https {
                let because = "uses https, and no CA is trusted by default";
                return required("CA", format!("{} {because}", self.url_setting));
            }
            if identity.is_some() {
                return required("CA", format!("{} is set", setting("CERT")));
            }
            return Ok(None);
        };
        if !is_https {
            let problem = format!("must begin with https://, because {} is set", setting("CA"));
            return Err(SettingError::new(self.url_setting, problem));
        }
        let tls = ClientTls::load(ca_bundle, identity).map_err(|error| {
            let name = match error.file {
                File::CaBundle => "CA",
                File::Certificate => "CERT",
                File::Key => "KEY",
            };
            SettingError::new(setting(name), error.to_string())
        })?;
        Ok(Some(tls))
    }

    fn setting(&self, name: &str) -> String {
        format!("{}_{name}_FILE", self.prefix)
    }
}

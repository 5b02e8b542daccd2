//! Connects to a service with the TLS files that settings name, and checks such connections for `doctor`.

use crate::{
    BalancedChannel, ClientTls, FileError, ServiceInfo, TlsFiles, discovery::DnsTarget,
    probe::probe,
};
use rolegate_program::{doctor::Doctor, settings::SettingError};
use std::sync::Arc;

/// The files of TLS connections, which the settings `PREFIX_CA_FILE`, `PREFIX_CERT_FILE` and
/// `PREFIX_KEY_FILE` name.
#[derive(Clone, Debug)]
pub struct ClientTlsFiles {
    /// The name of the setting with the service's URL, such as `AUTH_SERVICE_URL`.
    pub url_setting: &'static str,
    /// The prefix of the three settings of files, such as `AUTH_CLIENT_TLS`.
    pub prefix: &'static str,
    /// The values of these settings.
    pub files: TlsFiles,
}

impl ClientTlsFiles {
    /// Returns the name of the first of these settings that is set; `None` if none is set.
    #[must_use]
    pub fn first_set(&self) -> Option<String> {
        let files = [
            ("CA", &self.files.ca),
            ("CERT", &self.files.certificate),
            ("KEY", &self.files.key),
        ];
        let (name, _) = files.into_iter().find(|(_, file)| file.is_some())?;
        Some(self.setting(name))
    }

    /// Returns a channel to the service at `url`, and its TLS configuration, which can be reloaded; `None` for
    /// plain text. Returns an error if a file or `url` is invalid. Settings that contradict each other are an
    /// error, too, because secrets could otherwise be sent in plain text or to any peer. The caller must be
    /// inside a tokio runtime.
    pub fn connect_lazy(
        self,
        service: ServiceInfo,
        url: &str,
    ) -> Result<(BalancedChannel, Option<ClientTls>), SettingError> {
        let tls = self.load(url)?;
        let channel = BalancedChannel::connect_lazy(service, url, tls.clone())
            .map_err(|error| SettingError::new(self.url_setting, error))?;
        Ok((channel, tls))
    }

    /// Connects to each replica of the service at `url`, and reports to `doctor`, as `step`, whether the
    /// replica serves. Invalid settings are reported, too.
    pub async fn check(&self, doctor: &mut Doctor, step: &str, service: ServiceInfo, url: &str) {
        let target = self.load(url).and_then(|tls| {
            DnsTarget::parse(service, url, tls)
                .map_err(|error| SettingError::new(self.url_setting, error))
        });
        match target {
            Ok(target) => probe(doctor, step, service, url, Arc::new(target)).await,
            Err(error) => doctor.fail(step, error),
        }
    }

    fn load(&self, url: &str) -> Result<Option<ClientTls>, SettingError> {
        let identity = self.files.identity(self.prefix)?;
        let is_https = url.starts_with("https://");
        let Some(ca_bundle) = &self.files.ca else {
            return if is_https {
                let problem = format!(
                    "is required, because {} uses https, and no CA is trusted by default",
                    self.url_setting
                );
                Err(SettingError::new(self.setting("CA"), problem))
            } else if identity.is_some() {
                Err(FileError::missing(self.prefix, "CA", "CERT").into())
            } else {
                Ok(None)
            };
        };
        if !is_https {
            let ca = self.setting("CA");
            let problem = format!("must begin with https://, because {ca} is set");
            return Err(SettingError::new(self.url_setting, problem));
        }
        let tls = ClientTls::load_settings(self.prefix, ca_bundle.clone(), identity)?;
        Ok(Some(tls))
    }

    fn setting(&self, name: &str) -> String {
        format!("{}_{name}_FILE", self.prefix)
    }
}

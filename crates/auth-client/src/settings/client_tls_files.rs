//! The settings of encrypted connections, whichever service is at the other end.

use crate::{ClientTls, File, Identity};
use rolegate_service_runtime::settings::SettingError;
use std::path::PathBuf;

/// The files of encrypted connections, as the settings `PREFIX_CA_FILE`, `PREFIX_CERT_FILE` and
/// `PREFIX_KEY_FILE` name them.
#[derive(Clone, Debug)]
pub struct ClientTlsFiles {
    /// The setting of the service's URL, such as `AUTH_SERVICE_URL`.
    pub url_setting: &'static str,
    /// What the names of the settings begin with, such as `AUTH_CLIENT_TLS`.
    pub prefix: &'static str,
    /// The authorities that the service's certificate must come from.
    pub authorities: Option<PathBuf>,
    /// The certificate to show to the service.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
}

impl ClientTlsFiles {
    /// The first of the settings that is given.
    #[must_use]
    pub fn given(&self) -> Option<String> {
        let files = [("CA", &self.authorities), ("CERT", &self.certificate), ("KEY", &self.key)];
        let (name, _) = files.into_iter().find(|(_, file)| file.is_some())?;
        Some(self.setting(name))
    }

    /// What connections to the service at `url` are encrypted with; `None` for a plain one. Settings
    /// that contradict each other are an error: what was meant to be secret would travel in plain
    /// text, or to anybody.
    pub fn load(self, url: &str) -> Result<Option<ClientTls>, SettingError> {
        let setting = |name: &str| self.setting(name);
        let required = |name, because: &str| {
            Err(SettingError::new(setting(name), format!("is required, because {because}")))
        };
        let is_wanted = url.starts_with("https://");
        let identity = match (self.certificate.clone(), self.key.clone()) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (Some(_), None) => return required("KEY", &format!("{} is set", setting("CERT"))),
            (None, Some(_)) => return required("CERT", &format!("{} is set", setting("KEY"))),
            (None, None) => None,
        };
        let authorities = match self.authorities.clone() {
            Some(authorities) => authorities,
            None if is_wanted => {
                let because = "is https; no authority is trusted untold";
                return required("CA", &format!("{} {because}", self.url_setting));
            }
            None if identity.is_some() => {
                return required("CA", &format!("{} is set", setting("CERT")));
            }
            None => return Ok(None),
        };
        if !is_wanted {
            let problem = format!("must begin with https://, because {} is set", setting("CA"));
            return Err(SettingError::new(self.url_setting, problem));
        }
        let tls = ClientTls::load(authorities, identity).map_err(|error| {
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

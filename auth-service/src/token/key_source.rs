//! Reads the keys from their settings, at start and at each reload.

use super::keyring::Keyring;
use crate::secret_list;
use rolegate_program::{secret::SecretSource, settings::SettingError};
use secrecy::ExposeSecret as _;

/// `SIGNING_SECRET` and `SIGNING_SECRETS_ACCEPTED`, as values or files.
#[derive(Clone, Debug)]
pub struct KeySource {
    /// The secret that signs.
    pub(crate) signing: SecretSource,
    /// Further secrets, separated by commas or newlines.
    pub(crate) accepted: Option<SecretSource>,
}

impl KeySource {
    /// Whether a reload can change the keys: a file can change, an environment variable cannot.
    pub(crate) fn is_reloadable(&self) -> bool {
        self.signing.is_file() || self.accepted.as_ref().is_some_and(SecretSource::is_file)
    }

    /// Names the settings and their files, for log lines about a reload.
    pub(crate) fn describe(&self) -> String {
        match &self.accepted {
            Some(accepted) => format!("{} {}", self.signing.describe(), accepted.describe()),
            None => self.signing.describe(),
        }
    }

    /// Reads all keys. One invalid secret fails the whole ring: a partial one would refuse valid
    /// tokens.
    pub(crate) fn read(&self) -> Result<Keyring, SettingError> {
        let signing = self.signing.read()?;
        let accepted = match &self.accepted {
            Some(source) => secret_list::split(source, source.read()?.expose_secret())?,
            None => Vec::new(),
        };
        Keyring::new(&signing, &accepted).map_err(|error| self.signing.invalid(error))
    }
}

#[cfg(test)]
mod tests;

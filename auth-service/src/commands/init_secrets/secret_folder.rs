//! A folder of secret files that only its owner can replace.

use rolegate_service_runtime::{
    private_folder::{self, current_user},
    program::print,
    secret,
    settings::SettingError,
};
use secrecy::{ExposeSecret, SecretString};
use std::{fmt::Display, fs, io, os::unix::fs::MetadataExt, path::Path};

pub(super) struct SecretFolder<'a>(&'a Path);

impl<'a> SecretFolder<'a> {
    /// Opens the folder that `argument` names; created with mode 0700 if it does not exist.
    pub(super) fn open(argument: &str, path: &'a Path) -> Result<Self, SettingError> {
        private_folder::open(path).map_err(|problem| SettingError::new(argument, problem))?;
        Ok(Self(path))
    }

    /// Reads the secret `name`, generating it if it does not exist. The file must be private.
    pub(super) fn read_or_create(
        &self,
        name: &str,
        generate: impl FnOnce() -> io::Result<SecretString>,
    ) -> Result<SecretString, SettingError> {
        let path = self.0.join(name);
        let (secret, is_new) = secret::read_or_create(&path, generate)
            .map_err(|error| self.invalid(name, format!("cannot be read or created: {error}")))?;
        let metadata = fs::symlink_metadata(&path)
            .map_err(|error| self.invalid(name, format!("cannot be inspected: {error}")))?;
        if !metadata.is_file() || metadata.uid() != current_user() {
            return Err(self.invalid(name, "is not a file of this user"));
        }
        if metadata.mode() & 0o077 != 0 {
            let problem = "others may have read it; replace it, or chmod 600 it if they have not";
            return Err(self.invalid(name, problem));
        }
        print(&format!("{} {}", path.display(), if is_new { "created" } else { "exists" }));
        Ok(secret)
    }

    /// Creates the file `name` with this secret; an existing one with another secret has `problem`.
    pub(super) fn expect(
        &self,
        name: &str,
        secret: &SecretString,
        problem: &str,
    ) -> Result<(), SettingError> {
        let stored = self.read_or_create(name, || Ok(secret.clone()))?;
        if stored.expose_secret() != secret.expose_secret() {
            return Err(self.invalid(name, problem));
        }
        Ok(())
    }

    pub(super) fn invalid(&self, name: &str, problem: impl Display) -> SettingError {
        SettingError::new(self.0.join(name).display().to_string(), problem.to_string())
    }
}

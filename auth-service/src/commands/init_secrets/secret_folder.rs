//! A folder of secret files that only its owner can replace.

use rolegate_program::{
    output::print,
    private_folder::{self, current_user},
    secret,
    settings::SettingError,
};
use secrecy::{ExposeSecret, SecretString};
use std::{fmt::Display, fs, io, os::unix::fs::MetadataExt, path::Path, time::Duration};

pub(super) struct SecretFolder<'a> {
    path: &'a Path,
}

impl<'a> SecretFolder<'a> {
    /// Opens the folder that the argument `argument` names, and creates it with mode 0700 if it
    /// does not exist. Fails if another user owns the folder or can write to it.
    pub(super) fn open(argument: &str, path: &'a Path) -> Result<Self, SettingError> {
        private_folder::open(argument, path, &[])?;
        Ok(Self { path })
    }

    /// Returns the secret `name`, or generates it if it does not exist. The file must be private.
    /// Prints the path of the file.
    pub(super) fn read_or_create(
        &self,
        name: &str,
        generate: impl FnOnce() -> io::Result<SecretString>,
    ) -> Result<SecretString, SettingError> {
        let path = self.path.join(name);
        let generated = secret::read_or_create(&path, generate)
            .map_err(|error| self.invalid(name, format!("cannot be read or created: {error}")))?;
        self.require_private(name)?;
        print(&format!(
            "{} {}",
            path.display(),
            if generated.is_new {
                "created"
            } else {
                "exists"
            }
        ));
        Ok(generated.secret)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// Reads the secret `name`, which must exist and be private.
    pub(super) fn read(&self, name: &str) -> Result<SecretString, SettingError> {
        let secret = secret::read_file(&self.path.join(name)).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                self.invalid(name, "does not exist")
            } else {
                self.invalid(name, error)
            }
        })?;
        self.require_private(name)?;
        Ok(secret)
    }

    /// Returns the time since the secret `name` was written; zero if its time is in the future.
    pub(super) fn age(&self, name: &str) -> Result<Duration, SettingError> {
        let written = fs::metadata(self.path.join(name))
            .and_then(|metadata| metadata.modified())
            .map_err(|error| self.invalid(name, format!("cannot be inspected: {error}")))?;
        Ok(written.elapsed().unwrap_or_default())
    }

    /// Replaces or creates the secret `name` atomically, and prints the path of its file.
    pub(super) fn replace(&self, name: &str, secret: &SecretString) -> Result<(), SettingError> {
        let path = self.path.join(name);
        secret::replace(&path, secret)
            .map_err(|error| self.invalid(name, format!("cannot be written: {error}")))?;
        print(&format!("{} written", path.display()));
        Ok(())
    }

    /// Removes the secret `name`, if it exists.
    pub(super) fn remove(&self, name: &str) -> Result<(), SettingError> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.invalid(name, format!("cannot be removed: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the file `name` belongs to this user, and that other users have no access to it.
    fn require_private(&self, name: &str) -> Result<(), SettingError> {
        let path = self.path.join(name);
        let metadata = fs::symlink_metadata(&path)
            .map_err(|error| self.invalid(name, format!("cannot be inspected: {error}")))?;
        if !metadata.is_file() || metadata.uid() != current_user() {
            return Err(self.invalid(name, "is not a file of this user"));
        }
        if metadata.mode() & 0o077 != 0 {
            let problem = "others may have read it; replace it, or chmod 600 it if they have not";
            return Err(self.invalid(name, problem));
        }
        Ok(())
    }

    /// Creates the file `name` with this secret. If the file exists with another secret, it fails
    /// with `problem`.
    pub(super) fn create_or_compare(
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
        SettingError::new(self.path.join(name).display().to_string(), problem)
    }
}

//! A folder of secret files that only its owner can replace.

use super::DATABASE_PASSWORD;
use rolegate_program::{
    private_folder::{self, current_user},
    program::print,
    secret,
    settings::SettingError,
};
use secrecy::{ExposeSecret, SecretString};
use std::{fmt::Display, fs, io, os::unix::fs::MetadataExt, path::Path, time::Duration};

pub(super) struct SecretFolder<'a>(&'a Path);

impl<'a> SecretFolder<'a> {
    /// Opens the folder that `argument` names; created with mode 0700 if it does not exist.
    pub(super) fn open(argument: &str, path: &'a Path) -> Result<Self, SettingError> {
        private_folder::open(argument, path, &[])?;
        Ok(Self(path))
    }

    /// Reads the secret `name`, generating it if it does not exist. The file must be private.
    pub(super) fn read_or_create(
        &self,
        name: &str,
        generate: impl FnOnce() -> io::Result<SecretString>,
    ) -> Result<SecretString, SettingError> {
        let path = self.0.join(name);
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

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// Reads the secret `name`, which must exist and be private.
    pub(super) fn read(&self, name: &str) -> Result<SecretString, SettingError> {
        let secret = secret::read_file(&self.0.join(name)).map_err(|error| {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let problem = if is_missing {
                "does not exist".into()
            } else {
                error.to_string()
            };
            self.invalid(name, problem)
        })?;
        self.require_private(name)?;
        Ok(secret)
    }

    /// Reads the secret `name`, which the step `before` of a rotation creates.
    pub(super) fn read_after(
        &self,
        name: &str,
        before: &str,
    ) -> Result<SecretString, SettingError> {
        if self.has(name) {
            return self.read(name);
        }
        let problem = format!("does not exist; use --rotate {before}, and reload, first");
        Err(self.invalid(name, problem))
    }

    /// The time since the secret `name` was written; zero if that is in the future.
    pub(super) fn age(&self, name: &str) -> Result<Duration, SettingError> {
        let written = fs::metadata(self.0.join(name)).and_then(|metadata| metadata.modified());
        let written =
            written.map_err(|error| self.invalid(name, format!("cannot be inspected: {error}")))?;
        Ok(written.elapsed().unwrap_or_default())
    }

    /// Replaces the secret `name`, or creates it, in one step.
    pub(super) fn replace(&self, name: &str, secret: &SecretString) -> Result<(), SettingError> {
        let path = self.0.join(name);
        secret::replace(&path, secret)
            .map_err(|error| self.invalid(name, format!("cannot be written: {error}")))?;
        print(&format!("{} written", path.display()));
        Ok(())
    }

    /// Removes the secret `name`, if it exists.
    pub(super) fn remove(&self, name: &str) -> Result<(), SettingError> {
        match fs::remove_file(self.0.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.invalid(name, format!("cannot be removed: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Fails if `directory` holds a database and its password is lost. PostgreSQL's directory is
    /// readable by its own user only, so that one that cannot be read holds a database too.
    pub(super) fn require_password_of(&self, directory: &Path) -> Result<(), SettingError> {
        let has_database = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => true,
            Err(error) => {
                let problem = format!("{} cannot be read: {error}", directory.display());
                return Err(SettingError::new("--database-directory", problem));
            }
        };
        if has_database && !self.has(DATABASE_PASSWORD) {
            let problem = format!(
                "does not exist, but {} holds a database, which keeps the password of its first \
                 start; restore the secrets from a backup, or create others without \
                 --database-directory and give the database the new password",
                directory.display()
            );
            return Err(self.invalid(DATABASE_PASSWORD, problem));
        }
        Ok(())
    }

    /// The file `name` belongs to this user, and no other user may read it.
    fn require_private(&self, name: &str) -> Result<(), SettingError> {
        let path = self.0.join(name);
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
        SettingError::new(self.0.join(name).display().to_string(), problem)
    }
}

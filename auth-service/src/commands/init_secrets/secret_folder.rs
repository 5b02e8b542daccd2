//! The secrets of a folder, each in a file that only the owner of the folder can replace.

use rolegate_program::{
    output::print,
    private_folder::{self, current_user},
    secret,
    settings::SettingError,
};
use secrecy::{ExposeSecret, SecretString};
use std::{
    fmt::Display,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

pub(super) struct SecretFolder<'a> {
    path: &'a Path,
}

/// The file of one secret, which may not exist yet.
pub(super) struct SecretFile {
    path: PathBuf,
}

impl<'a> SecretFolder<'a> {
    /// Opens the folder that the argument `argument` names, and creates it with mode 0700 if it
    /// does not exist. Fails if another user owns the folder or can write to it.
    pub(super) fn open(argument: &str, path: &'a Path) -> Result<Self, SettingError> {
        private_folder::open(argument, path, &[])?;
        Ok(Self { path })
    }

    pub(super) fn file(&self, name: &str) -> SecretFile {
        SecretFile {
            path: self.path.join(name),
        }
    }
}

impl SecretFile {
    /// Returns the secret, or generates it if it does not exist. The file must be private. Prints
    /// the path of the file.
    pub(super) fn read_or_create(
        &self,
        generate: impl FnOnce() -> io::Result<SecretString>,
    ) -> Result<SecretString, SettingError> {
        let generated = secret::read_or_create(&self.path, generate)
            .map_err(|error| self.invalid(format!("cannot be read or created: {error}")))?;
        self.require_private()?;
        let outcome = if generated.is_new {
            "created"
        } else {
            "exists"
        };
        self.print(outcome);
        Ok(generated.secret)
    }

    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Reads the secret, which must exist and be private.
    pub(super) fn read(&self) -> Result<SecretString, SettingError> {
        let secret = secret::read_file(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.invalid("does not exist"),
            _ => self.invalid(error),
        })?;
        self.require_private()?;
        Ok(secret)
    }

    /// Returns the time since the secret was written; zero if its time is in the future.
    pub(super) fn age(&self) -> Result<Duration, SettingError> {
        let written = fs::metadata(&self.path)
            .and_then(|metadata| metadata.modified())
            .map_err(|error| self.not_inspected(&error))?;
        Ok(written.elapsed().unwrap_or_default())
    }

    /// Replaces or creates the secret atomically, and prints the path of its file.
    pub(super) fn replace(&self, secret: &SecretString) -> Result<(), SettingError> {
        secret::replace(&self.path, secret)
            .map_err(|error| self.invalid(format!("cannot be written: {error}")))?;
        self.print("written");
        Ok(())
    }

    /// Removes the secret, if it exists.
    pub(super) fn remove(&self) -> Result<(), SettingError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.invalid(format!("cannot be removed: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the file belongs to this user, and that other users have no access to it.
    fn require_private(&self) -> Result<(), SettingError> {
        let metadata =
            fs::symlink_metadata(&self.path).map_err(|error| self.not_inspected(&error))?;
        if !metadata.is_file() || metadata.uid() != current_user() {
            return Err(self.invalid("is not a file of this user"));
        }
        if metadata.mode() & 0o077 != 0 {
            let problem = "others may have read it; replace it, or chmod 600 it if they have not";
            return Err(self.invalid(problem));
        }
        Ok(())
    }

    /// Creates the file with this secret. If the file exists with another secret, it fails with
    /// `problem`.
    pub(super) fn create_or_compare(
        &self,
        secret: &SecretString,
        problem: &str,
    ) -> Result<(), SettingError> {
        let stored = self.read_or_create(|| Ok(secret.clone()))?;
        if stored.expose_secret() != secret.expose_secret() {
            return Err(self.invalid(problem));
        }
        Ok(())
    }

    fn print(&self, outcome: &str) {
        print(&format!("{} {outcome}", self.path.display()));
    }

    fn not_inspected(&self, error: &io::Error) -> SettingError {
        self.invalid(format!("cannot be inspected: {error}"))
    }

    pub(super) fn invalid(&self, problem: impl Display) -> SettingError {
        SettingError::new(self.path.display().to_string(), problem)
    }
}

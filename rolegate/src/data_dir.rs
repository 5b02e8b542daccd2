//! Opens and checks `DATA_DIR`, the folder of generated secrets and embedded databases.

use rolegate_auth_service::{accounts::InitialPassword, secret_generation};
use rolegate_program::{
    private_folder,
    secret::{self, SecretSource},
    settings::SettingError,
};
use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

pub(crate) const USERS: &str = "rolegate.db";
pub(crate) const POSTS: &str = "posts.db";

/// The file of the secret that signs access tokens. It stays, so that tokens are still valid after a restart.
pub(crate) const SIGNING_SECRET: &str = "signing-secret";
/// The file of the key that encrypts second factors. A folder from a version without second factors lacks it.
pub(crate) const SECOND_FACTOR_KEY: &str = "second-factor-key";

/// The files that rolegate writes to the folder: secrets, and databases with their write-ahead logs and indexes.
const OWN_FILES: [&str; 9] = [
    SIGNING_SECRET,
    SECOND_FACTOR_KEY,
    InitialPassword::NAME,
    USERS,
    "rolegate.db-wal",
    "rolegate.db-shm",
    POSTS,
    "posts.db-wal",
    "posts.db-shm",
];

#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
}

impl DataDir {
    /// Creates the folder with mode 0700 if it does not exist, and checks that it is private.
    ///
    /// The files of rolegate in it must be private, too. Other files, such as a log or a copy that the operator has put
    /// there, are not checked.
    pub(crate) fn open(path: &Path) -> Result<Self, SettingError> {
        private_folder::open("DATA_DIR", path, &OWN_FILES)?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Checks the folder as [`DataDir::open`] does, and creates nothing. Returns `None` if it does not exist.
    pub(crate) fn inspect(path: &Path) -> Result<Option<Self>, SettingError> {
        let exists = path
            .try_exists()
            .map_err(|error| invalid(error.to_string()))?;
        if !exists {
            return Ok(None);
        }
        private_folder::check(path, &OWN_FILES).map_err(invalid)?;
        Ok(Some(Self {
            path: path.to_owned(),
        }))
    }

    /// Marks the folder as served, with a lock that is held until the result is dropped.
    ///
    /// If another process serves the folder, this only logs a warning, because the processes of a restart may overlap.
    /// On a file system without locks, nothing is marked.
    pub(crate) fn mark_served(&self) -> Option<File> {
        let folder = File::open(&self.path).ok()?;
        let is_served = matches!(folder.try_lock(), Err(TryLockError::WouldBlock));
        let _ = folder.unlock();
        // The lock is shared, so that a third process still finds a lock and warns after the first process has ended.
        let _ = folder.try_lock_shared();
        if is_served {
            tracing::warn!(
                data_dir = %self.path.display(),
                "another rolegate serves this DATA_DIR; stop one of them, unless this is a restart"
            );
        }
        Some(folder)
    }

    pub(crate) fn initial_admin_password(&self) -> PathBuf {
        self.path.join(InitialPassword::NAME)
    }

    /// Returns the file with the secret `name`, which is generated with mode 0600 if no earlier start has done so.
    pub(crate) fn secret(&self, name: &str) -> Result<PathBuf, SettingError> {
        let path = self.path.join(name);
        secret::read_or_create(&path, secret_generation::generate_signing_secret).map_err(
            |error| {
                invalid(format!("cannot read or create {}: {error}", path.display()))
                    .transient_if_retryable(&error)
            },
        )?;
        Ok(path)
    }

    /// Returns the file with the secret `name` if an earlier start has generated it. Generates nothing.
    pub(crate) fn existing_secret(&self, name: &str) -> Option<PathBuf> {
        let path = self.path.join(name);
        if path.exists() { Some(path) } else { None }
    }
}

/// Returns the source of a secret in this file of the folder.
pub(crate) fn secret_source(file: &Path) -> SecretSource {
    SecretSource::from_file("DATA_DIR", file)
}

fn invalid(problem: String) -> SettingError {
    SettingError::new("DATA_DIR", problem)
}

#[cfg(test)]
mod tests {
    use super::{DataDir, SECOND_FACTOR_KEY, SIGNING_SECRET, secret_source};
    use secrecy::ExposeSecret;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn secrets_are_created_once_with_mode_0600() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/data");
        let secrets = || {
            let data_dir = DataDir::open(&path).expect("there");
            let source = secret_source(&data_dir.secret(SIGNING_SECRET).expect("there"));
            let key = fs::read_to_string(data_dir.secret(SECOND_FACTOR_KEY).expect("there"));
            (
                source.read().expect("read").expose_secret().to_owned(),
                key.expect("read"),
            )
        };
        let (first, again) = (secrets(), secrets());
        assert_eq!(first, again);
        assert!(first.0.len() == 64 && first.1.len() == 65 && !first.1.starts_with(&first.0));
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        for name in ["signing-secret", "second-factor-key"] {
            assert_eq!(mode(path.join(name)), 0o600);
        }
        assert_eq!(mode(path), 0o700);
    }
}

//! The folder of everything that rolegate writes.

use rolegate_auth_service::{accounts::InitialPassword, secret_generation};
use rolegate_service_runtime::{
    secret::{self, SecretSource},
    settings::SettingError,
};
use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// The embedded database of users, in this folder.
pub(crate) const USERS: &str = "rolegate.db";
/// The embedded database of posts.
pub(crate) const POSTS: &str = "posts.db";

/// `DATA_DIR`, which exists and may be written.
#[derive(Clone, Debug)]
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    /// Makes the folder if it is missing, for this user alone.
    pub(crate) fn open(path: &Path) -> Result<Self, SettingError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map(|()| Self(path.to_owned())).map_err(|error| {
            let path = path.display();
            SettingError::new("DATA_DIR", format!("the folder {path} cannot be made: {error}"))
        })
    }

    /// Where the seeded admin's password is left for the operator.
    pub(crate) fn initial_admin_password(&self) -> PathBuf {
        self.0.join(InitialPassword::NAME)
    }

    /// The secret that signs access tokens: made at the first start (0600), then the same at every
    /// start, so that tokens outlive a restart, until somebody writes another one there.
    pub(crate) fn signing_secret(&self) -> Result<SecretSource, SettingError> {
        let path = self.0.join("signing-secret");
        secret::read_or_create(&path, secret_generation::signing_secret).map_err(|error| {
            let path = path.display();
            SettingError::new("DATA_DIR", format!("{path} cannot be made or read: {error}"))
        })?;
        Ok(SecretSource::from_file("DATA_DIR", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::DataDir;
    use secrecy::ExposeSecret;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn the_signing_secret_is_made_once_for_this_user_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/data");
        let secret = || {
            let source = DataDir::open(&path).expect("there").signing_secret().expect("there");
            source.read().expect("read")
        };
        let (first, again) = (secret(), secret());
        assert_eq!(first.expose_secret(), again.expose_secret());
        assert_eq!(first.expose_secret().len(), 64);
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(path.join("signing-secret")), 0o600);
        assert_eq!(mode(path), 0o700);
    }
}

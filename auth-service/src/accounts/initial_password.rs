//! The file with the generated password of the first admin.

use rolegate_program::secret;
use secrecy::SecretString;
use std::{fs, io, path::PathBuf, sync::Arc};

/// The path of that file; `None` where no password is generated.
#[derive(Clone, Debug, Default)]
pub struct InitialPassword(Option<Arc<PathBuf>>);

impl InitialPassword {
    /// The name of the file in `DATA_DIR`.
    pub const NAME: &str = "initial-admin-password";

    /// The file, which need not exist.
    pub fn in_file(path: PathBuf) -> Self {
        Self(Some(Arc::new(path)))
    }

    /// The password in the file; `None` without a file.
    pub(super) fn read(&self) -> Option<io::Result<SecretString>> {
        let read = secret::read_file(self.0.as_deref()?);
        (!read
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound))
        .then_some(read)
    }

    /// Removes the file, because its password is no longer valid. A failure is only logged.
    pub(super) fn remove(&self) {
        let Some(path) = self.0.as_deref() else {
            return;
        };
        match fs::remove_file(path) {
            Ok(()) => tracing::info!(
                path = %path.display(),
                "removed the file with the initial admin password, which has changed"
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(
                path = %path.display(), %error,
                "cannot remove the file with the initial admin password, which has changed"
            ),
        }
    }
}

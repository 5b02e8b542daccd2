//! The file in which the operator finds the generated password of the first admin.

use rolegate_program::secret;
use secrecy::SecretString;
use std::{fs, io, path::PathBuf, sync::Arc};

/// The file with the generated password of `admin`. The path is `None` if no password is generated.
#[derive(Clone, Debug, Default)]
pub struct InitialPassword {
    path: Option<Arc<PathBuf>>,
}

impl InitialPassword {
    /// The name of the file in `DATA_DIR`.
    pub const NAME: &str = "initial-admin-password";

    /// Returns the file at `path`, which need not exist.
    pub fn in_file(path: PathBuf) -> Self {
        Self {
            path: Some(Arc::new(path)),
        }
    }

    /// Reads the password; `None` if there is no path or no file.
    pub(super) fn read(&self) -> Option<io::Result<SecretString>> {
        match secret::read_file(self.path.as_deref()?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            read => Some(read),
        }
    }

    /// Removes the file, because its password is no longer valid. A failure is only logged.
    pub(super) fn remove(&self) {
        let Some(path) = self.path.as_deref() else {
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

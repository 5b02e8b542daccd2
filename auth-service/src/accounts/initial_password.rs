//! The file in which the generated password of the first admin was left.

use std::{fs, io, path::PathBuf, sync::Arc};

/// Where that file is, if there may be one.
#[derive(Clone, Debug, Default)]
pub struct InitialPassword(Option<Arc<PathBuf>>);

impl InitialPassword {
    /// What the file is called, in the folder of everything that rolegate writes.
    pub const NAME: &str = "initial-admin-password";

    /// The file, which need not exist.
    #[must_use]
    pub fn in_file(path: PathBuf) -> Self {
        Self(Some(Arc::new(path)))
    }

    /// Removes the file: its password is nobody's any more. A file that cannot be removed is not
    /// worth failing for; the log says so.
    pub(super) fn remove(&self) {
        let Some(path) = self.0.as_deref() else { return };
        match fs::remove_file(path) {
            Ok(()) => tracing::info!(
                path = %path.display(),
                "removed the initial password of admin, who has another one now"
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(
                path = %path.display(), %error,
                "cannot remove the initial password of admin, which is not good any more"
            ),
        }
    }
}

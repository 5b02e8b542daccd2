//! `PASSWORD_BLOCKLIST_FILE`, read at start and at each reload.

use super::Blocklist;
use rolegate_program::settings::SettingError;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

const SETTING: &str = "PASSWORD_BLOCKLIST_FILE";

/// The passwords in a file. Clones share them.
#[derive(Clone)]
pub struct BlocklistFile(Arc<Shared>);

struct Shared {
    path: PathBuf,
    current: RwLock<Blocklist>,
    /// Held during a reload: two at once would take the memory of three lists.
    reload: Mutex<()>,
}

impl BlocklistFile {
    /// Reads the file. 10 million lines take seconds.
    pub fn load(path: &Path) -> Result<Self, SettingError> {
        let current = RwLock::new(read(path)?);
        let shared = Shared { path: path.to_owned(), current, reload: Mutex::default() };
        Ok(Self(Arc::new(shared)))
    }

    /// Reads the file again. On an error the old passwords stay. Blocks.
    pub fn reload(&self) {
        let _turn = self.0.reload.lock().unwrap_or_else(PoisonError::into_inner);
        match read(&self.0.path) {
            Ok(new) => {
                let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
                let old = std::mem::replace(&mut *current, new);
                drop(current);
                drop(old);
                self.log();
            }
            Err(error) => {
                tracing::error!(%error, "cannot reload the refused passwords; keeping the old ones");
            }
        }
    }

    /// Says in the log how many passwords are refused.
    pub(crate) fn log(&self) {
        tracing::info!(passwords = self.count(), "loaded the refused passwords");
    }

    /// Lines with a password or a digest.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn contains(&self, password: &str) -> bool {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).contains(password)
    }
}

fn read(path: &Path) -> Result<Blocklist, SettingError> {
    Blocklist::read(path)
        .map_err(|error| SettingError::new(SETTING, format!("{} {error}", path.display())))
}

impl fmt::Debug for BlocklistFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("BlocklistFile").field(&self.0.path).finish()
    }
}

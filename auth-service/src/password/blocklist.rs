//! Common passwords, which users may not choose: `PASSWORD_BLOCKLIST_FILE`, which can be read again.
//!
//! - `digests`: reads the lines of the file.

mod digests;

use digests::{BlocklistError, for_each, of_password};
use rolegate_program::settings::SettingError;
use std::{
    fmt,
    io::Seek as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

const SETTING: &str = "PASSWORD_BLOCKLIST_FILE";

/// 64 bits of the SHA-1 digest of each password, sorted: 8 bytes an entry. A password that is not listed is
/// taken for one that is with a probability of 2⁻⁶⁴ for each entry.
struct Blocklist(Vec<u64>);

impl Blocklist {
    /// Reads the file twice, to count and to keep, so that nothing else takes memory.
    fn read(path: &Path) -> Result<Self, BlocklistError> {
        let mut file = digests::open(path)?;
        let mut count = 0;
        for_each(&file, |_| count += 1)?;
        if count == 0 {
            return Err(BlocklistError::Empty);
        }
        file.rewind()?;
        let (mut digests, mut seen) = (Vec::with_capacity(count), 0);
        for_each(&file, |digest| {
            seen += 1;
            if seen <= count {
                digests.push(digest);
            }
        })?;
        if seen != count {
            return Err(BlocklistError::Changed);
        }
        digests.sort_unstable();
        Ok(Self(digests))
    }

    fn contains(&self, password: &str) -> bool {
        self.0.binary_search(&of_password(password.as_bytes())).is_ok()
    }
}

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
    /// Reads the file. Blocks: 10 million lines take seconds.
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
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).0.len()
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

#[cfg(test)]
mod tests;

//! Holds a TLS configuration that can be read from its files again.

use crate::files::FileError;
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

type Load<C> = dyn Fn() -> Result<C, FileError> + Send + Sync;

/// The TLS configuration of one side. Clones share it, so a reload takes effect for all of them.
#[derive(Clone)]
pub struct Reloadable<C> {
    shared: Arc<Shared<C>>,
}

struct Shared<C> {
    /// The settings and the files, for log lines.
    source: String,
    load: Box<Load<C>>,
    current: RwLock<Arc<C>>,
}

impl<C> Reloadable<C> {
    pub(crate) fn new(
        source: String,
        load: impl Fn() -> Result<C, FileError> + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        let current = RwLock::new(Arc::new(load()?));
        let shared = Arc::new(Shared {
            source,
            load: Box::new(load),
            current,
        });
        Ok(Self { shared })
    }

    pub(crate) fn current(&self) -> Arc<C> {
        let current = self.shared.current.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// Reloads the files for new connections, and logs the outcome. If the files cannot be used, nothing
    /// changes.
    pub fn reload(&self) {
        let Shared {
            source,
            load,
            current,
        } = &*self.shared;
        match load() {
            Ok(config) => {
                *current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                tracing::info!("reloaded the certificates of {source}");
            }
            Err(error) => {
                tracing::error!(
                    %error,
                    "cannot reload the certificates of {source}; keeping the old ones"
                );
            }
        }
    }
}

impl<C> fmt::Debug for Reloadable<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reloadable").finish_non_exhaustive()
    }
}

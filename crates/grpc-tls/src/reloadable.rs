//! A TLS configuration that can be read from its files again.

use crate::files::FileError;
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

type Load<C> = dyn Fn() -> Result<C, FileError> + Send + Sync;

pub(crate) struct Reloadable<C> {
    /// The settings and their files.
    source: String,
    load: Box<Load<C>>,
    current: RwLock<Arc<C>>,
}

impl<C> Reloadable<C> {
    pub(crate) fn load(
        source: String,
        load: impl Fn() -> Result<C, FileError> + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        let current = RwLock::new(Arc::new(load()?));
        Ok(Self { source, load: Box::new(load), current })
    }

    /// The configuration for a new connection.
    pub(crate) fn current(&self) -> Arc<C> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the current configuration if the files cannot be used. Logs either outcome.
    pub(crate) fn reload(&self) {
        let source = &self.source;
        match (self.load)() {
            Ok(config) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
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

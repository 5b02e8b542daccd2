//! SIGHUP: read again what may be read again.
//!
//! Without a handler the signal would end the process. [`crate::program::run`] makes one before
//! anything else, so that it never does, in any program.

use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The reload_signal of this process, from the moment when this was made.
#[derive(Debug)]
pub struct ReloadSignal(Signal);

impl ReloadSignal {
    /// Begins to listen. Made before what may be read again is read for the first time: a file that
    /// changes in between is then read twice, and not missed.
    ///
    /// # Panics
    ///
    /// If the process may not handle signals, and outside a tokio runtime.
    #[must_use]
    pub fn listen() -> Self {
        Self(signal(SignalKind::hangup()).expect("SIGHUP can be handled"))
    }

    /// Does this at each reload_signal, for ever. Those that come while one is worked on are one more.
    pub async fn each(mut self, act: impl Fn()) -> Infallible {
        loop {
            match self.0.recv().await {
                Some(()) => act(),
                None => std::future::pending().await,
            }
        }
    }
}

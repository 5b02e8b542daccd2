//! SIGHUP: read again what may be read again.
//!
//! Without a handler the signal would end the process. [`crate::program::run`] makes one before
//! anything else, so that it never does, in any program.

use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The SIGHUPs of this process since this was created.
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

    /// Runs `act` on every SIGHUP; signals that arrive meanwhile are coalesced.
    pub async fn each(mut self, act: impl Fn()) -> Infallible {
        loop {
            match self.0.recv().await {
                Some(()) => act(),
                None => std::future::pending().await,
            }
        }
    }
}

//! SIGHUP: reload files.
//!
//! The default action of the signal ends the process. [`crate::program::run`] installs a handler
//! first, so that no program ends on it.

use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The SIGHUPs of this process since this was created.
#[derive(Debug)]
pub struct ReloadSignal(Signal);

impl ReloadSignal {
    /// Starts to listen. Create it before the files are read for the first time: a change in between
    /// then leads to a second read and is not missed.
    ///
    /// # Panics
    ///
    /// If the process cannot handle signals, and outside a tokio runtime.
    pub fn listen() -> Self {
        Self(signal(SignalKind::hangup()).expect("SIGHUP can be handled"))
    }

    /// Runs `act` on every signal. Signals that arrive meanwhile are coalesced.
    pub async fn on_each(mut self, act: impl Fn()) -> Infallible {
        loop {
            match self.0.recv().await {
                Some(()) => act(),
                None => std::future::pending().await,
            }
        }
    }
}

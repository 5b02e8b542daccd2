//! Listens for SIGHUP, which makes a program read its files again.
//!
//! By default, the signal would end the process. [`crate::program::run`] therefore installs a handler at the start of
//! every program.

use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives each SIGHUP that reaches this process after the receiver was created.
#[derive(Debug)]
pub struct ReloadSignal(Signal);

impl ReloadSignal {
    /// Starts to listen for the signal.
    ///
    /// Programs call this before they read the files for the first time. A signal in between is then not missed, and
    /// causes a second read.
    ///
    /// # Panics
    ///
    /// Panics if the process cannot handle signals, and outside a tokio runtime.
    pub fn listen() -> Self {
        Self(signal(SignalKind::hangup()).expect("SIGHUP can be handled"))
    }

    /// Runs `act` on every signal. Several signals that arrive while it runs count as one. Never returns.
    pub async fn on_each(mut self, act: impl Fn()) -> Infallible {
        loop {
            match self.0.recv().await {
                Some(()) => act(),
                None => std::future::pending().await,
            }
        }
    }
}

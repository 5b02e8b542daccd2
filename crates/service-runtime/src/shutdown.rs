//! The three phases of a life: running, lame duck, stopping.
//!
//! At the first SIGTERM or SIGINT a program becomes not ready but still accepts, so that balancers
//! can turn away before connections are refused (lame duck); then it stops accepting and finishes
//! what is in flight. A second signal ends it at once.

use std::{future::Future, time::Duration};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Longest time that work in flight gets to finish after the lame-duck time.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// What a server watches to know when to leave. Clones watch the same life.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    lame_duck: CancellationToken,
    stopping: CancellationToken,
}

impl Shutdown {
    /// A life that ends only when its owner calls [`Shutdown::begin`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends this life: lame duck for `lame_duck`, then stopping.
    pub async fn begin(&self, lame_duck: Duration) {
        self.lame_duck.cancel();
        tokio::time::sleep(lame_duck).await;
        self.stopping.cancel();
    }

    /// Stops without a lame-duck time: what is left has no purpose, or failed.
    pub fn stop_now(&self) {
        self.lame_duck.cancel();
        self.stopping.cancel();
    }

    /// Whether the program still serves but wants to be left alone.
    #[must_use]
    pub fn is_lame_duck(&self) -> bool {
        self.lame_duck.is_cancelled()
    }

    /// Resolves when the lame-duck time begins.
    pub fn lame_duck(&self) -> impl Future<Output = ()> + Send + 'static {
        self.lame_duck.clone().cancelled_owned()
    }

    /// Resolves when nothing new may be accepted any more.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + 'static {
        self.stopping.clone().cancelled_owned()
    }
}

/// Resolves at SIGTERM or SIGINT. Made before the wait, so that no signal is missed in between.
///
/// # Panics
///
/// If the process may not handle signals: then it could not be stopped cleanly at all.
pub fn termination_signal() -> impl Future<Output = ()> {
    let mut terminate = signal(SignalKind::terminate()).expect("SIGTERM can be handled");
    let mut interrupt = signal(SignalKind::interrupt()).expect("SIGINT can be handled");
    async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

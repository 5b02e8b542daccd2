//! Graceful shutdown: running, lame duck, stopping.
//!
//! After the first SIGTERM or SIGINT a program is not ready but still accepts, so that load balancers
//! stop sending before connections are refused (lame duck). Then it stops accepting and finishes open
//! requests. A second signal ends it at once.

use std::{future::Future, time::Duration};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The time that open requests get after the lame-duck time.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The phase of a server. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    lame_duck: CancellationToken,
    stopping: CancellationToken,
}

impl Shutdown {
    /// Running, until [`Self::begin`] or [`Self::stop_now`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Lame duck for this time, then stopping.
    pub async fn begin(&self, lame_duck: Duration) {
        self.lame_duck.cancel();
        tokio::time::sleep(lame_duck).await;
        self.stopping.cancel();
    }

    /// Stopping at once: there are no clients to inform.
    pub fn stop_now(&self) {
        self.lame_duck.cancel();
        self.stopping.cancel();
    }

    /// Whether the shutdown has begun.
    pub fn is_lame_duck(&self) -> bool {
        self.lame_duck.is_cancelled()
    }

    /// Resolves when the lame-duck time begins.
    pub fn lame_duck(&self) -> impl Future<Output = ()> + Send + 'static {
        self.lame_duck.clone().cancelled_owned()
    }

    /// Resolves when the server must stop accepting.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + 'static {
        self.stopping.clone().cancelled_owned()
    }
}

/// Resolves on SIGTERM or SIGINT. Listens from the call on, not from the first poll.
///
/// # Panics
///
/// If the process cannot handle signals.
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

//! Graceful shutdown in three phases: running, lame duck, stopping.
//!
//! After the first SIGTERM or SIGINT, a program is a lame duck: it is not ready, but still accepts connections, so
//! that load balancers stop sending before connections are refused. Then it stops accepting, and finishes open
//! requests. A second signal ends it at once.

use std::{future::Future, time::Duration};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The time that open requests get to finish after the lame-duck time.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The phase of a server's shutdown. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    lame_duck: CancellationToken,
    stopping: CancellationToken,
}

impl Shutdown {
    /// Creates a shutdown that has not begun. Its phase is running until [`Self::begin`] or [`Self::stop_now`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins the shutdown: makes the server a lame duck for this time, then stops it. Does not wait for open requests.
    pub async fn begin(&self, lame_duck: Duration) {
        self.lame_duck.cancel();
        tokio::time::sleep(lame_duck).await;
        self.stopping.cancel();
    }

    /// Stops the server at once, for a server that has no load balancer to inform.
    pub fn stop_now(&self) {
        self.lame_duck.cancel();
        self.stopping.cancel();
    }

    /// Returns `true` once the shutdown has begun, also after the lame-duck time.
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

/// Resolves on SIGTERM or SIGINT. It listens from the call on, not only from the first poll.
///
/// # Panics
///
/// Panics if the process cannot handle signals.
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

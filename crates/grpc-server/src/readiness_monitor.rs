//! Readiness and gRPC health that follow the store.

use crate::server::GrpcServer;
use rolegate_service_runtime::{readiness::Readiness, shutdown::Shutdown};
use std::{fmt::Display, time::Duration};

const PING_INTERVAL: Duration = Duration::from_secs(1);

impl GrpcServer {
    /// Updates `readiness` and gRPC health from `ping` until `shutdown` begins; then neither is ready.
    /// When `drained` stops, which is when the last caller has finished, health watchers are released.
    pub async fn monitor_store<E: Display, F: Future<Output = Result<(), E>>>(
        &self,
        ping: impl Fn() -> F,
        readiness: Readiness,
        shutdown: &Shutdown,
        drained: &Shutdown,
    ) {
        let mut was_healthy = true;
        let mut lame_duck = std::pin::pin!(shutdown.lame_duck());
        loop {
            let outcome = ping().await;
            let is_healthy = outcome.is_ok();
            if let (Err(error), true) = (&outcome, was_healthy) {
                tracing::error!(%error, "not ready: the store is unavailable");
            } else if is_healthy && !was_healthy {
                tracing::info!("ready: the store is available again");
            }
            was_healthy = is_healthy;
            readiness.set_healthy(is_healthy);
            self.set_serving(readiness.is_ready()).await;
            tokio::select! {
                () = &mut lame_duck => break,
                () = tokio::time::sleep(PING_INTERVAL) => {}
            }
        }
        self.set_serving(false).await;
        drained.stopping().await;
        // Streams of health watchers have no end of their own and would hold up the drain.
        self.clear_health().await;
    }
}

//! Readiness and gRPC health that follow the store.

use crate::server::GrpcServer;
use rolegate_http_server::readiness::Readiness;
use rolegate_program::shutdown::Shutdown;
use rolegate_telemetry::logs::error_chain;
use std::{error::Error, sync::Arc, time::Duration};

const PING_INTERVAL: Duration = Duration::from_secs(1);

impl GrpcServer {
    /// Updates `readiness` and gRPC health from `check` until `shutdown` begins; then neither is ready.
    /// A store that answers `check` is ready for reads; the value is why it cannot write.
    /// When `drained` stops, which is when the last caller has finished, health watchers are released.
    pub async fn monitor_store<E: Error>(
        &self,
        check: impl AsyncFn() -> Result<Option<Arc<str>>, E>,
        readiness: Readiness,
        shutdown: &Shutdown,
        drained: &Shutdown,
    ) {
        let mut was_healthy = true;
        let mut lame_duck = std::pin::pin!(shutdown.lame_duck());
        loop {
            let outcome = check().await;
            let is_healthy = outcome.is_ok();
            if let (Err(error), true) = (&outcome, was_healthy) {
                let error = error_chain(error);
                tracing::error!(error, "not ready: the store is unavailable");
            } else if is_healthy && !was_healthy {
                tracing::info!("ready: the store is available again");
            }
            was_healthy = is_healthy;
            readiness.set_healthy(is_healthy);
            readiness.set_write_problem(outcome.ok().flatten());
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

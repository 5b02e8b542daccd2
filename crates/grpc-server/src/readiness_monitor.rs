//! Readiness and gRPC health that follow the store.

use crate::GrpcServer;
use rolegate_http_server::readiness::Readiness;
use rolegate_program::shutdown::Shutdown;
use rolegate_telemetry::logs::error_chain;
use std::time::Duration;
use tonic_health::ServingStatus;

const PING_INTERVAL: Duration = Duration::from_secs(1);

impl GrpcServer {
    /// Updates `readiness` and gRPC health from the store until `shutdown` begins; then neither is ready.
    /// When `drained` stops, which is when the last caller has finished, health watchers are released.
    pub(crate) async fn monitor_store(
        &self,
        readiness: Readiness,
        shutdown: &Shutdown,
        drained: &Shutdown,
    ) {
        tokio::select! {
            // A store that answers late must not keep this server in use.
            () = shutdown.lame_duck() => {}
            () = self.follow_store(&readiness) => {}
        }
        self.set_serving(false).await;
        drained.stopping().await;
        // Streams of health watchers have no end of their own and would hold up the drain.
        let mut health = self.health.clone();
        for name in self.health_names {
            health.clear_service_status(name).await;
        }
    }

    async fn follow_store(&self, readiness: &Readiness) {
        let mut was_healthy = true;
        loop {
            let outcome = self.store.ping().await;
            let is_healthy = outcome.is_ok();
            if let (Err(error), true) = (&outcome, was_healthy) {
                let error = error_chain(error);
                tracing::error!(error, "not ready: the store is unavailable");
            } else if is_healthy && !was_healthy {
                tracing::info!("ready: the store is available again");
            }
            was_healthy = is_healthy;
            readiness.set_healthy(is_healthy);
            let problem = outcome
                .ok()
                .and_then(|()| self.store.status().write_problem);
            readiness.set_write_problem(problem);
            self.set_serving(readiness.is_ready()).await;
            tokio::time::sleep(PING_INTERVAL).await;
        }
    }

    pub(crate) async fn set_serving(&self, serving: bool) {
        let status = if serving {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        for name in self.health_names {
            self.health.set_service_status(name, status).await;
        }
    }
}

#[cfg(test)]
mod tests;

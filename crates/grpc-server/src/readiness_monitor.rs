//! Makes readiness and gRPC health follow the store.

use rolegate_http_server::readiness::Readiness;
use rolegate_program::{logs::error_chain, shutdown::Shutdown};
use rolegate_sql_store::Store;
use std::time::Duration;
use tonic_health::{ServingStatus, server::HealthReporter};

const PING_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct ReadinessMonitor<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) health: &'a ServiceHealth,
    pub(crate) readiness: Readiness,
}

impl ReadinessMonitor<'_> {
    /// Updates readiness and gRPC health from the store until `shutdown` begins. From then on, both report that
    /// the server is not ready. Ends the streams of health watchers when `drained` is stopping. `drained` is
    /// the shutdown for the callers that leave last.
    pub(crate) async fn run(self, shutdown: &Shutdown, drained: &Shutdown) {
        tokio::select! {
            // The shutdown also ends a ping that the store has not answered, which would otherwise delay the
            // shutdown.
            () = shutdown.lame_duck() => {}
            () = self.follow_store() => {}
        }
        self.health.set_serving(false).await;
        drained.stopping().await;
        self.health.release_watchers().await;
    }

    async fn follow_store(&self) {
        let mut was_healthy = true;
        loop {
            let ping = self.store.ping().await;
            let is_healthy = ping.is_ok();
            match ping {
                Ok(()) if !was_healthy => tracing::info!("ready: the store is available again"),
                Err(error) if was_healthy => {
                    let error = error_chain(&error);
                    tracing::error!(error, "not ready: the store is unavailable");
                }
                _ => {}
            }
            was_healthy = is_healthy;
            self.readiness.set_healthy(is_healthy);
            let write_problem = if is_healthy {
                self.store.status().write_problem
            } else {
                None
            };
            self.readiness.set_write_problem(write_problem);
            self.health.set_serving(self.readiness.is_ready()).await;
            tokio::time::sleep(PING_INTERVAL).await;
        }
    }
}

/// The health that gRPC clients watch (`grpc.health.v1`). Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ServiceHealth {
    pub(crate) reporter: HealthReporter,
    /// The names under which health is reported: the empty name for the whole server, and the name of the
    /// service.
    names: [&'static str; 2],
}

impl ServiceHealth {
    pub(crate) fn new(reporter: HealthReporter, service: &'static str) -> Self {
        Self {
            reporter,
            names: ["", service],
        }
    }

    pub(crate) async fn set_serving(&self, is_serving: bool) {
        let status = if is_serving {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        for name in self.names {
            self.reporter.set_service_status(name, status).await;
        }
    }

    /// Ends the streams of health watchers. They do not end by themselves, so they would delay the drain.
    pub(crate) async fn release_watchers(&self) {
        let mut reporter = self.reporter.clone();
        for name in self.names {
            reporter.clear_service_status(name).await;
        }
    }
}

#[cfg(test)]
mod tests;

//! Readiness and gRPC health that follow the store.

use crate::server::{GrpcServer, HostedStore};
use rolegate_http_server::readiness::Readiness;
use rolegate_program::shutdown::Shutdown;
use rolegate_telemetry::logs::error_chain;
use std::time::Duration;
use tonic_health::ServingStatus;

const PING_INTERVAL: Duration = Duration::from_secs(1);

impl<S: HostedStore + ?Sized> GrpcServer<S> {
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
            let outcome = self.store.check().await;
            let is_healthy = outcome.is_ok();
            if let (Err(error), true) = (&outcome, was_healthy) {
                let error = error_chain(&**error);
                tracing::error!(error, "not ready: the store is unavailable");
            } else if is_healthy && !was_healthy {
                tracing::info!("ready: the store is available again");
            }
            was_healthy = is_healthy;
            readiness.set_healthy(is_healthy);
            readiness.set_write_problem(outcome.ok().flatten());
            self.set_serving(readiness.is_ready()).await;
            tokio::time::sleep(PING_INTERVAL).await;
        }
    }

    /// Sets the status in `grpc.health.v1`.
    pub(crate) async fn set_serving(&self, serving: bool) {
        let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
        for name in self.health_names {
            self.health.set_service_status(name, status).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::server::{GrpcServer, HostedStore};
    use async_trait::async_trait;
    use rolegate_http_server::readiness::Readiness;
    use rolegate_program::{cidr_set::CidrSet, shutdown::Shutdown};
    use std::{
        error::Error,
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };
    use tonic::{Request, service::Routes};
    use tonic_health::{
        pb::{HealthCheckRequest, health_server::Health as _},
        server::HealthService,
    };

    /// Answers at once, until it is stuck.
    #[derive(Default)]
    struct Store(AtomicBool);

    #[async_trait]
    impl HostedStore for Store {
        async fn check(&self) -> Result<Option<Arc<str>>, Box<dyn Error + Send + Sync>> {
            if self.0.load(Ordering::Relaxed) {
                pending::<()>().await;
            }
            Ok(None)
        }

        async fn close(&self) {}
    }

    async fn status(server: &GrpcServer<Store>) -> &'static str {
        let health = HealthService::from_health_reporter(server.health.clone());
        let response = health.check(Request::new(HealthCheckRequest::default())).await;
        response.expect("a status").into_inner().status().as_str_name()
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_does_not_delay_the_end_of_health() {
        let store = Arc::new(Store::default());
        let (trusted, shutdown) = (CidrSet::default(), Shutdown::new());
        let server =
            GrpcServer::new(Routes::default(), "test", &[], trusted, Arc::clone(&store)).await;
        let readiness = Readiness::new(&shutdown);
        let ends = async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            assert_eq!(status(&server).await, "SERVING");
            store.0.store(true, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(2)).await;
            let lame_duck = shutdown.begin(Duration::from_secs(2));
            let soon = async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert_eq!(status(&server).await, "NOT_SERVING");
            };
            tokio::join!(lame_duck, soon);
        };
        tokio::join!(server.monitor_store(readiness, &shutdown, &shutdown), ends);
    }
}

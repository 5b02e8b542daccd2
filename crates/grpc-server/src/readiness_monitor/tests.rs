use super::{ReadinessMonitor, ServiceHealth};
use async_trait::async_trait;
use rolegate_http_server::readiness::Readiness;
use rolegate_program::shutdown::Shutdown;
use rolegate_sql_store::{Store, StoreError, StoreStatus};
use std::{
    future::pending,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tonic::Request;
use tonic_health::{
    pb::{HealthCheckRequest, health_server::Health as _},
    server::{HealthService, health_reporter},
};

/// A store that answers at once until it is stuck.
#[derive(Default)]
struct Stuck(AtomicBool);

#[async_trait]
impl Store for Stuck {
    async fn ping(&self) -> Result<(), StoreError> {
        if self.0.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
        Ok(())
    }

    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    async fn close(&self) {}
}

async fn status(health: &ServiceHealth) -> &'static str {
    let health = HealthService::from_health_reporter(health.reporter.clone());
    let response = health
        .check(Request::new(HealthCheckRequest::default()))
        .await;
    response
        .expect("a status")
        .into_inner()
        .status()
        .as_str_name()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_does_not_delay_the_end_of_health() {
    let store = Stuck::default();
    let (reporter, _service) = health_reporter();
    let health = ServiceHealth::new(reporter, "test");
    let shutdown = Shutdown::new();
    let readiness = Readiness::new(&shutdown);
    let ends = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(status(&health).await, "SERVING");
        store.0.store(true, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let lame_duck = shutdown.begin(Duration::from_secs(2));
        let soon = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(status(&health).await, "NOT_SERVING");
        };
        tokio::join!(lame_duck, soon);
    };
    let monitor = ReadinessMonitor {
        store: &store,
        health: &health,
        readiness,
    };
    tokio::join!(monitor.run(&shutdown, &shutdown), ends);
}

//! The listener for those who operate the program; never public.
//!
//! `GET /livez`: 200 while the process turns its event loop; asks nobody, so that an outage of the
//! database does not get every replica restarted. `GET /readyz`: 200 when new work is welcome,
//! else 503. `GET /metrics`: numbers for Prometheus.

use crate::{http_server::HttpListener, readiness::Readiness, shutdown::Shutdown};
use axum::{Router, extract::State, routing::get};
use http::{HeaderName, StatusCode, header::CONTENT_TYPE};
use rolegate_telemetry::metrics;
use tokio::task::JoinHandle;

/// Answers of a program that serves, in a task of their own. They outlive everything else, so that a
/// drain does not look like a dead process.
#[derive(Debug)]
pub struct AdminServer {
    life: Shutdown,
    serving: JoinHandle<()>,
}

impl AdminServer {
    /// Answers from now on.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(listener: HttpListener, readiness: Readiness) -> Self {
        let life = Shutdown::new();
        let serving = listener.serve(router(readiness), life.clone());
        Self { life, serving: tokio::spawn(serving) }
    }

    /// Answers nobody any more. The last call was finished before.
    pub async fn stop(self) {
        self.life.stop_now();
        let _ = self.serving.await;
    }
}

/// The routes of the ops listener.
pub(crate) fn router(readiness: Readiness) -> Router {
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(readiness)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, &'static str) {
    if readiness.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}

async fn metrics() -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::text())
}

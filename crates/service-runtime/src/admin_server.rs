//! The admin server, on `OPS_LISTEN_ADDR`; never public.
//!
//! - `GET /livez`: 200 while the event loop runs. Checks no dependency, because an outage of the database
//!   must not restart every replica.
//! - `GET /readyz`: 200 if ready for requests, else 503.
//! - `GET /metrics`: metrics for Prometheus.

use crate::{http_server::HttpListener, readiness::Readiness, shutdown::Shutdown};
use axum::{Router, extract::State, routing::get};
use http::{HeaderName, StatusCode, header::CONTENT_TYPE};
use rolegate_telemetry::metrics;
use tokio::task::JoinHandle;

/// A running admin server. It is stopped last, so that a draining process does not look dead.
#[derive(Debug)]
pub struct AdminServer {
    shutdown: Shutdown,
    serving: JoinHandle<()>,
}

impl AdminServer {
    /// Starts to serve, in a task.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(listener: HttpListener, readiness: Readiness) -> Self {
        let shutdown = Shutdown::new();
        let serving = listener.serve(router(readiness), shutdown.clone());
        Self { shutdown, serving: tokio::spawn(serving) }
    }

    /// Finishes open requests and stops.
    pub async fn stop(self) {
        self.shutdown.stop_now();
        let _ = self.serving.await;
    }
}

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

//! Serves probes and metrics on `OPS_LISTEN_ADDR`. This address must not be public.
//!
//! - `GET /livez` answers 200 while the event loop runs. It checks no dependency, because an outage of the
//!   database must not restart every replica.
//! - `GET /readyz` answers 200 if the program is ready for requests, else 503 with the reason in the body. With 200,
//!   the body also says which stores cannot write, and why.
//! - `GET /metrics` answers with the metrics, for Prometheus.

use crate::{host_header, http_server, listener::Listener, readiness::Readiness};
use axum::{Router, extract::State, middleware::from_fn, routing::get};
use http::{HeaderName, StatusCode, header::CONTENT_TYPE};
use rolegate_program::{metrics, settings::SettingError, shutdown::Shutdown};
use std::net::SocketAddr;
use tokio::task::JoinHandle;

/// The maximum number of connections of monitors and orchestrators. The reserve of file descriptors includes these
/// connections.
const MAX_CONNECTIONS: usize = 8;

/// A running admin server.
///
/// It starts before the program serves clients, and stops last. Otherwise a process that waits for its database, or
/// that finishes open requests during a shutdown, would look dead.
#[derive(Debug)]
pub struct AdminServer {
    /// The bound address, with the real port if the setting has port 0.
    pub address: SocketAddr,
    shutdown: Shutdown,
    serving: JoinHandle<()>,
}

impl AdminServer {
    /// Binds `OPS_LISTEN_ADDR` and serves it in a task.
    pub async fn start(address: SocketAddr, readiness: Readiness) -> Result<Self, SettingError> {
        let listener = Listener::bind("OPS_LISTEN_ADDR", address, MAX_CONNECTIONS).await?;
        let address = listener.address();
        let shutdown = Shutdown::new();
        tracing::debug!(%address, "serving /livez, /readyz and /metrics");
        let serving = tokio::spawn(http_server::serve(
            listener,
            router(readiness),
            shutdown.clone(),
        ));
        Ok(Self {
            address,
            shutdown,
            serving,
        })
    }

    /// Finishes open requests, and returns when the server has stopped.
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
        .layer(from_fn(host_header::require))
        .with_state(readiness)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    if let Some(obstacle) = readiness.obstacle() {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{obstacle}\n"));
    }
    let problems = readiness.write_problems();
    let lines: Vec<_> = problems
        .iter()
        .map(|problem| format!("cannot write to {problem}\n"))
        .collect();
    let body = format!("ready\n{}", lines.concat());
    (StatusCode::OK, body)
}

async fn metrics() -> ([(HeaderName, &'static str); 1], String) {
    (
        [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        metrics::text(),
    )
}

#[cfg(test)]
mod tests {
    use super::router;
    use crate::{http_server, listener::Listener, readiness::Readiness};
    use rolegate_program::{healthcheck::run, shutdown::Shutdown};

    #[tokio::test]
    async fn ready_not_ready_and_unreachable_are_distinguished() {
        let address = "127.0.0.1:0".parse().expect("an address");
        let listener = Listener::bind("OPS_LISTEN_ADDR", address, 8)
            .await
            .expect("bound");
        let (ops, shutdown) = (listener.address(), Shutdown::new());
        let readiness = Readiness::new(&Shutdown::new());
        let router = router(readiness.clone());
        let serving = tokio::spawn(http_server::serve(listener, router, shutdown.clone()));
        let error = run(ops).await.expect_err("it is not ready");
        assert_eq!(error.to_string(), "not ready: waiting for the database");
        readiness.set_healthy(true);
        run(ops).await.expect("it is ready");
        shutdown.stop_now();
        serving.await.expect("it ends");
        let error = run(ops).await.expect_err("nothing listens");
        let start = format!("http://{ops}/readyz does not answer: ");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

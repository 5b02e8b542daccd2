//! Health and readiness that are true to the store.

use crate::GrpcServer;
use rolegate_service_runtime::{readiness::Readiness, shutdown::Shutdown};
use std::{fmt::Display, time::Duration};

/// How often the store is asked whether it answers.
const STORE_CHECK: Duration = Duration::from_secs(1);

impl GrpcServer {
    /// Keeps `readiness` and the gRPC health service true to the store that `ping` asks, until it
    /// stops; in the lame-duck time neither is ready any more. Whoever watches the health is let go
    /// when `last_call` stops: the life of the last caller who is still served.
    pub async fn monitor_store<E: Display, F: Future<Output = Result<(), E>>>(
        &self,
        ping: impl Fn() -> F,
        readiness: Readiness,
        shutdown: &Shutdown,
        last_call: &Shutdown,
    ) {
        let mut was_able = true;
        let mut lame_duck = std::pin::pin!(shutdown.lame_duck());
        loop {
            let answer = ping().await;
            let able = answer.is_ok();
            if let (Err(error), true) = (&answer, was_able) {
                tracing::error!(%error, "not ready: the store does not answer");
            } else if able && !was_able {
                tracing::info!("ready: the store answers again");
            }
            was_able = able;
            readiness.set_healthy(able);
            self.set_serving(readiness.is_ready()).await;
            tokio::select! {
                () = &mut lame_duck => break,
                () = tokio::time::sleep(STORE_CHECK) => {}
            }
        }
        self.set_serving(false).await;
        last_call.stopping().await;
        // Watchers wait for the next change for ever; told that there is none, they go, and the
        // server can end.
        self.clear_health().await;
    }
}

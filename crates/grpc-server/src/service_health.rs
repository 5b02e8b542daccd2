//! The health that gRPC clients watch (`grpc.health.v1`).

use tonic_health::{ServingStatus, server::HealthReporter};

/// The health of a server. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ServiceHealth {
    pub(crate) reporter: HealthReporter,
    /// The server as a whole, whose name is empty, and its service by name.
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

    /// Ends the streams of health watchers, which have no end of their own and would hold up the drain.
    pub(crate) async fn release_watchers(&self) {
        let mut reporter = self.reporter.clone();
        for name in self.names {
            reporter.clear_service_status(name).await;
        }
    }
}

//! `auth-service healthcheck`.

use crate::settings::Settings;
use rolegate_service_runtime::{healthcheck, program::Failure};

/// Asks the ops listener, which is plain HTTP on this machine whatever gRPC is.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    healthcheck::run(settings.ops_listen_addr).await
}

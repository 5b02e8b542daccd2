//! `auth-service serve`.

use crate::{AuthService, settings::Settings};
use rolegate_grpc_server::ServiceProgram;
use rolegate_program::{program::Failure, reload_signal::ReloadSignal, shutdown::Shutdown};
use rolegate_proto::SERVICE_NAME;

/// Serves until `shutdown`.
pub(super) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    let tls = settings.service.tls()?;
    let database = settings.database.url()?;
    let program = ServiceProgram {
        headline: format!(
            "Rolegate auth-service {}, users in {database}",
            env!("CARGO_PKG_VERSION")
        ),
        service: SERVICE_NAME,
        grpc: ("AUTH_LISTEN_ADDR", settings.auth_listen_addr),
        tls,
        ops: settings.ops_listen_addr,
        log_format: settings.host.common.telemetry.log_format,
    };
    let trusted = settings.host.trusted_gateways.clone();
    let open = AuthService::open(settings.service.config(database, settings.keys()?, trusted)?);
    Box::pin(program.run(open, AuthService::server, reload_signal, AuthService::reload, shutdown))
        .await
}

//! `auth-service serve`.

use crate::{AuthService, settings::Settings};
use rolegate_program::{
    program::{Failure, ProgramSettings as _},
    reload_signal::ReloadSignal,
    shutdown::Shutdown,
};
use rolegate_proto::SERVICE_NAME;
use rolegate_service_host::Probes;

/// Serves until `shutdown`.
pub(super) async fn run(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    settings.check_addresses()?;
    let tls = settings.service.tls()?;
    let database = settings.host.database()?;
    let headline =
        format!("Rolegate auth-service {}, users in {database}", env!("CARGO_PKG_VERSION"));
    let trusted = settings.host.trusted_gateways.clone();
    let config = settings.service.config(database, settings.keys()?, trusted)?;
    let probes = Probes::start(settings.ops_listen_addr, &shutdown).await?;
    let service = tokio::select! {
        service = AuthService::open(config) => service?,
        () = shutdown.lame_duck() => return Ok(()),
    };
    let grpc = ("AUTH_LISTEN_ADDR", settings.auth_listen_addr);
    let listeners = probes.with_grpc(grpc, tls.clone()).await?;
    let format = settings.host.common.telemetry.log_format;
    listeners.notice(&headline, SERVICE_NAME).print(format);
    let reload = || {
        service.reload();
        if let Some(tls) = &tls {
            tls.reload();
        }
    };
    tokio::select! {
        outcome = listeners.serve(service.host(), shutdown) => outcome,
        never = reload_signal.on_each(reload) => match never {},
    }
}

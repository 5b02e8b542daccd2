//! `posts-service serve`.

use crate::{host, settings::Settings};
use rolegate_program::{
    program::{Failure, ProgramSettings as _},
    reload_signal::ReloadSignal,
    shutdown::Shutdown,
};
use rolegate_proto::posts_v1::post_service_server::SERVICE_NAME;
use rolegate_service_host::Probes;

/// Serves until `shutdown`. Readiness follows the store and not auth-service: callers get an error
/// that names the outage, not a refused connection.
pub(super) async fn run(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    settings.check_addresses()?;
    let database = settings.host.database()?;
    let tls = settings.tls.load()?;
    let (auth, auth_tls) = settings.auth_tls.client(&settings.auth_service_url)?;
    let probes = Probes::start(settings.ops_listen_addr, &shutdown).await?;
    let host = tokio::select! {
        host = host::open(
            &database,
            auth,
            &settings.host.trusted_gateways,
            settings.response_memory_mib,
        ) => host?,
        () = shutdown.lame_duck() => return Ok(()),
    };
    let grpc = ("POSTS_LISTEN_ADDR", settings.posts_listen_addr);
    let listeners = probes.with_grpc(grpc, tls.clone()).await?;
    let headline = format!(
        "Rolegate posts-service {}, posts in {database}, auth-service at {}",
        env!("CARGO_PKG_VERSION"),
        settings.auth_service_url
    );
    let format = settings.host.common.telemetry.log_format;
    listeners.notice(&headline, SERVICE_NAME).print(format);
    let reload = || {
        if tls.is_none() && auth_tls.is_none() {
            tracing::info!("SIGHUP: no files to reload");
        }
        if let Some(tls) = &tls {
            tls.reload();
        }
        if let Some(tls) = &auth_tls {
            tls.reload();
        }
    };
    tokio::select! {
        outcome = listeners.serve(&host, shutdown) => outcome,
        never = reload_signal.on_each(reload) => match never {},
    }
}

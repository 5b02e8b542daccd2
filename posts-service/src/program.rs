//! What the binary runs.

use crate::{PostsService, commands, settings::Settings};
use rolegate_grpc_server::{Connections, GrpcListener};
use rolegate_proto::posts_v1::post_service_server::SERVICE_NAME;
use rolegate_service_runtime::{
    admin_server::AdminServer,
    command_line,
    http_server::HttpListener,
    program::{self, Failure, listener_line, print},
    readiness::Readiness,
    reload_signal::ReloadSignal,
    shutdown::Shutdown,
};
use std::process::ExitCode;

/// Runs posts-service with the settings of this process.
#[must_use]
pub fn program() -> ExitCode {
    program::run(command_line::parse(), commands::run)
}

/// Opens the store, binds, says where, and serves until `shutdown` is over.
///
/// Readiness follows the store and not auth-service: while that is gone, callers are better told so
/// than refused a connection.
pub(crate) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    let store_url = settings.store_url()?;
    let own_tls = settings.tls.load()?;
    let (auth, auth_tls) = settings.auth_tls.client(&settings.auth_service_url)?;
    tracing::debug!(store = %store_url, "opening the store");
    let service = tokio::select! {
        service = PostsService::open(&store_url, auth, &settings.trusted_gateways) => service?,
        // Asked to stop while waiting for a database: nothing is in flight.
        () = shutdown.lame_duck() => return Ok(()),
    };
    let grpc = GrpcListener::bind("POSTS_LISTEN_ADDR", settings.posts_listen_addr).await?;
    let grpc = grpc.with_tls(own_tls.clone());
    let ops = HttpListener::bind("OPS_LISTEN_ADDR", settings.ops_listen_addr).await?;
    let readiness = Readiness::new(&shutdown);
    print(&format!(
        "Rolegate posts-service {}, posts in {store_url}, asking auth-service at {}\n{}{}",
        env!("CARGO_PKG_VERSION"),
        settings.auth_service_url,
        grpc.banner_line("grpc", SERVICE_NAME),
        listener_line("ops", Some(ops.address()), "/livez /readyz /metrics"),
    ));
    let probes = AdminServer::start(ops, readiness.clone());
    let reload = || {
        if own_tls.is_none() && auth_tls.is_none() {
            tracing::info!("SIGHUP: no files to reload");
        }
        if let Some(tls) = &own_tls {
            tls.reload();
        }
        if let Some(tls) = &auth_tls {
            tls.reload();
        }
    };
    let serving = async {
        tokio::join!(
            service.serve(Connections::Tcp(grpc), shutdown.clone()),
            service.monitor_store(readiness, &shutdown, &shutdown),
        )
    };
    let (outcome, ()) = tokio::select! {
        served = serving => served,
        never = reload_signal.on_each(reload) => match never {},
    };
    service.close().await;
    probes.stop().await;
    outcome
}

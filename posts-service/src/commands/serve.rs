//! `posts-service serve`.

use crate::{host, settings::Settings};
use rolegate_auth_client::ClientTls;
use rolegate_grpc_server::ServiceProgram;
use rolegate_program::{program::Failure, reload_signal::ReloadSignal, shutdown::Shutdown};
use rolegate_proto::posts_v1::post_service_server::SERVICE_NAME;

/// Serves until `shutdown`. Readiness follows the store and not auth-service: callers get an error
/// that names the outage, not a refused connection.
pub(super) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    let database = settings.database.url()?;
    let tls = settings.tls.load()?;
    let (auth, auth_tls) = settings.auth_tls.client(&settings.auth_service_url)?;
    let has_files = tls.is_some() || auth_tls.is_some();
    let program = ServiceProgram {
        headline: format!(
            "Rolegate posts-service {}, posts in {database}, auth-service at {}",
            env!("CARGO_PKG_VERSION"),
            settings.auth_service_url
        ),
        service: SERVICE_NAME,
        grpc: ("POSTS_LISTEN_ADDR", settings.posts_listen_addr),
        tls,
        ops: settings.ops_listen_addr,
        log_format: settings.host.common.telemetry.log_format,
    };
    let trusted = settings.host.trusted_gateways;
    let open = host::open(&database, auth, trusted, settings.response_memory_mib);
    let reload = |_: &_| {
        if !has_files {
            tracing::info!("SIGHUP: no files to reload");
        }
        auth_tls.iter().for_each(ClientTls::reload);
    };
    Box::pin(program.run(open, |server| server, reload_signal, reload, shutdown)).await
}

//! Runs the program `gateway`.

use crate::{Gateway, settings::Settings};
use rolegate_auth_client::ClientTls;
use rolegate_service_runtime::{
    admin_server::AdminServer,
    program::{Failure, ProgramSettings as _, listener_line, print},
    readiness::Readiness,
    reload_signal::ReloadSignal,
    shutdown::Shutdown,
};

/// Binds the listeners, prints their addresses, and serves until `shutdown` is complete.
///
/// The gateway is ready as soon as it listens, even if auth-service is unavailable: if a load
/// balancer removed it, clients would get refused connections instead of a 503.
pub async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    settings.check_addresses()?;
    let (auth, auth_tls) = settings.auth_tls.client(&settings.auth_service_url)?;
    let (posts, posts_tls) = settings.posts_tls.client(settings.posts_service_url.as_deref())?;
    let gateway = Gateway::bind(&settings.public).await?;
    let readiness = Readiness::new(&shutdown);
    readiness.set_healthy(true);
    let admin = AdminServer::start(settings.ops_listen_addr, readiness).await?;
    print(&banner(&settings, &gateway, &admin));

    let reload = || {
        if auth_tls.is_none() && posts_tls.is_none() {
            tracing::info!("SIGHUP: no files to reload");
        }
        auth_tls.iter().chain(&posts_tls).for_each(ClientTls::reload);
    };
    tokio::select! {
        () = gateway.serve(auth, posts, shutdown) => {}
        never = reload_signal.on_each(reload) => match never {},
    }
    admin.stop().await;
    Ok(())
}

fn banner(settings: &Settings, gateway: &Gateway, admin: &AdminServer) -> String {
    [
        format!(
            "Rolegate gateway {}, auth-service at {}\n",
            env!("CARGO_PKG_VERSION"),
            settings.auth_service_url
        ),
        listener_line("bearer", gateway.bearer_address(), "access tokens and roles"),
        listener_line("basic", gateway.basic_address(), "HTTP Basic"),
        listener_line("ops", Some(admin.address()), "/livez /readyz /metrics"),
    ]
    .concat()
}

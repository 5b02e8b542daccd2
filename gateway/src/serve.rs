//! `gateway serve`.

use crate::{Gateway, settings::Settings};
use rolegate_auth_client::ClientTls;
use rolegate_http_server::{admin_server::AdminServer, readiness::Readiness};
use rolegate_program::{
    notice::Notice, program::Failure, reload_signal::ReloadSignal, shutdown::Shutdown,
};

/// Binds the listeners, prints their addresses, and serves until `shutdown` is complete.
///
/// The gateway is ready as soon as it listens, even if auth-service is unavailable: if a load
/// balancer removed it, clients would get refused connections instead of a 503.
pub(crate) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    let (auth, auth_tls) = settings.auth_tls.client(&settings.auth_service_url)?;
    let (posts, posts_tls) = settings.posts_tls.client(settings.posts_service_url.as_deref())?;
    let forward_auth_tls = settings.public.forward_auth_tls()?;
    let gateway = Gateway::bind(&settings.public, forward_auth_tls.clone()).await?;
    let readiness = Readiness::new(&shutdown);
    readiness.set_healthy(true);
    let admin = AdminServer::start(settings.ops_listen_addr, readiness).await?;
    notice(&settings, &gateway, &admin).print(settings.common.telemetry.log_format);

    let reload = || {
        if auth_tls.is_none() && posts_tls.is_none() && forward_auth_tls.is_none() {
            tracing::info!("SIGHUP: no files to reload");
        }
        if let Some(tls) = &forward_auth_tls {
            tls.reload();
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

fn notice(settings: &Settings, gateway: &Gateway, admin: &AdminServer) -> Notice {
    let (version, auth) = (env!("CARGO_PKG_VERSION"), &settings.auth_service_url);
    let notice = Notice::new(format!("Rolegate gateway {version}, auth-service at {auth}"));
    let notice = gateway.announce(notice);
    let notice = notice.http("ops", Some(admin.address()), "/livez /readyz /metrics");
    notice.remark(match &settings.posts_service_url {
        Some(url) => format!("Posts: on, posts-service at {url}"),
        None => "Posts: off, because POSTS_SERVICE_URL is not set".to_owned(),
    })
}

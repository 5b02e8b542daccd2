//! Runs the program `gateway`: it serves requests, and its command `doctor` checks the settings and the services.

use crate::{gateway::Gateway, middleware::request_source::IGNORED_ADDRESSES, settings::Settings};
use rolegate_auth_client::ClientTls;
use rolegate_http_server::{
    admin_server::AdminServer, ignored_address::Exposure, readiness::Readiness,
};
use rolegate_program::{
    doctor::Doctor,
    failure::Failure,
    notice::Notice,
    program::{Profile, Program},
    reload_signal::ReloadSignal,
    shutdown::Shutdown,
};
use std::convert::Infallible;

impl Program for Settings {
    const PROGRAM: &'static str = "gateway";
    type Command = Infallible;

    fn profile(&self) -> Profile<'_> {
        Profile {
            common: &self.common,
            ops_listen_addr: self.ops_listen_addr,
            listeners: self.public.listeners(),
            trusted_networks: ("TRUSTED_PROXIES", &self.public.trusted_proxies),
            warnings: self.sign_in.warnings(),
        }
    }

    /// Binds the listeners, prints their addresses, and serves until `shutdown` is complete. Reads the TLS files again
    /// on SIGHUP.
    ///
    /// The gateway is ready as soon as it listens, even if auth-service is unavailable: if a load balancer removed it,
    /// clients would get refused connections instead of a 503.
    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        let reload_signal = ReloadSignal::listen();
        let (auth, auth_tls) = self.auth_tls.client(&self.auth_service_url)?;
        let (posts, posts_tls) = self.posts_tls.client(self.posts_service_url.as_deref())?;
        let forward_auth_tls = self.public.forward_auth_tls()?;
        let gateway = Gateway::bind(&self.public, &self.sign_in, forward_auth_tls.clone()).await?;
        let readiness = Readiness::new(&shutdown);
        readiness.set_healthy(true);
        let admin = AdminServer::start(self.ops_listen_addr, readiness).await?;
        notice(&self, &gateway, &admin).print(self.common.telemetry.log_format);

        let reload = || {
            if auth_tls.is_none() && posts_tls.is_none() && forward_auth_tls.is_none() {
                tracing::info!("SIGHUP: no files to reload");
            }
            if let Some(tls) = &forward_auth_tls {
                tls.reload();
            }
            auth_tls
                .iter()
                .chain(&posts_tls)
                .for_each(ClientTls::reload);
        };
        tokio::select! {
            () = gateway.serve(auth, posts, shutdown) => {}
            never = reload_signal.on_each(reload) => match never {},
        }
        admin.stop().await;
        Ok(())
    }

    /// Checks the files and the settings, and waits for a health check of each service. `serve` checks the services
    /// only in the background.
    async fn check(&self, doctor: &mut Doctor) {
        doctor.tls("forward tls", self.public.forward_auth_tls());
        doctor.file_modes(&[
            (
                "FORWARD_AUTH_TLS_KEY_FILE",
                &self.public.forward_auth_tls_key_file,
            ),
            (
                "AUTH_CLIENT_TLS_KEY_FILE",
                &self.auth_tls.auth_client_tls_key_file,
            ),
            (
                "POSTS_CLIENT_TLS_KEY_FILE",
                &self.posts_tls.posts_client_tls_key_file,
            ),
        ]);
        self.auth_tls.check(doctor, &self.auth_service_url).await;
        self.posts_tls
            .check(doctor, self.posts_service_url.as_deref())
            .await;
        doctor.require("sign-in", self.sign_in.read());
        doctor.require("addresses", self.public.validate());
        IGNORED_ADDRESSES
            .check(doctor, Exposure::Public, self.ops_listen_addr)
            .await;
    }

    async fn execute(self, command: Infallible) -> Result<(), Failure> {
        match command {}
    }
}

fn notice(settings: &Settings, gateway: &Gateway, admin: &AdminServer) -> Notice {
    let headline = format!(
        "Rolegate gateway {}, auth-service at {}",
        env!("CARGO_PKG_VERSION"),
        settings.auth_service_url
    );
    let posts = match &settings.posts_service_url {
        Some(url) => format!("Posts: on, posts-service at {url}"),
        None => "Posts: off, because POSTS_SERVICE_URL is not set".to_owned(),
    };
    gateway
        .announce(Notice::new(headline))
        .http("ops", Some(admin.address), "/livez /readyz /metrics")
        .remark(posts)
}

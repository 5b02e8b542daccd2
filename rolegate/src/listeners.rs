//! Binds the listeners of the program with their certificates, and prints their addresses at the start.

use crate::{
    banner::{self, AdminPasswordFile, Container, FirstSteps},
    databases::Databases,
    settings::Settings,
};
use rolegate_gateway::Gateway;
use rolegate_grpc_tls::ServerTls;
use rolegate_http_server::listener::Listener;
use rolegate_program::{
    notice::Notice,
    settings::{ListenAddress, SettingError},
};
use rolegate_proto::{SERVICE_NAME, posts_v1};
use std::net::SocketAddr;

/// The certificates of the listeners. A listener with `None` serves plain text.
pub(crate) struct Certificates {
    auth: Option<ServerTls>,
    posts: Option<ServerTls>,
    forward_auth: Option<ServerTls>,
}

impl Certificates {
    pub(crate) fn load(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self {
            auth: settings.service.tls()?,
            posts: settings.posts_tls.load()?,
            forward_auth: settings.public.forward_auth_tls()?,
        })
    }

    pub(crate) fn reload(&self) {
        let certificates = [&self.auth, &self.posts, &self.forward_auth];
        for certificate in certificates.into_iter().flatten() {
            certificate.reload();
        }
    }
}

/// The bound listeners, which nothing serves yet. A gRPC listener that is off is `None`.
pub(crate) struct Listeners {
    pub(crate) auth: Option<Listener>,
    pub(crate) posts: Option<Listener>,
    pub(crate) gateway: Gateway,
}

impl Listeners {
    /// Binds all addresses. The gateway's come last, so that no public client connects if another address cannot be
    /// bound.
    pub(crate) async fn bind(
        settings: &Settings,
        certificates: &Certificates,
    ) -> Result<Self, SettingError> {
        let auth = bind(
            "AUTH_LISTEN_ADDR",
            settings.auth_listen_addr,
            certificates.auth.clone(),
        )
        .await?;
        let posts = bind(
            "POSTS_LISTEN_ADDR",
            settings.posts_listen_addr(),
            certificates.posts.clone(),
        )
        .await?;
        let gateway = Gateway::bind(
            &settings.public,
            &settings.service.sign_in,
            certificates.forward_auth.clone(),
        )
        .await?;
        Ok(Self {
            auth,
            posts,
            gateway,
        })
    }

    /// Prints the addresses, and what to try first.
    pub(crate) fn announce(
        &self,
        settings: &Settings,
        databases: &Databases,
        password_file: &AdminPasswordFile,
        ops: SocketAddr,
    ) {
        let url = |listener: &Option<Listener>| {
            listener
                .as_ref()
                .map_or_else(|| "off".to_owned(), Listener::url)
        };
        let headline = format!(
            "Rolegate {}, users in {}",
            env!("CARGO_PKG_VERSION"),
            databases.users
        );
        let first_steps = FirstSteps {
            bearer: self.gateway.bearer_address(),
            basic: self.gateway.basic_address(),
            admin_password: password_file.hint(),
            reset_password: banner::reset_password(
                &settings.data_dir,
                &databases.users,
                password_file.is_beside_users,
            ),
            container: Container::current(),
        };
        self.gateway
            .announce(Notice::new(headline))
            .listener("grpc", url(&self.auth), SERVICE_NAME)
            .listener("posts", url(&self.posts), posts_v1::SERVICE_NAME)
            .http("ops", Some(ops), "/livez /readyz /metrics")
            .remark(if settings.posts {
                "Posts: on, in this process"
            } else {
                "Posts: off, because POSTS is off"
            })
            .remark(first_steps.text())
            .print(settings.common.telemetry.log_format);
    }
}

/// Binds a gRPC listener, unless it is off.
async fn bind(
    variable: &str,
    ListenAddress(address): ListenAddress,
    tls: Option<ServerTls>,
) -> Result<Option<Listener>, SettingError> {
    let Some(address) = address else {
        return Ok(None);
    };
    let listener = rolegate_grpc_server::bind(variable, address).await?;
    Ok(Some(listener.with_tls(tls)))
}

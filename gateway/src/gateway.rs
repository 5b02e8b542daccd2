//! Binds the listeners of both variants and of proxies, and serves their routers.

use crate::{
    basic, bearer, forward_auth, logo,
    memory::MemoryBudgets,
    middleware::{metrics, refusal_log},
    settings::PublicSettings,
    state::GatewayState,
    static_file::StaticFile,
};
use axum::Router;
use rolegate_auth_client::AuthClient;
use rolegate_grpc_tls::ServerTls;
use rolegate_http_server::{clients::AddressLimit, http_server, listener::Listener};
use rolegate_posts_client::PostsClient;
use rolegate_program::{
    notice::Notice,
    settings::{ListenAddress, SettingError},
    shutdown::Shutdown,
};
use rolegate_sign_in::{settings::SignInSettings, sign_in::SignIn};
use std::net::SocketAddr;

/// The listeners of the gateway, which are bound but not yet served.
#[derive(Debug)]
pub struct Gateway {
    bearer: Option<Listener>,
    basic: Option<Listener>,
    forward_auth: Option<Listener>,
    settings: PublicSettings,
    sign_in: Option<SignIn>,
    sign_in_settings: SignInSettings,
    logo: StaticFile,
}

impl Gateway {
    /// Checks the settings, loads the logo, and binds the listeners that are not `off`. The listener for proxies
    /// requires TLS if `forward_auth_tls` is given.
    pub async fn bind(
        settings: &PublicSettings,
        sign_in_settings: &SignInSettings,
        forward_auth_tls: Option<ServerTls>,
    ) -> Result<Self, SettingError> {
        let logo = logo::load(settings.sign_in_logo_file.as_deref())?;
        settings.require_variant()?;
        let sign_in = sign_in_settings.read()?;
        let limit = AddressLimit::new(
            settings.max_connections_per_address,
            settings.trusted_proxies.clone(),
        );
        let bind = async |variable, ListenAddress(address)| match address {
            Some(address) => {
                let listener = http_server::bind(variable, address).await?;
                Ok::<_, SettingError>(Some(listener.limit_per_address(limit.clone())))
            }
            None => Ok(None),
        };
        let forward_auth = bind(
            "FORWARD_AUTH_LISTEN_ADDR",
            settings.forward_auth_listen_addr,
        )
        .await?;
        Ok(Self {
            bearer: bind("BEARER_LISTEN_ADDR", settings.bearer_listen_addr).await?,
            basic: bind("BASIC_LISTEN_ADDR", settings.basic_listen_addr).await?,
            forward_auth: forward_auth.map(|listener| listener.with_tls(forward_auth_tls)),
            settings: settings.clone(),
            sign_in,
            sign_in_settings: sign_in_settings.clone(),
            logo,
        })
    }

    /// Returns the address of the bearer-token variant, or `None` if it is off.
    pub fn bearer_address(&self) -> Option<SocketAddr> {
        self.bearer.as_ref().map(Listener::address)
    }

    /// Returns the address of the HTTP Basic variant, or `None` if it is off.
    pub fn basic_address(&self) -> Option<SocketAddr> {
        self.basic.as_ref().map(Listener::address)
    }

    /// Adds the addresses of the listeners, of the console and of the documentation to the notice.
    #[must_use]
    pub fn announce(&self, notice: Notice) -> Notice {
        let forward_auth = match &self.forward_auth {
            Some(listener) => listener.url(),
            None => "off".to_owned(),
        };
        notice
            .http("bearer", self.bearer_address(), "access tokens and roles")
            .http("basic", self.basic_address(), "HTTP Basic")
            .listener(
                "forward",
                forward_auth,
                "decisions for proxies, at /authorize",
            )
            .remark(self.describe_console())
            .remark(self.describe_documentation())
    }

    fn describe_console(&self) -> String {
        let Some(address) = self.bearer_address() else {
            return "Console: off, because BEARER_LISTEN_ADDR is off".to_owned();
        };
        if !self.settings.console {
            return "Console: off, because CONSOLE is off".to_owned();
        }
        if self.sign_in.is_none() {
            return "Console: off, because SIGN_IN is off".to_owned();
        }
        format!("Console: http://{address}/console/")
    }

    fn describe_documentation(&self) -> String {
        if !self.settings.api_docs {
            return "Documentation: off, because API_DOCS is off".to_owned();
        }
        let pages: Vec<_> = [self.bearer_address(), self.basic_address()]
            .into_iter()
            .flatten()
            .map(|address| format!("http://{address}/docs"))
            .collect();
        format!("Documentation: {}", pages.join(" and "))
    }

    /// Serves until `shutdown` starts and the requests in flight are complete, or the drain timeout has passed. Without
    /// `posts`, there are no routes of posts.
    pub async fn serve(self, auth: AuthClient, posts: Option<PostsClient>, shutdown: Shutdown) {
        metrics::register(posts.is_some());
        refusal_log::register();
        let memory = MemoryBudgets::new(&self.settings);
        let state = GatewayState::new(auth, self.sign_in, self.sign_in_settings, self.logo);
        let bearer = bearer::router(state.clone(), posts, &self.settings, &memory);
        let basic = basic::router(state.clone(), &self.settings, &memory);
        let forward_auth = forward_auth::router(state, &self.settings, &memory);
        tokio::join!(
            serve(self.bearer, bearer, shutdown.clone()),
            serve(self.basic, basic, shutdown.clone()),
            serve(self.forward_auth, forward_auth, shutdown)
        );
    }
}

async fn serve(listener: Option<Listener>, router: Router, shutdown: Shutdown) {
    if let Some(listener) = listener {
        http_server::serve(listener, router, shutdown).await;
    }
}

#[cfg(test)]
mod tests;

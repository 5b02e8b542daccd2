//! Opens the services one after the other, and serves them together with the gateway.

use crate::{
    databases::Databases, in_memory::Connections, listeners::Listeners, settings::Settings,
};
use rolegate_auth_client::AuthClient;
use rolegate_auth_service::{AuthService, host::Config};
use rolegate_grpc_server::{GrpcServer, InMemoryCallers};
use rolegate_http_server::readiness::Readiness;
use rolegate_posts_service::host::{self, HostOptions};
use rolegate_program::{cidr_set::CidrSet, failure::Failure, shutdown::Shutdown};

/// The services with their open databases.
pub(crate) struct Services {
    pub(crate) auth: AuthService,
    /// The server of posts; `None` if `POSTS` is off.
    posts: Option<GrpcServer>,
}

impl Services {
    pub(crate) async fn open(
        config: Config,
        settings: &Settings,
        databases: &Databases,
        auth_client: &AuthClient,
        shutdown: &Shutdown,
    ) -> Result<Self, Failure> {
        let auth = AuthService::open(config).await?;
        let Some(database) = &databases.posts else {
            return Ok(Self { auth, posts: None });
        };
        let options = HostOptions {
            trusted_gateways: CidrSet::default(),
            response_memory_mib: settings.public.response_memory_mib,
            posts_of_deleted_users: settings.posts_of_deleted_users,
            // auth-service in the same process sends the changes of users without a key.
            user_changes_key: None,
        };
        let posts = host::open(database, auth_client.clone(), options, shutdown);
        Ok(Self {
            auth,
            posts: Some(posts.await?),
        })
    }

    /// Serves until `shutdown`, which stops all TCP listeners.
    ///
    /// Within the process, the gateway stops first, then posts-service, then auth-service. Each serves its callers in
    /// memory until they have stopped.
    pub(crate) async fn serve(
        &self,
        listeners: Listeners,
        connections: Connections,
        readiness: Readiness,
        shutdown: &Shutdown,
    ) -> Result<(), Failure> {
        let posts_ended = Shutdown::new();
        let gateway_ended = Shutdown::new();
        let serve_gateway = async {
            listeners
                .gateway
                .serve(
                    connections.auth_client,
                    connections.posts_client,
                    shutdown.clone(),
                )
                .await;
            gateway_ended.stop_now();
        };
        // A database of posts that fails does not make the process unready, because users can still be served.
        let posts_readiness = readiness.for_another_store();
        let serve_posts = async {
            let callers = Some(InMemoryCallers {
                streams: connections.posts_streams,
                shutdown: gateway_ended.clone(),
            });
            let outcome = if let Some(posts) = &self.posts {
                posts
                    .serve(listeners.posts, callers, posts_readiness, shutdown)
                    .await
            } else {
                gateway_ended.stopping().await;
                Ok(())
            };
            posts_ended.stop_now();
            outcome
        };
        let serve_auth = self.auth.server.serve(
            listeners.auth,
            Some(InMemoryCallers {
                streams: connections.auth_streams,
                shutdown: posts_ended.clone(),
            }),
            readiness,
            shutdown,
        );
        let (auth, posts, ()) = tokio::join!(serve_auth, serve_posts, serve_gateway);
        auth.and(posts)
    }
}

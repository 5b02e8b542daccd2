//! The services and the gateway in one process: opened in order, served together.

use crate::{databases::Databases, listeners::Listeners, settings::Settings};
use rolegate_auth_client::AuthClient;
use rolegate_auth_service::{AuthService, host::Config};
use rolegate_grpc_server::{GrpcServer, InMemoryCallers, InMemoryStreams};
use rolegate_http_server::readiness::Readiness;
use rolegate_posts_client::PostsClient;
use rolegate_posts_service::host::{self, HostOptions};
use rolegate_program::{cidr_set::CidrSet, failure::Failure, shutdown::Shutdown};

/// The clients within this process, and their connections for the servers.
pub(crate) struct Connections {
    pub(crate) auth_client: AuthClient,
    pub(crate) auth_streams: InMemoryStreams,
    /// `None` without posts.
    pub(crate) posts_client: Option<PostsClient>,
    pub(crate) posts_streams: InMemoryStreams,
}

/// The services with their open databases.
pub(crate) struct Services {
    pub(crate) auth: AuthService,
    /// `None` without posts.
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
            // In one process, auth-service sends the changes of users without a key.
            user_changes_key: None,
        };
        let posts = host::open(database, auth_client.clone(), options, shutdown);
        Ok(Self {
            auth,
            posts: Some(posts.await?),
        })
    }

    /// Serves until `shutdown`. TCP callers of gRPC stop with the clients of the gateway. In memory, posts-service
    /// serves the gateway to its end, and auth-service serves both to their ends.
    pub(crate) async fn serve(
        &self,
        listeners: Listeners,
        connections: Connections,
        readiness: Readiness,
        shutdown: &Shutdown,
    ) -> Result<(), Failure> {
        let auth_shutdown = Shutdown::new();
        let posts_shutdown = Shutdown::new();
        let serve_gateway = async {
            listeners
                .gateway
                .serve(
                    connections.auth_client,
                    connections.posts_client,
                    shutdown.clone(),
                )
                .await;
            posts_shutdown.stop_now();
        };
        // The readiness of posts is not that of the process: without posts, users can still be served.
        let posts_readiness = readiness.of_another_store();
        let serve_posts = async {
            let callers = Some(InMemoryCallers {
                streams: connections.posts_streams,
                shutdown: posts_shutdown.clone(),
            });
            let outcome = if let Some(posts) = &self.posts {
                posts
                    .serve(listeners.posts, callers, posts_readiness, shutdown)
                    .await
            } else {
                posts_shutdown.stopping().await;
                Ok(())
            };
            auth_shutdown.stop_now();
            outcome
        };
        let serve_auth = self.auth.server.serve(
            listeners.auth,
            Some(InMemoryCallers {
                streams: connections.auth_streams,
                shutdown: auth_shutdown.clone(),
            }),
            readiness,
            shutdown,
        );
        let (auth, posts, ()) = tokio::join!(serve_auth, serve_posts, serve_gateway);
        auth.and(posts)
    }
}

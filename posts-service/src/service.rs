//! The service as a library: opened, then served over one or more transports.

use crate::{
    clock::SystemClock,
    grpc::PostsGrpc,
    metrics,
    posts::Posts,
    store::{self, PostStore},
};
use rolegate_auth_client::AuthClient;
use rolegate_grpc_server::{Connections, GrpcServer};
use rolegate_proto::{
    POSTS_DESCRIPTORS,
    posts_v1::post_service_server::{PostServiceServer, SERVICE_NAME},
};
use rolegate_service_runtime::{
    cidr_set::CidrSet, program::Failure, readiness::Readiness, shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use std::sync::Arc;
use tonic::service::Routes;

/// The service, ready to be served: its store is open and up to date.
pub struct PostsService {
    server: GrpcServer,
    store: Arc<dyn PostStore>,
}

impl PostsService {
    /// Opens the store (waiting for a PostgreSQL that is not there yet) and brings it up to date.
    /// Binds nothing, and asks nothing of auth-service yet.
    /// `trusted_gateways` are believed when they name a request.
    pub async fn open(
        store_url: &DatabaseUrl,
        auth: AuthClient,
        trusted_gateways: &CidrSet,
    ) -> Result<Self, Failure> {
        let store = store::open(store_url).await?;
        metrics::begin(&auth, &store);
        let posts = Posts::new(Arc::clone(&store), auth, Arc::new(SystemClock));
        let grpc = PostServiceServer::new(PostsGrpc::new(posts));
        let server = GrpcServer::new(Routes::new(grpc), SERVICE_NAME, POSTS_DESCRIPTORS).await;
        Ok(Self { server: server.trusting(trusted_gateways), store })
    }

    /// Serves calls from `connections` until `shutdown` says stop and what is in flight is finished.
    pub async fn serve(&self, connections: Connections, shutdown: Shutdown) -> Result<(), Failure> {
        self.server.serve(connections, shutdown).await
    }

    /// Keeps `readiness` and the gRPC health service true to the store: see
    /// [`GrpcServer::monitor_store`].
    pub async fn monitor_store(
        &self,
        readiness: Readiness,
        shutdown: &Shutdown,
        last_call: &Shutdown,
    ) {
        self.server.monitor_store(|| self.store.ping(), readiness, shutdown, last_call).await;
    }

    /// Closes the store. Nothing is served any more.
    pub async fn close(&self) {
        self.store.close().await;
    }
}

impl std::fmt::Debug for PostsService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PostsService").finish_non_exhaustive()
    }
}

//! A gRPC service and its store, from open to closed.

use async_trait::async_trait;
use rolegate_grpc_server::{Connections, GrpcListener, GrpcServer};
use rolegate_http_server::readiness::Readiness;
use rolegate_program::{cidr_set::CidrSet, program::Failure, shutdown::Shutdown};
use rolegate_sql_store::StoreError;
use std::sync::Arc;
use tonic::service::Routes;

/// What the host needs of a store.
#[async_trait]
pub trait HostedStore: Send + Sync + 'static {
    /// Succeeds if the database answers.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Why writes fail; `None` if they succeed, or none was tried.
    fn write_problem(&self) -> Option<Arc<str>>;

    /// Finishes pending statements and closes every connection.
    async fn close(&self);
}

/// A gRPC service on an open store.
pub struct GrpcHost<S: ?Sized> {
    server: GrpcServer,
    store: Arc<S>,
}

impl<S: HostedStore + ?Sized> GrpcHost<S> {
    /// Hosts the service `name`, described by `descriptors`. Request ids, client addresses and
    /// traces are accepted from `trusted` callers.
    pub async fn new(
        routes: Routes,
        name: &'static str,
        descriptors: &'static [u8],
        trusted: &CidrSet,
        store: Arc<S>,
    ) -> Self {
        let server = GrpcServer::new(routes, name, descriptors, trusted.clone()).await;
        Self { server, store }
    }

    /// Serves `tcp` until `shutdown` and `in_memory` until its own shutdown, which must not come
    /// earlier; then closes the store. Until then `readiness` and `grpc.health.v1` follow the store.
    pub async fn serve(
        &self,
        tcp: Option<GrpcListener>,
        in_memory: Option<(Connections, Shutdown)>,
        readiness: Readiness,
        shutdown: &Shutdown,
    ) -> Result<(), Failure> {
        let last = in_memory.as_ref().map_or(shutdown, |(_, last)| last).clone();
        let over_tcp = async {
            match tcp {
                Some(listener) => {
                    self.server.serve(Connections::Tcp(listener), shutdown.clone()).await
                }
                None => Ok(()),
            }
        };
        let over_memory = async {
            match in_memory {
                Some((connections, shutdown)) => self.server.serve(connections, shutdown).await,
                None => Ok(()),
            }
        };
        let (tcp, memory, ()) = tokio::join!(
            over_tcp,
            over_memory,
            self.server.monitor_store(
                async || {
                    self.store.ping().await?;
                    Ok::<_, StoreError>(self.store.write_problem())
                },
                readiness,
                shutdown,
                &last
            ),
        );
        self.store.close().await;
        tcp.and(memory)
    }
}

impl<S: ?Sized> std::fmt::Debug for GrpcHost<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("GrpcHost").finish_non_exhaustive()
    }
}

//! posts-service within this process.

use rolegate_auth_client::AuthClient;
use rolegate_grpc_server::{Connections, GrpcListener};
use rolegate_grpc_tls::ServerTls;
use rolegate_posts_service::PostsService;
use rolegate_proto::posts_v1::post_service_server::SERVICE_NAME;
use rolegate_service_runtime::{
    cidr_set::CidrSet,
    program::{Failure, listener_line},
    readiness::Readiness,
    settings::ListenAddress,
    shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use std::sync::Arc;

/// The service, its socket and its life.
pub(crate) struct Posts {
    service: PostsService,
    listener: Option<GrpcListener>,
    /// Lasts as long as the gateway asks.
    life: Shutdown,
}

impl Posts {
    /// Opens the store and binds `POSTS_LISTEN_ADDR`, unless it is off; encrypted with `tls`, if there
    /// is any.
    pub(crate) async fn open(
        store_url: &DatabaseUrl,
        auth: AuthClient,
        address: ListenAddress,
        tls: Option<Arc<ServerTls>>,
    ) -> Result<Self, Failure> {
        let service = PostsService::open(store_url, auth, &CidrSet::loopback()).await?;
        let listener = match address {
            ListenAddress::On(address) => {
                let listener = GrpcListener::bind("POSTS_LISTEN_ADDR", address).await?;
                Some(listener.with_tls(tls))
            }
            ListenAddress::Off => None,
        };
        Ok(Self { service, listener, life: Shutdown::new() })
    }

    /// The line that tells people where it listens.
    pub(crate) fn line(&self) -> String {
        match &self.listener {
            Some(listener) => listener.banner_line("posts", SERVICE_NAME),
            None => listener_line("posts", None, SERVICE_NAME),
        }
    }

    /// To be stopped when the gateway has asked for the last time.
    pub(crate) fn life(&self) -> Shutdown {
        self.life.clone()
    }

    /// Serves `in_memory` until its life ends, and callers from elsewhere until `shutdown` says stop.
    /// Its health follows its store. The readiness of the process does not: where posts cannot be
    /// read, users still are.
    pub(crate) async fn serve(
        self,
        in_memory: Connections,
        shutdown: Shutdown,
    ) -> Result<(), Failure> {
        let Self { service, listener, life } = self;
        let from_elsewhere = async {
            match listener {
                Some(listener) => service.serve(Connections::Tcp(listener), shutdown.clone()).await,
                None => Ok(()),
            }
        };
        let readiness = Readiness::new(&shutdown);
        let (tcp, memory, ()) = tokio::join!(
            from_elsewhere,
            service.serve(in_memory, life.clone()),
            service.monitor_store(readiness, &shutdown, &life),
        );
        service.close().await;
        tcp.and(memory)
    }
}

//! posts-service within this process.

use auth_client::AuthClient;
use grpc_server::{Connections, GrpcListener};
use posts_service::PostsService;
use service_runtime::{
    networks::Networks, program::Failure, readiness::Readiness, settings::ListenAddress,
    shutdown::Shutdown,
};
use sql_store::StoreUrl;
use std::net::SocketAddr;

/// The service, its socket and its life.
pub(crate) struct Posts {
    service: PostsService,
    listener: Option<GrpcListener>,
    /// Lasts as long as the gateway asks.
    life: Shutdown,
}

impl Posts {
    /// Opens the store and binds `POSTS_LISTEN_ADDR`, unless it is off.
    pub(crate) async fn open(
        store_url: &StoreUrl,
        auth: AuthClient,
        address: ListenAddress,
    ) -> Result<Self, Failure> {
        let service = PostsService::open(store_url, auth, &Networks::loopback()).await?;
        let listener = match address {
            ListenAddress::On(address) => {
                Some(GrpcListener::bind("POSTS_LISTEN_ADDR", address).await?)
            }
            ListenAddress::Off => None,
        };
        Ok(Self { service, listener, life: Shutdown::new() })
    }

    /// Where it listens; `None` is off.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.listener.as_ref().map(GrpcListener::address)
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
        let readiness = Readiness::starting(&shutdown);
        let (tcp, memory, ()) = tokio::join!(
            from_elsewhere,
            service.serve(in_memory, life.clone()),
            service.watch_store(readiness, &shutdown, &life),
        );
        service.close().await;
        tcp.and(memory)
    }
}

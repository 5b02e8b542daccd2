//! The listeners of a service that runs as a program of its own.

use crate::{GrpcHost, HostedStore};
use rolegate_grpc_server::GrpcListener;
use rolegate_grpc_tls::ServerTls;
use rolegate_http_server::{admin_server::AdminServer, readiness::Readiness};
use rolegate_program::{
    bind_address::BindAddress, notice::Notice, program::Failure, settings::SettingError,
    shutdown::Shutdown,
};
use std::{net::SocketAddr, sync::Arc};

/// `/livez`, `/readyz` and `/metrics`, served before the store is open: a program that waits for its
/// database is alive.
#[derive(Debug)]
pub struct Probes {
    readiness: Readiness,
    admin: AdminServer,
}

impl Probes {
    /// Binds and serves `OPS_LISTEN_ADDR`.
    pub async fn start(address: SocketAddr, shutdown: &Shutdown) -> Result<Self, SettingError> {
        let readiness = Readiness::new(shutdown);
        Ok(Self { admin: AdminServer::start(address, readiness.clone()).await?, readiness })
    }

    /// Binds `grpc`, the name and the value of its setting.
    pub async fn with_grpc(
        self,
        grpc: (&str, BindAddress),
        tls: Option<Arc<ServerTls>>,
    ) -> Result<Listeners, SettingError> {
        let (variable, address) = grpc;
        let address = address.resolve(variable)?;
        let grpc = GrpcListener::bind(variable, address).await?.with_tls(tls);
        Ok(Listeners { grpc, probes: self })
    }
}

/// The probes, and a bound gRPC socket that does not accept yet.
#[derive(Debug)]
pub struct Listeners {
    grpc: GrpcListener,
    probes: Probes,
}

impl Listeners {
    /// What to print: `headline` and the addresses.
    #[must_use]
    pub fn notice(&self, headline: &str, service: &str) -> Notice {
        let ops = Some(self.probes.admin.address());
        let notice = Notice::new(headline).listener("grpc", self.grpc.url(), service);
        notice.http("ops", ops, "/livez /readyz /metrics")
    }

    /// Serves `host` until `shutdown`. The probes answer until its store is closed, so that a drain
    /// does not look like a dead process.
    pub async fn serve<S: HostedStore + ?Sized>(
        self,
        host: &GrpcHost<S>,
        shutdown: Shutdown,
    ) -> Result<(), Failure> {
        let Probes { readiness, admin } = self.probes;
        let outcome = host.serve(Some(self.grpc), None, readiness, &shutdown).await;
        admin.stop().await;
        outcome
    }
}

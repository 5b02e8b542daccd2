//! The listeners of a service that runs as a program of its own.

use crate::{GrpcHost, HostedStore};
use rolegate_grpc_server::GrpcListener;
use rolegate_grpc_tls::ServerTls;
use rolegate_service_runtime::{
    admin_server::AdminServer,
    http_server::HttpListener,
    program::{Failure, listener_line, print},
    readiness::Readiness,
    settings::SettingError,
    shutdown::Shutdown,
};
use std::{net::SocketAddr, sync::Arc};

/// Bound sockets that do not accept yet: gRPC, and `/livez`, `/readyz`, `/metrics`.
#[derive(Debug)]
pub struct Listeners {
    grpc: GrpcListener,
    ops: HttpListener,
}

impl Listeners {
    /// Binds `grpc`, the name and the value of its setting, and `OPS_LISTEN_ADDR`.
    pub async fn bind(
        grpc: (&str, SocketAddr),
        tls: Option<Arc<ServerTls>>,
        ops: SocketAddr,
    ) -> Result<Self, SettingError> {
        let grpc = GrpcListener::bind(grpc.0, grpc.1).await?.with_tls(tls);
        Ok(Self { grpc, ops: HttpListener::bind("OPS_LISTEN_ADDR", ops).await? })
    }

    /// Prints `headline` and the addresses.
    pub fn print_banner(&self, headline: &str, service: &str) {
        let grpc = self.grpc.banner_line("grpc", service);
        let ops = listener_line("ops", Some(self.ops.address()), "/livez /readyz /metrics");
        print(&format!("{headline}\n{grpc}{ops}"));
    }

    /// Serves `host` until `shutdown`. The probes answer until its store is closed, so that a drain
    /// does not look like a dead process.
    pub async fn serve<S: HostedStore + ?Sized>(
        self,
        host: &GrpcHost<S>,
        shutdown: Shutdown,
    ) -> Result<(), Failure> {
        let readiness = Readiness::new(&shutdown);
        let admin = AdminServer::start(self.ops, readiness.clone());
        let outcome = host.serve(Some(self.grpc), None, readiness, &shutdown).await;
        admin.stop().await;
        outcome
    }
}

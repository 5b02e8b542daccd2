//! Runs a gRPC service as a program of its own.

use crate::server::{GrpcServer, bind};
use rolegate_grpc_tls::ServerTls;
use rolegate_http_server::{admin_server::AdminServer, readiness::Readiness};
use rolegate_program::{
    bind_address::BindAddress, cidr_set::CidrSet, failure::Failure, logs::LogFormat,
    notice::Notice, program::CommonSettings, reload_signal::ReloadSignal, shutdown::Shutdown,
};
use std::net::SocketAddr;

/// The settings of every gRPC service.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Addresses")]
pub struct HostSettings {
    /// Comma-separated CIDRs of gRPC callers that may state the client address, request id and trace of a call
    #[arg(long, env, default_value = "127.0.0.0/8,::1/128")]
    pub trusted_gateways: CidrSet,

    /// The settings that every program has.
    #[command(flatten)]
    pub common: CommonSettings,
}

/// A gRPC service that runs as a program of its own, with its addresses and its TLS.
#[derive(Debug)]
pub struct ServiceProgram {
    /// The first line of the notice that the program prints: its name, its version, and what it depends on.
    pub headline: String,
    /// The name of the service in the notice, as the purpose of the gRPC listener.
    pub service: &'static str,
    /// The name of the setting of the gRPC listener, such as `AUTH_LISTEN_ADDR`.
    pub grpc_setting: &'static str,
    /// The address of the gRPC listener, which is the value of that setting.
    pub grpc_address: BindAddress,
    /// The TLS of the gRPC listener; `None` for plain text.
    pub tls: Option<ServerTls>,
    /// The address of the probes and the metrics, from `OPS_LISTEN_ADDR`.
    pub ops: SocketAddr,
    /// The format in which the notice is printed.
    pub log_format: LogFormat,
}

impl ServiceProgram {
    /// Opens the service, prints the notice, and serves until `shutdown`. A shutdown before the service is open
    /// ends the program without an error. On SIGHUP, it reloads the certificate and calls `reload`. The probes
    /// are served before the store is open and until it is closed, because a program is alive even while it
    /// waits for its database or drains.
    pub async fn run<T>(
        self,
        open: impl Future<Output = Result<T, Failure>>,
        server: impl Fn(&T) -> &GrpcServer,
        reload_signal: ReloadSignal,
        reload: impl Fn(&T),
        shutdown: Shutdown,
    ) -> Result<(), Failure> {
        let readiness = Readiness::new(&shutdown);
        let admin = AdminServer::start(self.ops, readiness.clone()).await?;
        let service = tokio::select! {
            service = open => service?,
            () = shutdown.lame_duck() => return Ok(()),
        };
        let grpc_address = self.grpc_address.resolve(self.grpc_setting)?;
        let grpc = bind(self.grpc_setting, grpc_address)
            .await?
            .with_tls(self.tls.clone());
        Notice::new(self.headline)
            .listener("grpc", grpc.url(), self.service)
            .http("ops", Some(admin.address), "/livez /readyz /metrics")
            .print(self.log_format);
        let reload = || {
            reload(&service);
            if let Some(tls) = &self.tls {
                tls.reload();
            }
        };
        let outcome = tokio::select! {
            outcome = server(&service).serve(Some(grpc), None, readiness, &shutdown) => outcome,
            never = reload_signal.on_each(reload) => match never {},
        };
        admin.stop().await;
        outcome
    }
}

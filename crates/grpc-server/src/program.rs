//! A gRPC service that runs as a program of its own.

use crate::{GrpcServer, bind};
use rolegate_grpc_tls::ServerTls;
use rolegate_http_server::{admin_server::AdminServer, readiness::Readiness};
use rolegate_program::{
    bind_address::BindAddress,
    cidr_set::CidrSet,
    notice::Notice,
    program::{CommonSettings, Failure},
    reload_signal::ReloadSignal,
    shutdown::Shutdown,
};
use rolegate_telemetry::logs::LogFormat;
use std::net::SocketAddr;

/// Settings of every gRPC service.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Addresses")]
pub struct HostSettings {
    /// Comma-separated CIDRs of gRPC callers that may state the client address, request id and trace of a call
    #[arg(long, env = "TRUSTED_GATEWAYS", default_value = "127.0.0.0/8,::1/128")]
    pub trusted_gateways: CidrSet,

    /// Shared by every program.
    #[command(flatten)]
    pub common: CommonSettings,
}

/// What a program serves, and where.
#[derive(Debug)]
pub struct ServiceProgram {
    /// The first line that it prints.
    pub headline: String,
    /// The name of the service.
    pub service: &'static str,
    /// The setting of the gRPC listener and its value.
    pub grpc: (&'static str, BindAddress),
    /// Of the gRPC listener.
    pub tls: Option<ServerTls>,
    /// `OPS_LISTEN_ADDR`
    pub ops: SocketAddr,
    /// Of what it prints.
    pub log_format: LogFormat,
}

impl ServiceProgram {
    /// Opens the service and serves it until `shutdown`. On SIGHUP, reloads the certificate and calls
    /// `reload`. The probes are served before the store is open and until it is closed: a program that
    /// waits for its database or drains is alive.
    pub async fn run<T>(
        self,
        open: impl Future<Output = Result<T, Failure>>,
        server: impl Fn(&T) -> &GrpcServer,
        reload_signal: ReloadSignal,
        reload: impl Fn(&T),
        shutdown: Shutdown,
    ) -> Result<(), Failure> {
        let Self {
            headline,
            service: name,
            grpc: (variable, address),
            tls,
            ops,
            ..
        } = self;
        let readiness = Readiness::new(&shutdown);
        let admin = AdminServer::start(ops, readiness.clone()).await?;
        let service = tokio::select! {
            service = open => service?,
            () = shutdown.lame_duck() => return Ok(()),
        };
        let grpc = bind(variable, address.resolve(variable)?)
            .await?
            .with_tls(tls.clone());
        Notice::new(headline)
            .listener("grpc", grpc.url(), name)
            .http("ops", Some(admin.address), "/livez /readyz /metrics")
            .print(self.log_format);
        let reload = || {
            reload(&service);
            if let Some(tls) = &tls {
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

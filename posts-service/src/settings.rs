//! Flags and environment of posts-service.

use clap::{Args, Parser};
use rolegate_auth_client::settings::AuthTlsSettings;
use rolegate_grpc_server::HostSettings;
use rolegate_grpc_tls::{HTTP_2, ServerTls};
use rolegate_program::{
    bind_address::{BindAddress, bind_address},
    settings::{SettingError, number_between, socket_address},
};
use rolegate_sql_store::DatabaseSettings;
use std::{net::SocketAddr, path::PathBuf};

/// The internal gRPC service that stores posts. auth-service decides who may write them
#[derive(Debug, Parser)]
#[command(name = "posts-service", version, next_help_heading = "Addresses")]
pub struct Settings {
    /// Address of the gRPC listener: ip:port, or network:port for the address in that network
    #[arg(long, env = "POSTS_LISTEN_ADDR", default_value = "127.0.0.1:50052", value_parser = bind_address::<50052>)]
    pub posts_listen_addr: BindAddress,

    /// URL of auth-service's gRPC port; the host name may resolve to several replicas
    #[arg(long, env = "AUTH_SERVICE_URL", default_value = "http://127.0.0.1:50051")]
    pub auth_service_url: String,

    /// Address of /livez, /readyz and /metrics; keep it private
    #[arg(long, env = "OPS_LISTEN_ADDR", default_value = "127.0.0.1:9002", value_parser = socket_address::<9002>)]
    pub ops_listen_addr: SocketAddr,

    /// The database.
    #[command(flatten)]
    pub database: DatabaseSettings,

    /// MiB of posts that may be in responses at a time until callers have read them, 32 to 65536; more wait for 5 seconds, then get OVERLOADED
    #[arg(long, env = "RESPONSE_MEMORY_MIB", help_heading = "Limits", default_value = "64", value_parser = |text: &str| number_between(text, 32_usize, 65_536))]
    pub response_memory_mib: usize,

    /// TLS of the gRPC listener.
    #[command(flatten)]
    pub tls: ServerTlsSettings,

    /// TLS of the connections to auth-service.
    #[command(flatten)]
    pub auth_tls: AuthTlsSettings,

    /// Shared by gRPC services.
    #[command(flatten)]
    pub host: HostSettings,
}

/// TLS of the gRPC listener of posts, here and in rolegate.
#[derive(Args, Clone, Debug)]
pub struct ServerTlsSettings {
    /// PEM certificate of the gRPC listener of posts; enables TLS
    #[arg(long, env = "POSTS_TLS_CERT_FILE", help_heading = "TLS")]
    pub posts_tls_cert_file: Option<PathBuf>,

    /// PEM private key of that certificate
    #[arg(long, env = "POSTS_TLS_KEY_FILE", help_heading = "TLS")]
    pub posts_tls_key_file: Option<PathBuf>,

    /// PEM CA certificates; requires every gRPC client of posts to present a certificate signed by one of them
    #[arg(long, env = "POSTS_TLS_CLIENT_CA_FILE", help_heading = "TLS")]
    pub posts_tls_client_ca_file: Option<PathBuf>,
}

impl ServerTlsSettings {
    /// Loads the certificate; `None` without TLS.
    pub fn load(&self) -> Result<Option<ServerTls>, SettingError> {
        let tls = ServerTls::load(
            "POSTS_TLS",
            self.posts_tls_cert_file.clone(),
            self.posts_tls_key_file.clone(),
            self.posts_tls_client_ca_file.clone(),
            HTTP_2,
        );
        Ok(tls?)
    }
}

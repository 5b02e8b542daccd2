//! Flags and environment of posts-service.

#![expect(clippy::doc_markdown, reason = "clap prints these comments as they are, as help")]

use clap::{Args, Parser};
use rolegate_auth_client::settings::AuthTlsSettings;
use rolegate_grpc_server::TlsFiles;
use rolegate_grpc_tls::ServerTls;
use rolegate_service_runtime::{
    cidr_set::CidrSet,
    program::{CommonSettings, ProgramSettings},
    secret,
    settings::{SettingError, socket_address},
};
use rolegate_sql_store::DatabaseUrl;
use secrecy::SecretString;
use std::{net::SocketAddr, path::PathBuf, sync::Arc};

/// Callers on this machine.
const LOOPBACK: &str = "127.0.0.0/8,::1/128";

/// The internal service that owns posts and asks auth-service who may write them.
#[derive(Debug, Parser)]
#[command(name = "posts-service", version)]
pub struct Settings {
    /// Where gRPC is served.
    #[arg(long, env = "POSTS_LISTEN_ADDR", default_value = "127.0.0.1:50052", value_parser = socket_address::<50052>)]
    pub posts_listen_addr: SocketAddr,

    /// How that is encrypted.
    #[command(flatten)]
    pub tls: ServerTlsSettings,

    /// Where posts are kept: postgres://user:password@host:5432/database or sqlite://path/to/file.db
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = secret::parse)]
    pub database_url: Option<SecretString>,

    /// File that holds DATABASE_URL.
    #[arg(long, env = "DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,

    /// URL of auth-service's gRPC port; the name may resolve to many replicas.
    #[arg(long, env = "AUTH_SERVICE_URL", default_value = "http://127.0.0.1:50051")]
    pub auth_service_url: String,

    /// How connections to auth-service are encrypted.
    #[command(flatten)]
    pub auth_tls: AuthTlsSettings,

    /// Where /livez, /readyz and /metrics are served; never public.
    #[arg(long, env = "OPS_LISTEN_ADDR", default_value = "127.0.0.1:9002", value_parser = socket_address::<9002>)]
    pub ops_listen_addr: SocketAddr,

    /// CIDRs of callers, separated by commas, who are believed when they name the end user's address, the request or a trace.
    #[arg(long, env = "TRUSTED_GATEWAYS", default_value = LOOPBACK)]
    pub trusted_gateways: CidrSet,

    /// What every program has.
    #[command(flatten)]
    pub life: CommonSettings,
}

/// How gRPC of posts is encrypted, wherever it is served.
#[derive(Args, Clone, Debug)]
pub struct ServerTlsSettings {
    /// PEM file of the certificate that callers of posts are shown; with it their gRPC is encrypted.
    #[arg(long, env = "POSTS_TLS_CERT_FILE")]
    pub posts_tls_cert_file: Option<PathBuf>,

    /// PEM file of its key.
    #[arg(long, env = "POSTS_TLS_KEY_FILE")]
    pub posts_tls_key_file: Option<PathBuf>,

    /// PEM file of authorities; with it every caller of posts must show a certificate of theirs.
    #[arg(long, env = "POSTS_TLS_CLIENT_CA_FILE")]
    pub posts_tls_client_ca_file: Option<PathBuf>,
}

impl ServerTlsSettings {
    /// What gRPC is encrypted with, if it is.
    pub fn load(&self) -> Result<Option<Arc<ServerTls>>, SettingError> {
        let files = TlsFiles {
            prefix: "POSTS_TLS",
            certificate: self.posts_tls_cert_file.clone(),
            key: self.posts_tls_key_file.clone(),
            client_ca: self.posts_tls_client_ca_file.clone(),
        };
        files.load()
    }
}

impl ProgramSettings for Settings {
    const PROGRAM: &'static str = "posts-service";

    fn common(&self) -> &CommonSettings {
        &self.life
    }

    fn ops_listen_addr(&self) -> SocketAddr {
        self.ops_listen_addr
    }
}

impl Settings {
    /// The database; required.
    pub fn store_url(&self) -> Result<DatabaseUrl, SettingError> {
        let file = self.database_url_file.as_deref();
        DatabaseUrl::required("DATABASE_URL", self.database_url.clone(), file)
    }
}

//! Flags and environment of rolegate.

#![expect(clippy::doc_markdown, reason = "clap prints these comments as they are, as help")]

use clap::Parser;
use rolegate_auth_service::settings::ServiceSettings;
use rolegate_gateway::settings::PublicSettings;
use rolegate_posts_service::settings::ServerTlsSettings;
use rolegate_service_runtime::{
    program::{CommonSettings, ProgramSettings},
    secret,
    settings::{ListenAddress, listen_address, socket_address},
};
use secrecy::SecretString;
use std::{net::SocketAddr, path::PathBuf};

/// Users, passwords, tokens and roles as a service, in one process. Needs no settings.
#[derive(Debug, Parser)]
#[command(name = "rolegate", version)]
pub struct Settings {
    /// What the gateway has too.
    #[command(flatten)]
    pub public: PublicSettings,

    /// What auth-service has too.
    #[command(flatten)]
    pub service: ServiceSettings,

    /// Where users are kept [default: sqlite://DATA_DIR/rolegate.db]
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = secret::parse)]
    pub database_url: Option<SecretString>,

    /// File that holds DATABASE_URL.
    #[arg(long, env = "DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,

    /// Where posts are served over gRPC, or off.
    #[arg(long, env = "POSTS_LISTEN_ADDR", default_value = "127.0.0.1:50052", value_parser = listen_address::<50052>)]
    pub posts_listen_addr: ListenAddress,

    /// How that is encrypted.
    #[command(flatten)]
    pub posts_tls: ServerTlsSettings,

    /// Where posts are kept [default: the database of the users where it is PostgreSQL, else sqlite://DATA_DIR/posts.db]
    #[arg(long, env = "POSTS_DATABASE_URL", hide_env_values = true, value_parser = secret::parse)]
    pub posts_database_url: Option<SecretString>,

    /// File that holds POSTS_DATABASE_URL.
    #[arg(long, env = "POSTS_DATABASE_URL_FILE")]
    pub posts_database_url_file: Option<PathBuf>,

    /// Folder of everything this program writes; made if it is missing.
    #[arg(long, env = "DATA_DIR", default_value = "./data")]
    pub data_dir: PathBuf,

    /// Where /livez, /readyz and /metrics are served; never public.
    #[arg(long, env = "OPS_LISTEN_ADDR", default_value = "127.0.0.1:9000", value_parser = socket_address::<9000>)]
    pub ops_listen_addr: SocketAddr,

    /// What every program has.
    #[command(flatten)]
    pub life: CommonSettings,
}

impl ProgramSettings for Settings {
    const PROGRAM: &'static str = "rolegate";

    fn common(&self) -> &CommonSettings {
        &self.life
    }

    fn ops_listen_addr(&self) -> SocketAddr {
        self.ops_listen_addr
    }
}

impl Settings {
    /// Makes hashes cheap, below what the environment may ask for: tests make many of them.
    pub fn use_bcrypt_cost_for_tests(&mut self, cost: u32) {
        self.service.bcrypt_cost = cost;
    }
}

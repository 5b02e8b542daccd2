//! Flags and environment of all-in-one.

#![expect(clippy::doc_markdown, reason = "clap prints these comments as they are, as help")]

use auth_service::settings::{ServiceSettings, lame_duck_seconds};
use clap::Parser;
use gateway::settings::PublicSettings;
use secrecy::SecretString;
use service_runtime::{
    program::LifeSettings,
    secret,
    settings::{ListenAddress, listen_address, socket_address},
    telemetry::TelemetrySettings,
};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// Users, passwords, tokens and roles as a service, in one process. Needs no settings.
#[derive(Debug, Parser)]
#[command(name = "all-in-one", version)]
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

    /// Seconds between "not ready" and the end of accepting, at a stop.
    #[arg(long, env = "LAME_DUCK_SECONDS", default_value = "2", value_parser = lame_duck_seconds)]
    pub lame_duck_seconds: u16,

    /// Logs and traces.
    #[command(flatten)]
    pub telemetry: TelemetrySettings,
}

impl LifeSettings for Settings {
    const PROGRAM: &'static str = "all-in-one";

    fn lame_duck(&self) -> Duration {
        Duration::from_secs(self.lame_duck_seconds.into())
    }

    fn telemetry(&self) -> &TelemetrySettings {
        &self.telemetry
    }
}

impl Settings {
    /// Makes hashes cheap, below what the environment may ask for: tests make many of them.
    pub fn use_bcrypt_cost_for_tests(&mut self, cost: u32) {
        self.service.bcrypt_cost = cost;
    }
}

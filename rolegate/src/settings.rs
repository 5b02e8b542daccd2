//! The settings of rolegate, from flags and the environment.

#![expect(
    clippy::doc_markdown,
    reason = "clap prints these comments as they are, as help"
)]

use clap::{ArgAction, Parser};
use rolegate_auth_service::settings::ServiceSettings;
use rolegate_gateway::settings::PublicSettings;
use rolegate_posts_service::settings::{PostsOfDeletedUsers, ServerTlsSettings};
use rolegate_program::{
    program::CommonSettings,
    settings::{ListenAddress, listen_address, socket_address, switch},
};
use secrecy::SecretString;
use std::{net::SocketAddr, path::PathBuf};

/// Users, passwords, tokens, roles and posts as a service, in one process. Every setting has a default
#[derive(Debug, Parser)]
#[command(name = "rolegate", version, next_help_heading = "Database")]
pub struct Settings {
    /// Address of the gRPC listener of users, or off
    #[arg(long, env, help_heading = "Addresses", default_value = "127.0.0.1:50051", value_parser = listen_address::<50051>)]
    pub auth_listen_addr: ListenAddress,

    /// Serve posts; off: no routes, no gRPC listener and no database of posts
    #[arg(long, env, help_heading = "Addresses", default_value = "on", action = ArgAction::Set, value_parser = switch())]
    pub posts: bool,

    /// Address of the gRPC listener of posts, or off
    #[arg(long, env, help_heading = "Addresses", default_value = "127.0.0.1:50052", value_parser = listen_address::<50052>)]
    pub posts_listen_addr: ListenAddress,

    /// Address of /livez, /readyz and /metrics; keep it private
    #[arg(long, env, help_heading = "Addresses", default_value = "127.0.0.1:9000", value_parser = socket_address::<9000>)]
    pub ops_listen_addr: SocketAddr,

    /// Database of the users: postgres://user:password@host:5432/database or sqlite://path/to/file.db [default: sqlite://DATA_DIR/rolegate.db]
    #[arg(long, env, hide_env_values = true)]
    pub database_url: Option<SecretString>,

    /// File that contains DATABASE_URL
    #[arg(long, env)]
    pub database_url_file: Option<PathBuf>,

    /// Database of the posts [default: the PostgreSQL database of the users, else sqlite://DATA_DIR/posts.db]
    #[arg(long, env, hide_env_values = true)]
    pub posts_database_url: Option<SecretString>,

    /// File that contains POSTS_DATABASE_URL
    #[arg(long, env)]
    pub posts_database_url_file: Option<PathBuf>,

    /// Create the tables in a PostgreSQL schema even if it has tables of other programs
    #[arg(long, env, default_value = "off", action = ArgAction::Set, value_parser = switch())]
    pub share_database: bool,

    /// Keep or delete the posts of deleted users
    #[arg(long, env, value_enum, default_value = "keep")]
    pub posts_of_deleted_users: PostsOfDeletedUsers,

    /// Folder of generated secrets and embedded databases; created if it does not exist
    #[arg(long, env, default_value = "./data")]
    pub data_dir: PathBuf,

    /// The settings that rolegate and auth-service have in common.
    #[command(flatten)]
    pub service: ServiceSettings,

    /// The settings that rolegate and the gateway have in common.
    #[command(flatten)]
    pub public: PublicSettings,

    /// The TLS settings of the gRPC listener of posts.
    #[command(flatten)]
    pub posts_tls: ServerTlsSettings,

    /// The settings that every program has.
    #[command(flatten)]
    pub common: CommonSettings,
}

impl Settings {
    /// Returns the address of the gRPC listener of posts, which is off if `POSTS` is off.
    pub(crate) fn posts_listen_addr(&self) -> ListenAddress {
        if self.posts {
            self.posts_listen_addr
        } else {
            ListenAddress(None)
        }
    }

    /// Returns `true` if the signing secret is set, so that none is generated.
    pub(crate) fn has_signing_secret(&self) -> bool {
        self.service.signing_secret.is_some() || self.service.signing_secret_file.is_some()
    }

    /// Returns `true` if the key of second factors is set, so that none is generated.
    pub(crate) fn has_second_factor_key(&self) -> bool {
        self.service.second_factor_key.is_some() || self.service.second_factor_key_file.is_some()
    }
}

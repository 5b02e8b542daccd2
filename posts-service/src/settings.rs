//! The flags and environment variables of posts-service.

#![expect(
    clippy::doc_markdown,
    reason = "clap prints these comments as they are, as help"
)]

pub use crate::post::PostsOfDeletedUsers;

use clap::{Args, Parser};
use rolegate_auth_client::settings::AuthTlsSettings;
use rolegate_grpc_server::HostSettings;
use rolegate_grpc_tls::{HTTP_2, ServerTls, TlsFiles};
use rolegate_program::{
    bind_address::{BindAddress, bind_address},
    secret::SecretSource,
    settings::{SettingError, number_between, socket_address},
};
use rolegate_proto::authorization::is_api_key;
use rolegate_sql_store::DatabaseSettings;
use secrecy::{ExposeSecret, SecretString};
use std::{net::SocketAddr, path::PathBuf};

/// The internal gRPC service that stores posts. auth-service decides who may write them
#[derive(Debug, Parser)]
#[command(name = "posts-service", version, next_help_heading = "Addresses")]
pub struct Settings {
    /// Address of the gRPC listener: ip:port, or network:port for the address that this host has in that network
    #[arg(long, env, default_value = "127.0.0.1:50052", value_parser = bind_address::<50052>)]
    pub posts_listen_addr: BindAddress,

    /// URL of auth-service's gRPC port; the host name may resolve to several replicas
    #[arg(long, env, default_value = "http://127.0.0.1:50051")]
    pub auth_service_url: String,

    /// Address of /livez, /readyz and /metrics; keep it private
    #[arg(long, env, default_value = "127.0.0.1:9002", value_parser = socket_address::<9002>)]
    pub ops_listen_addr: SocketAddr,

    /// The settings of the database.
    #[command(flatten)]
    pub database: DatabaseSettings,

    /// Keep or delete the posts of deleted users
    #[arg(
        long,
        env,
        help_heading = "Database",
        value_enum,
        default_value = "keep"
    )]
    pub posts_of_deleted_users: PostsOfDeletedUsers,

    /// API key of an admin, by which posts-service learns of deleted users; not needed with a client certificate that
    /// auth-service names
    #[arg(long, env, help_heading = "Secrets", hide_env_values = true)]
    pub user_changes_key: Option<SecretString>,

    /// File that contains USER_CHANGES_KEY; it may be replaced
    #[arg(long, env, help_heading = "Secrets")]
    pub user_changes_key_file: Option<PathBuf>,

    /// MiB of posts that may be in responses at a time until callers have read them, 32 to 65536; more wait for 3
    /// seconds, then get OVERLOADED
    #[arg(long, env, help_heading = "Limits", default_value = "64", value_parser = number_between(32_usize, 65_536))]
    pub response_memory_mib: usize,

    /// The TLS settings of the gRPC listener.
    #[command(flatten)]
    pub tls: ServerTlsSettings,

    /// The TLS settings of the connections to auth-service.
    #[command(flatten)]
    pub auth_tls: AuthTlsSettings,

    /// The settings that all gRPC services have in common.
    #[command(flatten)]
    pub host: HostSettings,
}

impl Settings {
    /// Returns the source of the API key with which posts-service watches changes of users. Fails if the key cannot be
    /// read or is malformed, or if posts are to be deleted but auth-service would not report deletions.
    pub(crate) fn user_changes_key(&self) -> Result<Option<SecretSource>, SettingError> {
        let source = SecretSource::from_setting(
            "USER_CHANGES_KEY",
            self.user_changes_key.clone(),
            self.user_changes_key_file.as_deref(),
        )?;
        if let Some(source) = &source
            && !is_api_key(source.read()?.expose_secret())
        {
            return Err(source.invalid("must be an API key, which begins with rgk_"));
        }
        let has_certificate = self.auth_tls.auth_client_tls_cert_file.is_some();
        let learns_of_deletions = source.is_some() || has_certificate;
        if self.posts_of_deleted_users == PostsOfDeletedUsers::Delete && !learns_of_deletions {
            let problem = "would delete nothing, because posts-service does not learn of deletions; set \
                           USER_CHANGES_KEY, or AUTH_CLIENT_TLS_CERT_FILE to a certificate that auth-service names";
            return Err(SettingError::new("POSTS_OF_DELETED_USERS", problem));
        }
        Ok(source)
    }
}

/// The TLS files of the gRPC listener of posts, for posts-service and for rolegate.
#[derive(Args, Debug)]
#[command(next_help_heading = "TLS")]
pub struct ServerTlsSettings {
    /// PEM certificate of the gRPC listener of posts; enables TLS
    #[arg(long, env)]
    pub posts_tls_cert_file: Option<PathBuf>,

    /// PEM private key of that certificate
    #[arg(long, env)]
    pub posts_tls_key_file: Option<PathBuf>,

    /// PEM CA certificates; requires every gRPC client of posts to present a certificate signed by one of them
    #[arg(long, env)]
    pub posts_tls_client_ca_file: Option<PathBuf>,
}

impl ServerTlsSettings {
    /// Loads the certificate, the key, and the CA certificates of clients. Returns `None` if no certificate is set, so
    /// that the listener does not use TLS.
    pub fn load(&self) -> Result<Option<ServerTls>, SettingError> {
        let tls = ServerTls::load(
            "POSTS_TLS",
            TlsFiles {
                certificate: self.posts_tls_cert_file.clone(),
                key: self.posts_tls_key_file.clone(),
                ca: self.posts_tls_client_ca_file.clone(),
            },
            HTTP_2,
        );
        Ok(tls?)
    }
}

#[cfg(test)]
mod tests {
    use super::{PostsOfDeletedUsers, Settings};
    use clap::Parser as _;
    use std::fs;

    fn parse(flags: &[&str]) -> Settings {
        let database = ["posts-service", "--database-url", "sqlite://posts.db"];
        Settings::try_parse_from(database.iter().chain(flags)).expect("settings")
    }

    #[test]
    fn posts_of_deleted_users_are_kept_unless_it_is_set_otherwise() {
        assert_eq!(
            parse(&[]).posts_of_deleted_users,
            PostsOfDeletedUsers::Detach
        );
        let delete = parse(&["--posts-of-deleted-users", "delete"]);
        assert_eq!(delete.posts_of_deleted_users, PostsOfDeletedUsers::Delete);
    }

    #[test]
    fn user_changes_key_is_an_api_key_from_one_source_and_is_never_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        fs::write(&file, "rgk_secret\n").expect("written");
        let (file, missing) = (file.to_str().expect("UTF-8"), "/nowhere/key");
        let key = |flags: &[&str]| match parse(flags).user_changes_key() {
            Ok(source) => Ok(source.is_some()),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(key(&[]), Ok(false));
        assert_eq!(key(&["--user-changes-key", "rgk_secret"]), Ok(true));
        assert_eq!(key(&["--user-changes-key-file", file]), Ok(true));
        let password = "USER_CHANGES_KEY: must be an API key, which begins with rgk_";
        assert_eq!(
            key(&["--user-changes-key", "hunter2"]),
            Err(password.to_owned())
        );
        let delete = ["--posts-of-deleted-users", "delete"];
        let never = key(&delete).expect_err("posts-service does not learn of deletions");
        assert!(
            never.starts_with("POSTS_OF_DELETED_USERS: would delete nothing, "),
            "{never}"
        );
        for told in [
            ["--user-changes-key", "rgk_secret"],
            ["--auth-client-tls-cert-file", "/nowhere/cert.pem"],
        ] {
            assert!(key(&[delete, told].concat()).is_ok(), "{told:?}");
        }
        let missing = key(&["--user-changes-key-file", missing]).expect_err("no file");
        assert_eq!(
            missing,
            "USER_CHANGES_KEY_FILE: /nowhere/key does not exist"
        );
        let both = key(&[
            "--user-changes-key",
            "rgk_secret",
            "--user-changes-key-file",
            file,
        ]);
        assert!(both.expect_err("both").contains("set one of the two"));
    }
}

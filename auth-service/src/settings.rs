//! The settings of auth-service: flags and environment variables.
//!
//! [`Settings`] is the command line of the program auth-service. [`ServiceSettings`] is the part
//! that auth-service shares with rolegate; it becomes the `Config` of the service. `secrets` reads
//! the settings that are secrets, from variables, flags or files, and `tls` those about TLS. The
//! comment of a setting is its text in `--help`.

#![expect(
    clippy::doc_markdown,
    reason = "clap prints these comments as they are, as help"
)]

mod secrets;
mod tls;

use crate::{
    accounts::{InitialPassword, Policy, SessionLimits},
    host::Config,
    password::{BlocklistFile, PasswordRules},
    roles::Roles,
    second_factor::Mode,
    tokens::KeySource,
};
use clap::{ArgAction, Args, Parser};
use rolegate_grpc_server::{HostSettings, certificate_name};
use rolegate_program::{
    bind_address::{BindAddress, bind_address},
    cidr_set::CidrSet,
    settings::{SettingError, number_between, socket_address, switch},
};
use rolegate_sign_in::settings::SignInSettings;
use rolegate_sql_store::{DatabaseSettings, DatabaseUrl, ReadConsistency};
use secrecy::SecretString;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

/// The internal gRPC service for users, passwords, tokens and roles
#[derive(Debug, Parser)]
#[command(name = "auth-service", version)]
pub struct Settings {
    /// Address of the gRPC listener: ip:port, or network:port for the address that this host has in that network
    #[arg(long, env, help_heading = "Addresses", default_value = "127.0.0.1:50051", value_parser = bind_address::<50051>)]
    pub auth_listen_addr: BindAddress,

    /// Address of /livez, /readyz and /metrics; keep it private
    #[arg(long, env, help_heading = "Addresses", default_value = "127.0.0.1:9001", value_parser = socket_address::<9001>)]
    pub ops_listen_addr: SocketAddr,

    /// The database of users.
    #[command(flatten)]
    pub database: DatabaseSettings,

    /// The settings that auth-service shares with rolegate.
    #[command(flatten)]
    pub service: ServiceSettings,

    /// The settings that every gRPC service has.
    #[command(flatten)]
    pub host: HostSettings,
}

/// The settings of the service, which auth-service and rolegate have in common.
#[derive(Args, Clone, Debug)]
pub struct ServiceSettings {
    /// Reads of PostgreSQL: from the primary alone (primary), or only with the acknowledgement of a synchronous standby
    /// (quorum)
    #[arg(long, env, help_heading = "Database", default_value = "primary", value_parser = ["primary", "quorum"])]
    pub database_reads: String,

    /// HS256 secret that signs access tokens, at least 32 bytes
    #[arg(long, env, help_heading = "Secrets", hide_env_values = true)]
    pub signing_secret: Option<SecretString>,

    /// File that contains SIGNING_SECRET
    #[arg(long, env, help_heading = "Secrets")]
    pub signing_secret_file: Option<PathBuf>,

    /// Additional secrets whose tokens are accepted, separated by commas or newlines; for rotating SIGNING_SECRET
    #[arg(long, env, help_heading = "Secrets", hide_env_values = true)]
    pub signing_secrets_accepted: Option<SecretString>,

    /// File that contains SIGNING_SECRETS_ACCEPTED
    #[arg(long, env, help_heading = "Secrets")]
    pub signing_secrets_accepted_file: Option<PathBuf>,

    /// Secret that encrypts second factors in the database, at least 32 bytes; the same for all replicas
    #[arg(long, env, help_heading = "Secrets", hide_env_values = true)]
    pub second_factor_key: Option<SecretString>,

    /// File that contains SECOND_FACTOR_KEY
    #[arg(long, env, help_heading = "Secrets")]
    pub second_factor_key_file: Option<PathBuf>,

    /// Additional secrets that second factors may be encrypted with, separated by commas or newlines; for rotating
    /// SECOND_FACTOR_KEY
    #[arg(long, env, help_heading = "Secrets", hide_env_values = true)]
    pub second_factor_keys_accepted: Option<SecretString>,

    /// File that contains SECOND_FACTOR_KEYS_ACCEPTED
    #[arg(long, env, help_heading = "Secrets")]
    pub second_factor_keys_accepted_file: Option<PathBuf>,

    /// Password of a new user admin; never changes an existing one
    #[arg(long, env, help_heading = "Secrets", hide_env_values = true)]
    pub default_admin_password: Option<SecretString>,

    /// File that contains DEFAULT_ADMIN_PASSWORD
    #[arg(long, env, help_heading = "Secrets")]
    pub default_admin_password_file: Option<PathBuf>,

    /// Peppers of password hashes, at least 32 bytes each, the newest first, separated by commas or newlines;
    /// after a first entry "none", new hashes have no pepper and the others are only accepted
    #[arg(long, env, help_heading = "Secrets", hide_env_values = true)]
    pub password_pepper: Option<SecretString>,

    /// File that contains PASSWORD_PEPPER
    #[arg(long, env, help_heading = "Secrets")]
    pub password_pepper_file: Option<PathBuf>,

    /// Minimum length of a new password in bytes, 1 to 72
    #[arg(long, env, help_heading = "Passwords", default_value = "1", value_parser = number_between(1_usize, 72))]
    pub password_min_length: usize,

    /// File of passwords that may not be chosen, one on each line, as text or as a SHA-1 digest in 40 hex digits; for
    /// example the 10,000 commonest of a public list: sort -t: -k2,2nr pwnedpasswords.txt | head -n 10000
    #[arg(long, env, help_heading = "Passwords")]
    pub password_blocklist_file: Option<PathBuf>,

    /// Passwords of other users: admins may set them (on), or only make links by which users choose one (off)
    #[arg(long, env, help_heading = "Passwords", default_value = "on", action = ArgAction::Set, value_parser = switch())]
    pub admins_set_passwords: bool,

    /// bcrypt cost of new password hashes (base-2 logarithm of the rounds), 12 to 16
    #[arg(long, env, help_heading = "Passwords", default_value = "12", value_parser = number_between(12_u32, 16))]
    pub bcrypt_cost: u32,

    /// Password hashing threads, 1 to 256 [default: one per core]
    #[arg(long, env, help_heading = "Passwords", value_parser = number_between(1_usize, 256))]
    pub bcrypt_threads: Option<usize>,

    /// Passwords that each thread hashes at the same time, 1 to 8
    #[arg(long, env, help_heading = "Passwords", default_value = "6", value_parser = number_between(1_usize, 8))]
    pub bcrypt_lanes: usize,

    /// Seconds for which a verified password of HTTP Basic is cached, as a keyed digest; 0 for no cache
    #[arg(long, env, help_heading = "Passwords", default_value = "300", value_parser = number_between(0_u32, 86_400))]
    pub basic_cache_ttl_seconds: u32,

    /// Registration: everybody may register (open), or only admins and operators create users (closed)
    #[arg(long, env, help_heading = "Users and sessions", default_value = "open", value_parser = ["open", "closed"])]
    pub registration: String,

    /// Second factors: optional (users may turn one on), admins (likewise, and an admin without one acts as user) or off
    /// (nobody can, and a start fails while a user has one)
    #[arg(
        long,
        env,
        help_heading = "Users and sessions",
        default_value = "optional"
    )]
    pub second_factor: Mode,

    /// Roles besides user, author and admin, separated by commas, such as editor,auditor; the same for all replicas
    #[arg(
        long,
        env,
        help_heading = "Users and sessions",
        default_value = "",
        hide_default_value = true
    )]
    pub extra_roles: Roles,

    /// Seconds without use after which a session ends, 300 to 31,536,000, and at most SESSION_MAX_SECONDS
    #[arg(long, env, help_heading = "Users and sessions", default_value = "43200", value_parser = number_between(300_u64, 31_536_000))]
    pub session_idle_seconds: u64,

    /// Seconds after which a session ends in any case, 300 to 31,536,000
    #[arg(long, env, help_heading = "Users and sessions", default_value = "2592000", value_parser = number_between(300_u64, 31_536_000))]
    pub session_max_seconds: u64,

    /// Days after which rows of the record of what happened are removed, 1 to 36,500
    #[arg(long, env, help_heading = "Users and sessions", default_value = "90", value_parser = number_between(1_u32, 36_500))]
    pub audit_retention_days: u32,

    /// The settings for signing in at applications behind Envoy.
    #[command(flatten)]
    pub sign_in: SignInSettings,

    /// Failed logins per minute for a username at a client address, and 15 times that for a client address; 0 for no
    /// limit
    #[arg(long, env, help_heading = "Limits", default_value = "20", value_parser = number_between(0, MAX_LIMIT))]
    pub login_failure_limit: u32,

    /// Registrations per minute from a client address; 0 for no limit
    #[arg(long, env, help_heading = "Limits", default_value = "0", value_parser = number_between(0, MAX_LIMIT))]
    pub registration_limit: u32,

    /// PEM certificate of the gRPC listener; enables TLS
    #[arg(long, env, help_heading = "TLS")]
    pub auth_tls_cert_file: Option<PathBuf>,

    /// PEM private key of that certificate
    #[arg(long, env, help_heading = "TLS")]
    pub auth_tls_key_file: Option<PathBuf>,

    /// PEM CA certificates; requires every gRPC client to present a certificate signed by one of them
    #[arg(long, env, help_heading = "TLS")]
    pub auth_tls_client_ca_file: Option<PathBuf>,

    /// DNS names in verified client certificates of services that may follow the changes of users, separated by commas
    #[arg(long, env, help_heading = "TLS", value_delimiter = ',', value_parser = certificate_name)]
    pub user_changes_certificates: Vec<String>,
}

/// The maximum number of attempts in a minute that a limit can allow.
const MAX_LIMIT: u32 = 1_000_000;

impl Settings {
    /// Returns the sources of the keys of access tokens. Fails if `SIGNING_SECRET` is not set.
    pub fn keys(&self) -> Result<KeySource, SettingError> {
        self.service.key_source(|| {
            let problem =
                "is required: at least 32 bytes, such as the output of `openssl rand -base64 48`";
            Err(SettingError::new("SIGNING_SECRET", problem))
        })
    }
}

impl ServiceSettings {
    /// Builds the configuration of the service. Fails if a setting is invalid, alone or together
    /// with others.
    pub fn config(
        &self,
        database: DatabaseUrl,
        keys: KeySource,
        trusted_gateways: CidrSet,
    ) -> Result<Config, SettingError> {
        Ok(Config {
            database: self.with_reads(database)?,
            keys,
            admin_password: self.admin_password()?,
            initial_password: InitialPassword::default(),
            bcrypt_cost: self.bcrypt_cost,
            peppers: self.peppers()?,
            engine: self.engine(),
            policy: Policy {
                passwords: PasswordRules {
                    min_length: self.password_min_length,
                    blocklist: None,
                },
                login_failure_limit: self.login_failure_limit,
                basic_cache_ttl: Duration::from_secs(self.basic_cache_ttl_seconds.into()),
                registration_open: self.registration == "open",
                registration_limit: self.registration_limit,
                roles: self.extra_roles.clone(),
                sessions: self.sessions()?,
                admins_set_passwords: self.admins_set_passwords,
                second_factor: self.second_factors()?,
            },
            blocklist: self.password_blocklist_file.clone(),
            trusted_gateways,
            sign_in: self.sign_in.read()?,
            watchers: self.watchers()?,
            audit_retention_days: self.audit_retention_days,
        })
    }

    /// Returns the times after which sessions expire. Fails if the time without use exceeds the
    /// maximum age.
    pub(crate) fn sessions(&self) -> Result<SessionLimits, SettingError> {
        let idle = self.session_idle_seconds;
        let max = self.session_max_seconds;
        if idle > max {
            let problem = format!("must be at most SESSION_MAX_SECONDS, which is {max}");
            return Err(SettingError::new("SESSION_IDLE_SECONDS", problem));
        }
        Ok(SessionLimits { idle, max })
    }

    /// Returns the database with the read consistency that `DATABASE_READS` requires. Fails if the
    /// database does not support it.
    pub(crate) fn with_reads(&self, database: DatabaseUrl) -> Result<DatabaseUrl, SettingError> {
        let consistency = if self.database_reads == "quorum" {
            ReadConsistency::Quorum
        } else {
            ReadConsistency::Primary
        };
        database.with_read_consistency(consistency)
    }

    /// Returns the rules for new passwords, and reads the blocklist for them.
    pub(crate) fn password_rules(&self) -> Result<PasswordRules, SettingError> {
        let file = self.password_blocklist_file.as_deref();
        let blocklist = file.map(BlocklistFile::load).transpose()?;
        Ok(PasswordRules {
            min_length: self.password_min_length,
            blocklist: blocklist.map(Arc::new),
        })
    }

    /// Returns the settings of the password engine, which are the numbers of threads and of lanes.
    pub(crate) fn engine(&self) -> rolegate_bcrypt_lanes::Settings {
        let defaults = rolegate_bcrypt_lanes::Settings::default();
        rolegate_bcrypt_lanes::Settings {
            threads: self.bcrypt_threads.unwrap_or(defaults.threads),
            lanes: self.bcrypt_lanes,
            ..defaults
        }
    }
}

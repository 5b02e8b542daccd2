//! Flags and environment of auth-service.

#![expect(clippy::doc_markdown, reason = "clap prints these comments as they are, as help")]

use crate::{
    accounts::{AdminPassword, Policy},
    password::Password,
    token::KeySource,
};
use clap::{Args, Parser};
use rolegate_grpc_server::TlsFiles;
use rolegate_grpc_tls::ServerTls;
use rolegate_service_runtime::{
    cidr_set::CidrSet,
    program::{CommonSettings, ProgramSettings},
    secret::{self, SecretSource},
    settings::{SettingError, number_between, socket_address},
};
use rolegate_sql_store::DatabaseUrl;
use secrecy::SecretString;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

/// Callers on this machine.
pub const LOOPBACK: &str = "127.0.0.0/8,::1/128";

/// The internal service that owns users, passwords, tokens and roles.
#[derive(Debug, Parser)]
#[command(name = "auth-service", version)]
pub struct Settings {
    /// What rolegate has too.
    #[command(flatten)]
    pub service: ServiceSettings,

    /// Where users are kept: postgres://user:password@host:5432/database or sqlite://path/to/file.db
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = secret::parse)]
    pub database_url: Option<SecretString>,

    /// File that holds DATABASE_URL.
    #[arg(long, env = "DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,

    /// Where /livez, /readyz and /metrics are served; never public.
    #[arg(long, env = "OPS_LISTEN_ADDR", default_value = "127.0.0.1:9001", value_parser = socket_address::<9001>)]
    pub ops_listen_addr: SocketAddr,

    /// CIDRs of callers, separated by commas, who are believed when they name the end user's address, the request or a trace.
    #[arg(long, env = "TRUSTED_GATEWAYS", default_value = LOOPBACK)]
    pub trusted_gateways: CidrSet,

    /// What every program has.
    #[command(flatten)]
    pub life: CommonSettings,
}

/// Settings of the service itself, wherever it runs.
#[derive(Args, Clone, Debug)]
pub struct ServiceSettings {
    /// Where gRPC is served.
    #[arg(long, env = "AUTH_LISTEN_ADDR", default_value = "127.0.0.1:50051", value_parser = socket_address::<50051>)]
    pub auth_listen_addr: SocketAddr,

    /// PEM file of the certificate that callers of gRPC are shown; with it gRPC is encrypted.
    #[arg(long, env = "AUTH_TLS_CERT_FILE")]
    pub auth_tls_cert_file: Option<PathBuf>,

    /// PEM file of its key.
    #[arg(long, env = "AUTH_TLS_KEY_FILE")]
    pub auth_tls_key_file: Option<PathBuf>,

    /// PEM file of authorities; with it every caller of gRPC must show a certificate of theirs.
    #[arg(long, env = "AUTH_TLS_CLIENT_CA_FILE")]
    pub auth_tls_client_ca_file: Option<PathBuf>,

    /// Secret that signs access tokens (HS256), at least 32 bytes.
    #[arg(long, env = "SIGNING_SECRET", hide_env_values = true, value_parser = secret::parse)]
    pub signing_secret: Option<SecretString>,

    /// File that holds SIGNING_SECRET.
    #[arg(long, env = "SIGNING_SECRET_FILE")]
    pub signing_secret_file: Option<PathBuf>,

    /// Further secrets whose tokens are accepted, separated by commas or newlines; for a change of SIGNING_SECRET.
    #[arg(long, env = "SIGNING_SECRETS_ACCEPTED", hide_env_values = true, value_parser = secret::parse)]
    pub signing_secrets_accepted: Option<SecretString>,

    /// File that holds SIGNING_SECRETS_ACCEPTED.
    #[arg(long, env = "SIGNING_SECRETS_ACCEPTED_FILE")]
    pub signing_secrets_accepted_file: Option<PathBuf>,

    /// Password of the user admin, who is created when missing.
    #[arg(long, env = "DEFAULT_ADMIN_PASSWORD", hide_env_values = true, value_parser = secret::parse)]
    pub default_admin_password: Option<SecretString>,

    /// File that holds DEFAULT_ADMIN_PASSWORD.
    #[arg(long, env = "DEFAULT_ADMIN_PASSWORD_FILE")]
    pub default_admin_password_file: Option<PathBuf>,

    /// Cost of new password hashes: base-2 logarithm of bcrypt's rounds, 12 to 16.
    #[arg(long, env = "BCRYPT_COST", default_value = "12", value_parser = bcrypt_cost)]
    pub bcrypt_cost: u32,

    /// Threads that hash passwords, 1 to 256 [default: one for each core].
    #[arg(long, env = "BCRYPT_THREADS", value_parser = bcrypt_threads)]
    pub bcrypt_threads: Option<usize>,

    /// Passwords that each of these threads hashes at a time, 1 to 8.
    #[arg(long, env = "BCRYPT_LANES", default_value = "6", value_parser = bcrypt_lanes)]
    pub bcrypt_lanes: usize,

    /// Failed logins a minute for a username at an address; 15 times that for an address; 0 for any number.
    #[arg(long, env = "LOGIN_FAILURE_LIMIT", default_value = "20", value_parser = limit)]
    pub login_failure_limit: u32,

    /// Seconds for which a right Basic password is remembered, as a keyed digest; 0 for not at all.
    #[arg(long, env = "BASIC_CACHE_TTL_SECONDS", default_value = "300", value_parser = basic_cache_ttl_seconds)]
    pub basic_cache_ttl_seconds: u32,

    /// Whether anybody may register.
    #[arg(long, env = "REGISTRATION", default_value = "open", value_parser = ["open", "closed"])]
    pub registration: String,

    /// Registrations a minute from one address; 0 for any number.
    #[arg(long, env = "REGISTRATION_LIMIT", default_value = "0", value_parser = limit)]
    pub registration_limit: u32,

    /// Least length of a new password in bytes, 1 to 72.
    #[arg(long, env = "PASSWORD_MIN_LENGTH", default_value = "1", value_parser = password_min_length)]
    pub password_min_length: usize,
}

fn bcrypt_cost(text: &str) -> Result<u32, String> {
    number_between(text, 12, 16)
}

fn bcrypt_threads(text: &str) -> Result<usize, String> {
    number_between(text, 1, 256)
}

fn bcrypt_lanes(text: &str) -> Result<usize, String> {
    number_between(text, 1, 8)
}

fn limit(text: &str) -> Result<u32, String> {
    number_between(text, 0, 1_000_000)
}

fn basic_cache_ttl_seconds(text: &str) -> Result<u32, String> {
    number_between(text, 0, 86_400)
}

fn password_min_length(text: &str) -> Result<usize, String> {
    number_between(text, 1, 72)
}

impl ProgramSettings for Settings {
    const PROGRAM: &'static str = "auth-service";

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

    /// The database; required.
    pub fn store_url(&self) -> Result<DatabaseUrl, SettingError> {
        let file = self.database_url_file.as_deref();
        DatabaseUrl::required("DATABASE_URL", self.database_url.clone(), file)
    }
}

impl ServiceSettings {
    /// What gRPC is encrypted with, if it is.
    pub fn tls(&self) -> Result<Option<Arc<ServerTls>>, SettingError> {
        let files = TlsFiles {
            prefix: "AUTH_TLS",
            certificate: self.auth_tls_cert_file.clone(),
            key: self.auth_tls_key_file.clone(),
            client_ca: self.auth_tls_client_ca_file.clone(),
        };
        files.load()
    }

    /// What the operator decides about passwords, guesses and registrations.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            password_min_length: self.password_min_length,
            login_failure_limit: self.login_failure_limit,
            basic_cache_ttl: Duration::from_secs(self.basic_cache_ttl_seconds.into()),
            registration_open: self.registration == "open",
            registration_limit: self.registration_limit,
        }
    }

    /// Threads and lanes of the password engine.
    #[must_use]
    pub fn engine(&self) -> rolegate_bcrypt_lanes::Settings {
        let usual = rolegate_bcrypt_lanes::Settings::default();
        let threads = self.bcrypt_threads.unwrap_or(usual.threads);
        rolegate_bcrypt_lanes::Settings { threads, lanes: self.bcrypt_lanes, ..usual }
    }

    /// Where the keys of access tokens are; `otherwise` says it for the one that signs, where
    /// `SIGNING_SECRET` does not.
    pub fn key_source(
        &self,
        otherwise: impl FnOnce() -> Result<SecretSource, SettingError>,
    ) -> Result<KeySource, SettingError> {
        let file = self.signing_secret_file.as_deref();
        let signing =
            SecretSource::from_setting("SIGNING_SECRET", self.signing_secret.clone(), file)?;
        let accepted = SecretSource::from_setting(
            "SIGNING_SECRETS_ACCEPTED",
            self.signing_secrets_accepted.clone(),
            self.signing_secrets_accepted_file.as_deref(),
        )?;
        Ok(KeySource::new(signing.map_or_else(otherwise, Ok)?, accepted))
    }

    /// The password of the seeded admin, if one is given. Its rules are checked even when the admin
    /// exists: a setting that could never work is better found today.
    pub fn admin_password(&self) -> Result<AdminPassword, SettingError> {
        const NAME: &str = "DEFAULT_ADMIN_PASSWORD";
        let file = self.default_admin_password_file.as_deref();
        let Some(text) = secret::read(NAME, self.default_admin_password.clone(), file)? else {
            return Ok(AdminPassword::Missing);
        };
        Password::new(text.clone(), self.password_min_length)
            .map_err(|rule| SettingError::new(NAME, rule.to_string()))?;
        Ok(AdminPassword::Given(text))
    }
}

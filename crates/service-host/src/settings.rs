//! The flags that both services share.

#![expect(clippy::doc_markdown, reason = "clap prints these comments as they are, as help")]

use rolegate_program::{
    cidr_set::CidrSet, program::CommonSettings, secret, settings::SettingError,
};
use rolegate_sql_store::DatabaseUrl;
use secrecy::SecretString;
use std::path::PathBuf;

/// Settings of a service with a database of its own.
#[derive(clap::Args, Clone, Debug)]
pub struct HostSettings {
    /// Database: postgres://user:password@host:5432/database or sqlite://path/to/file.db
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = secret::parse)]
    pub database_url: Option<SecretString>,

    /// File that contains DATABASE_URL
    #[arg(long, env = "DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,

    /// Comma-separated CIDRs of gRPC callers that may state the client address, request id and trace of a call
    #[arg(long, env = "TRUSTED_GATEWAYS", default_value = "127.0.0.0/8,::1/128")]
    pub trusted_gateways: CidrSet,

    /// Shared by every program.
    #[command(flatten)]
    pub common: CommonSettings,
}

impl HostSettings {
    /// The database; required.
    pub fn database(&self) -> Result<DatabaseUrl, SettingError> {
        let file = self.database_url_file.as_deref();
        DatabaseUrl::required("DATABASE_URL", self.database_url.clone(), file)
    }
}

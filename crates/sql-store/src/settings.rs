//! The flags of a database.

#![expect(clippy::doc_markdown, reason = "clap prints these comments as they are, as help")]

use crate::DatabaseUrl;
use rolegate_program::{secret, settings::SettingError};
use secrecy::SecretString;
use std::path::PathBuf;

/// Settings of a service with a database of its own.
#[derive(clap::Args, Clone, Debug)]
pub struct DatabaseSettings {
    /// Database: postgres://user:password@host:5432/database or sqlite://path/to/file.db
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = secret::parse)]
    pub database_url: Option<SecretString>,

    /// File that contains DATABASE_URL
    #[arg(long, env = "DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,
}

impl DatabaseSettings {
    /// The database; required.
    pub fn url(&self) -> Result<DatabaseUrl, SettingError> {
        let file = self.database_url_file.as_deref();
        DatabaseUrl::required("DATABASE_URL", self.database_url.clone(), file)
    }
}

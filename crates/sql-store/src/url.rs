//! Database URLs, as in the setting `DATABASE_URL`.

mod hosts;
mod invalid_url;
mod password;
mod postgres;

pub use invalid_url::InvalidUrl;

use crate::{Reads, same_file::same_file};
use rolegate_program::{secret, settings::SettingError};
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// A database to open, and the setting that names it. Prints without its password.
#[derive(Clone, Debug)]
pub struct DatabaseUrl {
    setting: &'static str,
    target: DatabaseTarget,
    reads: Reads,
}

/// The setting of [`Reads`].
pub(crate) const READS: &str = "DATABASE_READS";

/// The location of a database. Prints without its password.
#[derive(Clone)]
pub enum DatabaseTarget {
    /// `postgres://user:password@host:5432/database`; with several hosts, one of each, in order.
    Postgres(Vec<PgConnectOptions>),
    /// `sqlite://path/to/file`
    Sqlite(PathBuf),
}

impl DatabaseUrl {
    /// Reads the setting `name`, or the file that `name_FILE` names, if one is set.
    pub fn from_setting(
        name: &'static str,
        value: Option<SecretString>,
        file: Option<&Path>,
    ) -> Result<Option<Self>, SettingError> {
        let Some(url) = secret::read(name, value, file)? else { return Ok(None) };
        let target = DatabaseTarget::parse(&url);
        let target = target.map_err(|error| SettingError::new(name, error.to_string()))?;
        Ok(Some(Self { setting: name, target, reads: Reads::default() }))
    }

    /// Reads the setting; it is an error if neither is set.
    pub fn required(
        name: &'static str,
        value: Option<SecretString>,
        file: Option<&Path>,
    ) -> Result<Self, SettingError> {
        Self::from_setting(name, value, file)?.ok_or_else(|| {
            let example = "postgres://user:password@host:5432/database or sqlite://path/to/file.db";
            SettingError::new(name, format!("is required, such as {example}"))
        })
    }

    /// An SQLite file that `setting` names other than by a URL.
    #[must_use]
    pub fn from_file(setting: &'static str, file: PathBuf) -> Self {
        Self { setting, target: DatabaseTarget::Sqlite(file), reads: Reads::default() }
    }

    /// With reads by `DATABASE_READS`; an SQLite file has no standby that could form a quorum.
    pub fn with_reads(self, reads: Reads) -> Result<Self, SettingError> {
        if reads == Reads::Quorum && matches!(self.target, DatabaseTarget::Sqlite(_)) {
            let problem = "quorum requires PostgreSQL with a synchronous standby; use primary";
            return Err(SettingError::new(READS, problem));
        }
        Ok(Self { reads, ..self })
    }

    /// The reads that count.
    pub(crate) fn reads(&self) -> Reads {
        self.reads
    }

    /// The location.
    #[must_use]
    pub fn target(&self) -> &DatabaseTarget {
        &self.target
    }

    /// Whether both are the same SQLite file, by any path. Neither need exist.
    #[must_use]
    pub fn is_same_file_as(&self, other: &Self) -> bool {
        match (&self.target, &other.target) {
            (DatabaseTarget::Sqlite(one), DatabaseTarget::Sqlite(other)) => same_file(one, other),
            _ => false,
        }
    }

    /// An error of the setting; `problem` follows its name.
    #[must_use]
    pub fn invalid(&self, problem: impl Into<String>) -> SettingError {
        SettingError::new(self.setting, problem)
    }
}

impl DatabaseTarget {
    /// Parses a URL.
    pub fn parse(url: &SecretString) -> Result<Self, InvalidUrl> {
        let url = url.expose_secret();
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            let is_file = !path.is_empty()
                && !path.ends_with('/')
                && !path.contains([':', '?', '%', '#'])
                && !path.contains(char::is_control);
            return is_file
                .then(|| Self::Sqlite(PathBuf::from(path)))
                .ok_or(InvalidUrl::InvalidSqlite);
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return postgres::parse(url).map(Self::Postgres);
        }
        Err(InvalidUrl::UnknownScheme)
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(formatter)
    }
}

impl fmt::Display for DatabaseTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(servers) => {
                formatter.write_str("PostgreSQL at ")?;
                for (index, server) in servers.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "," };
                    write!(formatter, "{separator}{}:{}", server.get_host(), server.get_port())?;
                }
                let database = servers.first().and_then(PgConnectOptions::get_database);
                write!(formatter, "/{}", database.unwrap_or("(default database)"))
            }
            Self::Sqlite(file) => write!(formatter, "SQLite in {}", file.display()),
        }
    }
}

impl fmt::Debug for DatabaseTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::{DatabaseTarget, InvalidUrl};
    use secrecy::SecretString;

    fn parse(url: &str) -> Result<DatabaseTarget, InvalidUrl> {
        DatabaseTarget::parse(&SecretString::from(url))
    }

    #[test]
    fn url_prints_without_its_password() {
        let url = parse("postgres://rolegate:hunter2@db.example:5433/users").expect("valid");
        assert_eq!(url.to_string(), "PostgreSQL at db.example:5433/users");
        assert!(!format!("{url:?}").contains("hunter2"));
        let url = parse("postgres://rolegate:hunter2@a:1,b/users").expect("valid");
        assert_eq!(format!("{url:?}"), "PostgreSQL at a:1,b:5432/users");
    }

    #[test]
    fn sqlite_url_names_a_file() {
        for url in ["sqlite://a/b.db", "sqlite:a/b.db"] {
            assert_eq!(parse(url).expect("valid").to_string(), "SQLite in a/b.db");
        }
        assert_eq!(parse("sqlite:///a.db").expect("valid").to_string(), "SQLite in /a.db");
        for url in [
            "sqlite://",
            "sqlite::memory:",
            "sqlite://:memory:",
            "sqlite://a/",
            "sqlite://a?mode=ro",
            "sqlite://two\nlines",
        ] {
            assert_eq!(parse(url).err(), Some(InvalidUrl::InvalidSqlite), "{url}");
        }
    }

    #[test]
    fn other_urls_are_rejected_without_being_quoted() {
        for url in ["", "mysql://root:hunter2@db/users", "/a/b.db", "Postgres://x", "postgres:x"] {
            let error = parse(url).expect_err(url);
            assert_eq!(error, InvalidUrl::UnknownScheme);
            assert!(!error.to_string().contains("hunter2"));
        }
        assert_eq!(parse("postgres://db:notaport/x").err(), Some(InvalidUrl::InvalidPostgres));
    }
}

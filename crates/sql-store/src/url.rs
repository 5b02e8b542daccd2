//! From the text of a setting such as `DATABASE_URL` to a database that can be opened.

mod postgres;

use crate::sqlite::same_file;
use rolegate_service_runtime::{secret, settings::SettingError};
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// A database that can be opened, and the setting that led to it. Prints without its password.
#[derive(Clone)]
pub struct DatabaseUrl {
    setting: &'static str,
    target: DatabaseTarget,
}

/// Where a database is. Prints without its password.
#[derive(Clone)]
pub enum DatabaseTarget {
    /// `postgres://user:password@host:5432/database`
    Postgres(Box<PgConnectOptions>),
    /// `sqlite://path/to/file`
    Sqlite(PathBuf),
}

/// The text is no URL of a database that we know. Says what would be right, never the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// Another scheme, or none.
    #[error("must be postgres://user:password@host:5432/database or sqlite://path/to/file.db")]
    UnknownScheme,
    /// `postgres://` with something after it that makes no sense.
    #[error("is not a valid PostgreSQL URL; expected postgres://user:password@host:5432/database")]
    InvalidPostgres,
    /// A misspelt `sslmode` would be plain text, so nothing that is not known is passed over. Not
    /// named: it may be a part of a password with a question mark.
    #[error(
        "has a parameter that is not known; known are {}, and options[NAME]",
        postgres::PARAMETERS.join(", ")
    )]
    UnknownParameter,
    /// How far the connection is encrypted cannot be told.
    #[error("sslmode must be one of disable, prefer, require, verify-ca and verify-full")]
    SslMode,
    /// The authority would not be asked.
    #[error("sslrootcert is of no effect with this sslmode; use sslmode=verify-full")]
    UnusedAuthority,
    /// Anybody has a certificate of a public authority, for a name of their own.
    #[error("sslmode=verify-ca needs sslrootcert; for public authorities use sslmode=verify-full")]
    AnyAuthority,
    /// Half of an identity.
    #[error("sslcert and sslkey must be given together")]
    HalfIdentity,
    /// A file of TLS cannot be used.
    #[error("{parameter}: {problem}")]
    File {
        /// Which one.
        parameter: &'static str,
        /// With its path; never what is in it.
        problem: String,
    },
    /// `sqlite://` without a file. A database in memory would lose everything at each restart.
    #[error("must name a file, as in sqlite://path/to/file.db, without parameters")]
    InvalidSqlite,
}

impl DatabaseUrl {
    /// The database of the setting `name` or of the file that `name_FILE` names, if one is given.
    pub fn from_setting(
        name: &'static str,
        value: Option<SecretString>,
        file: Option<&Path>,
    ) -> Result<Option<Self>, SettingError> {
        let Some(url) = secret::read(name, value, file)? else { return Ok(None) };
        let target = DatabaseTarget::parse(&url);
        let target = target.map_err(|error| SettingError::new(name, error.to_string()))?;
        Ok(Some(Self { setting: name, target }))
    }

    /// The same for a service that cannot do without.
    pub fn required(
        name: &'static str,
        value: Option<SecretString>,
        file: Option<&Path>,
    ) -> Result<Self, SettingError> {
        Self::from_setting(name, value, file)?.ok_or_else(|| {
            let right = "postgres://user:password@host:5432/database or sqlite://path/to/file.db";
            SettingError::new(name, format!("is required, such as {right}"))
        })
    }

    /// An SQLite file that `setting` led to without being a URL.
    #[must_use]
    pub fn from_file(setting: &'static str, file: PathBuf) -> Self {
        Self { setting, target: DatabaseTarget::Sqlite(file) }
    }

    /// Where it is.
    #[must_use]
    pub fn target(&self) -> &DatabaseTarget {
        &self.target
    }

    /// Whether both are one SQLite file, whatever they call it. Neither need exist.
    #[must_use]
    pub fn is_same_file_as(&self, other: &Self) -> bool {
        match (&self.target, &other.target) {
            (DatabaseTarget::Sqlite(one), DatabaseTarget::Sqlite(other)) => same_file(one, other),
            _ => false,
        }
    }

    /// The setting leads to something that this cannot be.
    #[must_use]
    pub fn invalid(&self, problem: impl Into<String>) -> SettingError {
        SettingError::new(self.setting, problem)
    }
}

impl DatabaseTarget {
    /// Reads a URL.
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
            return postgres::parse(url).map(|options| Self::Postgres(Box::new(options)));
        }
        Err(InvalidUrl::UnknownScheme)
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(formatter)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.setting, self.target)
    }
}

impl fmt::Display for DatabaseTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(options) => {
                let database = options.get_database().unwrap_or("(default database)");
                write!(
                    formatter,
                    "PostgreSQL at {}:{}/{database}",
                    options.get_host(),
                    options.get_port()
                )
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
    fn a_url_prints_without_its_password() {
        let url = parse("postgres://rolegate:hunter2@db.example:5433/users").expect("valid");
        assert_eq!(url.to_string(), "PostgreSQL at db.example:5433/users");
        assert!(!format!("{url:?}").contains("hunter2"));
    }

    #[test]
    fn an_sqlite_url_names_a_file() {
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
    fn everything_else_is_refused_without_being_quoted() {
        for url in ["", "mysql://root:hunter2@db/users", "/a/b.db", "Postgres://x", "postgres:x"] {
            let error = parse(url).expect_err(url);
            assert_eq!(error, InvalidUrl::UnknownScheme);
            assert!(!error.to_string().contains("hunter2"));
        }
        assert_eq!(parse("postgres://db:notaport/x").err(), Some(InvalidUrl::InvalidPostgres));
    }
}

//! Parses database URLs, as in the setting `DATABASE_URL`, and prints them without their passwords.
//!
//! `postgres.rs` parses the URLs of PostgreSQL. [`DatabaseUrl`] also carries the other settings of a database,
//! and the name of its setting for error messages.

#![expect(
    clippy::doc_markdown,
    reason = "clap prints some of these comments as they are, as help"
)]

mod postgres;

use crate::{
    ReadConsistency,
    schema::{Schema, SchemaSharing},
    sqlite::same_file,
};
use clap::ArgAction;
use rolegate_program::{
    secret,
    settings::{SettingError, switch},
};
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;
use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
};

/// The settings of a service with a database of its own.
#[derive(clap::Args, Debug)]
pub struct DatabaseSettings {
    /// URL of the database: postgres://user:password@host:5432/database or sqlite://path/to/file.db
    #[arg(long, env, help_heading = "Database", hide_env_values = true)]
    pub database_url: Option<SecretString>,

    /// File that contains DATABASE_URL
    #[arg(long, env, help_heading = "Database")]
    pub database_url_file: Option<PathBuf>,

    /// Create the tables in a PostgreSQL schema even if it has tables of other programs
    #[arg(long, env, help_heading = "Database", default_value = "off", action = ArgAction::Set, value_parser = switch())]
    pub share_database: bool,
}

impl DatabaseSettings {
    /// Returns the database that the settings name. Fails if no database is set, or if a setting is invalid.
    pub fn url(&self) -> Result<DatabaseUrl, SettingError> {
        let file = self.database_url_file.as_deref();
        DatabaseUrl::required("DATABASE_URL", self.database_url.clone(), file)?
            .with_sharing(self.share_database)
    }
}

/// A database to open, and the setting that names it. It is printed without its password.
#[derive(Clone, Debug)]
pub struct DatabaseUrl {
    setting: &'static str,
    /// The location of the database.
    pub target: DatabaseTarget,
    pub(crate) reads: ReadConsistency,
    pub(crate) sharing: SchemaSharing,
    /// True if the target is not a file but SQLite's name for a database in memory.
    pub(crate) is_in_memory: bool,
}

const EXAMPLES: &str = "postgres://user:password@host:5432/database or sqlite://path/to/file.db";

pub(crate) const READS: &str = "DATABASE_READS";

/// The location of a database. It is printed without its password.
#[derive(Clone)]
pub enum DatabaseTarget {
    /// The options for each host of the URL `postgres://user:password@host:5432/database`, in the order of the
    /// URL.
    Postgres(Vec<PgConnectOptions>),
    /// The path of the file in `sqlite://path/to/file`.
    Sqlite(PathBuf),
}

impl DatabaseUrl {
    fn new(setting: &'static str, target: DatabaseTarget) -> Self {
        Self {
            setting,
            target,
            reads: ReadConsistency::default(),
            sharing: SchemaSharing::default(),
            is_in_memory: false,
        }
    }

    /// Parses `value`, which is the setting `name`, or the content of `file`, which the setting `name_FILE`
    /// names. Returns `None` if neither is set. Fails if both are set, or if the URL is invalid.
    pub fn from_setting(
        name: &'static str,
        value: Option<SecretString>,
        file: Option<&Path>,
    ) -> Result<Option<Self>, SettingError> {
        let Some(url) = secret::read(name, value, file)? else {
            return Ok(None);
        };
        let target =
            DatabaseTarget::parse(&url).map_err(|problem| SettingError::new(name, problem))?;
        Ok(Some(Self::new(name, target)))
    }

    /// Does the same as [`Self::from_setting`], but fails if neither setting is set.
    pub fn required(
        name: &'static str,
        value: Option<SecretString>,
        file: Option<&Path>,
    ) -> Result<Self, SettingError> {
        Self::from_setting(name, value, file)?
            .ok_or_else(|| SettingError::new(name, format!("is required, such as {EXAMPLES}")))
    }

    /// Creates the URL of an SQLite file, for a setting whose value is a path and not a URL.
    pub fn from_file(setting: &'static str, file: PathBuf) -> Self {
        // SQLite reads a name that begins with `file:` as a URI, which can request a database in memory.
        let is_uri = file.as_os_str().as_encoded_bytes().starts_with(b"file:");
        let file = if is_uri {
            Path::new(".").join(file)
        } else {
            file
        };
        Self::new(setting, DatabaseTarget::Sqlite(file))
    }

    /// Creates the URL of an SQLite database in memory. The connections of this process share it, and it is
    /// lost when the process ends.
    ///
    /// No setting can request it, because a service would lose everything at each restart. Only
    /// `rolegate-test-server` may call this function: clippy refuses other callers, and the tests
    /// `released_programs` look for the name.
    pub fn in_memory(setting: &'static str) -> Self {
        let target = DatabaseTarget::Sqlite("file:/users?vfs=memdb".into());
        Self {
            is_in_memory: true,
            ..Self::new(setting, target)
        }
    }

    /// Sets which server may answer reads, by `DATABASE_READS`. A quorum is refused for an SQLite file, which
    /// has no standby.
    pub fn with_read_consistency(self, reads: ReadConsistency) -> Result<Self, SettingError> {
        if reads == ReadConsistency::Quorum && self.sqlite_file().is_some() {
            let problem = "quorum requires PostgreSQL with a synchronous standby; use primary";
            return Err(SettingError::new(READS, problem));
        }
        Ok(Self { reads, ..self })
    }

    /// Allows the service to create its tables beside those of other programs, if `SHARE_DATABASE` is on. This
    /// is refused for an SQLite file, which belongs to one service.
    pub fn with_sharing(self, share_database: bool) -> Result<Self, SettingError> {
        if !share_database {
            return Ok(self);
        }
        if self.sqlite_file().is_some() {
            let problem = "requires PostgreSQL; an SQLite file belongs to one service";
            return Err(SettingError::new("SHARE_DATABASE", problem));
        }
        Ok(Self {
            sharing: SchemaSharing::Allowed,
            ..self
        })
    }

    /// Fails unless a command may open this database. `schema` is the result of an inspection, and must be
    /// neither missing nor older.
    ///
    /// A mistyped URL must not create an empty database, and a command must not migrate a schema that a service
    /// may be using.
    pub fn require_current(&self, schema: &Schema) -> Result<(), SettingError> {
        let problem = match schema {
            Schema::Missing { .. } => ": there is no database yet; the first start creates it",
            Schema::Older { .. } => " has an older schema; run migrate first",
            Schema::Current | Schema::Newer => return Ok(()),
        };
        Err(self.invalid(format!("{self}{problem}")))
    }

    /// Returns the name of the file of an SQLite database; `None` for PostgreSQL.
    pub fn sqlite_file(&self) -> Option<&Path> {
        match &self.target {
            DatabaseTarget::Sqlite(file) => Some(file),
            DatabaseTarget::Postgres(_) => None,
        }
    }

    /// Returns whether both URLs lead to the same SQLite file, even by different paths. The file need not
    /// exist.
    pub fn is_same_file_as(&self, other: &Self) -> bool {
        match (self.sqlite_file(), other.sqlite_file()) {
            (Some(one), Some(other)) => same_file(one, other),
            _ => false,
        }
    }

    /// Creates an error about the setting of this URL. Its message is the name of the setting, followed by
    /// `problem`.
    pub fn invalid(&self, problem: impl fmt::Display) -> SettingError {
        SettingError::new(self.setting, problem)
    }
}

impl DatabaseTarget {
    /// Parses a URL. The error says what is valid. It quotes nothing from the URL except known names of
    /// parameters and the paths of TLS files, because any other part may belong to a password.
    pub fn parse(url: &SecretString) -> Result<Self, Cow<'static, str>> {
        let url = url.expose_secret();
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.ends_with('/') || path.contains(may_be_syntax) {
                // A URL without a file would mean a database in memory, which would lose everything at each
                // restart.
                let problem =
                    "must name a file, as in sqlite://path/to/file.db, without parameters";
                return Err(problem.into());
            }
            return Ok(Self::Sqlite(PathBuf::from(path)));
        }
        let after_scheme = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"));
        if let Some(rest) = after_scheme {
            return postgres::parse(rest).map(Self::Postgres);
        }
        Err(format!("must be {EXAMPLES}").into())
    }
}

/// Returns whether SQLite may interpret this character as syntax and not as a part of a path.
fn may_be_syntax(character: char) -> bool {
    matches!(character, ':' | '?' | '%' | '#') || character.is_control()
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
                let addresses: Vec<_> = servers.iter().map(address).collect();
                let database = servers
                    .first()
                    .and_then(PgConnectOptions::get_database)
                    .unwrap_or("(default database)");
                write!(
                    formatter,
                    "PostgreSQL at {}/{database}",
                    addresses.join(",")
                )
            }
            Self::Sqlite(file) => write!(formatter, "SQLite in {}", file.display()),
        }
    }
}

/// Returns the host and the port of a server, as they are printed.
fn address(server: &PgConnectOptions) -> String {
    let host = server.get_host();
    let port = server.get_port();
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

impl fmt::Debug for DatabaseTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::DatabaseTarget;
    use secrecy::SecretString;

    fn parse(url: &str) -> Result<DatabaseTarget, String> {
        DatabaseTarget::parse(&SecretString::from(url)).map_err(Into::into)
    }

    #[test]
    fn url_prints_without_its_password() {
        let url = parse("postgres://rolegate:hunter2@db.example:5433/users").expect("valid");
        assert_eq!(url.to_string(), "PostgreSQL at db.example:5433/users");
        assert!(!format!("{url:?}").contains("hunter2"));
        let url = parse("postgres://rolegate:hunter2@a:1,b/users").expect("valid");
        assert_eq!(format!("{url:?}"), "PostgreSQL at a:1,b:5432/users");
        let url = parse("postgres://rolegate:hunter2@[::1]/users").expect("valid");
        assert_eq!(format!("{url:?}"), "PostgreSQL at [::1]:5432/users");
    }

    #[test]
    fn sqlite_url_names_a_file() {
        for url in ["sqlite://a/b.db", "sqlite:a/b.db"] {
            assert_eq!(parse(url).expect("valid").to_string(), "SQLite in a/b.db");
        }
        assert_eq!(
            parse("sqlite:///a.db").expect("valid").to_string(),
            "SQLite in /a.db"
        );
        for url in [
            "sqlite://",
            "sqlite::memory:",
            "sqlite://:memory:",
            "sqlite://a/",
            "sqlite://a?mode=ro",
            "sqlite://two\nlines",
        ] {
            let error = parse(url).expect_err(url);
            assert!(error.starts_with("must name a file"), "{url}: {error}");
        }
    }

    #[test]
    fn other_urls_are_rejected_without_being_quoted() {
        for url in [
            "",
            "mysql://root:hunter2@db/users",
            "/a/b.db",
            "Postgres://x",
            "postgres:x",
            "postgres:/db/r",
        ] {
            let error = parse(url).expect_err(url);
            let expected =
                "must be postgres://user:password@host:5432/database or sqlite://path/to/file.db";
            assert_eq!(error, expected);
        }
        let error = parse("postgres://db:notaport/x").expect_err("no port");
        let expected =
            "is not a valid PostgreSQL URL; expected postgres://user:password@host:5432/database";
        assert_eq!(error, expected);
    }
}

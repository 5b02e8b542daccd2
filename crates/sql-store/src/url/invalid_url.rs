//! Why a text is not the URL of a database.

/// The parameters that sqlx reads, as libpq names them.
pub(super) const PARAMETERS: [&str; 12] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "application_name",
    "options",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
];

/// A text is not the URL of a supported database. Prints what is valid, never the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// Another scheme, or none.
    #[error("must be postgres://user:password@host:5432/database or sqlite://path/to/file.db")]
    UnknownScheme,
    /// A `postgres://` URL that cannot be parsed.
    #[error("is not a valid PostgreSQL URL; expected postgres://user:password@host:5432/database")]
    InvalidPostgres,
    /// sqlx would ignore the parameter, and a misspelt `sslmode` would mean plain text. Not printed:
    /// it may be part of a password with a question mark.
    #[error("has an unknown parameter; known are {}, and options[NAME]", PARAMETERS.join(", "))]
    UnknownParameter,
    /// Not an `sslmode` of libpq.
    #[error("sslmode must be one of disable, prefer, require, verify-ca and verify-full")]
    SslMode,
    /// The CA would not be used.
    #[error("sslrootcert has no effect with this sslmode; use sslmode=verify-full")]
    UnusedAuthority,
    /// Without host name verification, any certificate of a public CA would be accepted.
    #[error("sslmode=verify-ca requires sslrootcert; for public CAs use sslmode=verify-full")]
    AnyAuthority,
    /// A client certificate without its key, or the reverse.
    #[error("sslcert and sslkey must be set together")]
    HalfIdentity,
    /// A TLS file cannot be used.
    #[error("{parameter}: {problem}")]
    File {
        /// The parameter.
        parameter: &'static str,
        /// Names the path, never the content.
        problem: String,
    },
    /// No file. A database in memory would lose everything at each restart.
    #[error("must name a file, as in sqlite://path/to/file.db, without parameters")]
    InvalidSqlite,
}

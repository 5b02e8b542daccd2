//! Why a text is not the URL of a database.

/// The parameters that sqlx reads, as libpq names them.
pub(super) const PARAMETERS: [&str; 13] = [
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
    TARGET,
];

/// The parameter of libpq that selects among several hosts.
pub(super) const TARGET: &str = "target_session_attrs";

/// A text is not the URL of a supported database. Prints what is valid, never the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// Another scheme, or none.
    #[error("must be postgres://user:password@host:5432/database or sqlite://path/to/file.db")]
    UnknownScheme,
    /// A `postgres://` URL that cannot be parsed.
    #[error("is not a valid PostgreSQL URL; expected postgres://user:password@host:5432/database")]
    InvalidPostgres,
    /// Its end looks like a host or a database, and must not be printed as one.
    #[error(
        "is not a valid PostgreSQL URL: percent-encode the password (/ is %2F, ? is %3F, # is %23, \
         @ is %40), or the name of the database"
    )]
    UnencodedPassword,
    /// sqlx would ignore the parameter, and a misspelt `sslmode` would mean plain text. Not printed:
    /// it may be part of a password with a question mark.
    #[error("has an unknown parameter; known are {}, and options[NAME]", PARAMETERS.join(", "))]
    UnknownParameter,
    /// Not an `sslmode` of libpq.
    #[error("sslmode must be one of disable, prefer, require, verify-ca and verify-full")]
    SslMode,
    /// A standby may be outdated.
    #[error("target_session_attrs must be read-write or primary, because only the primary is used")]
    Target,
    /// Several hosts in a parameter, or a parameter for several hosts.
    #[error(
        "host, hostaddr and port name one server; \
         several are written as postgres://user:password@host1:5432,host2:5432/database"
    )]
    Hosts,
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

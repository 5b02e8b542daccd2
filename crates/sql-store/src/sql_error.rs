//! Classifies the errors of sqlx by what they mean for a caller, such as whether a retry may succeed.

use sqlx::{
    Error, error::DatabaseError as _, migrate::MigrateError, postgres::PgDatabaseError,
    sqlite::SqliteError,
};
use std::io::ErrorKind;
use tokio_rustls::rustls::{self, CertificateError};

// This crate distinguishes these primary result codes of SQLite.
pub(crate) const PERM: i32 = 3;
pub(crate) const BUSY: i32 = 5;
pub(crate) const LOCKED: i32 = 6;
pub(crate) const READONLY: i32 = 8;
pub(crate) const IOERR: i32 = 10;
pub(crate) const FULL: i32 = 13;
pub(crate) const CANTOPEN: i32 = 14;
pub(crate) const AUTH: i32 = 23;
pub(crate) const NOTADB: i32 = 26;

/// The problem of a pooler that shares server connections between clients, such as `PgBouncer` in transaction
/// mode.
///
/// Such a pooler mixes up the state of sessions: prepared statements, timeouts, and the lock of migrations.
pub(crate) const SHARES_SESSIONS: &str = "is behind a connection pooler in transaction or statement mode, such as \
    PgBouncer, which mixes up prepared statements; connect to the server itself, or set \
    pool_mode = session";
const REFUSES_PARAMETERS: &str = "is behind PgBouncer, which refuses startup parameters; connect to \
    the server itself, or set pool_mode = session and \
    ignore_startup_parameters = extra_float_digits,options";

/// Returns the SQLSTATE of an error of PostgreSQL, as listed in appendix A of its manual.
pub(crate) fn postgres_code(error: &Error) -> Option<&str> {
    Some(
        error
            .as_database_error()?
            .try_downcast_ref::<PgDatabaseError>()?
            .code(),
    )
}

/// Returns the primary result code of an error of SQLite, which is the low byte of its code
/// (<https://sqlite.org/rescode.html>).
pub(crate) fn sqlite_code(error: &Error) -> Option<i32> {
    let error = error
        .as_database_error()?
        .try_downcast_ref::<SqliteError>()?;
    Some(error.code()?.parse::<i32>().ok()? & 0xff)
}

/// Returns the error of the statement that failed in a migration. Other errors are returned unchanged.
pub(crate) fn cause(error: &Error) -> &Error {
    let Error::Migrate(failure) = error else {
        return error;
    };
    match &**failure {
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => cause,
        _ => error,
    }
}

/// Returns whether the same statement may succeed if it is repeated later.
pub(crate) fn is_transient(error: &Error) -> bool {
    // The classes are connection (08), authorization (28), resources (53), operator intervention (57, of which
    // 57014 is the statement timeout), and system error (58). The single codes are a standby (25006), a missing
    // database (3D000), and a lock that another session holds for too long (55P03).
    let is_transient_in_postgres = |code: &str| {
        matches!(code, "25006" | "3D000" | "55P03")
            || is_rollback(code)
            || ["08", "28", "53", "57", "58"]
                .iter()
                .any(|class| code.starts_with(class))
    };
    let is_transient_in_sqlite =
        |code| matches!(code, BUSY | LOCKED | READONLY | IOERR | FULL | CANTOPEN);
    match cause(error) {
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed
        | Error::BeginFailed => true,
        error => {
            postgres_code(error).is_some_and(is_transient_in_postgres)
                || sqlite_code(error).is_some_and(is_transient_in_sqlite)
        }
    }
}

/// Returns whether a time limit was exceeded: either one of this program, or the limit that the server has for
/// a statement.
pub(crate) fn is_timeout(error: &Error) -> bool {
    match cause(error) {
        Error::Io(error) => error.kind() == ErrorKind::TimedOut,
        error => postgres_code(error) == Some("57014"),
    }
}

/// Returns whether the server has rolled the transaction back because of a conflict with another transaction,
/// so that it may run again at once.
pub(crate) fn is_rolled_back(error: &Error) -> bool {
    postgres_code(error).is_some_and(is_rollback)
}

/// Returns whether this is the code of a serialization failure or of a deadlock.
fn is_rollback(code: &str) -> bool {
    matches!(code, "40001" | "40P01")
}

/// Describes the problem if the error comes from a pooler; otherwise returns `None`. The description is printed
/// after the name of the database.
pub(crate) fn pooler_problem(error: &Error) -> Option<&'static str> {
    let message = error.as_database_error()?.message();
    match postgres_code(error)? {
        // A prepared statement is missing or already exists, so another client has used the same session.
        "26000" | "42P05" => Some(SHARES_SESSIONS),
        // A prepared statement of another client has the same name and other parameters.
        "08P01" if message.contains("sqlx_s_") => Some(SHARES_SESSIONS),
        "08P01" if message.starts_with("unsupported startup parameter") => Some(REFUSES_PARAMETERS),
        _ => None,
    }
}

/// Returns whether the TLS of the server does not match the URL, so that only another URL or another server
/// would help.
///
/// An expired certificate does not count: the server may renew it, or the clock may be corrected.
pub(crate) fn is_tls_mismatch(error: &Error) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let Error::Io(error) = error else {
        return matches!(error, Error::Tls(_));
    };
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. },
        ))
        | None => false,
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{SHARES_SESSIONS, is_tls_mismatch, pooler_problem};
    use sqlx::{Connection as _, Error, PgConnection};
    use std::io::{self, ErrorKind::InvalidData};
    use tokio_rustls::rustls::{self, CertificateError};

    #[tokio::test]
    async fn prepared_statement_that_another_client_dropped_or_replaced_is_that_of_a_pooler() {
        let database = postgres_cluster::Database::create().await;
        for other_client in [
            "DEALLOCATE ALL",
            "DEALLOCATE ALL; PREPARE sqlx_s_1 AS SELECT 1",
        ] {
            let mut connection = PgConnection::connect(database.url().as_str())
                .await
                .expect("connected");
            let read = || sqlx::query("SELECT $1::bigint").bind(1_i64);
            read().execute(&mut connection).await.expect("read");
            sqlx::raw_sql(other_client)
                .execute(&mut connection)
                .await
                .expect("executed");
            let error = read()
                .execute(&mut connection)
                .await
                .expect_err(other_client);
            assert_eq!(pooler_problem(&error), Some(SHARES_SESSIONS), "{error}");
        }
    }

    fn certificate(error: CertificateError) -> Error {
        Error::Io(io::Error::new(
            InvalidData,
            rustls::Error::InvalidCertificate(error),
        ))
    }

    #[test]
    fn certificate_out_of_its_validity_period_is_not_a_mismatch() {
        for error in [
            certificate(CertificateError::UnknownIssuer),
            certificate(CertificateError::NotValidForName),
            certificate(CertificateError::Revoked),
            Error::Tls("server does not support TLS".into()),
        ] {
            assert!(is_tls_mismatch(&error), "{error}");
        }
        for error in [
            certificate(CertificateError::Expired),
            certificate(CertificateError::NotValidYet),
            Error::Io(io::ErrorKind::ConnectionRefused.into()),
            Error::Io(io::ErrorKind::UnexpectedEof.into()),
            Error::PoolTimedOut,
        ] {
            assert!(!is_tls_mismatch(&error), "{error}");
        }
    }
}

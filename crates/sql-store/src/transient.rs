//! Classifies database errors as transient or permanent.

use sqlx::{Error, error::DatabaseError, migrate::MigrateError};

/// Whether the same statement may succeed later.
pub(crate) fn is_transient(error: &Error) -> bool {
    match cause(error) {
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed
        | Error::BeginFailed => true,
        Error::Database(error) => is_outage(error.as_ref()),
        _ => false,
    }
}

/// The error of the statement at which a migration failed; other errors as they are.
pub(crate) fn cause(error: &Error) -> &Error {
    let Error::Migrate(failure) = error else { return error };
    match &**failure {
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => cause,
        _ => error,
    }
}

fn is_outage(error: &dyn DatabaseError) -> bool {
    let code = error.code().unwrap_or_default();
    if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        // PostgreSQL, appendix A. Connection, authorization, resources, operator intervention
        // (57014 is the statement timeout), system error; a standby; a missing database; a lock that
        // another session holds for too long.
        let classes = ["08", "28", "53", "57", "58"];
        return matches!(&*code, "25006" | "3D000" | "55P03")
            || classes.iter().any(|class| code.starts_with(class));
    }
    // SQLite result codes; the low byte is the primary code: BUSY, LOCKED, READONLY, IOERR, FULL,
    // CANTOPEN.
    code.parse::<i32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 8 | 10 | 13 | 14))
}

//! Result codes of SQLite (<https://sqlite.org/rescode.html>).

use sqlx::sqlite::SqliteError;

pub(crate) const PERM: i32 = 3;
pub(crate) const BUSY: i32 = 5;
pub(crate) const LOCKED: i32 = 6;
pub(crate) const READONLY: i32 = 8;
pub(crate) const IOERR: i32 = 10;
pub(crate) const FULL: i32 = 13;
pub(crate) const CANTOPEN: i32 = 14;
pub(crate) const AUTH: i32 = 23;
pub(crate) const NOTADB: i32 = 26;

/// Whether SQLite found no space, or the file to be read-only, and rolled back.
pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(READONLY | FULL))
}

/// Whether the disk failed in another way.
pub(crate) fn is_disk_failure(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(IOERR | CANTOPEN))
}

/// The low byte of a result code; `None` if the error is not of SQLite.
pub(crate) fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let error = error.as_database_error()?;
    error.try_downcast_ref::<SqliteError>()?;
    Some(error.code()?.parse::<i32>().ok()? & 0xff)
}

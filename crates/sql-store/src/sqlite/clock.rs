//! The clock of an SQLite file: the only row of its table `clock`, which all processes share.
//!
//! The clock exists because the clock of the system may be set back. Until the system boots again, the time of
//! the file is `zero` plus the milliseconds since the boot, whatever happens to the clock of the system.
//! `latest` is a time that the clock has not passed yet. After another boot, the clock begins at `latest`, or
//! at the time of the system if that is later.

use crate::{ColumnValue, uptime::uptime};
use parking_lot::Mutex;
use sqlx::SqliteConnection;
use std::{
    fs,
    sync::{LazyLock, atomic::AtomicBool},
};

/// Determines what happens to the clock of an SQLite file when the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileClock {
    /// The clock is not used, because the tables have none, or because the caller never requests the time.
    Unused,
    /// The clock continues unchanged. Commands use this, because a service may be using the file.
    Keep,
    /// The clock is set forward to the time of this machine if it is behind. A service uses this when it
    /// starts.
    Advance,
}

/// The id of the current boot of the system; `None` on systems that do not identify their boots.
pub(super) static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
});

crate::row! {
    /// The row of the table `clock`. Its times are 0 before the clock is started for the first time.
    #[derive(Debug, Default)]
    pub(super) struct ClockRow {
        pub(super) boot: Option<String>,
        pub(super) zero: i64,
        pub(super) latest: i64,
    }
}

/// The clock of an open file.
#[derive(Debug, Default)]
pub(super) struct CachedClock {
    /// A copy of the row, with which this process computes the time without a statement; `None` until the clock
    /// is started.
    pub(super) row: Mutex<Option<ClockRow>>,
    /// True while a task of this process writes `latest`, and during the pause that follows.
    pub(super) is_writing: AtomicBool,
}

/// Reads a time in Unix milliseconds that the clock of this file has not passed; `None` if the file has no
/// clock.
///
/// Until the system boots again, this is the time of the clock itself. `latest` is ahead of that time and is
/// used only after another boot. If it were used always, each restore would move the clock further ahead.
pub(super) async fn read_latest(connection: &mut SqliteConnection) -> sqlx::Result<Option<i64>> {
    let latest = "SELECT CASE WHEN boot = $1 THEN zero + $2 ELSE latest END FROM clock";
    read(connection, latest).await
}

/// Reads the time of the file in Unix seconds; `None` if the file has no clock, or if no process has started
/// the clock since the boot.
pub(crate) async fn read_time(connection: &mut SqliteConnection) -> sqlx::Result<Option<f64>> {
    let now = "SELECT (zero + $2) / 1000.0 FROM clock WHERE boot = $1";
    read(connection, now).await
}

/// Reads a time with this SQL, in which `$1` is the id of the current boot and `$2` the milliseconds since. Returns
/// `None` if the file has no table for the clock. Files of posts-service have none, nor have those of the first
/// versions of auth-service.
async fn read<T: ColumnValue + Send + Unpin>(
    connection: &mut SqliteConnection,
    sql: &'static str,
) -> sqlx::Result<Option<T>> {
    let exists = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'clock')";
    let has_clock = sqlx::query_scalar(exists).fetch_one(&mut *connection);
    if !has_clock.await? {
        return Ok(None);
    }
    sqlx::query_scalar(sql)
        .bind(BOOT.as_deref())
        .bind(uptime())
        .fetch_optional(connection)
        .await
}

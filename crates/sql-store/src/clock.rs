//! Tells the time of an SQLite file, whose clock is the only row of its table `clock`. All processes share it. This file
//! also has the clocks of the machine on which it is based.
//!
//! The clock exists because the clock of the system may be set back. Until the system boots again, the time of
//! the file is `zero` plus the milliseconds since the boot, whatever happens to the clock of the system.
//! `latest` is a time that the clock has not passed yet. After another boot, the clock begins at `latest`, or
//! at the time of the system if that is later.
//!
//! In the SQL of a statement, `$UPTIME` stands for the milliseconds since the boot, and the expression [`NOW`] gives the
//! time of the clock.
//! [`unix_millis`] is the clock of the machine. The test server calls [`advance_clock`] to move the clocks of all
//! files forward.

use crate::{ColumnValue, StoreError, row::Rows};
use parking_lot::Mutex;
use sqlx::SqliteConnection;
use std::{
    fs,
    sync::{
        LazyLock,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// The number of milliseconds by which `latest` is written ahead of the time.
const RESERVED_MILLIS: i64 = 20_000;

/// A service that starts advances the clock only if it is behind the clock of the system by at least this many
/// milliseconds.
const MIN_ADVANCE_MILLIS: i64 = 1000;

/// A service that starts logs a warning if the clock is ahead of the clock of the system by more than this many
/// milliseconds. A crash leaves the clock ahead by less.
const MAX_AHEAD_MILLIS: i64 = 60_000;

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
static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
});

crate::row! {
    /// The row of the table `clock`. Its times are 0 before the clock is started for the first time.
    #[derive(Debug, Default)]
    pub(crate) struct ClockRow {
        boot: Option<String>,
        zero: i64,
        latest: i64,
    }
}

/// The clock of an open file.
#[derive(Debug, Default)]
pub(crate) struct CachedClock {
    /// A copy of the row, with which this process computes the time without a statement; `None` until the clock
    /// is started.
    row: Mutex<Option<ClockRow>>,
    /// True while a task of this process writes `latest`, and during the pause that follows.
    is_reserving: AtomicBool,
}

impl CachedClock {
    /// Returns the time in Unix seconds. Fails if the clock was not started.
    ///
    /// When half of the reserved time is used, calls `start_reservation`. It must start a task that calls [`reserve`]
    /// and then [`Self::end_reservation`].
    pub(crate) fn now(&self, start_reservation: impl FnOnce()) -> Result<u64, StoreError> {
        let row = self.row.lock();
        let Some(ClockRow { zero, latest, .. }) = *row else {
            let error = sqlx::Error::Protocol("the file was opened without a clock".to_owned());
            return Err(StoreError::Failed(error.into()));
        };
        drop(row);
        let now = zero + uptime();
        let is_due = now > latest - RESERVED_MILLIS / 2;
        if is_due && !self.is_reserving.swap(true, Relaxed) {
            start_reservation();
        }
        Ok(u64::try_from(now / 1000).unwrap_or(0))
    }

    /// Starts the clock as `clock` says. Writes its row if the system has booted since the last start or does
    /// not identify its boots, or if the clock must be advanced. Logs a warning if the clock of a starting
    /// service is far ahead.
    pub(crate) async fn start(
        &self,
        clock: FileClock,
        writer: &mut SqliteConnection,
    ) -> sqlx::Result<()> {
        let advances = clock == FileClock::Advance;
        let select = sqlx::query("SELECT boot, zero, latest FROM clock");
        let found = Rows::Sqlite(select.fetch_all(&mut *writer).await?);
        let stored: ClockRow = found.decode()?.pop().unwrap_or_default();
        let is_same_boot = BOOT.is_some() && stored.boot == *BOOT;
        let time = if is_same_boot {
            stored.zero + uptime()
        } else {
            stored.latest
        };
        let behind = unix_millis() - time;
        if advances && behind < -MAX_AHEAD_MILLIS {
            tracing::warn!(
                "the clock of the SQLite file is {} seconds ahead of the clock of this machine; if the \
                 machine is right, see Clocks in docs/backup-and-recovery.md",
                -behind / 1000
            );
        }
        let row = if is_same_boot && (!advances || behind < MIN_ADVANCE_MILLIS) {
            Some(stored)
        } else {
            write_zero(time + behind.max(0) - uptime(), writer).await?
        };
        *self.row.lock() = row;
        Ok(())
    }

    /// Replaces the cached row by a row that [`reserve`] has written and its transaction has committed.
    pub(crate) fn replace_row(&self, row: ClockRow) {
        *self.row.lock() = Some(row);
    }

    /// Lets a later call of [`Self::now`] start a reservation again.
    pub(crate) fn end_reservation(&self) {
        self.is_reserving.store(false, Relaxed);
    }
}

/// Writes the time at which the uptime was zero, and returns the row. If several processes start at once, each of them
/// writes the time, and the greatest value is kept.
async fn write_zero(zero: i64, writer: &mut SqliteConnection) -> sqlx::Result<Option<ClockRow>> {
    let sql = "INSERT INTO clock (id, boot, zero) VALUES (1, $1, $2)
        ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, zero = CASE
            WHEN boot = excluded.boot THEN max(zero, excluded.zero) ELSE excluded.zero END
        RETURNING boot, zero, latest";
    let write = sqlx::query(sql).bind(BOOT.as_deref()).bind(zero);
    let written = Rows::Sqlite(write.fetch_all(writer).await?);
    Ok(written.decode()?.pop())
}

/// Writes a new `latest`, which the clock may then reach. Returns the row, because another process may have advanced the
/// clock.
pub(crate) async fn reserve(writer: &mut SqliteConnection) -> sqlx::Result<Option<ClockRow>> {
    let sql = "UPDATE clock SET latest = max(latest, zero + $1 + $2) RETURNING boot, zero, latest";
    let update = sqlx::query(sql).bind(uptime()).bind(RESERVED_MILLIS);
    let written = Rows::Sqlite(update.fetch_all(writer).await?);
    Ok(written.decode()?.pop())
}

/// Reads a time in Unix milliseconds that the clock of this file has not passed; `None` if the file has no
/// clock.
///
/// Until the system boots again, this is the time of the clock itself. `latest` is ahead of that time and is
/// used only after another boot. If it were used always, each restore would move the clock further ahead.
pub(crate) async fn read_latest(connection: &mut SqliteConnection) -> sqlx::Result<Option<i64>> {
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

/// A mark in the text of a statement. When the statement runs, a placeholder for [`uptime`] replaces it.
pub(crate) const UPTIME: &str = "$UPTIME";
/// An SQL expression for the time of the file's clock in Unix seconds.
pub(crate) const NOW: &str = "(SELECT (zero + $UPTIME) / 1000 FROM clock)";

/// The milliseconds by which the time namespace of this process (`time_namespaces(7)`) moves the time since the
/// boot. They are subtracted, because processes in other namespaces share the row of the clock.
static BOOT_OFFSET: LazyLock<i64> = LazyLock::new(|| {
    let offsets = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    boot_offset(&offsets).unwrap_or(0)
});

fn boot_offset(offsets: &str) -> Option<i64> {
    let mut fields = offsets
        .lines()
        .find_map(|line| line.strip_prefix("boottime"))?
        .split_whitespace();
    let seconds: i64 = fields.next()?.parse().ok()?;
    let nanoseconds: i64 = fields.next()?.parse().ok()?;
    Some(seconds * 1000 + nanoseconds / 1_000_000)
}

/// The milliseconds by which [`advance_clock`] has moved the clock. They are zero in every program but
/// `rolegate-test-server`, because nothing else calls the function.
static ADVANCED: AtomicI64 = AtomicI64::new(0);

/// Moves the clock of every SQLite database of this process forward by this many seconds.
///
/// Only `rolegate-test-server` may call this function, and clippy refuses other callers. The linker leaves the
/// function out of a program that does not call it, whatever else the same build contains. A feature of this
/// crate could not promise that, because Cargo builds one `rolegate-sql-store` for all programs of a build. The
/// tests `released_programs` look for the text of the log line.
pub fn advance_clock(seconds: u32) {
    tracing::info!(seconds, "rolegate-test-clock advanced");
    ADVANCED.fetch_add(i64::from(seconds) * 1000, Relaxed);
}

/// Returns the milliseconds since the boot, including those in which the machine was suspended.
///
/// On systems other than Linux, returns the Unix time instead. All processes that share a file count from the
/// same moment, even if they cannot identify the boot.
pub(crate) fn uptime() -> i64 {
    #[cfg(target_os = "linux")]
    let time = if cfg!(simulation) {
        unix_millis()
    } else {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000 - *BOOT_OFFSET
    };
    #[cfg(not(target_os = "linux"))]
    let time = unix_millis();
    time + ADVANCED.load(Relaxed)
}

/// Returns the time of the machine's clock in milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[expect(clippy::disallowed_methods, reason = "where a clock begins")]
pub fn unix_millis() -> i64 {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let time = time.as_millis().try_into().unwrap_or(0);
    #[cfg(simulation)]
    let time = crate::simulated::stepped_time(time);
    time
}

#[cfg(test)]
mod tests {
    use super::boot_offset;

    #[test]
    fn a_time_namespace_moves_the_time_since_the_boot() {
        let offsets = "monotonic           0         0\nboottime         7200 500000000\n";
        assert_eq!(boot_offset(offsets), Some(7_200_500));
        assert_eq!(boot_offset("boottime       -60         0\n"), Some(-60_000));
        assert_eq!(["", "boottime", "boottime x 0"].map(boot_offset), [None; 3]);
    }
}

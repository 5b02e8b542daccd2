//! Tells the time of an open file, and keeps `latest` in the row of its clock ahead of that time.

use super::Pools;
use crate::{
    StoreError,
    row::Rows,
    sqlite::clock::{BOOT, ClockRow, FileClock},
    uptime::{unix_millis, uptime},
};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};

/// The number of milliseconds by which `latest` is written ahead of the time.
const RESERVED_MILLIS: i64 = 20_000;
/// The pause between two writes of `latest`.
const RESERVE_INTERVAL: Duration = Duration::from_secs(5);

/// A service that starts advances the clock only if it is behind the clock of the system by at least this many
/// milliseconds.
const MIN_ADVANCE_MILLIS: i64 = 1000;

/// A service that starts logs a warning if the clock is ahead of the clock of the system by more than this many
/// milliseconds. A crash leaves the clock ahead by less.
const MAX_AHEAD_MILLIS: i64 = 60_000;

impl Pools {
    /// Returns the time in Unix seconds. Fails if the clock was not started. When half of the reserved time is
    /// used, a task starts that writes a new `latest`.
    pub(crate) fn now(&self) -> Result<u64, StoreError> {
        let row = self.clock.row.lock();
        let Some(ClockRow { zero, latest, .. }) = *row else {
            let error = sqlx::Error::Protocol("the file was opened without a clock".to_owned());
            return Err(StoreError::Failed(error.into()));
        };
        drop(row);
        let now = zero + uptime();
        let is_due = now > latest - RESERVED_MILLIS / 2;
        if is_due && !self.clock.is_writing.swap(true, Relaxed) {
            let pools = self.clone();
            tokio::spawn(async move {
                pools.reserve().await;
                tokio::time::sleep(RESERVE_INTERVAL).await;
                pools.clock.is_writing.store(false, Relaxed);
            });
        }
        Ok(u64::try_from(now / 1000).unwrap_or(0))
    }

    /// Starts the clock as `clock` says. Writes its row if the system has booted since the last start or does
    /// not identify its boots, or if the clock must be advanced. Logs a warning if the clock of a starting
    /// service is far ahead.
    pub(crate) async fn start_clock(&self, clock: FileClock) -> sqlx::Result<()> {
        if clock == FileClock::Unused {
            return Ok(());
        }
        let advances = clock == FileClock::Advance;
        let select = sqlx::query("SELECT boot, zero, latest FROM clock");
        let mut reader = self.readers.acquire().await?;
        let found = Rows::Sqlite(select.fetch_all(&mut *reader).await?);
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
        if is_same_boot && (!advances || behind < MIN_ADVANCE_MILLIS) {
            *self.clock.row.lock() = Some(stored);
            return Ok(());
        }
        self.write_zero(time + behind.max(0) - uptime()).await
    }

    /// Writes the time at which the uptime was zero. If several processes start at once, each of them writes
    /// it, and the greatest value is kept.
    async fn write_zero(&self, zero: i64) -> sqlx::Result<()> {
        let sql = "INSERT INTO clock (id, boot, zero) VALUES (1, $1, $2)
            ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, zero = CASE
                WHEN boot = excluded.boot THEN max(zero, excluded.zero) ELSE excluded.zero END
            RETURNING boot, zero, latest";
        let write = sqlx::query(sql).bind(BOOT.as_deref()).bind(zero);
        let mut writer = self.writer.acquire().await?;
        let written = Rows::Sqlite(write.fetch_all(&mut *writer).await?);
        *self.clock.row.lock() = written.decode()?.pop();
        Ok(())
    }

    /// Writes `latest`, which the clock may then reach, and updates the cached clock, which another process may
    /// have advanced. A failure is not handled here: [`Pools::write`] records it, and a later call of
    /// [`Pools::now`] tries again.
    async fn reserve(&self) {
        let sql =
            "UPDATE clock SET latest = max(latest, zero + $1 + $2) RETURNING boot, zero, latest";
        let update = sqlx::query(sql).bind(uptime()).bind(RESERVED_MILLIS);
        let written = self.write(|writer| {
            Box::pin(async move { Rows::Sqlite(update.fetch_all(writer).await?).decode() })
        });
        if let Some(row) = written.await.unwrap_or_default().pop() {
            *self.clock.row.lock() = Some(row);
        }
    }
}

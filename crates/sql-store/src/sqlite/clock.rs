//! The clock of an SQLite file: the only row of its table `clock`, which all processes share.
//!
//! Within one boot of the system the time is `zero` and the milliseconds since the boot, whatever
//! happens to the clock of the system. `latest` is a time that the clock has not passed: after another
//! boot it begins there, or at the time of the system if that is later.

use super::pools::{Clock, Pools};
use crate::{
    StoreError,
    uptime::{unix_millis, uptime},
};
use sqlx::SqliteConnection;
use std::{
    fs,
    sync::{LazyLock, atomic::Ordering::Relaxed},
    time::Duration,
};

/// How far ahead `latest` is written, in milliseconds, and the pause between writes.
const RESERVED: i64 = 20_000;
const PAUSE: Duration = Duration::from_secs(5);

/// The difference between the clocks of the file and of the system for which a start writes nothing,
/// in milliseconds.
const TOLERANCE: i64 = 1000;

/// A start warns of a clock of the file that is further ahead of the system's, in milliseconds. A crash
/// leaves less.
const AHEAD: i64 = 60_000;

/// The boot of the system; `None` where it cannot be told from others.
static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    cfg!(target_os = "linux").then(|| id.trim().to_owned())
});

/// What opening an SQLite file does with its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileClock {
    /// The clock is not used: the tables have none, or nobody asks for the time.
    Unused,
    /// The clock goes on as it is. A command does this, because a service may be using the file.
    Keep,
    /// The clock is set forward to the time of this machine, as the start of a service does.
    Advance,
}

impl Pools {
    /// The time in Unix seconds. Fails if the clock was not started.
    pub(crate) fn now(&self) -> Result<u64, StoreError> {
        let clock = self.clock.get().ok_or_else(|| {
            let error = sqlx::Error::Protocol("the file was opened without a clock".to_owned());
            StoreError::Failed(error.into())
        })?;
        let now = clock.zero.load(Relaxed) + uptime();
        let is_due = now > clock.latest.load(Relaxed) - RESERVED / 2;
        if is_due && !clock.is_writing.swap(true, Relaxed) {
            let pools = self.clone();
            tokio::spawn(async move {
                pools.reserve().await;
                tokio::time::sleep(PAUSE).await;
                if let Some(clock) = pools.clock.get() {
                    clock.is_writing.store(false, Relaxed);
                }
            });
        }
        Ok(u64::try_from(now / 1000).unwrap_or(0))
    }

    /// Starts the clock. Writes its row after another boot, and if the clock is advanced.
    pub(crate) async fn start_clock(&self, clock: FileClock) -> sqlx::Result<()> {
        let advances = match clock {
            FileClock::Unused => return Ok(()),
            FileClock::Keep => false,
            FileClock::Advance => true,
        };
        let select = sqlx::query_as("SELECT boot, zero, latest FROM clock");
        let stored: Option<(Option<String>, i64, i64)> =
            select.fetch_optional(&self.readers).await?;
        let (boot, zero, latest) = stored.unwrap_or_default();
        let is_same_boot = BOOT.is_some() && boot == *BOOT;
        let stored = if is_same_boot {
            zero + uptime()
        } else {
            latest
        };
        let behind = unix_millis() - stored;
        if advances && behind < -AHEAD {
            tracing::warn!(
                "the clock of the SQLite file is {} seconds ahead of this machine's; if that of the machine \
                 is right, see Clocks in docs/backup-and-recovery.md",
                -behind / 1000
            );
        }
        if is_same_boot && (!advances || behind < TOLERANCE) {
            self.set_clock((zero, latest));
            return Ok(());
        }
        // Of processes that start at once, each would write; the latest time counts.
        let sql = "INSERT INTO clock (id, boot, zero) VALUES (1, $1, $2)
            ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, zero = CASE
                WHEN boot = excluded.boot THEN max(zero, excluded.zero) ELSE excluded.zero END
            RETURNING zero, latest";
        let zero = stored + behind.max(0) - uptime();
        let write = sqlx::query_as(sql).bind(BOOT.as_deref()).bind(zero);
        for row in write.fetch_all(&self.writer).await? {
            self.set_clock(row);
        }
        Ok(())
    }

    /// Writes how far the clock may come, and reads whether another process has advanced it. A failure
    /// has been noted, and a later read tries again.
    async fn reserve(&self) {
        let sql = "UPDATE clock SET latest = max(latest, zero + $1 + $2) RETURNING zero, latest";
        let update = sqlx::query_as(sql).bind(uptime()).bind(RESERVED);
        let rows = self
            .write(|writer| Box::pin(update.fetch_all(writer)))
            .await;
        for row in rows.into_iter().flatten() {
            self.set_clock(row);
        }
    }

    fn set_clock(&self, (zero, latest): (i64, i64)) {
        let clock = self.clock.get_or_init(Clock::default);
        clock.zero.store(zero, Relaxed);
        clock.latest.store(latest, Relaxed);
    }
}

/// A time in Unix milliseconds that the clock of this file has not passed; `None` if it has none.
///
/// Within the boot that wrote the row, this is the time of the clock itself. `latest`, which lies ahead of it, serves only
/// after another boot: otherwise each restore would move the clock ahead once more.
pub(super) async fn latest(connection: &mut SqliteConnection) -> sqlx::Result<Option<i64>> {
    if !has_clock(connection).await? {
        return Ok(None);
    }
    let latest = "SELECT CASE WHEN boot = $1 THEN zero + $2 ELSE latest END FROM clock";
    let latest = sqlx::query_scalar(latest)
        .bind(BOOT.as_deref())
        .bind(uptime());
    latest.fetch_optional(connection).await
}

/// Whether the file has a table for it: not one of the first versions.
async fn has_clock(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    let exists = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'clock')";
    sqlx::query_scalar(exists).fetch_one(connection).await
}

/// The time of the file in Unix seconds; `None` if no process has used it since the boot.
pub(crate) async fn read(connection: &mut SqliteConnection) -> sqlx::Result<Option<f64>> {
    if !has_clock(connection).await? {
        return Ok(None);
    }
    let now = "SELECT (zero + $2) / 1000.0 FROM clock WHERE boot = $1";
    let now = sqlx::query_scalar(now).bind(BOOT.as_deref()).bind(uptime());
    now.fetch_optional(connection).await
}

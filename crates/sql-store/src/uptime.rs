//! The clocks that the clock of an SQLite file is based on.
//!
//! `uptime` is the time since the boot of the system. In the SQL of a statement, `UPTIME` stands for it, and
//! `NOW` for the time of the clock. [`unix_millis`] is the clock of the machine. The test server calls
//! [`advance_clock`] to move `uptime` forward.

use std::{
    fs,
    sync::{
        LazyLock,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

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

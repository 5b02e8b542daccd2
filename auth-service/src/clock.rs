//! The clock, passed in so that tests of expiry need not sleep.

use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// Seconds since 1970-01-01T00:00:00Z, without leap seconds (RFC 7519, `NumericDate`).
    fn unix_seconds(&self) -> u64;
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only reader of the system clock")]
    fn unix_seconds(&self) -> u64 {
        // Before 1970 every token would be valid; u64::MAX makes all of them expired.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |time| time.as_secs())
    }
}

/// A clock that tests set.
#[cfg(test)]
pub(crate) struct ManualClock(std::sync::atomic::AtomicU64);

#[cfg(test)]
impl ManualClock {
    pub(crate) fn at(unix_seconds: u64) -> Self {
        Self(unix_seconds.into())
    }

    pub(crate) fn set(&self, unix_seconds: u64) {
        self.0.store(unix_seconds, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Clock for ManualClock {
    fn unix_seconds(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

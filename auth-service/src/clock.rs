//! What time it is. Passed in, so that expiry is tested without waiting for it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Seconds since 1970-01-01T00:00:00Z, without leap seconds (RFC 7519, `NumericDate`).
    fn unix_seconds(&self) -> u64;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn unix_seconds(&self) -> u64 {
        // A clock before 1970 would make every token look good; none is, at the end of time.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |time| time.as_secs())
    }
}

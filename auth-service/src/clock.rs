//! The clock of the system, for `doctor`. Tokens and keys are judged by the clock of the database.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970-01-01T00:00:00Z, without leap seconds.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "doctor compares it with the database")]
pub fn system_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

//! The clock of the machine, for the times of posts.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
pub fn unix_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

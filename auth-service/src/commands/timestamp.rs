//! Formats times from the database for operators.

use humantime::format_rfc3339_seconds;
use rolegate_proto::time::END_OF_9999;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Converts Unix seconds from the database. A person may have written any number into a table, so a
/// time out of range becomes the nearest time that can be formatted.
pub(super) fn system_time(at: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(at.clamp(0, END_OF_9999).cast_unsigned())
}

/// Formats Unix seconds as RFC 3339, without fractions of a second.
pub(super) fn rfc3339(at: i64) -> String {
    format_rfc3339_seconds(system_time(at)).to_string()
}

/// Formats an optional time, in Unix seconds, as RFC 3339. Returns `-` for `None`.
pub(super) fn rfc3339_or_dash(at: Option<u64>) -> String {
    match at {
        Some(at) => rfc3339(at.try_into().unwrap_or(i64::MAX)),
        None => "-".to_owned(),
    }
}

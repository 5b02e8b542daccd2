//! Formats times from the database for operators.

use humantime::format_rfc3339_seconds;
use rolegate_proto::time::{END_OF_9999, ceil_seconds, parse_rfc3339_or_date};
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

/// Parses a time in the format of RFC 3339, or a date, which means its beginning in UTC. Returns Unix seconds, of which
/// a fraction is rounded up, so that filters by the time and by the seconds select the same.
pub(super) fn parse_time(text: &str) -> Result<i64, &'static str> {
    let invalid = "must be a time such as 2026-12-04T17:00:00Z, or a date such as 2026-12-04";
    let time = parse_rfc3339_or_date(text).ok_or(invalid)?;
    Ok(ceil_seconds(time.into()))
}

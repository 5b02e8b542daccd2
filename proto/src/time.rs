//! Reads times: `google.protobuf.Timestamp` from messages, and RFC 3339 from JSON.

use prost_types::Timestamp;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second of the year 9999, which is the last year that RFC 3339 can express, in Unix seconds.
pub const END_OF_9999: i64 = 253_402_300_799;

/// The time from 1970 to the end of the year 9999.
const YEAR_10000: Duration = Duration::from_secs(END_OF_9999.cast_unsigned() + 1);

/// Returns the time in a message, or `None` if it is missing or RFC 3339 cannot express it.
#[must_use]
pub fn from_message(timestamp: Option<Timestamp>) -> Option<SystemTime> {
    let time = SystemTime::try_from(timestamp?).ok()?;
    if !(UNIX_EPOCH..UNIX_EPOCH + YEAR_10000).contains(&time) {
        return None;
    }
    Some(time)
}

/// Parses a time in the format of RFC 3339, section 5.6, which may be before 1970. Returns `None` for any other
/// text.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    // `Timestamp` also accepts a date alone, a space in place of `T`, and other forms of offsets, which RFC
    // 3339 does not allow.
    let has_t = matches!(text.as_bytes().get(10), Some(b'T' | b't'));
    let has_offset = text.ends_with(['Z', 'z'])
        || matches!(text.as_bytes(), [.., b'+' | b'-', _, _, b':', _, _]);
    if !has_t || !has_offset || text.contains(' ') {
        return None;
    }
    let timestamp: Timestamp = text.parse().ok()?;
    timestamp.try_into().ok()
}

/// Parses a time in the format of RFC 3339, or a date such as `2026-03-01`, which means its beginning in UTC. Returns
/// `None` for any other text.
#[must_use]
pub fn parse_rfc3339_or_date(text: &str) -> Option<SystemTime> {
    const DATE_LENGTH: usize = 10;
    if text.len() == DATE_LENGTH {
        return parse_rfc3339(&format!("{text}T00:00:00Z"));
    }
    parse_rfc3339(text)
}

/// Returns the first whole second that is not before this time, in Unix seconds. Stored times are whole seconds, so they
/// are before the result exactly if they are before the time.
#[must_use]
pub fn ceil_seconds(time: Timestamp) -> i64 {
    time.seconds.saturating_add(i64::from(time.nanos > 0))
}

#[cfg(test)]
mod tests;

//! Times: `google.protobuf.Timestamp` in messages, RFC 3339 in JSON.

use prost_types::Timestamp;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// From 1970 to the end of the year 9999, the last that RFC 3339 can express: 2,932,897 days.
const YEAR_10000: Duration = Duration::from_hours(70_389_528);

/// The time in a message; `None` if it is missing or cannot be shown.
#[must_use]
pub fn from_message(timestamp: Option<Timestamp>) -> Option<SystemTime> {
    let time = SystemTime::try_from(timestamp?).ok()?;
    (UNIX_EPOCH..UNIX_EPOCH + YEAR_10000).contains(&time).then_some(time)
}

/// A time of RFC 3339, section 5.6, of any year.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    // `Timestamp` also reads a date alone, a space for `T`, and offsets of other forms.
    let has_t = text.as_bytes().get(10).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'T'));
    let has_offset = text.ends_with(['Z', 'z'])
        || matches!(text.as_bytes(), [.., b'+' | b'-', _, _, b':', _, _]);
    let timestamp: Timestamp = text.parse().ok()?;
    (has_t && has_offset && !text.contains(' ')).then(|| timestamp.try_into().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{from_message, parse_rfc3339};
    use prost_types::Timestamp;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_that_cannot_be_shown_are_none() {
        let time = |seconds| from_message(Some(Timestamp { seconds, nanos: 1_000_000 }));
        assert_eq!(time(1), Some(UNIX_EPOCH + Duration::from_millis(1001)));
        assert!(time(253_402_300_799).is_some());
        for seconds in [-1, 253_402_300_800, i64::MAX] {
            assert_eq!(time(seconds), None, "{seconds}");
        }
        assert_eq!(from_message(None), None);
    }

    #[test]
    fn times_of_rfc_3339_are_read_with_every_offset() {
        let time = UNIX_EPOCH + Duration::from_hours(525_960);
        for text in [
            "2030-01-01T00:00:00Z",
            "2030-01-01t00:00:00z",
            "2030-01-01T00:00:00.000Z",
            "2030-01-01T00:00:00+00:00",
            "2030-01-01T00:00:00-00:00",
            "2030-01-01T05:30:00+05:30",
            "2029-12-31T16:00:00.000-08:00",
        ] {
            assert_eq!(parse_rfc3339(text), Some(time), "{text}");
        }
        let before_1970 = parse_rfc3339("1969-12-31T23:59:58Z");
        assert_eq!(before_1970, Some(UNIX_EPOCH - Duration::from_secs(2)));
    }

    #[test]
    fn anything_else_is_no_time() {
        for text in [
            "",
            "Z",
            "+00:00",
            "tomorrow",
            "1893456000",
            "2030-01-01",
            "2030-01-01T00:00:00",
            "2030-01-01 00:00:00Z",
            "2030-01-01T00:00:00 Z",
            "2030-02-30T00:00:00Z",
            "2030-01-01T24:00:00Z",
            "2030-01-01T00:00:00+24:00",
            "2030-01-01T00:00:00+0000",
            "2030-01-01T00:00:00+00",
            "2030-01-01T00:00:00*00:00",
            "2030-01-01T00:00:00++0:00",
            "2030-01-01T00:00:00\u{661}00:00",
            "2030-01-01T00:00:0\u{e9}+00:00",
            "+02030-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text:?}");
        }
    }
}

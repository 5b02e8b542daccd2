use super::{from_message, parse_rfc3339};
use prost_types::Timestamp;
use std::time::{Duration, UNIX_EPOCH};

#[test]
fn times_that_cannot_be_shown_are_none() {
    let time = |seconds| {
        from_message(Some(Timestamp {
            seconds,
            nanos: 1_000_000,
        }))
    };
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

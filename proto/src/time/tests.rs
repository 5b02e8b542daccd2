use super::{ceil_seconds, from_message, parse_rfc3339, parse_rfc3339_or_date};
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

#[test]
fn a_fraction_of_a_second_is_rounded_up() {
    for (seconds, nanos, rounded) in [
        (7, 0, 7),
        (7, 1, 8),
        (-7, 999_999_999, -6),
        (i64::MAX, 1, i64::MAX),
    ] {
        assert_eq!(ceil_seconds(Timestamp { seconds, nanos }), rounded);
    }
}

#[test]
fn a_date_means_its_beginning_in_utc() {
    let beginning = parse_rfc3339("2026-03-01T00:00:00Z");
    assert!(beginning.is_some());
    assert_eq!(parse_rfc3339_or_date("2026-03-01"), beginning);
    assert_eq!(
        parse_rfc3339_or_date("2026-03-01T01:00:00+01:00"),
        beginning
    );
    for text in [
        "",
        "2026-3-1",
        "2026-02-30",
        "01.03.2026",
        "2026-03-01T00:00:00",
        "2026-03-é",
    ] {
        assert_eq!(parse_rfc3339_or_date(text), None, "{text}");
    }
}

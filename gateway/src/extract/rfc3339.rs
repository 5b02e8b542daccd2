//! Times in request bodies: RFC 3339.

use humantime::parse_rfc3339;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;
use std::time::{Duration, SystemTime};

/// The time in the field `name`. Rejects with 400.
pub(crate) fn parse_field(name: &str, text: &str) -> Result<SystemTime, ApiError> {
    parse(text).ok_or_else(|| {
        let example = "2030-01-31T00:00:00Z";
        let detail = format!("Field \"{name}\" must be a time in RFC 3339, such as {example}.");
        ApiError::http(HttpReason::FieldInvalid, detail)
    })
}

/// RFC 3339, section 5.6. `humantime` knows UTC only; libraries also write it as `+00:00`.
fn parse(text: &str) -> Option<SystemTime> {
    let upper = text.to_ascii_uppercase();
    if let Ok(time) = parse_rfc3339(&upper) {
        return Some(time);
    }
    let (local, offset) = upper.split_at_checked(upper.len().checked_sub(6)?)?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let number = |digits: &str, limit: u64| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|&number| is_number && number < limit)
    };
    let offset = Duration::from_mins(number(hours, 24)? * 60 + number(minutes, 60)?);
    let local = parse_rfc3339(&format!("{local}Z")).ok()?;
    match sign {
        "+" => local.checked_sub(offset),
        "-" => local.checked_add(offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::{Duration, UNIX_EPOCH};

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
            assert_eq!(parse(text), Some(time), "{text}");
        }
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
            "2030-02-30T00:00:00Z",
            "2030-01-01T24:00:00Z",
            "2030-01-01T00:00:00+24:00",
            "2030-01-01T00:00:00+0000",
            "2030-01-01T00:00:00*00:00",
            "2030-01-01T00:00:00++0:00",
            "2030-01-01T00:00:00\u{661}00:00",
            "2030-01-01T00:00:0\u{e9}+00:00",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}

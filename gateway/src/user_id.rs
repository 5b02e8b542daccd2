//! The path parameter `user_id`.

use auth_client::axum::Problem;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

/// The id of a user in the path: an optional sign and ASCII digits. Rejects with 400.
///
/// Handlers that read a body take it as `Result<UserId, Problem>` and look into it after the body,
/// so that the answers keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserId(pub(crate) i64);

/// No user has this id: ids start at 1.
const NOBODY: i64 = 0;

impl<S: Send + Sync> FromRequestParts<S> for UserId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // Rejected where the segment is not UTF-8.
        let segment = Path::<String>::from_request_parts(parts, state).await.ok();
        segment
            .and_then(|Path(segment)| parse(&segment))
            .ok_or_else(|| Problem::bad_request("Path parameter \"user_id\" must be an integer."))
    }
}

fn parse(segment: &str) -> Option<UserId> {
    let digits = segment.strip_prefix(['+', '-']).unwrap_or(segment);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // An integer that is too large to be an id is an integer still: auth-service says in its turn
    // that nobody has it.
    Some(UserId(segment.parse().unwrap_or(NOBODY)))
}

#[cfg(test)]
mod tests {
    use super::{UserId, parse};

    #[test]
    fn an_optional_sign_and_digits_are_an_integer() {
        for (segment, id) in [("7", 7), ("+7", 7), ("-7", -7), ("0", 0), ("-0", 0), ("007", 7)] {
            assert_eq!(parse(segment), Some(UserId(id)), "{segment}");
        }
        assert_eq!(parse("9223372036854775807"), Some(UserId(i64::MAX)));
    }

    #[test]
    fn an_integer_beyond_every_id_is_nobody_s() {
        for segment in ["9223372036854775808", "-9223372036854775809", &"9".repeat(30)] {
            assert_eq!(parse(segment), Some(UserId(0)), "{segment}");
        }
    }

    #[test]
    fn everything_else_is_no_integer() {
        for segment in ["", "+", "-", "abc", "1.5", "1e3", "0x1", " 1", "1 ", "--1", "+-1", "1_0"] {
            assert_eq!(parse(segment), None, "{segment:?}");
        }
        for segment in ["٣", "１", "1\0", "/"] {
            assert_eq!(parse(segment), None, "{segment:?}");
        }
    }
}

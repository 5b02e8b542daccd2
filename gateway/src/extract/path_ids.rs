//! Reads the ids in a path such as `/users/{user_id}/keys/{key_id}`.

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams};
use http::request::Parts;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;
use serde::de::{DeserializeOwned, value::Error, value::MapDeserializer};

/// The id that stands for an integer beyond the range of ids. Ids start at 1, so no row has it.
const NO_SUCH_ID: i64 = 0;

/// The ids in the path of an endpoint, as a struct with a field for each id. The extractor rejects with 400 the first
/// id in the path that is not an integer, even if the struct has no field for it.
pub(crate) struct PathIds<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for PathIds<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Ok(segments) = RawPathParams::from_request_parts(parts, state).await else {
            // A segment is not UTF-8. The error names the first id, whichever segment is wrong.
            return Err(not_an_integer(first_id(parts)));
        };
        let mut ids = Vec::new();
        for (name, segment) in &segments {
            let id = parse_id(segment).ok_or_else(|| not_an_integer(name))?;
            ids.push((name, id));
        }
        let ids = T::deserialize(MapDeserializer::<_, Error>::new(ids.into_iter()));
        Ok(Self(ids.expect("the path has the ids of the struct")))
    }
}

/// Returns the name of the first id in the template of the route.
fn first_id(parts: &Parts) -> &str {
    let route = parts.extensions.get::<MatchedPath>();
    let template = route.map_or("", MatchedPath::as_str);
    template.split(['{', '}']).nth(1).unwrap_or_default()
}

fn not_an_integer(name: &str) -> ApiError {
    let detail = format!("Path parameter \"{name}\" must be an integer.");
    ApiError::http(HttpReason::PathInvalid, detail)
}

/// Parses an integer, and returns `None` if the segment is not one. An integer beyond the range of ids becomes
/// [`NO_SUCH_ID`], so that the request fails with 404, like one for any other id that no row has.
fn parse_id(segment: &str) -> Option<i64> {
    let digits = segment.strip_prefix(['+', '-']).unwrap_or(segment);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(segment.parse().unwrap_or(NO_SUCH_ID))
}

#[cfg(test)]
mod tests {
    use super::{NO_SUCH_ID, parse_id};

    #[test]
    fn integer_is_an_optional_sign_and_digits() {
        for (segment, id) in [
            ("7", 7),
            ("+7", 7),
            ("-7", -7),
            ("0", 0),
            ("-0", 0),
            ("007", 7),
        ] {
            assert_eq!(parse_id(segment), Some(id), "{segment}");
        }
        assert_eq!(parse_id("9223372036854775807"), Some(i64::MAX));
    }

    #[test]
    fn integer_out_of_range_is_an_id_that_does_not_exist() {
        for segment in [
            "9223372036854775808",
            "-9223372036854775809",
            &"9".repeat(30),
        ] {
            assert_eq!(parse_id(segment), Some(NO_SUCH_ID), "{segment}");
        }
    }

    #[test]
    fn other_segments_are_rejected() {
        for segment in [
            "", "+", "-", "abc", "1.5", "1e3", "0x1", " 1", "1 ", "--1", "+-1", "1_0",
        ] {
            assert_eq!(parse_id(segment), None, "{segment:?}");
        }
        for segment in ["٣", "１", "1\0", "/"] {
            assert_eq!(parse_id(segment), None, "{segment:?}");
        }
    }
}

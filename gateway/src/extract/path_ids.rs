//! Ids in a path: integers with an optional sign.

use axum::extract::{FromRequestParts, MatchedPath, Path};
use http::request::Parts;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;

/// Ids start at 1, so no row has this one.
const NO_SUCH_ID: i64 = 0;

/// The ids of a path such as `/users/{user_id}/keys/{key_id}`, by name. Rejects the first that is not an
/// integer with 400.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathIds(Vec<(String, i64)>);

/// The id of a path that has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathId(pub(crate) i64);

impl PathIds {
    pub(crate) fn get(&self, name: &str) -> Option<i64> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, id)| *id)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathIds {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Ok(Path(params)) = params else {
            // Not UTF-8. The route is a template, such as `/users/{user_id}`.
            let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
            return Err(not_an_integer(route.split(['{', '}']).nth(1).unwrap_or_default()));
        };
        let id = |(name, segment): (String, String)| match parse(&segment) {
            Some(id) => Ok((name, id)),
            None => Err(not_an_integer(&name)),
        };
        params.into_iter().map(id).collect::<Result<_, _>>().map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let PathIds(ids) = PathIds::from_request_parts(parts, state).await?;
        Ok(Self(ids.first().map_or(NO_SUCH_ID, |(_, id)| *id)))
    }
}

fn not_an_integer(name: &str) -> ApiError {
    let detail = format!("Path parameter \"{name}\" must be an integer.");
    ApiError::http(HttpReason::PathInvalid, detail)
}

/// An integer beyond the range of ids is still an integer: the request then fails with 404.
fn parse(segment: &str) -> Option<i64> {
    let digits = segment.strip_prefix(['+', '-']).unwrap_or(segment);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer.then(|| segment.parse().unwrap_or(NO_SUCH_ID))
}

#[cfg(test)]
mod tests {
    use super::{NO_SUCH_ID, parse};

    #[test]
    fn integer_is_an_optional_sign_and_digits() {
        for (segment, id) in [("7", 7), ("+7", 7), ("-7", -7), ("0", 0), ("-0", 0), ("007", 7)] {
            assert_eq!(parse(segment), Some(id), "{segment}");
        }
        assert_eq!(parse("9223372036854775807"), Some(i64::MAX));
    }

    #[test]
    fn integer_out_of_range_is_an_id_that_does_not_exist() {
        for segment in ["9223372036854775808", "-9223372036854775809", &"9".repeat(30)] {
            assert_eq!(parse(segment), Some(NO_SUCH_ID), "{segment}");
        }
    }

    #[test]
    fn other_segments_are_rejected() {
        for segment in ["", "+", "-", "abc", "1.5", "1e3", "0x1", " 1", "1 ", "--1", "+-1", "1_0"] {
            assert_eq!(parse(segment), None, "{segment:?}");
        }
        for segment in ["٣", "１", "1\0", "/"] {
            assert_eq!(parse(segment), None, "{segment:?}");
        }
    }
}

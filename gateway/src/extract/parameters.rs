//! The parameters of a path, which are ids, and those of a query: `?limit=&after=`, each at most once.

use axum::extract::{FromRequestParts, MatchedPath, Path};
use http::request::Parts;
use percent_encoding::percent_decode_str;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::{
    http::HttpReason,
    limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE},
};
use std::{borrow::Cow, fmt, str::FromStr};
use url::form_urlencoded;
use utoipa::openapi::{
    ObjectBuilder, RefOr, Schema, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::{KnownFormat, SchemaFormat},
};

/// Ids start at 1, so no row has this one.
const NO_SUCH_ID: i64 = 0;

/// The ids of a path such as `/users/{user_id}/keys/{key_id}`, by name. Rejects the first that is not an
/// integer with 400.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathIds(Vec<(String, i64)>);

impl PathIds {
    /// That of a path with one.
    pub(crate) fn only(&self) -> i64 {
        self.0.first().map_or(NO_SUCH_ID, |(_, id)| *id)
    }

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
            let route = parts
                .extensions
                .get::<MatchedPath>()
                .map_or("", MatchedPath::as_str);
            return Err(not_an_integer(
                route.split(['{', '}']).nth(1).unwrap_or_default(),
            ));
        };
        let id = |(name, segment): (String, String)| match parse_id(&segment) {
            Some(id) => Ok((name, id)),
            None => Err(not_an_integer(&name)),
        };
        params
            .into_iter()
            .map(id)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn not_an_integer(name: &str) -> ApiError {
    let detail = format!("Path parameter \"{name}\" must be an integer.");
    ApiError::http(HttpReason::PathInvalid, detail)
}

/// An integer beyond the range of ids is still an integer: the request then fails with 404.
fn parse_id(segment: &str) -> Option<i64> {
    let digits = segment.strip_prefix(['+', '-']).unwrap_or(segment);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer.then(|| segment.parse().unwrap_or(NO_SUCH_ID))
}

/// Characters of the name of an unknown parameter or field in an error.
pub(super) const MAX_SHOWN_NAME: usize = 64;

pub(crate) struct QueryParams(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for QueryParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

impl QueryParams {
    /// Rejects with 400 a query that is not UTF-8.
    pub(crate) fn parse(query: &str) -> Result<Self, ApiError> {
        // `form_urlencoded` would replace invalid bytes by U+FFFD, which a username may contain.
        percent_decode_str(query)
            .decode_utf8()
            .map_err(|_| invalid("The query is not valid UTF-8."))?;
        Ok(Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        ))
    }

    /// Rejects with 400 a parameter that is none of these.
    pub(crate) fn expect_only(&self, known: &[&str]) -> Result<(), ApiError> {
        let unknown = self
            .0
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()));
        unknown.map_or(Ok(()), |(name, _)| {
            let name: String = name.chars().take(MAX_SHOWN_NAME).collect();
            Err(invalid(format!("Query parameter \"{name}\" is not known.")))
        })
    }

    /// Rejects with 400 a parameter that is repeated.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(key, _)| key == name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value.map(|(_, value)| value.as_str())),
            _ => Err(invalid(format!(
                "Query parameter \"{name}\" is given more than once."
            ))),
        }
    }

    pub(crate) fn limit(&self) -> Result<Option<u16>, ApiError> {
        let is_valid = |&limit: &u16| (1..=MAX_PAGE_SIZE).contains(&limit.into());
        self.number(
            "limit",
            is_valid,
            format_args!("a whole number from 1 to {MAX_PAGE_SIZE}"),
        )
    }

    /// An id, or 0.
    pub(crate) fn id(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.number(name, |_| true, format_args!("an id, a whole number from 0"))
    }

    /// An id or a revision that exists, perhaps.
    pub(crate) fn positive(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.number(
            name,
            |number| *number > 0,
            format_args!("a whole number from 1"),
        )
    }

    /// The name of an event.
    pub(crate) fn event(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let is_name = |text: &&str| {
            (1..=64).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let value = self.get(name)?;
        if value.is_none_or(|value| is_name(&value)) {
            return Ok(value);
        }
        Err(invalid(format!(
            "Query parameter \"{name}\" must be 1 to 64 letters a to z and _."
        )))
    }

    pub(crate) fn one_of<const N: usize>(
        &self,
        name: &str,
        values: [&str; N],
    ) -> Result<Option<&str>, ApiError> {
        let value = self.get(name)?;
        if value.is_none_or(|value| values.contains(&value)) {
            return Ok(value);
        }
        Err(invalid(format!(
            "Query parameter \"{name}\" must be {}.",
            values.join(" or ")
        )))
    }

    /// A number without a sign, which `parse` alone would accept. `what` says which numbers are valid.
    fn number<N: FromStr>(
        &self,
        name: &str,
        is_valid: impl Fn(&N) -> bool,
        what: fmt::Arguments<'_>,
    ) -> Result<Option<N>, ApiError> {
        let Some(text) = self.get(name)? else {
            return Ok(None);
        };
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_digits
            .then(|| text.parse().ok())
            .flatten()
            .filter(is_valid);
        let refused = || invalid(format!("Query parameter \"{name}\" must be {what}."));
        number.map(Some).ok_or_else(refused)
    }
}

fn invalid(detail: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::http(HttpReason::QueryInvalid, detail)
}

pub(crate) fn limit_parameter(description: &str) -> Parameter {
    let limit = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1));
    let limit = limit
        .maximum(Some(MAX_PAGE_SIZE))
        .default(Some(DEFAULT_PAGE_SIZE.into()));
    parameter("limit", description, limit.into())
}

pub(crate) fn id_parameter(name: &str, description: &str) -> Parameter {
    integer_parameter(name, description, 0)
}

/// Of [`QueryParams::positive`].
pub(crate) fn positive_parameter(name: &str, description: &str) -> Parameter {
    integer_parameter(name, description, 1)
}

fn integer_parameter(name: &str, description: &str, minimum: i64) -> Parameter {
    let int64 = SchemaFormat::KnownFormat(KnownFormat::Int64);
    let integer = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(minimum));
    parameter(
        name,
        description,
        integer.maximum(Some(i64::MAX)).format(Some(int64)).into(),
    )
}

pub(crate) fn parameter(name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    let parameter = ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query);
    parameter
        .description(Some(description))
        .schema(Some(schema))
        .build()
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

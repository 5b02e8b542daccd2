//! The query parameters of lists: `?limit=&after=`, each at most once.

use axum::extract::FromRequestParts;
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

/// Characters of the name of an unknown parameter or field in an error.
pub(super) const MAX_SHOWN_NAME: usize = 64;

/// The decoded parameters of a query.
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
        Ok(Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }

    /// Rejects with 400 a parameter that is none of these.
    pub(crate) fn expect_only(&self, known: &[&str]) -> Result<(), ApiError> {
        let unknown = self.0.iter().find(|(name, _)| !known.contains(&name.as_str()));
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
            _ => Err(invalid(format!("Query parameter \"{name}\" is given more than once."))),
        }
    }

    /// The page size.
    pub(crate) fn limit(&self) -> Result<Option<u16>, ApiError> {
        let is_valid = |&limit: &u16| (1..=MAX_PAGE_SIZE).contains(&limit.into());
        self.number("limit", is_valid, format_args!("a whole number from 1 to {MAX_PAGE_SIZE}"))
    }

    /// An id, or 0.
    pub(crate) fn id(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.number(name, |_| true, format_args!("an id, a whole number from 0"))
    }

    /// A number without a sign, which `parse` alone would accept. `what` says which numbers are valid.
    fn number<N: FromStr>(
        &self,
        name: &str,
        is_valid: impl Fn(&N) -> bool,
        what: fmt::Arguments<'_>,
    ) -> Result<Option<N>, ApiError> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_digits.then(|| text.parse().ok()).flatten().filter(is_valid);
        let refused = || invalid(format!("Query parameter \"{name}\" must be {what}."));
        number.map(Some).ok_or_else(refused)
    }
}

fn invalid(detail: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::http(HttpReason::QueryInvalid, detail)
}

/// The schema of `limit`.
pub(crate) fn limit_parameter(description: &str) -> Parameter {
    let limit = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    let limit = limit.maximum(Some(MAX_PAGE_SIZE)).default(Some(DEFAULT_PAGE_SIZE.into()));
    parameter("limit", description, limit.into())
}

/// The schema of an id.
pub(crate) fn id_parameter(name: &str, description: &str) -> Parameter {
    let int64 = SchemaFormat::KnownFormat(KnownFormat::Int64);
    let id = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    parameter(name, description, id.maximum(Some(i64::MAX)).format(Some(int64)).into())
}

/// An optional query parameter.
pub(crate) fn parameter(name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
    parameter.description(Some(description)).schema(Some(schema)).build()
}

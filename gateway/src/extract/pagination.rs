//! What queries of lists have in common: `?limit=&after=`, each parameter at most once.

use axum::extract::Query;
use http::Uri;
use rolegate_auth_client::axum::ApiError;
use utoipa::openapi::{
    ObjectBuilder, RefOr, Schema, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::{KnownFormat, SchemaFormat},
};

/// The parameters of a query.
pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    /// Those of this URI. Rejects with 400.
    pub(crate) fn of(uri: &Uri) -> Result<Self, ApiError> {
        // The extractor would put U+FFFD in place of what is none, which is a name that may exist.
        if !is_utf8(uri.query().unwrap_or_default()) {
            return Err(ApiError::bad_request("The query is not valid UTF-8."));
        }
        let Query(parameters) = Query::try_from_uri(uri).map_err(|_| {
            ApiError::bad_request("The query is not of the form name=value&name=value.")
        })?;
        Ok(Self(parameters))
    }

    /// The value of a parameter that may be given once.
    pub(crate) fn value(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(given, _)| given == name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value.map(|(_, value)| value.as_str())),
            _ => Err(ApiError::bad_request(format!(
                "Query parameter \"{name}\" is given more than once."
            ))),
        }
    }

    /// How many at most.
    pub(crate) fn limit(&self) -> Result<Option<u16>, ApiError> {
        let limit = |text| {
            whole_number(text).filter(|limit| (1..=200).contains(limit)).ok_or_else(|| {
                ApiError::bad_request(
                    "Query parameter \"limit\" must be a whole number from 1 to 200.",
                )
            })
        };
        self.value("limit")?.map(limit).transpose()
    }

    /// An id, or 0.
    pub(crate) fn id(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let id = |text| {
            whole_number(text).ok_or_else(|| {
                ApiError::bad_request(format!(
                    "Query parameter \"{name}\" must be an id, a whole number from 0."
                ))
            })
        };
        self.value(name)?.map(id).transpose()
    }
}

/// Whether a query is text once its escapes (`%C3%A9`) are bytes.
fn is_utf8(query: &str) -> bool {
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let escaped = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    str::from_utf8(&bytes).is_ok()
}

/// Digits only: `parse` alone would take a sign.
fn whole_number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// `limit` as the document describes it.
pub(crate) fn limit_parameter(description: &str) -> Parameter {
    let limit = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    let limit = limit.maximum(Some(200)).default(Some(50.into()));
    parameter("limit", description, limit.into())
}

/// An id as the document describes it.
pub(crate) fn id_parameter(name: &str, description: &str) -> Parameter {
    let int64 = SchemaFormat::KnownFormat(KnownFormat::Int64);
    let id = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    parameter(name, description, id.maximum(Some(i64::MAX)).format(Some(int64)).into())
}

/// A parameter as the document describes it.
pub(crate) fn parameter(name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
    parameter.description(Some(description)).schema(Some(schema)).build()
}

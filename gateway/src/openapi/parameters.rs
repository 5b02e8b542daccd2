//! Describes query parameters that several endpoints have.

use rolegate_proto::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};
use utoipa::openapi::{
    ObjectBuilder, RefOr, Schema, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::{KnownFormat, SchemaFormat},
};

/// Returns the description of a parameter that [`QueryParams::limit`](crate::extract::query_params::QueryParams::limit)
/// reads.
pub(crate) fn limit_parameter(description: &str) -> Parameter {
    let limit = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(MAX_PAGE_SIZE))
        .default(Some(DEFAULT_PAGE_SIZE.into()));
    query_parameter("limit", description, limit)
}

/// Returns the description of a parameter that [`QueryParams::id`](crate::extract::query_params::QueryParams::id)
/// reads.
pub(crate) fn id_parameter(name: &str, description: &str) -> Parameter {
    integer_parameter(name, description, 0)
}

/// Returns the description of a parameter that
/// [`QueryParams::positive`](crate::extract::query_params::QueryParams::positive) reads.
pub(crate) fn positive_parameter(name: &str, description: &str) -> Parameter {
    integer_parameter(name, description, 1)
}

fn integer_parameter(name: &str, description: &str, minimum: i64) -> Parameter {
    let int64 = SchemaFormat::KnownFormat(KnownFormat::Int64);
    let integer = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(minimum))
        .maximum(Some(i64::MAX))
        .format(Some(int64));
    query_parameter(name, description, integer)
}

/// Returns the description of a parameter that
/// [`QueryParams::time`](crate::extract::query_params::QueryParams::time) reads.
pub(crate) fn time_parameter(name: &str, description: &str) -> Parameter {
    let time = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^\d{4}-\d{2}-\d{2}([Tt].+)?$"));
    let form = "The time is RFC 3339, or a date, which means its beginning in UTC.";
    query_parameter(name, &format!("{description} {form}"), time)
}

/// Returns the description of a parameter that is a username or a part of one.
pub(crate) fn username_parameter(name: &str, description: &str) -> Parameter {
    // A username has at most 255 bytes and no control characters, so neither does a part of one.
    let part_of_username = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(255))
        .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"));
    query_parameter(name, description, part_of_username)
}

/// Returns the description of an optional query parameter.
pub(crate) fn query_parameter(
    name: &str,
    description: &str,
    schema: impl Into<RefOr<Schema>>,
) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

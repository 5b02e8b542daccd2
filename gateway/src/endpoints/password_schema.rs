//! What the document says of a password that is set, wherever one is.

use serde_json::json;
use utoipa::openapi::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type};

/// As much of the rule as a schema can tell; auth-service has the whole.
pub(super) fn password() -> Object {
    schema("open sesame")
}

/// The same, where another password stands beside it.
pub(super) fn new_password() -> Object {
    schema("shut sesame")
}

#[expect(deprecated, reason = "the derive writes `example` for the fields beside it")]
fn schema(example: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
        .description(Some(
            "1 to 72 bytes of UTF-8 without NUL, or more than 1 where the service is told so. Taken \
             exactly\nas sent.",
        ))
        .min_length(Some(1))
        .max_length(Some(72))
        .pattern(Some(r"^[^\u0000]*$"))
        .example(Some(json!(example)))
        .build()
}

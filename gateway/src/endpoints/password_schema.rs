//! The OpenAPI schema of passwords that are set.

use serde_json::json;
use utoipa::openapi::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type};

/// The part of the rules that a schema can express; auth-service checks all of them.
pub(super) fn password() -> Object {
    schema("open sesame")
}

/// The same, beside a current password.
pub(super) fn new_password() -> Object {
    schema("shut sesame")
}

#[expect(deprecated, reason = "the derive writes `example` for the fields beside it")]
fn schema(example: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
        .description(Some(
            "1 to 72 bytes of UTF-8 without NUL; the service may require more than 1. Used exactly \
             as sent.",
        ))
        .min_length(Some(1))
        .max_length(Some(72))
        .pattern(Some(r"^[^\u0000]*$"))
        .example(Some(json!(example)))
        .build()
}

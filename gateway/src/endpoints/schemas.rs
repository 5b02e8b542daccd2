//! Schemas of fields that several endpoints have: the part of the rules that a schema can express;
//! auth-service checks all of them.

use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type},
};

pub(super) fn username() -> Object {
    // No control characters and no colon; no white space at either end.
    let inside = r"[^\u0000-\u001f:\u007f-\u009f]";
    let end = r"[^\u0000-\u0020:\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "1 to 255 bytes of UTF-8 in Unicode NFC, without control and invisible characters, \
             colons, or white space at either end. Compared byte for byte.",
        ))
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some(format!("^{end}({inside}*{end})?$")))
        .examples([json!("ada")])
        .build()
}

pub(super) fn password() -> Object {
    password_like("open sesame")
}

/// The same, beside a current password.
pub(super) fn new_password() -> Object {
    password_like("shut sesame")
}

#[expect(
    deprecated,
    reason = "the derive writes `example` for the fields beside it"
)]
fn password_like(example: &str) -> Object {
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

/// The name of an API key or a session.
pub(super) fn label() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("What it is for, on one line. Need not be unique."))
        .min_length(Some(1))
        .max_length(Some(100))
        .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"))
        .examples([json!("nightly export")])
        .build()
}

/// What a user may do. `EXTRA_ROLES` can add to these three.
#[derive(ToSchema)]
#[schema(as = Role, pattern = "^[a-z][a-z0-9_-]{0,31}$", examples("user", "author", "admin"))]
#[expect(dead_code, reason = "stands in schemas for a string")]
pub(super) struct RoleName(String);

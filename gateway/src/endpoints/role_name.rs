//! The OpenAPI schema of role names.

use rolegate_auth_client::Role;
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// Stands in schemas for a `String` that holds the name of a [`Role`].
pub(crate) struct RoleName;

impl PartialSchema for RoleName {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("What a user may do."))
            .enum_values(Some(Role::ALL.map(Role::as_str)))
            .into()
    }
}

impl ToSchema for RoleName {
    fn name() -> Cow<'static, str> {
        "Role".into()
    }
}

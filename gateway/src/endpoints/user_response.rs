//! A user in responses.

use super::role_name::RoleName;
use rolegate_auth_client::User;
use serde::Serialize;
use utoipa::ToSchema;

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserResponse {
    #[schema(minimum = 1, example = 2)]
    id: i64,
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = RoleName)]
    role: &'static str,
    /// Every credential of the user is refused. Shown where true, and by the update.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    disabled: Option<bool>,
}

impl UserResponse {
    /// Shows `disabled` also where it is false.
    pub(crate) fn with_disabled(user: User) -> Self {
        let disabled = Some(user.disabled);
        Self { disabled, ..user.into() }
    }
}

impl From<User> for UserResponse {
    fn from(user: User) -> Self {
        let User { id, username, role, disabled } = user;
        Self { id, username, role: role.as_str(), disabled: disabled.then_some(true) }
    }
}

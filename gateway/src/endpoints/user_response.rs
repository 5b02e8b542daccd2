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
    /// Whether every credential of the user is refused.
    disabled: bool,
}

impl From<User> for UserResponse {
    fn from(user: User) -> Self {
        let User { id, username, role, disabled } = user;
        Self { id, username, role: role.as_str(), disabled }
    }
}

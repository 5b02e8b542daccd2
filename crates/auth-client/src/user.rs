//! Users as auth-service returns them.

use crate::{CallError, Role};
use rolegate_proto::auth_v1;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// At least 1; never reused.
    pub id: i64,
    /// Unique, compared byte for byte.
    pub username: String,
    /// The role stored when auth-service answered.
    pub role: Role,
    /// Whether every credential of the user is refused.
    pub disabled: bool,
}

impl TryFrom<auth_v1::User> for User {
    type Error = CallError;

    /// A role of a later version is an error: taking it for any known role would be a guess about
    /// permissions.
    fn try_from(user: auth_v1::User) -> Result<Self, CallError> {
        let role = Role::try_from(user.role).map_err(|_| CallError::Malformed)?;
        Ok(Self { id: user.id, username: user.username, role, disabled: user.disabled })
    }
}

impl User {
    pub(crate) fn try_from_response(user: Option<auth_v1::User>) -> Result<Self, CallError> {
        user.ok_or(CallError::Malformed)?.try_into()
    }
}

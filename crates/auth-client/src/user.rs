//! A user as auth-service shows them to others.

use crate::{CallError, Role};
use rolegate_proto::auth_v1;

/// A user; the role is the one stored when the call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// At least 1; never given out twice.
    pub id: i64,
    /// Unique, compared byte for byte.
    pub username: String,
    /// The stored role.
    pub role: Role,
}

impl TryFrom<auth_v1::User> for User {
    type Error = CallError;

    /// A role this version does not know is a failure, not the least of roles: guessing either way
    /// would be a decision that nobody made.
    fn try_from(user: auth_v1::User) -> Result<Self, CallError> {
        let role = Role::try_from(user.role).map_err(|_| CallError::Malformed)?;
        Ok(Self { id: user.id, username: user.username, role })
    }
}

impl User {
    pub(crate) fn required(user: Option<auth_v1::User>) -> Result<Self, CallError> {
        user.ok_or(CallError::Malformed)?.try_into()
    }
}

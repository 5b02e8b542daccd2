//! Users as auth-service returns them.

use rolegate_grpc_client::CallError;
use rolegate_proto::{Role, auth_v1};

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// At least 1; never reused.
    pub id: i64,
    /// Unique, compared byte for byte.
    pub username: String,
    /// The role stored when auth-service answered; in decisions, `user` for one that grants nothing.
    pub role: Role,
    /// In decisions, a stored role that grants nothing: one that auth-service does not have, or `admin` where admins
    /// need a second factor, and this one has none.
    pub unknown_role: Option<Role>,
    /// Whether every credential of the user is refused.
    pub disabled: bool,
    /// When the user was made, in Unix seconds; `None` if that was not kept. It tells the user from another who had
    /// the same id and was deleted.
    pub created_at: Option<i64>,
}

impl TryFrom<auth_v1::User> for User {
    type Error = CallError;

    /// A malformed role is an error: taking it for any other would be a guess about permissions.
    fn try_from(user: auth_v1::User) -> Result<Self, CallError> {
        let role =
            Role::from_message(&user.role_name, user.role).map_err(|_| CallError::Malformed)?;
        let unknown_role = match &*user.unknown_role_name {
            "" => None,
            name => Some(name.parse().map_err(|_| CallError::Malformed)?),
        };
        Ok(Self {
            id: user.id,
            username: user.username,
            role,
            unknown_role,
            disabled: user.disabled,
            created_at: user.created_at,
        })
    }
}

impl User {
    /// The user of a response, which must have one.
    pub(crate) fn try_from_response(user: Option<auth_v1::User>) -> Result<Self, CallError> {
        user.ok_or(CallError::Malformed)?.try_into()
    }
}

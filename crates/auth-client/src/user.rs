//! Converts the users in responses of auth-service.

use rolegate_grpc_client::CallError;
use rolegate_proto::{Role, auth_v1};

/// The user of a credential that auth-service has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The id, which is at least 1 and never reused.
    pub id: i64,
    /// The username, which is unique. Usernames are compared byte for byte.
    pub username: String,
    /// The role that was stored when auth-service answered. In decisions, it is `user` if the stored role
    /// grants nothing.
    pub role: Role,
    /// The user's stored role, if this is the answer to a role decision and the role grants nothing; otherwise
    /// `None`. A role grants nothing if auth-service does not have it, or if it is `admin` and the user lacks the
    /// second factor that admins need.
    pub unknown_role: Option<Role>,
    /// The time at which the user was created, in Unix seconds; `None` if it was not recorded. It distinguishes
    /// the user from a deleted one who had the same id.
    pub created_at: Option<i64>,
    /// The names of the groups that the user is in, in ascending order. In a decision about an API key, these are the
    /// groups of the key that the user is in.
    pub groups: Vec<String>,
}

impl TryFrom<auth_v1::User> for User {
    type Error = CallError;

    /// Converts a user. A malformed role is an error, because any other role in its place would be a guess
    /// about permissions.
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
            created_at: user.created_at,
            groups: user.group_names,
        })
    }
}

impl User {
    /// Converts the user of a response, which must have one.
    pub(crate) fn try_from_response(user: Option<auth_v1::User>) -> Result<Self, CallError> {
        user.ok_or(CallError::Malformed)?.try_into()
    }
}

//! Users as auth-service returns them, and the arguments of the calls about them.

use rolegate_grpc_client::CallError;
use rolegate_proto::{
    Role,
    auth_v1::{self, authorize_request},
};

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

/// Which users [`ActingClient::list_users`](crate::ActingClient::list_users) returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserQuery {
    /// The size of the page, 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Only greater ids; `None` for the first page.
    pub after: Option<i64>,
    /// Only usernames with this literal prefix; empty for all.
    pub username_prefix: String,
    /// Only this role; `None` for all.
    pub role: Option<Role>,
}

/// A page of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPage {
    /// By ascending id.
    pub users: Vec<User>,
    /// The `after` of the next page; `None` on the last.
    pub next: Option<i64>,
}

/// What [`AuthClient::authorize`](crate::AuthClient::authorize) requires of the token's bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement<'a> {
    /// Any user with a valid token.
    AnyAuthenticated,
    /// A user whose stored role is listed. auth-service rejects an empty list.
    Roles(&'a [Role]),
}

impl From<Requirement<'_>> for authorize_request::Requirement {
    fn from(requirement: Requirement<'_>) -> Self {
        match requirement {
            Requirement::AnyAuthenticated => Self::AnyAuthenticated(auth_v1::AnyAuthenticated {}),
            Requirement::Roles(roles) => Self::Roles(auth_v1::AllowedRoles {
                roles: roles.iter().map(|&role| role.into()).collect(),
            }),
        }
    }
}

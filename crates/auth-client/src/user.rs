//! Users as auth-service returns them, and the arguments of the calls about them.

use crate::session::optional_time;
use rolegate_grpc_client::CallError;
use rolegate_proto::{
    Role,
    auth_v1::{self, authorize_request},
};
use std::time::SystemTime;

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
        let auth_v1::User {
            id,
            username,
            role,
            disabled,
            role_name,
            unknown_role_name,
            created_at,
        } = user;
        let malformed = |_| CallError::Malformed;
        let role = Role::from_message(&role_name, role).map_err(malformed)?;
        let unknown = Some(unknown_role_name).filter(|name| !name.is_empty());
        let unknown_role = unknown
            .map(|name| name.parse())
            .transpose()
            .map_err(malformed)?;
        Ok(Self {
            id,
            username,
            role,
            unknown_role,
            disabled,
            created_at,
        })
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
    /// Only users who are, or are not, disabled; `None` for all.
    pub disabled: Option<bool>,
    /// Only usernames that contain this text, whatever the case of its letters; empty for all. One search at a
    /// time for each bearer.
    pub search: String,
    /// Whether the page has times.
    pub with_times: bool,
}

/// What [`ActingClient::update_user`](crate::ActingClient::update_user) changes of a user: at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserUpdate {
    /// The new name; `None` for that of before.
    pub username: Option<String>,
    /// Whether the user is disabled; `None` for as before.
    pub disabled: Option<bool>,
}

/// When something happened to a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserTimes {
    /// `None` for users from before it was kept.
    pub created_at: Option<SystemTime>,
    /// With a password, up to a minute late; `None` for none since it is kept.
    pub last_login_at: Option<SystemTime>,
}

impl UserTimes {
    pub(crate) fn from_message(times: auth_v1::UserTimes) -> Result<Self, CallError> {
        let created_at = optional_time(times.created_at)?;
        Ok(Self {
            created_at,
            last_login_at: optional_time(times.last_login_at)?,
        })
    }
}

/// A page of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPage {
    /// By ascending id.
    pub users: Vec<User>,
    /// One for each user, in the same order, if the query asked for times.
    pub times: Vec<UserTimes>,
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
                // Added roles are left out, so that the version before admits nobody by them.
                roles: roles
                    .iter()
                    .map(|role| role.request_number())
                    .filter(|&it| it > 0)
                    .collect(),
                role_names: roles.iter().map(Role::to_string).collect(),
            }),
        }
    }
}

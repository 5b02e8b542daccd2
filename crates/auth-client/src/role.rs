//! Roles, and what a caller requires of a user.

use rolegate_proto::auth_v1::{self, authorize_request};
use std::{fmt, str::FromStr};

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Every registered user.
    User,
    /// May write.
    Author,
    /// May manage users.
    Admin,
}

/// The text is not the name of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a role")]
pub struct UnknownRole;

impl Role {
    /// The name in JSON and in the store: `user`, `author`, `admin`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Author => "author",
            Self::Admin => "admin",
        }
    }

    pub(crate) const fn to_proto(self) -> auth_v1::Role {
        match self {
            Self::User => auth_v1::Role::User,
            Self::Author => auth_v1::Role::Author,
            Self::Admin => auth_v1::Role::Admin,
        }
    }

    pub(crate) const fn from_proto(role: auth_v1::Role) -> Option<Self> {
        match role {
            auth_v1::Role::Unspecified => None,
            auth_v1::Role::User => Some(Self::User),
            auth_v1::Role::Author => Some(Self::Author),
            auth_v1::Role::Admin => Some(Self::Admin),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    /// Names are exact: `Admin` and ` admin` are no roles.
    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        [Self::User, Self::Author, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == name)
            .ok_or(UnknownRole)
    }
}

/// What [`AuthClient::authorize`](crate::AuthClient::authorize) requires of the bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement<'a> {
    /// Any user with a good token.
    AnyAuthenticated,
    /// A user whose stored role is listed. An empty list is refused by auth-service.
    Roles(&'a [Role]),
}

impl From<Requirement<'_>> for authorize_request::Requirement {
    fn from(requirement: Requirement<'_>) -> Self {
        match requirement {
            Requirement::AnyAuthenticated => Self::AnyAuthenticated(auth_v1::AnyAuthenticated {}),
            Requirement::Roles(roles) => Self::Roles(auth_v1::AllowedRoles {
                roles: roles.iter().map(|role| role.to_proto().into()).collect(),
            }),
        }
    }
}

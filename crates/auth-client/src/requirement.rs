//! Requirements of role decisions.

use rolegate_proto::{
    Role,
    auth_v1::{self, authorize_request},
};

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

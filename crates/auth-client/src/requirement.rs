//! What a caller requires of a user.

use rolegate_proto::{
    Role,
    auth_v1::{self, authorize_request},
};

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
                roles: roles.iter().map(|&role| role.into()).collect(),
            }),
        }
    }
}

//! What a user needs in order to be admitted.

use rolegate_proto::{
    GroupName, Role,
    auth_v1::{
        AllowedRoles, AnyAuthenticated, Role as RoleNumber,
        authorize_request::Requirement as RequirementMessage,
    },
};

/// The requirement that [`AuthClient::authorize`](crate::AuthClient::authorize) checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement<'a> {
    /// Any user with a valid token meets the requirement.
    AnyAuthenticated,
    /// Users whose stored role is listed meet the requirement. auth-service rejects an empty list.
    Roles(&'a [Role]),
    /// Users whose stored role is listed, or who are in a listed group, meet the requirement. auth-service rejects two
    /// empty lists, and a name that does not exist.
    RolesOrGroups {
        /// The roles.
        roles: &'a [Role],
        /// The groups.
        groups: &'a [GroupName],
    },
}

impl<'a> Requirement<'a> {
    /// Returns the roles, any of which is enough.
    #[must_use]
    pub fn roles(self) -> &'a [Role] {
        match self {
            Self::AnyAuthenticated => &[],
            Self::Roles(roles) | Self::RolesOrGroups { roles, .. } => roles,
        }
    }

    /// Returns the groups, any of which is enough.
    #[must_use]
    pub fn groups(self) -> &'a [GroupName] {
        match self {
            Self::AnyAuthenticated | Self::Roles(_) => &[],
            Self::RolesOrGroups { groups, .. } => groups,
        }
    }
}

impl From<Requirement<'_>> for RequirementMessage {
    fn from(requirement: Requirement<'_>) -> Self {
        if requirement == Requirement::AnyAuthenticated {
            return Self::AnyAuthenticated(AnyAuthenticated {});
        }
        let roles = requirement.roles();
        let unspecified = i32::from(RoleNumber::Unspecified);
        Self::Roles(AllowedRoles {
            // Added roles have no number and are only in `role_names`. An auth-service of the previous
            // release ignores the names, so it admits nobody by an added role.
            roles: roles
                .iter()
                .map(|role| role.request_number())
                .filter(|&number| number != unspecified)
                .collect(),
            role_names: roles.iter().map(Role::to_string).collect(),
            // It also ignores groups, so it admits nobody by a group.
            group_names: requirement
                .groups()
                .iter()
                .map(GroupName::to_string)
                .collect(),
        })
    }
}

//! Roles as JSON has them.

use rolegate_auth_client::Role;
use serde::Serialize;
use utoipa::ToSchema;

/// What a user may do.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
pub(crate) enum RoleName {
    /// Every registered user.
    User,
    /// May write.
    Author,
    /// May manage users.
    Admin,
}

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Author => Self::Author,
            Role::Admin => Self::Admin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RoleName;
    use rolegate_auth_client::Role;

    #[test]
    fn names_are_those_of_the_contract() {
        for role in [Role::User, Role::Author, Role::Admin] {
            let json = serde_json::to_value(RoleName::from(role)).expect("a string");
            assert_eq!(json, role.as_str());
        }
    }
}

//! The requirement of a request: which roles the user who acts may have.

use rolegate_proto::{Reason, Role};

/// The roles that may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Every user with a valid token.
    AnyAuthenticated,
    /// Users whose stored role is listed.
    Roles(Vec<Role>),
}

impl Requirement {
    pub(super) fn admin() -> Self {
        Self::Roles(vec![Role::ADMIN])
    }

    /// Requires an admin to act on the user with this id, and nothing of users who act on themselves.
    pub(super) fn to_act_on(user_id: Option<i64>) -> Self {
        match user_id {
            Some(_) => Self::admin(),
            None => Self::AnyAuthenticated,
        }
    }

    pub(crate) fn admits(&self, role: Role) -> bool {
        match self {
            Self::AnyAuthenticated => true,
            Self::Roles(roles) => roles.contains(&role),
        }
    }

    /// The reason for refusing a user. If the requirement admits the role that has no effect, the user lacks the second
    /// factor that this role needs.
    pub(crate) fn refusal(&self, ineffective_role: Option<Role>) -> Reason {
        match ineffective_role {
            Some(role) if self.admits(role) => Reason::SecondFactorRequired,
            _ => Reason::RoleInsufficient,
        }
    }
}

//! The requirement of a request: any valid credential, or one of some roles.

use rolegate_proto::{Reason, Role};

/// The condition that a user must meet to make a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Every user with a valid credential meets it.
    AnyAuthenticated,
    /// Users whose effective role is in this list meet it. This is the stored role, bounded by the role of an API
    /// key; a role that has no effect counts as `user`.
    Roles(Vec<Role>),
}

impl Requirement {
    pub(super) fn admin() -> Self {
        Self::Roles(vec![Role::ADMIN])
    }

    /// Returns the requirement for acting on a user. With an id, only an admin may act on that
    /// user. Without an id, users act on themselves, and any valid credential is enough.
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

    /// Returns the reason for refusing a user. If the ineffective role would meet the requirement,
    /// the user lacks only the second factor that this role needs.
    pub(crate) fn refusal(&self, ineffective_role: Option<Role>) -> Reason {
        match ineffective_role {
            Some(role) if self.admits(role) => Reason::SecondFactorRequired,
            _ => Reason::RoleInsufficient,
        }
    }
}

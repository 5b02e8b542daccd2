//! Decides which roles have an effect at this service.

use super::{error::AccountError, service::Accounts};
use crate::user::User;
use rolegate_proto::{Reason, Role, UnknownRole};
use std::mem;

impl Accounts {
    /// Rejects a requirement that names an unknown role, because no user can act with that role.
    pub(crate) fn require_known_roles(&self, required: &[Role]) -> Result<(), AccountError> {
        if required.iter().all(|role| self.policy.roles.contains(role)) {
            return Ok(());
        }
        Err(AccountError::invalid_request(
            "the requirement names an unknown role",
        ))
    }

    /// Rejects the role in a request if its name is malformed or the settings do not contain it.
    pub(super) fn require_known_role(
        &self,
        role: Result<Role, UnknownRole>,
    ) -> Result<Role, AccountError> {
        match role {
            Ok(role) if self.policy.roles.contains(&role) => Ok(role),
            _ => Err(Reason::RoleInvalid.into()),
        }
    }

    /// Replaces a role that has no effect by `user`, and returns the replaced role. A role has no
    /// effect if the settings do not name it, or if it needs a second factor that the user does not
    /// have.
    pub(super) fn take_ineffective_role(&self, user: &mut User) -> Option<Role> {
        let is_known = self.policy.roles.contains(&user.role);
        if is_known && !self.policy.second_factor.is_required_but_missing(user) {
            return None;
        }
        Some(mem::replace(&mut user.role, Role::USER))
    }
}

//! The operator's settings for the use cases: which passwords are allowed, which limits hold, and
//! which roles have an effect. [`Requirement`] says which roles or groups a request needs.

use super::error::AccountError;
use crate::{
    password::PasswordRules,
    roles::Roles,
    second_factor::{Mode, SecondFactorPolicy},
    store::DecisionKey,
    user::User,
};
use rolegate_proto::{GroupName, Reason, Role, UnknownRole};
use std::{mem, time::Duration};

/// The operator's settings for the use cases.
pub(crate) struct Policy {
    pub(crate) passwords: PasswordRules,
    /// The maximum number of failed logins per minute for a username at an address; 0 means no
    /// limit. The limits for an address and for a username over all addresses are 15 times as high.
    /// Refused password links have a limit of the same number for each address.
    pub(crate) login_failure_limit: u32,
    /// The time for which a verified password of HTTP Basic is cached; zero turns the cache off.
    pub(crate) basic_cache_ttl: Duration,
    pub(crate) registration_open: bool,
    /// The maximum number of attempts per minute to register a user from one address; 0 means no
    /// limit.
    pub(crate) registration_limit: u32,
    pub(crate) roles: Roles,
    pub(crate) sessions: SessionLimits,
    /// True if admins may set passwords of other users; otherwise they only create links.
    pub(crate) admins_set_passwords: bool,
    pub(crate) second_factor: SecondFactorPolicy,
}

/// The times after which sessions expire, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct SessionLimits {
    /// The time without use after which a session expires; at most `max`.
    pub(crate) idle: u64,
    /// The age at which a session expires, even if it is in use.
    pub(crate) max: u64,
}

impl Policy {
    /// Rejects a requirement that names an unknown role or group, even if another of its names would admit the user:
    /// a misspelled name must not go unnoticed. The statement that read the user has found out which groups exist.
    pub(crate) fn require_known_names(
        &self,
        requirement: &Requirement,
        user: &User,
    ) -> Result<(), AccountError> {
        let Requirement::AnyOf { roles, groups } = requirement else {
            return Ok(());
        };
        if !roles.iter().all(|role| self.roles.contains(role)) {
            return Err(AccountError::invalid_request(
                "the requirement names an unknown role",
            ));
        }
        if !groups.iter().all(|group| user.found_groups.contains(group)) {
            return Err(AccountError::invalid_request(
                "the requirement names an unknown group",
            ));
        }
        Ok(())
    }

    /// Rejects the role in a request if its name is malformed or the settings do not contain it.
    pub(crate) fn require_known_role(
        &self,
        role: Result<Role, UnknownRole>,
    ) -> Result<Role, AccountError> {
        match role {
            Ok(role) if self.roles.contains(&role) => Ok(role),
            _ => Err(Reason::RoleInvalid.into()),
        }
    }

    /// Replaces a role that has no effect by `user`, and returns the replaced role. A role has no
    /// effect if the settings do not name it, or if it needs a second factor that the user does not
    /// have.
    pub(crate) fn take_ineffective_role(&self, user: &mut User) -> Option<Role> {
        let is_known = self.roles.contains(&user.role);
        let lacks_second_factor = user.role == Role::ADMIN
            && !user.second_factor
            && self.second_factor.mode == Mode::Admins;
        if is_known && !lacks_second_factor {
            return None;
        }
        Some(mem::replace(&mut user.role, Role::USER))
    }

    /// Fails if the settings allow admins only to create password links, not to set passwords.
    pub(crate) fn require_admins_set_passwords(&self) -> Result<(), AccountError> {
        if self.admins_set_passwords {
            return Ok(());
        }
        Err(Reason::PasswordLinkRequired.into())
    }
}

/// The condition that a user must meet to make a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Every user with a valid credential meets it.
    AnyAuthenticated,
    /// Users whose effective role is one of these, or who are in one of these groups, meet it. The effective role is
    /// the stored one, bounded by the role of an API key; a role that has no effect counts as `user`. The groups are
    /// bounded by those of an API key, too.
    AnyOf {
        roles: Vec<Role>,
        groups: Vec<GroupName>,
    },
}

impl Requirement {
    pub(super) fn admin() -> Self {
        Self::AnyOf {
            roles: vec![Role::ADMIN],
            groups: Vec::new(),
        }
    }

    /// Returns the requirement for acting on a user. With an id, only an admin may act on that
    /// user. Without an id, users act on themselves, and any valid credential is enough.
    pub(super) fn to_act_on(user_id: Option<i64>) -> Self {
        match user_id {
            Some(_) => Self::admin(),
            None => Self::AnyAuthenticated,
        }
    }

    /// Returns the key of the read on which a decision about this requirement is based.
    pub(crate) fn decision_key<K>(&self, key: K) -> DecisionKey<K> {
        let groups = match self {
            Self::AnyAuthenticated => Vec::new(),
            Self::AnyOf { groups, .. } => groups.clone(),
        };
        DecisionKey { key, groups }
    }

    /// Returns the reason for refusing a user, or `None` if the user meets the requirement. If the ineffective role
    /// would meet it, the user lacks only the second factor that this role needs.
    pub(crate) fn refusal(&self, user: &User, ineffective_role: Option<Role>) -> Option<Reason> {
        let Self::AnyOf { roles, groups } = self else {
            return None;
        };
        let is_member = groups.iter().any(|group| user.membership(*group).is_some());
        if is_member || roles.contains(&user.role) {
            return None;
        }
        Some(match ineffective_role {
            Some(role) if roles.contains(&role) => Reason::SecondFactorRequired,
            _ => Reason::RoleInsufficient,
        })
    }
}

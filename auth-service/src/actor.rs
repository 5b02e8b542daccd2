//! The actor of a request: the user who makes it, and the credential that the user presented.

use crate::user::User;
use rolegate_proto::{Reason, Role};

#[derive(Clone, Debug)]
pub(crate) struct Actor {
    /// The user, with the role that applies: the stored role, or the role of the API key if it is
    /// lower.
    pub(crate) user: User,
    /// The user's role, if it has no effect: either this service does not have the role, or it
    /// needs a second factor that the user lacks. `user` then has the role [`Role::USER`].
    pub(crate) ineffective_role: Option<Role>,
    pub(crate) presented: PresentedCredential,
    /// When the credential expires, in Unix seconds; `None` if it never does.
    pub(crate) expires_at: Option<u64>,
    /// The time at which the user was read, in Unix seconds by the clock of the database.
    pub(crate) at: u64,
}

/// The credential that a user presented, with the id of an API key or a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PresentedCredential {
    AccessToken,
    ApiKey(i64),
    Session(i64),
}

impl Actor {
    /// Returns the id of the API key that was presented; `None` for another credential.
    pub(crate) fn key_id(&self) -> Option<i64> {
        match self.presented {
            PresentedCredential::ApiKey(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the id of the session that was presented; `None` for another credential.
    pub(crate) fn session_id(&self) -> Option<i64> {
        match self.presented {
            PresentedCredential::Session(id) => Some(id),
            _ => None,
        }
    }

    /// Fails if an API key would change its own user, because a leaked key must not lock the user
    /// out.
    pub(crate) fn refuse_own_key(&self, user_id: i64) -> Result<(), Reason> {
        if self.key_id().is_some() && user_id == self.user.id {
            return Err(Reason::RoleInsufficient);
        }
        Ok(())
    }
}

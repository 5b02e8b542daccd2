//! The actor of a request: the user who makes it, and the credential that the user presented.

use crate::{tokens::TokenKind, user::User};
use rolegate_proto::{Reason, Role};

#[derive(Clone, Debug)]
pub(crate) struct Actor {
    /// The user, with the role that applies: the stored role, or the role of the API key if it is
    /// lower.
    pub(crate) user: User,
    /// The user's role, if it has no effect: either this service does not have the role, or it
    /// needs a second factor that the user lacks. `user` then has the role [`Role::USER`].
    pub(crate) ineffective_role: Option<Role>,
    /// The API key or session that was presented; `None` for an access token.
    pub(crate) token: Option<ActorToken>,
    /// When the credential expires, in Unix seconds; `None` if it never does.
    pub(crate) expires_at: Option<u64>,
    /// The time at which the user was read, in Unix seconds by the clock of the database.
    pub(crate) at: u64,
}

/// Identifies the API key or the session that a user presented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActorToken {
    pub(crate) kind: TokenKind,
    pub(crate) id: i64,
}

impl Actor {
    /// Returns the id of the API key that was presented; `None` for another credential.
    pub(crate) fn key_id(&self) -> Option<i64> {
        self.token_id(TokenKind::ApiKey)
    }

    /// Returns the id of the session that was presented; `None` for another credential.
    pub(crate) fn session_id(&self) -> Option<i64> {
        self.token_id(TokenKind::Session)
    }

    fn token_id(&self, kind: TokenKind) -> Option<i64> {
        let token = self.token.filter(|token| token.kind == kind)?;
        Some(token.id)
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

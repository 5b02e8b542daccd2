//! The actor of a request: the bearer of a credential.

use crate::{opaque_token::TokenKind, user::User};
use rolegate_proto::{Reason, Role};

#[derive(Clone, Debug)]
pub(crate) struct Actor {
    /// The user has the stored role here, or that of the key if it is lower.
    pub(crate) user: User,
    /// The stored role if it has no effect: this service does not have it, or it needs a second factor that the user does
    /// not have. The role of `user` is [`Role::USER`] then.
    pub(crate) ineffective_role: Option<Role>,
    /// The opaque token by which the user acts; `None` for an access token.
    pub(crate) token: Option<ActorToken>,
    /// When the credential ends, in Unix seconds; `None` for never.
    pub(crate) expires_at: Option<u64>,
    /// When the user was read, in Unix seconds.
    pub(crate) at: u64,
}

/// Identifies the API key or the session by which a user acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActorToken {
    pub(crate) kind: TokenKind,
    pub(crate) id: i64,
}

impl Actor {
    /// The id of the API key by which the user acts.
    pub(crate) fn key_id(&self) -> Option<i64> {
        self.token_id(TokenKind::ApiKey)
    }

    /// The id of the session by which the user acts.
    pub(crate) fn session_id(&self) -> Option<i64> {
        self.token_id(TokenKind::Session)
    }

    fn token_id(&self, kind: TokenKind) -> Option<i64> {
        let token = self.token.filter(|token| token.kind == kind)?;
        Some(token.id)
    }

    /// Refuses an API key, for what only a person may do.
    pub(crate) fn require_person(self) -> Result<Self, Reason> {
        if self.key_id().is_some() {
            return Err(Reason::RoleInsufficient);
        }
        Ok(self)
    }

    /// Refuses a change of this user by one of the user's own API keys, which must not lock the user out.
    pub(crate) fn refuse_own_key(&self, user_id: i64) -> Result<(), Reason> {
        if self.key_id().is_some() && user_id == self.user.id {
            return Err(Reason::RoleInsufficient);
        }
        Ok(())
    }
}

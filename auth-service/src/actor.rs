//! Who acts: the bearer of a credential.

use crate::{opaque_token::TokenKind, user::User};
use rolegate_proto::Role;

#[derive(Clone, Debug)]
pub(crate) struct Actor {
    /// With the stored role, or that of the key if it is lower.
    pub(crate) user: User,
    /// The stored role if it does not count here; that of `user` is [`Role::USER`] then.
    pub(crate) unknown_role: Option<Role>,
    /// The kind and the id of the opaque token by which the user acts; `None` for an access token.
    pub(crate) token: Option<(TokenKind, i64)>,
    /// When the credential ends, in Unix seconds; `None` for never.
    pub(crate) expires_at: Option<u64>,
    /// When the user was read, in Unix seconds.
    pub(crate) at: u64,
}

impl Actor {
    pub(crate) fn key_id(&self) -> Option<i64> {
        self.token
            .filter(|(kind, _)| *kind == TokenKind::ApiKey)
            .map(|(_, id)| id)
    }

    pub(crate) fn session_id(&self) -> Option<i64> {
        self.token
            .filter(|(kind, _)| *kind == TokenKind::Session)
            .map(|(_, id)| id)
    }
}

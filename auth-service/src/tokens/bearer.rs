//! The bearer of an API key or a session: what a decision needs to know about the token, and its user.

use super::opaque_token::TokenKind;
use crate::user::User;
use rolegate_proto::{GroupName, Role};

/// The properties of a stored token that a decision needs, and the user of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBearer {
    /// The digest of the token, in hex.
    pub digest: String,
    /// The id of the token.
    pub token_id: i64,
    /// The time at which the token expires, in Unix seconds like the times below; `None` if it never does.
    pub expires_at: Option<u64>,
    /// The time at which the token was last used, or was created if it was never used.
    pub last_used_at: u64,
    /// The kind of the token, with the properties that bound only this kind.
    pub bounds: TokenBounds,
    /// The user who acts with the token, as stored.
    pub user: User,
}

/// The kind of a token, with those of its properties that a decision needs. `TokenDetails` also has the properties that
/// only lists show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenBounds {
    /// The token is an API key.
    ApiKey {
        /// The highest role that the key grants; `None` if it grants the user's role.
        role: Option<Role>,
        /// The groups that the key has, as far as its user is in them; `None` if the key names no groups.
        groups: Option<Vec<GroupName>>,
    },
    /// The token is a session.
    Session {
        /// See [`SessionDetails::not_before`](super::SessionDetails::not_before).
        not_before: u64,
        /// See [`SessionDetails::cookie_only`](super::SessionDetails::cookie_only).
        cookie_only: bool,
    },
}

impl TokenBearer {
    pub(crate) fn kind(&self) -> TokenKind {
        match self.bounds {
            TokenBounds::ApiKey { .. } => TokenKind::ApiKey,
            TokenBounds::Session { .. } => TokenKind::Session,
        }
    }

    /// Returns whether the token is valid at this time, in Unix seconds: its user is not disabled, and the token
    /// is neither revoked nor expired. The idle limit of sessions is not checked here.
    pub(crate) fn is_active_at(&self, at: u64) -> bool {
        let is_revoked = match self.bounds {
            TokenBounds::ApiKey { .. } => false,
            TokenBounds::Session { not_before, .. } => not_before != self.user.tokens_not_before,
        };
        let is_expired = self.expires_at.is_some_and(|end| at >= end);
        !self.user.disabled && !is_revoked && !is_expired
    }

    /// Returns whether the token may be presented only in a cookie.
    pub(crate) fn is_cookie_only(&self) -> bool {
        matches!(
            self.bounds,
            TokenBounds::Session {
                cookie_only: true,
                ..
            }
        )
    }

    /// Returns the user with the role and the groups that the token grants. The role is the lower of the stored role and
    /// the token's. A key has those of its groups that the user is in; without groups, a key with a role has none, and a
    /// key without a role has all groups of its user.
    pub(crate) fn into_bounded_user(self) -> User {
        let mut user = self.user;
        if let TokenBounds::ApiKey { role, groups } = self.bounds {
            match groups {
                Some(groups) => user.memberships.retain(|it| groups.contains(&it.group)),
                None if role.is_some() => user.memberships.clear(),
                None => {}
            }
            user.role = role.map_or(user.role, |bound| bound.lower(user.role));
        }
        user
    }
}

#[cfg(test)]
mod tests;

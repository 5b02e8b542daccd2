//! Makes tokens for tests, with digests of their choice.

use super::{NewPasswordLink, NewToken, SecretKind, SessionDetails, TokenDetails};
use crate::{
    change::{NewTokens, TokenChange},
    user::User,
};

impl NewToken {
    /// Returns an API key of the user with this id, which never expires.
    pub(crate) fn key(user_id: i64, digest: &str) -> Self {
        let details = TokenDetails::ApiKey {
            role: None,
            groups: None,
            created_by: None,
        };
        Self::with_digest(SecretKind::ApiKey, user_id, digest, details)
    }

    /// Returns a session of a user as the user was read. It expires at the end of all times.
    pub(crate) fn session(user: &User, digest: &str) -> Self {
        let details = SessionDetails {
            not_before: user.tokens_not_before,
            ..SessionDetails::default()
        };
        let details = TokenDetails::Session(details);
        let mut new = Self::with_digest(SecretKind::Session, user.id, digest, details);
        new.stored.expires_at = Some(i64::MAX.unsigned_abs());
        new
    }

    fn with_digest(
        kind: SecretKind<'_>,
        user_id: i64,
        digest: &str,
        details: TokenDetails,
    ) -> Self {
        let made = Self::generate(kind, user_id, String::new(), 7, details).expect("randomness");
        Self {
            digest: digest.to_owned(),
            ..made
        }
    }

    /// Returns what only a session has, to change it.
    pub(crate) fn session_mut(&mut self) -> &mut SessionDetails {
        match &mut self.stored.details {
            TokenDetails::Session(details) => details,
            TokenDetails::ApiKey { .. } => panic!("a session"),
        }
    }
}

impl NewPasswordLink {
    /// Returns a link with this digest, which expires at this time.
    pub(crate) fn with_digest(digest: &str, expires_at: u64) -> Self {
        Self {
            token: digest.into(),
            digest: digest.to_owned(),
            expires_at,
        }
    }
}

impl TokenChange {
    /// Returns the change that inserts these tokens, which are of one kind and user.
    pub(crate) fn create(tokens: Vec<NewToken>) -> Self {
        let first = &tokens[0].stored;
        Self::Create(NewTokens {
            user_id: first.user_id,
            kind: first.kind(),
            created_at: first.created_at,
            tokens,
        })
    }
}

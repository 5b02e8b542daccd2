//! The trait for the stored tokens: API keys, sessions, password links and pending sign-ins.

use super::{StoreError, UsagePause, WriteError};
use crate::{
    audit::Requested,
    change::TokenChange,
    tokens::{OpaqueToken, StoredPasswordLink, TokenBearer, TokenKind},
    user::User,
};
use async_trait::async_trait;
use rolegate_sql_store::{Store, Timed};
use std::{ops::Range, sync::Arc};

/// The kind of credential that was used. The store keeps the time of the last use of each token and of each user's
/// password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UsageKind {
    /// A caller has presented a token. The time is stored as `last_used_at` of the token.
    Token,
    /// A user has logged in with the password. The time is stored as `last_login_at` of the user.
    Password,
}

/// The contract of a database of API keys, sessions, password links and pending sign-ins, each of which belongs to one
/// user.
#[async_trait]
pub(crate) trait TokenStore: Store {
    /// Makes a change of tokens under the condition of its principal, and records it. Returns the changed tokens by
    /// ascending id.
    ///
    /// Without the condition, a stolen token could create another token after the logout that was meant to revoke it,
    /// and an old password could create a session.
    async fn change_tokens(
        &self,
        request: Arc<Requested<TokenChange>>,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

    /// Reads the tokens with these digests at one moment, each with its user. Returns them in any order, and omits
    /// unknown digests.
    async fn tokens_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<TokenBearer>>, StoreError>;

    /// Returns the tokens of a user by ascending id.
    async fn tokens_of_user(
        &self,
        kind: TokenKind,
        user_id: i64,
    ) -> Result<Timed<Vec<OpaqueToken>>, StoreError>;

    /// Inserts a pending sign-in of this user, whose password was verified at the time `user.at`. Also deletes the
    /// user's expired pending sign-ins, and the oldest ones beyond [`MAX_PENDING_SIGN_INS`](crate::tokens::MAX_PENDING_SIGN_INS). Fails if the user is
    /// disabled, if the second factor is off, or if the user's tokens were revoked since `user` was read.
    async fn insert_pending_sign_in(
        &self,
        user: &Timed<User>,
        digest: String,
    ) -> Result<(), WriteError>;

    /// Returns the user of the pending sign-in with this digest; `None` if there is none that a code can complete. A
    /// pending sign-in ends after [`PENDING_SIGN_IN_SECONDS`](crate::tokens::PENDING_SIGN_IN_SECONDS), when it is used, when the tokens of the user are
    /// revoked, and when the second factor is turned off or enrolled again.
    async fn pending_sign_in(&self, digest: &str) -> Result<Timed<Option<User>>, StoreError>;

    /// Returns the link with this digest, even if it has expired or its user is disabled; `None` if there is no such
    /// link.
    async fn password_link(
        &self,
        digest: &str,
    ) -> Result<Timed<Option<StoredPasswordLink>>, StoreError>;

    /// Restricts these sessions to cookies. From then on, the API does not accept them as bearer tokens.
    async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError>;

    /// Deletes the sessions with these ids whose last use, in Unix seconds, is outside `active_range`.
    ///
    /// Returns the given ids that no session has any more, whether this call or an earlier write deleted the session.
    /// The deletions are not recorded, because no user made them: the sessions ended for lack of use. If this call
    /// fails with [`StoreError::ReadOnly`], uses cannot be written either, and [`Self::unwritten_since`] returns a time
    /// from then on.
    async fn delete_idle_sessions(
        &self,
        ids: &[i64],
        active_range: Range<u64>,
    ) -> Result<Vec<i64>, StoreError>;

    /// Keeps the time of a use, in Unix seconds, in memory until it is written to the database, and returns at once.
    /// `id` is the id of a token or of a user. The last uses of all tokens and users are written together once a
    /// minute, and by `close`. A stored time never decreases.
    fn note_use(&self, kind: UsageKind, id: i64, at: u64);

    /// Returns the time of the last use of this token or user, in Unix seconds, if this process has not written it yet;
    /// otherwise `None`.
    fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64>;

    /// Returns the time at which uses of tokens could last be written, in Unix seconds; `None` if they can be written
    /// now.
    ///
    /// For a while after writes succeed again, this function still returns the time. Other replicas may not yet have
    /// written the uses that they kept in memory.
    fn unwritten_since(&self) -> Option<u64>;

    /// Returns the latest usage pauses that are over. During each of them, uses of tokens could not be written.
    async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError>;
}

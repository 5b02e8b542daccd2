//! The trait for opaque tokens, which are API keys and sessions.

use super::{StoreError, UsagePause, WriteError, Writer};
use crate::{
    audit::Write,
    opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind},
};
use async_trait::async_trait;
use rolegate_sql_store::{Store, Timed};
use std::ops::Range;

/// Selects the sessions that end when the session in a cookie ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    Alone,
    /// If the sign-in created two sessions, the other one ends as well.
    WithPairs,
}

/// Selects tokens of one kind and user. Two sessions that one sign-in created are a pair. They have the same `pair_id`,
/// and are always selected together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenSelection {
    /// Selects the token with this id.
    One(i64),
    All,
    /// Selects all tokens but the one with this id.
    AllBut(i64),
}

/// The kind of credential that was used. The store keeps the time of the last use of each token and of each user's
/// password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UsageKind {
    /// A caller has presented a token. The time is stored as `last_used_at` of the token.
    Token,
    /// A user has logged in with the password. The time is stored as `last_login_at` of the user.
    Password,
}

/// The contract of a database of API keys and sessions, each of which belongs to one user.
#[async_trait]
pub(crate) trait TokenStore: Store {
    /// Inserts a token if the condition of `writer` holds.
    ///
    /// Without the condition, a stolen token could create another token after the logout that was meant to revoke it,
    /// and an old password could create a session. A user has at most
    /// [`MAX_API_KEYS`](rolegate_proto::limits::MAX_API_KEYS) keys; another one fails with [`WriteError::ApiKeyLimit`].
    /// A user has at most [`MAX_SESSIONS`](rolegate_proto::limits::MAX_SESSIONS) sessions; another one ends the session
    /// that has been idle longest. Unless the operator inserts the token, the user can have at most
    /// [`MAX_ADDITIONS`](super::additions::MAX_ADDITIONS) additions in a minute.
    async fn insert_token(
        &self,
        token: NewToken,
        writer: Writer,
        write: Write,
    ) -> Result<OpaqueToken, WriteError> {
        let inserted = self.insert_tokens(vec![token], writer, write).await?;
        inserted.into_iter().next().ok_or(WriteError::ApiKeyLimit)
    }

    /// Inserts several tokens of one kind and user under the conditions of [`Self::insert_token`]. Inserts all of them
    /// or none, and returns them in the given order.
    async fn insert_tokens(
        &self,
        tokens: Vec<NewToken>,
        writer: Writer,
        write: Write,
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

    /// Restricts these sessions to cookies. From then on, the API does not accept them as bearer tokens.
    async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError>;

    /// Deletes tokens of a user and returns them by ascending id. `actor` is the admin who deletes tokens of another
    /// user, and must still be an admin. Without an actor, the user or the operator deletes the tokens.
    async fn delete_tokens(
        &self,
        kind: TokenKind,
        actor: Option<i64>,
        user_id: i64,
        selection: TokenSelection,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

    /// Deletes the sessions with these digests, whichever users they belong to, and the other sessions that `extent`
    /// selects. Deletes all of them in one statement, and returns them by ascending id.
    async fn end_sessions_by_digest(
        &self,
        digests: &[String],
        extent: SessionEnd,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

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

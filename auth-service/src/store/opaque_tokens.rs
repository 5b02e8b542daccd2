//! The trait for opaque tokens, which are API keys and sessions.

use super::{StoreError, UsagePause, WriteError, Writer};
use crate::{
    audit::Write,
    opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind},
};
use async_trait::async_trait;
use rolegate_sql_store::{Store, Timed};
use std::ops::Range;

/// Says which sessions end when the session in a cookie ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    Alone,
    /// The other session of the same sign-in ends too, if the sign-in made two.
    WithPairs,
}

/// Selects tokens of one kind and user. Two sessions that one sign-in made are a pair: they have the same `pair_id`,
/// and are always selected together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenSelection {
    /// Selects the token with this id.
    One(i64),
    All,
    /// Selects all tokens but the one with this id.
    AllBut(i64),
}

/// The kind of a use whose time is stored. The id of a use belongs to a token or to a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UsageKind {
    /// The token with this id was presented. The time is stored as `last_used_at`.
    Token,
    /// The user with this id has logged in with the password. The time is stored as `last_login_at`.
    Password,
}

/// The contract of a database of tokens, each of which belongs to one user.
#[async_trait]
pub(crate) trait TokenStore: Store {
    /// Inserts a token if the condition of `writer` holds.
    ///
    /// Without the condition, a stolen token could make another one after the logout that was to end it, and an old
    /// password could make a session. A user has at most [`MAX_API_KEYS`](rolegate_proto::limits::MAX_API_KEYS) keys,
    /// and at most [`MAX_SESSIONS`](rolegate_proto::limits::MAX_SESSIONS) sessions: a new session ends the one that has
    /// been idle longest. All writers except the operator can add at most
    /// [`MAX_ADDITIONS`](super::additions::MAX_ADDITIONS) in a minute.
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

    /// Restricts these sessions to cookies. The API never accepts them as tokens again.
    async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError>;

    /// Deletes tokens of a user and returns them by ascending id. `actor` is the admin who deletes tokens of another
    /// user, and must still be an admin. Without an actor, users delete their own tokens.
    async fn delete_tokens(
        &self,
        kind: TokenKind,
        actor: Option<i64>,
        user_id: i64,
        selection: TokenSelection,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

    /// Deletes the sessions with these digests, of any users, in one statement. Returns them by ascending id.
    async fn end_sessions_by_digest(
        &self,
        digests: &[String],
        extent: SessionEnd,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

    /// Deletes those of these sessions whose last use, in Unix seconds, is outside `active_range`.
    ///
    /// Returns which of the ids no longer exist, whether this call or another one deleted them. The deletions are not
    /// recorded, because the sessions have ended by time. If this fails with [`StoreError::ReadOnly`], uses cannot be
    /// written either, and [`Self::unwritten_since`] says so from then on.
    async fn delete_idle_sessions(
        &self,
        ids: &[i64],
        active_range: Range<u64>,
    ) -> Result<Vec<i64>, StoreError>;

    /// Notes a use at this time, in Unix seconds, without waiting. The last uses of all tokens and users are written
    /// together once a minute, and by `close`. A stored time never decreases.
    fn note_use(&self, kind: UsageKind, id: i64, at: u64);

    /// Returns the last use that this process has noted but not written yet, in Unix seconds.
    fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64>;

    /// Returns when uses of tokens could be written for the last time, in Unix seconds; `None` if they can be written
    /// now.
    ///
    /// The time is returned while writes fail and a while longer, because other replicas may not have written their
    /// uses since then.
    fn unwritten_since(&self) -> Option<u64>;

    /// Returns the usage pauses that are over. During each of them, uses of tokens could not be written.
    async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError>;
}

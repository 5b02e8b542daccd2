//! The part of the store about opaque tokens: API keys and sessions.

use super::{StoreError, UsagePause, WriteError, Writer};
use crate::{
    audit::Write,
    opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind},
};
use async_trait::async_trait;
use rolegate_sql_store::{Store, Timed};
use std::ops::Range;

/// What ends with a session that a cookie presents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    Alone,
    /// The other session of the same sign-in too, if it made two.
    WithPairs,
}

/// Tokens of one kind and user. Two sessions that one sign-in made are a pair, with the same `pair_id`, and are selected
/// together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenSelection {
    /// The one with this id.
    One(i64),
    All,
    /// All but the one with this id.
    AllBut(i64),
}

/// What a use is of, whose last time is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UsageKind {
    /// A token, by its id: `last_used_at`.
    Token,
    /// The password of the user with this id, to log in: `last_login_at`.
    Password,
}

/// A database of tokens, each of one user.
#[async_trait]
pub(crate) trait TokenStore: Store {
    /// Inserts a token if the condition of `writer` holds: otherwise one could be made with a stolen token
    /// after the logout that was to end it, or with an old password. A user has at most
    /// [`MAX_API_KEYS`](rolegate_proto::limits::MAX_API_KEYS) keys, and
    /// [`MAX_SESSIONS`](rolegate_proto::limits::MAX_SESSIONS) sessions: a new one ends the one that has
    /// been idle longest. Of writers other than the operator, at most
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

    /// The same of several tokens of one kind and user, of which all are inserted or none; in their order.
    async fn insert_tokens(
        &self,
        tokens: Vec<NewToken>,
        writer: Writer,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

    /// The tokens with these digests, each with its user, read at once; in any order, without unknown
    /// digests.
    async fn tokens_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<TokenBearer>>, StoreError>;

    /// The tokens of a user by ascending id.
    async fn tokens_of_user(
        &self,
        kind: TokenKind,
        user_id: i64,
    ) -> Result<Timed<Vec<OpaqueToken>>, StoreError>;

    /// Makes these sessions good in cookies only. They never become tokens of the API again.
    async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError>;

    /// Deletes tokens of the user and returns them by ascending id. `actor` is the admin who deletes those of another user,
    /// and must still be one; `None` stands for the user, who deletes their own.
    async fn delete_tokens(
        &self,
        kind: TokenKind,
        actor: Option<i64>,
        user_id: i64,
        selection: TokenSelection,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

    /// Deletes and returns the sessions with these digests, of any users, by ascending id, in one statement.
    async fn end_sessions_by_digest(
        &self,
        digests: &[String],
        extent: SessionEnd,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError>;

    /// Deletes those of these sessions whose last use, in Unix seconds, is outside of the range. Returns the ids that
    /// no longer exist, whoever deleted them. They ended by time, which is not recorded. After
    /// [`StoreError::ReadOnly`], [`Self::unwritten_since`] knows that uses cannot be written either.
    async fn delete_idle_sessions(
        &self,
        ids: &[i64],
        active_range: Range<u64>,
    ) -> Result<Vec<i64>, StoreError>;

    /// Notes a use, at this time in Unix seconds. Does not wait: the last uses of all are written together
    /// once a minute, and by `close`. They never decrease.
    fn note_use(&self, kind: UsageKind, id: i64, at: u64);

    /// The last use that is noted here and not written yet, in Unix seconds.
    fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64>;

    /// The time in Unix seconds since which uses of tokens could not be written, while writes fail and a while after.
    /// Uses on other replicas may be unknown since then.
    fn unwritten_since(&self) -> Option<u64>;

    /// When uses of tokens could not be written, as far as that is over.
    async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError>;
}

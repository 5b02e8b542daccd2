//! Deletes sessions that were not used for too long.

use super::wait_briefly;
use crate::{
    accounts::service::Accounts,
    opaque_token::{TokenBearer, TokenKind},
    store::{StoreError, UsageKind, UsagePause, active_last_use_range},
};
use std::ops::Range;

/// A session that was not used for too long, and must be refused.
pub(crate) struct IdleSession {
    pub(crate) id: i64,
    /// The error for requests with this session if the session could not be ended; `None` if they
    /// are refused because the session is no longer valid.
    pub(crate) error: Option<StoreError>,
}

/// The time at which a session was last used, in Unix seconds, as far as this replica knows.
struct LastUse {
    session_id: i64,
    at: u64,
}

impl Accounts {
    /// Deletes those of these sessions that have been idle for longer than the limit, and returns
    /// them. Other kinds of tokens are ignored. The sessions are deleted so that a clock that is set
    /// back later does not make them valid again.
    ///
    /// Time during which uses could not be written does not count, because this replica cannot know
    /// whether another replica has seen a use. Each access to the store is limited to a short time,
    /// because a decision, or a whole batch of them, waits for the result. If the store fails, the
    /// sessions that seem idle are returned with an error.
    pub(crate) async fn end_idle_sessions<'t>(
        &self,
        at: u64,
        tokens: impl Iterator<Item = &'t TokenBearer>,
    ) -> Vec<IdleSession> {
        let range_without_pauses = active_last_use_range(at, self.policy.sessions.idle, Vec::new());
        let seem_idle: Vec<LastUse> = tokens
            .filter(|token| token.kind() == TokenKind::Session)
            .map(|token| self.last_use(token))
            .filter(|session| !range_without_pauses.contains(&session.at))
            .collect();
        if seem_idle.is_empty() {
            return Vec::new();
        }
        match self.end_if_idle(at, &seem_idle).await {
            Ok(sessions) => sessions,
            Err(_) => not_ended(seem_idle.into_iter().map(|session| session.session_id)),
        }
    }

    fn last_use(&self, token: &TokenBearer) -> LastUse {
        let noted = self.store.unwritten_use(UsageKind::Token, token.token_id);
        LastUse {
            session_id: token.token_id,
            at: token.last_used_at.max(noted.unwrap_or_default()),
        }
    }

    /// Deletes the sessions that are idle, not counting the time during which uses could not be
    /// written. Returns the idle sessions; those that could not be deleted have an error. Fails if
    /// the store does not return the usage pauses in time.
    async fn end_if_idle(
        &self,
        at: u64,
        seem_idle: &[LastUse],
    ) -> Result<Vec<IdleSession>, StoreError> {
        let active_range = wait_briefly(self.active_last_use_range(at)).await?;
        let idle = idle_ids(seem_idle, &active_range);
        if idle.is_empty() {
            return Ok(Vec::new());
        }
        let ended = match wait_briefly(self.store.delete_idle_sessions(&idle, active_range)).await {
            Ok(ended) => ended,
            // This error may be the first sign that the database cannot be written. The range is
            // computed again with this outage as a pause. Sessions that were idle before the outage
            // are refused, although they are not deleted.
            Err(StoreError::ReadOnly(_)) => {
                let active_range = wait_briefly(self.active_last_use_range(at)).await?;
                idle_ids(seem_idle, &active_range)
            }
            Err(_) => return Ok(not_ended(idle.into_iter())),
        };
        let ended = ended.into_iter();
        Ok(ended.map(|id| IdleSession { id, error: None }).collect())
    }

    /// Returns the range in which the last use of an active session lies, in Unix seconds. A
    /// session with a last use outside of this range is idle.
    pub(super) async fn active_last_use_range(&self, at: u64) -> Result<Range<u64>, StoreError> {
        let mut pauses = self.store.usage_pauses().await?;
        if let Some(began) = self.store.unwritten_since() {
            pauses.push(UsagePause { began, ended: at });
        }
        Ok(active_last_use_range(at, self.policy.sessions.idle, pauses))
    }
}

/// Returns the ids of the sessions with a last use outside of this range.
fn idle_ids(sessions: &[LastUse], active_range: &Range<u64>) -> Vec<i64> {
    sessions
        .iter()
        .filter(|session| !active_range.contains(&session.at))
        .map(|session| session.session_id)
        .collect()
}

/// Marks sessions that could not be deleted. Their requests fail with a timeout, whatever the error
/// was, because a request that only reads must not report the error of a write.
fn not_ended(session_ids: impl Iterator<Item = i64>) -> Vec<IdleSession> {
    session_ids
        .map(|id| IdleSession {
            id,
            error: Some(StoreError::TimedOut),
        })
        .collect()
}

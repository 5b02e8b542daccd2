//! Deletes sessions that were not used for too long.

use super::{Authorizer, wait_briefly};
use crate::{
    store::{StoreError, UsageKind, UsagePause, active_last_use_range},
    tokens::{TokenBearer, TokenKind},
};
use std::ops::Range;

/// The sessions that were not used for too long, and must be refused.
#[derive(Default)]
pub(crate) struct IdleSessions {
    pub(crate) ids: Vec<i64>,
    /// True if the store failed to tell whether they are idle, or to delete them. Their requests then fail with a
    /// timeout, whatever the error was, because a request that only reads must not report the error of a write.
    pub(crate) has_store_failed: bool,
}

/// The time at which a session was last used, in Unix seconds, as far as this replica knows.
struct LastUse {
    session_id: i64,
    at: u64,
}

impl Authorizer {
    /// Deletes those of these sessions that have been idle for longer than the limit, and returns
    /// them. Other kinds of tokens are ignored. The sessions are deleted so that a clock that is set
    /// back later does not make them valid again.
    ///
    /// Time during which uses could not be written does not count, because this replica cannot know
    /// whether another replica has seen a use. Each access to the store is limited to a short time,
    /// because a decision, or a whole batch of them, waits for the result. If the store fails, all
    /// sessions that seem idle are returned.
    pub(crate) async fn end_idle_sessions<'t>(
        &self,
        at: u64,
        tokens: impl Iterator<Item = &'t TokenBearer>,
    ) -> IdleSessions {
        let range_without_pauses = active_last_use_range(at, self.policy.sessions.idle, Vec::new());
        let seem_idle: Vec<LastUse> = tokens
            .filter(|token| token.kind() == TokenKind::Session)
            .map(|token| self.last_use(token))
            .filter(|session| !range_without_pauses.contains(&session.at))
            .collect();
        if seem_idle.is_empty() {
            return IdleSessions::default();
        }
        self.end_if_idle(at, &seem_idle)
            .await
            .unwrap_or_else(|_| IdleSessions {
                ids: idle_ids(&seem_idle, &range_without_pauses),
                has_store_failed: true,
            })
    }

    fn last_use(&self, token: &TokenBearer) -> LastUse {
        let noted = self.store.unwritten_use(UsageKind::Token, token.token_id);
        LastUse {
            session_id: token.token_id,
            at: token.last_used_at.max(noted.unwrap_or_default()),
        }
    }

    /// Deletes the sessions that are idle, not counting the time during which uses could not be
    /// written. Returns the idle sessions. Fails if the store does not return the usage pauses in
    /// time.
    async fn end_if_idle(
        &self,
        at: u64,
        seem_idle: &[LastUse],
    ) -> Result<IdleSessions, StoreError> {
        let active_range = wait_briefly(self.active_last_use_range(at)).await?;
        let mut idle = IdleSessions {
            ids: idle_ids(seem_idle, &active_range),
            has_store_failed: false,
        };
        if idle.ids.is_empty() {
            return Ok(idle);
        }
        match wait_briefly(self.store.delete_idle_sessions(&idle.ids, active_range)).await {
            Ok(ended) => idle.ids = ended,
            // This error may be the first sign that the database cannot be written. The range is
            // computed again with this outage as a pause. Sessions that were idle before the outage
            // are refused, although they are not deleted.
            Err(StoreError::ReadOnly(_)) => {
                let active_range = wait_briefly(self.active_last_use_range(at)).await?;
                idle.ids = idle_ids(seem_idle, &active_range);
            }
            Err(_) => idle.has_store_failed = true,
        }
        Ok(idle)
    }

    /// Returns the range in which the last use of an active session lies, in Unix seconds. A
    /// session with a last use outside of this range is idle.
    pub(crate) async fn active_last_use_range(&self, at: u64) -> Result<Range<u64>, StoreError> {
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

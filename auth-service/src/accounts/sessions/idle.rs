//! Ends sessions that were not used for too long.

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
    /// Why the session could not be ended; `None` if it was.
    pub(crate) error: Option<StoreError>,
}

/// When a session was last used, in Unix seconds, as far as this replica knows.
struct LastUse {
    session_id: i64,
    at: u64,
}

impl Accounts {
    /// Deletes the sessions among these tokens that were not used for too long, and returns them.
    /// They are deleted so that a clock that is set back later does not make them valid again.
    ///
    /// Time during which uses could not be written does not count, because this replica cannot know
    /// of later uses on other replicas then. It waits only briefly for a slow store, because a
    /// decision waits for this, or a whole batch of decisions.
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

    /// Deletes the idle sessions among those that seem idle, without counting pauses during which
    /// uses could not be written.
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
            // This error may be the first sign that the database cannot be written. The pause
            // begins only now, so sessions that were idle before are still refused.
            Err(StoreError::ReadOnly(_)) => {
                let active_range = wait_briefly(self.active_last_use_range(at)).await?;
                idle_ids(seem_idle, &active_range)
            }
            Err(_) => return Ok(not_ended(idle.into_iter())),
        };
        let ended = ended.into_iter();
        Ok(ended.map(|id| IdleSession { id, error: None }).collect())
    }

    /// Computes the range in which the last use of an active session lies, in Unix seconds. A
    /// session whose last use is outside of it is idle.
    pub(super) async fn active_last_use_range(&self, at: u64) -> Result<Range<u64>, StoreError> {
        let mut pauses = self.store.usage_pauses().await?;
        if let Some(began) = self.store.unwritten_since() {
            pauses.push(UsagePause { began, ended: at });
        }
        Ok(active_last_use_range(at, self.policy.sessions.idle, pauses))
    }
}

/// Returns the ids of the sessions whose last use is outside of this range.
fn idle_ids(sessions: &[LastUse], active_range: &Range<u64>) -> Vec<i64> {
    sessions
        .iter()
        .filter(|session| !active_range.contains(&session.at))
        .map(|session| session.session_id)
        .collect()
}

/// Marks sessions that could not be ended. Their requests fail with a timeout, whatever the error
/// was: a request that only reads must not report the error of a write.
fn not_ended(session_ids: impl Iterator<Item = i64>) -> Vec<IdleSession> {
    session_ids
        .map(|id| IdleSession {
            id,
            error: Some(StoreError::TimedOut),
        })
        .collect()
}

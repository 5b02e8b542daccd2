//! Lists the active sessions of a user, one for each sign-in. Restricts sessions to cookies after a
//! client has presented them in a cookie.
//!
//! `idle` deletes sessions that were not used for too long.

pub(super) mod idle;

use super::{error::AccountError, opaque_tokens::ListedTokens, service::Accounts};
use crate::{
    store::{StoreError, UsageKind},
    tokens::{OpaqueToken, TokenBearer, TokenKind},
};
use rolegate_telemetry::{
    log_limiter::LogLimiter, logs::error_chain, request_context::RequestContext,
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// The maximum time that a decision waits for each access to the store that ends idle sessions or
/// restricts sessions to cookies.
const DECISION_WRITE_TIMEOUT: Duration = Duration::from_millis(300);

/// Limits how often a failure to restrict sessions is logged, because any client can cause it again
/// by presenting them.
static RESTRICTION_WARNING: LogLimiter<()> =
    LogLimiter::silent_when_full(1, Duration::from_mins(1));

/// The active sessions of a user.
pub(crate) struct ListedSessions {
    /// The session that the actor presented; `None` for another credential.
    pub(crate) current_id: Option<i64>,
    pub(crate) sessions: Vec<OpaqueToken>,
}

impl Accounts {
    /// Lists the active sessions of the actor. With a user id, lists the active sessions of that
    /// user; the actor must then be an admin.
    /// The two sessions of one sign-in are listed as one, with the later of their last uses. People
    /// want to see where they are signed in, and want to end both sessions at once.
    pub(crate) async fn list_sessions(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<ListedSessions, AccountError> {
        let ListedTokens {
            actor,
            user,
            read_at,
            tokens: mut sessions,
        } = self
            .list_tokens(TokenKind::Session, credential, user_id)
            .await?;
        for session in &mut sessions {
            let noted = self.store.unwritten_use(UsageKind::Token, session.id);
            session.last_used_at = session.last_used_at.max(noted);
        }
        let active_range = self.active_last_use_range(read_at).await?;
        sessions.retain(|session| {
            session.last_used_at.unwrap_or(session.created_at) >= active_range.start
                && session.expires_at.is_none_or(|end| read_at < end)
                && session.not_before == Some(user.tokens_not_before)
        });
        Ok(ListedSessions {
            current_id: actor.session_id(),
            sessions: merge_pairs(sessions),
        })
    }

    /// Returns the time at which the session expires if it is not used again, in Unix seconds.
    pub(crate) fn idle_expires_at(&self, session: &OpaqueToken) -> u64 {
        session.idle_expires_at(self.policy.sessions.idle)
    }

    /// Returns the ids of those tokens that are active sessions and also valid as bearer tokens.
    /// The caller passes tokens from cookies. A process of the previous release created such a
    /// session, or it was created for the API.
    ///
    /// Returns no ids while the database cannot be written, because the sessions cannot be
    /// restricted then.
    pub(super) fn unrestricted_sessions<'t>(
        &self,
        at: u64,
        tokens: impl Iterator<Item = &'t TokenBearer>,
    ) -> Vec<i64> {
        let is_unrestricted = |token: &&TokenBearer| {
            token.kind() == TokenKind::Session && !token.cookie_only && token.is_active_at(at)
        };
        let ids: Vec<i64> = tokens
            .filter(is_unrestricted)
            .map(|token| token.token_id)
            .collect();
        if !ids.is_empty() && self.store.unwritten_since().is_some() {
            return Vec::new();
        }
        ids
    }

    /// Restricts sessions to cookies after a client has presented them in a cookie for
    /// applications. Each application can read this cookie, and must not be able to act as its
    /// visitor by sending the token to the API.
    ///
    /// A decision does not depend on this write and waits only briefly for it, because the next
    /// decision tries again. A failure is only logged.
    pub(super) async fn restrict_to_cookies(&self, ids: &[i64]) {
        let restricted = wait_briefly(self.store.restrict_to_cookies(ids)).await;
        if let Err(error) = restricted
            && RESTRICTION_WARNING.claim(())
        {
            tracing::warn!(
                error = error_chain(&error),
                "cannot stop sessions in cookies from working as bearer tokens"
            );
        }
    }

    /// Restricts sessions in the background, so that the other decisions of a batch do not wait.
    ///
    /// Only one such write runs at a time, because writes must not pile up if the store is slow. If
    /// one is running, these sessions are restricted at their next decision.
    pub(super) fn restrict_to_cookies_in_background(&self, ids: Vec<i64>) {
        let Ok(permit) = Arc::clone(&self.background_restriction).try_acquire_owned() else {
            return;
        };
        let accounts = self.clone();
        tokio::spawn(RequestContext::propagate(async move {
            accounts.restrict_to_cookies(&ids).await;
            drop(permit);
        }));
    }
}

/// Merges the two sessions of a sign-in into the first one, which gets the later of their last
/// uses.
fn merge_pairs(sessions: Vec<OpaqueToken>) -> Vec<OpaqueToken> {
    let mut sign_ins: Vec<OpaqueToken> = Vec::with_capacity(sessions.len());
    for session in sessions {
        let first = sign_ins
            .iter_mut()
            .find(|first| first.pair_id.is_some() && first.pair_id == session.pair_id);
        match first {
            Some(first) => first.last_used_at = first.last_used_at.max(session.last_used_at),
            None => sign_ins.push(session),
        }
    }
    sign_ins
}

/// Waits for the response of the store, and fails after [`DECISION_WRITE_TIMEOUT`].
async fn wait_briefly<T>(
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(DECISION_WRITE_TIMEOUT, answer)
        .await
        .unwrap_or(Err(StoreError::TimedOut))
}

//! Sessions: listed, restricted to cookies, and ended by time.

use super::{error::AccountError, service::Accounts};
use crate::{
    actor::Actor,
    opaque_token::{OpaqueToken, TokenBearer, TokenKind},
    store::{StoreError, UsageKind, UsagePause, uses_in_time},
};
use rolegate_sql_store::Timed;
use rolegate_telemetry::{log_once::LogOnce, logs::error_chain, request_context::RequestContext};
use std::{ops::Range, sync::Arc, time::Duration};
use tokio::time::timeout;

/// Limits how often it is logged that sessions cannot be restricted: any client can present them again.
static UNRESTRICTED: LogOnce<()> = LogOnce::at_most(1, Duration::from_mins(1));

/// How long a decision waits for the end of an idle session, or until one in a cookie is restricted.
const IDLE_TIMEOUT: Duration = Duration::from_millis(300);

/// The id of a session without use for too long, and why it could not be ended.
pub(super) type IdleSession = (i64, Option<StoreError>);

/// When a session was last used, in Unix seconds, as far as this replica knows.
struct LastUse {
    session_id: i64,
    at: u64,
}

impl Accounts {
    /// The sessions of the actor, or of the user with this id, for an admin, that have not ended. Those that one sign-in
    /// made are one, with the last use of either: people see where they are signed in, and end both by it.
    pub(crate) async fn list_sessions(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<(Actor, Vec<OpaqueToken>), AccountError> {
        let (
            actor,
            user,
            Timed {
                at,
                value: mut sessions,
            },
        ) = self
            .list_tokens(TokenKind::Session, credential, user_id)
            .await?;
        for session in &mut sessions {
            let noted = self.store.unwritten_use(UsageKind::Token, session.id);
            session.last_used_at = session.last_used_at.max(noted);
        }
        let in_use = self.uses_in_time(at).await?;
        sessions.retain(|session| {
            session.last_used_at.unwrap_or(session.created_at) >= in_use.start
                && session.expires_at.is_none_or(|end| at < end)
                && session.not_before == Some(user.tokens_not_before)
        });
        let mut sign_ins: Vec<OpaqueToken> = Vec::with_capacity(sessions.len());
        for session in sessions {
            let is_same =
                |it: &&mut OpaqueToken| it.pair_id.is_some() && it.pair_id == session.pair_id;
            match sign_ins.iter_mut().find(is_same) {
                Some(first) => first.last_used_at = first.last_used_at.max(session.last_used_at),
                None => sign_ins.push(session),
            }
        }
        Ok((actor, sign_ins))
    }

    /// When a session ends unless it is used, in Unix seconds.
    pub(crate) fn idle_expires_at(&self, session: &OpaqueToken) -> u64 {
        session.idle_expires_at(self.policy.sessions.idle)
    }

    /// The sessions among these tokens of cookies that are also good as bearer tokens: a process of the version before made
    /// them, or they were made for the API. None while nothing can be written, because they could not be restricted.
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

    /// Restricts these sessions, which a cookie of applications presented, to cookies. An application can read its cookie,
    /// and must not be able to act as its visitors by it. A decision does not depend on this write, and does not wait long
    /// for it: the next decision tries it again.
    pub(super) async fn restrict_to_cookies(&self, ids: &[i64]) {
        let restricted = soon(self.store.restrict_to_cookies(ids)).await;
        if let Err(error) = restricted
            && UNRESTRICTED.is_due(())
        {
            let error = error_chain(&error);
            tracing::warn!(error, "cannot restrict sessions in cookies to cookies");
        }
    }

    /// The same without waiting, so that no other decision of a batch waits. While one such write runs, sessions of other
    /// batches are left for their next decision: a store that is slow must not collect writes.
    pub(super) fn restrict_to_cookies_beside(&self, ids: Vec<i64>) {
        let Ok(permit) = Arc::clone(&self.restrictions).try_acquire_owned() else {
            return;
        };
        let accounts = self.clone();
        tokio::spawn(RequestContext::propagate(async move {
            accounts.restrict_to_cookies(&ids).await;
            drop(permit);
        }));
    }

    /// Deletes the sessions among these tokens that were not used for too long, so that they do not live again,
    /// whatever the clock says later. Time during which uses could not be written does not count: later uses on other
    /// replicas are unknown. Others do not wait long for a store that is slow.
    pub(super) async fn end_idle_sessions<'t>(
        &self,
        at: u64,
        tokens: impl Iterator<Item = &'t TokenBearer>,
    ) -> Vec<IdleSession> {
        let without_pauses = uses_in_time(at, self.policy.sessions.idle, Vec::new());
        let seem_idle: Vec<LastUse> = tokens
            .filter(|token| token.kind() == TokenKind::Session)
            .map(|token| self.last_use(token))
            .filter(|session| !without_pauses.contains(&session.at))
            .collect();
        if seem_idle.is_empty() {
            return Vec::new();
        }
        self.end_if_idle(at, &seem_idle)
            .await
            .unwrap_or_else(|_| failed(seem_idle.iter().map(|session| session.session_id)))
    }

    fn last_use(&self, token: &TokenBearer) -> LastUse {
        let noted = self.store.unwritten_use(UsageKind::Token, token.token_id);
        LastUse {
            session_id: token.token_id,
            at: token.last_used_at.max(noted.unwrap_or_default()),
        }
    }

    /// Ends those of these sessions that are idle, also by what is known of uses that could not be written.
    async fn end_if_idle(
        &self,
        at: u64,
        seem_idle: &[LastUse],
    ) -> Result<Vec<IdleSession>, StoreError> {
        let idle = |in_use: &Range<u64>| -> Vec<i64> {
            let idle = seem_idle.iter().filter(|it| !in_use.contains(&it.at));
            idle.map(|session| session.session_id).collect()
        };
        let in_use = soon(self.uses_in_time(at)).await?;
        let to_end = idle(&in_use);
        if to_end.is_empty() {
            return Ok(Vec::new());
        }
        let ended = match soon(self.store.delete_idle_sessions(&to_end, in_use)).await {
            Ok(ended) => ended,
            // Only now it is known that nothing can be written. Those that were idle before are refused all the same.
            Err(StoreError::ReadOnly(_)) => idle(&soon(self.uses_in_time(at)).await?),
            Err(_) => return Ok(failed(to_end.into_iter())),
        };
        Ok(ended.into_iter().map(|id| (id, None)).collect())
    }

    /// The last uses with which a session is not idle at this time.
    async fn uses_in_time(&self, at: u64) -> Result<Range<u64>, StoreError> {
        let mut pauses = self.store.usage_pauses().await?;
        let going_on = |began| UsagePause { began, ended: at };
        pauses.extend(self.store.unwritten_since().map(going_on));
        Ok(uses_in_time(at, self.policy.sessions.idle, pauses))
    }
}

/// What is known of sessions that could not be ended. It is not the error of a write, which the caller did not ask for.
fn failed(session_ids: impl Iterator<Item = i64>) -> Vec<IdleSession> {
    session_ids
        .map(|id| (id, Some(StoreError::TimedOut)))
        .collect()
}

/// The answer of the store, unless it takes longer than a decision waits for the end of an idle session.
async fn soon<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    timeout(IDLE_TIMEOUT, answer)
        .await
        .unwrap_or(Err(StoreError::TimedOut))
}

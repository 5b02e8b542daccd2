//! Restricts sessions to cookies after a client has presented them in a cookie.

use super::{Authorizer, wait_briefly};
use crate::{
    store::UserStore,
    tokens::{TokenBearer, TokenKind},
};
use rolegate_program::{
    log_limiter::LogLimiter, logs::error_chain, request_context::RequestContext,
};
use std::{sync::Arc, time::Duration};

/// Limits how often a failure to restrict sessions is logged, because any client can cause it again
/// by presenting them.
static RESTRICTION_WARNING: LogLimiter<()> =
    LogLimiter::silent_when_full(1, Duration::from_mins(1));

impl Authorizer {
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
            token.kind() == TokenKind::Session && !token.is_cookie_only() && token.is_active_at(at)
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
    pub(super) async fn restrict_to_cookies(store: &UserStore, ids: &[i64]) {
        let restricted = wait_briefly(store.restrict_to_cookies(ids)).await;
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
        let store = Arc::clone(&self.store);
        tokio::spawn(RequestContext::propagate(async move {
            Self::restrict_to_cookies(&store, &ids).await;
            drop(permit);
        }));
    }
}

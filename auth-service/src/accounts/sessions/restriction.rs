//! Restricts sessions that cookies present to cookies.

use super::brief_wait::wait_briefly;
use crate::{
    accounts::service::Accounts,
    opaque_token::{TokenBearer, TokenKind},
};
use rolegate_telemetry::{log_once::LogOnce, logs::error_chain, request_context::RequestContext};
use std::{sync::Arc, time::Duration};

/// Limits how often it is logged that sessions cannot be restricted: any client can present them again.
static RESTRICTION_WARNING: LogOnce<()> = LogOnce::at_most(1, Duration::from_mins(1));

impl Accounts {
    /// The sessions among these tokens of cookies that also count as bearer tokens: a process of the version before made
    /// them, or they were made for the API. None while nothing can be written, because they could not be restricted.
    pub(in crate::accounts) fn unrestricted_sessions<'t>(
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
    pub(in crate::accounts) async fn restrict_to_cookies(&self, ids: &[i64]) {
        let restricted = wait_briefly(self.store.restrict_to_cookies(ids)).await;
        if let Err(error) = restricted
            && RESTRICTION_WARNING.is_due(())
        {
            let error = error_chain(&error);
            tracing::warn!(error, "cannot restrict sessions in cookies to cookies");
        }
    }

    /// Does the same without waiting, so that no other decision of a batch waits. While one such write runs, sessions of
    /// other batches are left for their next decision: a store that is slow must not collect writes.
    pub(in crate::accounts) fn restrict_to_cookies_in_background(&self, ids: Vec<i64>) {
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

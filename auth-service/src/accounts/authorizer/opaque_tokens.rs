//! Checks a session or an API key against its stored row.

use super::{Authorizer, PresentedToken, TokenSource, idle::IdleSessions};
use crate::{
    accounts::{error::AccountError, policy::Requirement},
    actor::{Actor, PresentedCredential},
    audit, metrics,
    store::{StoreError, UsageKind},
    tokens::{SecretKind, TokenBearer, TokenKind},
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;

impl Authorizer {
    /// Checks an opaque token against its stored row, and that the names in the requirement exist.
    /// Returns the bearer. A session in `idle` is refused.
    ///
    /// It also stores the time of use of a valid token. It counts each check of an API key, logs
    /// the use of a valid key, and records the refusal of any other key.
    pub(super) fn admit_opaque_token(
        &self,
        presented: PresentedToken,
        found: Timed<Option<TokenBearer>>,
        idle: &IdleSessions,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        let Timed { at, value: stored } = found;
        let is_idle = stored
            .as_ref()
            .is_some_and(|token| idle.ids.contains(&token.token_id));
        if is_idle && idle.has_store_failed {
            return Err(StoreError::TimedOut.into());
        }
        let is_valid = stored.as_ref().is_some_and(|token| {
            let is_allowed_here =
                presented.source == TokenSource::Cookie || !token.is_cookie_only();
            is_allowed_here && token.is_active_at(at) && !is_idle
        });
        let is_key = presented.kind == SecretKind::ApiKey;
        if is_key {
            metrics::count_api_key(is_valid);
        }
        let stored = match stored {
            Some(stored) if is_valid => stored,
            refused => {
                if is_key {
                    self.recorder.record_api_key_refusal(refused.as_ref());
                }
                return Err(Reason::TokenInvalid.into());
            }
        };
        if is_key {
            audit::log_api_key_use(&stored);
        }
        self.store.note_use(UsageKind::Token, stored.token_id, at);
        let actor = Actor {
            ineffective_role: None,
            presented: match stored.kind() {
                TokenKind::ApiKey => PresentedCredential::ApiKey(stored.token_id),
                TokenKind::Session => PresentedCredential::Session(stored.token_id),
            },
            expires_at: stored.expires_at,
            at,
            user: stored.into_bounded_user(),
        };
        self.with_effective_role(actor, requirement)
    }
}

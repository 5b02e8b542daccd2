//! The one way to change users and their API keys: for users, admins and operators.

use super::{error::AccountError, requirement::Requirement, service::Accounts};
use crate::{
    actor::Actor,
    audit::{Change, Initiator, Write},
    metrics,
    store::{StoreError, UserStore, WriteError, Writer},
    user::{MAX_CLOCK_SETBACK_SECONDS, User},
};
use rolegate_proto::Reason;
use rolegate_telemetry::request_context::RequestContext;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

impl Write {
    /// A change of this user by the bearer of a token or a key.
    pub(super) fn by_actor(actor: Actor, change: Change, user_id: i64) -> Self {
        Self::new(change, Initiator::Actor(actor), Some(user_id))
    }

    /// A change that a user makes of themselves, whom the log names once.
    pub(super) fn by_owner(actor: &Actor, change: Change) -> Self {
        let session = actor.session_id();
        Self::new(change, Initiator::Owner { session }, Some(actor.user.id))
    }

    /// A change by the operator, whom access to the database authorizes; `None` for a new user.
    pub(crate) fn by_operator(change: Change, user_id: Option<i64>) -> Self {
        Self::new(change, Initiator::Operator, user_id)
    }

    /// Makes the change by `write`, whose transaction records it: to completion even if the caller leaves, so
    /// that a committed change also has its line in the log, which `log` writes, as has one whose outcome is unknown.
    pub(crate) async fn run<T: Send + 'static, W>(
        self,
        store: &Arc<dyn UserStore>,
        write: impl FnOnce(Arc<dyn UserStore>, Self) -> W + Send + 'static,
        log: impl FnOnce(&Self, &T) + Send + 'static,
    ) -> Result<T, WriteError>
    where
        W: Future<Output = Result<T, WriteError>> + Send + 'static,
    {
        let store = Arc::clone(store);
        let work = async move {
            let outcome = write(store, self.clone()).await;
            let written = outcome.inspect_err(|error| match error {
                WriteError::Store(error) if error.is_outcome_unknown() => {
                    self.log_unknown_outcome();
                }
                WriteError::TooManyAdditions { .. } => {
                    metrics::count_limit_refusal("additions");
                }
                _ => {}
            })?;
            log(&self, &written);
            Ok(written)
        };
        RequestContext::run_to_completion(work).await
    }
}

/// Revokes the tokens of a user once more after a slow write: until it was done, logins by what was good before may have
/// been issued tokens later than its revocation time. If that fails, such tokens may be left, so the outcome is
/// unknown. The session by which the user acts stays.
pub(super) async fn revoke_again(
    store: &dyn UserStore,
    began: Instant,
    user: User,
    session: Option<i64>,
    write: Write,
) -> Result<User, WriteError> {
    if began.elapsed() < Duration::from_secs(MAX_CLOCK_SETBACK_SECONDS) {
        return Ok(user);
    }
    let owner = Writer::Owner {
        tokens_not_before: user.tokens_not_before,
        session_id: session,
    };
    let write = write.followed_by(Change::TokensRevoked);
    match store.revoke_tokens(user.id, owner, write).await {
        Err(WriteError::UserNotFound) => Ok(user),
        Err(WriteError::Store(error)) => {
            tracing::warn!(%error, user_id = user.id, "tokens from before a change may be valid");
            Err(StoreError::OutcomeUnknown {
                problem: "the tokens were not revoked again",
                source: None,
            }
            .into())
        }
        again => again,
    }
}

impl Writer {
    /// The admin who changes the user with this id. Without an id users change themselves, and must not have changed since
    /// they were read.
    pub(super) fn by_actor(actor: &Actor, user_id: Option<i64>) -> Self {
        match user_id {
            Some(_) => Self::Admin(actor.user.id),
            None => Self::Owner {
                tokens_not_before: actor.user.tokens_not_before,
                session_id: actor.session_id(),
            },
        }
    }
}

impl Accounts {
    /// Makes a change of one user, and logs it.
    pub(super) async fn change_user<W>(
        &self,
        write: Write,
        change: impl FnOnce(Arc<dyn UserStore>, Write) -> W + Send + 'static,
    ) -> Result<User, WriteError>
    where
        W: Future<Output = Result<User, WriteError>> + Send + 'static,
    {
        write.run(&self.store, change, Write::log_user).await
    }

    /// The outcome of a write. One that found its user changed may have been the second of two by one
    /// token, which the first has revoked; if the token is still good, the error is `otherwise`.
    pub(super) async fn reauthorize_if_changed<T>(
        &self,
        outcome: Result<T, WriteError>,
        credential: &str,
        requirement: &Requirement,
        otherwise: Reason,
    ) -> Result<T, AccountError> {
        if matches!(outcome, Err(WriteError::UserNotFound)) {
            self.authorize(credential, requirement).await?;
            return Err(otherwise.into());
        }
        Ok(outcome?)
    }
}

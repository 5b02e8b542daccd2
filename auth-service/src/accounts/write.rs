//! Makes changes of users and of their credentials. Almost every change by a user, an admin or an
//! operator runs through `Write::run`. Exceptions are the creation of the first admin, some
//! operator commands such as `user end-all`, and changes that are not recorded, such as the end of
//! an idle session.
//!
//! The transaction of a change also records it, and the line in the log follows the commit.

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
    /// Describes a change of this user that the actor makes.
    pub(super) fn by_actor(actor: Actor, change: Change, user_id: i64) -> Self {
        Self::new(change, Initiator::Actor(actor), Some(user_id))
    }

    /// Describes a change that users make to their own account. The log then names the user only
    /// once.
    pub(super) fn by_owner(actor: &Actor, change: Change) -> Self {
        let session = actor.session_id();
        Self::new(change, Initiator::Owner { session }, Some(actor.user.id))
    }

    /// Describes a change by the operator, who is authorized by access to the database. `user_id`
    /// is `None` for a new user.
    pub(crate) fn by_operator(change: Change, user_id: Option<i64>) -> Self {
        Self::new(change, Initiator::Operator, user_id)
    }

    /// Calls `write`, whose transaction makes the change and records it. Then calls `log`, which
    /// writes the line in the log, and returns the result of `write`.
    ///
    /// The work continues even if the caller is canceled, so that every committed change has its
    /// line. A change with an unknown outcome is logged, too.
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

/// Revokes the tokens of a user a second time if a write was slow, and returns the user. `began` is
/// the time at which the write started.
///
/// While the write was in progress, logins with the old credentials may have been issued tokens
/// that are newer than the revocation. If the second revocation fails, such tokens may still be
/// valid, so the outcome is unknown. The presented `session` stays valid.
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
            tracing::warn!(%error, user_id = user.id, "tokens that were issued before a change may still be valid");
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
    /// Returns the writer of a change. With an id, an admin changes the user with that id. Without
    /// an id, users change themselves, and the write fails if the actor's credential was revoked
    /// since it was authorized.
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
    /// Makes a change of one user, logs it and returns the changed user.
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

    /// Converts the outcome of a write whose user may have changed since the credential was
    /// authorized.
    ///
    /// Two requests with one token may have run at the same time, and the first may have revoked
    /// the token. So if the write did not find its user, the credential is authorized again. A
    /// revoked credential then causes its own error; if it is still valid, the error is
    /// `otherwise`.
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

//! Makes the changes of users and of their tokens, whether a user, an admin or an operator makes them.
//!
//! The store makes and records a change in one transaction. `Changes` runs it to completion, writes the line in the log
//! after the commit, and reports an unknown outcome. Imports, erasures and the end of all credentials are commands of
//! their own, and the first admin is created at the start.

use super::{initial_password::InitialPassword, username::ADMIN_USERNAME};
use crate::{
    audit::{RecoveryCodeUse, Requested},
    change::{Change, GroupChange, NewTokens, TokenChange},
    group::Group,
    metrics,
    principal::Principal,
    store::{CodePurpose, StoreError, UserStore, WriteError},
    tokens::{MAX_CLOCK_SETBACK_SECONDS, NewToken, OpaqueToken, TokenKind},
    user::User,
};
use rolegate_program::request_context::RequestContext;
use secrecy::SecretString;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// An API key that was just created.
pub(crate) struct CreatedApiKey {
    /// The key itself, which is shown once and not stored.
    pub(crate) key: SecretString,
    pub(crate) stored: OpaqueToken,
}

/// Makes changes. Clones share the store.
#[derive(Clone)]
pub(crate) struct Changes {
    store: Arc<UserStore>,
    /// The file with the generated password of `admin`, which is removed when `admin` gets another password.
    pub(super) initial_password: InitialPassword,
}

impl Changes {
    pub(crate) fn new(store: Arc<UserStore>, initial_password: InitialPassword) -> Self {
        Self {
            store,
            initial_password,
        }
    }

    /// Makes a change of one user, and returns the user as the change has left it.
    ///
    /// It runs to completion even if the caller leaves, so that the line in the log is not lost with the caller. If the
    /// outcome is unknown, another line says so; a later answer of the database is not logged.
    pub(crate) async fn apply(&self, by: Principal, change: Change) -> Result<User, WriteError> {
        let changes = self.clone();
        let request = Arc::new(Requested::new(by, change));
        RequestContext::run_to_completion(async move {
            let user = changes
                .write(&request)
                .await
                .inspect_err(|error| report(error, || request.log_outcome_unknown()))?;
            request.log(&user);
            if matches!(request.change, Change::SetPassword { .. })
                && user.username == ADMIN_USERNAME
            {
                changes.initial_password.remove();
            }
            Ok(user)
        })
        .await
    }

    /// Writes a change. If a change that revokes tokens because of new credentials was slow, revokes them again.
    ///
    /// While the write was in progress, logins with the old credentials may have been issued tokens that are newer
    /// than the revocation. If the second revocation fails, such tokens may still be valid, so the outcome is unknown.
    async fn write(&self, request: &Arc<Requested<Change>>) -> Result<User, WriteError> {
        let began = Instant::now();
        let user = self.store.change_user(Arc::clone(request)).await?;
        let is_slow = began.elapsed() >= Duration::from_secs(MAX_CLOCK_SETBACK_SECONDS);
        let replaces_credentials = matches!(
            request.change,
            Change::SetPassword { .. } | Change::TurnOnSecondFactor { .. }
        );
        if !is_slow || !replaces_credentials {
            return Ok(user);
        }
        let again = request.followed_by(Change::RevokeTokensAgain {
            user_id: user.id,
            tokens_not_before: user.tokens_not_before,
        });
        match self.store.change_user(Arc::new(again)).await {
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

    /// Makes a change of a group, and returns the group; a deleted group as it was.
    pub(crate) async fn apply_to_group(
        &self,
        by: Principal,
        change: GroupChange,
    ) -> Result<Group, WriteError> {
        let store = Arc::clone(&self.store);
        let request = Arc::new(Requested::new(by, change));
        RequestContext::run_to_completion(async move {
            let group = store
                .change_group(Arc::clone(&request))
                .await
                .inspect_err(|error| report(error, || request.log_outcome_unknown()))?;
            request.entry_for_group(&group).log();
            Ok(group)
        })
        .await
    }

    /// Makes a change of tokens, and returns the changed tokens by ascending id. `username` is the name of their user
    /// for the line in the log, if it is known.
    pub(crate) async fn apply_to_tokens(
        &self,
        by: Principal,
        change: TokenChange,
        username: Option<String>,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let store = Arc::clone(&self.store);
        let request = Arc::new(Requested::new(by, change));
        RequestContext::run_to_completion(async move {
            let tokens = store
                .change_tokens(Arc::clone(&request))
                .await
                .inspect_err(|error| report(error, || request.log_outcome_unknown()))?;
            request.log(&tokens, username.as_deref());
            if let TokenChange::Create(new) = &request.change
                && new.kind == TokenKind::ApiKey
            {
                metrics::METRICS.api_keys_created.inc();
            }
            Ok(tokens)
        })
        .await
    }

    /// Stores a generated API key of the user with this name.
    pub(crate) async fn create_api_key(
        &self,
        by: Principal,
        new: NewToken,
        username: String,
    ) -> Result<CreatedApiKey, WriteError> {
        let key = new.token.clone();
        let create = TokenChange::Create(NewTokens {
            user_id: new.stored.user_id,
            kind: TokenKind::ApiKey,
            created_at: new.stored.created_at,
            tokens: vec![new],
        });
        let created = self.apply_to_tokens(by, create, Some(username)).await?;
        let stored = created.into_iter().next().ok_or(WriteError::ApiKeyLimit)?;
        Ok(CreatedApiKey { key, stored })
    }

    /// Uses up a recovery code of this user, and returns whether the code is accepted.
    pub(crate) async fn use_recovery_code(
        &self,
        user: User,
        purpose: CodePurpose,
        digest: String,
    ) -> Result<bool, StoreError> {
        let store = Arc::clone(&self.store);
        let request = Arc::new(Requested::new(
            Principal::Claimant,
            RecoveryCodeUse { user },
        ));
        RequestContext::run_to_completion(async move {
            let is_used = store
                .use_recovery_code(purpose, digest, Arc::clone(&request))
                .await
                .inspect_err(|error| {
                    if error.is_outcome_unknown() {
                        request.log_outcome_unknown();
                    }
                })?;
            if is_used {
                request.entry_for_use().log();
            }
            Ok(is_used)
        })
        .await
    }
}

/// Reports why a change failed, where that is counted or logged.
fn report(error: &WriteError, log_outcome_unknown: impl FnOnce()) {
    match error {
        WriteError::Store(error) if error.is_outcome_unknown() => log_outcome_unknown(),
        WriteError::TooManyAdditions { .. } => metrics::count_limit_refusal("additions"),
        _ => {}
    }
}

//! Changes and lists the credentials of users.
//!
//! - `passwords`, `password_links` and `second_factor` change how a user signs in.
//! - `api_keys` creates and lists API keys. `sessions` lists sessions, and signs users out.
//!   `delete_tokens`, in this file, deletes tokens of both kinds.

pub(super) mod api_keys;
mod password_links;
mod passwords;
pub(super) mod second_factor;
mod sessions;

use super::{
    authenticator::Authenticator,
    authorizer::Authorizer,
    changes::Changes,
    error::AccountError,
    policy::{Policy, Requirement},
    rate_limit::RateLimiter,
    sign_in_recorder::SignInRecorder,
};
use crate::{
    actor::Actor,
    change::{Change, TokenChange, TokenSelection},
    password::Hasher,
    principal::Principal,
    store::{BatchedReads, UserStore},
    tokens::{OpaqueToken, TokenKind},
    user::User,
};
use rolegate_proto::Reason;
use std::sync::Arc;

/// Creates, replaces, lists and ends the credentials of users.
pub(crate) struct CredentialManager {
    pub(super) store: Arc<UserStore>,
    pub(super) reads: Arc<BatchedReads>,
    pub(super) authorizer: Arc<Authorizer>,
    /// Checks the password or the code with which users confirm a change.
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) changes: Changes,
    pub(super) hasher: Hasher,
    pub(super) policy: Arc<Policy>,
    /// Limits how often a client may present a token that belongs to no valid password link.
    pub(super) link_limiter: Arc<RateLimiter>,
    pub(super) recorder: SignInRecorder,
}

impl CredentialManager {
    /// Makes a change of one user, and returns the user as the change has left it. If the user has
    /// changed since the credential was authorized, the credential is authorized again, and the error
    /// is `otherwise` if it is still valid: see [`Authorizer::reauthorize_if_changed`].
    pub(super) async fn change_or_reauthorize(
        &self,
        credential: &str,
        by: Principal,
        change: Change,
        otherwise: Reason,
    ) -> Result<User, AccountError> {
        let requirement = Requirement::to_act_on(by.admin_id());
        let changed = self.changes.apply(by, change).await;
        self.authorizer
            .reauthorize_if_changed(changed, credential, &requirement, otherwise)
            .await
    }

    /// Returns the user with this id, or the actor if there is no id.
    async fn find_user_or_actor(
        &self,
        user_id: Option<i64>,
        actor: &Actor,
    ) -> Result<User, AccountError> {
        match user_id {
            Some(id) => self.authorizer.find_user(id).await,
            None => Ok(actor.user.clone()),
        }
    }

    /// Deletes tokens of the actor, and returns them. With a user id, deletes tokens of that user;
    /// the actor must then be an admin. Fails if a single token is to be deleted and does not
    /// exist. [`TokenSelection::All`] leaves out the session that the actor presented.
    ///
    /// An API key may delete no token of its own user except itself, so that a leaked key can do
    /// little harm.
    pub(crate) async fn delete_tokens(
        &self,
        kind: TokenKind,
        credential: &str,
        user_id: Option<i64>,
        selection: TokenSelection,
    ) -> Result<Vec<OpaqueToken>, AccountError> {
        let actor = self
            .authorizer
            .authorize(credential, &Requirement::to_act_on(user_id))
            .await?;
        let owner_id = user_id.unwrap_or(actor.user.id);
        let deletes_itself =
            kind == TokenKind::ApiKey && actor.key_id().map(TokenSelection::One) == Some(selection);
        if !deletes_itself {
            actor.refuse_own_key(owner_id)?;
        }
        let selection = match (selection, kind, actor.session_id()) {
            (TokenSelection::All, TokenKind::Session, Some(own)) => TokenSelection::AllBut(own),
            _ => selection,
        };
        let change = TokenChange::Delete {
            kind,
            user_id: owner_id,
            selection,
        };
        let by = Principal::acting_on(user_id, actor);
        let deleted = self.changes.apply_to_tokens(by, change, None).await?;
        if deleted.is_empty() && matches!(selection, TokenSelection::One(_)) {
            return Err(match kind {
                TokenKind::ApiKey => Reason::ApiKeyNotFound,
                TokenKind::Session => Reason::SessionNotFound,
            }
            .into());
        }
        Ok(deleted)
    }
}

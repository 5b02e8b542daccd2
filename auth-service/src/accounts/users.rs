//! Reads and changes users, and the credentials of users.
//!
//! This file reads single users, the usernames for many ids, and the roles of this service.
//! `delete_tokens` deletes sessions and API keys. `list` lists users in pages.
//!
//! - `changes` creates and deletes users and sets their roles. `update` renames and disables users.
//!   `seed` creates the first admin.
//! - `passwords`, `password_links` and `second_factor` change how a user signs in.
//! - `api_keys` creates and lists API keys. `sessions` lists sessions, and signs users out.

pub(super) mod api_keys;
pub(super) mod changes;
pub(super) mod list;
mod password_links;
mod passwords;
pub(super) mod second_factor;
pub(super) mod seed;
mod sessions;
pub(super) mod update;

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
use rolegate_http_server::clients::ClientSlots;
use rolegate_proto::{Reason, Role, limits::MAX_USERNAME_BATCH};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Reads, creates, changes and deletes users and their credentials.
pub(crate) struct Users {
    pub(super) store: Arc<UserStore>,
    pub(super) reads: Arc<BatchedReads>,
    pub(super) authorizer: Arc<Authorizer>,
    /// Checks the password or the code with which users confirm a change.
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) changes: Changes,
    pub(super) hasher: Hasher,
    pub(super) policy: Arc<Policy>,
    pub(super) recorder: SignInRecorder,
    pub(super) registration_limiter: Arc<RateLimiter>,
    /// Limits how often a client may present a token that belongs to no valid password link.
    pub(super) link_limiter: Arc<RateLimiter>,
    /// The running searches of each admin, by the admin's id.
    pub(super) searches: ClientSlots<i64>,
    /// The permits for lists that may read all users.
    pub(super) list_reads: Arc<Semaphore>,
}

impl Users {
    /// Lists the roles of this service; the actor must be an admin.
    pub(crate) async fn list_roles(&self, credential: &str) -> Result<Vec<Role>, AccountError> {
        self.authorizer.authorize_admin(credential).await?;
        Ok(self.policy.roles.iter().collect())
    }

    /// Returns the user with this id; the actor must be an admin.
    pub(crate) async fn get_user(
        &self,
        credential: &str,
        user_id: i64,
    ) -> Result<User, AccountError> {
        self.authorizer.authorize_admin(credential).await?;
        self.authorizer.find_user(user_id).await
    }

    /// Returns the users with these ids, by ascending id. Unknown ids are left out.
    ///
    /// No credential is needed, because callers see only usernames. But a credential that is sent
    /// must be valid.
    pub(crate) async fn usernames(
        &self,
        credential: Option<&str>,
        mut ids: Vec<i64>,
    ) -> Result<Vec<User>, AccountError> {
        if let Some(credential) = credential {
            self.authorizer
                .authorize(credential, &Requirement::AnyAuthenticated)
                .await?;
        }
        if ids.len() > MAX_USERNAME_BATCH {
            return Err(AccountError::invalid_request("ids must be at most 256"));
        }
        ids.sort_unstable();
        ids.dedup();
        match ids[..] {
            [] => Ok(Vec::new()),
            // A lookup of one id shares its statement with other lookups.
            [id] => Ok(self.reads.users.get(id).await?.value.into_iter().collect()),
            _ => {
                let mut users = self.store.users_by_id(&ids, &[]).await?.value;
                users.sort_unstable_by_key(|user| user.id);
                Ok(users)
            }
        }
    }

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

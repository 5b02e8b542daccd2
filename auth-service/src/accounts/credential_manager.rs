//! Changes and lists the credentials of users.
//!
//! - `passwords`, `password_links` and `second_factor` change how a user signs in.
//! - `opaque_tokens` creates API keys, and lists and deletes API keys and sessions. `sessions` lists
//!   sessions as people see them, and `sign_out` ends sessions and revokes access tokens.

pub(super) mod opaque_tokens;
pub(super) mod password_links;
mod passwords;
pub(super) mod second_factor;
mod sessions;
mod sign_out;

use super::{
    authenticator::Authenticator, authorizer::Authorizer, changes::Changes, error::AccountError,
    policy::Policy, rate_limit::RateLimiter, requirement::Requirement,
    sign_in_recorder::SignInRecorder,
};
use crate::{
    change::Change,
    password::Hasher,
    principal::Principal,
    store::{BatchedReads, UserStore},
    user::User,
};
use rolegate_proto::Reason;
use std::sync::Arc;

/// Creates, replaces, lists and ends the credentials of users.
pub(crate) struct CredentialManager {
    pub(super) store: Arc<dyn UserStore>,
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
}

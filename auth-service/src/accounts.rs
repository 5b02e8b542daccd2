//! The use cases, one file each. They depend on neither tonic nor SQL and fail with
//! [`AccountError`].
//!
//! - `credentials`: the password check of login, HTTP Basic and password change.
//! - `replace_password`: what every change of a password does.
//! - `rate_limit`: limits login failures and registrations.
//! - `key_audit`: which uses of API keys the audit log has.
//! - `initial_password`: the file with the generated password of the first admin.
//! - `policy`: the settings of the operator; `username`: the rules of a username.
//! - `unknown_outcome`: audit of changes whose commits have no answer.

mod authorize;
mod change_password;
mod create_api_key;
mod create_user;
mod credentials;
mod delete_api_keys;
mod delete_user;
mod error;
mod get_user;
mod initial_password;
mod key_audit;
mod list_api_keys;
mod list_users;
mod login;
mod policy;
mod rate_limit;
mod register;
mod replace_password;
mod revoke_tokens;
mod seed;
mod set_password;
mod set_user_disabled;
mod set_user_role;
#[cfg(test)]
mod tests;
mod unknown_outcome;
mod username;
mod usernames;
mod verify_credentials;

pub(crate) use authorize::Actor;
pub use authorize::{Bearer, Requirement};
pub use create_api_key::ApiKeyRequest;
pub use delete_api_keys::KeySelection;
pub use error::AccountError;
pub use initial_password::InitialPassword;
pub use list_users::{PageRequest, UserPage};
pub use policy::Policy;
pub use seed::{ADMIN_USERNAME, AdminPassword, SeedError};
pub use username::{Username, UsernameError};

use crate::{
    password::{CredentialCache, Hasher},
    store::{BatchedReads, UserStore},
    token::Tokens,
};
use key_audit::KeyAudit;
use rate_limit::RateLimiter;
use std::sync::Arc;

/// The use cases. Clones share all state.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn UserStore>,
    /// Lookups of one user, which share statements.
    reads: BatchedReads,
    hasher: Hasher,
    cache: CredentialCache,
    tokens: Tokens,
    policy: Policy,
    initial_password: InitialPassword,
    key_audit: KeyAudit,
    logins: RateLimiter,
    registrations: RateLimiter,
}

impl Accounts {
    /// Fails only without system randomness.
    pub fn new(
        store: Arc<dyn UserStore>,
        hasher: Hasher,
        tokens: Tokens,
        policy: Policy,
        initial_password: InitialPassword,
    ) -> Result<Self, getrandom::Error> {
        let reads = BatchedReads::new(&store);
        let cache = CredentialCache::new(policy.basic_cache_ttl)?;
        let logins = RateLimiter::of_logins(policy.login_failure_limit);
        let registrations = RateLimiter::of_registrations(policy.registration_limit);
        Ok(Self {
            store,
            reads,
            hasher,
            cache,
            tokens,
            policy,
            initial_password,
            key_audit: KeyAudit::default(),
            logins,
            registrations,
        })
    }
}

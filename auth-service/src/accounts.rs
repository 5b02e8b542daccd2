//! The use cases. They depend on neither tonic nor SQL and fail with [`AccountError`].
//!
//! - `authorize`: access tokens and API keys; `key_audit`: which uses of keys the audit log has.
//! - `login`, `verify_credentials`: passwords, with `credentials`, the check that they share, and
//!   `rate_limit`.
//! - `users`, `user_changes`, `passwords`, `api_keys`: reads and changes, by topic; `write`: the one way
//!   to make a change.
//! - `seed`: the first admin; `initial_password`: the file with its generated password.
//! - `username`: the rules of a username.

mod api_keys;
mod authorize;
mod credentials;
mod error;
mod initial_password;
mod key_audit;
mod login;
mod passwords;
mod rate_limit;
mod seed;
#[cfg(test)]
mod tests;
mod user_changes;
mod username;
mod users;
mod verify_credentials;
mod write;

pub use api_keys::{ApiKeyRequest, KeySelection};
pub use authorize::{Bearer, Requirement};
pub use error::AccountError;
pub use initial_password::InitialPassword;
pub(crate) use passwords::set_password;
pub use seed::{ADMIN_USERNAME, AdminPassword, SeedError};
pub use username::{Username, UsernameError};
pub use users::{PageRequest, UserPage};

use crate::{
    password::{CredentialCache, Hasher, PasswordRules},
    store::{BatchedReads, UserStore},
    token::Tokens,
};
use key_audit::KeyAudit;
use rate_limit::RateLimiter;
use std::{sync::Arc, time::Duration};

/// The settings of the operator.
#[derive(Clone, Debug)]
pub struct Policy {
    /// For new passwords.
    pub passwords: PasswordRules,
    /// Login failures per minute for a username at an address; 15 times that for an address; 0 for
    /// no limit.
    pub login_failure_limit: u32,
    /// TTL of successful checks of HTTP Basic credentials; zero turns the cache off.
    pub basic_cache_ttl: Duration,
    /// Whether users may register.
    pub registration_open: bool,
    /// Registrations per minute from an address; 0 for no limit.
    pub registration_limit: u32,
}

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
    key_audit: Arc<KeyAudit>,
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
            key_audit: Arc::new(KeyAudit::new()),
            logins,
            registrations,
        })
    }
}

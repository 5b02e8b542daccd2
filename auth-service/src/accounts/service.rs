//! What the use cases share.

use super::{
    initial_password::InitialPassword, rate_limit::RateLimiter, record::page_reads,
    users::Searches, watch::Watches,
};
use crate::{
    audit::SignInRows,
    password::{CredentialCache, Hasher, PasswordRules},
    roles::Roles,
    second_factor::SecondFactorPolicy,
    store::{BatchedReads, UserStore},
    token::Tokens,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// The settings of the operator.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) passwords: PasswordRules,
    /// Login failures per minute for a username at an address; 15 times that for an address; 0 for
    /// no limit.
    pub(crate) login_failure_limit: u32,
    /// TTL of successful checks of HTTP Basic credentials; zero turns the cache off.
    pub(crate) basic_cache_ttl: Duration,
    pub(crate) registration_open: bool,
    /// Registrations per minute from an address; 0 for no limit.
    pub(crate) registration_limit: u32,
    pub(crate) roles: Roles,
    pub(crate) sessions: SessionLimits,
    /// Whether admins set passwords of others, and not only make links.
    pub(crate) admins_set_passwords: bool,
    pub(crate) second_factor: SecondFactorPolicy,
}

/// When sessions end, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionLimits {
    /// Without use; at most `max`.
    pub(crate) idle: u64,
    /// After creation, in any case.
    pub(crate) max: u64,
}

/// The use cases. Clones share all state.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(super) store: Arc<dyn UserStore>,
    /// Lookups of one user, which share statements.
    pub(super) reads: Arc<BatchedReads>,
    pub(super) hasher: Hasher,
    pub(super) cache: CredentialCache,
    pub(super) tokens: Tokens,
    pub(super) policy: Policy,
    pub(super) initial_password: InitialPassword,
    pub(super) logins: Arc<RateLimiter>,
    pub(super) registrations: Arc<RateLimiter>,
    /// Of bad password links.
    pub(super) links: Arc<RateLimiter>,
    pub(super) sign_in_rows: Arc<SignInRows>,
    pub(super) searches: Searches,
    pub(super) watches: Arc<Watches>,
    /// The places for readers of the record.
    pub(super) page_reads: Arc<Semaphore>,
    /// The place for a write beside a batch that restricts sessions to cookies.
    pub(super) restrictions: Arc<Semaphore>,
}

impl Accounts {
    /// Fails only without system randomness.
    pub(crate) fn new(
        store: Arc<dyn UserStore>,
        hasher: Hasher,
        tokens: Tokens,
        policy: Policy,
        initial_password: InitialPassword,
    ) -> Result<Self, getrandom::Error> {
        let watches = Arc::new(Watches::new());
        let reads = Arc::new(BatchedReads::new(&store));
        let cache = CredentialCache::new(policy.basic_cache_ttl)?;
        let logins = RateLimiter::per_address_and_name(policy.login_failure_limit);
        let registrations = RateLimiter::per_address(policy.registration_limit);
        let links = RateLimiter::per_address(policy.login_failure_limit);
        Ok(Self {
            store,
            reads,
            hasher,
            cache,
            tokens,
            policy,
            initial_password,
            logins,
            registrations,
            links,
            sign_in_rows: Arc::new(SignInRows::new()),
            searches: Searches::default(),
            watches,
            page_reads: page_reads(),
            restrictions: Arc::new(Semaphore::new(1)),
        })
    }
}

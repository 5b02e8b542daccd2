//! `Accounts`: the state and the settings that the use cases share.

use super::{
    changes::Changes, initial_password::InitialPassword, rate_limit::RateLimiter,
    record::watch::streams::Watches,
};
use crate::{
    audit::SignInRows,
    password::{CredentialCache, Hasher, PasswordRules},
    roles::Roles,
    second_factor::SecondFactorPolicy,
    store::{BatchedReads, UserStore},
    tokens::AccessTokens,
};
use rolegate_http_server::clients::ClientSlots;
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// The maximum number of pages of the record that are read at the same time. While the record is
/// locked, each read occupies a connection that changes need.
const MAX_PAGE_READS: usize = 2;
/// The maximum number of searches for users that an admin may run at the same time on each replica. A search can read
/// all users.
const MAX_SEARCHES: u32 = 1;

/// The operator's settings for the use cases.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) passwords: PasswordRules,
    /// The maximum number of failed logins per minute for a username at an address; 0 means no
    /// limit. The limits for an address and for a username over all addresses are 15 times as high.
    /// Refused password links have a limit of the same number for each address.
    pub(crate) login_failure_limit: u32,
    /// The time for which a verified password of HTTP Basic is cached; zero turns the cache off.
    pub(crate) basic_cache_ttl: Duration,
    pub(crate) registration_open: bool,
    /// The maximum number of attempts per minute to register a user from one address; 0 means no
    /// limit.
    pub(crate) registration_limit: u32,
    pub(crate) roles: Roles,
    pub(crate) sessions: SessionLimits,
    /// True if admins may set passwords of other users; otherwise they only create links.
    pub(crate) admins_set_passwords: bool,
    pub(crate) second_factor: SecondFactorPolicy,
}

/// The times after which sessions expire, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct SessionLimits {
    /// The time without use after which a session expires; at most `max`.
    pub(crate) idle: u64,
    /// The age at which a session expires, even if it is in use.
    pub(crate) max: u64,
}

/// The use cases. Clones share all state.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(super) store: Arc<dyn UserStore>,
    pub(super) changes: Changes,
    /// Reads users, credentials and tokens by their keys; concurrent reads share a statement.
    pub(super) reads: Arc<BatchedReads>,
    pub(super) hasher: Hasher,
    pub(super) cache: CredentialCache,
    pub(super) tokens: AccessTokens,
    pub(super) policy: Policy,
    pub(super) initial_password: InitialPassword,
    pub(super) login_limiter: Arc<RateLimiter>,
    pub(super) registration_limiter: Arc<RateLimiter>,
    /// Limits how often a client may present a token that belongs to no valid password link.
    pub(super) link_limiter: Arc<RateLimiter>,
    pub(super) sign_in_rows: Arc<SignInRows>,
    /// The running searches of each admin, by the admin's id.
    pub(super) searches: ClientSlots<i64>,
    pub(super) watches: Arc<Watches>,
    /// The permits for reading pages of the record.
    pub(super) page_reads: Arc<Semaphore>,
    /// The permit for the background write that restricts sessions to cookies.
    pub(super) background_restriction: Arc<Semaphore>,
}

impl Accounts {
    /// Creates the use cases, with empty caches and counters. Fails only if the system provides no
    /// random bytes.
    pub(crate) fn new(
        store: Arc<dyn UserStore>,
        hasher: Hasher,
        tokens: AccessTokens,
        policy: Policy,
        initial_password: InitialPassword,
    ) -> Result<Self, getrandom::Error> {
        let reads = Arc::new(BatchedReads::new(&store));
        let cache = CredentialCache::new(policy.basic_cache_ttl)?;
        let login_limiter = RateLimiter::per_address_and_name(policy.login_failure_limit);
        let registration_limiter = RateLimiter::per_address(policy.registration_limit);
        let link_limiter = RateLimiter::per_address(policy.login_failure_limit);
        Ok(Self {
            changes: Changes::new(Arc::clone(&store), initial_password.clone()),
            store,
            reads,
            hasher,
            cache,
            tokens,
            policy,
            initial_password,
            login_limiter,
            registration_limiter,
            link_limiter,
            sign_in_rows: Arc::new(SignInRows::new()),
            searches: ClientSlots::new(MAX_SEARCHES),
            watches: Arc::new(Watches::new()),
            page_reads: Arc::new(Semaphore::new(MAX_PAGE_READS)),
            background_restriction: Arc::new(Semaphore::new(1)),
        })
    }
}

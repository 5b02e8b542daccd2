//! `Accounts`: the state that the use cases share.

use super::{
    authenticator::Authenticator, authorizer::Authorizer, changes::Changes,
    initial_password::InitialPassword, policy::Policy, rate_limit::RateLimiter, record::Record,
    sign_in_recorder::SignInRecorder,
};
use crate::{
    password::{CredentialCache, Hasher},
    store::{BatchedReads, UserStore},
    tokens::AccessTokens,
};
use rolegate_http_server::clients::ClientSlots;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The maximum number of searches for users that an admin may run at the same time on each replica. A search can read
/// all users.
const MAX_SEARCHES: u32 = 1;

/// The use cases. Clones share all state.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(super) store: Arc<dyn UserStore>,
    pub(super) changes: Changes,
    /// Reads users, credentials and tokens by their keys; concurrent reads share a statement.
    pub(super) reads: Arc<BatchedReads>,
    pub(super) hasher: Hasher,
    pub(crate) authorizer: Arc<Authorizer>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) policy: Arc<Policy>,
    pub(super) initial_password: InitialPassword,
    pub(super) registration_limiter: Arc<RateLimiter>,
    /// Limits how often a client may present a token that belongs to no valid password link.
    pub(super) link_limiter: Arc<RateLimiter>,
    pub(crate) recorder: SignInRecorder,
    /// The running searches of each admin, by the admin's id.
    pub(super) searches: ClientSlots<i64>,
    pub(crate) record: Arc<Record>,
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
        let registration_limiter = RateLimiter::per_address(policy.registration_limit);
        let link_limiter = RateLimiter::per_address(policy.login_failure_limit);
        let policy = Arc::new(policy);
        let recorder = SignInRecorder::new(Arc::clone(&store));
        let authorizer = Arc::new(Authorizer {
            store: Arc::clone(&store),
            reads: Arc::clone(&reads),
            tokens: tokens.clone(),
            policy: Arc::clone(&policy),
            recorder: recorder.clone(),
            background_restriction: Arc::new(Semaphore::new(1)),
        });
        let changes = Changes::new(Arc::clone(&store), initial_password.clone());
        let authenticator = Arc::new(Authenticator {
            store: Arc::clone(&store),
            reads: Arc::clone(&reads),
            changes: changes.clone(),
            hasher: hasher.clone(),
            cache: CredentialCache::new(policy.basic_cache_ttl)?,
            tokens,
            policy: Arc::clone(&policy),
            login_limiter: RateLimiter::per_address_and_name(policy.login_failure_limit),
            recorder: recorder.clone(),
        });
        let record = Arc::new(Record::new(Arc::clone(&store), Arc::clone(&authorizer)));
        Ok(Self {
            authorizer,
            authenticator,
            recorder,
            changes,
            store,
            reads,
            hasher,
            policy,
            initial_password,
            registration_limiter,
            link_limiter,
            searches: ClientSlots::new(MAX_SEARCHES),
            record,
        })
    }
}

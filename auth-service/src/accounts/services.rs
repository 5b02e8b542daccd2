//! Builds the services of the use cases from what they share.

use super::{
    authenticator::Authenticator,
    authorizer::Authorizer,
    changes::Changes,
    groups::Groups,
    initial_password::InitialPassword,
    policy::Policy,
    rate_limit::RateLimiter,
    record::Record,
    sign_in_recorder::SignInRecorder,
    users::{
        Users,
        list::{MAX_LIST_READS, MAX_SEARCHES},
    },
};
use crate::{
    password::{CredentialCache, Hasher},
    store::{BatchedReads, UserStore},
    tokens::AccessTokens,
};
use rolegate_http_server::clients::ClientSlots;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The services whose methods are the use cases, and the settings. Clones share all state.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) authorizer: Arc<Authorizer>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) users: Arc<Users>,
    pub(crate) groups: Arc<Groups>,
    pub(crate) record: Arc<Record>,
    pub(crate) recorder: SignInRecorder,
    pub(crate) policy: Arc<Policy>,
}

impl Services {
    /// Creates the services, with empty caches and counters. Fails only if the system provides no
    /// random bytes.
    pub(crate) fn new(
        store: Arc<UserStore>,
        hasher: Hasher,
        tokens: AccessTokens,
        policy: Policy,
        initial_password: InitialPassword,
    ) -> Result<Self, getrandom::Error> {
        let reads = Arc::new(BatchedReads::new(&store));
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
        let changes = Changes::new(Arc::clone(&store), initial_password);
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
        let groups = Groups {
            store: Arc::clone(&store),
            authorizer: Arc::clone(&authorizer),
            changes: changes.clone(),
            policy: Arc::clone(&policy),
        };
        let users = Users {
            store: Arc::clone(&store),
            reads,
            authorizer: Arc::clone(&authorizer),
            authenticator: Arc::clone(&authenticator),
            changes,
            hasher,
            policy: Arc::clone(&policy),
            recorder: recorder.clone(),
            registration_limiter: RateLimiter::per_address(policy.registration_limit),
            link_limiter: RateLimiter::per_address(policy.login_failure_limit),
            searches: ClientSlots::new(MAX_SEARCHES),
            list_reads: Arc::new(Semaphore::new(MAX_LIST_READS)),
        };
        let record = Record::new(store, Arc::clone(&authorizer));
        Ok(Self {
            authorizer,
            authenticator,
            users: Arc::new(users),
            groups: Arc::new(groups),
            record: Arc::new(record),
            recorder,
            policy,
        })
    }
}

//! The refusals of auth-service that still last.

use rolegate_auth_client::{CallError, Reason, RefusalScope, ServiceError};
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Of about 100 bytes each. Forgotten refusals are asked for again.
const MAX_REFUSALS: usize = 10_000;
/// A rate limit lasts a minute at most.
const MAX_REFUSAL_TIME: Duration = Duration::from_mins(1);
/// Capacity can come back sooner than estimated.
const MAX_OVERLOAD_TIME: Duration = Duration::from_secs(1);

/// A password check.
pub(super) struct Request<'a> {
    pub(super) client: IpAddr,
    pub(super) username: &'a str,
}

/// Whom a refusal covers. Usernames are hashed with a random key: a collision would refuse a name of the
/// same client for a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Covered {
    Username(IpAddr, u64),
    Client(IpAddr),
    /// All whose passwords this auth-service checks; others may have capacity.
    Replica(Option<u64>),
}

/// Identifies the auth-service that checks the password of a username.
type ReplicaOf = dyn Fn(&str) -> Option<u64> + Send + Sync;

/// Refusals by reason and whom they cover.
pub(super) struct Memory {
    kept: Mutex<Kept>,
    replica_of: Box<ReplicaOf>,
    /// False while there is none, so that looking costs nothing.
    is_used: AtomicBool,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Kept {
    refusals: HashMap<(Reason, Covered), (Instant, ServiceError)>,
    /// The end of the last one.
    until: Option<Instant>,
}

impl Memory {
    pub(super) fn new(replica_of: impl Fn(&str) -> Option<u64> + Send + Sync + 'static) -> Self {
        Self {
            kept: Mutex::default(),
            replica_of: Box::new(replica_of),
            is_used: AtomicBool::new(false),
            hasher: RandomState::new(),
        }
    }

    /// The refusal of `request` with one of `reasons`, the first that lasts, with the rest of its time.
    pub(super) fn find(&self, request: &Request<'_>, reasons: &[Reason]) -> Option<CallError> {
        // The clock is read only where there is a refusal.
        self.is_used
            .load(Ordering::Relaxed)
            .then(|| self.find_at(request, reasons, Instant::now()))?
    }

    pub(super) fn find_at(
        &self,
        request: &Request<'_>,
        reasons: &[Reason],
        now: Instant,
    ) -> Option<CallError> {
        let scopes = [RefusalScope::Username, RefusalScope::Client, RefusalScope::Service];
        let scopes = scopes.map(|scope| self.covered(request, scope));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.until.is_none_or(|until| until <= now) {
            kept.refusals.clear();
            self.is_used.store(false, Ordering::Relaxed);
        }
        reasons.iter().find_map(|&reason| {
            scopes.iter().find_map(|&covered| {
                let (until, error) = kept.refusals.get(&(reason, covered))?;
                let rest = until.checked_duration_since(now).filter(|rest| !rest.is_zero())?;
                let retry_after = Some(rest);
                Some(CallError::Refused(ServiceError { retry_after, ..error.clone() }))
            })
        })
    }

    /// Keeps a refusal with a scope for as long as it says.
    pub(super) fn keep(&self, request: &Request<'_>, error: &ServiceError, now: Instant) {
        let (Some(scope), Some(time)) = (error.scope, error.retry_after) else { return };
        let most = match error.reason {
            Reason::Overloaded => MAX_OVERLOAD_TIME,
            _ => MAX_REFUSAL_TIME,
        };
        let until = now + time.min(most);
        let covered = self.covered(request, scope);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.until = kept.until.max(Some(until));
        let refusals = &mut kept.refusals;
        if refusals.len() >= MAX_REFUSALS {
            refusals.retain(|_, (until, _)| *until > now);
        }
        if refusals.len() >= MAX_REFUSALS {
            refusals.clear();
        }
        refusals.insert((error.reason, covered), (until, error.clone()));
        self.is_used.store(true, Ordering::Relaxed);
    }

    fn covered(&self, request: &Request<'_>, scope: RefusalScope) -> Covered {
        match scope {
            RefusalScope::Username => {
                Covered::Username(request.client, self.hasher.hash_one(request.username))
            }
            RefusalScope::Client => Covered::Client(request.client),
            RefusalScope::Service => Covered::Replica((self.replica_of)(request.username)),
        }
    }
}

//! Checks that came out right, remembered for a while: what makes HTTP Basic affordable.
//!
//! Whether a password is right is a pure function of the stored hash and the password. Each request
//! still reads the stored hash; what is remembered is a keyed digest over name, stored hash and
//! password, so a changed hash misses by construction, and there is nothing to invalidate. The key
//! is random and lives in this process only. Failures are never remembered.

mod cache_key;
mod entries;
mod single_flight;

pub(crate) use cache_key::CacheKey;
use cache_key::CacheSecret;
use entries::Entries;
use single_flight::SingleFlight;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Remembers right checks, and lets identical checks that run at the same time be one. Clones share
/// the cache.
#[derive(Clone)]
pub(crate) struct CredentialCache(Arc<Parts>);

struct Parts {
    key: CacheSecret,
    entries: Entries,
    in_flight: SingleFlight,
}

impl CredentialCache {
    /// Remembers for `lifetime`; zero remembers nothing.
    pub(crate) fn new(lifetime: Duration) -> Result<Self, getrandom::Error> {
        let key = CacheSecret::random()?;
        let entries = Entries::new(lifetime);
        Ok(Self(Arc::new(Parts { key, entries, in_flight: SingleFlight::default() })))
    }

    /// What stands for this check. `stored` is `None` for a name that nobody has.
    pub(crate) fn cache_key(
        &self,
        username: &str,
        stored: Option<&str>,
        password: &str,
    ) -> CacheKey {
        self.0.key.cache_key(username, stored, password)
    }

    /// Whether this check came out right lately.
    pub(crate) fn contains(&self, cache_key: &CacheKey, now: Instant) -> bool {
        self.0.entries.contains(cache_key, now)
    }

    /// This check came out right.
    pub(crate) fn insert(&self, cache_key: CacheKey, now: Instant) {
        self.0.entries.insert(cache_key, now);
    }

    /// Runs a check, or waits for the same one that is under way. A key holds the name, so checks
    /// of two names are never one: sharing the stand-in's work would tell who does not exist.
    pub(crate) async fn single_flight<E>(
        &self,
        cache_key: CacheKey,
        check: impl Future<Output = Result<bool, E>>,
    ) -> Result<bool, E> {
        self.0.in_flight.single_flight(cache_key, check).await
    }
}

//! Caches successful checks of HTTP Basic credentials, so that a request need not run bcrypt.
//!
//! Whether a password is correct depends only on the stored hash and the password. Each request
//! still reads the stored hash, which is part of the key, so a changed hash misses and nothing has
//! to be invalidated. Failures are never cached.

mod cache_key;
mod single_flight;

pub(crate) use cache_key::CacheKey;
use cache_key::CacheSecret;
use single_flight::SingleFlight;

use moka::sync::Cache;
use std::{sync::Arc, time::Duration};

const MAX_ENTRIES: u64 = 64 * 1024;

/// Successful checks, and the checks in progress. Clones share both.
#[derive(Clone)]
pub(crate) struct CredentialCache {
    secret: Arc<CacheSecret>,
    /// `None` when caching is off.
    entries: Option<Cache<CacheKey, ()>>,
    in_flight: Arc<SingleFlight>,
}

impl CredentialCache {
    /// Keeps entries for `ttl`; zero turns caching off. Fails only without system randomness.
    pub(crate) fn new(ttl: Duration) -> Result<Self, getrandom::Error> {
        let cache = || Cache::builder().max_capacity(MAX_ENTRIES).time_to_live(ttl).build();
        Ok(Self {
            secret: Arc::new(CacheSecret::random()?),
            entries: (!ttl.is_zero()).then(cache),
            in_flight: Arc::default(),
        })
    }

    /// The key of a check. `stored` is `None` for an unknown username.
    pub(crate) fn key(&self, username: &str, stored: Option<&str>, password: &str) -> CacheKey {
        self.secret.key(username, stored, password)
    }

    /// Whether this check succeeded within the TTL.
    pub(crate) fn contains(&self, key: &CacheKey) -> bool {
        self.entries.as_ref().is_some_and(|entries| entries.get(key).is_some())
    }

    /// Adds a successful check.
    pub(crate) fn insert(&self, key: CacheKey) {
        if let Some(entries) = &self.entries {
            entries.insert(key, ());
        }
    }

    /// Runs a check, or waits for the same one in progress. Keys contain the username: if checks of
    /// unknown usernames shared their work, its duration would reveal that they are unknown.
    pub(crate) async fn single_flight<E>(
        &self,
        key: CacheKey,
        check: impl Future<Output = Result<bool, E>>,
    ) -> Result<bool, E> {
        self.in_flight.run(key, check).await
    }
}

#[cfg(test)]
mod tests {
    use super::{CredentialCache, MAX_ENTRIES};
    use std::{thread, time::Duration};

    fn cache(ttl: Duration) -> CredentialCache {
        CredentialCache::new(ttl).expect("randomness")
    }

    #[test]
    fn entries_expire_after_the_ttl() {
        for (ttl, is_cached) in [
            (Duration::from_mins(5), true),
            (Duration::from_millis(1), false),
            (Duration::ZERO, false),
        ] {
            let cache = cache(ttl);
            let key = cache.key("ada", Some("hash"), "sesame");
            assert!(!cache.contains(&key));
            cache.insert(key);
            thread::sleep(Duration::from_millis(5));
            assert_eq!(cache.contains(&key), is_cached, "{ttl:?}");
        }
    }

    #[test]
    fn number_of_entries_is_bounded() {
        let cache = cache(Duration::from_mins(5));
        for name in 0..MAX_ENTRIES * 5 / 4 {
            cache.insert(cache.key(&name.to_string(), Some("hash"), "sesame"));
        }
        let entries = cache.entries.expect("caching is on");
        entries.run_pending_tasks();
        assert!(entries.entry_count() <= MAX_ENTRIES, "{}", entries.entry_count());
    }
}

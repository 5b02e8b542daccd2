//! Caches successful checks of HTTP Basic credentials, so that a request need not run bcrypt.
//!
//! Whether a password is correct depends only on the stored hash and the password. Each request
//! still reads the stored hash, which is part of the key, so a changed hash misses and nothing has
//! to be invalidated. So is the client, which shows its password once at each address. Failures are
//! never cached.

mod cache_key;
mod single_flight;

pub(crate) use cache_key::CacheKey;
use cache_key::CacheSecret;
use single_flight::SingleFlight;

use moka::sync::Cache;
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

const MAX_ENTRIES: u64 = 64 * 1024;

/// Successful checks, and the checks in progress. Clones share both.
#[derive(Clone)]
pub(crate) struct CredentialCache {
    secret: Arc<CacheSecret>,
    /// With the minute of the last audit line; `None` when caching is off.
    entries: Option<Cache<CacheKey, Arc<AtomicU64>>>,
    started: Instant,
    in_flight: Arc<SingleFlight>,
}

/// A cached success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Whether it is the first of this entry in this minute, as its insertion may be.
    pub(crate) is_first_in_minute: bool,
}

impl CredentialCache {
    /// Keeps entries for `ttl`; zero turns caching off. Fails only without system randomness.
    pub(crate) fn new(ttl: Duration) -> Result<Self, getrandom::Error> {
        let cache = || Cache::builder().max_capacity(MAX_ENTRIES).time_to_live(ttl).build();
        Ok(Self {
            secret: Arc::new(CacheSecret::random()?),
            entries: (!ttl.is_zero()).then(cache),
            started: Instant::now(),
            in_flight: Arc::default(),
        })
    }

    /// The key of a check. `stored` is `None` for an unknown username.
    pub(crate) fn key(
        &self,
        username: &str,
        stored: Option<&str>,
        password: &str,
        client: IpAddr,
    ) -> CacheKey {
        self.secret.key(username, stored, password, client)
    }

    /// Whether this check succeeded within the TTL. The deadline of the request stands for the time.
    pub(crate) fn get(&self, key: &CacheKey, deadline: Instant) -> Option<Hit> {
        let audited = self.entries.as_ref()?.get(key)?;
        let (now, last) = (self.minute(deadline), audited.load(Ordering::Relaxed));
        let swap = || audited.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed);
        Some(Hit { is_first_in_minute: now > last && swap().is_ok() })
    }

    /// Adds a successful check.
    pub(crate) fn insert(&self, key: CacheKey, deadline: Instant) {
        if let Some(entries) = &self.entries {
            entries.insert(key, Arc::new(self.minute(deadline).into()));
        }
    }

    /// Minutes from the creation of the cache to a deadline. Reading a clock for each hit would cost
    /// more. Callers set deadlines, so that a later request may have an earlier one.
    fn minute(&self, deadline: Instant) -> u64 {
        deadline.saturating_duration_since(self.started).as_secs() / 60
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
    use super::{CredentialCache, Hit, MAX_ENTRIES};
    use std::{
        net::{IpAddr, Ipv4Addr},
        thread,
        time::{Duration, Instant},
    };

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

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
            let key = cache.key("ada", Some("hash"), "sesame", HERE);
            assert!(cache.get(&key, Instant::now()).is_none());
            cache.insert(key, Instant::now());
            thread::sleep(Duration::from_millis(5));
            assert_eq!(cache.get(&key, Instant::now()).is_some(), is_cached, "{ttl:?}");
        }
    }

    #[test]
    fn the_first_hit_of_a_minute_is_marked() {
        let mut cache = cache(Duration::from_mins(5));
        let key = cache.key("ada", Some("hash"), "sesame", HERE);
        cache.insert(key, Instant::now());
        let hit = |is_first_in_minute| Some(Hit { is_first_in_minute });
        assert_eq!(cache.get(&key, Instant::now()), hit(false), "the insertion was audited");
        let Some(earlier) = Instant::now().checked_sub(Duration::from_mins(1)) else { return };
        cache.started = earlier;
        assert_eq!(
            [cache.get(&key, Instant::now()), cache.get(&key, Instant::now())],
            [hit(true), hit(false)]
        );
    }

    #[test]
    fn deadlines_in_turn_before_and_after_a_minute_mark_one_hit() {
        let cache = cache(Duration::from_mins(5));
        let (key, now) = (cache.key("ada", Some("hash"), "sesame", HERE), Instant::now());
        cache.insert(key, now);
        let marks = [60, 0, 60].map(|ahead| {
            let hit = cache.get(&key, now + Duration::from_secs(ahead)).expect("cached");
            hit.is_first_in_minute
        });
        assert_eq!(marks, [true, false, false]);
    }

    #[test]
    fn number_of_entries_is_bounded() {
        let cache = cache(Duration::from_mins(5));
        for name in 0..MAX_ENTRIES * 5 / 4 {
            cache
                .insert(cache.key(&name.to_string(), Some("hash"), "sesame", HERE), Instant::now());
        }
        let entries = cache.entries.expect("caching is on");
        entries.run_pending_tasks();
        assert!(entries.entry_count() <= MAX_ENTRIES, "{}", entries.entry_count());
    }
}

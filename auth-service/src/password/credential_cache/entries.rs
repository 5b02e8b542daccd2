//! A bounded set whose members leave after a while.

use super::CacheKey;
use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Members of each of the two generations; a member takes some 64 bytes.
const GENERATION: usize = 32 * 1024;

/// What came out right lately.
pub(super) struct Entries {
    lifetime: Duration,
    generations: Mutex<Generations>,
}

/// New members join the young; when there are too many, the old are forgotten and the young are
/// the old. So the set is bounded without keeping an order, and a busy member comes back at once.
#[derive(Default)]
struct Generations {
    young: HashMap<CacheKey, Instant>,
    old: HashMap<CacheKey, Instant>,
}

impl Entries {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { lifetime, generations: Mutex::default() }
    }

    pub(super) fn contains(&self, cache_key: &CacheKey, now: Instant) -> bool {
        let generations = self.lock();
        let since = generations.young.get(cache_key).or_else(|| generations.old.get(cache_key));
        since.is_some_and(|since| now.saturating_duration_since(*since) < self.lifetime)
    }

    pub(super) fn insert(&self, cache_key: CacheKey, now: Instant) {
        if self.lifetime.is_zero() {
            return;
        }
        let mut generations = self.lock();
        if generations.young.len() >= GENERATION {
            generations.old = mem::take(&mut generations.young);
        }
        generations.young.insert(cache_key, now);
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::cache_key::CacheSecret, Entries, GENERATION};
    use std::time::{Duration, Instant};

    #[test]
    fn a_member_leaves_when_its_time_is_over() {
        let cache_key =
            CacheSecret::random().expect("randomness").cache_key("ada", Some("hash"), "sesame");
        let start = Instant::now();
        let entries = Entries::new(Duration::from_mins(5));
        assert!(!entries.contains(&cache_key, start));
        entries.insert(cache_key, start);
        assert!(entries.contains(&cache_key, start + Duration::from_secs(299)));
        assert!(!entries.contains(&cache_key, start + Duration::from_mins(5)));
        let off = Entries::new(Duration::ZERO);
        off.insert(cache_key, start);
        assert!(!off.contains(&cache_key, start));
    }

    #[test]
    fn the_set_is_bounded_and_keeps_the_newest() {
        let key = CacheSecret::random().expect("randomness");
        let now = Instant::now();
        let entries = Entries::new(Duration::from_mins(5));
        let cache_key = |name: usize| key.cache_key(&name.to_string(), None, "");
        for name in 0..=2 * GENERATION {
            entries.insert(cache_key(name), now);
        }
        assert!(!entries.contains(&cache_key(0), now));
        assert!(entries.contains(&cache_key(GENERATION), now));
        assert!(entries.contains(&cache_key(2 * GENERATION), now));
        let generations = entries.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
    }
}

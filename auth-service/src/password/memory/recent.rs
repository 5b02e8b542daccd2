//! A bounded set whose members leave after a while.

use super::Tag;
use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Members of each of the two generations; a member takes some 64 bytes.
const GENERATION: usize = 32 * 1024;

/// What came out right lately.
pub(super) struct Recent {
    lifetime: Duration,
    generations: Mutex<Generations>,
}

/// New members join the young; when there are too many, the old are forgotten and the young are
/// the old. So the set is bounded without keeping an order, and a busy member comes back at once.
#[derive(Default)]
struct Generations {
    young: HashMap<Tag, Instant>,
    old: HashMap<Tag, Instant>,
}

impl Recent {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { lifetime, generations: Mutex::default() }
    }

    pub(super) fn contains(&self, tag: &Tag, now: Instant) -> bool {
        let generations = self.lock();
        let since = generations.young.get(tag).or_else(|| generations.old.get(tag));
        since.is_some_and(|since| now.saturating_duration_since(*since) < self.lifetime)
    }

    pub(super) fn insert(&self, tag: Tag, now: Instant) {
        if self.lifetime.is_zero() {
            return;
        }
        let mut generations = self.lock();
        if generations.young.len() >= GENERATION {
            generations.old = mem::take(&mut generations.young);
        }
        generations.young.insert(tag, now);
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tag::TagKey, GENERATION, Recent};
    use std::time::{Duration, Instant};

    #[test]
    fn a_member_leaves_when_its_time_is_over() {
        let tag = TagKey::random().expect("randomness").tag("ada", Some("hash"), "sesame");
        let start = Instant::now();
        let recent = Recent::new(Duration::from_mins(5));
        assert!(!recent.contains(&tag, start));
        recent.insert(tag, start);
        assert!(recent.contains(&tag, start + Duration::from_secs(299)));
        assert!(!recent.contains(&tag, start + Duration::from_mins(5)));
        let off = Recent::new(Duration::ZERO);
        off.insert(tag, start);
        assert!(!off.contains(&tag, start));
    }

    #[test]
    fn the_set_is_bounded_and_keeps_the_newest() {
        let key = TagKey::random().expect("randomness");
        let now = Instant::now();
        let recent = Recent::new(Duration::from_mins(5));
        let tag = |name: usize| key.tag(&name.to_string(), None, "");
        for name in 0..=2 * GENERATION {
            recent.insert(tag(name), now);
        }
        assert!(!recent.contains(&tag(0), now));
        assert!(recent.contains(&tag(GENERATION), now));
        assert!(recent.contains(&tag(2 * GENERATION), now));
        let generations = recent.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
    }
}

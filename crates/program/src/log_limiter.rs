//! Limits log lines that a client or an outage could repeat, usually to one line for each key and period.

use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// Decides which lines are written, and remembers their keys. The caller writes a line only if [`Self::claim`]
/// returns `true`.
#[derive(Debug)]
pub struct LogLimiter<K> {
    /// The maximum number of keys that are remembered.
    capacity: usize,
    /// The time after which the line of a key may be written again.
    period: Duration,
    when_full: WhenFull,
    lines: Mutex<Lines<K>>,
}

/// Determines what happens to a new key when the limiter remembers the maximum number of keys.
#[derive(Debug)]
enum WhenFull {
    /// The line of the new key is not written.
    Silence,
    /// The line is written, and the oldest key is forgotten.
    EvictOldest,
}

/// The lines that were written within the period.
#[derive(Debug)]
struct Lines<K> {
    keys: BTreeSet<K>,
    /// The lines of `keys`, oldest first.
    by_time: VecDeque<Line<K>>,
}

#[derive(Debug)]
struct Line<K> {
    key: K,
    written_at: Instant,
}

impl<K: Clone + Ord> LogLimiter<K> {
    /// Creates a limiter that allows at most `capacity` lines in a `period`, one for each key, and silences
    /// further keys. Use it for keys that clients choose: clients could otherwise fill the log.
    pub const fn silent_when_full(capacity: usize, period: Duration) -> Self {
        Self::new(capacity, period, WhenFull::Silence)
    }

    /// Creates a limiter that allows lines of any number of keys, and remembers `capacity` keys. If there are
    /// more keys, the oldest is forgotten, so its line may be repeated within the period. Use it for lines that
    /// must not be lost.
    pub const fn evicting_when_full(capacity: usize, period: Duration) -> Self {
        Self::new(capacity, period, WhenFull::EvictOldest)
    }

    const fn new(capacity: usize, period: Duration, when_full: WhenFull) -> Self {
        let lines = Lines {
            keys: BTreeSet::new(),
            by_time: VecDeque::new(),
        };
        Self {
            capacity,
            period,
            when_full,
            lines: Mutex::new(lines),
        }
    }

    /// Claims the line of this key. Returns `true` if the caller must write the line now. The line then counts
    /// as written, and other callers get `false` while the limiter remembers the key.
    pub fn claim(&self, key: K) -> bool {
        let now = Instant::now();
        let mut lines = self.lines.lock();
        while let Some(oldest) = lines.by_time.front()
            && now.duration_since(oldest.written_at) >= self.period
        {
            lines.remove_oldest();
        }
        if lines.keys.contains(&key) {
            return false;
        }
        if lines.keys.len() >= self.capacity {
            match self.when_full {
                WhenFull::Silence => return false,
                WhenFull::EvictOldest => lines.remove_oldest(),
            }
        }
        lines.keys.insert(key.clone());
        lines.by_time.push_back(Line {
            key,
            written_at: now,
        });
        true
    }
}

impl<K: Ord> Lines<K> {
    fn remove_oldest(&mut self) {
        if let Some(oldest) = self.by_time.pop_front() {
            self.keys.remove(&oldest.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LogLimiter;
    use std::time::Duration;
    use tokio::time::advance;

    const PERIOD: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn each_key_is_claimed_once_a_period() {
        let limiter = LogLimiter::silent_when_full(9, PERIOD);
        assert_eq!(
            ["a", "b", "a"].map(|key| limiter.claim(key)),
            [true, true, false]
        );
        advance(PERIOD / 2).await;
        assert_eq!(["a", "c"].map(|key| limiter.claim(key)), [false, true]);
        advance(PERIOD / 2).await;
        assert_eq!(["a", "c"].map(|key| limiter.claim(key)), [true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_limiter_is_silent_until_its_oldest_line_expires() {
        let limiter = LogLimiter::silent_when_full(2, PERIOD);
        assert_eq!((0..9).filter(|key| limiter.claim(*key)).count(), 2);
        advance(PERIOD).await;
        assert!(limiter.claim(9));
    }

    #[tokio::test(start_paused = true)]
    async fn an_evicting_limiter_forgets_only_the_oldest() {
        let limiter = LogLimiter::evicting_when_full(2, PERIOD);
        assert_eq!(
            [1, 2, 3, 3, 2, 1].map(|key| limiter.claim(key)),
            [true, true, true, false, false, true]
        );
    }
}

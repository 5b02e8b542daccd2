//! Lines that a client or an outage would repeat: written once for each key and period.

use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// Remembers which lines were written.
#[derive(Debug)]
pub struct LogOnce<K> {
    max_keys: usize,
    /// After this time, the line of a key is due again.
    period: Duration,
    when_full: WhenFull,
    lines: Mutex<Lines<K>>,
}

/// What happens to a new key when the log remembers as many as it may.
#[derive(Debug)]
enum WhenFull {
    Silence,
    EvictOldest,
}

/// The lines that were written within the period.
#[derive(Debug)]
struct Lines<K> {
    keys: BTreeSet<K>,
    /// The lines of these keys, oldest first.
    by_time: VecDeque<Line<K>>,
}

#[derive(Debug)]
struct Line<K> {
    key: K,
    written_at: Instant,
}

impl<K: Clone + Ord> LogOnce<K> {
    /// A log of at most `max_lines` in a `period`: further keys are silent. It is for keys that clients choose, who
    /// could fill the log otherwise.
    pub const fn with_max_lines(max_lines: usize, period: Duration) -> Self {
        Self::new(max_lines, period, WhenFull::Silence)
    }

    /// A log of any number of lines, which remembers `max_keys`: beyond it, the oldest is forgotten, and its line may
    /// be repeated sooner. It is for lines that must not be lost.
    pub const fn with_max_keys(max_keys: usize, period: Duration) -> Self {
        Self::new(max_keys, period, WhenFull::EvictOldest)
    }

    const fn new(max_keys: usize, period: Duration, when_full: WhenFull) -> Self {
        let lines = Lines {
            keys: BTreeSet::new(),
            by_time: VecDeque::new(),
        };
        Self {
            max_keys,
            period,
            when_full,
            lines: Mutex::new(lines),
        }
    }

    /// Tells whether the line of this key is to be written now, which counts it as written.
    pub fn is_due(&self, key: K) -> bool {
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
        if lines.keys.len() >= self.max_keys {
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
    use super::LogOnce;
    use std::time::Duration;
    use tokio::time::advance;

    const PERIOD: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn each_key_is_due_once_a_period() {
        let log = LogOnce::with_max_lines(9, PERIOD);
        assert_eq!(
            ["a", "b", "a"].map(|key| log.is_due(key)),
            [true, true, false]
        );
        advance(PERIOD / 2).await;
        assert_eq!(["a", "c"].map(|key| log.is_due(key)), [false, true]);
        advance(PERIOD / 2).await;
        assert_eq!(["a", "c"].map(|key| log.is_due(key)), [true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_log_is_silent_until_its_oldest_line_expires() {
        let log = LogOnce::with_max_lines(2, PERIOD);
        assert_eq!((0..9).filter(|key| log.is_due(*key)).count(), 2);
        advance(PERIOD).await;
        assert!(log.is_due(9));
    }

    #[tokio::test(start_paused = true)]
    async fn an_evicting_log_forgets_only_the_oldest() {
        let log = LogOnce::with_max_keys(2, PERIOD);
        assert_eq!(
            [1, 2, 3, 3, 2, 1].map(|key| log.is_due(key)),
            [true, true, true, false, false, true]
        );
    }
}

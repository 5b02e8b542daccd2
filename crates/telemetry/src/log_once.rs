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
    /// After it, the line of a key is due again.
    period: Duration,
    evicts: bool,
    written: Mutex<Written<K>>,
}

#[derive(Debug)]
struct Written<K> {
    keys: BTreeSet<K>,
    /// The keys and when they were written, oldest first.
    times: VecDeque<(Instant, K)>,
}

impl<K: Clone + Ord> LogOnce<K> {
    /// At most `max_lines` in a `period`; further keys are silent. For keys that strangers choose, who
    /// could fill the log.
    pub const fn at_most(max_lines: usize, period: Duration) -> Self {
        Self::new(max_lines, period, false)
    }

    /// Remembers `max_keys`; beyond it, the oldest is forgotten and may be repeated sooner. For lines
    /// that must not be lost.
    pub const fn evicting(max_keys: usize, period: Duration) -> Self {
        Self::new(max_keys, period, true)
    }

    const fn new(max_keys: usize, period: Duration, evicts: bool) -> Self {
        let written = Written {
            keys: BTreeSet::new(),
            times: VecDeque::new(),
        };
        Self {
            max_keys,
            period,
            evicts,
            written: Mutex::new(written),
        }
    }

    /// Whether the line of this key is to be written now, which counts it as written.
    pub fn is_due(&self, key: K) -> bool {
        let now = Instant::now();
        let mut written = self.written.lock();
        let Written { keys, times } = &mut *written;
        while let Some((at, key)) = times.front()
            && now.duration_since(*at) >= self.period
        {
            keys.remove(key);
            times.pop_front();
        }
        if keys.contains(&key) || (keys.len() >= self.max_keys && !self.evicts) {
            return false;
        }
        if keys.len() >= self.max_keys
            && let Some((_, oldest)) = times.pop_front()
        {
            keys.remove(&oldest);
        }
        keys.insert(key.clone());
        times.push_back((now, key));
        true
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
        let log = LogOnce::at_most(9, PERIOD);
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
        let log = LogOnce::at_most(2, PERIOD);
        assert_eq!((0..9).filter(|key| log.is_due(*key)).count(), 2);
        advance(PERIOD).await;
        assert!(log.is_due(9));
    }

    #[tokio::test(start_paused = true)]
    async fn an_evicting_log_forgets_only_the_oldest() {
        let log = LogOnce::evicting(2, PERIOD);
        assert_eq!(
            [1, 2, 3, 3, 2, 1].map(|key| log.is_due(key)),
            [true, true, true, false, false, true]
        );
    }
}

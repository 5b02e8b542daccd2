//! Counts in windows of one minute, for networks.

use rolegate_http_server::clients::Network;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

pub(super) const WINDOW: Duration = Duration::from_mins(1);
/// Of about 64 bytes each. An attacker with more addresses can evict windows, which allows one more
/// window of guesses.
pub(super) const MAX_WINDOWS: usize = 100_000;
/// For a window that is full only until attempts in progress end.
const PENDING_RETRY: Duration = Duration::from_secs(1);

/// A username, so that long ones take no more memory.
pub(super) type NameDigest = [u8; 16];

/// A network, alone or with a username.
pub(super) type Key = (Network, Option<NameDigest>);

/// What an attempt counts for.
pub(super) struct Count {
    pub(super) key: Key,
    pub(super) limit: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitExceeded {
    pub(crate) retry_after: Duration,
    pub(crate) first_in_window: bool,
}

struct Window {
    opened: Instant,
    attempts: u32,
    /// Those of `attempts` that are in progress.
    pending: u32,
    has_refused: bool,
}

#[derive(Default)]
pub(super) struct Windows {
    open: HashMap<Key, Window>,
    /// The end of the last full window.
    full_until: Option<Instant>,
}

impl Windows {
    /// Whether a window may be full.
    pub(super) fn may_refuse(&self, now: Instant) -> bool {
        self.full_until.is_some_and(|until| now < until)
    }

    /// The refusal of an attempt that one of these windows has no room for. If it `is_made`, the next is not the
    /// first.
    pub(super) fn refusal(
        &mut self,
        counts: &[Count],
        now: Instant,
        is_made: bool,
    ) -> Option<LimitExceeded> {
        let mut first_in_window = false;
        let full = counts.iter().filter_map(|&Count { key, limit }| {
            let window = self
                .open
                .get_mut(&key)
                .filter(|window| window.is_open(now))?;
            (window.attempts >= limit).then(|| {
                first_in_window |= !window.has_refused;
                window.has_refused |= is_made;
                let is_settled = window.attempts - window.pending >= limit;
                let rest = WINDOW.saturating_sub(now - window.opened);
                if is_settled {
                    rest
                } else {
                    rest.min(PENDING_RETRY)
                }
            })
        });
        let retry_after = full.max()?;
        Some(LimitExceeded {
            retry_after,
            first_in_window,
        })
    }

    /// Counts an attempt in progress; returns the windows that counted it.
    pub(super) fn count(&mut self, counts: &[Count], now: Instant) -> Vec<(Key, Instant)> {
        self.evict(now);
        let mut counted = Vec::with_capacity(counts.len());
        for &Count { key, limit } in counts {
            let window = self.open.entry(key).or_insert(Window::opened(now));
            if !window.is_open(now) {
                *window = Window::opened(now);
            }
            window.attempts += 1;
            window.pending += 1;
            if window.attempts >= limit {
                self.full_until = self.full_until.max(Some(window.opened + WINDOW));
            }
            counted.push((key, window.opened));
        }
        counted
    }

    /// Ends an attempt, in the windows that counted it.
    pub(super) fn settle(&mut self, counted: &[(Key, Instant)], is_refunded: bool) {
        for (key, opened) in counted {
            if let Some(window) = self
                .open
                .get_mut(key)
                .filter(|window| window.opened == *opened)
            {
                window.pending = window.pending.saturating_sub(1);
                window.attempts = window.attempts.saturating_sub(is_refunded.into());
            }
        }
    }

    /// Bounds the map: removes closed windows, then those with few attempts, then all, down to half
    /// of the bound, so that evictions are rare.
    fn evict(&mut self, now: Instant) {
        if self.open.len() < MAX_WINDOWS {
            return;
        }
        self.open
            .retain(|_, window| window.is_open(now) && window.attempts > 0);
        if self.open.len() > MAX_WINDOWS / 2 {
            self.open.retain(|_, window| window.attempts > 1);
        }
        if self.open.len() > MAX_WINDOWS / 2 {
            self.open.clear();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}

impl Window {
    fn opened(opened: Instant) -> Self {
        Self {
            opened,
            attempts: 0,
            pending: 0,
            has_refused: false,
        }
    }

    fn is_open(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.opened) < WINDOW
    }
}

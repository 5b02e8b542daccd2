//! Counts attempts in windows of one minute. A window belongs to a network, alone or with a
//! username.

use rolegate_http_server::clients::Network;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

pub(super) const WINDOW: Duration = Duration::from_mins(1);
/// The maximum number of windows that are open at the same time; each takes about 64 bytes.
///
/// An attacker with more addresses than this can evict windows, and so gains the attempts of one
/// more window.
pub(super) const MAX_WINDOWS: usize = 100_000;
/// The time after which a client may retry if a window is full only because of attempts in
/// progress.
const PENDING_RETRY: Duration = Duration::from_secs(1);

/// The digest of a username, so that a long name takes no more memory than a short one.
pub(super) type NameDigest = [u8; 16];

/// Identifies a window: a network, alone or with a username.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct WindowKey {
    pub(super) network: Network,
    pub(super) name: Option<NameDigest>,
}

/// A window that counts an attempt, and the maximum number of attempts in that window.
pub(super) struct WindowLimit {
    pub(super) key: WindowKey,
    pub(super) limit: u32,
}

/// A window that has counted an attempt. The time at which it opened distinguishes it from a later
/// window with the same key.
pub(super) struct CountedWindow {
    key: WindowKey,
    opened: Instant,
}

/// Determines whether the check of a full window counts as a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckMode {
    /// A full window refuses the attempt and remembers this, so its next refusal is not the first
    /// one.
    Refuse,
    /// A full window stays unchanged, because the caller only asks whether it is full.
    Peek,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitExceeded {
    pub(crate) retry_after: Duration,
    /// True for the first refusal of a window. Callers do not log further refusals.
    pub(crate) first_in_window: bool,
}

struct Window {
    opened: Instant,
    attempts: u32,
    /// The number of `attempts` that are still in progress.
    pending: u32,
    has_refused: bool,
}

#[derive(Default)]
pub(super) struct Windows {
    open: HashMap<WindowKey, Window>,
    /// The time at which the last full window closes; `None` if no window was ever full.
    full_until: Option<Instant>,
}

impl Windows {
    /// Returns true if at least one window may be full.
    pub(super) fn has_full_window(&self, now: Instant) -> bool {
        self.full_until.is_some_and(|until| now < until)
    }

    /// Returns the refusal of an attempt if one of these windows is full. If several are full,
    /// `retry_after` is the longest of their times.
    pub(super) fn refusal(
        &mut self,
        limits: &[WindowLimit],
        now: Instant,
        mode: CheckMode,
    ) -> Option<LimitExceeded> {
        let mut first_in_window = false;
        let mut retry_after = None;
        for &WindowLimit { key, limit } in limits {
            let Some(window) = self.open.get_mut(&key) else {
                continue;
            };
            if !window.is_open(now) || window.attempts < limit {
                continue;
            }
            first_in_window |= !window.has_refused;
            window.has_refused |= mode == CheckMode::Refuse;
            retry_after = retry_after.max(Some(window.retry_after(limit, now)));
        }
        Some(LimitExceeded {
            retry_after: retry_after?,
            first_in_window,
        })
    }

    /// Counts an attempt as being in progress, and returns the windows that counted it.
    pub(super) fn count(&mut self, limits: &[WindowLimit], now: Instant) -> Vec<CountedWindow> {
        self.evict(now);
        let mut counted = Vec::with_capacity(limits.len());
        for &WindowLimit { key, limit } in limits {
            let window = self.open.entry(key).or_insert(Window::new(now));
            if !window.is_open(now) {
                *window = Window::new(now);
            }
            window.attempts += 1;
            window.pending += 1;
            if window.attempts >= limit {
                self.full_until = self.full_until.max(Some(window.opened + WINDOW));
            }
            counted.push(CountedWindow {
                key,
                opened: window.opened,
            });
        }
        counted
    }

    /// Marks an attempt as finished in the windows that counted it. A refunded attempt no longer
    /// counts.
    pub(super) fn settle(&mut self, counted: &[CountedWindow], is_refunded: bool) {
        for CountedWindow { key, opened } in counted {
            if let Some(window) = self.open.get_mut(key)
                && window.opened == *opened
            {
                window.pending = window.pending.saturating_sub(1);
                window.attempts = window.attempts.saturating_sub(is_refunded.into());
            }
        }
    }

    /// Removes windows if the map is full: first those that are closed or count no attempt, then
    /// those with at most one attempt, then all. It stops once at most half of [`MAX_WINDOWS`] are
    /// left, so that evictions are rare.
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
    fn new(opened: Instant) -> Self {
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

    /// Returns the time after which a full window may allow an attempt again. This is sooner if
    /// some of its attempts are in progress, because they may be refunded.
    fn retry_after(&self, limit: u32, now: Instant) -> Duration {
        let rest = WINDOW.saturating_sub(now - self.opened);
        let is_full_of_failures = self.attempts - self.pending >= limit;
        if is_full_of_failures {
            rest
        } else {
            rest.min(PENDING_RETRY)
        }
    }
}

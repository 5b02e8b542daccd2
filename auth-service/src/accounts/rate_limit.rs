//! Limits login failures and registrations.
//!
//! An attempt is acquired before the password is hashed and refunded when the password is correct or
//! was not checked, so concurrent guesses count as sequential ones do. Attempts count for a username
//! at an address and for the address, whether the username exists or not, in fixed windows of one
//! minute from the first attempt. A lockout therefore lasts a minute at most, and does not affect
//! the user at other addresses. Each replica counts separately.

use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    mem,
    net::IpAddr,
    num::NonZero,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

const WINDOW: Duration = Duration::from_mins(1);
/// Many users can share an address.
const ADDRESS_FACTOR: u32 = 15;
/// Of about 64 bytes each. An attacker with more addresses can evict windows, which allows one more
/// window of guesses.
const MAX_WINDOWS: usize = 100_000;

/// An address, alone or with the digest of a username, so that long usernames take no more memory.
type Key = (IpAddr, Option<[u8; 16]>);

struct Window {
    opened: Instant,
    attempts: u32,
    /// Whether an attempt was refused.
    has_refused: bool,
}

/// Counts attempts. Clones share the counts.
#[derive(Clone)]
pub(crate) struct RateLimiter {
    /// Per username and address; `None` for no limit.
    limit: Option<NonZero<u32>>,
    windows: Arc<Mutex<HashMap<Key, Window>>>,
}

/// An attempt was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitExceeded {
    /// When the window ends.
    pub(crate) retry_after: Duration,
    /// Whether this is the first refusal of the window.
    pub(crate) first_in_window: bool,
}

/// A counted attempt. It stays counted when dropped, so cancelling a request does not undo a guess.
#[must_use = "refund an attempt that succeeded or was not made"]
pub(crate) struct Attempt {
    /// The keys and the opening times of their windows.
    counted: Vec<(Key, Instant)>,
    windows: Arc<Mutex<HashMap<Key, Window>>>,
}

impl RateLimiter {
    /// Allows `limit` attempts per minute for a username at an address, and 15 times that for an
    /// address; 0 is no limit.
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit: NonZero::new(limit), windows: Arc::default() }
    }

    /// Counts an attempt, or refuses it.
    pub(crate) fn acquire(
        &self,
        username: &str,
        client: IpAddr,
        now: Instant,
    ) -> Result<Attempt, LimitExceeded> {
        let windows = Arc::clone(&self.windows);
        let Some(limit) = self.limit.map(NonZero::get) else {
            return Ok(Attempt { counted: Vec::new(), windows });
        };
        let keys = [(client, Some(digest(username))), (client, None)];
        let limits = [limit, limit.saturating_mul(ADDRESS_FACTOR)];
        let mut state = lock(&self.windows);
        let mut first_in_window = false;
        let full = keys.iter().zip(limits).filter_map(|(key, limit)| {
            let window = state.get_mut(key).filter(|window| window.is_open(now))?;
            (window.attempts >= limit).then(|| {
                first_in_window |= !mem::replace(&mut window.has_refused, true);
                WINDOW.saturating_sub(now - window.opened)
            })
        });
        if let Some(retry_after) = full.max() {
            return Err(LimitExceeded { retry_after, first_in_window });
        }
        evict(&mut state, now);
        let mut counted = Vec::with_capacity(keys.len());
        for key in keys {
            let window = state.entry(key).or_insert(Window::opened(now));
            if !window.is_open(now) {
                *window = Window::opened(now);
            }
            window.attempts += 1;
            counted.push((key, window.opened));
        }
        drop(state);
        Ok(Attempt { counted, windows })
    }
}

impl Attempt {
    /// Undoes the attempt.
    pub(crate) fn refund(self) {
        let mut state = lock(&self.windows);
        for (key, opened) in &self.counted {
            // Only in the window that counted it.
            if let Some(window) = state.get_mut(key).filter(|window| window.opened == *opened) {
                window.attempts = window.attempts.saturating_sub(1);
            }
        }
    }
}

impl Window {
    fn opened(opened: Instant) -> Self {
        Self { opened, attempts: 0, has_refused: false }
    }

    fn is_open(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.opened) < WINDOW
    }
}

/// Bounds the map: removes closed windows, then those with few attempts, then all, down to half of
/// the bound, so that evictions are rare.
fn evict(windows: &mut HashMap<Key, Window>, now: Instant) {
    if windows.len() < MAX_WINDOWS {
        return;
    }
    windows.retain(|_, window| window.is_open(now) && window.attempts > 0);
    if windows.len() > MAX_WINDOWS / 2 {
        windows.retain(|_, window| window.attempts > 1);
    }
    if windows.len() > MAX_WINDOWS / 2 {
        windows.clear();
    }
}

fn digest(username: &str) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(username)[..16]);
    digest
}

fn lock(windows: &Mutex<HashMap<Key, Window>>) -> MutexGuard<'_, HashMap<Key, Window>> {
    // Counts stay consistent even if a holder panics.
    windows.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{RateLimiter, WINDOW};
    use std::{
        net::IpAddr,
        time::{Duration, Instant},
    };

    fn client(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn fail(limiter: &RateLimiter, name: &str, from: &str, now: Instant) -> Result<(), Duration> {
        limiter.acquire(name, client(from), now).map(drop).map_err(|exceeded| exceeded.retry_after)
    }

    #[test]
    fn failures_count_per_username_and_address_for_one_minute() {
        let limiter = RateLimiter::new(3);
        let start = Instant::now();
        for second in 0..3 {
            assert!(
                fail(&limiter, "ada", "192.0.2.1", start + Duration::from_secs(second)).is_ok()
            );
        }
        let later = start + Duration::from_secs(20);
        assert_eq!(fail(&limiter, "ada", "192.0.2.1", later), Err(Duration::from_secs(40)));
        assert!(fail(&limiter, "ada", "192.0.2.2", later).is_ok(), "another address");
        assert!(fail(&limiter, "bob", "192.0.2.1", later).is_ok(), "another username");
        assert!(fail(&limiter, "ada", "192.0.2.1", start + WINDOW).is_ok(), "the next minute");
    }

    #[test]
    fn concurrent_attempts_count_and_refunds_undo_them() {
        let limiter = RateLimiter::new(2);
        let now = Instant::now();
        let acquire = || limiter.acquire("ada", client("192.0.2.1"), now);
        let (first, second) = (acquire().expect("one"), acquire().expect("two"));
        assert!(acquire().is_err(), "two attempts are in progress");
        first.refund();
        let third = acquire().expect("one was refunded");
        drop((second, third));
        assert!(acquire().is_err(), "dropped attempts stay counted");
    }

    #[test]
    fn address_has_fifteen_times_the_limit_over_all_usernames() {
        let limiter = RateLimiter::new(2);
        let now = Instant::now();
        for name in 0..30 {
            assert!(fail(&limiter, &name.to_string(), "192.0.2.1", now).is_ok());
        }
        assert!(fail(&limiter, "new", "192.0.2.1", now).is_err());
        assert!(fail(&limiter, "new", "192.0.2.2", now).is_ok());
    }

    #[test]
    fn only_the_first_refusal_of_a_window_is_marked() {
        let limiter = RateLimiter::new(1);
        let start = Instant::now();
        for now in [start, start + WINDOW] {
            let attempt = || limiter.acquire("ada", client("192.0.2.1"), now).map(drop);
            attempt().expect("below the limit");
            let first =
                [attempt(), attempt()].map(|refused| refused.expect_err("full").first_in_window);
            assert_eq!(first, [true, false]);
        }
    }

    #[test]
    fn zero_is_no_limit() {
        let limiter = RateLimiter::new(0);
        let now = Instant::now();
        assert!((0..1000).all(|_| fail(&limiter, "ada", "192.0.2.1", now).is_ok()));
    }

    #[test]
    fn number_of_windows_is_bounded() {
        let limiter = RateLimiter::new(1);
        let now = Instant::now();
        for name in 0..super::MAX_WINDOWS + 10 {
            let from = IpAddr::from(u32::try_from(name).expect("small").to_be_bytes());
            let _ = limiter.acquire("ada", from, now).map(drop);
        }
        assert!(super::lock(&limiter.windows).len() <= super::MAX_WINDOWS + 2);
    }
}

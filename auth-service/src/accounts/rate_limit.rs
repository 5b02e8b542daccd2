//! Limits on guessing passwords.
//!
//! An attempt is reserved before the password is hashed and given back when it was right (or when
//! nothing was tried), so guesses made in parallel count as those made in turn. Attempts are counted
//! for a username at an address and for the address alone, the same for names that exist and names
//! that do not, in windows of a minute that begin with the first attempt: nobody is locked out for
//! longer, and nobody can lock out a user who comes from elsewhere. Each replica counts for itself.

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
/// An office behind one address has more users than one, and they mistype independently.
const ADDRESS_FACTOR: u32 = 15;
/// Windows that are kept, some 64 bytes each. An attacker with more addresses than this makes us
/// forget; that costs at most one more window of guesses.
const MAX_WINDOWS: usize = 100_000;

/// What attempts are counted for: an address, alone or with a username (as a digest: whatever
/// somebody sends as a name, a key stays small).
type Key = (IpAddr, Option<[u8; 16]>);

struct Window {
    opened: Instant,
    attempts: u32,
    /// Whether an attempt was refused.
    has_refused: bool,
}

/// Counts attempts. Clones count together.
#[derive(Clone)]
pub(crate) struct RateLimiter {
    /// Per username and address; `None` counts nothing.
    limit: Option<NonZero<u32>>,
    windows: Arc<Mutex<HashMap<Key, Window>>>,
}

/// Too many attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitExceeded {
    /// Until the next one is allowed.
    pub(crate) retry_after: Duration,
    /// Whether this is the first that is refused in its window.
    pub(crate) first_in_window: bool,
}

/// A counted attempt. Dropped, it stays counted: a caller who leaves before the verdict has guessed.
#[must_use = "an attempt that was right, or never made, is given back"]
pub(crate) struct Attempt {
    /// Where it is counted: the keys, and when their windows were opened.
    counted: Vec<(Key, Instant)>,
    windows: Arc<Mutex<HashMap<Key, Window>>>,
}

impl RateLimiter {
    /// Allows `limit` failures a minute for a username at an address, and 15 times that for an
    /// address; 0 allows any number.
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
    /// Takes the attempt back: the password was right, or was not looked at.
    pub(crate) fn refund(self) {
        let mut state = lock(&self.windows);
        for (key, opened) in &self.counted {
            // Only from the window it was counted in: the next one does not know it.
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

/// Keeps the map within bounds: closed windows go first, then those that hold least, then all. Down
/// to half, so that the next time is not soon.
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
    // A count that a panic left behind is still a count.
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
        limiter.acquire(name, client(from), now).map(drop).map_err(|many| many.retry_after)
    }

    #[test]
    fn failures_are_counted_for_a_name_at_an_address_until_the_minute_is_over() {
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
        assert!(fail(&limiter, "bob", "192.0.2.1", later).is_ok(), "another name");
        assert!(fail(&limiter, "ada", "192.0.2.1", start + WINDOW).is_ok(), "the next minute");
    }

    #[test]
    fn guesses_in_parallel_count_and_right_ones_are_given_back() {
        let limiter = RateLimiter::new(2);
        let now = Instant::now();
        let reserve = || limiter.acquire("ada", client("192.0.2.1"), now);
        let (first, second) = (reserve().expect("one"), reserve().expect("two"));
        assert!(reserve().is_err(), "two are being hashed");
        first.refund();
        let third = reserve().expect("one was right");
        drop((second, third));
        assert!(reserve().is_err(), "who leaves has guessed");
    }

    #[test]
    fn an_address_has_fifteen_times_the_limit_over_all_names() {
        let limiter = RateLimiter::new(2);
        let now = Instant::now();
        for name in 0..30 {
            assert!(fail(&limiter, &name.to_string(), "192.0.2.1", now).is_ok());
        }
        assert!(fail(&limiter, "new", "192.0.2.1", now).is_err());
        assert!(fail(&limiter, "new", "192.0.2.2", now).is_ok());
    }

    #[test]
    fn only_the_first_refusal_of_a_window_is_news() {
        let limiter = RateLimiter::new(1);
        let start = Instant::now();
        for now in [start, start + WINDOW] {
            let try_it = || limiter.acquire("ada", client("192.0.2.1"), now).map(drop);
            try_it().expect("the first of the window");
            let news =
                [try_it(), try_it()].map(|refused| refused.expect_err("full").first_in_window);
            assert_eq!(news, [true, false]);
        }
    }

    #[test]
    fn zero_counts_nothing() {
        let limiter = RateLimiter::new(0);
        let now = Instant::now();
        assert!((0..1000).all(|_| fail(&limiter, "ada", "192.0.2.1", now).is_ok()));
    }

    #[test]
    fn the_map_stays_within_bounds() {
        let limiter = RateLimiter::new(1);
        let now = Instant::now();
        for name in 0..super::MAX_WINDOWS + 10 {
            let from = IpAddr::from(u32::try_from(name).expect("small").to_be_bytes());
            let _ = limiter.acquire("ada", from, now).map(drop);
        }
        assert!(super::lock(&limiter.windows).len() <= super::MAX_WINDOWS + 2);
    }
}

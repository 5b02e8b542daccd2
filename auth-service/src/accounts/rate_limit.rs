//! Limits login failures and registrations.
//!
//! An attempt is acquired before the password is hashed and refunded when the password is correct or
//! was not checked, so concurrent guesses count as sequential ones do. Attempts count for a username
//! at an address, for the address, and for the username at all addresses where its user never logged
//! in, whether the username exists or not, in fixed windows of one minute from the first attempt. A
//! lockout therefore lasts a minute at most, and does not affect the user at addresses where they
//! have logged in before. Each replica counts separately.

#[cfg(test)]
mod tests;
mod windows;

use moka::sync::Cache;
use parking_lot::Mutex;
use rolegate_http_server::clients::{Network, NetworkShare, networks};
use sha2::{Digest, Sha256};
use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use windows::{CheckMode, CountedWindow, NameDigest, WindowKey, WindowLimit, Windows};

pub(crate) use windows::LimitExceeded;

/// Many users can share an address, and many guessers a username.
const SHARED_FACTOR: u32 = 15;
/// How many logins of users at addresses are remembered.
const MAX_KNOWN_LOGINS: u64 = 100_000;
const KNOWN_LOGIN_TTL: Duration = Duration::from_hours(30 * 24);

pub(crate) struct RateLimiter {
    /// The attempts per username and address; `None` for no limit.
    limit: Option<NonZero<u32>>,
    /// Whether a username is also limited over all addresses.
    limits_names: bool,
    windows: Mutex<Windows>,
    /// False while no window is full, so that [`RateLimiter::check`] costs nothing.
    has_full_window: AtomicBool,
    /// Where users have logged in.
    known_logins: Cache<NameAtAddress, ()>,
}

/// A username at an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NameAtAddress {
    name: NameDigest,
    address: IpAddr,
}

/// A counted attempt. It stays counted when dropped, so cancelling a request does not undo a guess.
#[must_use = "refund an attempt that succeeded or was not made"]
pub(crate) struct Attempt {
    limiter: Arc<RateLimiter>,
    counted: Vec<CountedWindow>,
    origin: NameAtAddress,
    is_refunded: bool,
}

impl RateLimiter {
    /// Limits attempts per minute for a username at an address, and to 15 times that for an address; 0 is no limit.
    pub(crate) fn per_address(limit: u32) -> Arc<Self> {
        Arc::new(Self::new(limit, false))
    }

    /// Limits the same, and to 15 times that a username at addresses where its user never logged in.
    pub(crate) fn per_address_and_name(limit: u32) -> Arc<Self> {
        Arc::new(Self::new(limit, true))
    }

    fn new(limit: u32, limits_names: bool) -> Self {
        Self {
            limit: NonZero::new(limit),
            limits_names,
            windows: Mutex::default(),
            has_full_window: AtomicBool::new(false),
            known_logins: Cache::builder()
                .max_capacity(MAX_KNOWN_LOGINS)
                .time_to_live(KNOWN_LOGIN_TTL)
                .build(),
        }
    }

    /// Refuses what [`Self::acquire`] would refuse, and counts nothing.
    pub(crate) fn check(&self, username: &str, client: IpAddr) -> Result<(), LimitExceeded> {
        match self.refusal(username, client, Instant::now, CheckMode::Refuse) {
            Some(exceeded) => Err(exceeded),
            None => Ok(()),
        }
    }

    /// Whether [`Self::check`] would refuse. The next refusal of `check` still counts as the first of its window.
    pub(crate) fn is_full(&self, username: &str, client: IpAddr) -> bool {
        self.refusal(username, client, Instant::now, CheckMode::Peek)
            .is_some()
    }

    fn refusal(
        &self,
        username: &str,
        client: IpAddr,
        now: impl FnOnce() -> Instant,
        mode: CheckMode,
    ) -> Option<LimitExceeded> {
        let limit = self.limit?.get();
        if !self.has_full_window.load(Ordering::Relaxed) {
            return None;
        }
        let limits = self.window_limits(NameAtAddress::new(username, client), limit);
        let now = now();
        let mut windows = self.windows.lock();
        self.has_full_window
            .store(windows.has_full_window(now), Ordering::Relaxed);
        windows.refusal(&limits, now, mode)
    }

    pub(crate) fn acquire(
        self: &Arc<Self>,
        username: &str,
        client: IpAddr,
        now: Instant,
    ) -> Result<Attempt, LimitExceeded> {
        let origin = NameAtAddress::new(username, client);
        let mut counted = Vec::new();
        if let Some(limit) = self.limit {
            let limits = self.window_limits(origin, limit.get());
            let mut windows = self.windows.lock();
            if let Some(exceeded) = windows.refusal(&limits, now, CheckMode::Refuse) {
                return Err(exceeded);
            }
            counted = windows.count(&limits, now);
            if windows.has_full_window(now) {
                self.has_full_window.store(true, Ordering::Relaxed);
            }
        }
        Ok(Attempt {
            limiter: Arc::clone(self),
            counted,
            origin,
            is_refunded: false,
        })
    }

    /// The windows that count an attempt, with their limits.
    fn window_limits(&self, origin: NameAtAddress, limit: u32) -> Vec<WindowLimit> {
        let mut limits = Vec::with_capacity(7);
        let name = Some(origin.name);
        for NetworkShare { network, factor } in networks(origin.address) {
            let limit = limit.saturating_mul(factor);
            limits.push(WindowLimit {
                key: WindowKey { network, name },
                limit,
            });
            limits.push(WindowLimit {
                key: WindowKey {
                    network,
                    name: None,
                },
                limit: limit.saturating_mul(SHARED_FACTOR),
            });
        }
        if self.limits_names && !self.known_logins.contains_key(&origin) {
            let network = Network {
                address: Ipv6Addr::UNSPECIFIED.into(),
                prefix: 0,
            };
            limits.push(WindowLimit {
                key: WindowKey { network, name },
                limit: limit.saturating_mul(SHARED_FACTOR),
            });
        }
        limits
    }
}

impl NameAtAddress {
    fn new(username: &str, address: IpAddr) -> Self {
        let mut name = [0; 16];
        name.copy_from_slice(&Sha256::digest(username)[..16]);
        Self { name, address }
    }
}

impl Attempt {
    pub(crate) fn refund(mut self) {
        self.is_refunded = true;
    }

    /// Undoes the attempt of a user whose password was correct, and remembers where it was.
    pub(crate) fn succeed(self) {
        // `get` counts as a use, which keeps the entry.
        let known_logins = &self.limiter.known_logins;
        if known_logins.get(&self.origin).is_none() {
            known_logins.insert(self.origin, ());
        }
        self.refund();
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.limiter
            .windows
            .lock()
            .settle(&self.counted, self.is_refunded);
    }
}

//! Limits failed logins, registrations and invalid password links per client address.
//!
//! A login acquires an attempt before the password is hashed, and refunds it if the password is
//! correct or was not checked. So concurrent guesses count like guesses one after the other.
//!
//! An attempt counts in several windows: for the username at the address, and for the address. A
//! failed login also counts for the username at all addresses where its user never logged in. A
//! username counts in the same way whether or not it exists. A window is one minute long and opens
//! with its first attempt. A lockout therefore lasts at most a minute. Guesses at other addresses
//! do not lock users out at an address where they have logged in before.
//!
//! `windows` contains the counters. Each replica counts separately.

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

/// The limit for a whole address is higher by this factor, because many users can share an address.
/// The limit for a username over all addresses has the same factor.
const SHARED_FACTOR: u32 = 15;
/// The maximum number of remembered logins, each a pair of a username and an address.
const MAX_KNOWN_LOGINS: u64 = 100_000;
const KNOWN_LOGIN_TTL: Duration = Duration::from_hours(30 * 24);

pub(crate) struct RateLimiter {
    /// The maximum number of attempts per minute for a username at an address; `None` for no limit.
    limit: Option<NonZero<u32>>,
    /// True if attempts for a username are also limited over all addresses.
    limits_names: bool,
    windows: Mutex<Windows>,
    /// False if no window is full; [`RateLimiter::check`] then returns at once, without a lock.
    has_full_window: AtomicBool,
    /// The addresses at which each user has logged in within [`KNOWN_LOGIN_TTL`].
    known_logins: Cache<NameAtAddress, ()>,
}

/// A username at a client address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NameAtAddress {
    name: NameDigest,
    address: IpAddr,
}

/// A counted attempt. It stays counted when dropped, so that a client cannot undo a guess by
/// canceling the request.
#[must_use = "refund an attempt that succeeded or was not made"]
pub(crate) struct Attempt {
    limiter: Arc<RateLimiter>,
    counted: Vec<CountedWindow>,
    origin: NameAtAddress,
    is_refunded: bool,
}

impl RateLimiter {
    /// Creates a limiter that allows `limit` attempts per minute for a username at an address, and
    /// 15 times as many for an address. 0 means no limit.
    pub(crate) fn per_address(limit: u32) -> Arc<Self> {
        Arc::new(Self::new(limit, false))
    }

    /// Creates a limiter like [`Self::per_address`] that also limits the attempts for a username to
    /// 15 times `limit`, over all addresses where its user never logged in.
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

    /// Fails if [`Self::acquire`] would refuse an attempt. It counts no attempt.
    pub(crate) fn check(&self, username: &str, client: IpAddr) -> Result<(), LimitExceeded> {
        match self.refusal(username, client, Instant::now, CheckMode::Refuse) {
            Some(exceeded) => Err(exceeded),
            None => Ok(()),
        }
    }

    /// Returns true if [`Self::check`] would fail. Unlike `check`, it changes nothing, so the next
    /// refusal can still count as the first in its window.
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

    /// Counts an attempt, which is in progress until it is dropped. Fails if one of its windows is
    /// full, and then counts nothing.
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

    /// Lists the windows that count an attempt, with their limits.
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

    /// Refunds the attempt of a user whose password was correct, and remembers the address of this
    /// login.
    pub(crate) fn succeed(self) {
        // Unlike `contains_key`, `get` counts as a use, and a full cache evicts rarely used entries
        // first.
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

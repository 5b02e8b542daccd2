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
use windows::{Count, Key, NameDigest, Windows};

pub(crate) use windows::LimitExceeded;

/// Many users can share an address, and many guessers a username.
const SHARED_FACTOR: u32 = 15;
/// Logins of a user at an address that are remembered, and for how long.
const MAX_KNOWN: u64 = 100_000;
const KNOWN_TTL: Duration = Duration::from_hours(30 * 24);

pub(crate) struct RateLimiter {
    /// Per username and address; `None` for no limit.
    limit: Option<NonZero<u32>>,
    /// Whether a username is also limited over all addresses.
    limits_names: bool,
    windows: Mutex<Windows>,
    /// False while no window is full, so that [`RateLimiter::check`] costs nothing.
    may_refuse: AtomicBool,
    /// Where users have logged in.
    known: Cache<(NameDigest, IpAddr), ()>,
}

/// A counted attempt. It stays counted when dropped, so cancelling a request does not undo a guess.
#[must_use = "refund an attempt that succeeded or was not made"]
pub(crate) struct Attempt {
    limiter: Arc<RateLimiter>,
    /// The keys and the opening times of their windows.
    counted: Vec<(Key, Instant)>,
    place: (NameDigest, IpAddr),
    is_refunded: bool,
}

impl RateLimiter {
    /// `limit` per minute for a username at an address, 15 times that for an address and, if it
    /// `limits_names`, for a username at addresses where its user never logged in; 0 is no limit.
    pub(crate) fn new(limit: u32, limits_names: bool) -> Arc<Self> {
        let known = Cache::builder()
            .max_capacity(MAX_KNOWN)
            .time_to_live(KNOWN_TTL)
            .build();
        let (windows, may_refuse) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self {
            limit: NonZero::new(limit),
            limits_names,
            windows,
            may_refuse,
            known,
        })
    }

    /// Refuses what [`Self::acquire`] would refuse, and counts nothing.
    pub(crate) fn check(&self, username: &str, client: IpAddr) -> Result<(), LimitExceeded> {
        self.refusal(username, client, Instant::now, true)
            .map_or(Ok(()), Err)
    }

    /// Whether [`Self::check`] would refuse. The first refusal of a window is left to it.
    pub(crate) fn is_full(&self, username: &str, client: IpAddr) -> bool {
        self.refusal(username, client, Instant::now, false)
            .is_some()
    }

    fn refusal(
        &self,
        username: &str,
        client: IpAddr,
        now: impl FnOnce() -> Instant,
        is_made: bool,
    ) -> Option<LimitExceeded> {
        let limit = self
            .limit
            .filter(|_| self.may_refuse.load(Ordering::Relaxed))?;
        let (counts, now) = (self.counts(digest(username), client, limit.get()), now());
        let mut windows = self.windows.lock();
        self.may_refuse
            .store(windows.may_refuse(now), Ordering::Relaxed);
        windows.refusal(&counts, now, is_made)
    }

    pub(crate) fn acquire(
        self: &Arc<Self>,
        username: &str,
        client: IpAddr,
        now: Instant,
    ) -> Result<Attempt, LimitExceeded> {
        let place = (digest(username), client);
        let mut counted = Vec::new();
        if let Some(limit) = self.limit {
            let counts = self.counts(place.0, client, limit.get());
            let mut windows = self.windows.lock();
            if let Some(exceeded) = windows.refusal(&counts, now, true) {
                return Err(exceeded);
            }
            counted = windows.count(&counts, now);
            if windows.may_refuse(now) {
                self.may_refuse.store(true, Ordering::Relaxed);
            }
        }
        Ok(Attempt {
            limiter: Arc::clone(self),
            counted,
            place,
            is_refunded: false,
        })
    }

    /// What an attempt counts for, with the limits.
    fn counts(&self, name: NameDigest, client: IpAddr, limit: u32) -> Vec<Count> {
        let mut counts = Vec::with_capacity(7);
        for NetworkShare { network, factor } in networks(client) {
            let limit = limit.saturating_mul(factor);
            counts.push(Count {
                key: (network, Some(name)),
                limit,
            });
            let limit = limit.saturating_mul(SHARED_FACTOR);
            counts.push(Count {
                key: (network, None),
                limit,
            });
        }
        if self.limits_names && !self.known.contains_key(&(name, client)) {
            let everywhere = Network {
                address: Ipv6Addr::UNSPECIFIED.into(),
                prefix: 0,
            };
            let limit = limit.saturating_mul(SHARED_FACTOR);
            let key = (everywhere, Some(name));
            counts.push(Count { key, limit });
        }
        counts
    }
}

impl Attempt {
    pub(crate) fn refund(mut self) {
        self.is_refunded = true;
    }

    /// Undoes the attempt of a user whose password was correct, and remembers where it was.
    pub(crate) fn succeed(self) {
        // `get` counts as a use, which keeps the entry.
        if self.limiter.known.get(&self.place).is_none() {
            self.limiter.known.insert(self.place, ());
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

fn digest(username: &str) -> NameDigest {
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(username)[..16]);
    digest
}

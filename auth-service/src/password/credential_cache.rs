//! Caches successful checks of HTTP Basic credentials, so that not every request runs bcrypt.
//!
//! Whether a password is correct depends only on the password and the stored hash. Each request still reads the
//! stored hash, and the hash is part of the cache key. A changed hash therefore misses, and nothing has to be
//! invalidated. The address of the client is also part of the key, so the first check from each address runs
//! bcrypt. Failures are never cached.
//!
//! Concurrent checks of the same credentials share one run of bcrypt. `misses` counts the misses of each
//! username, and invalidates the entries of a name whose password is being guessed in batches.

mod misses;

use hmac::{Hmac, KeyInit, Mac};
use misses::{Misses, SlotIndex};
use moka::{ops::compute::Op, sync::Cache};
use sha2::Sha256;
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

const MAX_ENTRIES: u64 = 64 * 1024;
/// The maximum number of checks in progress, which is far more than ever wait or run. An entry whose callers
/// have all left is dropped after [`IN_FLIGHT_TTL`].
const MAX_IN_FLIGHT: u64 = 8 * 1024;
const IN_FLIGHT_TTL: Duration = Duration::from_mins(1);

/// The successful checks, and the checks in progress.
pub(crate) struct CredentialCache {
    /// The key of the HMAC. It has the size of one block of SHA-256, which HMAC uses unchanged.
    secret: Zeroizing<[u8; 64]>,
    /// The successful checks, each with the minute of its last line in the audit log. The field is `None` if
    /// caching is off.
    entries: Option<Cache<EntryKey, Arc<AtomicU64>>>,
    /// Counts the misses of each username, which may be guesses of a cached password.
    misses: Misses,
    started: Instant,
    in_flight: Cache<CacheKey, Arc<OnceCell<bool>>>,
}

/// A cached check, which succeeded within the TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// True for the first hit of the entry in a minute, which gets a line in the audit log. The insertion of
    /// the entry counts as a hit.
    pub(crate) is_first_in_minute: bool,
}

/// Identifies a username, a stored hash, a password and a client. It reveals nothing without the secret of the
/// cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    digest: [u8; 32],
    /// The slot in which the misses of the username are counted.
    slot: SlotIndex,
}

/// The key of a cached success. Too many misses of the username start a new generation, which invalidates all
/// earlier entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct EntryKey {
    check: CacheKey,
    generation: u64,
}

/// The outcome of [`CredentialCache::recall`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recall {
    Hit,
    Miss,
    /// A miss that invalidated the cached entries of the username, because a client seems to be guessing its
    /// password.
    TooManyMisses,
}

impl Recall {
    pub(crate) fn is_hit(self) -> bool {
        self == Self::Hit
    }
}

impl CredentialCache {
    /// Creates a cache that keeps entries for `ttl`. A `ttl` of zero turns caching off. Fails only if the
    /// system provides no random bytes.
    pub(crate) fn new(ttl: Duration) -> Result<Self, getrandom::Error> {
        let mut secret = Zeroizing::new([0; 64]);
        getrandom::fill(&mut *secret)?;
        let started = Instant::now();
        let entries = (!ttl.is_zero()).then(|| {
            Cache::builder()
                .max_capacity(MAX_ENTRIES)
                .time_to_live(ttl)
                .build()
        });
        let in_flight = Cache::builder()
            .max_capacity(MAX_IN_FLIGHT)
            .time_to_live(IN_FLIGHT_TTL)
            .build();
        Ok(Self {
            secret,
            entries,
            misses: Misses::new(started),
            started,
            in_flight,
        })
    }

    /// Computes the key of a check. `stored` is `None` for an unknown username.
    ///
    /// The key is an HMAC-SHA-256 (RFC 2104) over the parts. Each part follows its length, so that different
    /// parts never give the same input.
    pub(crate) fn key(
        &self,
        username: &str,
        stored: Option<&str>,
        password: &str,
        client: IpAddr,
    ) -> CacheKey {
        let mut mac = Hmac::<Sha256>::new(&(*self.secret).into());
        match client {
            IpAddr::V4(v4) => mac.update(&v4.to_ipv6_mapped().octets()),
            IpAddr::V6(v6) => mac.update(&v6.octets()),
        }
        for part in [Some(username), stored, Some(password)] {
            mac.update(&[u8::from(part.is_some())]);
            let part = part.unwrap_or_default();
            mac.update(&part.len().to_be_bytes());
            mac.update(part.as_bytes());
        }
        CacheKey {
            digest: mac.finalize().into_bytes().into(),
            slot: self.misses.slot(username),
        }
    }

    /// Computes the key under which a success of the check is cached in the current generation.
    fn entry_key(&self, key: &CacheKey) -> EntryKey {
        EntryKey {
            check: *key,
            generation: self.misses.generation(key.slot),
        }
    }

    /// Finds a check that succeeded within the TTL, and records its hit if it is the first one in a minute. The
    /// minute is computed from the deadline of the request: see [`Self::minute`].
    pub(crate) fn get(&self, key: &CacheKey, deadline: Instant) -> Option<Hit> {
        let audited = self.entries.as_ref()?.get(&self.entry_key(key))?;
        let now = self.minute(deadline);
        let last = audited.load(Ordering::Relaxed);
        // If several requests hit at the same time, only one of them replaces the minute and is the first.
        let is_first_in_minute = now > last
            && audited
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        Some(Hit { is_first_in_minute })
    }

    /// Looks for a cached success for which no line in the audit log is due, and counts a miss as a possible
    /// guess. If a line is due, the outcome is [`Recall::Miss`], which is not counted: the check that follows
    /// writes the line.
    ///
    /// A batch with wrong credentials counts as no failed login and reaches no rate limit, so misses are
    /// counted here. The miss with the number [`misses::MAX_MISSES`] in a minute, and each later one,
    /// invalidates all entries of the username. An invalidated entry is no longer found, so looking it up takes
    /// as long as a wrong guess.
    pub(crate) fn recall(&self, key: &CacheKey, deadline: Instant) -> Recall {
        let Some(entries) = &self.entries else {
            return Recall::Miss;
        };
        let Some(audited) = entries.get(&self.entry_key(key)) else {
            // The time is read from the clock, because callers choose the deadline.
            if self.misses.count(key.slot, Instant::now()) {
                return Recall::TooManyMisses;
            }
            return Recall::Miss;
        };
        if audited.load(Ordering::Relaxed) >= self.minute(deadline) {
            Recall::Hit
        } else {
            Recall::Miss
        }
    }

    /// Caches the success of a check that has just run, and subtracts the miss that was counted before the
    /// check.
    pub(crate) fn insert(&self, key: CacheKey, deadline: Instant) {
        if let Some(entries) = &self.entries {
            self.misses.take_back(key.slot);
            let minute = self.minute(deadline);
            entries.insert(self.entry_key(&key), Arc::new(minute.into()));
        }
    }

    /// Returns the number of whole minutes from the creation of the cache to a deadline. The deadline of a
    /// request stands in for the current time, because reading a clock for each hit would cost more. Callers
    /// choose deadlines, so a later request may have an earlier deadline.
    fn minute(&self, deadline: Instant) -> u64 {
        deadline.saturating_duration_since(self.started).as_secs() / 60
    }

    /// Runs a check, or waits for the same check in progress. If the caller that runs it fails or is cancelled,
    /// a waiting caller runs its own check.
    ///
    /// A key contains the username. If checks of different unknown usernames shared a run, their duration would
    /// reveal that these users do not exist.
    ///
    /// moka's `try_get_with` is not used. Its waiters share the error of the caller that runs the check, such
    /// as a passed deadline or the rate limit of another client, and panic after 200 cancelled runners.
    pub(crate) async fn single_flight<E>(
        &self,
        key: CacheKey,
        check: impl Future<Output = Result<bool, E>>,
    ) -> Result<bool, E> {
        let cell = self.in_flight.get_with(key, Arc::default);
        let outcome = cell.get_or_try_init(|| check).await.copied();
        // After a failed check, the cell stays in the cache as long as other callers wait for it.
        let is_over = outcome.is_ok() || Arc::strong_count(&cell) <= 2;
        if is_over {
            // The cell is compared and removed in one step. Between two steps, another caller could insert a
            // new cell, which would then be removed.
            self.in_flight.entry(key).and_compute_with(|now| match now {
                Some(now) if Arc::ptr_eq(now.value(), &cell) => Op::Remove,
                _ => Op::Nop,
            });
        }
        outcome
    }
}

#[cfg(test)]
mod tests;

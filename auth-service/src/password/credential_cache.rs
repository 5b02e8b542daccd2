//! Caches successful checks of HTTP Basic credentials, so that a request need not run bcrypt.
//!
//! Whether a password is correct depends only on the stored hash and the password. Each request
//! still reads the stored hash, which is part of the key, so a changed hash misses and nothing has
//! to be invalidated. So is the client, which shows its password once at each address. Failures are
//! never cached. `misses` ends what is cached for a name whose password is being guessed in batches.

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
/// Far more checks than ever wait or run. The entries of callers that left are dropped after [`IN_FLIGHT_TTL`].
const MAX_IN_FLIGHT: u64 = 8 * 1024;
const IN_FLIGHT_TTL: Duration = Duration::from_mins(1);

/// Successful checks, and the checks in progress. Clones share both.
#[derive(Clone)]
pub(crate) struct CredentialCache {
    /// One block of the hash, which HMAC uses unchanged.
    secret: Arc<Zeroizing<[u8; 64]>>,
    /// The minute of the last audit line of each successful check; `None` when caching is off.
    entries: Option<Cache<EntryKey, Arc<AtomicU64>>>,
    /// Counts the guesses of cached passwords.
    misses: Arc<Misses>,
    started: Instant,
    in_flight: Cache<CacheKey, Arc<OnceCell<bool>>>,
}

/// A check that succeeded within the TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Whether this is the first hit of the entry in this minute. The insertion of the entry counts as one.
    pub(crate) is_first_in_minute: bool,
}

/// Identifies a username, a stored hash, a password and a client; reveals nothing without the secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    digest: [u8; 32],
    /// Where guesses of the username are counted.
    slot: SlotIndex,
}

/// Identifies a success that is cached until guesses end its generation.
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
    /// A miss that ended what is cached for the name, because its password seems to be guessed.
    TooManyMisses,
}

impl Recall {
    pub(crate) fn is_hit(self) -> bool {
        self == Self::Hit
    }
}

impl CredentialCache {
    /// Keeps entries for `ttl`; zero turns caching off. Fails only without system randomness.
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
            secret: Arc::new(secret),
            entries,
            misses: Arc::new(Misses::new(started)),
            started,
            in_flight,
        })
    }

    /// Computes the key of a check: HMAC-SHA-256 (RFC 2104) over the parts, each after its length, so that different
    /// parts never give the same input. `stored` is `None` for an unknown username.
    pub(crate) fn key(
        &self,
        username: &str,
        stored: Option<&str>,
        password: &str,
        client: IpAddr,
    ) -> CacheKey {
        let mut mac = Hmac::<Sha256>::new(&(**self.secret).into());
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

    /// Computes the key under which a success of the check is cached now.
    fn entry_key(&self, key: &CacheKey) -> EntryKey {
        EntryKey {
            check: *key,
            generation: self.misses.generation(key.slot),
        }
    }

    /// Finds a check that succeeded within the TTL. The deadline of the request replaces the present time, because reading
    /// the clock costs more.
    pub(crate) fn get(&self, key: &CacheKey, deadline: Instant) -> Option<Hit> {
        let audited = self.entries.as_ref()?.get(&self.entry_key(key))?;
        let now = self.minute(deadline);
        let last = audited.load(Ordering::Relaxed);
        // Only one of several concurrent hits replaces the minute.
        let is_first_in_minute = now > last
            && audited
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        Some(Hit { is_first_in_minute })
    }

    /// Finds a hit that [`Self::get`] would not call the first of its minute. Nothing else counts such a question, so a
    /// check that is not cached counts as a guess: [`misses::MAX_MISSES`] in a minute end what is cached for the name. What
    /// has ended is no longer found, so it takes the time of a wrong guess.
    pub(crate) fn recall(&self, key: &CacheKey, deadline: Instant) -> Recall {
        let Some(entries) = &self.entries else {
            return Recall::Miss;
        };
        let Some(audited) = entries.get(&self.entry_key(key)) else {
            // The time is read from the clock: callers choose the deadline.
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

    /// Caches the success of a check that has just run.
    pub(crate) fn insert(&self, key: CacheKey, deadline: Instant) {
        if let Some(entries) = &self.entries {
            self.misses.take_back(key.slot);
            let minute = self.minute(deadline);
            entries.insert(self.entry_key(&key), Arc::new(minute.into()));
        }
    }

    /// Counts the minutes from the creation of the cache to a deadline. Reading a clock for each hit would cost
    /// more. Callers set deadlines, so that a later request may have an earlier one.
    fn minute(&self, deadline: Instant) -> u64 {
        deadline.saturating_duration_since(self.started).as_secs() / 60
    }

    /// Runs a check, or waits for the same one in progress. When the caller that runs it fails or is
    /// cancelled, a waiting caller runs its own check. Keys contain the username: if checks of unknown
    /// usernames shared their work, its duration would reveal that they are unknown.
    ///
    /// Not moka's `try_get_with`: its waiters share the error of the caller that runs the check, such as
    /// a passed deadline or a rate limit of another client, and panic after 200 cancelled runners.
    pub(crate) async fn single_flight<E>(
        &self,
        key: CacheKey,
        check: impl Future<Output = Result<bool, E>>,
    ) -> Result<bool, E> {
        let cell = self.in_flight.get_with(key, Arc::default);
        let outcome = cell.get_or_try_init(|| check).await.copied();
        // Others wait for the cell of a failed check. A cell of a later check stays.
        let is_over = outcome.is_ok() || Arc::strong_count(&cell) <= 2;
        if is_over {
            // Found and removed in one step: between two, another caller could put a later cell there.
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

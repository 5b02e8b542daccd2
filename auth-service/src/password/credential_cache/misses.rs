//! Counts the cache misses of each username in [`CredentialCache::recall`](super::CredentialCache::recall), and
//! invalidates the cached entries of a name that has too many.
//!
//! `recall` only looks up credentials, so no failed login counts the guesses of its callers. Many misses of a
//! name in a minute are therefore taken for guesses.
//!
//! A keyed hash maps each username to a slot of a table with a fixed size. Names that share a slot share their
//! count, and their entries are invalidated together. The table therefore never grows, and never forgets a
//! count because of other names.

use parking_lot::Mutex;
use std::{
    hash::{BuildHasher as _, RandomState},
    time::Instant,
};

/// The number of slots in the table. A slot takes 16 bytes.
const SLOTS: usize = 16 * 1024;
/// The number of misses in a window at which the entries of the name are invalidated. Each later miss in the
/// window invalidates the entries again.
pub(super) const MAX_MISSES: u32 = 100;
/// The length in seconds of a window in which misses are counted. A window begins with its first miss.
const WINDOW_SECONDS: u32 = 60;

/// The table of all slots.
pub(super) struct Misses {
    slots: Mutex<Vec<Slot>>,
    /// Maps usernames to slots. The hash is keyed, so that nobody can choose names that share a slot.
    hasher: RandomState,
    started: Instant,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// The number of times that the entries of the slot were invalidated.
    generation: u64,
    /// The time of the first miss of the window, in seconds since the creation of the table.
    opened: u32,
    misses: u32,
}

/// The index of the slot of a username.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SlotIndex(usize);

impl Misses {
    pub(super) fn new(started: Instant) -> Self {
        Self {
            slots: Mutex::new(vec![Slot::default(); SLOTS]),
            hasher: RandomState::new(),
            started,
        }
    }

    /// Returns the slot of a username.
    pub(super) fn slot(&self, username: &str) -> SlotIndex {
        let index = self.hasher.hash_one(username) % SLOTS as u64;
        SlotIndex(usize::try_from(index).unwrap_or_default())
    }

    /// Returns the generation of new entries. Entries of earlier generations are no longer valid.
    pub(super) fn generation(&self, slot: SlotIndex) -> u64 {
        self.slots.lock()[slot.0].generation
    }

    /// Counts a miss, and returns whether it invalidates the entries of the slot.
    pub(super) fn count(&self, slot: SlotIndex, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.started);
        let second = u32::try_from(age.as_secs()).unwrap_or(u32::MAX);
        let mut slots = self.slots.lock();
        let slot = &mut slots[slot.0];
        if slot.misses == 0 || second.saturating_sub(slot.opened) >= WINDOW_SECONDS {
            slot.opened = second;
            slot.misses = 0;
        }
        slot.misses = slot.misses.saturating_add(1);
        let is_guess = slot.misses >= MAX_MISSES;
        if is_guess {
            slot.generation += 1;
        }
        is_guess
    }

    /// Subtracts one miss, because the correct password of the name was presented. A client whose entry has
    /// expired misses once before its password is checked. Without this subtraction, many clients of one user
    /// would look like guesses.
    pub(super) fn take_back(&self, slot: SlotIndex) {
        let mut slots = self.slots.lock();
        let misses = &mut slots[slot.0].misses;
        *misses = misses.saturating_sub(1);
    }
}

#[cfg(test)]
impl Misses {
    /// Moves the clock of the table one minute ahead.
    pub(super) fn pass_a_minute(&mut self) {
        let minute = std::time::Duration::from_secs(WINDOW_SECONDS.into());
        let earlier = self.started.checked_sub(minute);
        self.started = earlier.expect("the machine runs for minutes");
    }
}

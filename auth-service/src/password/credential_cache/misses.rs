//! Counts the cache misses of each username in [`CredentialCache::recall`](super::CredentialCache::recall), which checks
//! no password: many misses in a minute are guesses, which nothing else counts. They end the entries of the name.
//!
//! A name has a slot by a keyed hash. Names that share a slot also share their count, so their entries end together. The
//! table therefore never grows, and forgets no count because of other names.

use parking_lot::Mutex;
use std::{
    hash::{BuildHasher as _, RandomState},
    time::Instant,
};

/// The size of the table; a slot has 16 bytes.
const SLOTS: usize = 16 * 1024;
/// The misses of a name in a window: this one and each further one end the entries of the name.
pub(super) const MAX_MISSES: u32 = 100;
/// The length of a window, from its first miss.
const WINDOW_SECONDS: u32 = 60;

/// The table of the slots.
pub(super) struct Misses {
    slots: Mutex<Vec<Slot>>,
    /// The hash is keyed, so that nobody can choose names that share a slot.
    hasher: RandomState,
    started: Instant,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// How often the entries of the slot have ended.
    generation: u64,
    /// The second of the first miss of the window.
    opened: u32,
    misses: u32,
}

/// The slot of a name.
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

    /// Finds the slot of a name.
    pub(super) fn slot(&self, username: &str) -> SlotIndex {
        let index = self.hasher.hash_one(username) % SLOTS as u64;
        SlotIndex(usize::try_from(index).unwrap_or_default())
    }

    /// The generation of new entries. Entries of another generation have ended.
    pub(super) fn generation(&self, slot: SlotIndex) -> u64 {
        self.slots.lock()[slot.0].generation
    }

    /// Counts a miss. Returns true if it ends the entries of the slot.
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

    /// Takes a miss back, because the correct password of the name was presented: a client whose entry has ended misses
    /// once before it has the password checked. Many clients of one user must not look like guesses.
    pub(super) fn take_back(&self, slot: SlotIndex) {
        let mut slots = self.slots.lock();
        let misses = &mut slots[slot.0].misses;
        *misses = misses.saturating_sub(1);
    }
}

#[cfg(test)]
impl Misses {
    /// From now on it is a minute later.
    pub(super) fn pass_a_minute(&mut self) {
        let minute = std::time::Duration::from_secs(WINDOW_SECONDS.into());
        let earlier = self.started.checked_sub(minute);
        self.started = earlier.expect("the machine runs for minutes");
    }
}

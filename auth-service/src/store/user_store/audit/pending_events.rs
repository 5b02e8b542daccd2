//! Keeps the events that no transaction records, such as sign-ins and refusals, in memory until they are written.
//! Refusals that cannot be kept or written are counted, so that the record has at least their number.

use crate::audit::{Entry, unrecorded_refusals};
use parking_lot::Mutex;
use std::{collections::VecDeque, mem};

/// The maximum number of events that wait. An event that reports a number of refusals is kept even beyond this number.
const MAX_EVENTS: usize = 10_000;
/// New sign-ins are dropped if this many events wait. The remaining capacity is reserved for refusals.
const MAX_EVENTS_BEFORE_SIGN_IN: usize = MAX_EVENTS - 2500;

/// The events of one process that are not in the database yet, the oldest first.
#[derive(Default)]
pub(super) struct PendingEvents {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Entry>,
    /// The number of refusals that were not kept, or that may not have been written.
    lost_refusals: u64,
}

impl PendingEvents {
    /// Keeps an event if the queue has capacity for it. Otherwise drops the event, and counts its refusals as lost. An
    /// event that reports the number of refusals without a row is always kept, because there is at most one such event
    /// a minute.
    pub(super) fn add(&self, event: Entry) {
        let mut queue = self.queue.lock();
        let room = match event.refusals() {
            0 => MAX_EVENTS_BEFORE_SIGN_IN,
            _ if event.is_summary() => usize::MAX,
            _ => MAX_EVENTS,
        };
        if queue.events.len() < room {
            queue.events.push_back(event);
        } else {
            queue.lost_refusals += event.refusals();
        }
    }

    /// Takes up to `count` of the oldest events. If refusals were lost, also logs an event with their number and
    /// returns it first.
    pub(super) fn take(&self, count: usize) -> Vec<Entry> {
        let mut queue = self.queue.lock();
        let lost = mem::take(&mut queue.lost_refusals);
        let count = count.min(queue.events.len());
        let mut taken = Vec::with_capacity(count + 1);
        if lost > 0 {
            let entry = unrecorded_refusals(lost);
            entry.log();
            taken.push(entry);
        }
        taken.extend(queue.events.drain(..count));
        taken
    }

    /// Puts the taken events back to the front of the queue, because they were not written.
    pub(super) fn put_back(&self, events: Vec<Entry>) {
        let mut queue = self.queue.lock();
        for event in events.into_iter().rev() {
            queue.events.push_front(event);
        }
    }

    /// Drops events that may have been written, because another write could add a second row for the same event. Counts
    /// their refusals as not recorded, so that the number is never too small.
    pub(super) fn give_up(&self, events: &[Entry]) {
        let refusals: u64 = events.iter().map(Entry::refusals).sum();
        self.queue.lock().lost_refusals += refusals;
    }

    pub(super) fn is_empty(&self) -> bool {
        let queue = self.queue.lock();
        queue.events.is_empty() && queue.lost_refusals == 0
    }
}

#[cfg(test)]
mod tests;

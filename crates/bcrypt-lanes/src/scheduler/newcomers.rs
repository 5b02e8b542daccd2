//! A lane more for clients that have none, while one client has many.
//!
//! All jobs have the same work and advance by the same slices, so jobs that begin together end together.
//! A flood of one client then holds all lanes for the time of a hash, begins its next jobs at once, and a
//! job of another client waits up to as long as it runs.

use std::time::Instant;

use super::Scheduler;
use crate::job::{Job, JobState};
use crate::kernel::MAX_LANES;

/// Of all lanes, for a client to be a flood: a quarter.
const FLOOD_SHARE: usize = 4;
/// Jobs in a short queue, for each lane.
const SHORT_QUEUE: usize = 4;

impl Scheduler {
    /// A job for the lane more of a worker whose others are busy.
    pub(super) fn take_newcomer(&mut self, worker: usize, now: Instant) -> Option<Job> {
        let mine = self.loads[worker].jobs;
        let is_next = mine == self.lanes && self.loads.iter().all(|other| other.jobs >= mine);
        if !is_next || mine == MAX_LANES || !self.may_pass(now) {
            return None;
        }
        let lanes_of = &self.lanes_of;
        let job = self.queue.pop_of(|client| !lanes_of.contains_key(&client))?;
        let state = job.state(now);
        if state != JobState::Live {
            self.drop_job(job, state);
            return None;
        }
        self.occupy(worker, &job);
        Some(job)
    }

    /// Whether newcomers may pass the queue: one client floods, and the queued jobs have twice the time
    /// that they need. Admitted jobs are not delayed past their deadlines.
    fn may_pass(&self, now: Instant) -> bool {
        let lanes = self.lanes_total();
        if !self.has_flood() || self.queue.len() > SHORT_QUEUE * lanes {
            return false;
        }
        let time = self.throughput.time_for(self.running() + self.queue.work(), lanes);
        self.queue.earliest_deadline().is_none_or(|deadline| now + 2 * time <= deadline)
    }

    fn has_flood(&self) -> bool {
        let many = self.lanes_total().div_ceil(FLOOD_SHARE).max(2);
        self.lanes_of.values().any(|lanes| *lanes >= many)
    }
}

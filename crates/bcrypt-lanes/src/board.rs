//! What all workers share under one lock: who waits, who works, and who is refused.

use std::time::{Duration, Instant};

use crate::job::{Claim, Fate, Job};
use crate::pace::Pace;
use crate::queue::{Admitted, Place, Queue};
use crate::{EngineError, Settings, Stats};

/// Nobody is told to try again at once.
const LEAST_RETRY_AFTER: Duration = Duration::from_millis(1);

/// The queue, the load of every worker and the counters.
pub(crate) struct Board {
    pub(crate) pace: Pace,
    pub(crate) stopping: bool,
    queue: Queue,
    lanes: usize,
    loads: Vec<Load>,
    counted: Counted,
}

/// What one worker has in its lanes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Load {
    pub(crate) jobs: usize,
    /// Iterations still to be done, of all its lanes together.
    pub(crate) work: u64,
}

/// How jobs ended.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) completed: u64,
    pub(crate) refused: u64,
    pub(crate) expired: u64,
    pub(crate) dropped: u64,
    pub(crate) panics: u64,
    /// Of those that were completed, all together.
    pub(crate) waited: Duration,
    pub(crate) ran: Duration,
}

impl Board {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            pace: Pace::new(settings.lanes),
            stopping: false,
            queue: Queue::new(settings.queue),
            lanes: settings.lanes,
            loads: vec![Load::default(); settings.threads],
            counted: Counted::default(),
        }
    }

    /// Lets a job wait, or answers it with [`EngineError::Refused`].
    pub(crate) fn submit(&mut self, job: Job, now: Instant) {
        let place = match self.admit(job.claim(), now) {
            Ok(place) => place,
            Err(retry_after) => return self.refuse(job, retry_after),
        };
        match self.queue.push(job, place) {
            Admitted::Waits => {}
            Admitted::InsteadOf(displaced) => {
                let place = self.fair_place(displaced.claim(), now);
                let wait = self.wait(place);
                self.refuse(displaced, wait);
            }
            Admitted::No(job) => {
                let wait = self.wait(place);
                self.refuse(job, wait);
            }
        }
    }

    /// Whether a job like this would be let in now, and else when. What is turned away here counts
    /// as refused.
    pub(crate) fn room(&mut self, claim: Claim, now: Instant) -> Result<(), Duration> {
        let place = self.admit(claim, now).inspect_err(|_| self.counted.refused += 1)?;
        if self.queue.has_room_for(claim.share) {
            return Ok(());
        }
        self.counted.refused += 1;
        Err(self.wait(place).max(LEAST_RETRY_AFTER))
    }

    /// Where a job would wait, or when to try again because it would be too late there.
    fn admit(&mut self, claim: Claim, now: Instant) -> Result<Place, Duration> {
        let place = self.fair_place(claim, now);
        if self.lateness(claim, place, now).is_none() && !self.queue.is_full() {
            return Ok(place);
        }
        // Only now is it worth looking for those that keep a place for nothing.
        self.clear(now);
        let place = self.fair_place(claim, now);
        self.lateness(claim, place, now).map_or(Ok(place), Err)
    }

    /// By how much a job at this place would miss the time by which it is due.
    ///
    /// A job that can start at once never would, whatever the estimate says: the deadline itself
    /// bounds the harm, and what it proves about the machine puts a wrong estimate right.
    fn lateness(&self, claim: Claim, place: Place, now: Instant) -> Option<Duration> {
        if self.queue.len() + self.lanes_busy() < self.lanes_total() {
            return None;
        }
        let done = self.wait(place) + self.pace.time_for(claim.work, 1);
        let late = done.checked_sub(claim.due.saturating_duration_since(now))?;
        (!late.is_zero()).then(|| late.max(LEAST_RETRY_AFTER))
    }

    fn fair_place(&self, claim: Claim, now: Instant) -> Place {
        let running = self.running();
        self.queue.place(claim.share, claim.work, |ahead, job| {
            let Claim { work, due, .. } = job.claim();
            let done = self.pace.time_for(running + ahead, self.lanes_total())
                + self.pace.time_for(work, 1);
            done <= due.saturating_duration_since(now)
        })
    }

    /// How long a job would wait for a lane: until all lanes together have done what is in them and
    /// what is ahead in the queue.
    ///
    /// What its own share waits for counts once more. So a share that floods leaves as much room
    /// as it takes, and who comes for the first time is let in.
    fn wait(&self, place: Place) -> Duration {
        self.pace.time_for(self.running() + place.ahead + place.own, self.lanes_total())
    }

    /// Iterations still to be done in the lanes.
    fn running(&self) -> u64 {
        self.loads.iter().map(|load| load.work).sum()
    }

    /// Answers those in the queue whose deadline has passed: no lane may be free for long.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.queue.may_be_late(now) {
            self.clear(now);
        }
    }

    fn clear(&mut self, now: Instant) {
        for (fate, job) in self.queue.remove_dead(now) {
            self.bury(job, fate);
        }
    }

    fn refuse(&mut self, job: Job, wait: Duration) {
        self.counted.refused += 1;
        let retry_after = wait.max(LEAST_RETRY_AFTER);
        job.answer(Err(EngineError::Refused { retry_after }));
    }

    fn bury(&mut self, job: Job, fate: Fate) {
        match fate {
            Fate::Late => {
                self.counted.expired += 1;
                job.answer(Err(EngineError::DeadlinePassed));
            }
            Fate::Awaited | Fate::Abandoned => self.counted.dropped += 1,
        }
    }

    /// The next job for a worker, if it has a free lane and no other worker has fewer in use: two
    /// lone jobs run faster on two cores than in two lanes.
    pub(crate) fn take(&mut self, worker: usize, now: Instant) -> Option<Job> {
        let mine = self.loads[worker].jobs;
        if mine >= self.lanes || self.loads.iter().any(|other| other.jobs < mine) {
            return None;
        }
        while let Some(job) = self.queue.pop() {
            let fate = match job.fate(now) {
                // It would only keep a lane from one that can be done. An idle worker tries all.
                Fate::Awaited if mine > 0 && self.too_late(&job, now) => Fate::Late,
                fate => fate,
            };
            if fate == Fate::Awaited {
                self.loads[worker].jobs += 1;
                self.loads[worker].work += job.work();
                return Some(job);
            }
            self.bury(job, fate);
        }
        None
    }

    fn too_late(&self, job: &Job, now: Instant) -> bool {
        self.pace.time_for(job.iterations, 1) > job.deadline.saturating_duration_since(now)
    }

    /// A worker tells what is left in its lanes, and how jobs ended since it last did.
    pub(crate) fn report(&mut self, worker: usize, load: Load, ended: Counted) {
        self.loads[worker] = load;
        self.counted.completed += ended.completed;
        self.counted.expired += ended.expired;
        self.counted.dropped += ended.dropped;
        self.counted.panics += ended.panics;
        self.counted.waited += ended.waited;
        self.counted.ran += ended.ran;
    }

    fn lanes_busy(&self) -> usize {
        self.loads.iter().map(|load| load.jobs).sum()
    }

    fn lanes_total(&self) -> usize {
        self.lanes * self.loads.len()
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            queued: self.queue.len(),
            lanes_busy: self.lanes_busy(),
            lanes_total: self.lanes_total(),
            completed: self.counted.completed,
            refused: self.counted.refused,
            expired: self.counted.expired,
            dropped: self.counted.dropped,
            panics: self.counted.panics,
            waited: self.counted.waited,
            ran: self.counted.ran,
            iterations_per_second: self.pace.together(self.lanes_total()),
        }
    }
}

#[cfg(test)]
mod tests;

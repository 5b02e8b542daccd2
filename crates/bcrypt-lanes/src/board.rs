//! What all workers share under one lock: who waits, who works, and who is refused.

use std::time::{Duration, Instant};

use crate::job::{Fate, Job};
use crate::pace::Pace;
use crate::queue::{Admitted, Queue};
use crate::{EngineError, Settings, Stats};

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
        if self.overdue(&job, now).is_some() || self.queue.is_full() {
            // Only now is it worth looking for those that keep a place for nothing.
            self.clear(now);
        }
        if let Some(overdue) = self.overdue(&job, now) {
            return self.refuse(job, overdue);
        }
        let wait = self.wait(&job);
        match self.queue.push(job) {
            Admitted::Waits => {}
            Admitted::InsteadOf(displaced) => {
                let wait = self.wait(&displaced);
                self.refuse(displaced, wait);
            }
            Admitted::No(job) => self.refuse(job, wait),
        }
    }

    /// By how much the job would miss its deadline.
    ///
    /// A job that can start at once never would, whatever the estimate says: the deadline itself
    /// bounds the harm, and what it proves about the machine puts a wrong estimate right.
    fn overdue(&self, job: &Job, now: Instant) -> Option<Duration> {
        if self.queue.len() + self.lanes_busy() < self.lanes_total() {
            return None;
        }
        let done = self.wait(job) + self.pace.time_for(job.work(), 1);
        let budget = job.deadline.saturating_duration_since(now);
        done.checked_sub(budget).filter(|late| !late.is_zero())
    }

    /// How long the job would wait for a lane: until all lanes together have done what is in them
    /// and what is queued ahead.
    fn wait(&self, job: &Job) -> Duration {
        let running: u64 = self.loads.iter().map(|load| load.work).sum();
        let ahead = self.queue.work_ahead(job.share, job.work());
        self.pace.time_for(running + ahead, self.lanes_total())
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
        let retry_after = wait.max(Duration::from_millis(1));
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
            iterations_per_second: self.pace.together(self.lanes_total()),
        }
    }
}

#[cfg(test)]
mod tests;

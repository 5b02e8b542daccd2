//! The lanes of one worker. A [`LaneGroup`] puts jobs into free lanes, advances the busy lanes together, and
//! completes finished jobs.

use std::time::Instant;

use zeroize::Zeroize;

use crate::job::{HashOutcome, Job};
use crate::kernel;
use crate::kernel::{Lane, MAX_LANES};
use crate::scheduler::Load;
use crate::stored::Digest;
use crate::{Stats, Timed};

/// Lanes and the jobs in them.
///
/// Busy lanes come first, so that they are one slice for the kernel. When a job is removed, the last busy lane
/// moves into the free slot, which copies 4 KiB.
pub(crate) struct LaneGroup {
    lanes: Box<[Lane]>,
    running: Vec<RunningJob>,
}

/// A job that runs in the lane with the same index.
struct RunningJob {
    job: Job,
    started: Instant,
    /// The number of remaining iterations.
    left: u64,
    /// The digest of a verification that has failed; `None` before that. The lane then continues until it has
    /// done [`Job::iterations_if_wrong`], and its further output is ignored.
    failed: Option<Digest>,
}

impl LaneGroup {
    /// Creates `lanes` empty lanes, and one more for a newcomer (`Scheduler::take_newcomer`).
    pub(crate) fn new(lanes: usize) -> Self {
        let lanes = (lanes + 1).min(MAX_LANES);
        Self {
            lanes: vec![Lane::BLANK; lanes].into(),
            running: Vec::with_capacity(lanes),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn load(&self) -> Load {
        let missing = |running: &RunningJob| match running.failed {
            Some(_) => running.left,
            None => running.left + (running.job.work() - running.job.iterations),
        };
        Load {
            clients: self
                .running
                .iter()
                .map(|running| running.job.client)
                .collect(),
            work: self.running.iter().map(missing).sum(),
        }
    }

    /// Puts a job into a free lane.
    ///
    /// # Panics
    ///
    /// Panics if no lane is free.
    pub(crate) fn insert(&mut self, job: Job, now: Instant) {
        self.lanes[self.width()].start(&job.password, job.salt);
        self.running.push(RunningJob {
            left: job.iterations,
            started: now,
            failed: None,
            job,
        });
    }

    /// Advances all busy lanes by `slice` iterations, or by fewer if a job needs fewer to finish. Returns the
    /// number of iterations that each lane did.
    pub(crate) fn advance(&mut self, slice: u32) -> u32 {
        let least = self.running.iter().map(|running| running.left).min();
        let iterations = least.map_or(0, |left| u32::try_from(left).unwrap_or(slice).min(slice));
        kernel::advance(&mut self.lanes[..self.running.len()], iterations);
        for running in &mut self.running {
            running.left -= u64::from(iterations);
        }
        iterations
    }

    /// Removes and completes the jobs that are finished, canceled or expired. Returns how many jobs ended in
    /// each of these ways.
    pub(crate) fn collect_finished(&mut self, now: Instant) -> Stats {
        let mut ended = Stats::default();
        for index in (0..self.width()).rev() {
            if let Some(value) = self.finish(index) {
                let RunningJob { job, started, .. } = self.remove(index);
                let answer = Timed {
                    value,
                    waited: started.saturating_duration_since(job.submitted),
                    ran: now.saturating_duration_since(started),
                };
                ended.completed += 1;
                job.answer(Ok(answer));
                continue;
            }
            if !self.running[index].job.is_live(now) {
                self.remove(index).job.discard(&mut ended);
            }
        }
        ended
    }

    /// Returns the result of the job in this lane, or `None` if it has work left. If the digest does not match,
    /// the lane may first have to do the remaining work of a failed verification.
    fn finish(&mut self, index: usize) -> Option<HashOutcome> {
        let running = &mut self.running[index];
        if running.left > 0 {
            return None;
        }
        if let Some(digest) = running.failed {
            return Some(HashOutcome {
                digest,
                matches: false,
            });
        }
        let digest = self.lanes[index].finish();
        let digest = std::array::from_fn(|i| digest[i]);
        let matches = running.job.matches(&digest);
        if !matches {
            running.left = running.job.work() - running.job.iterations;
            running.failed = Some(digest);
            if running.left > 0 {
                return None;
            }
        }
        Some(HashOutcome { digest, matches })
    }

    fn remove(&mut self, index: usize) -> RunningJob {
        let left = self.running.swap_remove(index);
        self.lanes.swap(index, self.running.len());
        self.lanes[self.running.len()].zeroize();
        left
    }
}

#[cfg(test)]
mod tests;

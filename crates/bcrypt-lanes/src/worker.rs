//! The pool of worker threads, and the loop that each of them runs.

use std::hint;
use std::iter;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
#[cfg(test)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::sync::Notify;

use crate::kernel::Lane;
use crate::lane::ExpandedPassword;
use crate::lane_group::LaneGroup;
use crate::scheduler::{Load, Scheduler};
use crate::{Settings, Stats, kernel};

/// The maximum number of times that [`WorkerPool::stats`] tries the lock. A running worker holds the lock for a
/// much shorter time than this many attempts take.
const STATS_ATTEMPTS: usize = 10_000;

/// The state that the engine shares with its worker threads: the scheduler, and the means by which engine and
/// workers notify each other.
pub(crate) struct WorkerPool {
    scheduler: Mutex<Scheduler>,
    /// Notified after every unlock of the scheduler.
    unlocked: Notify,
    /// Notified after a job was queued, and when the engine stops.
    submitted: Notify,
    /// The last snapshot of the statistics. No worker locks it, so reading it never waits for a worker.
    stats: Mutex<Stats>,
    settings: Settings,
    #[cfg(test)]
    pub(crate) inject_panic: AtomicBool,
}

impl WorkerPool {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            scheduler: Mutex::new(Scheduler::new(settings)),
            unlocked: Notify::new(),
            stats: Mutex::default(),
            submitted: Notify::new(),
            settings,
            #[cfg(test)]
            inject_panic: false.into(),
        }
    }

    /// Runs `work` with the scheduler locked, on a thread that may block. Poison is ignored, because nothing
    /// that runs under the lock can panic halfway.
    pub(crate) fn locked<T>(&self, work: impl FnOnce(&mut Scheduler) -> T) -> T {
        let outcome = work(
            &mut self
                .scheduler
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.unlocked.notify_waiters();
        outcome
    }

    /// Runs `work` with the scheduler locked, for callers whose thread also serves other tasks.
    ///
    /// Such a caller awaits the lock instead of blocking its thread. A worker that loses its core while it holds
    /// the lock gets the core back only after threads of normal priority, which can take tens of milliseconds.
    pub(crate) async fn locked_async<T>(&self, work: impl FnOnce(&mut Scheduler) -> T) -> T {
        let mut scheduler = loop {
            if let Some(scheduler) = self.try_lock() {
                break scheduler;
            }
            let mut unlocked = pin!(self.unlocked.notified());
            // The listener is enabled before the next attempt, so that it misses no notification.
            unlocked.as_mut().enable();
            if let Some(scheduler) = self.try_lock() {
                break scheduler;
            }
            unlocked.await;
        };
        let outcome = work(&mut scheduler);
        drop(scheduler);
        self.unlocked.notify_waiters();
        outcome
    }

    /// Returns a snapshot of the statistics, or the previous one if a worker holds the lock for long.
    pub(crate) fn stats(&self) -> Stats {
        let mut last = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..STATS_ATTEMPTS {
            if let Some(scheduler) = self.try_lock() {
                *last = scheduler.stats();
                drop(scheduler);
                self.unlocked.notify_waiters();
                break;
            }
            hint::spin_loop();
        }
        *last
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Scheduler>> {
        match self.scheduler.try_lock() {
            Ok(scheduler) => Some(scheduler),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Wakes an idle worker. If none is idle, the next worker that has nothing to do looks for a job instead of
    /// waiting.
    pub(crate) fn wake(&self) {
        self.submitted.notify_one();
    }

    /// Drops the queued jobs, and ends all workers at their next visit to the scheduler. Each worker that ends
    /// wakes the next one.
    pub(crate) fn stop(&self) {
        self.locked(Scheduler::stop);
        self.wake();
    }

    /// Runs worker number `worker`, on a thread of its own, or as a task in a simulation. A panic loses only
    /// the jobs in the lanes of this worker, which then starts again.
    pub(crate) async fn work(&self, worker: usize) {
        while AssertUnwindSafe(self.serve(worker))
            .catch_unwind()
            .await
            .is_err()
        {
            let panicked = Stats {
                panics: 1,
                ..Stats::default()
            };
            self.locked(|scheduler| scheduler.report(worker, Load::default(), panicked));
        }
    }

    async fn serve(&self, worker: usize) {
        let mut lane_group = LaneGroup::new(self.settings.lanes);
        let mut taken = Vec::with_capacity(self.settings.lanes);
        let mut since = Instant::now();
        loop {
            let visit = self.locked(|scheduler| {
                let now = Instant::now();
                scheduler.expire(now);
                taken.extend(iter::from_fn(|| scheduler.take(worker, now)));
                if !taken.is_empty() && scheduler.has_queued() {
                    // Two jobs that are submitted at once may leave only one notification, so a worker that
                    // leaves jobs behind wakes another worker.
                    self.wake();
                }
                (!scheduler.stopping).then(|| scheduler.throughput.slice())
            });
            let Some(slice) = visit else {
                return self.wake();
            };
            if lane_group.width() + taken.len() == 0 {
                self.submitted.notified().await;
                since = Instant::now();
                continue;
            }
            let joined = Instant::now();
            for job in taken.drain(..) {
                lane_group.insert(job, joined);
            }
            #[cfg(test)]
            assert!(
                !self.inject_panic.swap(false, Ordering::Relaxed),
                "sabotaged"
            );
            let width = lane_group.width();
            let iterations = lane_group.advance(slice);
            // In simulated time, every slice takes exactly one millisecond.
            #[cfg(simulation)]
            tokio::time::sleep(Duration::from_millis(1)).await;
            let now = Instant::now();
            let ended = lane_group.collect_finished(now);
            let load = lane_group.load();
            self.locked(|scheduler| {
                // The time includes waiting for other threads that had the core or the lock.
                scheduler.throughput.record(width, iterations, now - since);
                scheduler.report(worker, load, ended);
            });
            since = now;
        }
    }
}

/// The number of iterations of [`calibrate`], which take about five milliseconds.
pub(crate) const CALIBRATION_ITERATIONS: u32 = 64;

/// Measures the time that the calling thread takes for [`CALIBRATION_ITERATIONS`] on all its lanes.
pub(crate) fn calibrate(lanes: usize) -> Duration {
    let mut lane_group = vec![Lane::BLANK; lanes];
    for lane in &mut lane_group {
        lane.start(&ExpandedPassword::new(b"calibrate"), [0; 16]);
    }
    let begun = Instant::now();
    kernel::advance(&mut lane_group, CALIBRATION_ITERATIONS);
    begun.elapsed()
}

/// Gives the calling thread the low priority of the workers, which needs no privilege. Returns an error if the
/// system refuses, or has no safe call for this.
pub fn lower_priority() -> std::io::Result<()> {
    // A call without an id applies to the calling thread on Linux, but to the whole process elsewhere. At nice
    // 10, a thread gets a tenth of the CPU time of a thread at nice 0.
    #[cfg(target_os = "linux")]
    return Ok(rustix::process::setpriority_process(None, 10)?);
    #[cfg(not(target_os = "linux"))]
    Err(std::io::ErrorKind::Unsupported.into())
}

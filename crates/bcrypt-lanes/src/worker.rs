//! The worker threads.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kernel::Lane;
use crate::lane_group::LaneGroup;
use crate::password::ExpandedPassword;
use crate::scheduler::{Load, Scheduler};
use crate::{Settings, Stats, kernel};

/// State shared by the engine and its workers.
pub(crate) struct Shared {
    scheduler: Mutex<Scheduler>,
    /// Signals idle workers that a job is queued or the engine stops.
    work_available: Condvar,
    settings: Settings,
    #[cfg(test)]
    pub(crate) inject_panic: std::sync::atomic::AtomicBool,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            scheduler: Mutex::new(Scheduler::new(settings)),
            work_available: Condvar::new(),
            settings,
            #[cfg(test)]
            inject_panic: false.into(),
        }
    }

    /// Locks the scheduler. Nothing that runs under the lock can panic half-way, so poison is ignored.
    pub(crate) fn scheduler(&self) -> MutexGuard<'_, Scheduler> {
        self.scheduler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes an idle worker.
    pub(crate) fn wake(&self) {
        self.work_available.notify_one();
    }

    /// Ends all workers at their next visit to the scheduler.
    pub(crate) fn stop(&self) {
        self.scheduler().stopping = true;
        self.work_available.notify_all();
    }

    /// Runs worker number `worker`. A panic loses only the jobs in its lanes.
    pub(crate) fn work(&self, worker: usize) {
        while panic::catch_unwind(AssertUnwindSafe(|| self.serve(worker))).is_err() {
            let panicked = Stats { panics: 1, ..Stats::default() };
            self.scheduler().report(worker, Load::default(), panicked);
        }
    }

    fn serve(&self, worker: usize) {
        let mut lane_group = LaneGroup::new(self.settings.lanes);
        let mut taken = Vec::with_capacity(self.settings.lanes);
        let mut since = Instant::now();
        loop {
            let slice = {
                let mut scheduler = self.scheduler();
                loop {
                    if scheduler.stopping {
                        return;
                    }
                    let now = Instant::now();
                    scheduler.expire(now);
                    taken.extend(std::iter::from_fn(|| scheduler.take(worker, now)));
                    if lane_group.width() + taken.len() > 0 {
                        break;
                    }
                    scheduler = (self.work_available.wait(scheduler))
                        .unwrap_or_else(PoisonError::into_inner);
                    since = Instant::now();
                }
                scheduler.throughput.slice()
            };
            let joined = Instant::now();
            for job in taken.drain(..) {
                lane_group.insert(job, joined);
            }
            #[cfg(test)]
            self.panic_if_injected();
            let (width, iterations) = (lane_group.width(), lane_group.step(slice));
            let now = Instant::now();
            let ended = lane_group.collect_finished(now);
            let mut scheduler = self.scheduler();
            // Includes time in which other threads had the core or the lock.
            scheduler.throughput.record(width, iterations, now - since);
            scheduler.report(worker, lane_group.load(), ended);
            since = now;
        }
    }

    #[cfg(test)]
    fn panic_if_injected(&self) {
        use std::sync::atomic::Ordering;
        assert!(!self.inject_panic.swap(false, Ordering::Relaxed), "sabotaged");
    }
}

/// Iterations of [`calibrate`]: about five milliseconds.
pub(crate) const CALIBRATION_ITERATIONS: u32 = 64;

/// Measures how long this thread takes for [`CALIBRATION_ITERATIONS`] on all its lanes.
pub(crate) fn calibrate(lanes: usize) -> Duration {
    let mut lane_group = vec![Lane::BLANK; lanes];
    for lane in &mut lane_group {
        lane.start(&ExpandedPassword::new(b"calibrate"), [0; 16]);
    }
    let begun = Instant::now();
    kernel::advance(&mut lane_group, CALIBRATION_ITERATIONS);
    begun.elapsed()
}

/// At nice 10 a thread gets a tenth of the CPU time of one at nice 0.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Lowers the priority of the calling thread, which needs no privilege.
#[cfg(target_os = "linux")]
pub(crate) fn lower_priority() -> std::io::Result<()> {
    // On Linux this call without an id applies to the calling thread, not to its process.
    Ok(rustix::process::setpriority_process(None, NICE)?)
}

/// Other systems have no safe call for this.
#[cfg(not(target_os = "linux"))]
pub(crate) fn lower_priority() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

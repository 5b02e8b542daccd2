//! Runs password checks of other algorithms than bcrypt, beside the lanes of the engine.
//!
//! A check cannot be stopped halfway, so each one has a thread of its own, at the priority of the lanes. The
//! number of checks that run at a time is limited to the number of the engine's threads, which bounds their
//! memory. Further checks wait in the order of their arrival.

use parking_lot::Mutex;
use rolegate_bcrypt_lanes::{EngineError, Stats, Timed, lower_priority};
use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout_at,
};

/// The delay before a retry for a client whose check could not run, because the system could not start a
/// thread.
const NO_THREAD_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The checks that run or wait.
///
/// The work of a check is an estimate of its CPU time. It is expressed as the number of bcrypt iterations that
/// all lanes of one thread together do in that time.
pub(super) struct ForeignChecks {
    threads: u32,
    running: Arc<Semaphore>,
    work_by_client: WorkByClient,
    /// Counts these checks as completed, refused, expired or panicked. The other fields of `Stats` are not used.
    counters: Mutex<Stats>,
}

/// The work of each client's checks that run or wait.
type WorkByClient = Arc<Mutex<HashMap<IpAddr, u64>>>;

/// The terms on which a check is admitted: its work, its client and its deadline.
#[derive(Clone, Copy)]
pub(super) struct CheckTerms {
    pub(super) work: u64,
    pub(super) client: IpAddr,
    pub(super) deadline: Instant,
    /// The number of bcrypt iterations that all lanes of the engine together do in a second.
    pub(super) iterations_per_second: u64,
}

impl CheckTerms {
    /// Estimates how long this much work takes on all threads together.
    fn estimate(&self, work: u64) -> Duration {
        Duration::from_millis(work.saturating_mul(1000) / self.iterations_per_second.max(1))
    }
}

impl ForeignChecks {
    /// Creates a runner for as many checks at a time as the engine has threads.
    pub(super) fn new(threads: u32) -> Self {
        Self {
            threads,
            running: Arc::new(Semaphore::new(threads as usize)),
            work_by_client: Arc::default(),
            counters: Mutex::default(),
        }
    }

    /// Adds the counters of these checks to the engine's `stats`.
    pub(super) fn add_to(&self, stats: &mut Stats) {
        let counters = self.counters.lock();
        stats.completed += counters.completed;
        stats.refused += counters.refused;
        stats.expired += counters.expired;
        stats.panics += counters.panics;
    }

    /// Runs a check in a thread of its own, and returns its result with its times.
    ///
    /// If no permit is free, the check is refused at once if it would end too late, or fails once it can no
    /// longer end before its deadline. A check that has begun runs to its end, even if its caller leaves. A check
    /// that panics is [`EngineError::Lost`].
    pub(super) async fn run(
        &self,
        check: impl FnOnce() -> bool + Send + 'static,
        terms: CheckTerms,
    ) -> Result<Timed<bool>, EngineError> {
        let submitted = Instant::now();
        let pending = self.admit(&terms)?;
        let Some(permit) = self.wait_for_permit(&terms, submitted).await else {
            self.counters.lock().expired += 1;
            return Err(EngineError::DeadlinePassed);
        };
        let (answer, answered) = oneshot::channel();
        let run = move || {
            // An error is ignored here, because the engine has already warned if the priority cannot be
            // lowered.
            let _ = lower_priority();
            let started = Instant::now();
            let value = check();
            let waited = started.saturating_duration_since(submitted);
            drop((permit, pending));
            let _ = answer.send(Timed {
                value,
                waited,
                ran: started.elapsed(),
            });
        };
        let thread = thread::Builder::new().name("password".to_owned());
        if let Err(error) = thread.spawn(run) {
            tracing::error!(%error, "cannot start a thread to check an imported password hash");
            self.counters.lock().refused += 1;
            return Err(EngineError::Refused {
                retry_after: NO_THREAD_RETRY_AFTER,
            });
        }
        let outcome = answered.await;
        let mut counters = self.counters.lock();
        if outcome.is_ok() {
            counters.completed += 1;
        } else {
            // The channel was closed without an answer, so the thread has panicked.
            counters.panics += 1;
        }
        outcome.map_err(|_| EngineError::Lost)
    }

    /// Waits for a permit to run. Returns `None` once the check can no longer end before its deadline. If a
    /// permit is free, the check always runs, because the estimate may be wrong: the machine may be faster than
    /// it was.
    async fn wait_for_permit(
        &self,
        terms: &CheckTerms,
        now: Instant,
    ) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Some(permit);
        }
        let duration = terms.estimate(terms.work) * self.threads;
        let latest_start = terms.deadline.checked_sub(duration).unwrap_or(now);
        let permit = Arc::clone(&self.running).acquire_owned();
        timeout_at(latest_start.into(), permit).await.ok()?.ok()
    }

    /// Admits a check if a permit is free, or if the check would probably end within four fifths of the time
    /// before its deadline. The engine admits jobs by the same rule; here, the pending work of the same client
    /// also counts twice. The returned value counts the work of this check until it is dropped.
    fn admit(&self, terms: &CheckTerms) -> Result<PendingWork, EngineError> {
        let mut work_by_client = self.work_by_client.lock();
        let own = work_by_client.get(&terms.client).copied().unwrap_or(0);
        let before = terms.estimate(work_by_client.values().sum::<u64>() + own);
        // While the bcrypt lanes are busy, they take half of each core. So these checks take twice as long as
        // estimated.
        let done = (before + terms.estimate(terms.work) * self.threads) * 2;
        let due = terms.deadline.saturating_duration_since(Instant::now()) / 5 * 4;
        let overrun = done.saturating_sub(due);
        if self.running.available_permits() == 0 && !overrun.is_zero() {
            self.counters.lock().refused += 1;
            return Err(EngineError::Refused {
                retry_after: overrun.max(Duration::from_millis(1)),
            });
        }
        *work_by_client.entry(terms.client).or_default() += terms.work;
        Ok(PendingWork {
            work_by_client: Arc::clone(&self.work_by_client),
            client: terms.client,
            work: terms.work,
        })
    }
}

/// The work of a check that runs or waits. Dropping this value subtracts the work from the client's sum.
struct PendingWork {
    work_by_client: WorkByClient,
    client: IpAddr,
    work: u64,
}

impl Drop for PendingWork {
    fn drop(&mut self) {
        if let Entry::Occupied(mut work) = self.work_by_client.lock().entry(self.client) {
            *work.get_mut() -= self.work;
            if *work.get() == 0 {
                work.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests;

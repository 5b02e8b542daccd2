//! Runs checks by other algorithms than bcrypt, beside the lanes.
//!
//! A check cannot be stopped halfway, so it has a thread of its own, at the priority of the lanes. At most as
//! many run as the engine has threads, which bounds their memory; the others wait in the order in which
//! they came.

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

/// When to try again after the system had no thread to give.
const NO_THREAD: Duration = Duration::from_secs(1);

/// The checks that run or wait. Work is the CPU time of a check, as the iterations of bcrypt that all lanes
/// of one thread together do in that time.
pub(super) struct ForeignChecks {
    threads: u32,
    running: Arc<Semaphore>,
    pending: Arc<Mutex<HashMap<IpAddr, u64>>>,
    /// Only the counters are used.
    counters: Mutex<Stats>,
}

/// The work of a check that runs or waits, until dropped.
struct Pending {
    all: Arc<Mutex<HashMap<IpAddr, u64>>>,
    client: IpAddr,
    work: u64,
}

impl ForeignChecks {
    /// Runs as many checks at a time as the engine has threads.
    pub(super) fn new(threads: u32) -> Self {
        let running = Arc::new(Semaphore::new(threads as usize));
        Self {
            threads,
            running,
            pending: Arc::default(),
            counters: Mutex::default(),
        }
    }

    /// Adds the counters of these checks to those of the engine.
    pub(super) fn add_to(&self, stats: &mut Stats) {
        let counters = self.counters.lock();
        stats.completed += counters.completed;
        stats.refused += counters.refused;
        stats.expired += counters.expired;
        stats.panics += counters.panics;
    }

    /// Runs a check where the engine does so many iterations `per_second`, or refuses it at once if it
    /// would not end in time. It runs to its end even if its caller leaves.
    pub(super) async fn run(
        &self,
        check: impl FnOnce() -> bool + Send + 'static,
        work: u64,
        client: IpAddr,
        deadline: Instant,
        per_second: u64,
    ) -> Result<Timed<bool>, EngineError> {
        let submitted = Instant::now();
        let pending = self.admit(work, client, deadline, per_second)?;
        let permit = self
            .wait_for_place(work, submitted, deadline, per_second)
            .await;
        let Some(permit) = permit else {
            self.counters.lock().expired += 1;
            return Err(EngineError::DeadlinePassed);
        };
        let (answer, answered) = oneshot::channel();
        let run = move || {
            // The engine has warned if it is not allowed.
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
        if let Err(error) = thread::Builder::new()
            .name("password".to_owned())
            .spawn(run)
        {
            tracing::error!(%error, "no thread for a check of an imported hash");
            self.counters.lock().refused += 1;
            return Err(EngineError::Refused {
                retry_after: NO_THREAD,
                is_full: true,
            });
        }
        let outcome = answered.await;
        let mut counters = self.counters.lock();
        *(if outcome.is_ok() {
            &mut counters.completed
        } else {
            &mut counters.panics
        }) += 1;
        outcome.map_err(|_| EngineError::Lost)
    }

    /// A place to run, while the check can still end before its deadline. Where one is free, the check
    /// always runs: the machine may be faster than it was.
    async fn wait_for_place(
        &self,
        work: u64,
        now: Instant,
        deadline: Instant,
        per_second: u64,
    ) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Some(permit);
        }
        let runs = time(work, per_second) * self.threads;
        let latest = deadline.checked_sub(runs).unwrap_or(now);
        timeout_at(latest.into(), Arc::clone(&self.running).acquire_owned())
            .await
            .ok()?
            .ok()
    }

    /// As the engine admits a job to its lanes: by the time in which it would be done, where the work that
    /// its client has here counts twice.
    fn admit(
        &self,
        work: u64,
        client: IpAddr,
        deadline: Instant,
        per_second: u64,
    ) -> Result<Pending, EngineError> {
        let mut pending = self.pending.lock();
        let own = pending.get(&client).copied().unwrap_or(0);
        let before = time(pending.values().sum::<u64>() + own, per_second);
        // The lanes have half of each core.
        let done = (before + time(work, per_second) * self.threads) * 2;
        let due = deadline.saturating_duration_since(Instant::now()) / 5 * 4;
        let overrun = done.saturating_sub(due);
        if self.running.available_permits() == 0 && !overrun.is_zero() {
            self.counters.lock().refused += 1;
            let retry_after = overrun.max(Duration::from_millis(1));
            return Err(EngineError::Refused {
                retry_after,
                is_full: own == 0,
            });
        }
        *pending.entry(client).or_default() += work;
        Ok(Pending {
            all: Arc::clone(&self.pending),
            client,
            work,
        })
    }
}

/// How long this work takes on all threads together.
fn time(work: u64, per_second: u64) -> Duration {
    Duration::from_millis(work.saturating_mul(1000) / per_second.max(1))
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Entry::Occupied(mut work) = self.all.lock().entry(self.client) {
            *work.get_mut() -= self.work;
            if *work.get() == 0 {
                work.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests;

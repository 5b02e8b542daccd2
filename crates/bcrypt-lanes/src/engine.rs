//! The public API, which starts the worker threads and turns passwords into jobs for these threads.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
#[cfg(not(simulation))]
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_channel::oneshot;

use crate::job::{AdmissionRequest, Job, Reply};
use crate::kernel::MAX_LANES;
use crate::stored::StoredHash;
use crate::worker::{CALIBRATION_ITERATIONS, WorkerPool, calibrate, lower_priority};
use crate::{ClientKey, Cost, EngineError, Settings, Stats, Timed, Verdict};

/// Computes bcrypt on its own threads.
///
/// The returned futures block no thread and do not borrow the engine. A future submits its job when it is first
/// polled, and the job is then queued or refused. Dropping a future cancels the job and frees its lane within
/// about a millisecond. Dropping the engine ends its threads, and the callers of unfinished jobs get
/// [`EngineError::Lost`].
///
/// ```
/// # use rolegate_bcrypt_lanes::{Cost, Engine, Settings, ClientKey, Verdict};
/// # use std::time::{Duration, Instant};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::start(Settings::default())?;
/// let soon = Instant::now() + Duration::from_secs(5);
/// let hash = engine.hash(b"secret", Cost::MIN, ClientKey(1), soon).await?;
/// let check = engine.verify(b"secret", Some(&hash.value), Cost::MIN, ClientKey(1), soon).await?;
/// assert_eq!(check.value, Verdict::Match { rehash: false });
/// # Ok(())
/// # }
/// ```
pub struct Engine {
    pool: Arc<WorkerPool>,
    threads: Vec<JoinHandle<()>>,
    priority: io::Result<()>,
    /// The highest cost of the stored hashes that the engine knows of, at most [`Cost::MAX_FAILED`]. A
    /// failed verification does at least this much work.
    highest_cost: AtomicU32,
}

/// The measurements that a worker thread makes of itself before it takes jobs.
struct ThreadMeasurement {
    /// An error if the system refused the requested priority.
    priority: io::Result<()>,
    /// The time that the thread took for [`CALIBRATION_ITERATIONS`].
    time: Duration,
}

impl ThreadMeasurement {
    /// Lowers the priority of the calling thread, then measures its speed.
    fn take(lanes: usize) -> Self {
        let priority = if cfg!(simulation) {
            Ok(())
        } else {
            lower_priority()
        };
        Self {
            priority,
            time: calibrate(lanes),
        }
    }
}

impl Engine {
    /// Starts the threads `bcrypt-0`, `bcrypt-1` and so on, and measures their speed. Settings are clamped to
    /// valid values. Returns an error if a thread cannot be created.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let settings = Settings {
            threads: settings.threads.max(1),
            lanes: settings.lanes.clamp(1, MAX_LANES),
            queue: settings.queue.max(1),
        };
        let (sender, measurements) = mpsc::channel();
        let mut engine = Self {
            pool: Arc::new(WorkerPool::new(settings)),
            threads: Vec::with_capacity(settings.threads),
            priority: Ok(()),
            highest_cost: AtomicU32::new(0),
        };
        for worker in 0..settings.threads {
            let pool = Arc::clone(&engine.pool);
            let sender = sender.clone();
            let measure = move || {
                // Sending fails if a later thread could not be created, because `start` has then returned.
                let _ = sender.send(ThreadMeasurement::take(settings.lanes));
                drop(sender);
            };
            #[cfg(simulation)]
            {
                measure();
                tokio::spawn(async move { pool.work(worker).await });
            }
            #[cfg(not(simulation))]
            engine.threads.push(
                thread::Builder::new()
                    .name(format!("bcrypt-{worker}"))
                    .spawn(move || {
                        measure();
                        futures_executor::block_on(pool.work(worker));
                    })?,
            );
        }
        drop(sender);
        let mut times = Vec::with_capacity(settings.threads);
        for measurement in measurements {
            times.push(measurement.time);
            if engine.priority.is_ok() {
                engine.priority = measurement.priority;
            }
        }
        engine.pool.locked(|scheduler| {
            scheduler
                .throughput
                .calibrate(CALIBRATION_ITERATIONS, &times);
        });
        Ok(engine)
    }

    /// Returns an error if the threads do not run at the requested low priority. Callers should log it as a
    /// warning, because other threads then get less CPU time than intended.
    pub fn priority(&self) -> Result<(), &io::Error> {
        self.priority.as_ref().copied()
    }

    /// Returns the current statistics, or the previous snapshot if a worker holds the lock for long.
    pub fn stats(&self) -> Stats {
        self.pool.stats()
    }

    /// Tells the engine that a stored hash has this cost, so that failed verifications do at least as much work.
    ///
    /// The engine learns the costs of hashes that it verifies. Callers use this for hashes that were stored
    /// before the engine started. Costs above 16 count as 16.
    pub fn note_stored_cost(&self, cost: Cost) {
        self.highest_cost
            .fetch_max(cost.min(Cost::MAX_FAILED).get(), Ordering::Relaxed);
    }

    /// Returns the cost of a failed verification if new hashes have the cost `current`.
    fn failed_cost(&self, current: Cost) -> Cost {
        Cost::new(self.highest_cost.load(Ordering::Relaxed))
            .map_or(current, |cost| cost.max(current))
    }

    /// Checks whether a job would be admitted now that does the work of a failed verification, if new hashes
    /// have this `cost`. The check takes microseconds, and an error counts as a refused job.
    ///
    /// Callers use this check to avoid other work, such as a query, for a job that would be refused. `Ok`
    /// reserves nothing: the job itself may still be refused.
    pub async fn check_admission(
        &self,
        cost: Cost,
        client: ClientKey,
        deadline: Instant,
    ) -> Result<(), EngineError> {
        let now = Instant::now();
        let work = self.failed_cost(cost).iterations();
        let request = AdmissionRequest::new(client, work, now, deadline);
        self.pool
            .locked_async(|scheduler| scheduler.check_admission(request, now))
            .await
    }

    /// Hashes a password with a fresh salt. The result is `$2b$…`, of 60 characters.
    ///
    /// bcrypt ignores all bytes of a password after the 72nd.
    pub fn hash(
        &self,
        password: &[u8],
        cost: Cost,
        client: ClientKey,
        deadline: Instant,
    ) -> impl Future<Output = Result<Timed<String>, EngineError>> + Send + use<> {
        let (mut job, answer) = Job::new(password, cost.iterations(), client, deadline);
        let salted = getrandom::fill(&mut job.salt).map_err(EngineError::Random);
        let salt = job.salt;
        let answer = self.submit(job, answer);
        async move {
            salted?;
            let answer = answer.await?;
            let digest = answer.value.digest;
            Ok(Timed {
                value: StoredHash { cost, salt, digest }.format(),
                waited: answer.waited,
                ran: answer.ran,
            })
        }
    }

    /// Checks a password against a stored hash (`$2a$`, `$2b$`, `$2x$` or `$2y$`).
    ///
    /// Callers pass `None` for a user who does not exist, so that timing does not reveal this: the engine does
    /// the same work and reports a mismatch. A malformed hash takes the same work, too. A failed verification
    /// does the work of the highest cost among `current`, the hashes that this engine has verified, and
    /// [`Self::note_stored_cost`]. Stored costs above 16 count as 16, except for the hash itself.
    pub fn verify(
        &self,
        password: &[u8],
        stored: Option<&str>,
        current: Cost,
        client: ClientKey,
        deadline: Instant,
    ) -> impl Future<Output = Result<Timed<Verdict>, EngineError>> + Send + use<> {
        let parsed = stored.and_then(StoredHash::parse);
        let is_malformed = stored.is_some() && parsed.is_none();
        let failure = if is_malformed {
            Verdict::Malformed
        } else {
            Verdict::Mismatch
        };
        if let Some(stored) = parsed {
            self.note_stored_cost(stored.cost);
        }
        let failed_cost = self.failed_cost(current);
        let cost = parsed.map_or(failed_cost, |stored| stored.cost);
        let (mut job, answer) = Job::new(password, cost.iterations(), client, deadline);
        job.iterations_if_wrong = failed_cost.iterations();
        if let Some(stored) = parsed {
            job.salt = stored.salt;
            job.expected = Some(stored.digest);
        }
        let answer = self.submit(job, answer);
        async move {
            let answer = answer.await?;
            let rehash = cost != current;
            let verdict = if answer.value.matches {
                Verdict::Match { rehash }
            } else {
                failure
            };
            Ok(Timed {
                value: verdict,
                waited: answer.waited,
                ran: answer.ran,
            })
        }
    }

    fn submit(
        &self,
        job: Job,
        answer: oneshot::Receiver<Reply>,
    ) -> impl Future<Output = Reply> + Send + use<> {
        let pool = Arc::clone(&self.pool);
        async move {
            pool.locked_async(|scheduler| scheduler.submit(job, Instant::now()))
                .await;
            pool.wake();
            // A waiting future must not keep the pool of a dropped engine alive.
            drop(pool);
            answer.await.map_err(|_| EngineError::Lost)?
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.pool.stop();
        for thread in self.threads.drain(..) {
            // A worker that panicked needs no handling: the panic is counted, and its jobs were completed when they
            // were dropped.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;

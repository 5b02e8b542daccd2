//! The public API: starts the worker threads, and turns passwords into jobs for them.

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
/// The futures queue or refuse their job when they are first polled, block no thread, and do not borrow
/// the engine. Dropping a future cancels the job and frees its lane within about a millisecond. Dropping
/// the engine ends its threads and loses unfinished jobs.
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
    /// The highest cost of the hashes seen, at most [`Cost::MAX_FAILED`].
    highest_cost: AtomicU32,
}

/// What a thread finds out before it serves.
struct ThreadMeasurement {
    /// Whether it runs at the requested priority.
    priority: io::Result<()>,
    /// How long it takes for [`CALIBRATION_ITERATIONS`].
    time: Duration,
}

impl ThreadMeasurement {
    /// Lowers the priority of this thread, then measures its speed.
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
    /// Starts the threads `bcrypt-0`, `bcrypt-1` and so on, with settings clamped to valid values.
    /// Fails when a thread cannot be created.
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
                // The engine is gone if a later thread could not be created.
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

    /// Whether the threads run at the requested priority, or why not. Worth a warning: other threads
    /// get less CPU time than intended.
    pub fn priority(&self) -> Result<(), &io::Error> {
        self.priority.as_ref().copied()
    }

    /// A snapshot of the statistics.
    pub fn stats(&self) -> Stats {
        self.pool.stats()
    }

    /// Makes failed verifications cost at least this much, as one hash of this cost does. For the
    /// hashes that were stored before this engine started; costs above 16 count as 16.
    pub fn note_stored_cost(&self, cost: Cost) {
        self.highest_cost
            .fetch_max(cost.min(Cost::MAX_FAILED).get(), Ordering::Relaxed);
    }

    /// The cost of a failed verification where new hashes have the cost `current`.
    fn failed_cost(&self, current: Cost) -> Cost {
        Cost::new(self.highest_cost.load(Ordering::Relaxed))
            .map_or(current, |cost| cost.max(current))
    }

    /// Whether a job of this cost would be admitted now. Lets callers avoid other work for a job that
    /// would be refused; takes microseconds. `Ok` is not a reservation.
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

    /// Hashes a password with a fresh salt, to `$2b$…` of 60 characters.
    ///
    /// As in every bcrypt, only the first 72 bytes of the password count.
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
    /// Pass `None` for a user who does not exist: the same work is done and nothing matches. The same
    /// holds for a malformed hash. The work of a failed verification is that of the highest cost among
    /// `current`, the hashes that this engine has verified, and [`Self::note_stored_cost`]. Timing
    /// therefore reveals neither case.
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
            // Waiting jobs do not keep a dropped engine.
            drop(pool);
            answer.await.map_err(|_| EngineError::Lost)?
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.pool.stop();
        for thread in self.threads.drain(..) {
            // A worker that panicked is counted and has completed its jobs by dropping them.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;

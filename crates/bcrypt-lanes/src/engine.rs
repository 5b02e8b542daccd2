//! The public API.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use futures_channel::oneshot;

use crate::job::{AdmissionRequest, Answer, Job, Reply};
use crate::password::ExpandedPassword;
use crate::scheduler::{Refusal, Scheduler};
use crate::stored::Stored;
use crate::worker::{CALIBRATION_ITERATIONS, Shared, calibrate, lower_priority};
use crate::{ClientKey, Cost, EngineError, ForeignCheck, Settings, Stats, Timed, Verdict};

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
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    priority: io::Result<()>,
    /// The highest cost of the hashes seen, at most [`Cost::MAX_FAILED`].
    highest_cost: AtomicU32,
}

impl Engine {
    /// Starts the threads `bcrypt-0`, `bcrypt-1` and so on, with settings clamped to valid values.
    /// Fails when a thread cannot be created.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let settings = settings.clamped();
        let (sender, measurements) = mpsc::channel();
        let mut engine = Self {
            shared: Arc::new(Shared::new(settings)),
            threads: Vec::with_capacity(settings.threads),
            priority: Ok(()),
            highest_cost: AtomicU32::new(0),
        };
        for worker in 0..settings.threads {
            let (shared, sender) = (Arc::clone(&engine.shared), sender.clone());
            let thread = thread::Builder::new().name(format!("bcrypt-{worker}"));
            engine.threads.push(thread.spawn(move || {
                let lowered = if settings.low_priority { lower_priority() } else { Ok(()) };
                // The engine is gone if a later thread could not be created.
                let _ = sender.send((lowered, calibrate(settings.lanes)));
                drop(sender);
                shared.work(worker);
            })?);
        }
        drop(sender);
        let (priorities, times): (Vec<_>, Vec<_>) = measurements.into_iter().unzip();
        engine.priority = priorities.into_iter().collect();
        let calibrate =
            |it: &mut Scheduler| it.throughput.calibrate(CALIBRATION_ITERATIONS, &times);
        engine.shared.locked(calibrate);
        Ok(engine)
    }

    /// Whether the threads run at the requested priority, or why not. Worth a warning: other threads
    /// get less CPU time than intended.
    pub fn priority(&self) -> Result<(), &io::Error> {
        self.priority.as_ref().copied()
    }

    /// A snapshot of the statistics.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Makes failed verifications cost at least this much, as one hash of this cost does. For the
    /// hashes that were stored before this engine started; costs above 16 count as 16.
    pub fn note_stored_cost(&self, cost: Cost) {
        self.highest_cost.fetch_max(cost.min(Cost::MAX_FAILED).get(), Ordering::Relaxed);
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
        let check = |scheduler: &mut Scheduler| scheduler.check_admission(request, now);
        self.shared.locked_async(check).await.map_err(|Refusal { retry_after, is_full }| {
            EngineError::Refused { retry_after, is_full }
        })
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
        let mut salt = [0; 16];
        let (reply, answer) = oneshot::channel();
        let answer = getrandom::fill(&mut salt).map(|()| {
            let job = Job {
                password: ExpandedPassword::new(password),
                salt,
                iterations: cost.iterations(),
                iterations_if_wrong: 0,
                expected: None,
                foreign: None,
                client,
                submitted: Instant::now(),
                deadline,
                reply,
            };
            self.submit(job, answer)
        });
        async move {
            let answer = answer.map_err(EngineError::Random)?;
            let answer = answer.await.map_err(|_| EngineError::Lost)??;
            let digest = answer.digest;
            Ok(done(&answer, Stored { cost, salt, digest }.format()))
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
        let parsed = stored.and_then(Stored::parse);
        let failure = if stored.is_some() && parsed.is_none() {
            Verdict::Malformed
        } else {
            Verdict::Mismatch
        };
        if let Some(stored) = parsed {
            self.note_stored_cost(stored.cost);
        }
        let failed_cost = self.failed_cost(current);
        let cost = parsed.map_or(failed_cost, |stored| stored.cost);
        let (reply, answer) = oneshot::channel();
        let job = Job {
            password: ExpandedPassword::new(password),
            salt: parsed.map_or([0; 16], |stored| stored.salt),
            iterations: cost.iterations(),
            iterations_if_wrong: failed_cost.iterations(),
            expected: parsed.map(|stored| stored.digest),
            foreign: None,
            client,
            submitted: Instant::now(),
            deadline,
            reply,
        };
        let answer = self.submit(job, answer);
        async move {
            let answer = answer.await.map_err(|_| EngineError::Lost)??;
            let verdict = if answer.matches {
                let rehash = cost != current;
                Verdict::Match { rehash }
            } else {
                failure
            };
            Ok(done(&answer, verdict))
        }
    }

    /// Checks a password against a hash of another algorithm. A match asks for a rehash.
    ///
    /// A refusal takes as long as one of [`Self::verify`], unless the check takes longer: a lane does the
    /// work of a failed verification meanwhile. So a refusal tells such a hash from others only if its
    /// check is more expensive than they are.
    pub fn verify_foreign(
        &self,
        check: ForeignCheck,
        current: Cost,
        client: ClientKey,
        deadline: Instant,
    ) -> impl Future<Output = Result<Timed<Verdict>, EngineError>> + Send + use<> {
        let submitted = Instant::now();
        let job = |iterations, foreign, reply| Job {
            password: ExpandedPassword::new(b""),
            salt: [0; 16],
            iterations,
            iterations_if_wrong: 0,
            expected: None,
            foreign,
            client,
            submitted,
            deadline,
            reply,
        };
        let (reply, answer) = oneshot::channel();
        let check = job(check.work, Some(check.run), reply);
        let (reply, mut padding) = oneshot::channel();
        let padding_job = job(self.failed_cost(current).iterations(), None, reply);
        let shared = Arc::clone(&self.shared);
        async move {
            let submit = |scheduler: &mut Scheduler| {
                scheduler.submit(check, Instant::now());
                scheduler.submit(padding_job, Instant::now());
            };
            shared.locked_async(submit).await;
            shared.wake();
            drop(shared);
            // A refusal comes at once.
            let padded = padding.try_recv().ok().flatten().transpose()?;
            let answer = answer.await.map_err(|_| EngineError::Lost)??;
            if answer.matches {
                return Ok(done(&answer, Verdict::Match { rehash: true }));
            }
            let padded = match padded {
                Some(padded) => padded,
                // Late or evicted: an error would refund the attempt of a wrong guess.
                None => match padding.await {
                    Ok(Ok(padded)) => padded,
                    _ => return Ok(done(&answer, Verdict::Mismatch)),
                },
            };
            let slower = if padded.ran > answer.ran { padded } else { answer };
            Ok(done(&slower, Verdict::Mismatch))
        }
    }

    fn submit(
        &self,
        job: Job,
        answer: oneshot::Receiver<Reply>,
    ) -> impl Future<Output = Result<Reply, oneshot::Canceled>> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            shared.locked_async(|scheduler| scheduler.submit(job, Instant::now())).await;
            shared.wake();
            // Waiting jobs do not keep a dropped engine.
            drop(shared);
            answer.await
        }
    }
}

fn done<T>(answer: &Answer, value: T) -> Timed<T> {
    Timed { value, waited: answer.waited, ran: answer.ran }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Engine").field(&self.stats()).finish()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A worker that panicked is counted and has completed its jobs by dropping them.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;

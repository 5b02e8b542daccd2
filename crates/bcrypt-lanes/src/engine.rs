//! What a service holds.

use std::fmt;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use futures_channel::oneshot;

use crate::job::{Answer, Claim, Job, Reply};
use crate::password::ExpandedPassword;
use crate::stored::{Digest, Stored};
use crate::worker::{Shared, TRIAL, step_back, trial};
use crate::{Cost, Done, EngineError, Settings, Share, Stats, Verdict};

/// Computes bcrypt on threads of its own.
///
/// A call lets its job wait, or refuses it, before it returns; the future only waits for the answer
/// and does not borrow the engine. Dropping the future takes the job back, and its lane is free
/// again within a millisecond or so. Dropping the engine ends its threads and loses what is not
/// answered yet.
///
/// ```
/// # use rolegate_bcrypt_lanes::{Cost, Engine, Settings, Share, Verdict};
/// # use std::time::{Duration, Instant};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::start(Settings::default())?;
/// let soon = Instant::now() + Duration::from_secs(5);
/// let hash = engine.hash(b"secret", Cost::MIN, Share(1), soon).await?;
/// let check = engine.verify(b"secret", Some(&hash.value), Cost::MIN, Share(1), soon).await?;
/// assert_eq!(check.value, Verdict::Match { rehash: false });
/// # Ok(())
/// # }
/// ```
pub struct Engine {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    priority: io::Result<()>,
}

/// What is left to choose once the password is known.
struct Task {
    salt: [u8; 16],
    cost: Cost,
    cost_if_wrong: Cost,
    expected: Option<Digest>,
}

impl Engine {
    /// Starts the threads `bcrypt-0`, `bcrypt-1` and so on. Settings out of bounds are moved to the
    /// nearest bound. Fails when the system gives no thread.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let settings = settings.within_bounds();
        let (tell, told) = mpsc::channel();
        let mut engine = Self {
            shared: Arc::new(Shared::new(settings)),
            threads: Vec::with_capacity(settings.threads),
            priority: Ok(()),
        };
        for worker in 0..settings.threads {
            let (shared, tell) = (Arc::clone(&engine.shared), tell.clone());
            let thread = thread::Builder::new().name(format!("bcrypt-{worker}"));
            engine.threads.push(thread.spawn(move || {
                let lowered = if settings.low_priority { step_back() } else { Ok(()) };
                // The engine may be gone already, when a later thread could not be had.
                let _ = tell.send((lowered, trial(settings.lanes)));
                drop(tell);
                shared.work(worker);
            })?);
        }
        drop(tell);
        let (priorities, times): (Vec<_>, Vec<_>) = told.into_iter().unzip();
        engine.priority = priorities.into_iter().collect();
        engine.shared.board().pace.calibrate(TRIAL, &times);
        Ok(engine)
    }

    /// Whether all threads run at the priority that was asked for, and else why not. Not fatal: it
    /// is slower neighbours who suffer. Worth a warning in the log.
    pub fn priority(&self) -> Result<(), &io::Error> {
        self.priority.as_ref().copied()
    }

    /// What the engine is doing now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.board().stats()
    }

    /// Whether a job of this cost would be let in now. Asked before other work is done for a caller
    /// who would then be refused; answers within microseconds. `Ok` is no promise: others may come
    /// in between.
    pub fn room(&self, cost: Cost, share: Share, deadline: Instant) -> Result<(), EngineError> {
        let now = Instant::now();
        let claim = Claim::new(share, cost.iterations(), now, deadline);
        let room = self.shared.board().room(claim, now);
        room.map_err(|retry_after| EngineError::Refused { retry_after })
    }

    /// Hashes a password with a fresh salt, to `$2b$…` of 60 characters.
    ///
    /// Like every bcrypt it reads 72 bytes: bytes beyond do not count.
    pub fn hash(
        &self,
        password: &[u8],
        cost: Cost,
        share: Share,
        deadline: Instant,
    ) -> impl Future<Output = Result<Done<String>, EngineError>> + Send + use<> {
        let mut salt = [0; 16];
        let answer = getrandom::fill(&mut salt).map(|()| {
            let task = Task { salt, cost, cost_if_wrong: cost, expected: None };
            self.submit(password, &task, share, deadline)
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
    /// `None` is for a user who does not exist: the work of `today`'s cost is done all the same and
    /// nothing matches. So it is for a hash that is none. Where the stored cost is below `today`'s,
    /// a failed check does the missing work too: the time tells neither.
    pub fn verify(
        &self,
        password: &[u8],
        stored: Option<&str>,
        today: Cost,
        share: Share,
        deadline: Instant,
    ) -> impl Future<Output = Result<Done<Verdict>, EngineError>> + Send + use<> {
        let parsed = stored.and_then(Stored::parse);
        let failure = if stored.is_some() && parsed.is_none() {
            Verdict::Malformed
        } else {
            Verdict::Mismatch
        };
        let cost = parsed.map_or(today, |stored| stored.cost);
        let task = Task {
            salt: parsed.map_or([0; 16], |stored| stored.salt),
            cost,
            cost_if_wrong: cost.max(today),
            expected: parsed.map(|stored| stored.digest),
        };
        let answer = self.submit(password, &task, share, deadline);
        async move {
            let answer = answer.await.map_err(|_| EngineError::Lost)??;
            let verdict = if answer.matches {
                let rehash = cost != today;
                Verdict::Match { rehash }
            } else {
                failure
            };
            Ok(done(&answer, verdict))
        }
    }

    fn submit(
        &self,
        password: &[u8],
        task: &Task,
        share: Share,
        deadline: Instant,
    ) -> oneshot::Receiver<Reply> {
        let (reply, receiver) = oneshot::channel();
        let now = Instant::now();
        let job = Job {
            password: ExpandedPassword::new(password),
            salt: task.salt,
            iterations: task.cost.iterations(),
            iterations_if_wrong: task.cost_if_wrong.iterations(),
            expected: task.expected,
            share,
            submitted: now,
            deadline,
            reply,
        };
        self.shared.board().submit(job, now);
        self.shared.wake();
        receiver
    }
}

fn done<T>(answer: &Answer, value: T) -> Done<T> {
    Done { value, waited: answer.waited, ran: answer.ran }
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
            // A worker that panicked has been counted and has answered by dropping its jobs.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;

//! Checks by other algorithms than bcrypt, which run beside the lanes.
//!
//! Such a check cannot be stopped halfway, so in a worker it would stop all lanes for its whole time. It
//! gets a thread of its own, which has the priority of the worker that starts it and shares its core.
//! There are at most as many as workers: that bounds their memory.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crate::Stats;
use crate::job::{Answer, Job};
use crate::worker::Shared;

/// A check of a password by another algorithm than bcrypt.
pub struct ForeignCheck {
    /// The CPU time that it takes, as the iterations of bcrypt that all lanes of one thread together do in
    /// that time.
    pub work: u64,
    /// Whether the password matches. Runs to its end even if its caller has left.
    pub run: Box<dyn FnOnce() -> bool + Send>,
}

/// The place of a running check. Dropped with it, also by a panic.
struct Place {
    shared: Arc<Shared>,
    work: u64,
    ended: Stats,
}

impl Shared {
    /// Runs the check of a job that the scheduler handed out. If there is no thread for it, or it panics,
    /// the job is lost.
    pub(crate) fn start_foreign(self: &Arc<Self>, mut job: Job) {
        let Some(check) = job.foreign.take() else { return };
        let shared = Arc::clone(self);
        let mut place = Place { shared, work: job.work(), ended: Stats::default() };
        let run = move || {
            let started = Instant::now();
            let matches = check();
            let answer = Answer {
                digest: [0; 23],
                matches,
                waited: started.saturating_duration_since(job.submitted),
                ran: started.elapsed(),
            };
            place.ended.completed = 1;
            (place.ended.waited, place.ended.ran) = (answer.waited, answer.ran);
            drop(place);
            job.answer(Ok(answer));
        };
        let _ = thread::Builder::new().name("bcrypt-foreign".to_owned()).spawn(run);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.ended.panics = thread::panicking().into();
        self.shared.locked(|scheduler| scheduler.end_foreign(self.work, self.ended));
        self.shared.wake();
    }
}

impl fmt::Debug for ForeignCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignCheck").field("work", &self.work).finish_non_exhaustive()
    }
}

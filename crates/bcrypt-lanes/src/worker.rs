//! The threads that compute.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bank::Bank;
use crate::board::{Board, Counted, Load};
use crate::lane::Lane;
use crate::password::ExpandedPassword;
use crate::{Settings, kernel};

/// What engine and workers share.
pub(crate) struct Shared {
    board: Mutex<Board>,
    /// Told when a job waits, and when the engine stops. Only idle workers listen.
    news: Condvar,
    settings: Settings,
    #[cfg(test)]
    pub(crate) sabotage: std::sync::atomic::AtomicBool,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            board: Mutex::new(Board::new(settings)),
            news: Condvar::new(),
            settings,
            #[cfg(test)]
            sabotage: false.into(),
        }
    }

    /// The board. No code that can panic half-way runs under its lock, so poison means nothing.
    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes one idle worker, if there is one.
    pub(crate) fn wake(&self) {
        self.news.notify_one();
    }

    /// Ends all workers at their next look at the board.
    pub(crate) fn stop(&self) {
        self.board().stopping = true;
        self.news.notify_all();
    }

    /// The life of worker number `worker`. A panic loses what is in its lanes, no more.
    pub(crate) fn work(&self, worker: usize) {
        while panic::catch_unwind(AssertUnwindSafe(|| self.serve(worker))).is_err() {
            let panicked = Counted { panics: 1, ..Counted::default() };
            self.board().report(worker, Load::default(), panicked);
        }
    }

    fn serve(&self, worker: usize) {
        let mut bank = Bank::new(self.settings.lanes);
        let mut taken = Vec::with_capacity(self.settings.lanes);
        let mut since = Instant::now();
        loop {
            let slice = {
                let mut board = self.board();
                loop {
                    if board.stopping {
                        return;
                    }
                    let now = Instant::now();
                    board.expire(now);
                    taken.extend(std::iter::from_fn(|| board.take(worker, now)));
                    if bank.width() + taken.len() > 0 {
                        break;
                    }
                    board = (self.news.wait(board)).unwrap_or_else(PoisonError::into_inner);
                    since = Instant::now();
                }
                board.pace.slice()
            };
            let joined = Instant::now();
            for job in taken.drain(..) {
                bank.join(job, joined);
            }
            #[cfg(test)]
            self.be_sabotaged();
            let (width, iterations) = (bank.width(), bank.step(slice));
            let now = Instant::now();
            let ended = bank.sweep(now);
            let mut board = self.board();
            // All time counts, also what others had the core for, or the board.
            board.pace.learn(width, iterations, now - since);
            board.report(worker, bank.load(), ended);
            since = now;
        }
    }

    #[cfg(test)]
    fn be_sabotaged(&self) {
        use std::sync::atomic::Ordering;
        assert!(!self.sabotage.swap(false, Ordering::Relaxed), "sabotaged");
    }
}

/// Iterations of a [`trial`]: some five milliseconds.
pub(crate) const TRIAL: u32 = 64;

/// How long a thread takes for [`TRIAL`] iterations of all its lanes.
pub(crate) fn trial(lanes: usize) -> Duration {
    let mut bank = vec![Lane::BLANK; lanes];
    for lane in &mut bank {
        lane.start(&ExpandedPassword::new(b"trial"), [0; 16]);
    }
    let begun = Instant::now();
    kernel::advance(&mut bank, TRIAL);
    begun.elapsed()
}

/// How far workers step back: at nice 10 a thread gets a tenth of what one at nice 0 gets.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Lowers the priority of the calling thread. Lowering needs no privilege.
#[cfg(target_os = "linux")]
pub(crate) fn step_back() -> std::io::Result<()> {
    // To Linux a thread is a process here: no id means the calling thread, not its process.
    Ok(rustix::process::setpriority_process(None, NICE)?)
}

/// Elsewhere there is no safe and simple way: workers run as everybody else.
#[cfg(not(target_os = "linux"))]
pub(crate) fn step_back() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

//! One hash computation, from the queue to its result.

use std::time::{Duration, Instant};

use futures_channel::oneshot;
use subtle::ConstantTimeEq;

use crate::password::ExpandedPassword;
use crate::stored::Digest;
use crate::{ClientKey, EngineError};

/// The result of a finished job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) digest: Digest,
    /// Whether the digest equals the expected one.
    pub(crate) matches: bool,
    pub(crate) waited: Duration,
    pub(crate) ran: Duration,
}

pub(crate) type Reply = Result<Answer, EngineError>;

/// A hash to compute, and the channel for its result. A job with a foreign check needs no lane; of the
/// fields of bcrypt, only `iterations` counts for it.
pub(crate) struct Job {
    pub(crate) password: ExpandedPassword,
    pub(crate) salt: [u8; 16],
    /// 2^cost.
    pub(crate) iterations: u64,
    /// Minimum work of a failed verification, so that timing does not reveal hashes of a lower cost.
    pub(crate) iterations_if_wrong: u64,
    /// `None` for a new hash and for dummy work: nothing matches.
    pub(crate) expected: Option<Digest>,
    /// A check by another algorithm.
    pub(crate) foreign: Option<Box<dyn FnOnce() -> bool + Send>>,
    pub(crate) client: ClientKey,
    pub(crate) submitted: Instant,
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// The input to admission control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionRequest {
    pub(crate) client: ClientKey,
    /// Iterations.
    pub(crate) work: u64,
    /// When the job should be finished: some time before its deadline.
    pub(crate) due: Instant,
    pub(crate) is_foreign: bool,
}

impl AdmissionRequest {
    /// Keeps a fifth of the time as a reserve for a machine that slows down after admission.
    pub(crate) fn new(client: ClientKey, work: u64, submitted: Instant, deadline: Instant) -> Self {
        let time = deadline.saturating_duration_since(submitted);
        Self { client, work, due: submitted + time / 5 * 4, is_foreign: false }
    }
}

impl Job {
    /// What admission control needs to know about it.
    pub(crate) fn admission_request(&self) -> AdmissionRequest {
        let request =
            AdmissionRequest::new(self.client, self.work(), self.submitted, self.deadline);
        AdmissionRequest { is_foreign: self.is_foreign(), ..request }
    }

    /// Whether it runs beside the lanes.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign.is_some()
    }

    /// The maximum number of iterations, used for queueing and estimates.
    pub(crate) fn work(&self) -> u64 {
        self.iterations.max(self.iterations_if_wrong)
    }

    /// Whether `digest` is the expected one, in constant time.
    pub(crate) fn matches(&self, digest: &Digest) -> bool {
        let same = self.expected.unwrap_or_default().ct_eq(digest);
        self.expected.is_some() & bool::from(same)
    }

    /// Whether the job is still worth computing.
    pub(crate) fn state(&self, now: Instant) -> JobState {
        if self.reply.is_canceled() {
            JobState::Cancelled
        } else if self.deadline <= now {
            JobState::Expired
        } else {
            JobState::Live
        }
    }

    /// Completes the job. The receiver may be gone.
    pub(crate) fn answer(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }
}

/// Whether a job is still worth computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    /// The caller waits for it.
    Live,
    /// The caller has dropped the future.
    Cancelled,
    /// The deadline has passed.
    Expired,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A job of `iterations` for `client`, a minute to be done in, and its answer's receiver.
    pub(crate) fn job(client: u128, iterations: u64) -> (Job, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let now = Instant::now();
        let job = Job {
            password: ExpandedPassword::new(b"secret"),
            salt: [7; 16],
            iterations,
            iterations_if_wrong: 0,
            expected: None,
            foreign: None,
            client: ClientKey(client),
            submitted: now,
            deadline: now + Duration::from_mins(1),
            reply,
        };
        (job, receiver)
    }

    #[test]
    fn only_the_expected_digest_matches() {
        let (mut job, _receiver) = job(1, 16);
        assert!(!job.matches(&[0; 23]), "nothing matches without an expected digest");
        job.expected = Some([3; 23]);
        assert!(job.matches(&[3; 23]));
        assert!(!job.matches(&[4; 23]));
    }
}

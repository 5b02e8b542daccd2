//! One hash to be computed, from the queue to its answer.

use std::time::{Duration, Instant};

use futures_channel::oneshot;
use subtle::ConstantTimeEq;

use crate::password::ExpandedPassword;
use crate::stored::Digest;
use crate::{EngineError, Share};

/// What a finished job sends back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) digest: Digest,
    /// Whether the digest is the one the job expected.
    pub(crate) matches: bool,
    pub(crate) waited: Duration,
    pub(crate) ran: Duration,
}

pub(crate) type Reply = Result<Answer, EngineError>;

/// A hash to be computed, and whoever waits for it.
pub(crate) struct Job {
    pub(crate) password: ExpandedPassword,
    pub(crate) salt: [u8; 16],
    /// 2^cost.
    pub(crate) iterations: u64,
    /// What a failed check takes at least, so that an old, cheap hash is not told apart by time.
    pub(crate) iterations_if_wrong: u64,
    /// `None`: a new hash, or dummy work; nothing matches.
    pub(crate) expected: Option<Digest>,
    pub(crate) share: Share,
    pub(crate) submitted: Instant,
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// What admission has to know of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) share: Share,
    /// Iterations.
    pub(crate) work: u64,
    /// When it is to be done if all goes as expected.
    pub(crate) due: Instant,
}

impl Claim {
    /// A fifth of the time is kept: for a machine that slows down after the promise was made.
    pub(crate) fn new(share: Share, work: u64, submitted: Instant, deadline: Instant) -> Self {
        let time = deadline.saturating_duration_since(submitted);
        Self { share, work, due: submitted + time / 5 * 4 }
    }
}

impl Job {
    /// What it asks of the queue.
    pub(crate) fn claim(&self) -> Claim {
        Claim::new(self.share, self.work(), self.submitted, self.deadline)
    }

    /// The iterations it may take: what the queue weighs and the estimate counts.
    pub(crate) fn work(&self) -> u64 {
        self.iterations.max(self.iterations_if_wrong)
    }

    /// Whether `digest` is the expected one, in a time that does not depend on either.
    pub(crate) fn matches(&self, digest: &Digest) -> bool {
        let same = self.expected.unwrap_or_default().ct_eq(digest);
        self.expected.is_some() & bool::from(same)
    }

    /// Whether there is still somebody to answer.
    pub(crate) fn fate(&self, now: Instant) -> Fate {
        if self.reply.is_canceled() {
            Fate::Abandoned
        } else if self.deadline <= now {
            Fate::Late
        } else {
            Fate::Awaited
        }
    }

    /// Answers. Whether anybody still wanted to know is no matter.
    pub(crate) fn answer(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }
}

/// Whether a job is still worth computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Somebody waits for it.
    Awaited,
    /// Whoever waited has dropped the future.
    Abandoned,
    /// Its deadline has passed.
    Late,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A job of `iterations` for `share`, a minute to be done in, and its answer's receiver.
    pub(crate) fn job(share: u128, iterations: u64) -> (Job, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let now = Instant::now();
        let job = Job {
            password: ExpandedPassword::new(b"secret"),
            salt: [7; 16],
            iterations,
            iterations_if_wrong: 0,
            expected: None,
            share: Share(share),
            submitted: now,
            deadline: now + Duration::from_mins(1),
            reply,
        };
        (job, receiver)
    }

    #[test]
    fn only_the_expected_digest_matches_and_nothing_matches_when_none_is_expected() {
        let (mut job, _receiver) = job(1, 16);
        assert!(!job.matches(&[0; 23]), "not even zeros");
        job.expected = Some([3; 23]);
        assert!(job.matches(&[3; 23]));
        assert!(!job.matches(&[4; 23]));
    }
}
